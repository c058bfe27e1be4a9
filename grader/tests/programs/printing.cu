// What kernels print comes when the program waits for them.
#include <cstdio>

__global__ void hello(int id) { std::printf("kernel %d, block %d, thread %d\n", id, blockIdx.x, threadIdx.x); }

int main()
{
    std::printf("before\n");
    hello<<<1, 2>>>(1);
    cudaDeviceSynchronize();
    std::printf("between\n");
    hello<<<1, 1>>>(2);
    cudaDeviceSynchronize();
    std::printf("after\n");
}
