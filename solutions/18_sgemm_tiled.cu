// ANCHOR: all
// Puzzle 18, solution: each block loads tiles of A and B into shared memory, step by step.

#define TILE 16

__global__ void sgemm_tiled(const float* A, const float* B, float* C, int M, int N, int K)
{
    // ANCHOR: place
    __shared__ float a[TILE][TILE];
    __shared__ float b[TILE][TILE];
    int x = threadIdx.x;
    int y = threadIdx.y;
    int row = blockIdx.y * TILE + y;
    int column = blockIdx.x * TILE + x;
    // ANCHOR_END: place

    float sum = 0.0f;
    for (int start = 0; start < K; start += TILE) {
        // ANCHOR: load
        // Each thread loads one element of each tile; 0 where there is none.
        a[y][x] = row < M && start + x < K ? A[row * K + start + x] : 0.0f;
        b[y][x] = start + y < K && column < N ? B[(start + y) * N + column] : 0.0f;
        // ANCHOR_END: load
        // ANCHOR: multiply
        __syncthreads(); // all have brought their elements
        for (int k = 0; k < TILE; k++) {
            sum += a[y][k] * b[k][x];
        }
        __syncthreads(); // all have used them
        // ANCHOR_END: multiply
    }

    if (row < M && column < N) C[row * N + column] = sum;
}
// ANCHOR_END: all
