// Step 4 of 8: a halo.
// What changed: a block brings 8x32 pixels with their neighbours once for all nine weights, for 64 channels at a time; the pixels of a
// weight are the same shared memory read at another place. Only the weights stream, four stages of 16 KB.
// Predicted: 192 MB from the L2 cache in the place of 604: if that is what step 3 waits for, a third of its time.
// Measured: 118.0 us; 25.8 us for 64 to 64 channels. It was not: the tensor cores are fed by ldmatrix and mma.sync, whose instructions are
// probably what takes the time.

#include "instructions.cuh"

const int ROWS = 8, COLUMNS = 32;              // of a tile
const int PITCH = COLUMNS + 2;                 // pixels of a row with its neighbours
const int PIXELS = (ROWS + 2) * PITCH;         // that a tile needs
const int SLAB = (PIXELS * 128 + 1023) / 1024 * 1024;
const int DEPTH = 64;                          // channels of the output in a slab
const int STAGES = 4;                          // of the weights

template <int CHANNELS>
__device__ inline void tile(const half* grad_output, const half* weights, half* grad_input, int N, int H, int W, int C, int K)
{
    constexpr int STAGE = DEPTH * CHANNELS * 2, BLOCKS = CHANNELS / 16; // a warp has two rows of pixels and half of the channels
    extern __shared__ __align__(128) char raw[];
    unsigned slabs = shared_address(raw), stages = slabs + 2 * SLAB;
    int piece = threadIdx.x % 8, row = threadIdx.x / 8;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int across = W / COLUMNS, down = H / ROWS, parts = C / CHANNELS;
    int c0 = blockIdx.x % parts * CHANNELS, rest = blockIdx.x / parts;
    int w0 = rest % across * COLUMNS, h0 = rest / across % down * ROWS, n = rest / across / down;
    auto bring_pixels = [&](int chunk) {
        for (int i = row; i < PIXELS; i += 32) {
            int h = h0 + i / PITCH - 1, w = w0 + i % PITCH - 1;
            bool inside = (unsigned)h < (unsigned)H && (unsigned)w < (unsigned)W;
            const half* from = grad_output + (inside ? ((n * H + h) * W + w) * K + chunk * DEPTH + piece * 8 : 0);
            copy16(slabs + chunk % 2 * SLAB + place(i, piece), from, inside);
        }
    };
    auto bring_weights = [&](int step) {
        const half* weight = weights + (step / 9 * DEPTH * 9 + step % 9) * C + c0 + piece * 8;
#pragma unroll
        for (int i = 0; i < 2 * CHANNELS / 64; i++)
            copy16(stages + step % STAGES * STAGE + i / 2 * 8192 + place(row + 32 * (i % 2), piece),
                   weight + (row + 32 * (i % 2)) * 9 * C + i / 2 * 64, true);
    };
    float sum[4][BLOCKS][4] = {};
    int steps = K / DEPTH * 9;
    bring_pixels(0);
    for (int step = 0; step < STAGES - 1; step++) {
        bring_weights(step);
        end_group();
    }
    for (int step = 0; step < steps; step++) {
        wait_for_all_groups_but<STAGES - 2>();
        __syncthreads(); // this step has come, and all have used what is filled next
        int chunk = step / 9, tap = step % 9;
        if (tap == 0 && step + 9 < steps) bring_pixels(chunk + 1);
        if (step + STAGES - 1 < steps) bring_weights(step + STAGES - 1);
        end_group();
        unsigned slab = slabs + chunk % 2 * SLAB, stage = stages + step % STAGES * STAGE;
        int pixel = (warp / 2 * 2 + 2 - tap / 3) * PITCH + 2 - tap % 3 + lane % 16;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            unsigned a[4][4], b[BLOCKS / 2][4];
#pragma unroll
            for (int m = 0; m < 4; m++) load_matrices(a[m], slab + place(pixel + m / 2 * PITCH + m % 2 * 16, k * 2 + lane / 16));
#pragma unroll
            for (int j = 0; j < BLOCKS / 2; j++) {
                int c = warp % 2 * (CHANNELS / 2) + j * 16;
                load_transposed(b[j], stage + c / 64 * 8192 + place(k * 16 + lane % 16, c % 64 / 8 + lane / 16));
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
            int h = h0 + warp / 2 * 2 + m / 2, w = w0 + m % 2 * 16 + low * 8 + lane / 4;
            half* to = grad_input + ((n * H + h) * W + w) * C + c0 + warp % 2 * (CHANNELS / 2) + lane % 4 * 2;
#pragma unroll
            for (int j = 0; j < BLOCKS; j++) *(half2*)(to + j * 8) = __floats2half2_rn(sum[m][j][low * 2], sum[m][j][low * 2 + 1]);
        }
}

__global__ void __launch_bounds__(256, 1)
    input_halo(const half* grad_output, const half* weights, half* grad_input, int N, int H, int W, int C, int K)
{
    if (C % 128 == 0) tile<128>(grad_output, weights, grad_input, N, H, W, C, K);
    else tile<64>(grad_output, weights, grad_input, N, H, W, C, K);
}
