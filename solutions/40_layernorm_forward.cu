// ANCHOR: all
// Puzzle 40, solution: one block per row, the mean first, then the variance from the deviations.

#define THREADS 128

// ANCHOR: reduce
// The sum of `value` over all threads of the block, for each of them.
__device__ float block_sum(float value)
{
    __shared__ float part[THREADS];
    int t = threadIdx.x;
    part[t] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    float total = part[0];
    __syncthreads(); // the next call may overwrite part[0] only after all have read it
    return total;
}
// ANCHOR_END: reduce

__global__ void layernorm_fwd(const float* x, const float* gamma, const float* beta, float* y,
                              float* mean, float* rstd, int rows, int H, float eps)
{
    int row = blockIdx.x; // the grid has exactly one block per row
    int t = threadIdx.x;

    // ANCHOR: mean
    float sum = 0.0f;
    for (int j = t; j < H; j += THREADS) sum += x[row * H + j];
    float m = block_sum(sum) / H;
    // ANCHOR_END: mean

    // ANCHOR: variance
    float squares = 0.0f;
    for (int k = t; k < H; k += THREADS) {
        float d = x[row * H + k] - m;
        squares += d * d;
    }
    float var = block_sum(squares) / H;
    float r = rsqrtf(var + eps);
    // ANCHOR_END: variance

    // ANCHOR: store
    if (t == 0) {
        mean[row] = m;
        rstd[row] = r;
    }
    for (int i = t; i < H; i += THREADS) {
        y[row * H + i] = (x[row * H + i] - m) * r * gamma[i] + beta[i];
    }
    // ANCHOR_END: store
}
// ANCHOR_END: all
