// Puzzle 30: the gradient of a 3x3 convolution with respect to its input, with the weights in
// shared memory
//
//   grad_input[n,h,w,c] = sum over k, kh, kw of
//                         grad_output[n,h-kh+1,w-kw+1,k] * weights[k,kh,kw,c]
//
// over those kh, kw for which (h-kh+1, w-kw+1) is a position of grad_output.
//
// Tensors, row-major:
//   grad_output  (N, H, W, K)  half
//   weights      (K, 3, 3, C)  half
//   grad_input   (N, H, W, C)  half
//
// A block computes CT channels c of 32 positions. It goes through the channels k in steps of
// KT: it loads the KT x 9 x CT weights of a step into shared memory, each of them once, and
// then all its threads add up with them. K and C need not be multiples of KT and CT.
//
// The grader launches blocks of (CT, 8) threads, in a grid of (ceil(N*H*W / 32), ceil(C / CT)):
// thread (x, y) computes channel x of the block's positions y, y+8, y+16 and y+24.

#include <cuda_fp16.h>

// KT = CT = 32, and an array of 32 x 9 x 32 halves: 18,432 bytes.
__global__ void conv_bwd_input_smem(const half* grad_output, const half* weights,
                                    half* grad_input, int N, int H, int W, int C, int K)
{
    // TODO 1: declare the array in shared memory.

    // TODO 2: for each step of channels k: load the weights, wait, add up, wait.

    // TODO 3: store those elements that exist.
}

// Any KT and CT: the launch says how much shared memory there is, 2 * KT*9*CT bytes.
__global__ void conv_bwd_input_smem_dynamic(const half* grad_output, const half* weights,
                                            half* grad_input, int N, int H, int W, int C,
                                            int K, int KT, int CT)
{
    extern __shared__ half tile[];

    // TODO 4: the same. Can both kernels call one function?
}
