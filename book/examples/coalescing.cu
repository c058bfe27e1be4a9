// Four ways to copy the same 8,192 floats.
#include <cstdio>

const int n = 8192;

// ANCHOR: kernels
__global__ void neighbours(const float* in, float* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
}

__global__ void shifted(const float* in, float* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i + 1];
}

__global__ void every_second(const float* in, float* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[2 * i];
}

__global__ void columns(const float* in, float* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i % 128 * 64 + i / 128]; // 64 floats apart
}
// ANCHOR_END: kernels

int main()
{
    float *in, *out;
    cudaMalloc(&in, 2 * n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemset(in, 0, 2 * n * sizeof(float));
    neighbours<<<n / 256, 256>>>(in, out);
    shifted<<<n / 256, 256>>>(in, out);
    every_second<<<n / 256, 256>>>(in, out);
    columns<<<n / 256, 256>>>(in, out);
    cudaDeviceSynchronize();
    cudaFree(in), cudaFree(out);
}
