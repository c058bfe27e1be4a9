// ANCHOR: all
// Puzzle 29, solution: one thread per input element, channels fastest.
// It gathers in float from all the outputs that used the element.

#include <cuda_fp16.h>

__global__ void conv_bwd_input_f16(const half* grad_output, const half* weights,
                                   half* grad_input, int N, int H, int W, int C, int K)
{
    // ANCHOR: decode
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= N * H * W * C) return; // the grid is rounded up

    // Memory order: neighbouring threads have neighbouring channels of one pixel.
    int c = idx % C;
    int w = idx / C % W;
    int h = idx / (C * W) % H;
    int n = idx / (C * W * H);
    // ANCHOR_END: decode

    // ANCHOR: sum
    float sum = 0.0f; // 24 bits: a half has 11
    for (int kh = 0; kh < 3; kh++) {
        int oh = h - kh + 1;
        if (oh < 0 || oh >= H) continue;
        for (int kw = 0; kw < 3; kw++) {
            int ow = w - kw + 1;
            if (ow < 0 || ow >= W) continue;
            for (int k = 0; k < K; k++) {
                // The same gradient for the whole pixel, a row of weights side by side.
                sum += __half2float(grad_output[((n * H + oh) * W + ow) * K + k])
                     * __half2float(weights[((k * 3 + kh) * 3 + kw) * C + c]);
            }
        }
    }
    // ANCHOR_END: sum

    grad_input[idx] = __float2half(sum); // the only rounding to half
}
// ANCHOR_END: all
