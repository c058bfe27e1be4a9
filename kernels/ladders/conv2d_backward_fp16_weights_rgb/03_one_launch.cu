// Step 3 of 3: one launch.
// What changed: the block that begins first writes the zeros, while the gradients are on their way, and says so. The others ask only when
// they have sums to add. Nobody waits for a block that has not begun.
// Predicted: 1.2 us less, the first launch of step 2.
// Measured: 11.9 us, half a microsecond more: no block adds before the zeros are said to be there, and all ask at the same time. With sums
// added four at a time (`atomicAdd` of `float4`, sm_90) one launch wins by 0.5 us: 11.5 us, and 12.0 with two launches.

#include "02_products.cu"

__device__ unsigned begun, ready; // both are zero between launches

__global__ void __launch_bounds__(32 * WARPS)
    rgb_one_launch(const half* grad_output, const half* input, float* grad_weights, int H)
{
    extern __shared__ float sums[];
    __shared__ bool first;
    multiply_rows(grad_output, input, sums, H, [&] {
        if (threadIdx.x == 0) first = atomicInc(&begun, gridDim.x - 1) == 0;
        __syncthreads();
        if (!first) return;
        for (int i = threadIdx.x; i < K * COLUMNS; i += blockDim.x) grad_weights[i] = 0.0f;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) atomicExch(&ready, 1);
    });
    if (threadIdx.x == 0) {
        while (atomicAdd(&ready, 0) == 0) {}
        __threadfence();
        atomicInc(&ready, gridDim.x); // the last block leaves zero
    }
    __syncthreads();
    add_warps(sums, grad_weights);
}
