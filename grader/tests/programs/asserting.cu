// A failed assert breaks the context: every later call fails.
#include <cassert>
#include <cstdio>

__global__ void check(int x) { assert(x < 3); }

int main()
{
    int* p = nullptr;
    check<<<1, 1>>>(2);
    std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    check<<<1, 1>>>(3);
    std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    std::printf("%s\n", cudaGetErrorName(cudaMalloc(&p, 4)));
    std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    std::printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
