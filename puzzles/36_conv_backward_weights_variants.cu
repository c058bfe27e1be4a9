// Puzzle 36: the gradient of a 3x3 convolution with respect to its weights, in tiles that
// suit the number of channels
//
// Tensors, row-major:
//   grad_output   (N, H, W, K)  half
//   input         (N, H, W, C)  half
//   grad_weights  (K, 3, 3, C)  float
//   used          (1)           int    the tile of the kernel that ran, which writes it
//
// This is host code: it launches kernels that are there already, compiled for tiles of 16, 32
// and 64 (kernels/include/conv_weight_kernels.cuh):
//
//   conv_bwd_weight_tile<TILE>(grad_output, input, grad_weights, used, N, H, W, C, K)
//
//   blocks of 256 threads; the grid is ceil(K / TILE), ceil(C / TILE), 9
//
// All pointers are to device memory, which is allocated. Everything goes into the caller's
// stream, and the functions do not wait.

#include "conv_weight_kernels.cuh"

// The tile to use: 64 if both K and C are at least 64, else 32 if both are at least 32,
// else 16.
int conv_bwd_weight_variant(int K, int C)
{
    // TODO 1: choose.
    return 0;
}

void conv_bwd_weight(const half* grad_output, const half* input, float* grad_weights,
                     int* used, int N, int H, int W, int C, int K, cudaStream_t stream)
{
    // TODO 2: launch the variant for these K and C on the stream. A template's argument must
    //         be known when the program is compiled: how does a number become one?
}
