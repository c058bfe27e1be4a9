// ANCHOR: all
// Puzzle 26, solution: one thread per input element asks the windows that contain it.

__global__ void maxpool2d_bwd_gather(const float* dY, const int* idx, float* dX,
                                     int N, int C, int H, int W,
                                     int H_out, int W_out, int pool_h, int pool_w,
                                     int stride_h, int stride_w,
                                     int pad_h, int pad_w, int dil_h, int dil_w)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N * C * H * W) return; // the grid is rounded up

    // ANCHOR: decode
    int w = i % W;
    int h = i / W % H;
    int plane = i / (W * H); // samples and channels, counted together
    int me = h * W + w;      // the number by which the windows know this element
    // ANCHOR_END: decode

    // ANCHOR: sum
    float sum = 0.0f;
    for (int p = 0; p < pool_h; p++) {
        // Is there a window whose row p is our row? It begins at oh * stride_h - pad_h.
        int down = h + pad_h - p * dil_h;
        if (down < 0 || down % stride_h != 0) continue;
        int oh = down / stride_h;
        if (oh >= H_out) continue;
        for (int q = 0; q < pool_w; q++) {
            int right = w + pad_w - q * dil_w;
            if (right < 0 || right % stride_w != 0) continue;
            int ow = right / stride_w;
            if (ow >= W_out) continue;
            int o = (plane * H_out + oh) * W_out + ow;
            if (idx[o] == me) sum += dY[o];
        }
    }
    // ANCHOR_END: sum

    dX[i] = sum;
}
// ANCHOR_END: all
