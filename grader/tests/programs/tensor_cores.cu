// A product of matrices on tensor cores, with numbers whose sums are exact.
#include <cstdio>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

const int N = 32;

__global__ void multiply(const half* a, const half* b, float* c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.5f);
    int row = threadIdx.y * 16, column = blockIdx.x * 16;
    for (int k = 0; k < N; k += 16) {
        wmma::load_matrix_sync(fa, a + row * N + k, N);
        wmma::load_matrix_sync(fb, b + k * N + column, N);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(c + row * N + column, fc, N, wmma::mem_row_major);
}

int main()
{
    static half a[N * N], b[N * N];
    static float c[N * N];
    for (int i = 0; i < N * N; i++) {
        a[i] = __float2half((float)(i * 7 % 11 - 5));
        b[i] = __float2half((float)(i * 5 % 13 - 6));
    }
    half *d_a, *d_b;
    float* d_c;
    cudaMalloc(&d_a, sizeof a);
    cudaMalloc(&d_b, sizeof b);
    cudaMalloc(&d_c, sizeof c);
    cudaMemcpy(d_a, a, sizeof a, cudaMemcpyHostToDevice);
    cudaMemcpy(d_b, b, sizeof b, cudaMemcpyHostToDevice);
    multiply<<<N / 16, dim3(32, N / 16)>>>(d_a, d_b, d_c);
    cudaMemcpy(c, d_c, sizeof c, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0.5f;
            for (int k = 0; k < N; k++) sum += __half2float(a[i * N + k]) * __half2float(b[k * N + j]);
            wrong += sum != c[i * N + j];
        }
    std::printf("%d wrong, corners %g %g\n", wrong, c[0], c[N * N - 1]);
    cudaFree(d_a);
    cudaFree(d_b);
    cudaFree(d_c);
}
