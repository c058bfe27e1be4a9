// Step 8 of 8: 64 channels, all weights at once. For compute capability 9.0 (sm_90a).
// What changed: the weights of 64 to 64 channels are 72 KB, so a block brings them once and keeps them, with up to six slabs of pixels beside
// them. Each of the two warpgroups that multiply has tiles of its own, 16x8 pixels by 64 channels (as in step 6), and starts all 36 products
// of a tile without waiting in between; while one stores, the other multiplies. More channels take step 5.
// Predicted: each weight is brought once and not twice; the products of a block take 4.7 us. Beside the launch (3 us), the first tile (1 to
// 2 us) and the last stores (1 us) that makes 10 to 11 us.
// Measured, on an H100: 14.3 us for 64 to 64 channels, where step 6 takes 15.8, step 5 16.4 and PyTorch 24.0 (1.68 times as fast); 13.4 us with the
// data in the cache. Tiles of 8x8 pixels, whose products ask shared memory for all of its 128 bytes a clock, take 15.8 us, and 15.2 with the
// weights in registers; tiles of 32x8 15.3, since the first product waits for twice the pixels, but 11.9 with the data in the cache. Four
// warpgroups that multiply take 14.4 us, 12.6 without the copies, and 11.9 with the products of one place of nine: each part alone takes nearly all.

#include "warpgroups.cuh"

__device__ inline void tiles_of_64(const half* grad_output, const half* weights, half* grad_input, int N, int H, int W)
{
    constexpr int CHANNELS = 64, TAP = CHANNELS * CHANNELS * 2; // bytes of the weights of a place
    constexpr int ROWS = 16, COLUMNS = 8, PITCH = COLUMNS + 2, PIXELS = (ROWS + 2) * PITCH;
    constexpr int SLAB = (PIXELS * 128 + 1023) / 1024 * 1024, SLABS = 6;
    extern __shared__ char raw[];
    unsigned first = (shared_address(raw) + 1023) / 1024 * 1024, slabs = first + 9 * TAP;
    unsigned full = slabs + SLABS * SLAB, empty = full + 8 * SLABS, tap_full = empty + 8 * SLABS;
    if (threadIdx.x == 0) {
        for (int i = 0; i < SLABS; i++) set_up(full + 8 * i, 128), set_up(empty + 8 * i, 4);
        for (int i = 0; i < 9; i++) set_up(tap_full + 8 * i, 128);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    int across = W / COLUMNS, down = (H + ROWS - 1) / ROWS, tiles = N * across * down;
    if (threadIdx.x < 128) { // the warpgroup that brings
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        int piece = threadIdx.x % 8, row = threadIdx.x / 8;
        auto bring = [&](int tap) {
#pragma unroll
            for (int k = row; k < CHANNELS; k += 16)
                copy16(first + tap * TAP + place(k, piece), weights + (k * 9 + tap) * CHANNELS + piece * 8, true);
            arrive_when_copied(tap_full + 8 * tap);
        };
        bring(0);
        int i = 0; // tiles so far
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, i++) {
            int w0 = tile % across * COLUMNS, h0 = tile / across % down * ROWS, n = tile / across / down, slot = i % SLABS;
            wait(empty + 8 * slot, (i / SLABS + 1) & 1);
#pragma unroll 4
            for (int at = row; at < PIXELS; at += 16) {
                int h = h0 + at / PITCH - 1, w = w0 + at % PITCH - 1;
                bool inside = (unsigned)h < (unsigned)H && (unsigned)w < (unsigned)W;
                copy16(slabs + slot * SLAB + place(at, piece), grad_output + (inside ? ((n * H + h) * W + w) * CHANNELS + piece * 8 : 0), inside);
            }
            arrive_when_copied(full + 8 * slot);
            if (i == 0) // the weights of further places come behind the first pixels
                for (int tap = 1; tap < 9; tap++) bring(tap);
        }
        asm volatile("cp.async.wait_all;" ::: "memory");
    } else { // the two that multiply
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        int consumer = threadIdx.x / 128 - 1, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4, i = consumer;
        for (int tile = blockIdx.x + consumer * gridDim.x; tile < tiles; tile += 2 * gridDim.x, i += 2) {
            float sum[64];
            int slot = i % SLABS;
            wait(full + 8 * slot, i / SLABS & 1);
#pragma unroll
            for (int tap = 0; tap < 9; tap++) {
                wait(tap_full + 8 * tap, 0);
                unsigned pixels = slabs + slot * SLAB + ((2 - tap / 3) * PITCH + 2 - tap % 3) * 128;
                before_reading_copies();
                before_products();
#pragma unroll
                for (int k = 0; k < 4; k++)
                    multiply_turned(sum, factor(first + tap * TAP + k * 2048, 0, 1024), factor(pixels + k * 32, 0, PITCH * 128), tap + k > 0);
                end_products();
            }
            wait_for_products<0>();
            if (lane == 0) arrive(empty + 8 * slot);
            // A quad of lanes has two pixels and 16 channels: a lane stores eight of a pixel.
            int w0 = tile % across * COLUMNS, h0 = tile / across % down * ROWS, n = tile / across / down;
            int h = h0 + lane % 4 / 2, w = w0 + lane / 4;
            half* to = grad_input + ((n * H + h) * W + w) * CHANNELS + warp * 16 + lane % 2 * 8;
#pragma unroll
            for (int j = 0; j < ROWS; j += 2) {
                unsigned words[4];
#pragma unroll
                for (int m = 0; m < 4; m++) words[m] = transposed(rounded(sum[j * 4 + m * 2], sum[j * 4 + m * 2 + 1]));
                uint4 piece = exchange(words[0], words[1], words[2], words[3]);
                if (h + j < H) *(uint4*)(to + j * W * CHANNELS) = piece;
            }
        }
    }
}

__global__ void __launch_bounds__(384, 1)
    input_resident(const half* grad_output, const half* weights, half* grad_input, int N, int H, int W, int C, int K)
{
    if (C == 64 && K == 64) tiles_of_64(grad_output, weights, grad_input, N, H, W);
    else if (C % 128 == 0) tile<128, 8>(grad_output, weights, grad_input, N, H, W, C, K);
    else tile<64, 12>(grad_output, weights, grad_input, N, H, W, C, K);
}
