// Puzzle 18 without tiles: every thread reads a row of A and a column of B from global memory. A figure of its chapter plays it.

__global__ void sgemm_tiled(const float* A, const float* B, float* C, int M, int N, int K)
{
    int row = blockIdx.y * 16 + threadIdx.y;
    int column = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || column >= N) return;

    float sum = 0.0f;
    for (int k = 0; k < K; k++) {
        sum += A[row * K + k] * B[k * N + column];
    }
    C[row * N + column] = sum;
}
