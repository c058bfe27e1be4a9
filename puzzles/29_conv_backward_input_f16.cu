// Puzzle 29: the gradient of a 3x3 convolution with respect to its input, in half precision
//
//   grad_input[n,h,w,c] = sum over k, kh, kw of
//                         grad_output[n,h-kh+1,w-kw+1,k] * weights[k,kh,kw,c]
//
// over those kh, kw for which (h-kh+1, w-kw+1) is a position of grad_output:
//   0 <= h-kh+1 < H  and  0 <= w-kw+1 < W.
// The padding of 1 makes the output as large as the input.
//
// Tensors, row-major (the last index varies fastest: the channels of a pixel lie side by side):
//   grad_output  (N, H, W, K)  half
//   weights      (K, 3, 3, C)  half
//   grad_input   (N, H, W, C)  half
//
// One thread computes one element of grad_input: it adds up in float, and rounds to half once,
// at the end. The grader launches blocks of 256 threads, ceil(N*H*W*C / 256) of them.

#include <cuda_fp16.h>

__global__ void conv_bwd_input_f16(const half* grad_output, const half* weights,
                                   half* grad_input, int N, int H, int W, int C, int K)
{
    // TODO 1: find this thread's number in the whole grid; leave if no element has it.

    // TODO 2: turn the number into the coordinates n, h, w and c. Which of them should
    //         neighbouring threads differ in?

    // TODO 3: for every filter element (kh, kw), find the output position that met this
    //         element there. If it exists, add up over all output channels k, in float:
    //         __half2float turns a half into a float.

    // TODO 4: store the sum: __float2half rounds it.
}
