// The kernels of puzzles 17 and 18, for the puzzle that puts them together. The grader links those of the solutions
// (kernels/references/gemm_kernels.cu).
#pragma once

// Kernels are visible only within their own library unless they are declared so.
#pragma GCC visibility push(default)

__global__ void im2col(const float* X, float* Xcol, int C, int H, int W, int K, int pad,
                       int stride);
__global__ void sgemm_tiled(const float* A, const float* B, float* C, int M, int N, int K);

#pragma GCC visibility pop
