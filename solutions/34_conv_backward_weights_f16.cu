// ANCHOR: all
// Puzzle 34, solution: thread, warp, block, grid.

#include <cuda_fp16.h>

__global__ void zero_gradients(float* gradients, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) gradients[i] = 0.0f;
}

// ANCHOR: warp
// The sum over the 32 lanes of a warp, in lane 0. All of them must call it.
__device__ float warp_sum(float sum)
{
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, offset);
    return sum;
}
// ANCHOR_END: warp

__global__ void conv_bwd_weight_hier(const half* grad_output, const half* input,
                                     float* grad_weights, int N, int H, int W, int C, int K)
{
    // ANCHOR: decode
    int weight = blockIdx.x;
    int c = weight % C;
    int kw = weight / C % 3;
    int kh = weight / (C * 3) % 3;
    int k = weight / (C * 9);
    // ANCHOR_END: decode

    // ANCHOR: thread
    // Level 1, the thread: every stride-th position, in a float.
    float sum = 0.0f;
    int stride = gridDim.y * blockDim.x;
    for (int i = blockIdx.y * blockDim.x + threadIdx.x; i < N * H * W; i += stride) {
        int ih = i / W % H + kh - 1;
        int iw = i % W + kw - 1;
        if (ih < 0 || ih >= H || iw < 0 || iw >= W) continue;
        int n = i / (W * H);
        sum += __half2float(grad_output[i * K + k])
             * __half2float(input[((n * H + ih) * W + iw) * C + c]);
    }
    // ANCHOR_END: thread

    // Level 2, the warp.
    sum = warp_sum(sum);

    // ANCHOR: block
    // Level 3, the block: as many sums as it has warps, 32 at most.
    __shared__ float sums[32];
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        // The whole first warp comes here, so that the shuffles find all their lanes.
        sum = warp_sum(lane < blockDim.x / 32 ? sums[lane] : 0.0f);

        // Level 4, the grid: other blocks add to the same weight.
        if (lane == 0) atomicAdd(&grad_weights[weight], sum);
    }
    // ANCHOR_END: block
}
// ANCHOR_END: all
