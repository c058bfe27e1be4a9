// ANCHOR: all
// Puzzle 49, solution: each fault fixed with a small change, which a comment marks.

// ANCHOR: case1
// Case 1: edges[h,w] = sum over p, q of image[h+p,w+q] * filter[p,q].
// Blocks of 16 x 16 threads, ceil((W-2) / 16) x ceil((H-2) / 16) of them.
__global__ void find_edges(const float* image, const float* filter, float* edges, int H, int W)
{
    int w = blockIdx.x * 16 + threadIdx.x;
    int h = blockIdx.y * 16 + threadIdx.y;
    if (h >= H - 2 || w >= W - 2) return; // case 1: the grid is rounded up
    float sum = 0.0f;
    for (int p = 0; p < 3; p++) {
        for (int q = 0; q < 3; q++) {
            sum += image[(h + p) * W + w + q] * filter[p * 3 + q];
        }
    }
    edges[h * (W - 2) + w] = sum;
}
// ANCHOR_END: case1

// ANCHOR: case2
// Case 2: smooth[i] = signal[i-1] + 2 * signal[i] + signal[i+1], with 0 beyond both ends.
// Blocks of 128 threads, ceil(N / 128) of them.
__global__ void smooth_signal(const float* signal, float* smooth, int N)
{
    __shared__ float part[130]; // this block's 128 elements, and one on each side
    int i = blockIdx.x * 128 + threadIdx.x;
    part[threadIdx.x + 1] = i < N ? signal[i] : 0.0f;
    if (threadIdx.x == 0) part[0] = i > 0 ? signal[i - 1] : 0.0f;
    if (threadIdx.x == 127) part[129] = i + 1 < N ? signal[i + 1] : 0.0f;
    __syncthreads(); // case 2: a thread reads what its neighbours have stored
    if (i < N) smooth[i] = part[threadIdx.x] + 2.0f * part[threadIdx.x + 1] + part[threadIdx.x + 2];
}
// ANCHOR_END: case2

// ANCHOR: case3
// Case 3: bias[c] = sum over n of grad[n,c].
// C blocks; their size is a multiple of 32 and at most 256.
__global__ void bias_gradient(const float* grad, float* bias, int N, int C)
{
    __shared__ float s_sum[8];
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    float sum = 0.0f;
    for (int n = threadIdx.x; n < N; n += blockDim.x) sum += grad[n * C + blockIdx.x];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
    if (lane == 0) s_sum[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = lane < blockDim.x / 32 ? s_sum[lane] : 0.0f; // case 3: one for each warp
        for (int step = 4; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
        if (lane == 0) bias[blockIdx.x] = sum;
    }
}
// ANCHOR_END: case3

// ANCHOR: case4
// Case 4: total[c] = sum over n of rows[n,c]. Two kernels, launched one after the other.
// First with blocks of 128 threads, ceil(C / 128) of them,
__global__ void prepare_totals(float* total, int C)
{
    int c = blockIdx.x * 128 + threadIdx.x;
    if (c < C) total[c] = 0.0f; // case 4: zero before any block adds
}

// then with blocks of 128 threads, ceil(N*C / 128) of them.
__global__ void add_totals(const float* rows, float* total, int N, int C)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < N * C) atomicAdd(&total[i % C], rows[i]);
}
// ANCHOR_END: case4

// ANCHOR: case5
// Case 5: scaled[h,w,c] = pixels[h,w,c] * scale[c].
// Blocks of 256 threads, ceil(H*W*C / 256) of them.
__global__ void scale_channels(const float* pixels, const float* scale, float* scaled, int H,
                               int W, int C)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= H * W * C) return;
    int c = i % C; // case 5: neighbouring threads take neighbouring elements
    scaled[i] = pixels[i] * scale[c];
}
// ANCHOR_END: case5
// ANCHOR_END: all
