// Step 2 of 6: gather.
// What changed: a thread for each element adds up the windows that it won, in an order of its own. No atomic operations, no
// zeros, and the same bits in every run.
// Predicted: only the least traffic is left, 308 MB: 75 us at 4.1 TB/s.
// Measured: 398.2 us. Slower, with 4.9 times as many instructions: each element is found by divisions by sizes that are known only at run
// time.

__global__ void maxpool_gather(const float* dY, const int* idx, float* dX, int planes, int H, int W)
{
    int H_out = H / 2, W_out = W / 2;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= planes * H * W) return;
    int place = i % (H * W);
    int plane = i / (H * W);
    int h = place / W, w = place % W;
    float sum = 0.0f;
    for (int oh = h / 2; oh <= min((h + 1) / 2, H_out - 1); oh++) {
        for (int ow = w / 2; ow <= min((w + 1) / 2, W_out - 1); ow++) {
            int window = (plane * H_out + oh) * W_out + ow;
            if (idx[window] == place) sum += dY[window];
        }
    }
    dX[i] = sum;
}
