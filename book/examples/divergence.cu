// The same work, split by lane and split by warp.
#include <cstdio>

// ANCHOR: kernels
__device__ float path_a(float x, int steps)
{
    for (int k = 0; k < steps; k++) x = x * 0.5f + 1.0f;
    return x;
}

__device__ float path_b(float x, int steps)
{
    for (int k = 0; k < steps; k++) x = sqrtf(x) + 1.0f;
    return x;
}

__global__ void by_lane(float* x, int steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 2 == 0)
        x[i] = path_a(x[i], steps);
    else
        x[i] = path_b(x[i], steps);
}

__global__ void by_warp(float* x, int steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i / 32 % 2 == 0)
        x[i] = path_a(x[i], steps);
    else
        x[i] = path_b(x[i], steps);
}
// ANCHOR_END: kernels

int main()
{
    const int n = 1024;
    float* x;
    cudaMalloc(&x, n * sizeof(float));
    cudaMemset(x, 0, n * sizeof(float));
    by_lane<<<n / 256, 256>>>(x, 100);
    by_warp<<<n / 256, 256>>>(x, 100);
    cudaDeviceSynchronize();
    cudaFree(x);
}
