// Step 2 of 8: tensor cores.
// What changed: an implicit matrix product, 128 pixels by 128 (or 64) channels for a block. For each of the nine weights and 64 channels of
// the output, the block brings the pixels, shifted, and the weights to shared memory, waits for them, and multiplies them by mma.sync.
// Predicted: 1/8192 of the multiplications' instructions. A step of 64 channels moves 32 KB for 2 MFLOP, 604 MB in all: 0.11 ms at the L2
// cache's 5.5 TB/s; twice that, since loads and products take turns.
// Measured: 144.4 us; 33.3 us for 64 to 64 channels.

#include "instructions.cuh"

const int PIXELS = 128;          // of a tile
const int DEPTH = 64;            // channels of the output in a step
const int SIDE_A = PIXELS * 128; // bytes of the pixels

template <int CHANNELS>
__device__ inline void tile(const half* grad_output, const half* weights, half* grad_input, int N, int H, int W, int C, int K)
{
    constexpr int BLOCKS = CHANNELS / 32; // blocks of eight channels of a warp, which has 64 pixels and a quarter of the channels
    extern __shared__ __align__(128) char raw[];
    unsigned start = shared_address(raw);
    int piece = threadIdx.x % 8, row = threadIdx.x / 8; // what this thread brings: a piece of rows row, row + 32, ...
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int parts = C / CHANNELS, positions = N * H * W;
    int c0 = blockIdx.x % parts * CHANNELS, first = blockIdx.x / parts * PIXELS;
    int h[4], w[4];
    const half* from[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int position = first + row + 32 * i;
        h[i] = position < positions ? position / W % H : -9;
        w[i] = position % W;
        from[i] = grad_output + position * K + piece * 8;
    }
    auto bring = [&](int step) {
        int chunk = step / 9, tap = step % 9, dh = 1 - tap / 3, dw = 1 - tap % 3;
        uint4 pixels[4], channels[2 * CHANNELS / 64];
        const half* weight = weights + (chunk * DEPTH * 9 + tap) * C + c0 + piece * 8;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            bool inside = (unsigned)(h[i] + dh) < (unsigned)H && (unsigned)(w[i] + dw) < (unsigned)W;
            pixels[i] = make_uint4(0, 0, 0, 0);
            if (inside) pixels[i] = *(const uint4*)(from[i] + (dh * W + dw) * K + chunk * DEPTH);
        }
#pragma unroll
        for (int i = 0; i < 2 * CHANNELS / 64; i++)
            channels[i] = *(const uint4*)(weight + (row + 32 * (i % 2)) * 9 * C + i / 2 * 64);
#pragma unroll
        for (int i = 0; i < 4; i++) *(uint4*)(raw + place(row + 32 * i, piece)) = pixels[i];
#pragma unroll
        for (int i = 0; i < 2 * CHANNELS / 64; i++)
            *(uint4*)(raw + SIDE_A + i / 2 * 8192 + place(row + 32 * (i % 2), piece)) = channels[i];
    };
    float sum[4][BLOCKS][4] = {};
    for (int step = 0; step < K / DEPTH * 9; step++) {
        bring(step);
        __syncthreads(); // all have brought theirs
        unsigned a_side = start, b_side = start + SIDE_A;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            unsigned a[4][4], b[BLOCKS / 2][4];
#pragma unroll
            for (int m = 0; m < 4; m++) load_matrices(a[m], a_side + place(warp / 4 * 64 + m * 16 + lane % 16, k * 2 + lane / 16));
#pragma unroll
            for (int j = 0; j < BLOCKS / 2; j++) {
                int c = warp % 4 * (CHANNELS / 4) + j * 16;
                load_transposed(b[j], b_side + c / 64 * 8192 + place(k * 16 + lane % 16, c % 64 / 8 + lane / 16));
            }
#pragma unroll
            for (int m = 0; m < 4; m++)
#pragma unroll
                for (int j = 0; j < BLOCKS; j++) multiply(sum[m][j], a[m], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
        __syncthreads(); // all have used them
    }
#pragma unroll
    for (int m = 0; m < 4; m++)
#pragma unroll
        for (int low = 0; low < 2; low++) {
            int position = first + warp / 4 * 64 + m * 16 + low * 8 + lane / 4;
            if (position >= positions) continue;
            half* to = grad_input + position * C + c0 + warp % 4 * (CHANNELS / 4) + lane % 4 * 2;
#pragma unroll
            for (int j = 0; j < BLOCKS; j++) *(half2*)(to + j * 8) = __floats2half2_rn(sum[m][j][low * 2], sum[m][j][low * 2 + 1]);
        }
}

__global__ void __launch_bounds__(256, 2)
    input_tiles(const half* grad_output, const half* weights, half* grad_input, int N, int H, int W, int C, int K)
{
    if (C % 128 == 0) tile<128>(grad_output, weights, grad_input, N, H, W, C, K);
    else tile<64>(grad_output, weights, grad_input, N, H, W, C, K);
}
