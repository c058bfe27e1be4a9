// ANCHOR: all
// Puzzle 09, solution: one thread per weight, and one thread per bias.

// ANCHOR: weights
__global__ void conv2d_backward_weights(const float* grad_output, const float* input,
                                        float* grad_weights, int batch, int C_in,
                                        int H, int W, int C_out, int F)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= C_out * C_in * F * F) return; // the grid is rounded up

    // The number counts the weights in memory order: fw varies fastest, k slowest.
    int fw = idx % F;
    int fh = idx / F % F;
    int c = idx / (F * F) % C_in;
    int k = idx / (F * F * C_in);

    int H_out = H - F + 1;
    int W_out = W - F + 1;

    // The weight was used once at every output position of every sample.
    float sum = 0.0f;
    for (int b = 0; b < batch; b++) {
        for (int oh = 0; oh < H_out; oh++) {
            for (int ow = 0; ow < W_out; ow++) {
                int h = oh + fh; // the element that it met there
                int w = ow + fw;
                sum += grad_output[((b * C_out + k) * H_out + oh) * W_out + ow]
                     * input[((b * C_in + c) * H + h) * W + w];
            }
        }
    }

    grad_weights[idx] = sum;
}
// ANCHOR_END: weights

// ANCHOR: bias
__global__ void conv2d_backward_bias(const float* grad_output, float* grad_bias,
                                     int batch, int C_out, int H_out, int W_out)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= C_out) return;

    // Within one sample, channel k is one contiguous run of H_out*W_out elements.
    float total = 0.0f;
    for (int n = 0; n < batch; n++) {
        const float* channel = grad_output + (n * C_out + k) * H_out * W_out;
        for (int i = 0; i < H_out * W_out; i++) {
            total += channel[i];
        }
    }

    grad_bias[k] = total;
}
// ANCHOR_END: bias
// ANCHOR_END: all
