// Puzzle 34: the gradient of a 3x3 convolution's weights, by hierarchical reduction
//
//   grad_weights[k,kh,kw,c] = sum over n, h, w of
//                             grad_output[n,h,w,k] * input[n,h+kh-1,w+kw-1,c]
//
// over those positions (n,h,w) for which (h+kh-1, w+kw-1) lies in the image.
//
// Tensors, row-major:
//   grad_output   (N, H, W, K)  half
//   input         (N, H, W, C)  half
//   grad_weights  (K, 3, 3, C)  float
//
// Each of the few weights needs a sum over all N*H*W positions. The grader launches a grid of
// (9*K*C, parts) blocks: blockIdx.x is the number of a weight, and gridDim.y blocks share its
// positions. A block has 32 to 1024 threads, always a multiple of 32.

#include <cuda_fp16.h>

// Launched first, with enough threads: nothing else has set grad_weights to zero.
__global__ void zero_gradients(float* gradients, int n)
{
    // TODO 1: set gradients[0] to gradients[n-1] to zero, one thread each.
}

__global__ void conv_bwd_weight_hier(const half* grad_output, const half* input,
                                     float* grad_weights, int N, int H, int W, int C, int K)
{
    // TODO 2: turn the number of the weight into k, kh, kw and c.

    // TODO 3: level 1, the thread: add up in a float every gridDim.y*blockDim.x-th position.

    // TODO 4: level 2, the warp: add up the 32 sums by __shfl_down_sync.

    // TODO 5: level 3, the block: lane 0 of each warp leaves its sum in shared memory, and
    //         the first warp adds these up. How many warps are there?

    // TODO 6: level 4, the grid: one thread of the block adds its sum by atomicAdd.
}
