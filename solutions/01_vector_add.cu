// ANCHOR: all
// Puzzle 01, solution: one thread per element.

__global__ void vector_add(float* A, float* B, float* C, int N)
{
    // ANCHOR: index
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return; // the grid is rounded up
    // ANCHOR_END: index

    C[i] = A[i] + B[i];
}
// ANCHOR_END: all
