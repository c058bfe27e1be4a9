// ANCHOR: all
// Puzzle 07, solution: one thread per output element.

__global__ void conv2d_forward(const float* input, const float* filters,
                               const float* bias, float* output, int batch, int C_in,
                               int H, int W, int C_out, int F)
{
    int H_out = H - F + 1;
    int W_out = W - F + 1;

    // ANCHOR: decode
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= batch * C_out * H_out * W_out) return; // the grid is rounded up

    // The number counts the elements in memory order: ow varies fastest, b slowest.
    int ow = idx % W_out;
    int oh = idx / W_out % H_out;
    int k = idx / (W_out * H_out) % C_out;
    int b = idx / (W_out * H_out * C_out);
    // ANCHOR_END: decode

    // ANCHOR: sum
    float sum = bias[k];
    for (int c = 0; c < C_in; c++) {
        for (int fh = 0; fh < F; fh++) {
            for (int fw = 0; fw < F; fw++) {
                int h = oh + fh; // at most (H_out - 1) + (F - 1) = H - 1
                int w = ow + fw;
                sum += input[((b * C_in + c) * H + h) * W + w]
                     * filters[((k * C_in + c) * F + fh) * F + fw];
            }
        }
    }
    // ANCHOR_END: sum

    output[idx] = sum;
}
// ANCHOR_END: all
