// Dynamic shared memory, more than 48 KiB of it only for those who ask.
#include <cstdio>

__global__ void reverse(int* x, int n)
{
    extern __shared__ int tile[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = tile[n - 1 - i];
}

int main()
{
    const int n = 16000;
    int* x;
    cudaMalloc(&x, n * sizeof(int));
    int* host = new int[n];
    for (int i = 0; i < n; i++) host[i] = i;
    cudaMemcpy(x, host, n * sizeof(int), cudaMemcpyHostToDevice);
    reverse<<<1, 256, n * sizeof(int)>>>(x, n);
    std::printf("without asking: %s\n", cudaGetErrorName(cudaGetLastError()));
    cudaError_t asked = cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, n * (int)sizeof(int));
    std::printf("asked: %s\n", cudaGetErrorName(asked));
    reverse<<<1, 256, n * sizeof(int)>>>(x, n);
    std::printf("launched: %s\n", cudaGetErrorName(cudaGetLastError()));
    cudaMemcpy(host, x, n * sizeof(int), cudaMemcpyDeviceToHost);
    std::printf("%d %d %d\n", host[0], host[1], host[n - 1]);
    asked = cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20);
    std::printf("too much: %s\n", cudaGetErrorName(asked));
    cudaGetLastError();
    cudaFuncAttributes attributes;
    cudaFuncGetAttributes(&attributes, reverse);
    std::printf("static %zu, dynamic up to %d\n", attributes.sharedSizeBytes, attributes.maxDynamicSharedSizeBytes);
    delete[] host;
    cudaFree(x);
}
