// ANCHOR: all
// Puzzle 47, solution: puzzle 46 with a second factor that is gathered from the image.

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

__global__ void conv2d_wmma(const half* X, const half* filters, const float* bias, float* Y,
                            int N, int C, int H, int W, int M, int K)
{
    __shared__ __align__(32) half a[32][16];
    __shared__ __align__(32) half b[16][32];
    __shared__ __align__(32) float y[32][32];
    // ANCHOR: place
    int H_out = H - K + 1;
    int W_out = W - K + 1;
    int positions = N * H_out * W_out;
    int terms = C * K * K;
    int warp = threadIdx.x / 32;
    int lane = threadIdx.x % 32;

    // The position for which this thread gathers pixels and writes results.
    int position = blockIdx.x * 32 + lane;
    int n = position / (H_out * W_out);
    int oh = position / W_out % H_out;
    int ow = position % W_out;
    int first = blockIdx.y * 32; // the block's first filter
    // ANCHOR_END: place

    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> tile_a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> tile_b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    wmma::fill_fragment(sums, 0.0f);

    for (int start = 0; start < terms; start += 16) {
        // ANCHOR: weights
        // The filters are a matrix already: M rows of C*K*K weights.
        for (int i = threadIdx.x; i < 32 * 16; i += 128) {
            int m = first + i / 16;
            int term = start + i % 16;
            a[i / 16][i % 16] = m < M && term < terms ? filters[m * terms + term] : __float2half(0.0f);
        }
        // ANCHOR_END: weights
        // ANCHOR: gather
        // The patches are not: row r of the tile is one place (c, kh, kw) of the filter.
        for (int r = warp; r < 16; r += 4) {
            int term = start + r;
            int c = term / (K * K);
            int kh = term / K % K;
            int kw = term % K;
            b[r][lane] = term < terms && position < positions
                             ? X[((n * C + c) * H + oh + kh) * W + ow + kw]
                             : __float2half(0.0f);
        }
        // ANCHOR_END: gather
        __syncthreads(); // all have loaded their elements
        wmma::load_matrix_sync(tile_a, &a[warp / 2 * 16][0], 16);
        wmma::load_matrix_sync(tile_b, &b[0][warp % 2 * 16], 32);
        wmma::mma_sync(sums, tile_a, tile_b, sums);
        __syncthreads(); // all have used them
    }

    // ANCHOR: store
    wmma::store_matrix_sync(&y[warp / 2 * 16][warp % 2 * 16], sums, 32, wmma::mem_row_major);
    __syncthreads();
    for (int r = warp; r < 32; r += 4) {
        int m = first + r;
        if (m < M && position < positions)
            Y[((n * M + m) * H_out + oh) * W_out + ow] = y[r][lane] + bias[m];
    }
    // ANCHOR_END: store
}
// ANCHOR_END: all
