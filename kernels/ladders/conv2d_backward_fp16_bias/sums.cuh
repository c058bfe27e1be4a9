// How steps 3 and 4 add up: a thread its positions, then a block its threads.

#pragma once

#include <cuda_fp16.h>

const int LOADS = 8; // of a thread, at once

// A thread has eight channels, 16 bytes of every so many positions.
__device__ void add_positions(const half* grad_output, int P, int K, float (&sum)[8])
{
    int pieces = K / 8, rows = blockDim.x / pieces;
    int piece = threadIdx.x % pieces, step = gridDim.x * rows;
    const uint4* from = (const uint4*)grad_output + piece;
    for (int p = blockIdx.x * rows + threadIdx.x / pieces; p < P; p += LOADS * step) {
        uint4 loaded[LOADS];
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            loaded[i] = make_uint4(0, 0, 0, 0);
            if (p + i * step < P) loaded[i] = __ldcs(from + (p + i * step) * pieces);
        }
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            const half2* pairs = (const half2*)&loaded[i];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                float2 both = __half22float2(pairs[j]);
                sum[2 * j] += both.x;
                sum[2 * j + 1] += both.y;
            }
        }
    }
}

// Adds up the threads of a block; sums[k] is for the thread that asks for k first, in steps of blockDim.x.
__device__ void add_threads(const float (&sum)[8], float* sums, int K)
{
    int pieces = K / 8, rows = blockDim.x / pieces;
    float* own = sums + threadIdx.x / pieces * K + threadIdx.x % pieces * 8;
    *(float4*)own = make_float4(sum[0], sum[1], sum[2], sum[3]);
    *(float4*)(own + 4) = make_float4(sum[4], sum[5], sum[6], sum[7]);
    __syncthreads();
    for (int k = threadIdx.x; k < K; k += blockDim.x) {
        float total = 0.0f;
        for (int row = 0; row < rows; row++) total += sums[row * K + k];
        sums[k] = total;
    }
}
