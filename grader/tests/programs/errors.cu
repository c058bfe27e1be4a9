// What goes wrong, and how CUDA says so.
#include <cstdio>

__global__ void fill(int* x) { x[threadIdx.x] = 1; }

static void tell(const char* what, cudaError_t error) { std::printf("%s: %s\n", what, cudaGetErrorName(error)); }

int main()
{
    int *x, host[4];
    tell("malloc", cudaMalloc(&x, 16));
    tell("too large", cudaMalloc((void**)&host, (size_t)1 << 50));
    tell("last", cudaGetLastError());
    tell("last again", cudaGetLastError());
    fill<<<1, 2000>>>(x);
    tell("threads", cudaPeekAtLastError());
    tell("threads", cudaGetLastError());
    fill<<<0, 1>>>(x);
    tell("no blocks", cudaGetLastError());
    fill<<<1, 4, 100000>>>(x);
    tell("shared memory", cudaGetLastError());
    tell("direction", cudaMemcpy(host, x, 16, (cudaMemcpyKind)9));
    tell("device", cudaSetDevice(77));
    tell("free", cudaFree(x));
    tell("free null", cudaFree(nullptr));
    cudaGetLastError();
    tell("host pointer", cudaFree(host));
    tell("event", cudaEventRecord(nullptr, 0));
    cudaGetLastError();
    std::printf("%s\n", cudaGetErrorString(cudaErrorInvalidConfiguration));
    std::printf("%s\n", cudaGetErrorString((cudaError_t)12345));
}
