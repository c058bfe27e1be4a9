// Puzzle @NUMBER@: @TITLE@
//
//   y[b,i] = x[b,i] * w[i]   for every b from 0 to batch-1 and i from 0 to N-1
//
// x and y: batch rows of N floats, stored one row after the other.  w: N floats.
//
// One thread computes one element of y. The grader launches blocks of 256 threads,
// ceil(batch * N / 256) of them: the last block may have threads with nothing to do.

__global__ void @KERNEL@(const float* x, const float* w, float* y, int batch, int N)
{
    // TODO 1: find this thread's number in the whole grid, and leave if it is too large.

    // TODO 2: find i from the number.

    // TODO 3: multiply, and store the product.
}
