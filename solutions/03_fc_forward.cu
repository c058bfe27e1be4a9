// ANCHOR: all
// Puzzle 03, solution: one thread per output element.

__global__ void fc_forward(float* input, float* weights, float* bias, float* output,
                           int batch, int in_features, int out_features)
{
    // ANCHOR: index
    int b = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= batch || j >= out_features) return; // the grid is rounded up
    // ANCHOR_END: index

    // ANCHOR: sum
    float sum = bias[j];
    for (int i = 0; i < in_features; i++) {
        sum += input[b * in_features + i] * weights[j * in_features + i];
    }
    // ANCHOR_END: sum

    output[b * out_features + j] = sum;
}
// ANCHOR_END: all
