// Questions to the device whose answers are the same everywhere.
#include <cstdio>

__global__ void little(int* x) { x[threadIdx.x] = threadIdx.x; }

int main()
{
    int count, device, warp, threads, blocks;
    cudaGetDeviceCount(&count);
    cudaSetDevice(0);
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, 0);
    cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerBlock, 0);
    cudaDeviceProp p;
    cudaGetDeviceProperties(&p, 0);
    std::printf("%d %d %d %d\n", count > 0, device, warp, threads);
    std::printf("%d %d %d %zu %zu\n", p.warpSize, p.maxThreadsPerBlock, p.maxThreadsDim[2], p.totalConstMem, p.sharedMemPerBlock);
    std::printf("%d %d\n", p.maxGridSize[0], p.maxGridSize[1]);
    std::printf("%d\n", p.major * 10 + p.minor >= 75);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, little, 1024, 0);
    std::printf("%d blocks of 1024\n", blocks);
    int minimum, best;
    cudaOccupancyMaxPotentialBlockSize(&minimum, &best, little, 0, 0);
    std::printf("best block: %d\n", best >= 256 && best <= 1024);
    size_t left, all;
    cudaMemGetInfo(&left, &all);
    std::printf("memory: %d\n", left > 0 && left <= all);
}
