// ANCHOR: all
// Puzzle 39, solution: a block owns nine weights, adds up their gradients, and takes the step.

#include <cuda_fp16.h>

// The sum over the 32 lanes of a warp, in lane 0. All of them must call it.
__device__ float warp_sum(float sum)
{
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, offset);
    return sum;
}

// ANCHOR: step
// The step of puzzle 37 for one parameter.
__device__ void sgd_step(float* master, half* rounded, float gradient, float lr,
                         float inv_scale, bool skip)
{
    float value = *master;
    if (!skip) value -= lr * (gradient * inv_scale);
    *master = value;
    *rounded = __float2half(value);
}
// ANCHOR_END: step

__global__ void conv_bwd_wb_sgd(const half* grad_output, const half* input,
                                float* master_weights, half* weights, float* master_bias,
                                half* bias, float lr, float inv_scale, const int* found_inf,
                                int N, int H, int W, int C, int K)
{
    // ANCHOR: thread
    int c = blockIdx.x;
    int k = blockIdx.y;
    float sums[10] = {}; // of the weight (kh, kw) at 3 * kh + kw, of the bias at 9
    for (int i = threadIdx.x; i < N * H * W; i += blockDim.x) {
        int w = i % W;
        int h = i / W % H;
        int n = i / (W * H);
        float g = __half2float(grad_output[i * K + k]); // one load for ten sums
        sums[9] += g;
        for (int kh = 0; kh < 3; kh++) {
            for (int kw = 0; kw < 3; kw++) {
                int ih = h + kh - 1;
                int iw = w + kw - 1;
                if (ih < 0 || ih >= H || iw < 0 || iw >= W) continue;
                sums[3 * kh + kw] += g * __half2float(input[((n * H + ih) * W + iw) * C + c]);
            }
        }
    }
    // ANCHOR_END: thread

    // ANCHOR: block
    __shared__ float parts[32][10]; // a row for each warp
    for (int s = 0; s < 10; s++) {
        float sum = warp_sum(sums[s]);
        if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32][s] = sum;
    }
    __syncthreads();
    // ANCHOR_END: block

    // ANCHOR: update
    int s = threadIdx.x; // ten threads remain, one for each sum
    if (s >= 10) return;
    float gradient = 0.0f;
    for (int warp = 0; warp < blockDim.x / 32; warp++) gradient += parts[warp][s];

    bool skip = found_inf[0] != 0;
    if (s < 9) {
        int weight = (k * 9 + s) * C + c;
        sgd_step(&master_weights[weight], &weights[weight], gradient, lr, inv_scale, skip);
    } else if (c == 0) { // all C blocks of this k have the sum: one of them takes the step
        sgd_step(&master_bias[k], &bias[k], gradient, lr, inv_scale, skip);
    }
    // ANCHOR_END: update
}
// ANCHOR_END: all
