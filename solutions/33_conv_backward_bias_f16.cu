// ANCHOR: all
// Puzzle 33, solution: one block per channel, which adds up by thread, warp and block.

#include <cuda_fp16.h>

// ANCHOR: warp
// The sum over the 32 lanes of a warp, in lane 0. All of them must call it.
__device__ float warp_sum(float sum)
{
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, offset);
    return sum;
}
// ANCHOR_END: warp

__global__ void conv_bwd_bias_f16(const half* grad_output, float* grad_bias, int N, int H,
                                  int W, int K)
{
    // ANCHOR: thread
    int k = blockIdx.x;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < N * H * W; i += blockDim.x)
        sum += __half2float(grad_output[i * K + k]);
    // ANCHOR_END: thread

    sum = warp_sum(sum);

    // ANCHOR: block
    __shared__ float sums[32]; // a block has 32 warps at most
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        // All 32 lanes come here: those without a warp's sum add a 0.
        float part = lane < blockDim.x / 32 ? sums[lane] : 0.0f;
        part = warp_sum(part);
        if (lane == 0) grad_bias[k] = part;
    }
    // ANCHOR_END: block
}
// ANCHOR_END: all
