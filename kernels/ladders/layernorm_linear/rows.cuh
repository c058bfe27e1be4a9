// The passes over rows, which the steps share. A thread has four columns, a block of H/4 threads four rows at a time.

const int AT_ONCE = 4;

// The sums over all threads of the block, for each of them. `parts` may be used again after the next barrier.
template <int COUNT>
__device__ void add_threads(float (&sums)[COUNT], float (&parts)[COUNT][8])
{
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        for (int step = 16; step > 0; step /= 2) sums[i] += __shfl_xor_sync(0xffffffff, sums[i], step);
        if (threadIdx.x % 32 == 0) parts[i][threadIdx.x / 32] = sums[i];
        sums[i] = 0.0f;
    }
    __syncthreads();
    for (int warp = 0; warp < blockDim.x / 32; warp++)
#pragma unroll
        for (int i = 0; i < COUNT; i++) sums[i] += parts[i][warp];
}
__device__ void load(const float* from, float (&to)[4])
{
    float4 all = *(const float4*)from;
    to[0] = all.x, to[1] = all.y, to[2] = all.z, to[3] = all.w;
}

// Normalises four rows; `keep` gets the place of four results and them.
template <class Keep>
__device__ void normalise_rows(const float* x, const float* gamma, const float* beta, float2* stats, int H, float eps, Keep keep)
{
    __shared__ float parts[2][AT_ONCE][8];
    int c = threadIdx.x * 4, at = blockIdx.x * AT_ONCE * H + c;
    float v[AT_ONCE][4], g[4], b[4], sums[AT_ONCE], squares[AT_ONCE] = {};
#pragma unroll
    for (int r = 0; r < AT_ONCE; r++) load(x + at + r * H, v[r]);
    load(gamma + c, g);
    load(beta + c, b);
#pragma unroll
    for (int r = 0; r < AT_ONCE; r++) sums[r] = v[r][0] + v[r][1] + v[r][2] + v[r][3];
    add_threads(sums, parts[0]);
#pragma unroll
    for (int r = 0; r < AT_ONCE; r++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            v[r][j] -= sums[r] / H;
            squares[r] += v[r][j] * v[r][j];
        }
    add_threads(squares, parts[1]);
#pragma unroll
    for (int r = 0; r < AT_ONCE; r++) {
        float rstd = rsqrtf(squares[r] / H + eps);
#pragma unroll
        for (int j = 0; j < 4; j++) v[r][j] = v[r][j] * rstd * g[j] + b[j];
        keep(at + r * H, v[r]);
        if (threadIdx.x == 0) stats[blockIdx.x * AT_ONCE + r] = make_float2(sums[r] / H, rstd);
    }
}

// Zeros where others will add.
__device__ void write_zeros(float* dW, float* dbias, int H, int O)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < O * H; i += gridDim.x * blockDim.x) {
        dW[i] = 0.0f;
        if (i < O) dbias[i] = 0.0f;
    }
}

// dx has the gradient of the normalised rows, and gets that of x. Each block leaves its share of dgamma and dbeta, one behind the other.
__global__ void finish(const float* x, const float* gamma, const float2* stats, float* dx, float* shares, int rows, int H)
{
    __shared__ float parts[2][2 * AT_ONCE][8];
    int c = threadIdx.x * 4, turn = 0;
    float g[4], in_gamma[4] = {}, in_beta[4] = {};
    load(gamma + c, g);
    for (int row = blockIdx.x * AT_ONCE; row < rows; row += gridDim.x * AT_ONCE, turn ^= 1) {
        float hat[AT_ONCE][4], d[AT_ONCE][4], sums[2 * AT_ONCE] = {};
#pragma unroll
        for (int r = 0; r < AT_ONCE; r++) load(x + (row + r) * H + c, hat[r]), load(dx + (row + r) * H + c, d[r]);
#pragma unroll
        for (int r = 0; r < AT_ONCE; r++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                hat[r][j] = (hat[r][j] - stats[row + r].x) * stats[row + r].y;
                in_beta[j] += d[r][j];
                in_gamma[j] += d[r][j] * hat[r][j];
                d[r][j] *= g[j];
                sums[r] += d[r][j];
                sums[AT_ONCE + r] += d[r][j] * hat[r][j];
            }
        add_threads(sums, parts[turn]);
#pragma unroll
        for (int r = 0; r < AT_ONCE; r++) {
            float rstd = stats[row + r].y, mean = sums[r] / H, with_x = sums[AT_ONCE + r] / H;
            *(float4*)(dx + (row + r) * H + c) =
                make_float4(rstd * (d[r][0] - mean - hat[r][0] * with_x), rstd * (d[r][1] - mean - hat[r][1] * with_x),
                            rstd * (d[r][2] - mean - hat[r][2] * with_x), rstd * (d[r][3] - mean - hat[r][3] * with_x));
        }
    }
    shares += blockIdx.x * 2 * H + c;
    *(float4*)shares = make_float4(in_gamma[0], in_gamma[1], in_gamma[2], in_gamma[3]);
    *(float4*)(shares + H) = make_float4(in_beta[0], in_beta[1], in_beta[2], in_beta[3]);
}

// Adds the shares up: 32 columns for each block.
__global__ void add_shares(const float* shares, float* dgamma, float* dbeta, int count, int H)
{
    __shared__ float part[8][32];
    int c = blockIdx.x * 32 + threadIdx.x;
    float sum = 0.0f;
    for (int i = threadIdx.y; i < count; i += 8) sum += shares[i * 2 * H + c];
    part[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0) return;
    for (int i = 1; i < 8; i++) sum += part[i][threadIdx.x];
    (c < H ? dgamma : dbeta)[c % H] = sum;
}
