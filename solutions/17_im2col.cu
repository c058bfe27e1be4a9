// ANCHOR: all
// Puzzle 17, solution: one thread per element of the matrix.

__global__ void im2col(const float* X, float* Xcol, int C, int H, int W, int K, int pad,
                       int stride)
{
    // ANCHOR: decode
    int H_out = (H + 2 * pad - K) / stride + 1;
    int W_out = (W + 2 * pad - K) / stride + 1;
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= C * K * K * H_out * W_out) return;

    // The column says which window, the row which place in it.
    int ow = idx % W_out;
    int oh = idx / W_out % H_out;
    int row = idx / (W_out * H_out);
    int q = row % K;
    int p = row / K % K;
    int c = row / (K * K);
    // ANCHOR_END: decode

    // ANCHOR: copy
    int h = oh * stride + p - pad;
    int w = ow * stride + q - pad;
    bool inside = h >= 0 && h < H && w >= 0 && w < W;
    Xcol[idx] = inside ? X[(c * H + h) * W + w] : 0.0f;
    // ANCHOR_END: copy
}
// ANCHOR_END: all
