// ANCHOR: all
// Puzzle 02, solution: one thread per element of C.

__global__ void matmul(float* A, float* B, float* C, int M, int K, int N)
{
    // ANCHOR: index
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return; // the grid is rounded up in both directions
    // ANCHOR_END: index

    // ANCHOR: sum
    float sum = 0.0f;
    for (int k = 0; k < K; k++) {
        sum += A[row * K + k] * B[k * N + col];
    }
    // ANCHOR_END: sum

    C[row * N + col] = sum;
}
// ANCHOR_END: all
