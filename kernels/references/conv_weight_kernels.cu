// What conv_weight_kernels.cuh declares: the kernel of puzzle 35, with the size of its tiles as a template parameter.
#include "conv_weight_kernels.cuh"

template <int TILE>
__device__ void tile_of_weights(const half* grad_output, const half* input, float* grad_weights,
                                int* used, int N, int H, int W, int C, int K)
{
    constexpr int STEP = 8;                // positions in shared memory at a time
    constexpr int SUMS = (TILE + 15) / 16; // of a thread along each axis
    __shared__ float g[STEP][TILE];
    __shared__ float x[STEP][TILE];

    int k0 = blockIdx.x * TILE;
    int c0 = blockIdx.y * TILE;
    int kh = blockIdx.z / 3;
    int kw = blockIdx.z % 3;
    int tk = threadIdx.x / 16;
    int tc = threadIdx.x % 16;
    if (blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x == 0) *used = TILE;

    float sum[SUMS][SUMS] = {};
    int positions = N * H * W;
    for (int first = 0; first < positions; first += STEP) {
        for (int i = threadIdx.x; i < STEP * TILE; i += 256) {
            int row = i / TILE;
            int col = i % TILE;
            int p = first + row;
            int h = p / W % H + kh - 1;
            int w = p % W + kw - 1;
            int n = p / (W * H);
            bool inside = p < positions && h >= 0 && h < H && w >= 0 && w < W;
            bool pixel = inside && c0 + col < C;
            bool gradient = inside && k0 + col < K;
            g[row][col] = gradient ? __half2float(grad_output[p * K + k0 + col]) : 0.0f;
            x[row][col] = pixel ? __half2float(input[((n * H + h) * W + w) * C + c0 + col]) : 0.0f;
        }
        __syncthreads();
        for (int s = 0; s < STEP; s++)
            for (int a = 0; a < SUMS; a++)
                for (int b = 0; b < SUMS; b++)
                    sum[a][b] += g[s][tk + 16 * a] * x[s][tc + 16 * b];
        __syncthreads();
    }

    for (int a = 0; a < SUMS; a++)
        for (int b = 0; b < SUMS; b++) {
            int k = k0 + tk + 16 * a;
            int c = c0 + tc + 16 * b;
            if (k < K && c < C) grad_weights[((k * 3 + kh) * 3 + kw) * C + c] = sum[a][b];
        }
}

__global__ void conv_bwd_weight_tile_16(const half* grad_output, const half* input,
                                        float* grad_weights, int* used, int N, int H, int W,
                                        int C, int K)
{
    tile_of_weights<16>(grad_output, input, grad_weights, used, N, H, W, C, K);
}

__global__ void conv_bwd_weight_tile_32(const half* grad_output, const half* input,
                                        float* grad_weights, int* used, int N, int H, int W,
                                        int C, int K)
{
    tile_of_weights<32>(grad_output, input, grad_weights, used, N, H, W, C, K);
}

__global__ void conv_bwd_weight_tile_64(const half* grad_output, const half* input,
                                        float* grad_weights, int* used, int N, int H, int W,
                                        int C, int K)
{
    tile_of_weights<64>(grad_output, input, grad_weights, used, N, H, W, C, K);
}
