// Step 3 of 8: a pipeline.
// What changed: the copies of the next two steps are on their way while a step is multiplied (cp.async, three stages of 32 KB, two blocks
// for each multiprocessor).
// Predicted: the time of the slower part, 0.11 ms, in the place of their sum.
// Measured: 118.9 us; 27.0 us for 64 to 64 channels. With two stages 123.2 us: it is not latency that is left.

#include "instructions.cuh"

const int PIXELS = 128;          // of a tile
const int DEPTH = 64;            // channels of the output in a step
const int SIDE_A = PIXELS * 128; // bytes of the pixels
const int STAGES = 3;

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
        unsigned to = start + step % STAGES * (SIDE_A + CHANNELS * 128);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            bool inside = (unsigned)(h[i] + dh) < (unsigned)H && (unsigned)(w[i] + dw) < (unsigned)W;
            copy16(to + place(row + 32 * i, piece), inside ? from[i] + (dh * W + dw) * K + chunk * DEPTH : grad_output, inside);
        }
        const half* weight = weights + (chunk * DEPTH * 9 + tap) * C + c0 + piece * 8;
#pragma unroll
        for (int i = 0; i < 2 * CHANNELS / 64; i++)
            copy16(to + SIDE_A + i / 2 * 8192 + place(row + 32 * (i % 2), piece),
                   weight + (row + 32 * (i % 2)) * 9 * C + i / 2 * 64, true);
    };
    float sum[4][BLOCKS][4] = {};
    int steps = K / DEPTH * 9;
    for (int step = 0; step < STAGES - 1; step++) {
        bring(step);
        end_group();
    }
    for (int step = 0; step < steps; step++) {
        wait_for_all_groups_but<STAGES - 2>();
        __syncthreads(); // this step has come, and all have used the stage that is filled next
        if (step + STAGES - 1 < steps) bring(step + STAGES - 1);
        end_group(); // an empty one at the end, so that counting stays right
        unsigned a_side = start + step % STAGES * (SIDE_A + CHANNELS * 128), b_side = a_side + SIDE_A;
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
    input_pipeline(const half* grad_output, const half* weights, half* grad_input, int N, int H, int W, int C, int K)
{
    if (C % 128 == 0) tile<128>(grad_output, weights, grad_input, N, H, W, C, K);
    else tile<64>(grad_output, weights, grad_input, N, H, W, C, K);
}
