// Puzzle 43: layer normalisation followed by a linear layer, forward, in one kernel
//
//   norm[r,h] = (x[r,h] - mean[r]) * rstd[r] * gamma[h] + beta[h]      as in puzzle 40
//   y[r,o]    = b[o] + sum over h of norm[r,h] * W[o,h]                as in puzzle 03
//
//   r = b*S + s is a position; mean and rstd = 1 / sqrt(variance + eps) are those of its row.
//
// Tensors, row-major (the last index varies fastest):
//   x            (B, S, H)
//   gamma, beta  (H)
//   W            (O, H)
//   b            (O)
//   y            (B, S, O)
//
// One block of 128 threads does a position: the grader launches B*S blocks, each with H floats
// of dynamic shared memory. H and O can be smaller or larger than 128. Each row must be
// normalised once, not once for each output.

#define THREADS 128

__global__ void ln_linear_fwd(const float* x, const float* gamma, const float* beta,
                              const float* W, const float* b, float* y, int B, int S, int H,
                              int O, float eps)
{
    // TODO 1: mean and rstd of this block's row, by two sums over the block.

    // TODO 2: store the normalised row, scaled and shifted, in shared memory. Wait.

    // TODO 3: for each output of this warp: the 32 lanes share the sum over h, and read
    //         neighbouring elements of W. Add up the lanes, add the bias, store.
}
