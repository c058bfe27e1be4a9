// Puzzle 37: SGD with master weights
//
//   master[i] = master[i] - lr * (g[i] * inv_scale)      in float
//   w[i]      = master[i], rounded to half
//
// The forward and backward passes use w. The master remembers what a half cannot hold.
// The loss was multiplied by 1 / inv_scale, and so were all gradients.
//
// found_inf[0] is not 0 if a gradient of any layer is infinite or NaN. Then the step is
// skipped: every master[i] stays as it is. w[i] is rounded from master[i] in any case; what
// it held before may be stale.
//
// master, w and g have n elements. The grader launches blocks of 256 threads,
// ceil(n / 256) of them.

#include <cuda_fp16.h>

__global__ void sgd_master(float* master, half* w, const float* g, float lr,
                           float inv_scale, const int* found_inf, int n)
{
    // TODO 1: find this thread's number; leave if no weight has it.

    // TODO 2: update the master, unless the step is to be skipped.

    // TODO 3: round the master to half.
}
