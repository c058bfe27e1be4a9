// The kernel of puzzle 36: that of puzzle 35 with tiles of 16, 32 and 64. The grader links it
// compiled (kernels/references/conv_weight_kernels.cu).
//
//   conv_bwd_weight_tile<TILE><<<dim3(ceil(K / TILE), ceil(C / TILE), 9), 256>>>(...)
//
// TILE is 16, 32 or 64. A thread computes (TILE / 16) x (TILE / 16) weights.
#pragma once

#include <cuda_fp16.h>

// Kernels are visible only within their own library unless they are declared so.
#pragma GCC visibility push(default)

// grad_output (N, H, W, K), input (N, H, W, C), grad_weights (K, 3, 3, C); *used becomes the
// size of the tile.
__global__ void conv_bwd_weight_tile_16(const half* grad_output, const half* input,
                                        float* grad_weights, int* used, int N, int H, int W,
                                        int C, int K);
__global__ void conv_bwd_weight_tile_32(const half* grad_output, const half* input,
                                        float* grad_weights, int* used, int N, int H, int W,
                                        int C, int K);
__global__ void conv_bwd_weight_tile_64(const half* grad_output, const half* input,
                                        float* grad_weights, int* used, int N, int H, int W,
                                        int C, int K);

#pragma GCC visibility pop

// The three by the size of their tile. There is no other.
template <int TILE>
constexpr auto conv_bwd_weight_tile = nullptr;
template <>
constexpr auto conv_bwd_weight_tile<16> = conv_bwd_weight_tile_16;
template <>
constexpr auto conv_bwd_weight_tile<32> = conv_bwd_weight_tile_32;
template <>
constexpr auto conv_bwd_weight_tile<64> = conv_bwd_weight_tile_64;
