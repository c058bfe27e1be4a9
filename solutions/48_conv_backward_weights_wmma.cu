// ANCHOR: all
// Puzzle 48, solution: an implicit GEMM, split over blocks, and added up in a fixed order.

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

__global__ void conv_bwd_weight_wmma(const half* grad_output, const half* input, float* work,
                                     int N, int H, int W, int C, int K)
{
    __shared__ __align__(32) half a[16][32];
    __shared__ __align__(32) half b[16][32];
    __shared__ __align__(32) float sums[32][32];
    // ANCHOR: place
    int positions = N * H * W;
    int places = 9 * C;
    int warp = threadIdx.x / 32;
    int lane = threadIdx.x % 32;

    // The filter whose gradients this thread loads, and the place for which it gathers pixels.
    int k = blockIdx.y * 32 + lane;
    int place = blockIdx.x * 32 + lane;
    int c = place % C;
    int kw = place / C % 3;
    int kh = place / (C * 3);
    // ANCHOR_END: place

    // ANCHOR: fragments
    // Columns of the first factor lie in one piece: the filters of one position.
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major> tile_a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> tile_b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> tile_sums;
    wmma::fill_fragment(tile_sums, 0.0f);
    // ANCHOR_END: fragments

    // ANCHOR: steps
    for (int start = blockIdx.z * 16; start < positions; start += gridDim.z * 16) {
        for (int r = warp; r < 16; r += 4) {
            int i = start + r;
            a[r][lane] = i < positions && k < K ? grad_output[i * K + k] : __float2half(0.0f);

            int n = i / (W * H);
            int ih = i / W % H + kh - 1;
            int iw = i % W + kw - 1;
            bool inside = ih >= 0 && ih < H && iw >= 0 && iw < W;
            b[r][lane] = inside && i < positions && place < places
                             ? input[((n * H + ih) * W + iw) * C + c]
                             : __float2half(0.0f);
        }
        // ANCHOR_END: steps
        // ANCHOR: multiply
        __syncthreads(); // all have loaded their elements
        wmma::load_matrix_sync(tile_a, &a[0][warp / 2 * 16], 32);
        wmma::load_matrix_sync(tile_b, &b[0][warp % 2 * 16], 32);
        wmma::mma_sync(tile_sums, tile_a, tile_b, tile_sums);
        __syncthreads(); // all have used them
        // ANCHOR_END: multiply
    }

    // ANCHOR: store
    wmma::store_matrix_sync(&sums[warp / 2 * 16][warp % 2 * 16], tile_sums, 32, wmma::mem_row_major);
    __syncthreads();
    for (int r = warp; r < 32; r += 4) {
        int filter = blockIdx.y * 32 + r;
        if (filter < K && place < places)
            work[(blockIdx.z * K + filter) * places + place] = sums[r][lane];
    }
    // ANCHOR_END: store
}

// ANCHOR: add
__global__ void add_splits(const float* work, float* grad_weights, int n, int splits)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int split = 0; split < splits; split++) sum += work[split * n + i];
    grad_weights[i] = sum;
}
// ANCHOR_END: add
// ANCHOR_END: all
