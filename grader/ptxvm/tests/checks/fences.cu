// Blocks and warps that order themselves by fences, releases and acquires. README.md says how a kernel is launched and what the
// comments mean.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>
namespace cg = cooperative_groups;

__device__ int sum_of_block(int v) {
    __shared__ int all;
    if (threadIdx.x == 0) all = 0;
    __syncthreads();
    atomicAdd(&all, v);
    __syncthreads();
    return all;
}
__device__ int acquire(const int *at) {
    int value;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}
__device__ void release(int *at, int value) {
    asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

// launch: grid=(5,1,1) block=(64,1,1) shared=0 in=i32[320] out=i32[5] zeros=i32[1]
extern "C" __global__ void good_last_block_reduction(const int *in, int *partial, unsigned *count) {
    __shared__ bool last;
    int sum = sum_of_block(in[blockIdx.x * 64 + threadIdx.x]);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(count, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        int v = 0;
        for (int b = threadIdx.x; b < gridDim.x; b += blockDim.x) v += partial[b];
        int all = sum_of_block(v);
        if (threadIdx.x == 0) {
            partial[0] = all;
            *count = 0;
        }
    }
}
// launch: grid=(5,1,1) block=(64,1,1) shared=0 in=i32[320] out=i32[320] zeros=i32[1] out=i32[64]
extern "C" __global__ void good_every_thread_fences(const int *in, int *part, int *count, int *out) {
    __shared__ bool last;
    int t = threadIdx.x;
    part[blockIdx.x * 64 + t] = in[blockIdx.x * 64 + t] * 2;
    __threadfence();
    __syncthreads();
    if (t == 0) last = atomicAdd(count, 1) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    int sum = 0;
    for (int b = 0; b < gridDim.x; b++) sum += part[b * 64 + 63 - t];
    out[t] = sum;
    if (t == 63) *count = 0;
}
// launch: grid=(5,1,1) block=(64,1,1) shared=0 in=i32[320] out=i32[320] zeros=i32[1] out=i32[64]
extern "C" __global__ void good_one_thread_fences_for_all(const int *in, int *part, int *count, int *out) {
    __shared__ bool last;
    int t = threadIdx.x;
    part[blockIdx.x * 64 + t] = in[blockIdx.x * 64 + t] * 2;
    __syncthreads();
    if (t == 0) {
        __threadfence();
        last = atomicAdd(count, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    int sum = 0;
    for (int b = 0; b < gridDim.x; b++) sum += part[b * 64 + 63 - t];
    out[t] = sum;
}
// launch: grid=(6,1,1) block=(32,1,1) shared=0 in=i32[192] zeros=i32[12] out=i32[192]
extern "C" __global__ void good_look_back_by_packed_words(const int *in, volatile unsigned long long *state, int *out) {
    __shared__ int before;
    int i = blockIdx.x * 32 + threadIdx.x;
    int sum = sum_of_block(in[i]);
    if (threadIdx.x == 0) {
        if (blockIdx.x > 0) state[blockIdx.x] = 1ull << 32 | (unsigned)sum;
        int all = 0;
        for (int b = blockIdx.x - 1; b >= 0; b--) {
            unsigned long long seen;
            while ((seen = state[b]) == 0) {
            }
            all += (int)seen;
            if (seen >> 32 == 2) break;
        }
        state[blockIdx.x] = 2ull << 32 | (unsigned)(all + sum);
        before = all;
    }
    __syncthreads();
    out[i] = before + in[i];
}
// launch: grid=(6,1,1) block=(32,1,1) shared=0 in=i32[192] out=i32[6] out=i32[6] zeros=i32[6] out=i32[192]
extern "C" __global__ void good_look_back_by_flags(const int *in, int *sums, int *totals, volatile int *flags, int *out) {
    __shared__ int before;
    int b = blockIdx.x, i = b * 32 + threadIdx.x;
    int sum = sum_of_block(in[i]);
    if (threadIdx.x == 0) {
        sums[b] = sum;
        __threadfence();
        flags[b] = 1;
        int all = 0;
        for (int p = b - 1; p >= 0; p--) {
            int flag;
            while ((flag = flags[p]) == 0) {
            }
            __threadfence();
            all += flag == 2 ? totals[p] : sums[p];
            if (flag == 2) break;
        }
        totals[b] = all + sum;
        __threadfence();
        flags[b] = 2;
        before = all;
    }
    __syncthreads();
    out[i] = before + in[i];
}
// launch: grid=(6,1,1) block=(32,1,1) shared=0 in=i32[192] out=i32[6] zeros=i32[6] out=i32[192]
extern "C" __global__ void good_chain_of_release_and_acquire(const int *in, int *totals, int *flags, int *out) {
    __shared__ int before;
    int b = blockIdx.x, i = b * 32 + threadIdx.x;
    int sum = sum_of_block(in[i]);
    if (threadIdx.x == 0) {
        while (b > 0 && acquire(&flags[b - 1]) == 0) {
        }
        before = b > 0 ? totals[b - 1] : 0;
        totals[b] = before + sum;
        release(&flags[b], 1);
    }
    __syncthreads();
    out[i] = before + in[i];
    // What a chain of blocks has done lies before what its last one does.
    if (b == 5 && threadIdx.x == 0) out[i] += totals[0];
}
// launch: grid=(6,1,1) block=(32,1,1) shared=0 zeros=i32[2] zeros=i32[1] out=i32[192]
extern "C" __global__ void good_blocks_numbered_as_they_come(int *ticket, volatile int *done, int *out) {
    __shared__ int number;
    if (threadIdx.x == 0) number = atomicAdd(ticket, 1);
    __syncthreads();
    int i = number * 32 + threadIdx.x;
    if (number > 0) {
        if (threadIdx.x == 0) {
            while (*done < number) {
            }
        }
        __syncthreads();
        out[i] = out[i - 32] + 1;
    } else {
        out[i] = 1;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        *done = number + 1;
    }
}
// launch: grid=(5,1,1) block=(32,1,1) shared=0 in=i32[160] zeros=i32[1] zeros=i32[2]
extern "C" __global__ void good_lock(const int *in, int *lock, int *sum) {
    int v = sum_of_block(in[blockIdx.x * 32 + threadIdx.x]);
    if (threadIdx.x == 0) {
        for (int k = 0; k < 2; k++) {
            while (atomicCAS(lock, 0, 1) != 0) {
            }
            __threadfence();
            sum[k] += v;
            __threadfence();
            atomicExch(lock, 0);
        }
    }
}
// launch: grid=(5,1,1) block=(32,1,1) shared=0 in=i32[160] zeros=i32[1] zeros=i32[1]
extern "C" __global__ void good_lock_without_a_fence_of_the_reader(const int *in, int *lock, int *sum) {
    int v = sum_of_block(in[blockIdx.x * 32 + threadIdx.x]);
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        *sum += v;
        __threadfence();
        atomicExch(lock, 0);
    }
}
// launch: grid=(5,1,1) block=(32,1,1) shared=0 in=i32[160] zeros=i32[2] zeros=i32[1]
extern "C" __global__ void good_ticket_lock(const int *in, int *lock, int *sum) {
    int v = sum_of_block(in[blockIdx.x * 32 + threadIdx.x]);
    if (threadIdx.x == 0) {
        int mine = atomicAdd(&lock[0], 1);
        while (((volatile int *)lock)[1] != mine) {
        }
        __threadfence();
        *sum += v;
        __threadfence();
        ((volatile int *)lock)[1] = mine + 1;
    }
}
// launch: grid=(4,1,1) block=(64,1,1) shared=0 in=i32[256] out=i32[256] out=i32[256] zeros=i32[1]
extern "C" __global__ void good_barrier_of_the_grid_by_hand(const int *in, int *a, int *b, int *count) {
    int i = blockIdx.x * 64 + threadIdx.x, n = gridDim.x * 64;
    a[i] = in[i];
    for (int k = 1; k <= 4; k++) {
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(count, 1);
            while (atomicAdd(count, 0) < k * gridDim.x) {
            }
            __threadfence();
        }
        __syncthreads();
        int *from = k % 2 ? a : b, *to = k % 2 ? b : a;
        to[i] = from[i] + from[(i + 1) % n] + from[(i + n - 1) % n];
    }
}
__device__ void barrier_by_flags(volatile int *flags) {
    // As in `cub/grid/grid_barrier.cuh`.
    __threadfence();
    __syncthreads();
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) flags[0] = 1;
        __syncthreads();
        for (int b = threadIdx.x; b < gridDim.x; b += blockDim.x)
            while (__ldcg((const int *)flags + b) == 0) __threadfence_block();
        __syncthreads();
        for (int b = threadIdx.x; b < gridDim.x; b += blockDim.x) flags[b] = 0;
    } else {
        if (threadIdx.x == 0) {
            flags[blockIdx.x] = 1;
            while (__ldcg((const int *)flags + blockIdx.x) == 1) __threadfence_block();
        }
        __syncthreads();
    }
}
// launch: grid=(4,1,1) block=(64,1,1) shared=0 in=i32[256] out=i32[256] out=i32[256] zeros=i32[4]
extern "C" __global__ void good_barrier_of_the_grid_by_flags(const int *in, int *a, int *b, int *flags) {
    int i = blockIdx.x * 64 + threadIdx.x, n = gridDim.x * 64;
    a[i] = in[i];
    barrier_by_flags(flags);
    b[i] = a[(i + 1) % n];
    barrier_by_flags(flags);
    a[i] = b[(i + 1) % n];
}
// launch: grid=(4,1,1) block=(32,1,1) shared=0 in=i32[128] out=i32[128] zeros=i32[1] zeros=i32[1]
extern "C" __global__ void good_counter_put_back_by_the_last(const int *in, int *out, int *count, volatile int *round) {
    int i = blockIdx.x * 32 + threadIdx.x, n = gridDim.x * 32;
    out[i] = in[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicAdd(count, 1) == gridDim.x - 1) {
            *count = 0;
            __threadfence();
            *round = 1;
        }
        while (*round == 0) {
        }
        __threadfence();
    }
    __syncthreads();
    int other = out[n - 1 - i];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(count, 1);
        while (*(volatile int *)count < gridDim.x) {
        }
        __threadfence();
    }
    __syncthreads();
    out[i] = other;
}
// launch: grid=(2,1,1) block=(32,1,1) shared=0 in=i32[320] out=i32[64] zeros=i32[2] out=i32[320]
extern "C" __global__ void good_queue_between_blocks(const int *in, int *ring, volatile int *counts, int *out) {
    int t = threadIdx.x;
    for (int k = 0; k < 10; k++) {
        int *slot = ring + k % 2 * 32;
        if (blockIdx.x == 0) {
            if (t == 0) {
                while (k - counts[1] >= 2) {
                }
                __threadfence();
            }
            __syncthreads();
            slot[t] = in[k * 32 + t];
            __syncthreads();
            if (t == 0) {
                __threadfence();
                counts[0] = k + 1;
            }
        } else {
            if (t == 0) {
                while (counts[0] <= k) {
                }
                __threadfence();
            }
            __syncthreads();
            out[k * 32 + t] = slot[31 - t];
            __syncthreads();
            if (t == 0) {
                __threadfence();
                counts[1] = k + 1;
            }
        }
    }
}
// launch: grid=(2,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32] zeros=i32[1] out=i32[32]
extern "C" __global__ void good_atomic_release_and_acquire(const int *in, int *data, int *flag, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    if (blockIdx.x == 0) {
        data[threadIdx.x] = in[threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0) ready.store(1, cuda::std::memory_order_release);
    } else {
        while (ready.load(cuda::std::memory_order_acquire) == 0) {
        }
        out[threadIdx.x] = data[31 - threadIdx.x];
    }
}
// launch: grid=(3,1,1) block=(32,1,1) shared=0 in=i32[96] out=i32[96] zeros=i32[1] out=i32[32]
extern "C" __global__ void good_atomic_counts_in_sequence(const int *in, int *data, int *count, int *out) {
    cuda::atomic_ref<int> arrived(*count);
    __shared__ bool last;
    data[blockIdx.x * 32 + threadIdx.x] = in[blockIdx.x * 32 + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) last = arrived.fetch_add(1) == 2;
    __syncthreads();
    if (last) out[threadIdx.x] = data[threadIdx.x] + data[32 + threadIdx.x] + data[64 + threadIdx.x];
}
// launch: grid=(2,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32] zeros=i32[1] out=i32[32]
extern "C" __global__ void good_atomic_fences_beside_relaxed(const int *in, int *data, int *flag, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    if (blockIdx.x == 0) {
        data[threadIdx.x] = in[threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0) {
            cuda::atomic_thread_fence(cuda::std::memory_order_release, cuda::thread_scope_device);
            ready.store(1, cuda::std::memory_order_relaxed);
        }
    } else {
        if (threadIdx.x == 0) {
            while (ready.load(cuda::std::memory_order_relaxed) == 0) {
            }
            cuda::atomic_thread_fence(cuda::std::memory_order_acquire, cuda::thread_scope_device);
        }
        __syncthreads();
        out[threadIdx.x] = data[31 - threadIdx.x];
    }
}
// launch: grid=(3,1,1) block=(32,1,1) shared=0 in=i32[96] out=i32[96] zeros=i32[1] out=i32[32]
extern "C" __global__ void good_relaxed_additions_after_one_release(const int *in, int *data, int *flag, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    if (blockIdx.x == 0) {
        data[threadIdx.x] = in[threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0) ready.store(1, cuda::std::memory_order_release);
    } else if (blockIdx.x == 1) {
        if (threadIdx.x == 0) {
            while (ready.load(cuda::std::memory_order_relaxed) == 0) {
            }
            ready.fetch_add(1, cuda::std::memory_order_relaxed);
        }
    } else {
        while (ready.load(cuda::std::memory_order_acquire) != 2) {
        }
        out[threadIdx.x] = data[31 - threadIdx.x];
    }
}
// launch: grid=(4,1,1) block=(32,1,1) shared=0 in=i32[128] zeros=i32[16] out=i32[128]
extern "C" __global__ void good_relaxed_counters(const int *in, int *bins, int *out) {
    int i = blockIdx.x * 32 + threadIdx.x;
    cuda::atomic_ref<int, cuda::thread_scope_device>(bins[in[i] % 16]).fetch_add(1, cuda::std::memory_order_relaxed);
    out[i] = in[i];
    __threadfence();
}
// launch: cooperative grid=(4,1,1) block=(32,1,1) shared=0 in=i32[128] out=i32[128] zeros=i32[1] out=i32[128]
extern "C" __global__ void good_grid_sync_and_a_lock(const int *in, int *data, int *lock, int *out) {
    cg::grid_group grid = cg::this_grid();
    unsigned i = grid.thread_rank(), last = grid.size() - 1;
    data[i] = in[i];
    grid.sync();
    out[i] = data[last - i];
    grid.sync();
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        data[0] += in[i];
        __threadfence();
        atomicExch(lock, 0);
    }
    grid.sync();
    out[i] += data[0];
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=i32[128] out=i32[128] zeros=i32[2] out=i32[64]
extern "C" __global__ void good_warps_of_a_block_by_fences(const int *in, int *data, volatile int *flags, int *out) {
    int lane = threadIdx.x % 32;
    int *mine = data + blockIdx.x * 32;
    if (threadIdx.x < 32) {
        mine[lane] = in[blockIdx.x * 32 + lane];
        __threadfence_block();
        __syncwarp();
        if (lane == 0) flags[blockIdx.x] = 1;
    } else {
        if (lane == 0) {
            while (flags[blockIdx.x] == 0) {
            }
            __threadfence_block();
        }
        __syncwarp();
        out[blockIdx.x * 32 + lane] = mine[31 - lane];
    }
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=i32[64] out=i32[64]
extern "C" __global__ void good_warps_by_a_flag_in_shared_memory(const int *in, int *out) {
    __shared__ int data[32];
    __shared__ volatile int flag;
    int lane = threadIdx.x % 32;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        data[lane] = in[blockIdx.x * 32 + lane];
        __threadfence_block();
        __syncwarp();
        if (lane == 0) flag = 1;
    } else {
        while (flag == 0) {
        }
        __threadfence_block();
        out[blockIdx.x * 32 + lane] = data[31 - lane];
    }
}
// launch: grid=(4,1,1) block=(64,1,1) shared=0 in=i32[256] zeros=i32[1] out=i32[64]
extern "C" __global__ void good_semaphore_in_the_order_of_blocks(const int *in, int *semaphore, int *out) {
    // As in `cutlass/semaphore.h`.
    int state = -1, t = threadIdx.x;
    while (__syncthreads_and(state != blockIdx.x))
        if (t == 0) state = acquire(semaphore);
    __syncthreads();
    out[t] = blockIdx.x == 0 ? in[t] : out[t] + in[blockIdx.x * 64 + t];
    __syncthreads();
    if (t == 0) release(semaphore, blockIdx.x + 1);
}

