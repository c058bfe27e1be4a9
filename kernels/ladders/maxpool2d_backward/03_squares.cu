// Step 3 of 6: squares.
// What changed: windows have stride 2, so the same four decide all elements of a 2x2 square. A thread has a square, finds it by a grid
// of three dimensions instead of divisions, and stores two float2.
// Predicted: a quarter of the threads, no division, and a load of each window by four threads instead of nine: bound by memory.
// Measured: 89.3 us.

__global__ void maxpool_squares(const float* dY, const int* idx, float* dX, int planes, int H, int W)
{
    int H_out = H / 2, W_out = W / 2;
    int ow = blockIdx.x * blockDim.x + threadIdx.x;
    int oh = blockIdx.y * blockDim.y + threadIdx.y;
    int plane = blockIdx.z;
    if (ow >= W_out || oh >= H_out) return;
    int window = (plane * H_out + oh) * W_out + ow;
    int first = 2 * oh * W + 2 * ow;
    float a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;
    for (int p = 0; p < 2; p++) {
        for (int q = 0; q < 2; q++) {
            if (oh + p >= H_out || ow + q >= W_out) continue;
            int winner = idx[window + p * W_out + q];
            float gradient = dY[window + p * W_out + q];
            if (winner == first) a += gradient;
            if (winner == first + 1) b += gradient;
            if (winner == first + W) c += gradient;
            if (winner == first + W + 1) d += gradient;
        }
    }
    float2* upper = (float2*)(dX + plane * H * W + first);
    float2* lower = (float2*)(dX + plane * H * W + first + W);
    *upper = make_float2(a, b);
    *lower = make_float2(c, d);
}
