// Where am I? Every thread writes down its place in the launch.
#include <cstdio>

// ANCHOR: kernels
__global__ void places(int* lane, int* warp, int* number)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x; // in the whole grid
    lane[i] = threadIdx.x % 32;                    // in its warp
    warp[i] = threadIdx.x / 32;                    // in its block
    number[i] = i;
}
// ANCHOR_END: kernels

int main()
{
    const int blocks = 3, threads = 96, n = blocks * threads;
    int *lane, *warp, *number;
    cudaMallocManaged(&lane, n * sizeof(int));
    cudaMallocManaged(&warp, n * sizeof(int));
    cudaMallocManaged(&number, n * sizeof(int));
    places<<<blocks, threads>>>(lane, warp, number);
    cudaDeviceSynchronize();
    for (int i : {0, 31, 32, 95, 96, 287})
        printf("thread %3d: block %d, warp %d, lane %2d\n",
               number[i], i / threads, warp[i], lane[i]);

    cudaDeviceProp gpu;
    cudaGetDeviceProperties(&gpu, 0);
    printf("%d multiprocessors, %d threads on each at most\n",
           gpu.multiProcessorCount, gpu.maxThreadsPerMultiProcessor);
    cudaFree(lane), cudaFree(warp), cudaFree(number);
}
