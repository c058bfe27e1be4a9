// ANCHOR: all
// Puzzle 24, solution: one thread per window adds its gradient to the winner.

// ANCHOR: zero
__global__ void zero_gradients(float* gradients, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) gradients[i] = 0.0f;
}
// ANCHOR_END: zero

__global__ void maxpool2d_bwd_idx(const float* dY, const int* idx, float* dX,
                                  int planes, int out_plane, int in_plane)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= planes * out_plane) return; // the grid is rounded up

    // ANCHOR: add
    int where = idx[i];
    if (where < 0) return; // the window was all padding

    int plane = i / out_plane;
    // Windows overlap: other threads may add to this element, too.
    atomicAdd(&dX[plane * in_plane + where], dY[i]);
    // ANCHOR_END: add
}
// ANCHOR_END: all
