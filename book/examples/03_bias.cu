// Puzzle 3 with the bias of the sample in the place of the feature's.
__global__ void fc_forward(float* input, float* weights, float* bias, float* output,
                           int batch, int in_features, int out_features)
{
    int b = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= batch || j >= out_features) return; // the grid is rounded up

    float sum = bias[b];
    for (int i = 0; i < in_features; i++) {
        sum += input[b * in_features + i] * weights[j * in_features + i];
    }

    output[b * out_features + j] = sum;
}
