// ANCHOR: all
// Puzzle 46, solution: tiles in shared memory as in puzzle 18, products on tensor cores.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

template <class T>
__global__ void wmma_gemm(const T* A, const T* B, float* C, int M, int N, int K)
{
    // ANCHOR: place
    __shared__ __align__(32) T a[32][16];
    __shared__ __align__(32) T b[16][32];
    __shared__ __align__(32) float c[32][32];
    int top = blockIdx.y * 32;    // the block's first row and column of C
    int left = blockIdx.x * 32;
    int warp = threadIdx.x / 32;
    int y = warp / 2 * 16;        // the warp's tile, inside the block's 32 x 32
    int x = warp % 2 * 16;
    // ANCHOR_END: place

    // ANCHOR: fragments
    wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> tile_a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::row_major> tile_b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    wmma::fill_fragment(sums, 0.0f);
    // ANCHOR_END: fragments

    for (int start = 0; start < K; start += 16) {
        // ANCHOR: load
        // 512 elements of each, 4 for each thread; 0 where there is none.
        for (int i = threadIdx.x; i < 32 * 16; i += 128) {
            int row = top + i / 16;
            int k = start + i % 16;
            a[i / 16][i % 16] = row < M && k < K ? A[row * K + k] : T(0.0f);
        }
        for (int i = threadIdx.x; i < 16 * 32; i += 128) {
            int k = start + i / 32;
            int column = left + i % 32;
            b[i / 32][i % 32] = k < K && column < N ? B[k * N + column] : T(0.0f);
        }
        // ANCHOR_END: load
        // ANCHOR: multiply
        __syncthreads(); // all have loaded their elements
        wmma::load_matrix_sync(tile_a, &a[y][0], 16);
        wmma::load_matrix_sync(tile_b, &b[0][x], 32);
        wmma::mma_sync(sums, tile_a, tile_b, sums);
        __syncthreads(); // all have used them
        // ANCHOR_END: multiply
    }

    // ANCHOR: store
    wmma::store_matrix_sync(&c[y][x], sums, 32, wmma::mem_row_major);
    __syncthreads();
    for (int i = threadIdx.x; i < 32 * 32; i += 128) {
        int row = top + i / 32;
        int column = left + i % 32;
        if (row < M && column < N) C[row * N + column] = c[i / 32][i % 32];
    }
    // ANCHOR_END: store
}

// The two kernels that the grader launches.
template __global__ void wmma_gemm<half>(const half*, const half*, float*, int, int, int);
template __global__ void wmma_gemm<__nv_bfloat16>(const __nv_bfloat16*, const __nv_bfloat16*,
                                                  float*, int, int, int);
// ANCHOR_END: all
