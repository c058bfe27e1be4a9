// ANCHOR: all
// Puzzle 36, solution: choose a tile, and launch the kernel that was compiled for it.

#include "conv_weight_kernels.cuh"

// ANCHOR: variant
int conv_bwd_weight_variant(int K, int C)
{
    int fewer = K < C ? K : C;
    if (fewer >= 64) return 64;
    if (fewer >= 32) return 32;
    return 16;
}
// ANCHOR_END: variant

// ANCHOR: launch
template <int TILE>
void launch(const half* grad_output, const half* input, float* grad_weights, int* used,
            int N, int H, int W, int C, int K, cudaStream_t stream)
{
    dim3 grid((K + TILE - 1) / TILE, (C + TILE - 1) / TILE, 9);
    conv_bwd_weight_tile<TILE><<<grid, 256, 0, stream>>>(grad_output, input, grad_weights,
                                                         used, N, H, W, C, K);
}
// ANCHOR_END: launch

// ANCHOR: switch
void conv_bwd_weight(const half* grad_output, const half* input, float* grad_weights,
                     int* used, int N, int H, int W, int C, int K, cudaStream_t stream)
{
    switch (conv_bwd_weight_variant(K, C)) {
    case 64: launch<64>(grad_output, input, grad_weights, used, N, H, W, C, K, stream); break;
    case 32: launch<32>(grad_output, input, grad_weights, used, N, H, W, C, K, stream); break;
    default: launch<16>(grad_output, input, grad_weights, used, N, H, W, C, K, stream);
    }
}
// ANCHOR_END: switch
// ANCHOR_END: all
