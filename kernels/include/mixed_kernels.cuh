// The kernels of puzzle 50: what puzzles 08, 17, 22, 34, 35 and 46 taught, for halves, and the
// update of 37. The grader links them compiled (kernels/references/mixed_kernels.cu). All sums
// are floats. All of them are launched with one thread for each element of the result, in
// blocks of any size, except the products.
#pragma once

#include <cuda_fp16.h>

#include "lenet_passes.cuh"
#include "mixed.h"

// Kernels are visible only within their own library unless they are declared so.
#pragma GCC visibility push(default)

// C = A * B, with M x N elements and sums of K products, on tensor cores (puzzle 46). The
// letters say how A and B lie: n as they are multiplied, t turned, so that the transpose is the
// factor. Their rows in memory have an even number of elements.
//
//          A        B
//   _nn    (M, K)   (K, N)
//   _nt    (M, K)   (N, K)
//   _tn    (K, M)   (K, N)
//
//   gemm_half_nn<<<dim3(ceil(N / 32), ceil(M / 32)), 128>>>(A, B, C, M, N, K)
__global__ void gemm_half_nn(const half* A, const half* B, float* C, int M, int N, int K);
__global__ void gemm_half_nt(const half* A, const half* B, float* C, int M, int N, int K);
__global__ void gemm_half_tn(const half* A, const half* B, float* C, int M, int N, int K);

// C = A * B for a matrix A of few rows: a thread computes 4 rows of 4 columns (puzzle 35), and
// loads B by half2 (puzzle 28). The letters are those of gemm_half. N is a multiple of 4.
// Launched with one thread for each 4 x 4 elements, ceil(M / 4) * N / 4 of them.
__global__ void thin_gemm_nn(const half* A, const half* B, float* C, int M, int N, int K);
__global__ void thin_gemm_tn(const half* A, const half* B, float* C, int M, int N, int K);

// C[m, n] is the product of row m of A, (M, K), and row n of B, (N, K): few elements, and long
// sums. A warp computes 5 of a row (puzzle 34): N is a multiple of 5, and K even. Launched
// with 32 threads for each of these, 32 * M * N / 5, in blocks of a multiple of 32.
__global__ void row_products(const half* A, const half* B, float* C, int M, int N, int K);

// The patches of n images as columns (puzzle 17): X (C, n, size, size) becomes columns
// (C*25, n, out, out), out = size - 4. count is the number of elements of columns.
__global__ void im2col_half(const half* X, half* columns, int n, int size, int count);

// Back again (puzzle 22): each element of X gets the sum of all its places in columns.
// count is the number of elements of X, (C, n, size, size).
__global__ void col2im_float(const float* columns, float* X, int n, int size, int count);

// Bias, ReLU and 2x2 max pooling in one, from sums (C, n, size, size), with ReLU(NaN) = NaN.
// Element (c, image, h, w) of the result is pooled[c * per_channel + image * per_image +
// h * size/2 + w]. winner is laid out as pooled. count is the number of elements of pooled.
__global__ void bias_relu_pool(const float* sums, const half* bias, half* pooled,
                               int* winner, int n, int size, int per_channel,
                               int per_image, int count);

// The reverse: the gradient of pooled goes to the winner of each window, unless ReLU has
// made it 0. grad_output is laid out as pooled. count is the number of elements of
// grad_input, (C, n, size, size).
__global__ void relu_pool_backward(const float* grad_output, const half* pooled,
                                   const int* winner, half* grad_input, int n, int size,
                                   int per_channel, int per_image, int count);

// Bias and ReLU, from sums (n, features) to activations. count is n * features.
__global__ void bias_relu(const float* sums, const half* bias, half* activations,
                          int features, int count);

// The reverse, for count elements.
__global__ void relu_backward_half(const float* grad_output, const half* activations,
                                   half* grad_input, int count);

// Adds a bias to each row of sums (n, features), in place. count is n * features.
__global__ void add_bias(float* sums, const half* bias, int features, int count);

// One step of n master weights w, and of their half copies, as in puzzle 37. grads are those
// of the scaled loss; nothing is changed if *found_inf is not 0.
__global__ void sgd_master(float* master, half* w, const float* g, float lr,
                           float inv_scale, const int* found_inf, int n);

// w[i], rounded to half.
__global__ void to_half(const float* w, half* copy, int n);

#pragma GCC visibility pop
