// ANCHOR: all
// Puzzle 38, solution: scale the loss, check, unscale, and skip a step as a whole.

#include <cuda_fp16.h>

#include "loss_scale.h"

const int THREADS = 256;

int blocks(int n)
{
    return (n + THREADS - 1) / THREADS;
}

// ANCHOR: gradient
__global__ void loss_gradient(const float* y, const float* t, half* g, int n, float scale)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) g[i] = __float2half(scale * (y[i] - t[i]) / n);
}

void scaled_loss_gradient(const float* y, const float* t, half* g, int n, float scale)
{
    loss_gradient<<<blocks(n), THREADS>>>(y, t, g, n, scale);
}
// ANCHOR_END: gradient

// ANCHOR: unscale
__global__ void unscale(float* g, int n, float inv_scale, int* found_inf)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    if (!isfinite(g[i])) atomicExch(found_inf, 1);
    g[i] *= inv_scale;
}

void unscale_check(float* g, int n, float inv_scale, int* found_inf)
{
    cudaMemset(found_inf, 0, sizeof(int));
    unscale<<<blocks(n), THREADS>>>(g, n, inv_scale, found_inf);
}
// ANCHOR_END: unscale

// ANCHOR: scale
void next_scale(LossScale& s, bool found_inf)
{
    s.good_steps++;
    if (found_inf) {
        s.scale *= 0.5f;
        s.good_steps = 0;
    } else if (s.good_steps == s.interval) {
        s.scale *= 2.0f;
        s.good_steps = 0;
    }
}
// ANCHOR_END: scale

// ANCHOR: step
__global__ void clipped_sgd(float* w, const float* g, int n, float lr, float limit)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) w[i] -= lr * fminf(fmaxf(g[i], -limit), limit);
}

bool scaled_step(float* w, float* g, int n, float lr, float limit, LossScale& s,
                 int* found_inf)
{
    unscale_check(g, n, 1.0f / s.scale, found_inf);

    int found;
    cudaMemcpy(&found, found_inf, sizeof(int), cudaMemcpyDeviceToHost); // waits for the kernel
    if (!found) clipped_sgd<<<blocks(n), THREADS>>>(w, g, n, lr, limit);

    next_scale(s, found);
    return !found;
}
// ANCHOR_END: step
// ANCHOR_END: all
