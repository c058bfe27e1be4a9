// ANCHOR: all
// Puzzle 06, solution: one thread per element of each gradient.

// ANCHOR: weights
__global__ void fc_backward_weights(float* grad_output, float* input,
                                    float* grad_weights, int batch, int in_features,
                                    int out_features)
{
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= out_features || i >= in_features) return; // the grid is rounded up

    // The weight was used once by every sample.
    float sum = 0.0f;
    for (int b = 0; b < batch; b++) {
        sum += grad_output[b * out_features + j] * input[b * in_features + i];
    }

    grad_weights[j * in_features + i] = sum;
}
// ANCHOR_END: weights

// ANCHOR: bias
__global__ void fc_backward_bias(float* grad_output, float* grad_bias, int batch,
                                 int out_features)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= out_features) return;

    float total = 0.0f;
    for (int n = 0; n < batch; n++) {
        total += grad_output[n * out_features + j];
    }

    grad_bias[j] = total;
}
// ANCHOR_END: bias

// ANCHOR: input
__global__ void fc_backward_input(float* grad_output, float* weights,
                                  float* grad_input, int batch, int in_features,
                                  int out_features)
{
    int b = blockIdx.y * blockDim.y + threadIdx.y;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= batch || i >= in_features) return;

    // The input was used once by every output feature of its sample.
    float acc = 0.0f;
    for (int j = 0; j < out_features; j++) {
        acc += grad_output[b * out_features + j] * weights[j * in_features + i];
    }

    grad_input[b * in_features + i] = acc;
}
// ANCHOR_END: input
// ANCHOR_END: all
