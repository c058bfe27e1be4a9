// Step 5 of 8: products of warpgroups. For compute capability 9.0 (sm_90a).
// What changed: wgmma reads both factors from shared memory by itself. One warpgroup brings (cp.async), two multiply 64 pixels by 128
// channels, twice each; barrier objects say which buffers are full or empty, and a block goes on to its next tile without a pause. The 64
// pixels of a product are 8x8: eight rows of a factor lie side by side, and groups of eight are a row of the slab apart. So the halo works
// as before: the pixels of another weight begin at another row of shared memory.
// Predicted: 72 us at half of what the tensor cores can do, 36 at all.
// Measured: 57.7 us; 15.6 us for 64 to 64 channels. It was 69.9 us with the fence between the copies and wgmma in the warpgroup that
// brings: the fence waits for all copies on their way. Those that multiply have none, so it is theirs. And 66.5 us with indices of 64 bits:
// probably the addresses of the copies were what the kernel waited for.

#include "warpgroups.cuh"

__global__ void __launch_bounds__(384, 1)
    input_wgmma(const half* grad_output, const half* weights, half* grad_input, int N, int H, int W, int C, int K)
{
    if (C % 128 == 0) tile<128, 8>(grad_output, weights, grad_input, N, H, W, C, K);
    else tile<64, 12>(grad_output, weights, grad_input, N, H, W, C, K);
}
