// ANCHOR: all
// Puzzle 28, solution: one thread per aligned pair of halves.

#include <cuda_fp16.h>

// ANCHOR: gate
// What passes the gate: a NaN in z is not <= 0, so it does.
__device__ half passes(half gradient, half z)
{
    return __hle(z, __float2half(0.0f)) ? __float2half(0.0f) : gradient;
}
// ANCHOR_END: gate

__global__ void relu_bwd_half2(const half* grad_output, const half* z, half* grad_input,
                               int start, int n)
{
    // ANCHOR: pair
    // Elements i and i+1 with an even i: their address is a multiple of 4 bytes.
    int first = start / 2; // the pair that contains the first element
    int i = 2 * (first + blockIdx.x * blockDim.x + threadIdx.x);
    int end = start + n;
    if (i >= end) return; // the grid is rounded up
    // ANCHOR_END: pair

    // ANCHOR: both
    if (i >= start && i + 1 < end) {
        half2 g2 = *reinterpret_cast<const half2*>(&grad_output[i]);
        half2 z2 = *reinterpret_cast<const half2*>(&z[i]);
        half2 result = __halves2half2(passes(__low2half(g2), __low2half(z2)),
                                      passes(__high2half(g2), __high2half(z2)));
        *reinterpret_cast<half2*>(&grad_input[i]) = result;
        return;
    }
    // ANCHOR_END: both

    // ANCHOR: ends
    // Only one of the two is ours: at an end of the slice.
    int at = i < start ? i + 1 : i;
    grad_input[at] = passes(grad_output[at], z[at]);
    // ANCHOR_END: ends
}
// ANCHOR_END: all
