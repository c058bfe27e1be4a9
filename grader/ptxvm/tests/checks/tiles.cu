// Warps that wait for each other by words in shared memory. README.md says how a kernel is launched and what the comments mean.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

__device__ void set_flag(int *flag, int value) {
    unsigned at = (unsigned)__cvta_generic_to_shared(flag);
    asm volatile("st.release.cta.shared.u32 [%0], %1;" ::"r"(at), "r"(value) : "memory");
}
__device__ int flag(const int *flag) {
    int value;
    unsigned at = (unsigned)__cvta_generic_to_shared(flag);
    asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(value) : "r"(at) : "memory");
    return value;
}

// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=i32[64] out=i32[64]
extern "C" __global__ void good_flag_of_the_first_warp(const int *in, int *out) {
    __shared__ int s[32], ready;
    int lane = threadIdx.x % 32, i = blockIdx.x * 32 + lane;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        s[lane] = in[i];
        __syncwarp();
        if (lane == 0) set_flag(&ready, 1);
    } else {
        while (flag(&ready) == 0) {
        }
        out[i] = s[31 - lane];
    }
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=i32[64] out=i32[64]
extern "C" __global__ void bad_flag_before_the_writes(const int *in, int *out) {
    __shared__ int s[32], ready;
    int lane = threadIdx.x % 32, i = blockIdx.x * 32 + lane;
    if (threadIdx.x == 0) ready = 0;
    s[lane] = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        if (lane == 0) set_flag(&ready, 1);
        s[lane] = in[i]; // expect: SharedRace
    } else {
        while (flag(&ready) == 0) {
        }
        out[i] = s[31 - lane];
    }
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=i32[128] out=i32[128]
extern "C" __global__ void good_named_barrier_in_a_loop(const int *in, int *out) {
    __shared__ int s[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    for (int k = 0; k < 3; k++) {
        s[t] = in[i] + k;
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[i] = s[t ^ 63];
        asm volatile("bar.sync 1, 64;" ::: "memory");
    }
}
// launch: grid=(2,1,1) block=(128,1,1) shared=0 in=i32[256] out=i32[256]
extern "C" __global__ void bad_second_sync_of_the_tile_missing(const int *in, int *out) {
    __shared__ cg::block_tile_memory<128> memory;
    __shared__ int s[128];
    cg::thread_block block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<64>(block);
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    for (int k = 0; k < 3; k++) {
        s[t] = in[i] + k; // expect: SharedRace
        tile.sync();
        out[i] = s[t ^ 63]; // expect: SharedRace
    }
}
// launch: grid=(1,1,1) block=(128,1,1) shared=0 in=i32[128] out=i32[128]
extern "C" __global__ void bad_read_of_the_other_tile(const int *in, int *out) {
    __shared__ cg::block_tile_memory<128> memory;
    __shared__ int s[128];
    cg::thread_block block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<64>(block);
    int t = threadIdx.x;
    s[t] = in[t];
    tile.sync();
    out[t] = s[t ^ 127]; // expect: SharedRace
}
// launch: grid=(2,1,1) block=(128,1,1) shared=0 in=i32[256] out=i32[256]
extern "C" __global__ void good_sums_of_tiles(const int *in, int *out) {
    __shared__ cg::block_tile_memory<128> memory;
    cg::thread_block block = cg::this_thread_block(memory);
    auto half = cg::tiled_partition<64>(block);
    auto all = cg::tiled_partition<128>(block);
    int i = blockIdx.x * 128 + threadIdx.x;
    int sum = cg::reduce(half, in[i], cg::plus<int>()) + cg::reduce(all, in[i], cg::greater<int>());
    out[i] = sum + half.shfl(in[i], 63) + all.any(in[i] == 16);
}
