// ANCHOR: all
// Puzzle 04, solution: one thread per element.

// ANCHOR: forward
__global__ void relu_forward(const float* input, float* output, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return; // the grid is rounded up

    output[i] = input[i] <= 0.0f ? 0.0f : input[i];
}
// ANCHOR_END: forward

// ANCHOR: backward
__global__ void relu_backward(const float* grad_output, const float* input,
                              float* grad_input, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n) return;

    grad_input[at] = input[at] <= 0.0f ? 0.0f : grad_output[at];
}
// ANCHOR_END: backward
// ANCHOR_END: all
