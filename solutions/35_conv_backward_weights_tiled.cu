// ANCHOR: all
// Puzzle 35, solution: a tile of 64x64 weights per block, 4x4 sums per thread.

#include <cuda_fp16.h>

const int TILE = 64; // channels of a tile, on both sides
const int STEP = 8;  // positions in shared memory at a time

__global__ void conv_bwd_weight_tiled(const half* grad_output, const half* input,
                                      float* grad_weights, int N, int H, int W, int C, int K)
{
    __shared__ float g[STEP][TILE];
    __shared__ float x[STEP][TILE];

    // ANCHOR: place
    int k0 = blockIdx.x * TILE;
    int c0 = blockIdx.y * TILE;
    int kh = blockIdx.z / 3;
    int kw = blockIdx.z % 3;
    int tk = threadIdx.x / 16; // this thread's: tk, tk+16, tk+32, tk+48
    int tc = threadIdx.x % 16; // by tc, tc+16, tc+32, tc+48
    // ANCHOR_END: place

    float sum[4][4] = {};
    int positions = N * H * W;
    for (int first = 0; first < positions; first += STEP) {
        // ANCHOR: load
        for (int i = threadIdx.x; i < STEP * TILE; i += blockDim.x) {
            int row = i / TILE;
            int col = i % TILE; // neighbouring threads: neighbouring channels
            int p = first + row;
            int h = p / W % H + kh - 1;
            int w = p % W + kw - 1;
            bool inside = p < positions && h >= 0 && h < H && w >= 0 && w < W;
            int n = p / (W * H);

            g[row][col] = 0.0f;
            x[row][col] = 0.0f;
            if (inside && k0 + col < K)
                g[row][col] = __half2float(grad_output[p * K + k0 + col]);
            if (inside && c0 + col < C)
                x[row][col] = __half2float(input[((n * H + h) * W + w) * C + c0 + col]);
        }
        // ANCHOR_END: load

        // ANCHOR: sums
        __syncthreads(); // all of g and x are there
        for (int s = 0; s < STEP; s++)
            for (int a = 0; a < 4; a++)
                for (int b = 0; b < 4; b++)
                    sum[a][b] += g[s][tk + 16 * a] * x[s][tc + 16 * b];
        __syncthreads(); // no thread needs them any more
        // ANCHOR_END: sums
    }

    // ANCHOR: store
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            int k = k0 + tk + 16 * a;
            int c = c0 + tc + 16 * b;
            if (k < K && c < C) grad_weights[((k * 3 + kh) * 3 + kw) * C + c] = sum[a][b];
        }
    // ANCHOR_END: store
}
// ANCHOR_END: all
