// ANCHOR: all
// Puzzle 16, solution: a block for each filter, tile and image.

#define TILE 16

__global__ void conv_layer_forward(int C, int H, int W, int K, int H_out, int W_out,
                                   int W_grid, const float* X, const float* Wt, float* Y)
{
    // ANCHOR: place
    int M = gridDim.x;
    int m = blockIdx.x;
    int h = blockIdx.y / W_grid * TILE + threadIdx.y; // which row of tiles, which row in it
    int w = blockIdx.y % W_grid * TILE + threadIdx.x;
    int n = blockIdx.z;
    if (h >= H_out || w >= W_out) return; // the last tiles extend past the edge
    // ANCHOR_END: place

    // ANCHOR: sum
    float sum = 0.0f;
    for (int c = 0; c < C; c++) {
        for (int p = 0; p < K; p++) {
            for (int q = 0; q < K; q++) {
                sum += X[((n * C + c) * H + h + p) * W + w + q] * Wt[((m * C + c) * K + p) * K + q];
            }
        }
    }
    Y[((n * M + m) * H_out + h) * W_out + w] = sum;
    // ANCHOR_END: sum
}
// ANCHOR_END: all
