// Right kernels as they are usually written. README.md says how a kernel is launched.
#include <cuda_fp16.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define ALL 0xffffffffu
// launch: grid=(2,1,1) block=(128,1,1) shared=0 in=f32[256] out=f32[2]
extern "C" __global__ void good_reduction_unrolled_last_warp(const float *in, float *out) {
    __shared__ float s[128];
    int i = threadIdx.x;
    s[i] = in[blockIdx.x * 128 + i];
    __syncthreads();
    if (i < 64) s[i] += s[i + 64];
    __syncthreads();
    if (i < 32) {
        float v = s[i] + s[i + 32];
        for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(ALL, v, d);
        if (i == 0) out[blockIdx.x] = v;
    }
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[1]
extern "C" __global__ void good_old_volatile_warp_reduce(const float *in, float *out) {
    __shared__ float s[64];
    int i = threadIdx.x;
    s[i] = in[i];
    __syncthreads();
    if (i < 32) {
        volatile float *v = s;
        v[i] += v[i + 32]; __syncwarp();
        v[i] += v[i + 16]; __syncwarp();
        v[i] += v[i + 8]; __syncwarp();
        v[i] += v[i + 4]; __syncwarp();
        v[i] += v[i + 2]; __syncwarp();
        v[i] += v[i + 1];
    }
    if (i == 0) out[0] = s[0];
}
// launch: grid=(2,2,1) block=(8,8,1) shared=0 in=f32[256] in=f32[9] out=f32[256] n=16
extern "C" __global__ void good_convolution_with_halo(const float *in, const float *w, float *out, int n) {
    __shared__ float s[10][10];
    int bx = blockIdx.x * 8 - 1, by = blockIdx.y * 8 - 1;
    for (int k = threadIdx.y * 8 + threadIdx.x; k < 100; k += 64) {
        int y = by + k / 10, x = bx + k % 10;
        s[k / 10][k % 10] = x >= 0 && x < n && y >= 0 && y < n ? in[y * n + x] : 0.0f;
    }
    __syncthreads();
    float sum = 0.0f;
    for (int dy = 0; dy < 3; dy++)
        for (int dx = 0; dx < 3; dx++) sum += w[dy * 3 + dx] * s[threadIdx.y + dy][threadIdx.x + dx];
    out[(by + 1 + threadIdx.y) * n + bx + 1 + threadIdx.x] = sum;
}
// launch: grid=(1,1,1) block=(16,16,1) shared=0 in=f32[1200] in=f32[1050] out=f32[1400] m=40 k=30 n=35
extern "C" __global__ void good_matmul_of_odd_sizes(const float *a, const float *b, float *c, int m, int k, int n) {
    __shared__ float as[16][16], bs[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    for (int r0 = 0; r0 < m; r0 += 16)
        for (int c0 = 0; c0 < n; c0 += 16) {
            float sum = 0.0f;
            for (int t = 0; t < k; t += 16) {
                as[y][x] = r0 + y < m && t + x < k ? a[(r0 + y) * k + t + x] : 0.0f;
                bs[y][x] = t + y < k && c0 + x < n ? b[(t + y) * n + c0 + x] : 0.0f;
                __syncthreads();
                for (int i = 0; i < 16; i++) sum += as[y][i] * bs[i][x];
                __syncthreads();
            }
            if (r0 + y < m && c0 + x < n) c[(r0 + y) * n + c0 + x] = sum;
        }
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[33] out=f32[33] n=33
extern "C" __global__ void good_half_buffer(const float *in, float *out, int n) {
    __shared__ __half s[34];
    for (int i = threadIdx.x; i < 34; i += 32) s[i] = i < n ? __float2half(in[i]) : __half(0.0f);
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += 32) out[i] = __half2float(s[i]) + __half2float(s[i + 1]);
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void good_cooperative_groups(const float *in, float *out) {
    __shared__ float s[64];
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    s[block.thread_rank()] = in[block.thread_rank()];
    block.sync();
    float v = s[63 - block.thread_rank()];
    for (int d = warp.size() / 2; d > 0; d /= 2) v += warp.shfl_down(v, d);
    v = warp.shfl(v, 0);
    warp.sync();
    out[block.thread_rank()] = v;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=i32[64] out=i32[64] zeros=i32[1]
extern "C" __global__ void good_warp_aggregated_compaction(const int *in, int *out, int *count) {
    out[threadIdx.x] = 0;
    __syncthreads();
    bool keep = in[threadIdx.x] > 6;
    unsigned votes = __ballot_sync(ALL, keep);
    int lane = threadIdx.x % 32, base = 0;
    if (lane == 0) base = atomicAdd(count, __popc(votes));
    base = __shfl_sync(ALL, base, 0);
    if (keep) out[base + __popc(votes & ((1u << lane) - 1))] = 1;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 inout=f32[64] out=f32[64] n=5
extern "C" __global__ void good_ping_pong_in_global_memory(float *a, float *b, int n) {
    int i = threadIdx.x;
    for (int t = 0; t < n; t++) {
        b[i] = 0.5f * (a[i] + a[(i + 1) % 64]);
        __syncthreads();
        float *other = a;
        a = b;
        b = other;
    }
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[1]
extern "C" __global__ void good_sum_by_one_thread(const float *in, float *out) {
    __shared__ float s[64];
    s[threadIdx.x] = in[threadIdx.x] * in[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int k = 0; k < 64; k++) sum += s[k];
        out[0] = sum;
    }
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[1]
extern "C" __global__ void good_odd_reduction(const float *in, float *out) {
    __shared__ float s[50];
    int i = threadIdx.x, n = 50;
    if (i < n) s[i] = in[i];
    __syncthreads();
    while (n > 1) {
        int half = (n + 1) / 2;
        if (i < n / 2) s[i] += s[i + half];
        n = half;
        __syncthreads();
    }
    if (i == 0) *out = s[0];
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void good_shared_reused_for_two_things(const float *in, float *out) {
    __shared__ float s[64];
    int i = threadIdx.x;
    s[i] = in[i];
    __syncthreads();
    float v = s[i ^ 32];
    __syncthreads();
    int *n = (int *)s;
    n[63 - i] = (int)v;
    __syncthreads();
    out[i] = n[i];
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64] n=3
extern "C" __global__ void good_loop_until_all_agree(const float *in, float *out, int n) {
    __shared__ int again;
    int i = threadIdx.x;
    float v = in[i];
    do {
        __syncthreads();
        if (i == 0) again = 0;
        __syncthreads();
        v *= 0.5f;
        if (fabsf(v) > 1.0f) again = 1;
        __syncthreads();
    } while (again);
    out[i] = v;
}
// launch: grid=(4,1,1) block=(64,1,1) shared=0 in=f32[256] zeros=f32[1]
extern "C" __global__ void good_block_sum_then_one_atomic(const float *in, float *out) {
    __shared__ float s[64];
    int i = threadIdx.x;
    s[i] = in[blockIdx.x * 64 + i];
    for (int d = 32; d > 0; d >>= 1) {
        __syncthreads();
        if (i < d) s[i] += s[i + d];
    }
    if (i == 0) atomicAdd(out, s[0]);
}
// launch: grid=(1,1,1) block=(32,4,1) shared=0 in=f32[128] out=f32[4]
extern "C" __global__ void good_one_warp_for_each_row(const float *in, float *out) {
    __shared__ float row[4][33];
    row[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
    __syncwarp();
    if (threadIdx.x == 0) {
        float best = row[threadIdx.y][0];
        for (int k = 1; k < 32; k++) best = fmaxf(best, row[threadIdx.y][k]);
        out[threadIdx.y] = best;
    }
}
