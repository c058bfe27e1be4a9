// Puzzle 44: backward pass of layer normalisation followed by a linear layer, five gradients
//
//   x^[r,h] = (x[r,h] - mean[r]) * rstd[r]          r = b*S + s, a position
//   norm[r,h] = x^[r,h] * gamma[h] + beta[h]
//   y[r,o] = bias[o] + sum over h of norm[r,h] * W[o,h]
//
//   db[o] = sum over r of dy[r,o]                   dn[r,h] = sum over o of dy[r,o] * W[o,h]
//   dW[o,h] = sum over r of dy[r,o] * norm[r,h]     dgamma[h] = sum over r of dn[r,h] * x^[r,h]
//                                                   dbeta[h] = sum over r of dn[r,h]
//   dx as in puzzle 41, with g[r,h] = dn[r,h] * gamma[h]
//
// Tensors, row-major: dy (B, S, O), x and dx (B, S, H), gamma, beta, dgamma and dbeta (H),
// W and dW (O, H), db (O).

// Launched first, with at least O*H threads: nothing else has set these gradients to zero.
__global__ void zero_gradients(float* dgamma, float* dbeta, float* dW, float* db, int H, int O)
{
    // TODO 1: set all four to zero.
}

// Launched with blocks of 64 threads, at least B*S of them.
__global__ void ln_linear_bwd(const float* dy, const float* x, const float* gamma,
                              const float* beta, const float* W, float* dx, float* dgamma,
                              float* dbeta, float* dW, float* db, int B, int S, int H, int O,
                              float eps)
{
    // TODO 2: find this thread's position; leave if there is none.

    // TODO 3: compute mean, variance and rstd of its row, in two passes.

    // TODO 4: add this position's share to db, dW, dgamma and dbeta, by atomicAdd.

    // TODO 5: compute dx.
}
