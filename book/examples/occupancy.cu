// The same kernel with more and more shared memory for each block.
#include <cstdio>

// ANCHOR: kernels
template <int KIB> __global__ void copy(const float* in, float* out)
{
    __shared__ float box[KIB * 256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    box[threadIdx.x] = in[i];
    __syncthreads();
    out[i] = box[255 - threadIdx.x];
}
// ANCHOR_END: kernels

int main()
{
    const int n = 4096;
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemset(in, 0, n * sizeof(float));
    copy<1><<<n / 256, 256>>>(in, out);
    copy<24><<<n / 256, 256>>>(in, out);
    copy<48><<<n / 256, 256>>>(in, out);
    cudaDeviceSynchronize();
    cudaFree(in), cudaFree(out);
}
