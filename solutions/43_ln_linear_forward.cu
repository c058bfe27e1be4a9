// ANCHOR: all
// Puzzle 43, solution: a block normalises its row into shared memory; each warp does outputs.

#define THREADS 128

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
    __syncthreads();
    return total;
}

__global__ void ln_linear_fwd(const float* x, const float* gamma, const float* beta,
                              const float* W, const float* b, float* y, int B, int S, int H,
                              int O, float eps)
{
    extern __shared__ float normed[]; // the normalised row, H floats
    int row = blockIdx.x;           // the grid has exactly one block per position
    int t = threadIdx.x;
    const float* x_row = x + row * H;

    // ANCHOR: normalise
    float sum = 0.0f;
    for (int i = t; i < H; i += THREADS) sum += x_row[i];
    float mean = block_sum(sum) / H;
    float squares = 0.0f;
    for (int j = t; j < H; j += THREADS) squares += (x_row[j] - mean) * (x_row[j] - mean);
    float rstd = rsqrtf(block_sum(squares) / H + eps);
    for (int h = t; h < H; h += THREADS) {
        normed[h] = (x_row[h] - mean) * rstd * gamma[h] + beta[h];
    }
    __syncthreads(); // now every warp can read the whole row
    // ANCHOR_END: normalise

    // ANCHOR: linear
    int lane = t % 32;
    for (int o = t / 32; o < O; o += THREADS / 32) {
        float dot = 0.0f;
        for (int k = lane; k < H; k += 32) dot += normed[k] * W[o * H + k];
        for (int step = 16; step > 0; step /= 2) dot += __shfl_down_sync(0xffffffff, dot, step);
        if (lane == 0) y[row * O + o] = dot + b[o];
    }
    // ANCHOR_END: linear
}
// ANCHOR_END: all
