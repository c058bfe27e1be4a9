// `volatile`: what it does not order, and the waits for which it suffices. README.md says how a kernel is launched and what the
// comments mean.
#include <cuda/atomic>
constexpr unsigned ALL = 0xffffffffu;

// launch: grid=(3,1,1) block=(32,1,1) shared=0 in=f32[96] zeros=f32[1]
extern "C" __global__ void bad_sum_of_blocks(const float *in, volatile float *sum) {
    float v = in[blockIdx.x * 32 + threadIdx.x];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(ALL, v, d);
    if (threadIdx.x == 0) *sum = *sum + v; // expect: GlobalRace
}
// launch: grid=(1,1,1) block=(96,1,1) shared=0 in=f32[96] zeros=f32[1]
extern "C" __global__ void bad_sum_of_warps(const float *in, float *sum) {
    float v = in[threadIdx.x];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(ALL, v, d);
    if (threadIdx.x % 32 == 0) *(volatile float *)sum += v; // expect: GlobalRace
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] zeros=i32[17]
extern "C" __global__ void bad_histogram_of_a_warp(const int *in, volatile int *bins) {
    bins[in[threadIdx.x]] += 1; // expect: GlobalRace
}
// launch: grid=(2,1,1) block=(32,1,1) shared=0 in=f32[64] zeros=f32[1]
extern "C" __global__ void bad_maximum_of_threads(const float *in, volatile float *most) {
    float v = in[blockIdx.x * 32 + threadIdx.x] + 9.0f;
    if (v > *most) *most = v; // expect: GlobalRace
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[1]
extern "C" __global__ void bad_old_reduction_without_syncwarp(const float *in, float *out) {
    __shared__ float s[64];
    int i = threadIdx.x;
    s[i] = in[i];
    __syncthreads();
    if (i < 32) {
        volatile float *v = s;
        v[i] += v[i + 32];
        v[i] += v[i + 16]; // expect: SharedRace
        v[i] += v[i + 8]; // expect: SharedRace
        v[i] += v[i + 4]; // expect: SharedRace
        v[i] += v[i + 2]; // expect: SharedRace
        v[i] += v[i + 1]; // expect: SharedRace
    }
    if (i == 0) *out = s[0];
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[32] out=f32[1]
extern "C" __global__ void bad_maximum_in_a_loop_without_syncwarp(const float *in, float *out) {
    __shared__ volatile float s[32];
    int i = threadIdx.x;
    s[i] = in[i];
    for (int d = 16; d > 0; d /= 2) {
        float other = s[(i + d) % 32]; // expect: SharedRace
        if (other > s[i]) s[i] = other;
    }
    if (i == 0) *out = s[0];
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_neighbour_without_a_barrier(const float *in, float *out) {
    __shared__ volatile float s[64];
    s[threadIdx.x] = 0.0f;
    __syncthreads();
    s[threadIdx.x] = in[threadIdx.x]; // expect: SharedRace
    out[threadIdx.x] = s[63 - threadIdx.x]; // expect: SharedRace
}
// launch: grid=(2,1,1) block=(32,1,1) shared=0 in=f32[64] zeros=f32[32]
extern "C" __global__ void bad_stores_of_two_blocks(const float *in, volatile float *out) {
    out[threadIdx.x] = in[blockIdx.x * 32 + threadIdx.x]; // expect: GlobalRace
}
// launch: cooperative grid=(3,1,1) block=(32,1,1) shared=0 zeros=i32[1] out=i32[3]
extern "C" __global__ void bad_barrier_that_counts_without_atomics(volatile int *count, int *out) {
    if (threadIdx.x == 0) {
        __threadfence();
        *count = *count + 1; // expect: GlobalRace
        while (*count < gridDim.x) {
        }
        out[blockIdx.x] = 1;
    }
}
// launch: grid=(3,1,1) block=(32,1,1) shared=0 zeros=i32[1] out=i32[3]
extern "C" __global__ void bad_relaxed_load_and_store(int *count, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> counter(*count);
    if (threadIdx.x == 0) {
        counter.store(counter.load(cuda::memory_order_relaxed) + 1, cuda::memory_order_relaxed); // expect: GlobalRace
        out[blockIdx.x] = 1;
    }
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[1]
extern "C" __global__ void good_maximum_with_syncwarp(const float *in, float *out) {
    __shared__ float s[64];
    int i = threadIdx.x;
    s[i] = in[i];
    __syncthreads();
    if (i < 32) {
        volatile float *v = s;
        for (int d = 32; d > 0; d /= 2) {
            if (v[i + d] > v[i]) v[i] = v[i + d];
            __syncwarp();
        }
    }
    if (i == 0) *out = s[0];
}
// launch: grid=(3,1,1) block=(32,1,1) shared=0 in=i32[96] zeros=i32[1] out=i32[96]
extern "C" __global__ void good_search_that_stops_early(const int *in, volatile int *found, int *out) {
    int i = blockIdx.x * 32 + threadIdx.x;
    out[i] = 0;
    if (*found) return;
    if (in[i] == 3) *found = 1;
}
// launch: grid=(3,1,1) block=(32,1,1) shared=0 in=i32[96] zeros=i32[1] out=i32[96]
extern "C" __global__ void good_search_that_asks_for_its_block(const int *in, volatile int *found, int *out) {
    __shared__ int stop;
    __shared__ int tile[32];
    int i = blockIdx.x * 32 + threadIdx.x;
    if (threadIdx.x == 0) stop = *found;
    tile[threadIdx.x] = in[i];
    __syncthreads();
    out[i] = tile[31 - threadIdx.x];
    if (stop) return;
    if (tile[threadIdx.x] == 3) *found = 1;
}
// launch: grid=(4,1,1) block=(32,1,1) shared=0 in=i32[128] zeros=i32[2] zeros=i32[1]
extern "C" __global__ void good_ticket_lock_that_counts(const int *in, volatile int *lock, int *sum) {
    if (threadIdx.x == 0) {
        int mine = atomicAdd((int *)&lock[0], 1);
        while (lock[1] != mine) {
        }
        __threadfence();
        *sum += in[blockIdx.x * 32];
        __threadfence();
        lock[1] = lock[1] + 1;
    }
}
// launch: grid=(1,1,1) block=(128,1,1) shared=0 in=i32[128] out=i32[1]
extern "C" __global__ void good_ticket_lock_of_a_block(const int *in, int *out) {
    __shared__ volatile int serving;
    __shared__ int next, sum;
    if (threadIdx.x == 0) serving = next = sum = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        int mine = atomicAdd(&next, 1);
        while (serving != mine) {
        }
        __threadfence_block();
        sum += in[threadIdx.x];
        __threadfence_block();
        serving = serving + 1;
    }
    __syncthreads();
    if (threadIdx.x == 0) *out = sum;
}
// launch: grid=(6,1,1) block=(32,1,1) shared=0 in=i32[192] zeros=i32[6] out=i32[192]
extern "C" __global__ void good_look_back_of_a_warp(const int *in, int *state, int *out) {
    __shared__ int before;
    int b = blockIdx.x, lane = threadIdx.x, i = b * 32 + lane;
    int v = in[i];
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(ALL, v, d);
    volatile int *words = state;
    if (lane == 0) words[b] = (b == 0 ? 2 : 1) << 24 | v;
    int all = 0, at = b - 1 - lane;
    if (b > 0) {
        while (true) {
            int seen = at >= 0 ? words[at] : 2 << 24;
            while (__any_sync(ALL, seen == 0)) {
                __nanosleep(20);
                seen = at >= 0 ? words[at] : 2 << 24;
            }
            unsigned whole = __ballot_sync(ALL, seen >> 24 == 2);
            int until = whole ? __ffs(whole) - 1 : 31;
            int part = lane <= until ? seen & 0xFFFFFF : 0;
            for (int d = 16; d > 0; d /= 2) part += __shfl_xor_sync(ALL, part, d);
            all += part;
            if (whole) break;
            at -= 32;
        }
        if (lane == 0) words[b] = 2 << 24 | (all + v);
    }
    if (lane == 0) before = all;
    __syncthreads();
    out[i] = before + in[i];
}
// launch: grid=(4,1,1) block=(32,1,1) shared=0 in=i32[128] zeros=i32[2] out=i32[4]
extern "C" __global__ void good_relaxed_flag_with_fences(const int *in, int *words, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(words[0]);
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) {
            words[1] = in[0];
            cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
            flag.store(1, cuda::memory_order_relaxed);
        }
        while (flag.load(cuda::memory_order_relaxed) == 0) {
        }
        cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
        out[blockIdx.x] = words[1];
    }
}
// launch: grid=(4,1,1) block=(32,1,1) shared=0 in=i32[128] zeros=i32[4] out=i32[4]
extern "C" __global__ void good_relaxed_words_of_one_writer_each(const int *in, int *words, int *out) {
    if (threadIdx.x == 0) {
        cuda::atomic_ref<int, cuda::thread_scope_device> own(words[blockIdx.x]), next(words[(blockIdx.x + 1) % 4]);
        for (int k = 0; k < 3; k++) own.store(own.load(cuda::memory_order_relaxed) + in[k], cuda::memory_order_relaxed);
        out[blockIdx.x] = next.load(cuda::memory_order_relaxed) >= 0;
    }
}
