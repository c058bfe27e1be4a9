// The tiles of step 5, which step 8 has for more than 64 channels.

#pragma once

#include "products.cuh"

const int ROWS = 8, COLUMNS = 32;              // of a tile
const int PITCH = COLUMNS + 2;                 // pixels of a row with its neighbours
const int PIXELS = (ROWS + 2) * PITCH;         // that a tile needs
const int SLAB = (PIXELS * 128 + 1023) / 1024 * 1024;
const int DEPTH = 64;                          // channels of the output in a slab

template <int CHANNELS, int STAGES>
__device__ inline void tile(const half* grad_output, const half* weights, half* grad_input, int N, int H, int W, int C, int K)
{
    constexpr int STAGE = DEPTH * CHANNELS * 2;
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
            float sum[2][CHANNELS / 2];
            for (int chunk = 0; chunk < chunks; chunk++) {
                wait(slab_full + 8 * (slab % 2), slab / 2 & 1);
                unsigned own = slabs + slab % 2 * SLAB + consumer * 16 * 128;
#pragma unroll 1
                for (int tap = 0; tap < 9; tap++) {
                    wait(full + 8 * (stage % STAGES), stage / STAGES & 1);
                    unsigned pixels = own + ((2 - tap / 3) * PITCH + 2 - tap % 3) * 128;
                    unsigned weight = stages + stage % STAGES * STAGE;
                    before_reading_copies();
                    before_products();
#pragma unroll
                    for (int k = 0; k < 4; k++)
#pragma unroll
                        for (int patch = 0; patch < 2; patch++)
                            multiply(sum[patch], factor(pixels + patch * 1024 + k * 32, 0, PITCH * 128),
                                     factor(weight + k * 2048, 8192, 1024), chunk + tap + k > 0);
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
#pragma unroll
            for (int patch = 0; patch < 2; patch++)
#pragma unroll
                for (int low = 0; low < 2; low++) {
                    // Eight rows of the product are eight pixels of an image's row.
                    int h = h0 + warp * 2 + low, w = w0 + (consumer * 2 + patch) * 8 + lane / 4;
                    half* to = grad_input + ((n * H + h) * W + w) * C + part * CHANNELS + lane % 4 * 8;
#pragma unroll
                    for (int j = 0; j < CHANNELS / 32; j++) {
                        unsigned words[4];
#pragma unroll
                        for (int i = 0; i < 4; i++)
                            words[i] = rounded(sum[patch][(j * 4 + i) * 4 + low * 2], sum[patch][(j * 4 + i) * 4 + low * 2 + 1]);
                        *(uint4*)(to + j * 32) = exchange(words[0], words[1], words[2], words[3]);
                    }
                }
        }
    }
}
