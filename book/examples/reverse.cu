// Each block reverses its 256 numbers through shared memory.
#include <cstdio>

// ANCHOR: kernels
__global__ void reverse(int* x)
{
    __shared__ int box[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    box[threadIdx.x] = x[i];
    __syncthreads();
    x[i] = box[255 - threadIdx.x];
}
// ANCHOR_END: kernels

int main()
{
    const int n = 512;
    int* x;
    cudaMallocManaged(&x, n * sizeof(int));
    for (int i = 0; i < n; i++) x[i] = i;
    reverse<<<n / 256, 256>>>(x);
    cudaDeviceSynchronize();
    printf("%d %d ... %d | %d ... %d\n", x[0], x[1], x[255], x[256], x[511]);
    cudaFree(x);
}
