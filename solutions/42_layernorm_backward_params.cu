// ANCHOR: all
// Puzzle 42, solution: 32 features in a block, 8 threads for each of them.

#define FEATURES 32
#define SHARES 8

__global__ void layernorm_bwd_params(const float* dy, const float* x, const float* mean,
                                     const float* rstd, float* dgamma, float* dbeta, int rows,
                                     int H)
{
    // ANCHOR: share
    int j = blockIdx.x * FEATURES + threadIdx.x; // the feature, if it exists
    float sum_gamma = 0.0f;
    float sum_beta = 0.0f;
    if (j < H) {
        for (int r = threadIdx.y; r < rows; r += SHARES) {
            float x_hat = (x[r * H + j] - mean[r]) * rstd[r];
            sum_gamma += dy[r * H + j] * x_hat;
            sum_beta += dy[r * H + j];
        }
    }
    // ANCHOR_END: share

    // ANCHOR: reduce
    __shared__ float part_gamma[SHARES][FEATURES];
    __shared__ float part_beta[SHARES][FEATURES];
    part_gamma[threadIdx.y][threadIdx.x] = sum_gamma;
    part_beta[threadIdx.y][threadIdx.x] = sum_beta;
    __syncthreads();
    if (threadIdx.y == 0 && j < H) {
        for (int k = 1; k < SHARES; k++) {
            sum_gamma += part_gamma[k][threadIdx.x];
            sum_beta += part_beta[k][threadIdx.x];
        }
        dgamma[j] = sum_gamma;
        dbeta[j] = sum_beta;
    }
    // ANCHOR_END: reduce
}
// ANCHOR_END: all
