// Step 6 of 8: wider products. For compute capability 9.0 (sm_90a).
// What changed: the product is transposed, 64 channels by 256 pixels. For each 16 channels of the output, shared memory gives 2 + 8 KB for
// 128 clocks of the tensor cores; before, 2 + 4 KB for 64. The results of a warp are channels by pixels; movmatrix turns them round.
// Predicted: shared memory was busy for 96 of 128 clocks, and for 80 now, beside what is copied into it: at most 15 % less.
// Measured: 58.7 us; 15.1 us for 64 to 64 channels: it did not help, but for 64 to 64 channels, where step 5 has products of 64 columns.
// Alone, one at a time for each of two warpgroups, products of 256 columns reach 84 % of the peak here, of 128 columns 75 %; step 5 has two
// in a row.

#include "products.cuh"

const int ROWS = 32, COLUMNS = 8;              // of a tile
const int PITCH = COLUMNS + 2;                 // pixels of a row with its neighbours
const int PIXELS = (ROWS + 2) * PITCH;         // that a tile needs
const int SLAB = (PIXELS * 128 + 1023) / 1024 * 1024;
const int DEPTH = 64;                          // channels of the output in a slab

template <int CHANNELS, int STAGES>
__device__ inline void tile(const half* grad_output, const half* weights, half* grad_input, int N, int H, int W, int C, int K)
{
    constexpr int STAGE = DEPTH * CHANNELS * 2;
    constexpr int COUNT = CHANNELS == 128 ? 256 : 128; // pixels of a warpgroup, which has 64 channels
    extern __shared__ char raw[];
    unsigned slabs = (shared_address(raw) + 1023) / 1024 * 1024, stages = slabs + 2 * SLAB;
    unsigned slab_full = stages + STAGES * STAGE, slab_free = slab_full + 16, full = slab_free + 16, empty = full + 8 * STAGES;
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++) set_up(slab_full + 8 * i, 128), set_up(slab_free + 8 * i, 8);
        for (int i = 0; i < STAGES; i++) set_up(full + 8 * i, 128), set_up(empty + 8 * i, 8);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    int across = W / COLUMNS, down = (H + ROWS - 1) / ROWS, parts = C / CHANNELS;
    int tiles = N * across * down * parts, chunks = K / DEPTH;
    int slab = 0, stage = 0; // how many were used so far, in all tiles
    if (threadIdx.x < 128) { // the warpgroup that brings
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        int piece = threadIdx.x % 8, row = threadIdx.x / 8;
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            int part = tile % parts, w0 = tile / parts % across * COLUMNS;
            int h0 = tile / parts / across % down * ROWS, n = tile / parts / across / down;
            for (int chunk = 0; chunk < chunks; chunk++) {
                wait(slab_free + 8 * (slab % 2), (slab / 2 + 1) & 1);
                unsigned to = slabs + slab % 2 * SLAB;
#pragma unroll 4
                for (int i = row; i < PIXELS; i += 16) {
                    int h = h0 + i / PITCH - 1, w = w0 + i % PITCH - 1;
                    bool inside = (unsigned)h < (unsigned)H && (unsigned)w < (unsigned)W;
                    const half* from = grad_output + (inside ? ((n * H + h) * W + w) * K + chunk * DEPTH + piece * 8 : 0);
                    copy16(to + place(i, piece), from, inside);
                }
                arrive_when_copied(slab_full + 8 * (slab++ % 2));
                for (int tap = 0; tap < 9; tap++) {
                    int slot = stage % STAGES;
                    wait(empty + 8 * slot, (stage++ / STAGES + 1) & 1);
                    const half* weight = weights + (chunk * DEPTH * 9 + tap) * C + part * CHANNELS + piece * 8;
#pragma unroll
                    for (int i = 0; i < 4 * CHANNELS / 64; i++)
                        copy16(stages + slot * STAGE + i / 4 * 8192 + place(row + 16 * (i % 4), piece),
                               weight + (row + 16 * (i % 4)) * 9 * C + i / 4 * 64, true);
                    arrive_when_copied(full + 8 * slot);
                }
            }
        }
        asm volatile("cp.async.wait_all;" ::: "memory");
    } else { // the two that multiply
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        int consumer = threadIdx.x / 128 - 1, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            float sum[COUNT / 2];
            for (int chunk = 0; chunk < chunks; chunk++) {
                wait(slab_full + 8 * (slab % 2), slab / 2 & 1);
                unsigned own = slabs + slab % 2 * SLAB + (COUNT == 256 ? 0 : consumer * 16 * PITCH * 128);
#pragma unroll 1
                for (int tap = 0; tap < 9; tap++) {
                    wait(full + 8 * (stage % STAGES), stage / STAGES & 1);
                    unsigned pixels = own + ((2 - tap / 3) * PITCH + 2 - tap % 3) * 128;
                    unsigned weight = stages + stage % STAGES * STAGE + (COUNT == 256 ? consumer * 8192 : 0);
                    before_reading_copies();
                    before_products();
#pragma unroll
                    for (int k = 0; k < 4; k++)
                        multiply_turned(sum, factor(weight + k * 2048, 0, 1024), factor(pixels + k * 32, 0, PITCH * 128), chunk + tap + k > 0);
                    end_products();
                    wait_for_products<1>(); // those of the weight before are done
                    if (lane == 0 && chunk + tap > 0) {
                        arrive(empty + 8 * ((stage - 1) % STAGES));
                        if (tap == 0) arrive(slab_free + 8 * ((slab - 1) % 2));
                    }
                    stage++;
                }
                slab++;
            }
            wait_for_products<0>();
            if (lane == 0) {
                arrive(empty + 8 * ((stage - 1) % STAGES));
                arrive(slab_free + 8 * ((slab - 1) % 2));
            }
            int part = tile % parts, w0 = tile / parts % across * COLUMNS;
            int h0 = tile / parts / across % down * ROWS, n = tile / parts / across / down;
            // A quad of lanes has two pixels and 16 channels: a lane stores eight of a pixel.
            int c = part * CHANNELS + (COUNT == 256 ? consumer * 64 : 0) + warp * 16 + lane % 2 * 8;
            int h = h0 + (COUNT == 256 ? 0 : consumer * 16) + lane % 4 / 2, w = w0 + lane / 4;
            half* to = grad_input + ((n * H + h) * W + w) * C + c;
#pragma unroll
            for (int j = 0; j < COUNT / 8; j += 2) {
                unsigned words[4];
#pragma unroll
                for (int i = 0; i < 4; i++) words[i] = transposed(rounded(sum[j * 4 + i * 2], sum[j * 4 + i * 2 + 1]));
                uint4 piece = exchange(words[0], words[1], words[2], words[3]);
                if (h + j < H) *(uint4*)(to + j * W * C) = piece;
            }
        }
    }
}

__global__ void __launch_bounds__(384, 1)
    input_wide(const half* grad_output, const half* weights, half* grad_input, int N, int H, int W, int C, int K)
{
    if (C % 128 == 0) tile<128, 8>(grad_output, weights, grad_input, N, H, W, C, K);
    else tile<64, 12>(grad_output, weights, grad_input, N, H, W, C, K);
}
