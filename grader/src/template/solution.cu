// ANCHOR: all
// Puzzle @NUMBER@, solution: one thread per element of y.

__global__ void @KERNEL@(const float* x, const float* w, float* y, int batch, int N)
{
    // ANCHOR: decode
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= batch * N) return; // the grid is rounded up
    int i = idx % N;
    // ANCHOR_END: decode

    y[idx] = x[idx] * w[i];
}
// ANCHOR_END: all
