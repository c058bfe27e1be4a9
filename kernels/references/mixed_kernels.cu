// What mixed_kernels.cuh declares: the kernels of puzzle 50, the update of 37, and the passes and the data pipeline of the
// network in floats. And the training of puzzle 15, which the grader compares with.
#include "lenet_passes.cu"
#include "mixed_kernels.cuh"

#include <cmath>
#include <mma.h>

#include "37_sgd_master.cu"

namespace fp32 {
#include "15_training_loop.cu"
}

// A part of a matrix (rows, columns) as it lies, from (row, column) on, with zeros for what is outside. columns is even.
template <int ROWS, int COLUMNS>
__device__ void load_tile(const half* matrix, half2* tile, int row, int column, int rows, int columns)
{
    for (int i = threadIdx.x; i < ROWS * COLUMNS / 2; i += 128) {
        int y = row + i / (COLUMNS / 2);
        int x = column + i % (COLUMNS / 2) * 2;
        bool exists = y < rows && x < columns;
        tile[i] = exists ? *(const half2*)(matrix + y * columns + x) : half2(0.0f, 0.0f);
    }
}

template <bool TURNED>
struct Order {
    using Type = nvcuda::wmma::row_major;
};
template <>
struct Order<true> {
    using Type = nvcuda::wmma::col_major;
};

// As puzzle 46, with factors that may lie turned: then their tiles do, too.
template <bool A_TURNED, bool B_TURNED>
__device__ void gemm_half(const half* A, const half* B, float* C, int M, int N, int K)
{
    using namespace nvcuda;
    __shared__ __align__(32) half2 a[32 * 16 / 2];
    __shared__ __align__(32) half2 b[32 * 16 / 2];
    __shared__ __align__(32) float c[32][32];
    int top = blockIdx.y * 32;
    int left = blockIdx.x * 32;
    int warp = threadIdx.x / 32;
    int y = warp / 2 * 16;
    int x = warp % 2 * 16;
    bool used = top + y < M && left + x < N; // the same for all threads of a warp

    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, typename Order<A_TURNED>::Type> tile_a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, typename Order<B_TURNED>::Type> tile_b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    wmma::fill_fragment(sums, 0.0f);

    for (int start = 0; start < K; start += 16) {
        if (A_TURNED)
            load_tile<16, 32>(A, a, start, top, K, M);
        else
            load_tile<32, 16>(A, a, top, start, M, K);
        if (B_TURNED)
            load_tile<32, 16>(B, b, left, start, N, K);
        else
            load_tile<16, 32>(B, b, start, left, K, N);
        __syncthreads();
        if (used) {
            wmma::load_matrix_sync(tile_a, (half*)a + (A_TURNED ? y : y * 16), A_TURNED ? 32 : 16);
            wmma::load_matrix_sync(tile_b, (half*)b + (B_TURNED ? x * 16 : x), B_TURNED ? 16 : 32);
            wmma::mma_sync(sums, tile_a, tile_b, sums);
        }
        __syncthreads();
    }

    if (used) wmma::store_matrix_sync(&c[y][x], sums, 32, wmma::mem_row_major);
    __syncthreads();
    for (int i = threadIdx.x; i < 32 * 32; i += 128) {
        int row = top + i / 32;
        int column = left + i % 32;
        if (row < M && column < N) C[row * N + column] = c[i / 32][i % 32];
    }
}

__global__ void gemm_half_nn(const half* A, const half* B, float* C, int M, int N, int K)
{
    gemm_half<false, false>(A, B, C, M, N, K);
}

__global__ void gemm_half_nt(const half* A, const half* B, float* C, int M, int N, int K)
{
    gemm_half<false, true>(A, B, C, M, N, K);
}

__global__ void gemm_half_tn(const half* A, const half* B, float* C, int M, int N, int K)
{
    gemm_half<true, false>(A, B, C, M, N, K);
}

template <bool A_TURNED>
__device__ void thin_gemm(const half* A, const half* B, float* C, int M, int N, int K)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int top = i / (N / 4) * 4;
    int left = i % (N / 4) * 4;
    if (top >= M) return;
    float sum[4][4] = {};
    for (int k = 0; k < K; k++) {
        const half2* b = (const half2*)(B + k * N + left);
        float2 b01 = __half22float2(b[0]);
        float2 b23 = __half22float2(b[1]);
        for (int r = 0; r < 4; r++) {
            int row = min(top + r, M - 1); // the last ones are computed in vain
            float a = __half2float(A_TURNED ? A[k * M + row] : A[row * K + k]);
            sum[r][0] += a * b01.x;
            sum[r][1] += a * b01.y;
            sum[r][2] += a * b23.x;
            sum[r][3] += a * b23.y;
        }
    }
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 4; c++)
            if (top + r < M) C[(top + r) * N + left + c] = sum[r][c];
}

__global__ void thin_gemm_nn(const half* A, const half* B, float* C, int M, int N, int K)
{
    thin_gemm<false>(A, B, C, M, N, K);
}

__global__ void thin_gemm_tn(const half* A, const half* B, float* C, int M, int N, int K)
{
    thin_gemm<true>(A, B, C, M, N, K);
}

