// Puzzle 49: the detective
//
// Five kernels, each with one fault. All of them were written by somebody who tested them on a
// real GPU, where they can give the right values. Find each fault with the grader's findings,
// `grader profile 49` and `grader explain 49`, and fix it with as small a change as you can.
// Signatures, grids and blocks stay as they are.
//
// Tensors, row-major: image (H, W), filter (3, 3), edges (H-2, W-2); signal and smooth (N);
// grad and rows (N, C), bias and total (C); pixels and scaled (H, W, C), scale (C).

// Case 1: edges[h,w] = sum over p, q of image[h+p,w+q] * filter[p,q].
// Blocks of 16 x 16 threads, ceil((W-2) / 16) x ceil((H-2) / 16) of them.
__global__ void find_edges(const float* image, const float* filter, float* edges, int H, int W)
{
    int w = blockIdx.x * 16 + threadIdx.x;
    int h = blockIdx.y * 16 + threadIdx.y;
    float sum = 0.0f;
    for (int p = 0; p < 3; p++) {
        for (int q = 0; q < 3; q++) {
            sum += image[(h + p) * W + w + q] * filter[p * 3 + q];
        }
    }
    edges[h * (W - 2) + w] = sum;
}

// Case 2: smooth[i] = signal[i-1] + 2 * signal[i] + signal[i+1], with 0 beyond both ends.
// Blocks of 128 threads, ceil(N / 128) of them.
__global__ void smooth_signal(const float* signal, float* smooth, int N)
{
    __shared__ float part[130]; // this block's 128 elements, and one on each side
    int i = blockIdx.x * 128 + threadIdx.x;
    part[threadIdx.x + 1] = i < N ? signal[i] : 0.0f;
    if (threadIdx.x == 0) part[0] = i > 0 ? signal[i - 1] : 0.0f;
    if (threadIdx.x == 127) part[129] = i + 1 < N ? signal[i + 1] : 0.0f;
    if (i < N) smooth[i] = part[threadIdx.x] + 2.0f * part[threadIdx.x + 1] + part[threadIdx.x + 2];
}

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
        sum = lane < 8 ? s_sum[lane] : 0.0f;
        for (int step = 4; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
        if (lane == 0) bias[blockIdx.x] = sum;
    }
}

// Case 4: total[c] = sum over n of rows[n,c]. Two kernels, launched one after the other.
// First with blocks of 128 threads, ceil(C / 128) of them,
__global__ void prepare_totals(float* total, int C)
{
    // nothing to prepare
}

// then with blocks of 128 threads, ceil(N*C / 128) of them.
__global__ void add_totals(const float* rows, float* total, int N, int C)
{
    if (blockIdx.x == 0) {
        for (int c = threadIdx.x; c < C; c += 128) total[c] = 0.0f;
    }
    __syncthreads();
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < N * C) atomicAdd(&total[i % C], rows[i]);
}

// Case 5: scaled[h,w,c] = pixels[h,w,c] * scale[c].
// Blocks of 256 threads, ceil(H*W*C / 256) of them.
__global__ void scale_channels(const float* pixels, const float* scale, float* scaled, int H,
                               int W, int C)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= H * W * C) return;
    int w = i % W;
    int h = i / W % H;
    int c = i / (W * H);
    scaled[(h * W + w) * C + c] = pixels[(h * W + w) * C + c] * scale[c];
}
