// Barriers, member masks, loops that never end. README.md says how a kernel is launched and what the comments mean.
#include <cassert>
#define ALL 0xffffffffu
#define NAMED(id, threads) asm volatile("bar.sync " #id ", " #threads ";" ::: "memory")

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64] n=40
extern "C" __global__ void bad_barrier_inside_the_guard(const float *in, float *out, int n) {
    __shared__ float s[64];
    int i = threadIdx.x;
    if (i < n) {
        s[i] = in[i];
        __syncthreads(); // missed: BarrierDivergence
        out[i] = s[n - 1 - i];
    }
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32]
extern "C" __global__ void bad_barrier_for_odd_lanes(const int *in, int *out) {
    __shared__ int s[32];
    int i = threadIdx.x;
    s[i] = in[i];
    if (i % 2) {
        __syncthreads(); // expect: BarrierDivergence
        s[i] += 1;
    }
    out[i] = s[i];
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 out=i32[32]
extern "C" __global__ void bad_barrier_in_a_loop_of_own_length(int *out) {
    __shared__ int s[32];
    int i = threadIdx.x;
    s[i] = 0;
    for (int k = 0; k < i % 4; k++) {
        s[i] += k;
        __syncthreads(); // expect: BarrierDivergence
    }
    out[i] = s[i];
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64] n=40
extern "C" __global__ void good_early_return_of_part_of_a_warp(const float *in, float *out, int n) {
    __shared__ float s[64];
    int i = threadIdx.x;
    if (i >= n) return;
    s[i] = in[i];
    __syncthreads();
    out[i] = s[n - 1 - i];
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 out=i32[64]
extern "C" __global__ void bad_warps_at_different_barriers(int *out) {
    if (threadIdx.x < 32) {
        NAMED(1, 64); // expect: BarrierDivergence
        out[threadIdx.x] = 1;
    } else {
        NAMED(2, 64);
        out[threadIdx.x] = 2;
    }
}
// launch: grid=(1,1,1) block=(96,1,1) shared=0 out=i32[96]
extern "C" __global__ void bad_named_barrier_counts_too_many(int *out) {
    if (threadIdx.x < 64)
        NAMED(1, 96); // expect: BarrierDivergence
    out[threadIdx.x] = 1;
}
// launch: grid=(1,1,1) block=(128,1,1) shared=0 out=i32[128]
extern "C" __global__ void bad_named_barrier_counts_too_few(int *out) {
    __shared__ int s[128];
    int i = threadIdx.x;
    s[i] = i; // expect: SharedRace
    NAMED(1, 64);
    out[i] = s[127 - i]; // expect: SharedRace
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 out=i32[64]
extern "C" __global__ void bad_barrier_by_warp_number(int *out) {
    __shared__ int s[64];
    int i = threadIdx.x;
    s[i] = i;
    if (i / 32 == 0) {
        __syncthreads();
        out[i] = s[i + 1];
    } else {
        __syncthreads(); // expect: BarrierDivergence
        out[i] = s[i - 1];
    }
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 out=i32[64]
extern "C" __global__ void bad_one_warp_counts_one_more(int *out) {
    int i = threadIdx.x;
    int rounds = i < 32 ? 3 : 4;
    for (int k = 0; k < rounds; k++) {
        out[i] = k;
        __syncthreads(); // missed: BarrierDivergence
    }
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[32] out=f32[32]
extern "C" __global__ void bad_shuffle_in_a_branch(const float *in, float *out) {
    float v = in[threadIdx.x];
    if (threadIdx.x < 16)
        v += __shfl_xor_sync(ALL, v, 1); // expect: InvalidMembers
    out[threadIdx.x] = v;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32]
extern "C" __global__ void bad_ballot_without_itself(const int *in, int *out) {
    out[threadIdx.x] = __ballot_sync(0xffffu, in[threadIdx.x] > 4); // expect: InvalidMembers
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[32] out=f32[32]
extern "C" __global__ void bad_syncwarp_of_even_lanes(const float *in, float *out) {
    __shared__ float s[32];
    s[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    if (threadIdx.x % 2 == 0) {
        float v = s[threadIdx.x + 1];
        __syncwarp(); // expect: InvalidMembers
        s[threadIdx.x] = v;
    }
    out[threadIdx.x] = s[threadIdx.x];
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32]
extern "C" __global__ void bad_vote_in_a_loop_of_own_length(const int *in, int *out) {
    int steps = 0;
    for (int k = 0; k < in[threadIdx.x]; k++)
        steps += __any_sync(ALL, k == 2); // expect: InvalidMembers
    out[threadIdx.x] = steps;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 zeros=i32[1] zeros=i32[1]
extern "C" __global__ void good_spin_lock_inside_a_warp(int *lock, int *count) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    *(volatile int *)count += 1;
    __threadfence();
    atomicExch(lock, 0);
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32] n=10
extern "C" __global__ void bad_counter_never_moves(const int *in, volatile int *out, int n) {
    int i = 0;
    while (i < n) // expect: EndlessLoop
        out[threadIdx.x] = in[i];
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 out=i32[32] n=20
extern "C" __global__ void bad_unsigned_countdown(volatile int *out, int n) {
    for (unsigned k = n; k >= 0; k -= 2) // expect: EndlessLoop
        out[threadIdx.x] = k;
}
// launch: grid=(2,1,1) block=(32,1,1) shared=0 zeros=i32[1] out=i32[2]
extern "C" __global__ void good_waits_for_a_later_block(volatile int *flag, int *out) {
    if (blockIdx.x == 1) {
        if (threadIdx.x == 0) *flag = 1;
    } else {
        while (*flag == 0) {
        }
    }
    if (threadIdx.x == 0) out[blockIdx.x] = 1;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32] n=8
extern "C" __global__ void bad_trap_on_large_values(const int *in, int *out, int n) {
    if (in[threadIdx.x] > n)
        __trap(); // expect: Trap
    out[threadIdx.x] = in[threadIdx.x];
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32] n=8
extern "C" __global__ void bad_assertion(const int *in, int *out, int n) {
    assert(in[threadIdx.x] <= n); // expect: Trap
    out[threadIdx.x] = in[threadIdx.x];
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64] n=40
extern "C" __global__ void good_barrier_outside_the_guard(const float *in, float *out, int n) {
    __shared__ float s[64];
    int i = threadIdx.x;
    if (i < n) s[i] = in[i];
    __syncthreads();
    if (i < n) out[i] = s[n - 1 - i];
}
// launch: grid=(1,1,1) block=(96,1,1) shared=0 in=f32[96] out=f32[96] n=64
extern "C" __global__ void good_whole_warps_return(const float *in, float *out, int n) {
    __shared__ float s[96];
    int i = threadIdx.x;
    if (i >= n) return;
    s[i] = in[i];
    __syncthreads();
    out[i] = s[n - 1 - i];
}
// launch: grid=(3,1,1) block=(64,1,1) shared=0 in=f32[128] out=f32[128] n=128
extern "C" __global__ void good_whole_blocks_return(const float *in, float *out, int n) {
    __shared__ float s[64];
    if (blockIdx.x * 64 >= n) return;
    s[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x];
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=f32[128] out=f32[128] n=3
extern "C" __global__ void good_barrier_in_a_uniform_branch(const float *in, float *out, int n) {
    __shared__ float s[64];
    int i = threadIdx.x;
    float v = in[blockIdx.x * 64 + i];
    for (int k = 0; k < n + (int)blockIdx.x; k++) {
        s[i] = v;
        __syncthreads();
        v += s[(i + 1) % 64];
        __syncthreads();
    }
    if (n > 2) __syncthreads();
    out[blockIdx.x * 64 + i] = v;
}
// launch: grid=(1,1,1) block=(128,1,1) shared=0 in=f32[128] out=f32[128]
extern "C" __global__ void good_named_barriers_of_two_groups(const float *in, float *out) {
    __shared__ float s[128];
    int i = threadIdx.x;
    s[i] = in[i];
    if (i < 64) {
        NAMED(1, 64);
    } else {
        NAMED(2, 64);
    }
    out[i] = s[i ^ 63];
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[128] out=f32[128] n=4
extern "C" __global__ void good_producer_and_consumer(const float *in, float *out, int n) {
    __shared__ float s[32];
    int lane = threadIdx.x % 32;
    for (int t = 0; t < n; t++) {
        if (threadIdx.x < 32) {
            s[lane] = in[t * 32 + lane];
            asm volatile("bar.arrive 1, 64;" ::: "memory");
            NAMED(2, 64);
        } else {
            NAMED(1, 64);
            out[t * 32 + lane] = s[31 - lane];
            asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
    }
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=i32[64] out=i32[1]
extern "C" __global__ void good_barrier_with_count(const int *in, int *out) {
    int many = __syncthreads_count(in[threadIdx.x] > 4);
    int any = __syncthreads_or(in[threadIdx.x] == 3);
    if (threadIdx.x == 0) *out = many * 2 + any;
}
// launch: grid=(1,1,1) block=(48,1,1) shared=0 in=f32[48] out=f32[48]
extern "C" __global__ void good_block_that_is_no_multiple_of_32(const float *in, float *out) {
    __shared__ float s[48];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[47 - threadIdx.x];
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[2]
extern "C" __global__ void good_butterfly(const float *in, float *out) {
    float v = in[threadIdx.x];
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(ALL, v, d);
    if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = v;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[32] out=f32[32] n=20
extern "C" __global__ void good_mask_from_ballot(const float *in, float *out, int n) {
    unsigned mask = __ballot_sync(ALL, threadIdx.x < n);
    if (threadIdx.x < n) {
        float v = in[threadIdx.x];
        float other = __shfl_down_sync(mask, v, 1);
        out[threadIdx.x] = threadIdx.x + 1 < n ? v + other : v;
    }
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] zeros=i32[17]
extern "C" __global__ void good_aggregated_atomics(const int *in, int *bins) {
    int bin = in[threadIdx.x];
    unsigned peers = __match_any_sync(ALL, bin);
    if (threadIdx.x == __ffs(peers) - 1) atomicAdd(&bins[bin], __popc(peers));
}
// launch: grid=(4,1,1) block=(32,1,1) shared=0 zeros=i32[1] zeros=i32[1]
extern "C" __global__ void good_lock_taken_by_one_lane(int *lock, int *count) {
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        *(volatile int *)count += 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 zeros=i32[1] zeros=i32[1]
extern "C" __global__ void good_lock_inside_the_loop(int *lock, int *count) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            *(volatile int *)count += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}
// launch: grid=(2,1,1) block=(32,1,1) shared=0 zeros=i32[1] out=i32[2]
extern "C" __global__ void good_waits_for_an_earlier_block(volatile int *flag, int *out) {
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) *flag = 1;
    } else {
        while (*flag == 0) {
        }
    }
    if (threadIdx.x == 0) out[blockIdx.x] = 1;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32]
extern "C" __global__ void good_loops_of_different_length(const int *in, int *out) {
    int n = in[threadIdx.x] * 7 + 3, steps = 0;
    while (n != 1 && steps < 200) {
        n = n % 2 ? 3 * n + 1 : n / 2;
        steps++;
    }
    out[threadIdx.x] = steps;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32]
extern "C" __global__ void good_assertion_holds(const int *in, int *out) {
    assert(in[threadIdx.x] <= 16);
    out[threadIdx.x] = in[threadIdx.x];
}
