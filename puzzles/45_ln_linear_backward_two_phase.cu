// Puzzle 45: backward pass of layer normalisation and a linear layer, in two phases
//
// The five gradients are those of puzzle 44. There is no atomic addition, and the results
// have the same bits in every run.
//
//   x^[r,h] = (x[r,h] - mean[r]) * rstd[r]          r = b*S + s, a position
//   norm[r,h] = x^[r,h] * gamma[h] + beta[h]
//
//   db[o] = sum over r of dy[r,o]                   dn[r,h] = sum over o of dy[r,o] * W[o,h]
//   dW[o,h] = sum over r of dy[r,o] * norm[r,h]     dgamma[h] = sum over r of dn[r,h] * x^[r,h]
//                                                   dbeta[h] = sum over r of dn[r,h]
//   dx as in puzzle 41, with g[r,h] = dn[r,h] * gamma[h]
//
// Tensors, row-major: dy (B, S, O), x and dx (B, S, H), gamma, beta, dgamma and dbeta (H),
// W and dW (O, H), db (O); the workspace work (parts, O*H + 2*H + O), undefined at first.

#define THREADS 128

// Phase 1: launched with `parts` blocks of 128 threads, which share the positions. There can
// be more blocks than positions. Each block stores dx for its positions, and the sums over its
// positions of dW, dgamma, dbeta and db in its part of the workspace. It has 2*H floats of
// dynamic shared memory.
__global__ void ln_linear_bwd_partial(const float* dy, const float* x, const float* gamma,
                                      const float* beta, const float* W, float* dx, float* work,
                                      int B, int S, int H, int O, float eps)
{
    // TODO 1: set this block's part of the workspace to zero.

    // TODO 2: for each position of this block: mean and rstd, by sums over the block as in
    //         puzzle 40; x^ and dn into shared memory.

    // TODO 3: compute dx, by two more sums over the block.

    // TODO 4: add this position's products to the block's part. Which thread adds to which
    //         element, so that no two ever add to the same one?
}

// Phase 2: launched with blocks of 256 threads, one for each of the O*H + 2*H + O elements.
__global__ void ln_linear_bwd_reduce(const float* work, float* dgamma, float* dbeta, float* dW,
                                     float* db, int parts, int H, int O)
{
    // TODO 5: add up this element over all parts, in their order, and store it where it
    //         belongs.
}
