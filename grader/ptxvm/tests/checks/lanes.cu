// Lanes of one warp that wait for each other. README.md says how a kernel is launched and what the comments mean.
#include <cuda/atomic>
#include <cooperative_groups.h>
#define ALL 0xffffffffu
struct Mutex {
    int taken;
    __device__ void lock() {
        while (atomicCAS(&taken, 0, 1) != 0) {
        }
        __threadfence();
    }
    __device__ void unlock() {
        __threadfence();
        atomicExch(&taken, 0);
    }
};
struct BlockMutex {
    int taken;
    __device__ void lock() {
        while (atomicCAS_block(&taken, 0, 1) != 0) {
        }
        __threadfence_block();
    }
    __device__ bool try_lock() {
        if (atomicCAS_block(&taken, 0, 1) != 0) return false;
        __threadfence_block();
        return true;
    }
    __device__ void unlock() {
        __threadfence_block();
        atomicExch_block(&taken, 0);
    }
};
// launch: grid=(3,1,1) block=(64,1,1) shared=0 zeros=i32[1] zeros=i32[2]
extern "C" __global__ void good_mutex_of_all_threads(Mutex *mutex, int *sums) {
    mutex->lock();
    sums[0] += threadIdx.x;
    sums[1] = max(sums[1], sums[0] % 97);
    mutex->unlock();
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=i32[128] out=i32[2]
extern "C" __global__ void good_mutex_in_shared_memory(const int *in, int *out) {
    __shared__ BlockMutex mutex;
    __shared__ int sum;
    if (threadIdx.x == 0) mutex.taken = sum = 0;
    __syncthreads();
    mutex.lock();
    sum += in[blockIdx.x * 64 + threadIdx.x];
    mutex.unlock();
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
// launch: grid=(2,1,1) block=(96,1,1) shared=0 in=i32[192] zeros=i32[17] zeros=i32[17] zeros=i32[192] out=i32[17]
extern "C" __global__ void good_lists_with_a_lock_each(const int *in, Mutex *locks, int *heads, int *next, int *done) {
    int i = blockIdx.x * 96 + threadIdx.x, bucket = in[i];
    locks[bucket].lock();
    next[i] = heads[bucket]; // 0: none
    heads[bucket] = i + 1;
    locks[bucket].unlock();
    if (i < 17) done[i] = 1;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=i32[64] out=i32[17]
extern "C" __global__ void good_hash_table_in_shared_memory(const int *in, int *out) {
    __shared__ BlockMutex locks[4];
    __shared__ int keys[4][32], counts[4][32];
    for (int i = threadIdx.x; i < 128; i += 64) keys[i / 32][i % 32] = -1;
    if (threadIdx.x < 4) locks[threadIdx.x].taken = 0;
    __syncthreads();
    int key = in[threadIdx.x], bucket = key % 4;
    locks[bucket].lock();
    int at = 0;
    while (keys[bucket][at] != -1 && keys[bucket][at] != key) at++;
    if (keys[bucket][at] == -1) {
        keys[bucket][at] = key;
        counts[bucket][at] = 0;
    }
    counts[bucket][at]++;
    locks[bucket].unlock();
    __syncthreads();
    if (threadIdx.x < 17) {
        int sum = 0;
        for (int at = 0; at < 32 && keys[threadIdx.x % 4][at] != -1; at++)
            if (keys[threadIdx.x % 4][at] == threadIdx.x) sum = counts[threadIdx.x % 4][at];
        out[threadIdx.x] = sum;
    }
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32]
extern "C" __global__ void good_flag_of_the_first_lane(const int *in, int *out) {
    __shared__ int data;
    __shared__ volatile int flag;
    int lane = threadIdx.x;
    if (lane == 1) flag = 0;
    __syncwarp();
    if (lane == 0) {
        data = in[5];
        __threadfence_block();
        flag = 1;
    } else {
        while (flag == 0) {
        }
        __threadfence_block();
        out[lane] = data + lane;
    }
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32]
extern "C" __global__ void good_flag_of_the_last_lane(const int *in, int *out) {
    __shared__ int data;
    __shared__ volatile int flag;
    int lane = threadIdx.x;
    if (lane == 1) flag = 0;
    __syncwarp();
    if (lane != 31) {
        while (flag == 0) {
        }
        __threadfence_block();
        out[lane] = data + lane;
    } else {
        data = in[5];
        __threadfence_block();
        flag = 1;
    }
    __syncwarp();
    if (lane == 31) out[31] = data;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32]
extern "C" __global__ void good_atomic_flag_of_a_lane(const int *in, int *out) {
    __shared__ int data, flag;
    int lane = threadIdx.x;
    cuda::atomic_ref<int, cuda::thread_scope_block> ready(flag);
    if (lane == 0) ready.store(0, cuda::memory_order_relaxed);
    __syncwarp();
    if (lane % 4 != 3) {
        while (ready.load(cuda::memory_order_acquire) < 8) {
        }
        out[lane] = data;
    } else {
        if (lane == 3) data = in[7];
        while (ready.load(cuda::memory_order_acquire) != lane / 4) {
        }
        ready.store(lane / 4 + 1, cuda::memory_order_release);
        out[lane] = lane;
    }
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 zeros=i32[1] zeros=i32[1]
extern "C" __global__ void good_try_until_done(Mutex *mutex, int *count) {
    bool done = false;
    do {
        if (atomicCAS(&mutex->taken, 0, 1) == 0) {
            __threadfence();
            *count += threadIdx.x % 3;
            mutex->unlock();
            done = true;
        }
    } while (!done);
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 out=i32[64]
extern "C" __global__ void good_each_lane_after_the_one_before(int *out) {
    __shared__ volatile int turn;
    __shared__ int sum;
    if (threadIdx.x == 0) sum = turn = 0;
    __syncthreads();
    while (turn != threadIdx.x) {
    }
    __threadfence_block();
    sum += threadIdx.x;
    out[threadIdx.x] = sum;
    __threadfence_block();
    turn = threadIdx.x + 1;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 out=i32[64]
extern "C" __global__ void good_each_lane_after_the_next(int *out) {
    __shared__ volatile int turn;
    if (threadIdx.x == 0) turn = 63;
    __syncthreads();
    while (turn != threadIdx.x) {
    }
    out[threadIdx.x] = turn;
    turn = threadIdx.x - 1;
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 zeros=i32[2] zeros=i32[1]
extern "C" __global__ void good_tickets(int *counters, int *sum) {
    int ticket = atomicAdd(&counters[0], 1);
    unsigned wait = 8;
    while (*(volatile int *)&counters[1] != ticket) {
        __nanosleep(wait);
        if (wait < 256) wait *= 2;
    }
    __threadfence();
    *sum += ticket;
    __threadfence();
    *(volatile int *)&counters[1] = ticket + 1;
}
// launch: grid=(1,1,1) block=(8,1,1) shared=0 zeros=i32[1] out=i32[8] zeros=i32[1]
extern "C" __global__ void good_counts_while_it_waits(int *lock, int *waited, int *sum) {
    int tries = 0;
    while (atomicCAS(lock, 0, 1) != 0) tries++;
    __threadfence();
    *sum += threadIdx.x;
    __threadfence();
    atomicExch(lock, 0);
    waited[threadIdx.x] = tries < 0;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=i32[64] out=i32[64] out=i32[2]
extern "C" __global__ void good_warp_operations_after_a_lock(const int *in, int *out, int *sum) {
    __shared__ BlockMutex mutex;
    __shared__ int s[64], total;
    int i = threadIdx.x;
    if (i == 0) mutex.taken = total = 0;
    __syncthreads();
    mutex.lock();
    total += in[i];
    mutex.unlock();
    s[i] = in[i];
    __syncwarp();
    int v = s[i ^ 5];
    v += __shfl_xor_sync(ALL, v, 3);
    v += __popc(__ballot_sync(ALL, v > 12));
    __syncthreads();
    out[i] = v + s[63 - i];
    if (i == 0) sum[0] = total;
    int odd = __syncthreads_count(in[i] % 2);
    if (i == 1) sum[1] = odd;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=i32[64] out=i32[64]
extern "C" __global__ void good_lock_in_a_loop_with_syncwarp(const int *in, int *out) {
    __shared__ BlockMutex mutex;
    __shared__ int total;
    if (threadIdx.x == 0) mutex.taken = total = 0;
    __syncthreads();
    for (int k = 0; k < 3; k++) {
        if (in[threadIdx.x] % 2) {
            mutex.lock();
            total += k;
            mutex.unlock();
        }
        __syncwarp();
    }
    __syncthreads();
    out[threadIdx.x] = total;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32]
extern "C" __global__ void good_syncwarp_on_both_ways(const int *in, int *out) {
    __shared__ int s[32];
    int lane = threadIdx.x;
    if (lane % 3 == 0) {
        s[lane] = in[lane];
        __syncwarp();
        out[lane] = s[31 - lane] * 2;
    } else {
        s[lane] = in[lane] + 1;
        __syncwarp();
        out[lane] = s[31 - lane] - s[lane ^ 1];
    }
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32]
extern "C" __global__ void good_shuffle_on_both_ways(const int *in, int *out) {
    int lane = threadIdx.x, v = in[lane];
    if (lane < 16) {
        v = v * 3;
        v += __shfl_xor_sync(ALL, v, 16);
        v += __popc(__ballot_sync(ALL, v > 9));
    } else {
        v = v - 7;
        v += __shfl_xor_sync(ALL, v + 1, 16) * 5;
        v ^= __ballot_sync(ALL, v > 20);
    }
    out[lane] = v;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 zeros=i32[1] out=i32[64]
extern "C" __global__ void good_lane_that_waits_for_the_other_warp(int *flag, int *out) {
    if (threadIdx.x == 3) {
        while (*(volatile int *)flag == 0) {
        }
    }
    if (threadIdx.x == 40) atomicExch(flag, 1);
    out[threadIdx.x] = 1;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 out=i32[32]
extern "C" __global__ void good_two_locks_in_one_order(int *out) {
    __shared__ BlockMutex first, second;
    __shared__ int a, b;
    if (threadIdx.x == 0) first.taken = second.taken = a = b = 0;
    __syncwarp();
    first.lock();
    a++;
    second.lock();
    b += a;
    second.unlock();
    first.unlock();
    __syncwarp();
    out[threadIdx.x] = b;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 zeros=i32[1] zeros=i32[2] zeros=i32[1] out=i32[1]
extern "C" __global__ void good_other_warp_counts_meanwhile(int *lock, int *sums, volatile int *flag, int *out) {
    if (threadIdx.x < 32) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        int count = ++sums[0];
        __threadfence();
        atomicExch(lock, 0);
        if (count == 32) *flag = 1;
    } else {
        int turns = 0;
        while (*flag == 0) turns++;
        if (threadIdx.x == 32) *out = turns < 0;
    }
}
__device__ __noinline__ int walk(Mutex *mutex, int *sum, int n) {
    if (n == 0) {
        mutex->lock();
        *sum += 1;
        mutex->unlock();
        return 1;
    }
    int leaves = walk(mutex, sum, n - 1);
    return n % 2 ? leaves + walk(mutex, sum, 0) : leaves;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 zeros=i32[1] zeros=i32[1] out=i32[32]
extern "C" __global__ void good_lock_in_a_recursion(Mutex *mutex, int *sum, int *out) {
    out[threadIdx.x] = walk(mutex, sum, threadIdx.x % 5);
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 zeros=i32[32] zeros=i32[1]
extern "C" __global__ void good_lanes_that_hand_over_in_pairs(volatile int *turns, int *sum) {
    int lane = threadIdx.x;
    for (int k = 0; k < 20; k++) {
        volatile int *turn = &turns[lane / 2 * 2];
        while (*turn != 2 * k + lane % 2) {
        }
        *turn = 2 * k + lane % 2 + 1;
    }
    atomicAdd(sum, lane);
}
// launch: cooperative grid=(4,1,1) block=(64,1,1) shared=0 zeros=i32[1] zeros=i32[2] out=i32[1]
extern "C" __global__ void good_lock_and_grid_sync(Mutex *mutex, int *sums, int *out) {
    for (int k = 0; k < 2; k++) {
        mutex->lock();
        sums[k] += 1 + threadIdx.x;
        mutex->unlock();
        cooperative_groups::this_grid().sync();
    }
    if (threadIdx.x + blockIdx.x == 0) *out = sums[0] + sums[1];
}

// launch: grid=(1,1,1) block=(32,1,1) shared=0 out=i32[32]
extern "C" __global__ void bad_lanes_that_lock_in_two_orders(int *out) {
    __shared__ volatile int taken[2];
    __shared__ int locks[2];
    int lane = threadIdx.x;
    if (lane < 2) locks[lane] = taken[lane] = 0;
    __syncwarp();
    if (lane < 2) {
        atomicExch(&locks[lane], 1);
        taken[lane] = 1;
        while (taken[1 - lane] == 0) {
        }
        while (atomicCAS(&locks[1 - lane], 0, 1) != 0) { // expect: EndlessLoop
        }
    }
    out[lane] = 1;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 zeros=i32[1] zeros=i32[1]
extern "C" __global__ void bad_lock_that_stays_taken(int *lock, int *count) {
    while (atomicCAS(lock, 0, 1) != 0) { // expect: EndlessLoop
    }
    __threadfence();
    *count += 1;
    __threadfence();
    if (threadIdx.x % 8 != 5) atomicExch(lock, 0);
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 zeros=i32[1] zeros=i32[1]
extern "C" __global__ void bad_syncwarp_inside_the_lock(int *lock, int *count) {
    while (atomicCAS(lock, 0, 1) != 0) { // expect: EndlessLoop
    }
    __threadfence();
    *count += 1;
    __syncwarp();
    __threadfence();
    atomicExch(lock, 0);
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 out=i32[1]
extern "C" __global__ void bad_one_lane_counts_without_the_lock(int *out) {
    __shared__ BlockMutex mutex;
    __shared__ int count;
    if (threadIdx.x == 0) mutex.taken = count = 0;
    __syncthreads();
    if (threadIdx.x == 40) {
        count++;
    } else {
        mutex.lock();
        count++; // expect: SharedRace
        mutex.unlock();
    }
    __syncthreads();
    if (threadIdx.x == 0) *out = count;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32]
extern "C" __global__ void bad_read_before_the_flag_of_a_lane(const int *in, int *out) {
    __shared__ int data;
    __shared__ volatile int flag;
    int lane = threadIdx.x;
    if (lane == 0) flag = 0;
    __syncwarp();
    if (lane == 0) {
        flag = 1;
        __threadfence_block();
        data = in[7];
    } else {
        while (flag == 0) {
        }
        __threadfence_block();
        out[lane] = data; // expect: SharedRace
    }
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[32] out=f32[32]
extern "C" __global__ void bad_shuffle_on_one_way_only(const float *in, float *out) {
    float v = in[threadIdx.x];
    if (threadIdx.x < 16) {
        v += __shfl_xor_sync(ALL, v, 1); // expect: InvalidMembers
    } else {
        out[threadIdx.x + 0] = v;
        __syncwarp(0xffff0000u);
        v += 1;
    }
    out[threadIdx.x] = v;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[1]
extern "C" __global__ void bad_lock_opened_without_fence_by_lanes(const int *in, int *out) {
    __shared__ int lock, sum;
    if (threadIdx.x == 0) lock = sum = 0;
    __syncwarp();
    while (atomicCAS_block(&lock, 0, 1) != 0) {
    }
    __threadfence_block();
    sum += in[threadIdx.x]; // expect: SharedRace
    atomicExch_block(&lock, 0);
    __syncwarp();
    if (threadIdx.x == 0) *out = sum;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 zeros=i32[1] zeros=i32[1]
extern "C" __global__ void bad_barrier_inside_the_lock(int *lock, int *count) {
    while (atomicCAS(lock, 0, 1) != 0) { // expect: EndlessLoop
    }
    __threadfence();
    *count += 1;
    __syncthreads();
    __threadfence();
    atomicExch(lock, 0);
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 zeros=i32[1] zeros=i32[1]
extern "C" __global__ void bad_blocks_that_wait_for_each_other(volatile int *first, volatile int *second) {
    if (blockIdx.x == 0) {
        while (*first == 0) { // expect: EndlessLoop
        }
        *second = 1;
    } else {
        while (*second == 0) {
        }
        *first = 1;
    }
}
