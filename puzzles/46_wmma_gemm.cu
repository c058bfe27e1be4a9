// Puzzle 46: matrix multiplication on tensor cores
//
//   C[m,n] = sum over k of A[m,k] * B[k,n]
//
// Tensors, row-major (the last index varies fastest):
//   A  (M, K)  T
//   B  (K, N)  T
//   C  (M, N)  float
//
// T is half in one launch and __nv_bfloat16 in another. T(0.0f) is a zero of either type.
//
// A block of 128 threads computes 32x32 elements of C: each of its 4 warps one tile of 16x16.
// The grader launches ceil(N/32) x ceil(M/32) blocks: blockIdx.x counts to the right, blockIdx.y
// downwards. No size need be a multiple of 16.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

template <class T>
__global__ void wmma_gemm(const T* A, const T* B, float* C, int M, int N, int K)
{
    // TODO 1: declare 32x16 elements of A, 16x32 of B and 32x32 floats of C in shared memory,
    //         each aligned to 32 bytes. Which 16x16 tile of the 32x32 is this warp's?

    // TODO 2: declare the fragments: a wmma::matrix_a, a wmma::matrix_b and a wmma::accumulator.
    //         Of which types? Set the accumulator to zero.

    // TODO 3: go through K in steps of 16. In each step
    //           copy the elements of A and B into shared memory, 0 where there is none;
    //           wait;
    //           load the two fragments, and multiply: wmma::mma_sync;
    //           wait again.

    // TODO 4: store the sums to shared memory, wait, and copy those elements that exist to C.
}

// The two kernels that the grader launches.
template __global__ void wmma_gemm<half>(const half*, const half*, float*, int, int, int);
template __global__ void wmma_gemm<__nv_bfloat16>(const __nv_bfloat16*, const __nv_bfloat16*,
                                                  float*, int, int, int);
