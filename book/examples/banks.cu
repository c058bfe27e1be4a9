// Transposes tiles of 32 by 32 floats, with and without a padded column.
#include <cstdio>

const int n = 64;

// ANCHOR: kernels
__global__ void plain(const float* in, float* out)
{
    __shared__ float tile[32][32];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * 32, column = blockIdx.x * 32;
    tile[y][x] = in[(row + y) * n + column + x];
    __syncthreads();
    out[(column + y) * n + row + x] = tile[x][y];
}

__global__ void padded(const float* in, float* out)
{
    __shared__ float tile[32][33];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * 32, column = blockIdx.x * 32;
    tile[y][x] = in[(row + y) * n + column + x];
    __syncthreads();
    out[(column + y) * n + row + x] = tile[x][y];
}
// ANCHOR_END: kernels

int main()
{
    float *in, *out;
    cudaMalloc(&in, n * n * sizeof(float));
    cudaMalloc(&out, n * n * sizeof(float));
    cudaMemset(in, 0, n * n * sizeof(float));
    plain<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(in, out);
    padded<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(in, out);
    cudaDeviceSynchronize();
    cudaFree(in), cudaFree(out);
}
