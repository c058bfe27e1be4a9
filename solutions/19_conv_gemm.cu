// ANCHOR: all
// Puzzle 19, solution: two launches for each image, and one for the bias.

#include "gemm_kernels.cuh"

// ANCHOR: blocks
const int THREADS = 256; // of a block along one axis
const int TILE = 16;     // of a block of sgemm_tiled, along each of its two axes

// How many blocks cover n elements?
unsigned blocks(int n, int block)
{
    return (n + block - 1) / block;
}
// ANCHOR_END: blocks

// ANCHOR: bias
// Y is (n / (M * columns), M, columns), and has n elements.
__global__ void add_bias(float* Y, const float* b, int n, int M, int columns)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= n) return;

    int m = idx / columns % M;
    Y[idx] += b[m];
}
// ANCHOR_END: bias

void conv2d_gemm_forward(const float* X, const float* Wt, const float* b, float* Y,
                         float* work, int N, int C, int H, int W, int M, int K)
{
    // ANCHOR: sizes
    int rows = C * K * K;
    int columns = (H - K + 1) * (W - K + 1);
    // ANCHOR_END: sizes

    // ANCHOR: images
    dim3 tiles(blocks(columns, TILE), blocks(M, TILE));
    for (int n = 0; n < N; n++) {
        const float* image = X + n * C * H * W;
        float* maps = Y + n * M * columns;

        im2col<<<blocks(rows * columns, THREADS), THREADS>>>(image, work, C, H, W, K, 0, 1);
        sgemm_tiled<<<tiles, dim3(TILE, TILE)>>>(Wt, work, maps, M, columns, rows);
    }
    // ANCHOR_END: images

    int outputs = N * M * columns;
    add_bias<<<blocks(outputs, THREADS), THREADS>>>(Y, b, outputs, M, columns);
}
// ANCHOR_END: all
