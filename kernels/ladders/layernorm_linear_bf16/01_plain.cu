// Step 1 of 2: plain.
// What it is: the first step of layernorm_linear with loads of bf16. Sums are floats; the normalised rows and their gradient are stored as
// bf16, as PyTorch stores them.
// Predicted: no faster than with floats, since loads limit it and not their bytes.
// Measured: 372 ms.

#include <cuda_bf16.h>
typedef __nv_bfloat16 bf16;

__device__ float warp_sum(float value)
{
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
    return value;
}

__global__ void normalise(const bf16* x, const bf16* gamma, const bf16* beta, bf16* normed, float2* stats, float* sums, int H, int O,
                          float eps)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < 2 * H + O; i += gridDim.x * blockDim.x) sums[i] = 0.0f;
    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    x += (long long)row * H, normed += (long long)row * H;
    float sum = 0.0f, squares = 0.0f;
    for (int h = lane; h < H; h += 32) sum += float(x[h]);
    float mean = warp_sum(sum) / H;
    for (int h = lane; h < H; h += 32) squares += (float(x[h]) - mean) * (float(x[h]) - mean);
    float rstd = rsqrtf(warp_sum(squares) / H + eps);
    for (int h = lane; h < H; h += 32) normed[h] = bf16((float(x[h]) - mean) * rstd * float(gamma[h]) + float(beta[h]));
    if (lane == 0) stats[row] = make_float2(mean, rstd);
}

// Element (m, n) of a product, with the distances of the factors' neighbours along their own index and along the sum.
__device__ float dot(const bf16* a, int a_step, const bf16* b, int b_step, int count)
{
    float sum = 0.0f;
    for (long long k = 0; k < count; k++) sum += float(a[k * a_step]) * float(b[k * b_step]);
    return sum;
}

__global__ void linear(const bf16* normed, const bf16* W, const bf16* bias, bf16* y, int H, int O)
{
    long long row = blockIdx.y * 8 + threadIdx.y;
    int o = blockIdx.x * 32 + threadIdx.x;
    y[row * O + o] = bf16(float(bias[o]) + dot(normed + row * H, 1, W + o * H, 1, H));
}

// The gradient of the normalised rows, which waits in dx.
__global__ void input(const bf16* dy, const bf16* W, bf16* dx, int H, int O)
{
    long long row = blockIdx.y * 8 + threadIdx.y;
    int h = blockIdx.x * 32 + threadIdx.x;
    dx[row * H + h] = bf16(dot(dy + row * O, 1, W + h, H, O));
}

__global__ void weights(const bf16* dy, const bf16* normed, bf16* dW, int rows, int H, int O)
{
    int o = blockIdx.y * 8 + threadIdx.y, h = blockIdx.x * 32 + threadIdx.x;
    dW[o * H + h] = bf16(dot(dy + o, O, normed + h, H, rows));
}

__global__ void finish(const bf16* x, const bf16* gamma, const float2* stats, bf16* dx, float* sums, int rows, int H)
{
    int lane = threadIdx.x % 32;
    for (int row = blockIdx.x * 8 + threadIdx.x / 32; row < rows; row += gridDim.x * 8) {
        const bf16* x_row = x + (long long)row * H;
        bf16* dx_row = dx + (long long)row * H;
        float mean = stats[row].x, rstd = stats[row].y, sum = 0.0f, with_x = 0.0f;
        for (int h = lane; h < H; h += 32) {
            float dn = float(dx_row[h]), hat = (float(x_row[h]) - mean) * rstd;
            atomicAdd(&sums[h], dn * hat);
            atomicAdd(&sums[H + h], dn);
            sum += dn * float(gamma[h]);
            with_x += dn * float(gamma[h]) * hat;
        }
        sum = warp_sum(sum) / H, with_x = warp_sum(with_x) / H;
        for (int h = lane; h < H; h += 32)
            dx_row[h] = bf16(rstd * (float(dx_row[h]) * float(gamma[h]) - sum - (float(x_row[h]) - mean) * rstd * with_x));
    }
}

__global__ void last(const bf16* dy, const float* sums, bf16* dgamma, bf16* dbeta, bf16* dbias, int rows, int H, int O)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < H) {
        dgamma[i] = bf16(sums[i]);
        dbeta[i] = bf16(sums[H + i]);
    }
    if (i < O) {
        float sum = 0.0f;
        for (long long row = 0; row < rows; row++) sum += float(dy[row * O + i]);
        dbias[i] = bf16(sum);
    }
}
