// Step 2 of 4: a launch for each pass.
// What changed: one block has all positions in shared memory. Nothing is added atomically, so no launch writes zeros.
// Predicted: 2.6 us for an empty launch, about 1 us for the next one, and twice 1.5 us for loads, barriers and stores.
// Measured: 8.5 us, 2.0 times as fast as PyTorch.

#include "one_block.cuh"

__global__ void forward(const float* x, const float* gamma, const float* beta, const float* W, const float* bias, float* y,
                        int rows, int H, int O, float eps)
{
    pass<true, false>(nullptr, x, gamma, beta, W, bias, y, nullptr, nullptr, nullptr, nullptr, nullptr, rows, H, O, eps);
}

__global__ void backward(const float* dy, const float* x, const float* gamma, const float* beta, const float* W, float* dx,
                         float* dgamma, float* dbeta, float* dW, float* dbias, int rows, int H, int O, float eps)
{
    pass<false, true>(dy, x, gamma, beta, W, nullptr, nullptr, dx, dgamma, dbeta, dW, dbias, rows, H, O, eps);
}
