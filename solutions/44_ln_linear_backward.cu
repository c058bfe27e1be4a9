// ANCHOR: all
// Puzzle 44, solution: one thread per position, atomic additions for what all positions share.

// ANCHOR: zero
__global__ void zero_gradients(float* dgamma, float* dbeta, float* dW, float* db, int H, int O)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < H) dgamma[i] = 0.0f;
    if (i < H) dbeta[i] = 0.0f;
    if (i < O * H) dW[i] = 0.0f;
    if (i < O) db[i] = 0.0f;
}
// ANCHOR_END: zero

__global__ void ln_linear_bwd(const float* dy, const float* x, const float* gamma,
                              const float* beta, const float* W, float* dx, float* dgamma,
                              float* dbeta, float* dW, float* db, int B, int S, int H, int O,
                              float eps)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= B * S) return;
    const float* x_row = x + row * H;
    const float* dy_row = dy + row * O;

    // ANCHOR: statistics
    float mean = 0.0f;
    for (int h = 0; h < H; h++) mean += x_row[h];
    mean /= H;
    float var = 0.0f;
    for (int i = 0; i < H; i++) var += (x_row[i] - mean) * (x_row[i] - mean);
    var /= H;
    float rstd = rsqrtf(var + eps);
    // ANCHOR_END: statistics

    // ANCHOR: parameters
    float sum_g = 0.0f;
    float sum_gx = 0.0f;
    for (int o = 0; o < O; o++) atomicAdd(&db[o], dy_row[o]);
    for (int j = 0; j < H; j++) {
        float x_hat = (x_row[j] - mean) * rstd;
        float norm = x_hat * gamma[j] + beta[j];
        float dn = 0.0f; // the gradient of norm
        for (int k = 0; k < O; k++) {
            dn += dy_row[k] * W[k * H + j];
            atomicAdd(&dW[k * H + j], dy_row[k] * norm);
        }
        atomicAdd(&dgamma[j], dn * x_hat);
        atomicAdd(&dbeta[j], dn);
        sum_g += dn * gamma[j];
        sum_gx += dn * gamma[j] * x_hat;
        dx[row * H + j] = dn * gamma[j]; // kept for the last step
    }
    // ANCHOR_END: parameters

    // ANCHOR: input
    for (int f = 0; f < H; f++) {
        float normalised = (x_row[f] - mean) * rstd;
        dx[row * H + f] = rstd * (dx[row * H + f] - sum_g / H - normalised * (sum_gx / H));
    }
    // ANCHOR_END: input
}
// ANCHOR_END: all
