// Step 3 of 5: vectors.
// What changed: a thread loads eight channels at once, for eight positions before it adds the first. 128 blocks of 1,024 threads have 16 MB
// in flight. The block adds up in shared memory before it adds atomically.
// Predicted: the time of reading, 8 us, and some 3 us for two launches.
// Measured: 15.1 us, 5.0 times as fast as PyTorch (75.3 us). A kernel that only reads takes 13.6 us after the cache was overwritten: 34 MB
// of the overwritten lines must be written back before 34 MB can be read. With 256 or 512 threads and as many loads: 18.9 and 16.6 us.

#include "sums.cuh"

__global__ void zero_sums(float* sums, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sums[i] = 0.0f;
}

__global__ void __launch_bounds__(1024, 1)
    bias_vectors(const half* grad_output, float* grad_bias, int P, int K)
{
    extern __shared__ float4 shared[];
    float* sums = (float*)shared;
    float sum[8] = {};
    add_positions(grad_output, P, K, sum);
    add_threads(sum, sums, K);
    for (int k = threadIdx.x; k < K; k += blockDim.x) atomicAdd(&grad_bias[k], sums[k]);
}
