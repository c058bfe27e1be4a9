// Puzzle 33: the gradient of a convolution's bias, by warp shuffles and a block reduction
//
//   grad_bias[k] = sum over n, h, w of grad_output[n,h,w,k]
//
// Tensors, row-major:
//   grad_output  (N, H, W, K)  half
//   grad_bias    (K)           float
//
// The grader launches K blocks, one for each channel, of 32 to 1024 threads: always a
// multiple of 32.

#include <cuda_fp16.h>

__global__ void conv_bwd_bias_f16(const half* grad_output, float* grad_bias, int N, int H,
                                  int W, int K)
{
    // TODO 1: add up in a float every blockDim.x-th position of this block's channel.

    // TODO 2: add up the 32 sums of a warp by __shfl_down_sync: five steps.

    // TODO 3: lane 0 of each warp leaves its sum in shared memory; wait.

    // TODO 4: the first warp adds these up in the same way. How many are there, and what do
    //         the other lanes contribute?

    // TODO 5: one thread stores the sum.
}
