// ANCHOR: all
// Puzzle 23, solution: one thread per window.

__global__ void maxpool2d_fwd(const float* X, float* Y, int* idx,
                              int N, int C, int H, int W, int H_out, int W_out,
                              int pool_h, int pool_w, int stride_h, int stride_w,
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

    // ANCHOR: window
    float largest = -INFINITY;
    int where = -1; // no element yet
    for (int p = 0; p < pool_h; p++) {
        int h = top + p * dil_h;
        if (h < 0 || h >= H) continue;
        for (int q = 0; q < pool_w; q++) {
            int w = left + q * dil_w;
            if (w < 0 || w >= W) continue;
            float v = x[h * W + w];
            // The first element is taken whatever it is: it may be -infinity.
            if (where < 0 || v > largest || (isnan(v) && !isnan(largest))) {
                largest = v;
                where = h * W + w;
            }
        }
    }
    // ANCHOR_END: window

    Y[i] = largest;
    idx[i] = where;
}
// ANCHOR_END: all
