// Puzzle 20: a convolution as one matrix product, without the matrix
//
//   Y[n,m,h,w] = b[m] + sum over c, p, q of X[n,c,h+p,w+q] * Wt[m,c,p,q]
//
// Number the weights of a filter by r = (c*K + p)*K + q, and the outputs of all images by
// j = (n*H_out + h)*W_out + w. Then this is a product of two matrices:
//
//   A[m,r] = Wt[m,c,p,q]                       (M, C*K*K), as it lies in memory
//   B[r,j] = X[n,c,h+p,w+q]                    (C*K*K, N*H_out*W_out), never stored
//
// Tensors, row-major (the last index varies fastest):
//   X   (N, C, H, W)
//   Wt  (M, C, K, K)
//   b   (M)
//   Y   (N, M, H_out, W_out)       H_out = H - K + 1, W_out = W - K + 1
//
// As in puzzle 18 a block of 16x16 threads computes a tile of the product: 16 filters by 16
// outputs. The grader launches ceil(N*H_out*W_out/16) x ceil(M/16) blocks: blockIdx.x counts
// tiles of outputs, blockIdx.y tiles of filters. Nothing but Y may be written.

#define TILE 16

__global__ void conv2d_implicit_gemm(const float* X, const float* Wt, const float* b, float* Y,
                                     int N, int C, int H, int W, int M, int K)
{
    // TODO 1: declare the two tiles in shared memory. Find this thread's filter m, and its
    //         column j; split j into n, h and w. A tile may hold outputs of two images.

    // TODO 2: go through the C*K*K weights in steps of TILE. In each step
    //           load one element of A, and one of B: split its row r into c, p and q, and
    //           read the pixel from X. Store 0 where there is none;
    //           wait;
    //           add TILE products;
    //           wait again.

    // TODO 3: add the bias and store the result, if this thread has an output.
}
