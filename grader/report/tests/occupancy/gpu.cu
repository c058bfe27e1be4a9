// Blocks of a kernel that a GPU holds at once, by the CUDA runtime: a table for many kernels, block sizes and sizes of dynamic shared
// memory. README.md says what stands in it. nvcc -std=c++17 -arch=native gpu.cu -o gpu && ./gpu > h200.tsv
#include <cstdio>
#include <utility>
#include "sizes.h"

// More values alive at once than there is room for, so a thread takes all the registers that it may.
template <int REGISTERS, int WORDS>
__global__ void __maxnreg__(REGISTERS) busy(const float *in, float *out, int n) {
    const int values = 250;
    float own[values];
    for (int k = 0; k < values; k++) own[k] = in[k * blockDim.x + threadIdx.x];
#pragma unroll 1
    for (int i = 0; i < n; i++)
        for (int k = 0; k < values; k++) own[k] = own[k] * own[(k + 1) % values] + in[i];
    for (int k = 0; k < values; k++) out[k * blockDim.x + threadIdx.x] = own[k];
    if constexpr (WORDS > 0) {
        __shared__ float s[WORDS];
        s[threadIdx.x % WORDS] = own[0];
        __syncthreads();
        out[threadIdx.x] = s[(threadIdx.x + 1) % WORDS];
    }
}
// Barriers with numbers 0 to LAST; the runtime does not tell how many a kernel uses.
template <int LAST>
__global__ void barriers(float *out) {
    for (int i = 0; i < 2; i++) {
        if constexpr (LAST >= 1) asm volatile("bar.sync 1;" ::: "memory");
        if constexpr (LAST >= 2) asm volatile("bar.sync 2;" ::: "memory");
        if constexpr (LAST >= 3) asm volatile("bar.sync 3;" ::: "memory");
        if constexpr (LAST >= 7) asm volatile("bar.sync 7;" ::: "memory");
        if constexpr (LAST >= 15) asm volatile("bar.sync 15;" ::: "memory");
        __syncthreads();
        out[threadIdx.x] += 1;
    }
}

template <class Kernel>
void table(Kernel kernel, const cudaDeviceProp &gpu, int barriers) {
    cudaFuncAttributes its;
    if (cudaFuncGetAttributes(&its, kernel) != cudaSuccess) return;
    long most = (long)gpu.sharedMemPerBlockOptin - (long)its.sharedSizeBytes;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)most);
    for (int threads : THREADS) {
        printf("%d\t%d\t%zu\t%d\t%d", gpu.major * 10 + gpu.minor, its.numRegs, its.sharedSizeBytes, barriers, threads);
        for (int dynamic : DYNAMIC) {
            int blocks = -1;
            if (dynamic > most || cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, dynamic) != cudaSuccess) {
                cudaGetLastError();
                printf("\t-");
            } else {
                printf("\t%d", blocks);
            }
        }
        printf("\n");
    }
}

int main() {
    cudaDeviceProp gpu;
    if (cudaGetDeviceProperties(&gpu, 0) != cudaSuccess) return 1;
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    printf("# %s, driver for CUDA %d, runtime %d\n", gpu.name, driver, runtime);
    printf("# of a multiprocessor: %d threads, %d blocks, %d registers, %zu bytes of shared memory; of a block: %zu bytes, %zu reserved\n",
           gpu.maxThreadsPerMultiProcessor, gpu.maxBlocksPerMultiProcessor, gpu.regsPerMultiprocessor, gpu.sharedMemPerMultiprocessor,
           gpu.sharedMemPerBlockOptin, gpu.reservedSharedMemPerBlock);
    head();
    table(busy<24, 0>, gpu, 0);
    table(busy<32, 0>, gpu, 0);
    table(busy<33, 0>, gpu, 0);
    table(busy<40, 0>, gpu, 0);
    table(busy<48, 0>, gpu, 0);
    table(busy<56, 0>, gpu, 0);
    table(busy<64, 0>, gpu, 0);
    table(busy<65, 0>, gpu, 0);
    table(busy<72, 0>, gpu, 0);
    table(busy<80, 0>, gpu, 0);
    table(busy<90, 0>, gpu, 0);
    table(busy<96, 0>, gpu, 0);
    table(busy<112, 0>, gpu, 0);
    table(busy<128, 0>, gpu, 0);
    table(busy<129, 0>, gpu, 0);
    table(busy<144, 0>, gpu, 0);
    table(busy<168, 0>, gpu, 0);
    table(busy<200, 0>, gpu, 0);
    table(busy<255, 0>, gpu, 0);
    table(busy<24, 1>, gpu, 1);
    table(busy<24, 33>, gpu, 1);
    table(busy<32, 1000>, gpu, 1);
    table(busy<40, 2048>, gpu, 1);
    table(busy<72, 4500>, gpu, 1);
    table(busy<96, 12288>, gpu, 1);
    table(barriers<0>, gpu, 1);
    table(barriers<1>, gpu, 2);
    table(barriers<2>, gpu, 3);
    table(barriers<3>, gpu, 4);
    table(barriers<7>, gpu, 8);
    table(barriers<15>, gpu, 16);
}
