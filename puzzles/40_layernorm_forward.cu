// Puzzle 40: layer normalisation, forward pass
//
//   mean[r] = sum over j of x[r,j] / H
//   var[r]  = sum over j of (x[r,j] - mean[r])^2 / H
//   rstd[r] = 1 / sqrt(var[r] + eps)
//   y[r,j]  = (x[r,j] - mean[r]) * rstd[r] * gamma[j] + beta[j]
//
// Tensors, row-major (the last index varies fastest):
//   x, y         (rows, H)
//   gamma, beta  (H)
//   mean, rstd   (rows), stored for the backward pass
//
// One block of 128 threads does a row. The grader launches exactly `rows` blocks. H can be
// smaller or larger than 128, and the numbers of a row can be far from zero.

#define THREADS 128

__global__ void layernorm_fwd(const float* x, const float* gamma, const float* beta, float* y,
                              float* mean, float* rstd, int rows, int H, float eps)
{
    // TODO 1: add up this thread's share of the row: elements threadIdx.x,
    //         threadIdx.x + THREADS, ... Add up the shares of all threads in shared
    //         memory, and divide by H.

    // TODO 2: the same for the squares of the differences from the mean. The shared
    //         memory is used again: has every thread read the mean?

    // TODO 3: compute rstd; one thread stores it and the mean.

    // TODO 4: store y for this thread's elements.
}
