// Puzzle 47: Conv2D forward on tensor cores
//
//   Y[n,m,oh,ow] = bias[m] + sum over c, kh, kw of
//                  X[n,c,oh+kh,ow+kw] * filters[m,c,kh,kw]
//
//   H_out = H - K + 1,  W_out = W - K + 1
//
// Tensors, row-major:
//   X        (N, C, H, W)          half
//   filters  (M, C, K, K)          half
//   bias     (M)                   float
//   Y        (N, M, H_out, W_out)  float
//
// As a matrix product: M filters times N*H_out*W_out positions, each a sum of C*K*K products.
// The matrix of patches is never stored: threads gather its tiles from X.
//
// A block of 128 threads computes 32 filters at 32 positions: each of its 4 warps one tile of
// 16x16. The grader launches ceil(N*H_out*W_out/32) x ceil(M/32) blocks: blockIdx.x counts
// positions, blockIdx.y filters.

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

__global__ void conv2d_wmma(const half* X, const half* filters, const float* bias, float* Y,
                            int N, int C, int H, int W, int M, int K)
{
    // TODO 1: three arrays in shared memory and three fragments, as in puzzle 46.

    // TODO 2: lane l of each warp gathers for position blockIdx.x*32 + l: which n, oh, ow?

    // TODO 3: go through the C*K*K products of a sum in steps of 16. In each step
    //           copy 32x16 weights;
    //           gather 16x32 pixels: which c, kh, kw does a row of this tile stand for?
    //           wait, multiply, wait.

    // TODO 4: store the sums to shared memory, wait, and write them to Y, with the bias.
}
