// ANCHOR: all
// Puzzle 11, solution: one thread per element.

// ANCHOR: update
__global__ void sgd_update(float* weights, const float* gradients, float lr, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return; // the grid is rounded up

    weights[i] -= lr * gradients[i];
}
// ANCHOR_END: update

// ANCHOR: zero
__global__ void zero_gradients(float* gradients, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n) return;

    gradients[at] = 0.0f;
}
// ANCHOR_END: zero
// ANCHOR_END: all
