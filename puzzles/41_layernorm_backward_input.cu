// Puzzle 41: backward pass of layer normalisation, gradient of the input
//
//   x^[r,j] = (x[r,j] - mean[r]) * rstd[r]        (forward: y = x^ * gamma + beta)
//   g[r,j]  = dy[r,j] * gamma[j]
//   dx[r,j] = rstd[r] * (g[r,j] - A[r] - x^[r,j] * B[r])
//             where A[r] is the mean of g[r,0], g[r,1], ... and B[r] that of g * x^
//
// Tensors, row-major (the last index varies fastest):
//   dy, x, dx   (rows, H)
//   gamma       (H)
//   mean, rstd  (rows), from the forward pass; rstd = 1 / sqrt(variance + eps)
//
// One block of 128 threads does a row. The grader launches exactly `rows` blocks. H can be
// smaller or larger than 128.

#define THREADS 128

__global__ void layernorm_bwd_dx(const float* dy, const float* x, const float* gamma,
                                 const float* mean, const float* rstd, float* dx,
                                 int rows, int H)
{
    // TODO 1: find this block's row, its mean and its rstd.

    // TODO 2: add up g and g * x^ over this thread's share of the row: elements
    //         threadIdx.x, threadIdx.x + THREADS, ...

    // TODO 3: add up the shares of all threads in shared memory.

    // TODO 4: divide both sums by H, and store dx for this thread's elements.
}
