// Races in shared memory. README.md says how a kernel is launched and what the comments mean.
#define TILE 16
#define ALL 0xffffffffu

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_reverse_without_barrier(const float *in, float *out) {
    __shared__ float s[64];
    s[threadIdx.x] = in[threadIdx.x]; // expect: SharedRace
    out[threadIdx.x] = s[63 - threadIdx.x]; // expect: SharedRace
}
// launch: grid=(1,1,1) block=(16,16,1) shared=0 in=f32[1024] in=f32[1024] out=f32[1024] n=32
extern "C" __global__ void bad_matmul_without_first_barrier(const float *a, const float *b, float *c, int n) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    float sum = 0.0f;
    for (int t = 0; t < n; t += TILE) {
        as[y][x] = a[y * n + t + x];
        bs[y][x] = b[(t + y) * n + x]; // expect: SharedRace
#pragma unroll 1
        for (int k = 0; k < TILE; k++)
            sum += as[y][k] * bs[k][x]; // expect: SharedRace
        __syncthreads();
    }
    c[y * n + x] = sum;
}
// launch: grid=(1,1,1) block=(16,16,1) shared=0 in=f32[1024] in=f32[1024] out=f32[1024] n=32
extern "C" __global__ void bad_matmul_without_second_barrier(const float *a, const float *b, float *c, int n) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    float sum = 0.0f;
#pragma unroll 1
    for (int t = 0; t < n; t += TILE) {
        as[y][x] = a[y * n + t + x]; // expect: SharedRace
        bs[y][x] = b[(t + y) * n + x]; // expect: SharedRace
        __syncthreads();
#pragma unroll 1
        for (int k = 0; k < TILE; k++)
            sum += as[y][k] * bs[k][x]; // expect: SharedRace
    }
    c[y * n + x] = sum;
}
// launch: grid=(1,1,1) block=(128,1,1) shared=0 in=f32[128] out=f32[1]
extern "C" __global__ void bad_reduction_barrier_before_the_loop_only(const float *in, float *out) {
    __shared__ float s[128];
    int i = threadIdx.x;
    s[i] = in[i];
    __syncthreads();
#pragma unroll 1
    for (int stride = 64; stride > 0; stride /= 2)
        if (i < stride) s[i] += s[i + stride]; // expect: SharedRace
    if (i == 0) *out = s[0];
}
// launch: grid=(1,1,1) block=(128,1,1) shared=0 in=f32[128] out=f32[1]
extern "C" __global__ void bad_reduction_last_warp_without_syncwarp(const float *in, float *out) {
    __shared__ float s[128];
    int i = threadIdx.x;
    s[i] = in[i];
    __syncthreads();
    for (int stride = 64; stride > 32; stride /= 2) {
        if (i < stride) s[i] += s[i + stride];
        __syncthreads();
    }
    if (i < 32)
#pragma unroll 1
        for (int stride = 32; stride > 0; stride /= 2)
            s[i] += s[i + stride]; // expect: SharedRace
    if (i == 0) *out = s[0];
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_scan_read_and_write_in_one_step(const float *in, float *out) {
    __shared__ float s[64];
    int i = threadIdx.x;
    s[i] = in[i];
    __syncthreads();
#pragma unroll 1
    for (int d = 1; d < 64; d *= 2) {
        if (i >= d) s[i] += s[i - d]; // expect: SharedRace
        __syncthreads();
    }
    out[i] = s[i];
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[256] out=f32[64] n=4
extern "C" __global__ void bad_double_buffer_that_never_swaps(const float *in, float *out, int n) {
    __shared__ float s[2][64];
    float sum = 0.0f;
    int now = 0;
#pragma unroll 1
    for (int t = 0; t < n; t++) {
        s[now][threadIdx.x] = in[t * 64 + threadIdx.x]; // expect: SharedRace
        __syncthreads();
        sum += s[now][63 - threadIdx.x]; // expect: SharedRace
    }
    out[threadIdx.x] = sum;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[320] out=f32[64] n=4
extern "C" __global__ void bad_double_buffer_barrier_before_the_fill(const float *in, float *out, int n) {
    __shared__ float s[2][64];
    float sum = 0.0f;
    s[0][threadIdx.x] = in[threadIdx.x]; // expect: SharedRace
#pragma unroll 1
    for (int t = 0; t < n; t++) {
        int now = t & 1;
        sum += s[now][63 - threadIdx.x]; // expect: SharedRace
        __syncthreads();
        s[1 - now][threadIdx.x] = in[(t + 1) * 64 + threadIdx.x]; // expect: SharedRace
    }
    out[threadIdx.x] = sum;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[32] out=f32[32]
extern "C" __global__ void bad_exchange_in_a_warp(const float *in, float *out) {
    __shared__ float s[32];
    s[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = s[threadIdx.x ^ 1]; // expect: SharedRace
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_syncwarp_where_warps_meet(const float *in, float *out) {
    __shared__ float s[64];
    s[threadIdx.x] = in[threadIdx.x]; // expect: SharedRace
    __syncwarp();
    out[threadIdx.x] = s[(threadIdx.x + 32) % 64]; // expect: SharedRace
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=i32[64] out=i32[17]
extern "C" __global__ void bad_shared_histogram_without_atomics(const int *in, int *out) {
    __shared__ int bins[17];
    if (threadIdx.x < 17) bins[threadIdx.x] = 0;
    __syncthreads();
    bins[in[threadIdx.x]]++; // expect: SharedRace
    __syncthreads();
    if (threadIdx.x < 17) out[threadIdx.x] = bins[threadIdx.x];
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_broadcast_without_barrier(const float *in, float *out) {
    __shared__ float scale;
    if (threadIdx.x == 0) scale = in[0];
    out[threadIdx.x] = in[threadIdx.x] * scale; // expect: SharedRace
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[128] out=f32[128]
extern "C" __global__ void bad_block_sum_overwritten(const float *in, float *out) {
    __shared__ float total;
#pragma unroll 1
    for (int row = 0; row < 2; row++) {
        if (threadIdx.x == 0) total = in[row * 64]; // expect: SharedRace
        __syncthreads();
        out[row * 64 + threadIdx.x] = total;
    }
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=i32[64] out=i32[1]
extern "C" __global__ void bad_maximum_without_atomic(const int *in, int *out) {
    __shared__ int best;
    if (threadIdx.x == 0) best = -1;
    __syncthreads();
    if (in[threadIdx.x] > best) // expect: SharedRace
        best = in[threadIdx.x]; // expect: SharedRace
    __syncthreads();
    if (threadIdx.x == 0) *out = best;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=i32[64] out=i32[64]
extern "C" __global__ void bad_queue_read_before_the_barrier(const int *in, int *out) {
    __shared__ int queue[64], count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    out[threadIdx.x] = 0;
    if (in[threadIdx.x] > 5) queue[atomicAdd(&count, 1)] = in[threadIdx.x]; // expect: SharedRace
    int have = count; // expect: SharedRace
    __syncthreads();
    if (threadIdx.x < have) out[threadIdx.x] = queue[threadIdx.x];
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_volatile_does_not_wait(const float *in, float *out) {
    __shared__ volatile float s[64];
    s[threadIdx.x] = in[threadIdx.x]; // expect: SharedRace
    out[threadIdx.x] = s[63 - threadIdx.x]; // expect: SharedRace
}

// launch: grid=(1,1,1) block=(16,16,1) shared=0 in=f32[1024] in=f32[1024] out=f32[1024] n=32
extern "C" __global__ void good_matmul(const float *a, const float *b, float *c, int n) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    float sum = 0.0f;
    for (int t = 0; t < n; t += TILE) {
        as[y][x] = a[y * n + t + x];
        bs[y][x] = b[(t + y) * n + x];
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += as[y][k] * bs[k][x];
        __syncthreads();
    }
    c[y * n + x] = sum;
}
// launch: grid=(2,1,1) block=(128,1,1) shared=0 in=f32[256] out=f32[2]
extern "C" __global__ void good_reduction(const float *in, float *out) {
    __shared__ float s[128];
    int i = threadIdx.x;
    s[i] = in[blockIdx.x * 128 + i];
    __syncthreads();
    for (int stride = 64; stride > 0; stride /= 2) {
        if (i < stride) s[i] += s[i + stride];
        __syncthreads();
    }
    if (i == 0) out[blockIdx.x] = s[0];
}
// launch: grid=(2,1,1) block=(128,1,1) shared=0 in=f32[256] out=f32[2]
extern "C" __global__ void good_reduction_with_shuffles(const float *in, float *out) {
    __shared__ float sums[4];
    float v = in[blockIdx.x * 128 + threadIdx.x];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(ALL, v, d);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < 4 ? sums[threadIdx.x] : 0.0f;
        for (int d = 2; d > 0; d /= 2) v += __shfl_down_sync(ALL, v, d);
        if (threadIdx.x == 0) out[blockIdx.x] = v;
    }
}
// launch: grid=(1,1,1) block=(128,1,1) shared=0 in=f32[128] out=f32[1]
extern "C" __global__ void good_reduction_volatile_with_syncwarp(const float *in, float *out) {
    __shared__ volatile float s[128];
    int i = threadIdx.x;
    s[i] = in[i];
    __syncthreads();
    if (i < 64) s[i] = s[i] + s[i + 64];
    __syncthreads();
    if (i < 32) {
        for (int stride = 32; stride > 0; stride /= 2) {
            float v = s[i] + s[i + stride];
            __syncwarp();
            s[i] = v;
            __syncwarp();
        }
        if (i == 0) *out = s[0];
    }
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[256] out=f32[64] n=4
extern "C" __global__ void good_double_buffer(const float *in, float *out, int n) {
    __shared__ float s[2][64];
    float sum = 0.0f;
    s[0][threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    for (int t = 0; t < n; t++) {
        if (t + 1 < n) s[(t + 1) & 1][threadIdx.x] = in[(t + 1) * 64 + threadIdx.x];
        sum += s[t & 1][63 - threadIdx.x];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[256] out=f32[64] n=4
extern "C" __global__ void good_double_buffer_with_one_barrier(const float *in, float *out, int n) {
    __shared__ float s[2][64];
    float sum = 0.0f;
    for (int t = 0; t < n; t++) {
        s[t & 1][threadIdx.x] = in[t * 64 + threadIdx.x];
        __syncthreads();
        sum += s[t & 1][63 - threadIdx.x];
    }
    out[threadIdx.x] = sum;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void good_scan_with_two_barriers(const float *in, float *out) {
    __shared__ float s[64];
    int i = threadIdx.x;
    s[i] = in[i];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        float v = i >= d ? s[i - d] : 0.0f;
        __syncthreads();
        s[i] += v;
        __syncthreads();
    }
    out[i] = s[i];
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[128] out=f32[128]
extern "C" __global__ void good_blelloch_scan(const float *in, float *out) {
    __shared__ float s[128];
    int i = threadIdx.x;
    s[2 * i] = in[2 * i];
    s[2 * i + 1] = in[2 * i + 1];
    int offset = 1;
    for (int d = 64; d > 0; d /= 2, offset *= 2) {
        __syncthreads();
        if (i < d) s[offset * (2 * i + 2) - 1] += s[offset * (2 * i + 1) - 1];
    }
    if (i == 0) s[127] = 0.0f;
    for (int d = 1; d < 128; d *= 2) {
        offset /= 2;
        __syncthreads();
        if (i < d) {
            int a = offset * (2 * i + 1) - 1, b = offset * (2 * i + 2) - 1;
            float t = s[a];
            s[a] = s[b];
            s[b] += t;
        }
    }
    __syncthreads();
    out[2 * i] = s[2 * i];
    out[2 * i + 1] = s[2 * i + 1];
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void good_each_thread_its_own_place(const float *in, float *out) {
    __shared__ float s[64];
    s[threadIdx.x] = in[threadIdx.x];
    for (int k = 0; k < 5; k++) s[threadIdx.x] *= 2.0f;
    out[threadIdx.x] = s[threadIdx.x];
}
// launch: grid=(1,1,1) block=(128,1,1) shared=0 in=f32[128] out=f32[128]
extern "C" __global__ void good_each_warp_its_own_row(const float *in, float *out) {
    __shared__ float s[4][32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    s[warp][lane] = in[threadIdx.x];
    __syncwarp();
    float v = s[warp][31 - lane];
    __syncwarp();
    s[warp][lane] = v + 1.0f;
    __syncwarp();
    out[threadIdx.x] = s[warp][lane ^ 3];
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=i32[64] out=i32[1]
extern "C" __global__ void good_any_flag_of_one_value(const int *in, int *out) {
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    if (in[threadIdx.x] == 3) found = 1;
    __syncthreads();
    if (threadIdx.x == 0) *out = found;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=i32[64] out=i32[64]
extern "C" __global__ void good_queue(const int *in, int *out) {
    __shared__ int queue[64], count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    out[threadIdx.x] = 0;
    if (in[threadIdx.x] > 5) queue[atomicAdd(&count, 1)] = in[threadIdx.x];
    __syncthreads();
    int have = count;
    __syncthreads();
    if (threadIdx.x < have) out[threadIdx.x] = queue[threadIdx.x] > 5;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=i32[64] out=i32[1]
extern "C" __global__ void good_atomic_maximum(const int *in, int *out) {
    __shared__ int best;
    if (threadIdx.x == 0) best = -1;
    __syncthreads();
    atomicMax(&best, in[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) *out = best;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void good_softmax_of_a_row(const float *in, float *out) {
    __shared__ float s[64];
    int i = threadIdx.x;
    float v = in[i];
    s[i] = v;
    __syncthreads();
    for (int d = 32; d > 0; d /= 2) {
        if (i < d) s[i] = fmaxf(s[i], s[i + d]);
        __syncthreads();
    }
    float best = s[0];
    __syncthreads();
    float e = expf(v - best);
    s[i] = e;
    __syncthreads();
    for (int d = 32; d > 0; d /= 2) {
        if (i < d) s[i] += s[i + d];
        __syncthreads();
    }
    out[i] = e / s[0];
}
