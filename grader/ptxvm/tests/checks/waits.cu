// Threads that wait for locks and flags in other ways than those of lanes.cu and fences.cu. README.md says how a kernel is launched and what the comments mean.
#include <cuda/atomic>
__device__ bool try_lock(int *lock) {
    if (atomicCAS(lock, 0, 1) != 0) return false;
    __threadfence();
    return true;
}
__device__ void unlock(int *lock) {
    __threadfence();
    atomicExch(lock, 0);
}
// Both locks, or none.
__device__ void lock_both(int *first, int *second) {
    while (true) {
        if (!try_lock(first)) continue;
        if (try_lock(second)) return;
        unlock(first);
    }
}
__device__ void move_one(int *locks, int *sums, int from, int to) {
    lock_both(&locks[from], &locks[to]);
    sums[from] -= 1;
    sums[to] += 1;
    unlock(&locks[to]);
    unlock(&locks[from]);
}
// launch: grid=(3,1,1) block=(32,1,1) shared=0 zeros=i32[3] zeros=i32[3]
extern "C" __global__ void good_blocks_that_step_back(int *locks, int *sums) {
    if (threadIdx.x == 0)
        for (int k = 0; k < 9; k++) move_one(locks, sums, blockIdx.x, (blockIdx.x + 1) % 3);
}
// launch: grid=(5,1,1) block=(1,1,1) shared=0 zeros=i32[5] out=i32[5]
extern "C" __global__ void good_philosophers_who_wait_longer(int *forks, int *meals) {
    int left = blockIdx.x, right = (left + 1) % 5, eaten = 0;
    unsigned wait = 8;
    while (eaten < 3) {
        while (!try_lock(&forks[left])) __nanosleep(20);
        if (try_lock(&forks[right])) {
            eaten++;
            wait = 8;
            unlock(&forks[right]);
        } else if (wait < 1000) {
            wait *= 2;
        }
        unlock(&forks[left]);
        __nanosleep(wait);
    }
    meals[left] = eaten;
}
__device__ void peterson(volatile int *wants, volatile int *turn, int me, int *sum) {
    for (int k = 0; k < 4; k++) {
        wants[me] = 1;
        __threadfence();
        *turn = 1 - me;
        __threadfence();
        while (wants[1 - me] && *turn != me) {
        }
        __threadfence();
        *sum += me + 1;
        __threadfence();
        wants[me] = 0;
    }
}
// launch: grid=(1,1,1) block=(2,1,1) shared=0 zeros=i32[2] zeros=i32[1] zeros=i32[1]
extern "C" __global__ void good_peterson_of_lanes(int *wants, int *turn, int *sum) {
    peterson(wants, turn, threadIdx.x, sum);
}
// launch: grid=(2,1,1) block=(1,1,1) shared=0 zeros=i32[2] zeros=i32[1] zeros=i32[1]
extern "C" __global__ void good_peterson_of_blocks(int *wants, int *turn, int *sum) {
    peterson(wants, turn, blockIdx.x, sum);
}
// launch: grid=(2,1,1) block=(2,1,1) shared=0 zeros=i32[4] zeros=i32[4] zeros=i32[1]
extern "C" __global__ void good_bakery(volatile int *choosing, volatile int *number, int *sum) {
    int me = blockIdx.x * 2 + threadIdx.x;
    for (int k = 0; k < 2; k++) {
        choosing[me] = 1;
        __threadfence();
        int most = 0;
        for (int j = 0; j < 4; j++) most = max(most, number[j]);
        number[me] = most + 1;
        __threadfence();
        choosing[me] = 0;
        __threadfence();
        for (int j = 0; j < 4; j++) {
            while (choosing[j]) {
            }
            while (true) {
                int other = number[j];
                if (other == 0 || other > number[me] || other == number[me] && j >= me) break;
                __nanosleep(50);
            }
        }
        __threadfence();
        *sum += me;
        __threadfence();
        number[me] = 0;
    }
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 zeros=i32[3]
extern "C" __global__ void good_semaphore_that_is_given_back(int *words) {
    // Two threads at a time; who comes too many steps back.
    while (atomicAdd(&words[0], 1) >= 2) {
        atomicSub(&words[0], 1);
        __nanosleep(64);
    }
    atomicAdd(&words[1], 1);
    atomicSub(&words[0], 1);
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 zeros=i32[32] zeros=i32[1]
extern "C" __global__ void bad_forks_that_are_never_put_back(int *forks, int *done) {
    int *left = &forks[threadIdx.x], *right = &forks[(threadIdx.x + 1) % 32];
    while (true) {
        while (atomicCAS(left, 0, 1) != 0) { // expect: EndlessLoop
        }
        if (atomicCAS(right, 0, 1) == 0) break;
        atomicExch(left, 0);
    }
    atomicAdd(done, 1);
}
// launch: grid=(2,1,1) block=(32,1,1) shared=0 zeros=i32[2]
extern "C" __global__ void bad_blocks_that_keep_the_second_lock(int *locks) {
    if (threadIdx.x != 0) return;
    while (true) {
        if (atomicCAS(&locks[blockIdx.x], 0, 1) != 0) continue; // expect: EndlessLoop
        if (atomicCAS(&locks[1 - blockIdx.x], 0, 1) == 0) break;
        atomicExch(&locks[blockIdx.x], 0);
    }
    atomicExch(&locks[blockIdx.x], 0);
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 zeros=i32[2]
extern "C" __global__ void bad_permit_that_is_never_given_back(int *words) {
    while (atomicAdd(&words[0], 1) >= 2) { // expect: EndlessLoop
        atomicSub(&words[0], 1);
    }
    atomicAdd(&words[1], 1);
}
// launch: grid=(5,1,1) block=(32,1,1) shared=0 in=i32[160] out=i32[160] zeros=u8[5] out=i32[32]
extern "C" __global__ void good_flags_of_a_byte(const int *in, int *data, volatile unsigned char *flags, int *out) {
    int t = threadIdx.x, b = blockIdx.x;
    if (b < 4) {
        data[b * 32 + t] = in[b * 32 + t] + b;
        __syncthreads();
        __threadfence();
        if (t == 0) flags[b] = 1;
    } else {
        int sum = 0;
        for (int other = 0; other < 4; other++) {
            while (!flags[other]) {
            }
            __threadfence();
            sum += data[other * 32 + 31 - t];
        }
        out[t] = sum;
    }
}
// launch: grid=(1,1,1) block=(128,1,1) shared=0 in=i32[128] out=i32[32]
extern "C" __global__ void good_flags_of_a_byte_in_shared_memory(const int *in, int *out) {
    __shared__ volatile bool ready[4];
    __shared__ int data[128];
    int t = threadIdx.x, w = t / 32;
    if (t < 4) ready[t] = false;
    __syncthreads();
    data[t] = in[t];
    __syncwarp();
    __threadfence_block();
    if (t % 32 == 0) ready[w] = true;
    if (w != 3) return;
    for (int other = 0; other < 4; other++)
        while (!ready[other]) {
        }
    __threadfence_block();
    out[t - 96] = data[t] + data[t - 32] + data[t - 64] + data[t - 96];
}
// launch: grid=(3,1,1) block=(32,1,1) shared=0 in=i32[96] out=i32[96] zeros=i32[2] out=i32[32]
extern "C" __global__ void good_flags_of_two_bytes(const int *in, int *data, volatile short *flags, int *out) {
    int t = threadIdx.x, b = blockIdx.x;
    data[b * 32 + t] = in[b * 32 + t];
    __threadfence();
    __syncthreads();
    if (b == 2) {
        while (flags[0] != 1 || flags[1] != 2) {
        }
        __threadfence();
        out[t] = data[t] + data[t + 32] + data[t + 64];
    } else if (t == 0) {
        flags[b] = b + 1;
    }
}
// launch: grid=(4,1,1) block=(32,1,1) shared=0 in=i32[128] out=i32[128] zeros=i32[1] out=i32[32]
extern "C" __global__ void good_four_flags_read_at_once(const int *in, int *data, volatile int *flags, int *out) {
    int t = threadIdx.x, b = blockIdx.x;
    data[b * 32 + t] = in[b * 32 + t];
    __threadfence();
    __syncthreads();
    if (t == 0) ((volatile unsigned char *)flags)[b] = 1;
    if (b == 3) {
        while (*flags != 0x01010101) {
        }
        __threadfence();
        out[t] = data[t] + data[t + 32] + data[t + 64] + data[t + 96];
    }
}
// launch: grid=(3,1,1) block=(32,1,1) shared=0 in=i32[96] out=i32[96] zeros=u8[2] out=i32[32]
extern "C" __global__ void bad_flag_of_another_block(const int *in, int *data, volatile unsigned char *flags, int *out) {
    int t = threadIdx.x, b = blockIdx.x;
    if (b < 2) {
        data[b * 32 + t] = in[b * 32 + t];
        __threadfence();
        __syncthreads();
        if (t == 0) flags[b] = 1;
    } else {
        while (!flags[1]) {
        }
        __threadfence();
        out[t] = data[t] + data[t + 32]; // expect: GlobalRace
    }
}
// launch: grid=(1,1,1) block=(96,1,1) shared=0 in=i32[96] out=i32[32]
extern "C" __global__ void bad_flag_of_another_warp(const int *in, int *out) {
    __shared__ volatile bool ready[4];
    __shared__ int data[96];
    int t = threadIdx.x, w = t / 32;
    if (t < 4) ready[t] = false;
    __syncthreads();
    data[t] = in[t];
    __syncwarp();
    __threadfence_block();
    if (t % 32 == 0) ready[w] = true;
    if (w != 2) return;
    while (!ready[1]) {
    }
    __threadfence_block();
    out[t - 64] = data[t - 32] + data[t - 64]; // expect: SharedRace
}
