// ANCHOR: all
// Puzzle 25, solution: one thread per window searches it, and adds to the winner.

__global__ void zero_gradients(float* gradients, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) gradients[i] = 0.0f;
}

__global__ void maxpool2d_bwd_recompute(const float* X, const float* dY, float* dX,
                                        int N, int C, int H, int W,
                                        int H_out, int W_out, int pool_h, int pool_w,
                                        int stride_h, int stride_w,
                                        int pad_h, int pad_w, int dil_h, int dil_w)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N * C * H_out * W_out) return; // the grid is rounded up

    // ANCHOR: decode
    int ow = i % W_out;
    int oh = i / W_out % H_out;
    int plane = i / (W_out * H_out); // samples and channels, counted together

    const float* x = X + plane * H * W;
    int top = oh * stride_h - pad_h; // may be negative: in the padding
    int left = ow * stride_w - pad_w;
    // ANCHOR_END: decode

    // ANCHOR: search
    // As in the forward pass, to the last comparison.
    float largest = -INFINITY;
    int where = -1;
    for (int p = 0; p < pool_h; p++) {
        int h = top + p * dil_h;
        if (h < 0 || h >= H) continue;
        for (int q = 0; q < pool_w; q++) {
            int w = left + q * dil_w;
            if (w < 0 || w >= W) continue;
            float v = x[h * W + w];
            if (where < 0 || v > largest || (isnan(v) && !isnan(largest))) {
                largest = v;
                where = h * W + w;
            }
        }
    }
    // ANCHOR_END: search

    // ANCHOR: add
    if (where < 0) return; // the window was all padding
    atomicAdd(&dX[plane * H * W + where], dY[i]);
    // ANCHOR_END: add
}
// ANCHOR_END: all
