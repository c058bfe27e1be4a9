// Races in global memory. README.md says how a kernel is launched and what the comments mean.

// launch: grid=(4,1,1) block=(32,1,1) shared=0 zeros=i32[1]
extern "C" __global__ void bad_blocks_count_without_atomic(int *count) {
    if (threadIdx.x == 0) count[0] += 1; // expect: GlobalRace
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=i32[128] zeros=i32[17]
extern "C" __global__ void bad_histogram_without_atomics(const int *in, int *bins) {
    bins[in[blockIdx.x * 64 + threadIdx.x]]++; // expect: GlobalRace
}
// launch: grid=(4,1,1) block=(32,1,1) shared=0 in=f32[128] out=f32[32]
extern "C" __global__ void bad_blocks_write_one_row(const float *in, float *out) {
    out[threadIdx.x] = in[blockIdx.x * 32 + threadIdx.x]; // expect: GlobalRace
}
// launch: grid=(4,1,1) block=(32,1,1) shared=0 inout=f32[128]
extern "C" __global__ void bad_stencil_in_place(float *x) {
    int i = blockIdx.x * 32 + threadIdx.x;
    float left = i > 0 ? x[i - 1] : 0.0f; // expect: GlobalRace
    x[i] += left; // expect: GlobalRace
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=f32[128] zeros=f32[1]
extern "C" __global__ void bad_zeroed_by_every_block(const float *in, float *out) {
    if (threadIdx.x == 0) out[0] = 0.0f; // expect: GlobalRace
    __syncthreads();
    atomicAdd(out, in[blockIdx.x * 64 + threadIdx.x]);
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64] out=f32[64]
extern "C" __global__ void bad_scratch_without_barrier(const float *in, float *scratch, float *out) {
    scratch[threadIdx.x] = in[threadIdx.x]; // expect: GlobalRace
    out[threadIdx.x] = scratch[63 - threadIdx.x]; // expect: GlobalRace
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 inout=i32[128] zeros=i32[128]
extern "C" __global__ void bad_barrier_does_not_order_blocks(int *x, int *out) {
    int i = blockIdx.x * 64 + threadIdx.x;
    x[i] = i; // expect: GlobalRace
    __syncthreads();
    out[i] = x[127 - i]; // expect: GlobalRace
}
// launch: grid=(2,1,1) block=(32,1,1) shared=0 in=f32[64] zeros=f32[2]
extern "C" __global__ void bad_partial_sums_overlap(const float *in, float *out) {
    float sum = 0.0f;
    if (threadIdx.x < 2) {
        for (int k = 0; k < 16; k++) sum += in[blockIdx.x * 32 + threadIdx.x * 16 + k];
        out[threadIdx.x] = sum; // expect: GlobalRace
    }
}

// launch: grid=(4,1,1) block=(32,1,1) shared=0 zeros=i32[1]
extern "C" __global__ void good_blocks_count(int *count) {
    if (threadIdx.x == 0) atomicAdd(count, 1);
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=i32[128] zeros=i32[17]
extern "C" __global__ void good_histogram(const int *in, int *bins) {
    atomicAdd(&bins[in[blockIdx.x * 64 + threadIdx.x]], 1);
}
// launch: grid=(4,1,1) block=(32,1,1) shared=0 in=f32[128] out=f32[4] zeros=i32[1] out=f32[1]
extern "C" __global__ void good_last_block_sums(const float *in, float *partial, int *done, float *out) {
    __shared__ bool last;
    float v = in[blockIdx.x * 32 + threadIdx.x];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = v;
        __threadfence();
        last = atomicAdd(done, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0.0f;
        for (int b = 0; b < gridDim.x; b++) sum += ((volatile float *)partial)[b];
        *out = sum;
    }
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=f32[128] zeros=f32[1]
extern "C" __global__ void good_atomic_sum(const float *in, float *out) {
    atomicAdd(out, in[blockIdx.x * 64 + threadIdx.x]);
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=f32[128] zeros=f32[1]
extern "C" __global__ void good_float_maximum_by_cas(const float *in, float *out) {
    int *at = (int *)out;
    float v = in[blockIdx.x * 64 + threadIdx.x];
    int old = *at;
    while (v > __int_as_float(old)) {
        int seen = atomicCAS(at, old, __float_as_int(v));
        if (seen == old) break;
        old = seen;
    }
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=i32[128] zeros=i32[1]
extern "C" __global__ void good_found_flag(const int *in, int *found) {
    if (in[blockIdx.x * 64 + threadIdx.x] == 3) *found = 1;
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 inout=f32[128]
extern "C" __global__ void good_in_place(float *x) {
    int i = blockIdx.x * 64 + threadIdx.x;
    x[i] = x[i] * 2.0f + 1.0f;
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 inout=f32[128]
extern "C" __global__ void good_reverse_in_place(float *x) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < 64) {
        float low = x[i], high = x[127 - i];
        x[i] = high;
        x[127 - i] = low;
    }
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 inout=f32[64]
extern "C" __global__ void good_one_block_sorts(float *x) {
    int i = threadIdx.x;
    for (int k = 2; k <= 64; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            int other = i ^ j;
            if (other > i) {
                float a = x[i], b = x[other];
                if ((a > b) == ((i & k) == 0)) {
                    x[i] = b;
                    x[other] = a;
                }
            }
            __syncthreads();
        }
}
// launch: grid=(4,1,1) block=(32,1,1) shared=0 zeros=i32[1] out=i32[128]
extern "C" __global__ void good_places_taken_by_atomics(int *next, int *out) {
    out[atomicAdd(next, 1)] = 7;
}
// launch: grid=(2,2,1) block=(8,8,1) shared=0 in=f32[256] out=u8[256] n=16
extern "C" __global__ void good_neighbour_bytes_of_blocks(const float *in, unsigned char *out, int n) {
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    out[y * n + x] = in[y * n + x] > 0.0f ? 255 : 0;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=i32[64] zeros=i32[1] out=i32[64]
extern "C" __global__ void bad_atomic_sum_used_without_a_barrier(const int *in, int *sum, int *out) {
    int t = threadIdx.x;
    atomicAdd(sum, in[t]); // expect: GlobalRace
    out[t] = in[t] * *sum; // expect: GlobalRace
}
// launch: grid=(4,1,1) block=(32,1,1) shared=0 in=i32[128] zeros=i32[1] out=i32[1]
extern "C" __global__ void bad_atomic_sum_used_by_one_block(const int *in, int *sum, int *out) {
    atomicAdd(sum, in[blockIdx.x * 32 + threadIdx.x]); // expect: GlobalRace
    __syncthreads();
    if (blockIdx.x == 0 && threadIdx.x == 0) *out = *sum + 1;
}
// launch: grid=(4,1,1) block=(32,1,1) shared=0 inout=i32[4]
extern "C" __global__ void bad_atomic_updates_from_the_same_array(int *x) {
    int b = blockIdx.x;
    if (threadIdx.x == 0) atomicAdd(&x[(b + 1) % 4], x[b] / 2); // expect: GlobalRace
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=i32[64] zeros=i32[1] out=i32[64]
extern "C" __global__ void good_atomic_sum_used_behind_a_barrier(const int *in, int *sum, int *out) {
    int t = threadIdx.x;
    atomicAdd(sum, in[t]);
    __syncthreads();
    out[t] = in[t] * *sum;
}
// launch: grid=(4,1,1) block=(64,1,1) shared=0 in=i32[256] zeros=i32[64] zeros=i32[1]
extern "C" __global__ void good_level_compared_beside_atomics(const int *in, int *level, int *more) {
    int v = threadIdx.x;
    if (level[v] == 0 && atomicCAS(&level[in[blockIdx.x * 64 + v] * 3], 0, 1) == 0) *more = 1;
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=i32[128] zeros=i32[1]
extern "C" __global__ void good_maximum_looked_at_first(const int *in, int *maximum) {
    int v = in[blockIdx.x * 64 + threadIdx.x];
    if (v > *maximum) atomicMax(maximum, v);
}
// launch: grid=(4,1,1) block=(32,1,1) shared=0 in=i32[4] inout=i32[4]
extern "C" __global__ void good_shortest_distances_relaxed(const int *in, int *distance) {
    int b = blockIdx.x;
    if (threadIdx.x == 0) atomicMin(&distance[(b + 1) % 4], distance[b] + in[b] + 20);
}
// launch: grid=(4,1,1) block=(32,1,1) shared=0 in=i32[4] zeros=i32[1] out=i32[1]
extern "C" __global__ void good_last_block_reads_what_it_counted(const int *in, int *sum, int *out) {
    if (threadIdx.x == 0) {
        int add = (in[blockIdx.x] << 8) + 1;
        if (((atomicAdd(sum, add) + add) & 255) == gridDim.x) *out = *sum >> 8;
    }
}
// launch: grid=(1,1,1) block=(96,1,1) shared=0 in=f32[96] zeros=f32[1] out=f32[96]
extern "C" __global__ void good_sum_of_floats_by_cas(const float *in, float *sum, float *out) {
    int *at = (int *)sum, old = *at, assumed;
    do {
        assumed = old;
        old = atomicCAS(at, assumed, __float_as_int(in[threadIdx.x] + __int_as_float(assumed)));
    } while (assumed != old);
    __syncthreads();
    out[threadIdx.x] = *sum;
}
