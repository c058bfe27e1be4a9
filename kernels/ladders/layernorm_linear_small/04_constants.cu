// Step 4 of 4: constants.
// What changed: the compiler knows the sizes of this network. It unrolls all loops, and a division by 8 or 16 is a shift.
// Predicted: 0.5 us less, of 3 us that are not the launch: 40 loads from shared memory in a row, one after the other, take 1,000 clocks.
// Measured: 4.6 us, 3.7 times as fast as PyTorch. In another run 4.7, with 288 threads 5.2, with 1,024 4.8 us.

#include "one_block.cuh"

__global__ void both(const float* dy, const float* x, const float* gamma, const float* beta, const float* W, const float* bias, float* y,
                     float* dx, float* dgamma, float* dbeta, float* dW, float* dbias, int rows, int H, int O, float eps)
{
    if (rows == 16 && H == 8 && O == 16)
        pass<true, true>(dy, x, gamma, beta, W, bias, y, dx, dgamma, dbeta, dW, dbias, 16, 8, 16, eps);
    else pass<true, true>(dy, x, gamma, beta, W, bias, y, dx, dgamma, dbeta, dW, dbias, rows, H, O, eps);
}
