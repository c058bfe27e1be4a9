// The kernels of puzzle 50: what puzzles 08, 17, 22, 34, 35 and 46 taught, for halves, and the
// update of 37. All sums are floats. All of them are launched with one thread for each element
// of the result, in blocks of any size, except the three products.
#pragma once

#include <cmath>
#include <cuda_fp16.h>
#include <mma.h>

#include "lenet_passes.cuh"
#include "mixed.h"

#include "../../solutions/37_sgd_master.cu"

namespace fp32 {
#include "../../solutions/15_training_loop.cu"
}

// C = A * B, with M x N elements and sums of K products, as in puzzle 46.
//
//   A  (M, K), or (K, M) if A_TURNED: then its transpose is the factor
//   B  (K, N), or (N, K) if B_TURNED
//
//   gemm_half<A_TURNED, B_TURNED>
//       <<<dim3(ceil(N / 32), ceil(M / 32)), 128>>>(A, B, C, M, N, K)
template <bool A_TURNED, bool B_TURNED>
__global__ void gemm_half(const half* A, const half* B, float* C, int M, int N, int K)
{
    using namespace nvcuda;
    __shared__ __align__(32) half a[32][16];
    __shared__ __align__(32) half b[16][32];
    __shared__ __align__(32) float c[32][32];
    int top = blockIdx.y * 32;
    int left = blockIdx.x * 32;
    int warp = threadIdx.x / 32;
    int y = warp / 2 * 16;
    int x = warp % 2 * 16;
    bool used = top + y < M && left + x < N; // the same for all threads of a warp

    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> tile_a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> tile_b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    wmma::fill_fragment(sums, 0.0f);

    // Neighbouring threads read neighbouring elements, whichever way a factor lies.
    for (int start = 0; start < K; start += 16) {
        for (int i = threadIdx.x; i < 32 * 16; i += 128) {
            int row = A_TURNED ? i % 32 : i / 16;
            int k = A_TURNED ? i / 32 : i % 16;
            bool exists = top + row < M && start + k < K;
            int at = A_TURNED ? (start + k) * M + top + row : (top + row) * K + start + k;
            a[row][k] = exists ? A[at] : half(0.0f);
        }
        for (int i = threadIdx.x; i < 16 * 32; i += 128) {
            int k = B_TURNED ? i % 16 : i / 32;
            int column = B_TURNED ? i / 16 : i % 32;
            bool exists = left + column < N && start + k < K;
            int at = B_TURNED ? (left + column) * K + start + k
                              : (start + k) * N + left + column;
            b[k][column] = exists ? B[at] : half(0.0f);
        }
        __syncthreads();
        if (used) {
            wmma::load_matrix_sync(tile_a, &a[y][0], 16);
            wmma::load_matrix_sync(tile_b, &b[0][x], 32);
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

// C = A * B for a matrix A of few rows: a thread computes 4 rows of 4 columns, as in puzzle 35,
// and loads B by half2, as in puzzle 28. A lies as (M, K), or as (K, M) if A_TURNED; B as
// (K, N), where N is a multiple of 4. Launched with one thread for each 4 x 4 elements,
// ceil(M / 4) * N / 4 of them.
template <bool A_TURNED>
__global__ void thin_gemm(const half* A, const half* B, float* C, int M, int N, int K)
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

// C[m, n] is the product of row m of A, (M, K), and row n of B, (N, K): few elements, and long
// sums. A warp computes 5 of a row, as in puzzle 34: N is a multiple of 5, and K even. Launched
// with 32 threads for each of these, 32 * M * N / 5, in blocks of a multiple of 32.
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

// The patches of n images as columns (puzzle 17): X (C, n, size, size) becomes columns
// (C*25, n, out, out), out = size - 4. count is the number of elements of columns.
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

// Back again (puzzle 22): each element of X gets the sum of all its places in columns.
// count is the number of elements of X, (C, n, size, size).
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

// Bias, ReLU and 2x2 max pooling in one, from sums (C, n, size, size), with ReLU(NaN) = NaN.
// Element (c, image, h, w) of the result is pooled[c * per_channel + image * per_image +
// h * size/2 + w]. winner is laid out as pooled. count is the number of elements of pooled.
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

// The reverse: the gradient of pooled goes to the winner of each window, unless ReLU has
// made it 0. grad_output is laid out as pooled. count is the number of elements of
// grad_input, (C, n, size, size).
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

// Bias and ReLU, from sums (n, features) to activations. count is n * features.
__global__ void bias_relu(const float* sums, const half* bias, half* activations,
                          int features, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float x = sums[i] + __half2float(bias[i % features]);
    activations[i] = __float2half(x <= 0.0f ? 0.0f : x);
}

// The reverse, for count elements.
__global__ void relu_backward_half(const float* grad_output, const half* activations,
                                   half* grad_input, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    bool passes = !(__half2float(activations[i]) <= 0.0f);
    grad_input[i] = __float2half(passes ? grad_output[i] : 0.0f);
}

// Adds a bias to each row of sums (n, features), in place. count is n * features.
__global__ void add_bias(float* sums, const half* bias, int features, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) sums[i] += __half2float(bias[i % features]);
}

// w[i], rounded to half.
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
