// The program's own arguments, environment of files and exit code. args: one "two words" exit: 5
#include <cstdio>
#include <cstdlib>

static void at_exit() { std::printf("at exit\n"); }

__global__ void count(int* n) { atomicAdd(n, 1); }

int main(int argc, char** argv)
{
    std::atexit(at_exit);
    for (int i = 1; i < argc; i++) std::printf("%d: %s\n", i, argv[i]);
    int *n, host = argc;
    cudaMalloc(&n, sizeof host);
    cudaMemcpy(n, &host, sizeof host, cudaMemcpyHostToDevice);
    count<<<2, 1>>>(n);
    cudaMemcpy(&host, n, sizeof host, cudaMemcpyDeviceToHost);
    cudaFree(n);
    std::exit(host);
}
