// ANCHOR: all
// Puzzle 20, solution: puzzle 18's product; each block makes its tiles of the patch matrix.

#define TILE 16

__global__ void conv2d_implicit_gemm(const float* X, const float* Wt, const float* b, float* Y,
                                     int N, int C, int H, int W, int M, int K)
{
    // ANCHOR: place
    __shared__ float weights[TILE][TILE];
    __shared__ float pixels[TILE][TILE];
    int x = threadIdx.x;
    int y = threadIdx.y;
    int H_out = H - K + 1;
    int W_out = W - K + 1;
    int rows = C * K * K;

    int m = blockIdx.y * TILE + y;
    int j = blockIdx.x * TILE + x; // counts the outputs of all images: w fastest, then h, then n
    int w = j % W_out;
    int h = j / W_out % H_out;
    int n = j / (W_out * H_out);
    // ANCHOR_END: place

    float sum = 0.0f;
    for (int start = 0; start < rows; start += TILE) {
        // ANCHOR: load
        int column = start + x; // of A
        weights[y][x] = m < M && column < rows ? Wt[m * rows + column] : 0.0f;

        int r = start + y; // row of B: counts the weights, q fastest, then p, then c
        int q = r % K;
        int p = r / K % K;
        int c = r / (K * K);
        pixels[y][x] = r < rows && n < N ? X[((n * C + c) * H + h + p) * W + w + q] : 0.0f;
        // ANCHOR_END: load
        // ANCHOR: multiply
        __syncthreads(); // all have loaded their elements
        for (int k = 0; k < TILE; k++) {
            sum += weights[y][k] * pixels[k][x];
        }
        __syncthreads(); // all have used them
        // ANCHOR_END: multiply
    }

    // ANCHOR: store
    if (m < M && n < N) Y[((n * M + m) * H_out + h) * W_out + w] = sum + b[m];
    // ANCHOR_END: store
}
// ANCHOR_END: all
