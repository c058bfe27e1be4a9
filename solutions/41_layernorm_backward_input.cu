// ANCHOR: all
// Puzzle 41, solution: one block per row, two sums, then the gradient.

#define THREADS 128

__global__ void layernorm_bwd_dx(const float* dy, const float* x, const float* gamma,
                                 const float* mean, const float* rstd, float* dx,
                                 int rows, int H)
{
    // ANCHOR: row
    int row = blockIdx.x; // the grid has exactly one block per row
    int t = threadIdx.x;
    float m = mean[row];
    float r = rstd[row];
    // ANCHOR_END: row

    // ANCHOR: partial
    float sum_g = 0.0f;  // of g
    float sum_gx = 0.0f; // of g * x^
    for (int j = t; j < H; j += THREADS) {
        float g = dy[row * H + j] * gamma[j];
        sum_g += g;
        sum_gx += g * (x[row * H + j] - m) * r;
    }
    // ANCHOR_END: partial

    // ANCHOR: reduce
    __shared__ float part_g[THREADS];
    __shared__ float part_gx[THREADS];
    part_g[t] = sum_g;
    part_gx[t] = sum_gx;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) {
            part_g[t] += part_g[t + half];
            part_gx[t] += part_gx[t + half];
        }
        __syncthreads();
    }
    // ANCHOR_END: reduce

    // ANCHOR: gradient
    float mean_g = part_g[0] / H;
    float mean_gx = part_gx[0] / H;
    for (int i = t; i < H; i += THREADS) {
        float x_hat = (x[row * H + i] - m) * r;
        dx[row * H + i] = r * (dy[row * H + i] * gamma[i] - mean_g - x_hat * mean_gx);
    }
    // ANCHOR_END: gradient
}
// ANCHOR_END: all
