// ANCHOR: all
// Puzzle 31, solution: the gate first, then the convolution; in two launches and in one.

#include <cuda_fp16.h>

// ANCHOR: gate
// What the ReLU lets pass. NaN is not <= 0.
__device__ half passes(half gradient, half z)
{
    return __half2float(z) <= 0.0f ? __float2half(0.0f) : gradient;
}
// ANCHOR_END: gate

__global__ void relu_bwd(const half* upstream, const half* z, half* masked, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) masked[i] = passes(upstream[i], z[i]);
}

__global__ void conv_bwd_input(const half* masked, const half* weights, half* grad_input,
                               int N, int H, int W, int C, int K)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= N * H * W * C) return; // the grid is rounded up

    int c = idx % C;
    int w = idx / C % W;
    int h = idx / (C * W) % H;
    int n = idx / (C * W * H);

    float sum = 0.0f;
    for (int kh = 0; kh < 3; kh++) {
        int oh = h - kh + 1;
        if (oh < 0 || oh >= H) continue;
        for (int kw = 0; kw < 3; kw++) {
            int ow = w - kw + 1;
            if (ow < 0 || ow >= W) continue;
            for (int k = 0; k < K; k++) {
                sum += __half2float(masked[((n * H + oh) * W + ow) * K + k])
                     * __half2float(weights[((k * 3 + kh) * 3 + kw) * C + c]);
            }
        }
    }
    grad_input[idx] = __float2half(sum);
}

__global__ void relu_conv_bwd_input(const half* upstream, const half* z, const half* weights,
                                    half* grad_input, int N, int H, int W, int C, int K)
{
    // ANCHOR: decode
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= N * H * W * C) return;

    int c = at % C; // C channels here, K channels in upstream and z
    int w = at / C % W;
    int h = at / (C * W) % H;
    int n = at / (C * W * H);
    // ANCHOR_END: decode

    // ANCHOR: fused
    float total = 0.0f;
    for (int kh = 0; kh < 3; kh++) {
        int row = h - kh + 1;
        if (row < 0 || row >= H) continue;
        for (int kw = 0; kw < 3; kw++) {
            int column = w - kw + 1;
            if (column < 0 || column >= W) continue;
            for (int k = 0; k < K; k++) {
                // The gate stands at the output that the gradient comes from.
                int o = ((n * H + row) * W + column) * K + k;
                total += __half2float(passes(upstream[o], z[o]))
                       * __half2float(weights[((k * 3 + kh) * 3 + kw) * C + c]);
            }
        }
    }
    // ANCHOR_END: fused
    grad_input[at] = __float2half(total);
}
// ANCHOR_END: all
