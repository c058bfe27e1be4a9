// Which lane of a warp holds which elements of a 16 x 16 accumulator? The ISA leaves it open; so ask. And how are sums rounded?
#include <cstdio>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

// ANCHOR: kernel
__global__ void owners(float* lane, float* number)
{
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> lanes, numbers;
    for (int i = 0; i < lanes.num_elements; i++) {
        lanes.x[i] = threadIdx.x; // each lane fills its own elements
        numbers.x[i] = i;
    }
    wmma::store_matrix_sync(lane, lanes, 16, wmma::mem_row_major);
    wmma::store_matrix_sync(number, numbers, 16, wmma::mem_row_major);
}
// ANCHOR_END: kernel

// 1 + 1.5 / 2^24, as a float and on tensor cores: the product 2^-12 * 1.5 2^-12 is exact in both.
__global__ void rounding(float* in_float, float* on_tensor_cores)
{
    __shared__ __align__(32) half a[256], b[256];
    for (int i = threadIdx.x; i < 256; i += 32) {
        a[i] = __float2half(i == 0 ? 0x1p-12f : 0.0f);
        b[i] = __float2half(i == 0 ? 1.5f * 0x1p-12f : 0.0f);
    }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> tile_a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> tile_b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    wmma::load_matrix_sync(tile_a, a, 16);
    wmma::load_matrix_sync(tile_b, b, 16);
    wmma::fill_fragment(sums, 1.0f);
    wmma::mma_sync(sums, tile_a, tile_b, sums);
    wmma::store_matrix_sync(on_tensor_cores, sums, 16, wmma::mem_row_major);
    if (threadIdx.x == 0) *in_float = fmaf(__half2float(a[0]), __half2float(b[0]), 1.0f);
}

int main()
{
    float *lane, *number;
    cudaMallocManaged(&lane, 256 * sizeof(float));
    cudaMallocManaged(&number, 256 * sizeof(float));
    owners<<<1, 32>>>(lane, number);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    for (int row = 0; row < 16; row++) {
        for (int column = 0; column < 16; column++)
            printf("%3.0f.%.0f", lane[row * 16 + column], number[row * 16 + column]);
        printf("\n");
    }
    rounding<<<1, 32>>>(lane, number);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    printf("1 + 1.5 / 2^24: in float %.9g, on tensor cores %.9g\n", lane[0], number[0]);
    cudaFree(lane);
    cudaFree(number);
}
