// ANCHOR: all
// Puzzle @NUMBER@, solution: a sum in shared memory for each part of a row, and then the sum of the parts.

__constant__ float c_w[4];

__global__ void @KERNEL@(const float* x, float* partial, int N)
{
    extern __shared__ float sums[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y;
    sums[threadIdx.x] = i < N ? x[row * N + i] * c_w[i % 4] : 0.0f;

    // ANCHOR: halves
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads(); // all have stored their sums
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    // ANCHOR_END: halves

    if (threadIdx.x == 0) partial[row * gridDim.x + blockIdx.x] = sums[0];
}

__global__ void @KERNEL@_finish(const float* partial, float* y, int batch, int parts)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= batch) return; // the grid is rounded up
    float sum = 0.0f;
    for (int part = 0; part < parts; part++) {
        sum += partial[row * parts + part];
    }
    y[row] = sum;
}
// ANCHOR_END: all
