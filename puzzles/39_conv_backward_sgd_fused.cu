// Puzzle 39: gradients of a 3x3 convolution's weights and bias, and the SGD step, in one kernel
//
//   gw[k,kh,kw,c] = sum over n, h, w of grad_output[n,h,w,k] * input[n,h+kh-1,w+kw-1,c]
//   gb[k]         = sum over n, h, w of grad_output[n,h,w,k]
//
// where the first sum leaves out what lies outside the image. The step is that of puzzle 37:
//
//   master_weights[k,kh,kw,c] -= lr * (gw[k,kh,kw,c] * inv_scale)     in float
//   master_bias[k]            -= lr * (gb[k] * inv_scale)             in float
//
// unless found_inf[0] is not 0: then a gradient somewhere is infinite or NaN, here or in another
// layer, and every master stays as it is. In both cases weights and bias become their masters,
// rounded to half; what they held before may be stale.
//
// gw and gb are never in memory: the kernel writes its four results once, and nothing else.
//
// Tensors, row-major:
//   grad_output     (N, H, W, K)  half        found_inf  (1)  int
//   input           (N, H, W, C)  half
//   master_weights  (K, 3, 3, C)  float       weights    (K, 3, 3, C)  half
//   master_bias     (K)           float       bias       (K)           half
//
// The grader launches a grid of (C, K) blocks, of 32 to 1024 threads: always a multiple of 32.

#include <cuda_fp16.h>

__global__ void conv_bwd_wb_sgd(const half* grad_output, const half* input,
                                float* master_weights, half* weights, float* master_bias,
                                half* bias, float lr, float inv_scale, const int* found_inf,
                                int N, int H, int W, int C, int K)
{
    // TODO 1: add up every blockDim.x-th position in floats: nine sums for the weights
    //         (k, kh, kw, c) of this block's k and c, and one for the bias.

    // TODO 2: add up each of the ten sums over the block.

    // TODO 3: one thread for each sum: update the master, unless the step is to be skipped,
    //         and round it to half. Which block updates bias[k]?
}
