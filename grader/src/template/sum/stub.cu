// Puzzle @NUMBER@: @TITLE@
//
//   y[b] = sum over i of x[b,i] * w[i mod 4]   for every b from 0 to batch-1
//
// x: batch rows of N floats, stored one row after the other.  y: batch floats.
// w: four floats, which the grader copies into the constant c_w.
//
// A row has ceil(N / 256) parts. Block (p, b) of the first kernel has 256 threads and adds up part p of row b
// in dynamic shared memory; its sum goes to partial[b, p]. A thread of the second kernel adds up the parts of a row.

__constant__ float c_w[4];

__global__ void @KERNEL@(const float* x, float* partial, int N)
{
    // TODO 1: declare the shared memory: extern __shared__ float sums[];

    // TODO 2: put one product into it, or 0 behind the end of the row.

    // TODO 3: add up in halves, with a barrier before each step.

    // TODO 4: let one thread store the sum of the block.
}

__global__ void @KERNEL@_finish(const float* partial, float* y, int batch, int parts)
{
    // TODO 5: add up the parts of this thread's row.
}
