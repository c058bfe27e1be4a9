// ANCHOR: all
// Puzzle 32, solution: one warp for each row, which adds up its lanes by five shuffles.

// ANCHOR: warp
// The sum over the 32 lanes of a warp, in lane 0. All of them must call it.
__device__ float sum_of_lanes(float sum)
{
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, offset);
    return sum;
}
// ANCHOR_END: warp

__global__ void warp_sum(const float* x, float* y, int rows, int n)
{
    // ANCHOR: row
    int lane = threadIdx.x % 32;
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= rows) return; // a whole warp, or none of it
    // ANCHOR_END: row

    // ANCHOR: lane
    float sum = 0.0f;
    for (int i = lane; i < n; i += 32)
        sum += x[row * n + i];
    // ANCHOR_END: lane

    // All 32 lanes are here again, also those that had nothing to add.
    sum = sum_of_lanes(sum);
    if (lane == 0) y[row] = sum;
}
// ANCHOR_END: all
