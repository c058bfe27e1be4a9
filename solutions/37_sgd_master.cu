// ANCHOR: all
// Puzzle 37, solution: one thread per weight.

#include <cuda_fp16.h>

__global__ void sgd_master(float* master, half* w, const float* g, float lr,
                           float inv_scale, const int* found_inf, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return; // the grid is rounded up

    // ANCHOR: step
    float weight = master[i];
    if (found_inf[0] == 0) weight -= lr * (g[i] * inv_scale); // the same for all threads
    // ANCHOR_END: step

    // ANCHOR: store
    master[i] = weight;
    w[i] = __float2half(weight); // a copy: never the start of the next step
    // ANCHOR_END: store
}
// ANCHOR_END: all
