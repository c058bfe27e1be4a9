// Few operations for each byte, and many.
#include <cstdio>

// ANCHOR: kernels
__global__ void saxpy(const float* x, float* y, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void polynomial(const float* x, float* y, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i], p = y[i];
    for (int k = 0; k < 256; k++) p = p * v + a;
    y[i] = p;
}
// ANCHOR_END: kernels

int main()
{
    const int n = 4096;
    float *x, *y;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    cudaMemset(x, 0, n * sizeof(float));
    cudaMemset(y, 0, n * sizeof(float));
    saxpy<<<n / 256, 256>>>(x, y, 2.0f, n);
    polynomial<<<n / 256, 256>>>(x, y, 2.0f, n);
    cudaDeviceSynchronize();
    cudaFree(x), cudaFree(y);
}
