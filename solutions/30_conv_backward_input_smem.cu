// ANCHOR: all
// Puzzle 30, solution: both kernels share one function; only where the array comes from differs.

#include <cuda_fp16.h>

const int MINE = 4; // positions of a thread

// s has room for KT x 9 x CT weights.
__device__ void input_tile(half* s, const half* grad_output, const half* weights,
                           half* grad_input, int N, int H, int W, int C, int K, int KT,
                           int CT)
{
    // ANCHOR: place
    int c0 = blockIdx.y * CT;
    int c = c0 + threadIdx.x;
    int first = blockIdx.x * MINE * blockDim.y + threadIdx.y;
    int tid = threadIdx.y * blockDim.x + threadIdx.x;
    int threads = blockDim.x * blockDim.y;
    // ANCHOR_END: place

    float sum[MINE] = {};
    for (int k0 = 0; k0 < K; k0 += KT) {
        int steps = min(KT, K - k0); // the last step may be shorter

        // ANCHOR: load
        // Neighbouring threads load neighbouring channels c.
        for (int i = tid; i < steps * 9 * CT; i += threads) {
            int row = i / CT; // k and the place in the filter
            int col = i % CT;
            if (c0 + col < C) s[i] = weights[(k0 * 9 + row) * C + c0 + col];
        }
        __syncthreads(); // the weights are there
        // ANCHOR_END: load

        // ANCHOR: sums
#pragma unroll // so that the sums are registers
        for (int j = 0; j < MINE; j++) {
            int p = first + j * blockDim.y;
            if (p >= N * H * W || c >= C) continue;
            int w = p % W;
            int h = p / W % H;
            int n = p / (W * H);
#pragma unroll 1 // nine copies of this loop would make the kernel six times as long
            for (int place = 0; place < 9; place++) {
                int oh = h - place / 3 + 1;
                int ow = w - place % 3 + 1;
                if (oh < 0 || oh >= H || ow < 0 || ow >= W) continue;
                const half* g = grad_output + ((n * H + oh) * W + ow) * K + k0;
                for (int k = 0; k < steps; k++)
                    sum[j] += __half2float(g[k])
                            * __half2float(s[(k * 9 + place) * CT + threadIdx.x]);
            }
        }
        __syncthreads(); // no thread needs them any more
        // ANCHOR_END: sums
    }

    for (int j = 0; j < MINE; j++) {
        int p = first + j * blockDim.y;
        if (p < N * H * W && c < C) grad_input[p * C + c] = __float2half(sum[j]);
    }
}

// ANCHOR: kernels
__global__ void conv_bwd_input_smem(const half* grad_output, const half* weights,
                                    half* grad_input, int N, int H, int W, int C, int K)
{
    __shared__ half tile[32 * 9 * 32];
    input_tile(tile, grad_output, weights, grad_input, N, H, W, C, K, 32, 32);
}

__global__ void conv_bwd_input_smem_dynamic(const half* grad_output, const half* weights,
                                            half* grad_input, int N, int H, int W, int C,
                                            int K, int KT, int CT)
{
    extern __shared__ half tile[];
    input_tile(tile, grad_output, weights, grad_input, N, H, W, C, K, KT, CT);
}
// ANCHOR_END: kernels
// ANCHOR_END: all
