// ANCHOR: all
// Puzzle 45, solution: every block sums its share of the positions into its own part of the workspace;
// a second kernel adds up the parts, in their order.

#define THREADS 128

// The sum of `value` over all threads of the block, for each of them.
__device__ float block_sum(float value)
{
    __shared__ float shares[THREADS];
    int t = threadIdx.x;
    shares[t] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) shares[t] += shares[t + half];
        __syncthreads();
    }
    float total = shares[0];
    __syncthreads();
    return total;
}

__global__ void ln_linear_bwd_partial(const float* dy, const float* x, const float* gamma,
                                      const float* beta, const float* W, float* dx, float* work,
                                      int B, int S, int H, int O, float eps)
{
    extern __shared__ float row_memory[]; // 2 * H floats
    float* x_hat = row_memory;
    float* dn = row_memory + H;
    int t = threadIdx.x;

    // ANCHOR: own
    // This block's part of the workspace. No other block writes there.
    float* dW = work + blockIdx.x * (O * H + 2 * H + O);
    float* dgamma = dW + O * H;
    float* dbeta = dgamma + H;
    float* db = dbeta + H;
    for (int z = t; z < O * H + 2 * H + O; z += THREADS) dW[z] = 0.0f;
    // ANCHOR_END: own

    for (int row = blockIdx.x; row < B * S; row += gridDim.x) {
        const float* x_row = x + row * H;
        const float* dy_row = dy + row * O;

        // ANCHOR: statistics
        float sum = 0.0f;
        for (int i = t; i < H; i += THREADS) sum += x_row[i];
        float mean = block_sum(sum) / H;
        float squares = 0.0f;
        for (int j = t; j < H; j += THREADS) squares += (x_row[j] - mean) * (x_row[j] - mean);
        float rstd = rsqrtf(block_sum(squares) / H + eps);
        // ANCHOR_END: statistics

        // ANCHOR: input
        float sum_g = 0.0f;
        float sum_gx = 0.0f;
        for (int h = t; h < H; h += THREADS) {
            x_hat[h] = (x_row[h] - mean) * rstd;
            dn[h] = 0.0f;
            for (int o = 0; o < O; o++) dn[h] += dy_row[o] * W[o * H + h];
            sum_g += dn[h] * gamma[h];
            sum_gx += dn[h] * gamma[h] * x_hat[h];
        }
        float mean_g = block_sum(sum_g) / H; // its barriers: now all of x_hat and dn can be read
        float mean_gx = block_sum(sum_gx) / H;
        for (int f = t; f < H; f += THREADS) {
            dx[row * H + f] = rstd * (dn[f] * gamma[f] - mean_g - x_hat[f] * mean_gx);
            dgamma[f] += dn[f] * x_hat[f];
            dbeta[f] += dn[f];
        }
        // ANCHOR_END: input

        // ANCHOR: weights
        for (int w = t; w < O * H; w += THREADS) {
            int c = w % H;
            dW[w] += dy_row[w / H] * (x_hat[c] * gamma[c] + beta[c]);
        }
        for (int k = t; k < O; k += THREADS) db[k] += dy_row[k];
        // ANCHOR_END: weights
    }
}

// ANCHOR: reduce
__global__ void ln_linear_bwd_reduce(const float* work, float* dgamma, float* dbeta, float* dW,
                                     float* db, int parts, int H, int O)
{
    int size = O * H + 2 * H + O; // elements of a part
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= size) return;

    float sum = 0.0f;
    for (int p = 0; p < parts; p++) sum += work[p * size + e];

    if (e < O * H) dW[e] = sum;
    else if (e < O * H + H) dgamma[e - O * H] = sum;
    else if (e < O * H + 2 * H) dbeta[e - O * H - H] = sum;
    else db[e - O * H - 2 * H] = sum;
}
// ANCHOR_END: reduce
// ANCHOR_END: all