// launch: grid=(5,1,1) block=(64,1,1) shared=0 in=i32[320] out=i32[5] zeros=i32[1] out=i32[5]
extern "C" __global__ void bad_last_block_without_fence(const int *in, int *partial, int *count, int *out) {
    __shared__ bool last;
    int sum = sum_of_block(in[blockIdx.x * 64 + threadIdx.x]);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        last = atomicAdd(count, 1) == gridDim.x - 1;
        out[blockIdx.x] = sum;
        __threadfence_system();
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) out[threadIdx.x] += partial[threadIdx.x]; // expect: GlobalRace
}
// launch: grid=(5,1,1) block=(64,1,1) shared=0 in=i32[320] out=i32[5] zeros=i32[1] out=i32[5]
extern "C" __global__ void bad_fence_after_the_count(const int *in, int *partial, int *count, int *out) {
    __shared__ bool last;
    int sum = sum_of_block(in[blockIdx.x * 64 + threadIdx.x]);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        last = atomicAdd(count, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) out[threadIdx.x] = partial[threadIdx.x]; // expect: GlobalRace
}
// launch: grid=(5,1,1) block=(64,1,1) shared=0 in=i32[320] out=i32[320] zeros=i32[1] out=i32[64]
extern "C" __global__ void bad_fence_before_the_others_wrote(const int *in, int *part, int *count, int *out) {
    __shared__ bool last;
    int t = threadIdx.x;
    part[blockIdx.x * 64 + t] = in[blockIdx.x * 64 + t];
    if (t == 0) {
        __threadfence();
        last = atomicAdd(count, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    int sum = 0;
    for (int b = 0; b < gridDim.x; b++) sum += part[b * 64 + t]; // expect: GlobalRace
    out[t] = sum;
}
// launch: grid=(5,1,1) block=(32,1,1) shared=0 in=i32[160] out=i32[160] zeros=i32[1] out=i32[32]
extern "C" __global__ void bad_fence_of_one_lane_only(const int *in, int *part, int *count, int *out) {
    int t = threadIdx.x, ticket = 0;
    part[blockIdx.x * 32 + t] = in[blockIdx.x * 32 + t];
    if (t == 0) {
        __threadfence();
        ticket = atomicAdd(count, 1);
    }
    if (__shfl_sync(0xffffffffu, ticket, 0) != gridDim.x - 1) return;
    int sum = 0;
    for (int b = 0; b < gridDim.x; b++) sum += part[b * 32 + t]; // expect: GlobalRace
    out[t] = sum;
}
// launch: grid=(5,1,1) block=(64,1,1) shared=0 in=i32[320] out=i32[5] zeros=i32[1] out=i32[5]
extern "C" __global__ void bad_fence_of_block_scope(const int *in, int *partial, int *count, int *out) {
    __shared__ bool last;
    int sum = sum_of_block(in[blockIdx.x * 64 + threadIdx.x]);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence_block();
        last = atomicAdd(count, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) out[threadIdx.x] = partial[threadIdx.x]; // expect: GlobalRace
}
// launch: grid=(5,1,1) block=(64,1,1) shared=0 in=i32[320] out=i32[5] zeros=i32[1] out=i32[5]
extern "C" __global__ void bad_count_of_block_scope(const int *in, int *partial, int *count, int *out) {
    __shared__ bool last;
    int sum = sum_of_block(in[blockIdx.x * 64 + threadIdx.x]);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd_block(count, 1) == gridDim.x - 1; // expect: GlobalRace
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) out[threadIdx.x] = partial[threadIdx.x]; // expect: GlobalRace
}
// launch: grid=(5,1,1) block=(64,1,1) shared=0 in=i32[320] out=i32[5] zeros=i32[1] out=i32[5]
extern "C" __global__ void bad_last_number_is_not_the_last_to_come(const int *in, int *partial, int *count, int *out) {
    int sum = sum_of_block(in[blockIdx.x * 64 + threadIdx.x]);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        atomicAdd(count, 1);
    }
    __syncthreads();
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x < gridDim.x)
        out[threadIdx.x] = partial[threadIdx.x]; // expect: GlobalRace
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=i32[128] zeros=i32[17] out=i32[128]
extern "C" __global__ void bad_histogram_beside_a_fence(const int *in, int *bins, int *out) {
    int i = blockIdx.x * 64 + threadIdx.x;
    bins[in[i]]++; // expect: GlobalRace
    out[i] = in[i];
    __threadfence();
}
// launch: grid=(5,1,1) block=(32,1,1) shared=0 in=i32[160] out=i32[5] zeros=i32[1] out=i32[2]
extern "C" __global__ void bad_one_word_beside_a_last_block(const int *in, int *partial, int *count, int *out) {
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = in[blockIdx.x * 32];
        __threadfence();
        out[1] = blockIdx.x; // expect: GlobalRace
        if (atomicAdd(count, 1) == gridDim.x - 1) out[0] = partial[0] + partial[4];
    }
}
// launch: grid=(2,1,1) block=(32,1,1) shared=0 in=i32[32] zeros=i32[32] zeros=i32[1] out=i32[32]
extern "C" __global__ void bad_flag_set_before_the_data(const int *in, int *data, volatile int *flag, int *out) {
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) *flag = 1;
        __threadfence();
        data[threadIdx.x] = in[threadIdx.x];
    } else {
        while (*flag == 0) {
        }
        __threadfence();
        out[threadIdx.x] = data[31 - threadIdx.x]; // expect: GlobalRace
    }
}
// launch: grid=(2,1,1) block=(32,1,1) shared=0 in=i32[32] zeros=i32[32] zeros=i32[1] out=i32[32]
extern "C" __global__ void bad_read_before_the_flag(const int *in, int *data, volatile int *flag, int *out) {
    if (blockIdx.x == 0) {
        data[threadIdx.x] = in[threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            *flag = 1;
        }
    } else {
        int v = data[31 - threadIdx.x]; // expect: GlobalRace
        while (*flag == 0) {
        }
        __threadfence();
        out[threadIdx.x] = v;
    }
}
// launch: grid=(5,1,1) block=(32,1,1) shared=0 in=i32[160] zeros=i32[1] zeros=i32[1]
extern "C" __global__ void bad_lock_opened_without_fence(const int *in, int *lock, int *sum) {
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        *sum += in[blockIdx.x * 32]; // expect: GlobalRace
        atomicExch(lock, 0);
    }
}
// launch: grid=(5,1,1) block=(32,1,1) shared=0 in=i32[160] zeros=i32[5] zeros=i32[1]
extern "C" __global__ void bad_lock_of_its_own_in_every_block(const int *in, int *locks, int *sum) {
    if (threadIdx.x == 0) {
        int *lock = &locks[blockIdx.x];
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        *sum += in[blockIdx.x * 32]; // expect: GlobalRace
        __threadfence();
        atomicExch(lock, 0);
    }
}
// launch: grid=(4,1,1) block=(32,1,1) shared=0 in=i32[128] zeros=i32[1] zeros=i32[1]
extern "C" __global__ void bad_one_block_passes_by_the_lock(const int *in, int *lock, int *sum) {
    if (threadIdx.x == 0) {
        bool locks = blockIdx.x != 2;
        while (locks && atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        *sum += in[blockIdx.x * 32]; // expect: GlobalRace
        __threadfence();
        if (locks) atomicExch(lock, 0);
    }
}
// launch: grid=(4,1,1) block=(64,1,1) shared=0 in=i32[256] out=i32[256] out=i32[256] zeros=i32[1]
extern "C" __global__ void bad_barrier_of_the_grid_without_fences(const int *in, int *a, int *b, int *count) {
    int i = blockIdx.x * 64 + threadIdx.x, n = gridDim.x * 64;
    a[i] = in[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(count, 1);
        while (atomicAdd(count, 0) < gridDim.x) {
        }
        __threadfence();
    }
    __syncthreads();
    b[i] = a[n - 1 - i]; // expect: GlobalRace
}
// launch: grid=(4,1,1) block=(64,1,1) shared=0 in=i32[256] out=i32[256] zeros=i32[1]
extern "C" __global__ void bad_second_barrier_of_the_grid_missing(const int *in, int *a, int *count) {
    int i = blockIdx.x * 64 + threadIdx.x, n = gridDim.x * 64;
    a[i] = in[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(count, 1);
        while (atomicAdd(count, 0) < gridDim.x) {
        }
        __threadfence();
    }
    __syncthreads();
    a[i] = a[n - 1 - i]; // expect: GlobalRace
}
// launch: grid=(2,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32] zeros=i32[1] out=i32[32]
extern "C" __global__ void bad_relaxed_flag(const int *in, int *data, int *flag, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    if (blockIdx.x == 0) {
        data[threadIdx.x] = in[threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0) ready.store(1, cuda::std::memory_order_relaxed);
    } else {
        while (ready.load(cuda::std::memory_order_acquire) == 0) {
        }
        out[threadIdx.x] = data[31 - threadIdx.x]; // expect: GlobalRace
    }
}
// launch: grid=(2,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32] zeros=i32[1] out=i32[32]
extern "C" __global__ void bad_release_of_block_scope(const int *in, int *data, int *flag, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_block> ready(*flag);
    if (blockIdx.x == 0) {
        data[threadIdx.x] = in[threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0) ready.store(1, cuda::std::memory_order_release);
    } else {
        while (ready.load(cuda::std::memory_order_acquire) == 0) { // expect: GlobalRace
        }
        out[threadIdx.x] = data[31 - threadIdx.x]; // expect: GlobalRace
    }
}
// launch: grid=(3,1,1) block=(32,1,1) shared=0 in=i32[64] out=i32[64] zeros=i32[1] out=i32[32]
extern "C" __global__ void bad_store_over_a_release(const int *in, int *data, int *flag, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    if (blockIdx.x == 0) {
        data[threadIdx.x] = in[threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0) ready.store(1, cuda::std::memory_order_release);
    } else if (blockIdx.x == 1) {
        if (threadIdx.x == 0) ready.store(2, cuda::std::memory_order_relaxed);
    } else {
        while (ready.load(cuda::std::memory_order_acquire) == 0) {
        }
        out[threadIdx.x] = data[31 - threadIdx.x]; // expect: GlobalRace
    }
}
// launch: grid=(2,1,1) block=(32,1,1) shared=0 in=i32[320] out=i32[32] zeros=i32[2] out=i32[320]
extern "C" __global__ void bad_slot_freed_before_it_was_read(const int *in, int *slot, volatile int *counts, int *out) {
    int t = threadIdx.x;
    for (int k = 0; k < 10; k++) {
        if (blockIdx.x == 0) {
            if (t == 0)
                while (counts[1] < k) {
                }
            __syncthreads();
            slot[t] = in[k * 32 + t]; // expect: GlobalRace
            __syncthreads();
            if (t == 0) {
                __threadfence();
                counts[0] = k + 1;
            }
        } else {
            if (t == 0) {
                while (counts[0] <= k) {
                }
                __threadfence();
                counts[1] = k + 1;
            }
            __syncthreads();
            out[k * 32 + t] = slot[31 - t];
        }
    }
}
// launch: grid=(3,1,1) block=(32,1,1) shared=0 in=i32[96] out=i32[96] zeros=i32[1] out=i32[32]
extern "C" __global__ void bad_count_that_only_releases(const int *in, int *data, int *count, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> arrived(*count);
    __shared__ bool last;
    data[blockIdx.x * 32 + threadIdx.x] = in[blockIdx.x * 32 + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) last = arrived.fetch_add(1, cuda::std::memory_order_release) == 2;
    __syncthreads();
    if (last) out[threadIdx.x] = data[threadIdx.x] + data[32 + threadIdx.x]; // expect: GlobalRace
}
// launch: grid=(2,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32] zeros=i32[1] out=i32[32]
extern "C" __global__ void bad_wait_by_relaxed_loads(const int *in, int *data, int *flag, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    if (blockIdx.x == 0) {
        data[threadIdx.x] = in[threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0) ready.store(1, cuda::std::memory_order_release);
    } else {
        while (ready.load(cuda::std::memory_order_relaxed) == 0) {
        }
        out[threadIdx.x] = data[31 - threadIdx.x]; // expect: GlobalRace
    }
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=i32[128] out=i32[128] out=i32[128]
extern "C" __global__ void bad_fence_is_no_barrier(const int *in, int *data, int *out) {
    int t = threadIdx.x, base = blockIdx.x * 64;
    data[base + t] = in[base + t]; // expect: GlobalRace
    __threadfence();
    out[base + t] = data[base + 63 - t]; // expect: GlobalRace
}
// launch: grid=(2,1,1) block=(32,1,1) shared=0 in=i32[64] out=i32[64]
extern "C" __global__ void bad_fence_does_not_let_lanes_meet(const int *in, int *out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 32 + t];
    __threadfence_block();
    out[blockIdx.x * 32 + t] = s[31 - t]; // expect: SharedRace
}
__device__ cuda::binary_semaphore<cuda::thread_scope_device> one_at_a_time{1};
// launch: grid=(5,1,1) block=(32,1,1) shared=0 in=i32[160] zeros=i32[1]
extern "C" __global__ void good_semaphore_of_the_device(const int *in, int *sum) {
    int v = sum_of_block(in[blockIdx.x * 32 + threadIdx.x]);
    if (threadIdx.x == 0) {
        one_at_a_time.acquire();
        *sum += v;
        one_at_a_time.release();
    }
}
// launch: grid=(4,1,1) block=(32,1,1) shared=0 in=i32[128] out=i32[128] zeros=i32[16] zeros=i32[1] out=i32[128]
extern "C" __global__ void good_latch_of_the_device(const int *in, int *data, void *place, int *made, int *out) {
    auto *latch = (cuda::latch<cuda::thread_scope_device> *)place;
    cuda::atomic_ref<int, cuda::thread_scope_device> is_made(*made);
    int i = blockIdx.x * 32 + threadIdx.x;
    data[i] = in[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) {
            new (latch) cuda::latch<cuda::thread_scope_device>(4);
            is_made.store(1, cuda::std::memory_order_release);
        }
        while (is_made.load(cuda::std::memory_order_acquire) == 0) {
        }
        latch->arrive_and_wait();
    }
    __syncthreads();
    out[i] = data[127 - i];
}
__device__ cuda::barrier<cuda::thread_scope_device> meeting;
__device__ cuda::atomic<int, cuda::thread_scope_device> ready;
// launch: grid=(4,1,1) block=(32,1,1) shared=0 in=i32[128] out=i32[128] out=i32[128]
extern "C" __global__ void good_barrier_of_the_device(const int *in, int *data, int *out) {
    int i = blockIdx.x * 32 + threadIdx.x;
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) {
            init(&meeting, 4);
            ready.store(1, cuda::std::memory_order_release);
            ready.notify_all();
        }
        ready.wait(0, cuda::std::memory_order_acquire);
    }
    __syncthreads();
    for (int k = 0; k < 3; k++) {
        data[i] = in[i] + k;
        __syncthreads();
        if (threadIdx.x == 0) meeting.arrive_and_wait();
        __syncthreads();
        out[i] = data[127 - i];
        __syncthreads();
        if (threadIdx.x == 0) meeting.arrive_and_wait();
        __syncthreads();
    }
}
