// What steps 2 and 3 share: a row of a product is a pixel of the output, a column one of the 27 weights of a channel.

#pragma once

#include <cuda_fp16.h>

const int W = 32, C = 3, K = 64;
const int ROWS = 8;    // of a block
const int COLUMNS = 27; // a weight for each place and channel

__device__ inline void multiply(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// Of a block, for each of its rows of pixels and one beside each end.
using Products = float[ROWS + 2][W][COLUMNS + 2];

// Channels 16 * quad to 16 * quad + 15 of four pixels, or of columns: words 2 * s and 2 * s + 1 are a lane's part of step s.
using Factor = uint4[4][2];

__device__ inline void load_pixels(Factor& pixels, const half* row_of_pixels)
{
    int lane = threadIdx.x % 32, quad = lane % 4, row = lane / 4;
    const uint4* from = (const uint4*)row_of_pixels + quad * 2;
#pragma unroll
    for (int m = 0; m < 4; m++) {
        pixels[m][0] = from[(m * 8 + row) * (K / 8)];
        pixels[m][1] = from[(m * 8 + row) * (K / 8) + 1];
    }
}

// Multiplies the row of pixels of a warp with all weights.
__device__ inline void multiply_row(Products& products, const Factor& pixels, const Factor& column)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, quad = lane % 4, row = lane / 4;
#pragma unroll
    for (int m = 0; m < 2; m++) {
        float sum[4][4] = {};
#pragma unroll
        for (int s = 0; s < 4; s++) {
            const unsigned* high = (const unsigned*)&pixels[2 * m][s / 2] + s % 2 * 2;
            const unsigned* low = (const unsigned*)&pixels[2 * m + 1][s / 2] + s % 2 * 2;
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const unsigned* b = (const unsigned*)&column[j][s / 2] + s % 2 * 2;
                multiply(sum[j], high[0], low[0], high[1], low[1], b[0], b[1]);
            }
        }
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                int at = j * 8 + quad * 2 + i % 2;
                if (at < COLUMNS) products[warp][m * 16 + row + i / 2 * 8][at] = sum[j][i];
            }
    }
}

// A thread adds the nine products of each channel of its pixel, after all warps have multiplied.
__device__ inline void add_products(half* grad_input, const Products& products, int n, int H, int h0)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (warp >= ROWS) return;
    float sum[C] = {};
#pragma unroll
    for (int p = 0; p < 3; p++)
#pragma unroll
        for (int q = 0; q < 3; q++) {
            int w = lane + 1 - q;
            if (w < 0 || w >= W) continue;
            for (int c = 0; c < C; c++) sum[c] += products[warp + 2 - p][w][(p * 3 + q) * C + c];
        }
    half* to = grad_input + ((n * H + h0 + warp) * W + lane) * C;
    for (int c = 0; c < C; c++) to[c] = __float2half(sum[c]);
}
