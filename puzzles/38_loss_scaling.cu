// Puzzle 38: dynamic loss scaling
//
// Four host functions of a training step in mixed precision. Kernels that they need are
// yours, too. All pointers are to device memory. The gradients of the backward pass are
// halves; those of the step are floats. LossScale is in kernels/include/loss_scale.h.

#include <cuda_fp16.h>

#include "loss_scale.h"

// The loss is the mean of (y[i] - t[i])^2 / 2 over n elements, times scale. Its gradient, in
// half precision:
//
//   g[i] = scale * (y[i] - t[i]) / n
void scaled_loss_gradient(const float* y, const float* t, half* g, int n, float scale)
{
    // TODO 1: launch a kernel. Compute in float, and round to half once, at the end.
}

// Multiplies g[0] to g[n-1] by inv_scale, in place. Sets *found_inf to 1 if any of them is
// infinite or NaN, else to 0. Nothing has set *found_inf before.
void unscale_check(float* g, int n, float inv_scale, int* found_inf)
{
    // TODO 2: set *found_inf to 0, then launch a kernel.
}

// The scale of the next step. After an overflow it is halved. After s.interval good steps in
// a row it doubles. Either way the counting begins again.
void next_scale(LossScale& s, bool found_inf)
{
    // TODO 3
}

// A step of training with the gradients g of the scaled loss. Unscales them; if one is not
// finite, leaves all of w as it is and returns false. Else limits each gradient to -limit to
// limit, subtracts lr times it from the weight, and returns true. Either way s is brought up
// to date. g and found_inf may hold anything afterwards.
bool scaled_step(float* w, float* g, int n, float lr, float limit, LossScale& s,
                 int* found_inf)
{
    // TODO 4: in this order.
    return false;
}
