// Puzzle 02: matrix multiplication
//
//   C[i,j] = sum over k of A[i,k] * B[k,j]
//
// Tensors, row-major (the last index varies fastest):
//   A  (M, K)
//   B  (K, N)
//   C  (M, N)
//
// One thread computes one element of C. The grader launches blocks of 16x16 threads in
// a two-dimensional grid: ceil(N / 16) blocks in x, for the columns, and ceil(M / 16)
// in y, for the rows. At the right and the lower edge, threads have nothing to do.

__global__ void matmul(float* A, float* B, float* C, int M, int K, int N)
{
    // TODO 1: find this thread's row (from y) and column (from x) in the whole grid.

    // TODO 2: leave if C has no such element.

    // TODO 3: add the products of the row of A with the column of B.

    // TODO 4: store the sum.
}
