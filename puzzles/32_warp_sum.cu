// Puzzle 32: the sums of the rows of a matrix, one warp for each row
//
//   y[r] = sum over i of x[r,i]
//
// Tensors, row-major:
//   x  (rows, n)  float
//   y  (rows)     float
//
// The grader launches blocks of 1 to 32 whole warps, and just enough of them that each row
// has a warp: row r belongs to warp r of the grid. Use neither shared memory nor atomic
// additions: the lanes of a warp can read each other's registers.

__global__ void warp_sum(const float* x, float* y, int rows, int n)
{
    // TODO 1: which lane of its warp is this thread, and which row has its warp? Leave if
    //         there is no such row.

    // TODO 2: add up every 32nd element of the row, from the element with this lane's
    //         number on. Some lanes may have one element less than others, or none.

    // TODO 3: add up the sums of the 32 lanes: five times, each lane adds what
    //         __shfl_down_sync reads from a lane further up. Who must take part?

    // TODO 4: one lane has the sum of the row, and stores it.
}
