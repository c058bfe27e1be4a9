// ANCHOR: all
// Puzzle 21, solution: a block loads its tile of a channel with the halo, and uses it K*K times.

#define TILE_W 32
#define TILE_H 8
#define MAX_K 7

// ANCHOR: constant
__constant__ float c_filters[2400]; // (M, C, K, K)
// ANCHOR_END: constant

__global__ void conv2d_halo(const float* X, float* Y, int C, int H, int W, int M, int K)
{
    // ANCHOR: place
    __shared__ float tile[TILE_H + MAX_K - 1][TILE_W + MAX_K - 1];
    int x = threadIdx.x;
    int y = threadIdx.y;
    int m = blockIdx.z;
    int top = blockIdx.y * TILE_H; // the first row of the block's outputs, and of its pixels
    int left = blockIdx.x * TILE_W;
    // ANCHOR_END: place

    float sum = 0.0f;
    for (int c = 0; c < C; c++) {
        // ANCHOR: load
        // There are more pixels than threads: each thread loads up to four.
        for (int i = y; i < TILE_H + K - 1; i += TILE_H) {
            for (int j = x; j < TILE_W + K - 1; j += TILE_W) {
                bool inside = top + i < H && left + j < W;
                tile[i][j] = inside ? X[(c * H + top + i) * W + left + j] : 0.0f;
            }
        }
        __syncthreads(); // the tile is complete
        // ANCHOR_END: load

        // ANCHOR: sum
        for (int p = 0; p < K; p++) {
            for (int q = 0; q < K; q++) {
                sum += tile[y + p][x + q] * c_filters[((m * C + c) * K + p) * K + q];
            }
        }
        __syncthreads(); // all have used the tile
        // ANCHOR_END: sum
    }

    // ANCHOR: store
    int H_out = H - K + 1;
    int W_out = W - K + 1;
    int h = top + y;
    int w = left + x;
    if (h < H_out && w < W_out) Y[(m * H_out + h) * W_out + w] = sum;
    // ANCHOR_END: store
}
// ANCHOR_END: all
