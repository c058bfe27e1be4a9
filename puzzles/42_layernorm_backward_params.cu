// Puzzle 42: backward pass of layer normalisation, gradients of scale and shift
//
//   x^[r,j]   = (x[r,j] - mean[r]) * rstd[r]        (forward: y = x^ * gamma + beta)
//   dgamma[j] = sum over r of dy[r,j] * x^[r,j]
//   dbeta[j]  = sum over r of dy[r,j]
//
// Tensors, row-major (the last index varies fastest):
//   dy, x          (rows, H)
//   mean, rstd     (rows), from the forward pass; rstd = 1 / sqrt(variance + eps)
//   dgamma, dbeta  (H)
//
// A block of 32 x 8 threads does 32 features: threadIdx.x is the feature, and the 8 threads
// of a feature, threadIdx.y, share the rows. The grader launches ceil(H / 32) blocks. The
// results must have the same bits in every run.

#define FEATURES 32
#define SHARES 8

__global__ void layernorm_bwd_params(const float* dy, const float* x, const float* mean,
                                     const float* rstd, float* dgamma, float* dbeta, int rows,
                                     int H)
{
    // TODO 1: find this thread's feature. In the last block there may be none.

    // TODO 2: add up dy * x^ and dy over this thread's rows: threadIdx.y,
    //         threadIdx.y + SHARES, ...

    // TODO 3: store both sums in shared memory, and wait.

    // TODO 4: one thread of each feature adds up the shares, and stores the results.
}
