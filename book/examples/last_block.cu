// The last block to finish adds up what all blocks have written.
#include <cstdio>

// ANCHOR: kernels
__device__ int finished = 0;

__global__ void sum(const int* x, int* part, int* total)
{
    __shared__ int mine, before;
    if (threadIdx.x == 0) mine = 0;
    __syncthreads();
    atomicAdd(&mine, x[blockIdx.x * blockDim.x + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) {
        part[blockIdx.x] = mine;
        __threadfence(); // part first, then the count
        before = atomicAdd(&finished, 1);
    }
    __syncthreads();
    if (before == gridDim.x - 1 && threadIdx.x == 0) {
        __threadfence();
        int all = 0;
        for (int b = 0; b < gridDim.x; b++) all += part[b];
        *total = all;
    }
}
// ANCHOR_END: kernels

int main()
{
    const int blocks = 8, n = blocks * 256;
    int *x, *part, *total;
    cudaMallocManaged(&x, n * sizeof(int));
    cudaMallocManaged(&part, blocks * sizeof(int));
    cudaMallocManaged(&total, sizeof(int));
    for (int i = 0; i < n; i++) x[i] = 1;
    sum<<<blocks, 256>>>(x, part, total);
    cudaDeviceSynchronize();
    printf("total %d\n", *total);
    cudaFree(x), cudaFree(part), cudaFree(total);
}
