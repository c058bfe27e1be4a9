// Puzzle 10 with a bound that is one too large.
__global__ void conv2d_backward_input(const float* grad_output, const float* filters,
                                      float* grad_input, int batch, int C_in,
                                      int H, int W, int C_out, int F)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= batch * C_in * H * W) return; // the grid is rounded up

    // The number counts the elements in memory order: w varies fastest, b slowest.
    int w = idx % W;
    int h = idx / W % H;
    int c = idx / (W * H) % C_in;
    int b = idx / (W * H * C_in);

    int H_out = H - F + 1;
    int W_out = W - F + 1;

    float sum = 0.0f;
    for (int k = 0; k < C_out; k++) {
        for (int fh = 0; fh < F; fh++) {
            for (int fw = 0; fw < F; fw++) {
                // The output position that met this element at (fh, fw),
                // if there is one.
                int oh = h - fh;
                int ow = w - fw;
                if (oh < 0 || oh > H_out || ow < 0 || ow >= W_out) continue;
                sum += grad_output[((b * C_out + k) * H_out + oh) * W_out + ow]
                     * filters[((k * C_in + c) * F + fh) * F + fw];
            }
        }
    }

    grad_input[idx] = sum;
}
