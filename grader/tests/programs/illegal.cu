// An illegal address, and what is left after a reset. exit: 7
#include <cstdio>

__global__ void write(int* x) { *x = 1; }

int main()
{
    int* good;
    cudaMalloc(&good, 4);
    write<<<1, 1>>>((int*)16);
    std::printf("launched: %s\n", cudaGetErrorName(cudaPeekAtLastError()));
    std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    std::printf("%s\n", cudaGetErrorString(cudaMemset(good, 0, 4)));
    return 7;
}
