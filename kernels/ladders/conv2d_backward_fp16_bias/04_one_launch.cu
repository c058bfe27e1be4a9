// Step 4 of 5: one launch.
// What changed: blocks add to sums of the module, which are zero at its start. The block that arrives last moves them out and leaves zeros
// for the next launch.
// Predicted: the first launch of step 3 costs about 1.2 us, which are saved.
// Measured: 15.7 us, no gain. A fence, counting the blocks and reading the sums back follow one after the other, and cost as much.

#include "sums.cuh"

__device__ float totals[1024];
__device__ unsigned arrived;

__global__ void __launch_bounds__(1024, 1)
    bias_one_launch(const half* grad_output, float* grad_bias, int P, int K)
{
    extern __shared__ float4 shared[];
    __shared__ bool last;
    float* sums = (float*)shared;
    float sum[8] = {};
    add_positions(grad_output, P, K, sum);
    add_threads(sum, sums, K);
    for (int k = threadIdx.x; k < K; k += blockDim.x) atomicAdd(&totals[k], sums[k]);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    for (int k = threadIdx.x; k < K; k += blockDim.x) grad_bias[k] = atomicExch(&totals[k], 0.0f);
}
