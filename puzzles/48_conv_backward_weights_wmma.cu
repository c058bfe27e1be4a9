// Puzzle 48: the gradient of a 3x3 convolution with respect to its weights, on tensor cores
//
//   grad_weights[k,kh,kw,c] = sum over n, h, w of
//                             grad_output[n,h,w,k] * input[n,h+kh-1,w+kw-1,c]
//
// over those positions (n,h,w) for which (h+kh-1, w+kw-1) lies in the image.
//
// Tensors, row-major:
//   grad_output   (N, H, W, K)     half
//   input         (N, H, W, C)     half
//   work          (splits, K, 9*C) float   partial sums
//   grad_weights  (K, 3, 3, C)     float
//
// As a matrix product: K filters times 9*C places of a filter, each a sum over N*H*W positions.
// A block of 128 threads computes 32 filters times 32 places: each of its 4 warps a tile of 16x16.
// There are few such blocks, and the sums are long: so `splits` blocks share the positions, and
// each leaves its own sums in work. The grader launches ceil(9*C/32) x ceil(K/32) x splits blocks:
// blockIdx.x counts places, blockIdx.y filters, blockIdx.z splits.

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

__global__ void conv_bwd_weight_wmma(const half* grad_output, const half* input, float* work,
                                     int N, int H, int W, int C, int K)
{
    // TODO 1: shared memory and fragments as in puzzles 46 and 47. The first factor is
    //         grad_output transposed: copy its tile as it lies in memory, 16 positions x 32
    //         filters. What does that make of the fragment's layout?

    // TODO 2: lane l of each warp gathers for place blockIdx.x*32 + l: which kh, kw and c?

    // TODO 3: go through the positions in steps of 16, every gridDim.z-th step. In each
    //           copy 16x32 elements of grad_output;
    //           gather 16x32 pixels, 0 outside the image;
    //           wait, multiply, wait.

    // TODO 4: store the sums to shared memory, wait, and copy them to this split's part of work.
}

// Launched second, with enough threads: n = 9*K*C weights.
__global__ void add_splits(const float* work, float* grad_weights, int n, int splits)
{
    // TODO 5: grad_weights[i] is the sum of element i of all parts, always in the same order.
}
