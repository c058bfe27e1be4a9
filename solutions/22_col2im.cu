// ANCHOR: all
// Puzzle 22, solution: col2im by scattering and by gathering.

// ANCHOR: zero
__global__ void zero_gradients(float* dX, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) dX[i] = 0.0f;
}
// ANCHOR_END: zero

__global__ void col2im_scatter(const float* dXcol, float* dX, int C, int H, int W, int K,
                               int pad, int stride)
{
    int H_out = (H + 2 * pad - K) / stride + 1;
    int W_out = (W + 2 * pad - K) / stride + 1;
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= C * K * K * H_out * W_out) return;

    // As in im2col: the column says which window, the row which place in it.
    int ow = idx % W_out;
    int oh = idx / W_out % H_out;
    int row = idx / (W_out * H_out);
    int q = row % K;
    int p = row / K % K;
    int c = row / (K * K);

    // ANCHOR: scatter
    int h = oh * stride + p - pad;
    int w = ow * stride + q - pad;
    if (h < 0 || h >= H || w < 0 || w >= W) return; // a copy of the border, not of a pixel
    atomicAdd(&dX[(c * H + h) * W + w], dXcol[idx]);
    // ANCHOR_END: scatter
}

__global__ void col2im(const float* dXcol, float* dX, int C, int H, int W, int K, int pad,
                       int stride)
{
    // ANCHOR: pixel
    int H_out = (H + 2 * pad - K) / stride + 1;
    int W_out = (W + 2 * pad - K) / stride + 1;
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= C * H * W) return;

    int w = idx % W;
    int h = idx / W % H;
    int c = idx / (W * H);
    // ANCHOR_END: pixel

    // ANCHOR: gather
    float sum = 0.0f;
    for (int p = 0; p < K; p++) {
        int top = h + pad - p; // where the window starts, in the padded image
        if (top < 0 || top % stride != 0 || top / stride >= H_out) continue;
        int oh = top / stride;
        for (int q = 0; q < K; q++) {
            int left = w + pad - q;
            if (left < 0 || left % stride != 0 || left / stride >= W_out) continue;
            int ow = left / stride;
            sum += dXcol[(((c * K + p) * K + q) * H_out + oh) * W_out + ow];
        }
    }
    dX[idx] = sum;
    // ANCHOR_END: gather
}
// ANCHOR_END: all
