// Puzzle 18: matrix multiplication in tiles
//
//   C[m,n] = sum over k of A[m,k] * B[k,n]
//
// Tensors, row-major (the last index varies fastest):
//   A  (M, K)
//   B  (K, N)
//   C  (M, N)
//
// A block of 16x16 threads computes a tile of 16x16 elements of C. The grader launches
// ceil(N/16) x ceil(M/16) blocks: blockIdx.x counts tiles to the right, blockIdx.y downwards.

#define TILE 16

__global__ void sgemm_tiled(const float* A, const float* B, float* C, int M, int N, int K)
{
    // TODO 1: declare a tile of A and a tile of B in shared memory, and find this thread's
    //         row and column of C.

    // TODO 2: go through K in steps of TILE. In each step
    //           load one element of each tile into shared memory, 0 where there is none;
    //           wait;
    //           add TILE products;
    //           wait again.

    // TODO 3: store the sum, if this thread's element exists.
}