__global__ void row_products(const half* A, const half* B, float* C, int M, int N, int K)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (i >= M * N / 5) return; // the whole warp
    int row = i / (N / 5);
    int first = i % (N / 5) * 5;
    const half2* a = (const half2*)(A + row * K);
    float sum[5] = {};
    for (int k = lane; k < K / 2; k += 32) {
        float2 x = __half22float2(a[k]);
        for (int c = 0; c < 5; c++) {
            float2 y = __half22float2(((const half2*)(B + (first + c) * K))[k]);
            sum[c] += x.x * y.x + x.y * y.y;
        }
    }
    for (int c = 0; c < 5; c++) {
        for (int step = 16; step > 0; step /= 2)
            sum[c] += __shfl_down_sync(0xffffffff, sum[c], step);
        if (lane == 0) C[row * N + first + c] = sum[c];
    }
}

__global__ void im2col_half(const half* X, half* columns, int n, int size, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int out = size - 4;
    int w = i % out;
    int h = i / out % out;
    int image = i / (out * out) % n;
    int row = i / (out * out * n);
    int q = row % 5;
    int p = row / 5 % 5;
    int c = row / 25;
    columns[i] = X[((c * n + image) * size + h + p) * size + w + q];
}

__global__ void col2im_float(const float* columns, float* X, int n, int size, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int out = size - 4;
    int w = i % size;
    int h = i / size % size;
    int image = i / (size * size) % n;
    int c = i / (size * size * n);
    float sum = 0.0f;
    for (int p = 0; p < 5; p++) {
        if (h < p || h - p >= out) continue;
        for (int q = 0; q < 5; q++) {
            if (w < q || w - q >= out) continue;
            int row = (c * 5 + p) * 5 + q;
            sum += columns[((row * n + image) * out + h - p) * out + w - q];
        }
    }
    X[i] = sum;
}

__global__ void bias_relu_pool(const float* sums, const half* bias, half* pooled,
                               int* winner, int n, int size, int per_channel,
                               int per_image, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int half_size = size / 2;
    int w = i % half_size;
    int h = i / half_size % half_size;
    int image = i / (half_size * half_size) % n;
    int c = i / (half_size * half_size * n);
    const float* window = sums + ((c * n + image) * size + 2 * h) * size + 2 * w;
    float largest = window[0];
    int place = 0;
    for (int k = 1; k < 4; k++) {
        float x = window[k / 2 * size + k % 2];
        if (x > largest || x != x) { // NaN wins
            largest = x;
            place = k;
        }
    }
    largest += __half2float(bias[c]);
    int at = c * per_channel + image * per_image + h * half_size + w;
    pooled[at] = __float2half(largest <= 0.0f ? 0.0f : largest);
    winner[at] = place;
}

__global__ void relu_pool_backward(const float* grad_output, const half* pooled,
                                   const int* winner, half* grad_input, int n, int size,
                                   int per_channel, int per_image, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int w = i % size;
    int h = i / size % size;
    int image = i / (size * size) % n;
    int c = i / (size * size * n);
    int at = c * per_channel + image * per_image + h / 2 * (size / 2) + w / 2;
    bool passes = winner[at] == h % 2 * 2 + w % 2 && !(__half2float(pooled[at]) <= 0.0f);
    grad_input[i] = __float2half(passes ? grad_output[at] : 0.0f);
}

__global__ void bias_relu(const float* sums, const half* bias, half* activations,
                          int features, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float x = sums[i] + __half2float(bias[i % features]);
    activations[i] = __float2half(x <= 0.0f ? 0.0f : x);
}

__global__ void relu_backward_half(const float* grad_output, const half* activations,
                                   half* grad_input, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    bool passes = !(__half2float(activations[i]) <= 0.0f);
    grad_input[i] = __float2half(passes ? grad_output[i] : 0.0f);
}

__global__ void add_bias(float* sums, const half* bias, int features, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) sums[i] += __half2float(bias[i % features]);
}

__global__ void to_half(const float* w, half* copy, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) copy[i] = __float2half(w[i]);
}

float train_fp32(const MnistSet& set, const MnistSet& test, const MixedConfig& config,
                 LeNetParams& first, float* losses)
{
    LeNetWorkspace memory(1); // its gradients serve as parameters
    LeNetGrads& p = memory.grads;
    LeNetParams params{p.conv1_w, p.conv1_b, p.conv2_w, p.conv2_b, p.fc1_w,
                       p.fc1_b,   p.fc2_w,   p.fc2_b,   p.fc3_w,   p.fc3_b};
    MixedNet sizes(1);
    auto from = sizes.parameters(first);
    auto to = sizes.parameters(params);
    for (int i = 0; i < 10; i++)
        cudaMemcpy(to[i].master, from[i].master, from[i].n * sizeof(float),
                   cudaMemcpyDeviceToDevice);
    int steps = (set.count + config.batch_size - 1) / config.batch_size;
    TrainConfig epoch_config = config;
    for (int epoch = 0; epoch < config.epochs; epoch++) {
        fp32::train_epoch(set, epoch_config, params, losses + epoch * steps);
        epoch_config.learning_rate *= config.decay;
    }
    return fp32::evaluate(test, params, config.batch_size) * test.count;
}
