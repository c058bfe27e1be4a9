// Puzzle 46: matrix multiplication on tensor cores
//
//   C[m,n] = sum over k of A[m,k] * B[k,n]
//
// Tensors, row-major (the last index varies fastest):
//   A  (M, K)  half
//   B  (K, N)  half
//   C  (M, N)  float
//
// A block of 128 threads computes 32x32 elements of C: each of its 4 warps one tile of 16x16. The
// grader launches ceil(N/32) x ceil(M/32) blocks: blockIdx.x counts to the right, blockIdx.y
// downwards. No size need be a multiple of 16.

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

__global__ void wmma_gemm(const half* A, const half* B, float* C, int M, int N, int K)
{
    // TODO 1: declare 32x16 halves of A, 16x32 halves of B and 32x32 floats of C in shared memory,
    //         each aligned to 32 bytes. Which 16x16 tile of the 32x32 is this warp's?

    // TODO 2: declare the fragments: a wmma::matrix_a, a wmma::matrix_b and a wmma::accumulator.
    //         Of which types? Set the accumulator to zero.

    // TODO 3: go through K in steps of 16. In each step
    //           bring the halves of A and B into shared memory, 0 where there is none;
    //           wait;
    //           load the two fragments, and multiply: wmma::mma_sync;
    //           wait again.

    // TODO 4: store the accumulator to shared memory, wait, and copy those elements that exist to C.
}
