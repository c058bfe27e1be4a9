// Puzzle 31: backward pass of a convolution with a ReLU behind it, in two passes and in one
//
//   masked[n,h,w,k]     = 0 if z[n,h,w,k] <= 0, else upstream[n,h,w,k]
//   grad_input[n,h,w,c] = sum over k, kh, kw of
//                         masked[n,h-kh+1,w-kw+1,k] * weights[k,kh,kw,c]
//
// over those kh, kw for which (h-kh+1, w-kw+1) is a position of masked. z is the result of
// the convolution, before the ReLU; upstream is the gradient of what comes out of the ReLU.
//
// Tensors, row-major (the last index varies fastest):
//   upstream, z, masked  (N, H, W, K)  half
//   weights              (K, 3, 3, C)  half
//   grad_input           (N, H, W, C)  half
//
// Sums are kept in float and rounded to half once, at the end. All kernels are launched in
// blocks of 256 threads, with enough of them for one thread for each element of the result.

#include <cuda_fp16.h>

// Version A, pass 1: one thread computes one of the n elements of masked.
__global__ void relu_bwd(const half* upstream, const half* z, half* masked, int n)
{
    // TODO 1: store the gradient or 0.
}

// Version A, pass 2: one thread computes one element of grad_input, as in puzzle 29.
__global__ void conv_bwd_input(const half* masked, const half* weights, half* grad_input,
                               int N, int H, int W, int C, int K)
{
    // TODO 2: your kernel of puzzle 29, with masked in the place of grad_output.
}

// Version B: the same grad_input in a single pass, without masked.
__global__ void relu_conv_bwd_input(const half* upstream, const half* z, const half* weights,
                                    half* grad_input, int N, int H, int W, int C, int K)
{
    // TODO 3: as above. Where does the gate stand now, and which index does z have there?
}
