// Puzzle 19: the forward pass of a convolution as matrix products
//
//   Y[n,m,h,w] = b[m] + sum over c, p, q of X[n,c,h+p,w+q] * Wt[m,c,p,q]
//
// For each image: im2col (17) writes its patches into work, as the columns of a matrix, and
// sgemm_tiled (18) multiplies the filters by that matrix. Then the bias is added.
//
// Tensors, row-major (the last index varies fastest):
//   X     (N, C, H, W)
//   Wt    (M, C, K, K)
//   b     (M)
//   Y     (N, M, H_out, W_out)       H_out = H - K + 1, W_out = W - K + 1
//   work  (C*K*K, H_out*W_out)
//
// This is host code: a function on the CPU that launches kernels on the GPU. All pointers
// are to device memory, which is allocated. work has room for the matrix of one image, and
// holds that of one of the images at the end. The function may return before the GPU is done.
//
//   im2col(X, Xcol, C, H, W, K, pad, stride)   one thread per element of Xcol, in one axis
//   sgemm_tiled(A, B, C, M, N, K)              blocks of 16x16 threads: columns of C in x,
//                                              rows in y; A is (M, K), B (K, N), C (M, N)

#include "gemm_kernels.cuh"

// TODO 1: a kernel that adds b[m] to each element of map m of each image.

void conv2d_gemm_forward(const float* X, const float* Wt, const float* b, float* Y,
                         float* work, int N, int C, int H, int W, int M, int K)
{
    // TODO 2: work out how many rows and columns the matrix of an image has.

    // TODO 3: for each image, launch im2col from the image to work, and sgemm_tiled from
    //         Wt and work to the maps of this image in Y.

    // TODO 4: launch your kernel for the bias.
}
