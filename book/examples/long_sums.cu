// 4,096 times 0.1 * 0.9, both halves, added up by tensor cores in one accumulator, and in several that are added at the end.
#include <cstdio>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

const int TERMS = 4096;

// ANCHOR: kernel
__global__ void sums(float* result, int splits)
{
    __shared__ __align__(32) float out[256];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(a, __float2half(0.1f));
    wmma::fill_fragment(b, __float2half(0.9f));
    float total = 0.0f;
    for (int split = 0; split < splits; split++) {
        wmma::fill_fragment(sum, 0.0f);
        for (int step = split; step < TERMS / 16; step += splits)
            wmma::mma_sync(sum, a, b, sum); // 16 terms
        wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
        __syncwarp();
        total += out[0];
        __syncwarp();
    }
    if (threadIdx.x == 0) *result = total;
}
// ANCHOR_END: kernel

int main()
{
    float* result;
    cudaMallocManaged(&result, sizeof(float));
    float product = __half2float(__float2half(0.1f)) * __half2float(__float2half(0.9f)), sum = 0.0f;
    for (int i = 0; i < TERMS; i++) sum += product;
    std::printf("exact       %.5f\n", TERMS * (double)product);
    std::printf("in a float  %.5f\n", sum);
    for (int splits : {1, 4, 16}) {
        sums<<<1, 32>>>(result, splits);
        if (cudaDeviceSynchronize() != cudaSuccess) return 1;
        std::printf("%2d split%s   %.5f\n", splits, splits > 1 ? "s" : " ", *result);
    }
    cudaFree(result);
}
