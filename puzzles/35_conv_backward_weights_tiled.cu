// Puzzle 35: the gradient of a 3x3 convolution with respect to its weights, in tiles of 64x64
//
//   grad_weights[k,kh,kw,c] = sum over n, h, w of
//                             grad_output[n,h,w,k] * input[n,h+kh-1,w+kw-1,c]
//
// over those positions (n,h,w) for which (h+kh-1, w+kw-1) lies in the image.
//
// Tensors, row-major:
//   grad_output   (N, H, W, K)  half
//   input         (N, H, W, C)  half
//   grad_weights  (K, 3, 3, C)  float
//
// The grader launches blocks of 256 threads, in a grid of (ceil(K / 64), ceil(C / 64), 9). A
// block computes the weights of 64 channels k, 64 channels c and one place (kh, kw) of the
// filter, and each of its threads 4x4 of them. The block loads the gradients and pixels of
// several positions (at least 4) into shared memory at a time, each of them once. K and C
// need not be multiples of 64. No other block adds to these weights.

#include <cuda_fp16.h>

__global__ void conv_bwd_weight_tiled(const half* grad_output, const half* input,
                                      float* grad_weights, int N, int H, int W, int C, int K)
{
    // TODO 1: the first k and the first c of this block, kh and kw; and which 4x4 weights of
    //         the tile are this thread's?

    // TODO 2: for every few positions: load 64 gradients and 64 pixels of each into shared
    //         memory. What stands in for those that do not exist?

    // TODO 3: for each of these positions, add 4x4 products to 4x4 sums, in float.

    // TODO 4: where must the block wait, and why twice?

    // TODO 5: store the sums of those weights that exist.
}
