// Blocks that wait for each other. README.md says how a kernel is launched and what the comments mean.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// launch: cooperative grid=(6,1,1) block=(64,1,1) shared=0 in=i32[384] out=i32[384]
extern "C" __global__ void good_reverse_over_the_grid(const int *in, int *out) {
    cg::grid_group grid = cg::this_grid();
    unsigned i = grid.thread_rank(), last = grid.size() - 1;
    out[i] = in[i];
    grid.sync();
    int other = out[last - i];
    grid.sync();
    out[i] = other;
}
// launch: cooperative grid=(3,2,1) block=(32,2,1) shared=0 zeros=i32[1] out=i32[384] n=5
extern "C" __global__ void good_steps_of_the_grid(int *sum, int *out, int n) {
    cg::grid_group grid = cg::this_grid();
    unsigned i = grid.thread_rank();
    out[i] = i;
    for (int t = 0; t < n; t++) {
        grid.sync();
        int next = out[(i + 1) % grid.size()];
        grid.sync();
        out[i] = next;
    }
    atomicAdd(sum, 1);
    grid.sync();
    if (*sum != grid.size()) out[i] = -1;
}
// launch: cooperative grid=(4,1,1) block=(64,1,1) shared=0 in=i32[256] out=i32[256]
extern "C" __global__ void bad_reverse_without_grid_sync(const int *in, int *out) {
    cg::grid_group grid = cg::this_grid();
    unsigned i = grid.thread_rank();
    out[i] = in[i]; // expect: GlobalRace
    cg::sync(cg::this_thread_block());
    int other = out[grid.size() - 1 - i]; // expect: GlobalRace, Uninitialised
    grid.sync();
    out[i] = other;
}
// launch: cooperative grid=(4,1,1) block=(64,1,1) shared=0 in=i32[256] out=i32[256]
extern "C" __global__ void bad_second_grid_sync_missing(const int *in, int *out) {
    cg::grid_group grid = cg::this_grid();
    unsigned i = grid.thread_rank();
    out[i] = in[i];
    grid.sync();
    out[i] = out[grid.size() - 1 - i]; // expect: GlobalRace
}
// launch: grid=(4,1,1) block=(64,1,1) shared=0 in=i32[256] out=i32[256]
extern "C" __global__ void bad_grid_sync_in_an_ordinary_launch(const int *in, int *out) {
    cg::grid_group grid = cg::this_grid();
    unsigned i = grid.thread_rank();
    out[i] = in[i];
    grid.sync(); // expect: GridSync
    if (i == 0) out[i] = out[255];
}
// launch: cooperative grid=(4,1,1) block=(64,1,1) shared=0 in=i32[256] out=i32[256] n=200
extern "C" __global__ void bad_block_that_leaves_before_the_grid_sync(const int *in, int *out, int n) {
    cg::grid_group grid = cg::this_grid();
    unsigned i = grid.thread_rank();
    if (blockIdx.x * 64 >= n - 8) return;
    out[i] = in[i];
    grid.sync(); // expect: EndlessLoop
    if (i == 0) out[i] = out[128];
}
// launch: grid=(5,1,1) block=(32,1,1) shared=0 in=i32[160] zeros=i32[1] out=i32[5]
extern "C" __global__ void good_blocks_in_descending_order(const int *in, volatile int *turn, int *out) {
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, in[blockIdx.x * 32 + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) {
        int place = gridDim.x - 1 - blockIdx.x;
        while (*turn != place) {
        }
        __threadfence();
        out[place] = sum + (place > 0 ? out[place - 1] : 0);
        __threadfence();
        *turn = place + 1;
    }
}
// launch: grid=(3,1,1) block=(32,1,1) shared=0 zeros=i32[1] out=i32[3]
extern "C" __global__ void bad_flag_that_nobody_sets(volatile int *flag, int *out) {
    if (blockIdx.x == 0)
        while (*flag == 0) { // expect: EndlessLoop
        }
    if (threadIdx.x == 0) out[blockIdx.x] = 1;
}
// launch: grid=(2,1,1) block=(96,1,1) shared=0 in=i32[192] out=i32[192]
extern "C" __global__ void good_groups_and_tiles(const int *in, int *out) {
    cg::thread_block block = cg::this_thread_block();
    auto half = cg::tiled_partition<16>(block);
    int i = block.group_index().x * block.size() + block.thread_rank();
    int sum = in[i];
    for (int step = half.size() / 2; step > 0; step /= 2) sum += half.shfl_down(sum, step);
    sum = half.shfl(sum, 0);
    if (in[i] % 2) {
        cg::coalesced_group odd = cg::coalesced_threads();
        sum += odd.shfl(sum, 0) + odd.size();
    }
    block.sync();
    out[i] = sum + half.any(in[i] == 3);
}
// launch: grid=(2,1,1) block=(128,1,1) shared=0 in=i32[256] out=i32[256]
extern "C" __global__ void good_tiles_of_two_warps(const int *in, int *out) {
    __shared__ cg::block_tile_memory<128> memory;
    __shared__ int s[128];
    cg::thread_block block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<64>(block);
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    for (int k = 0; k < 3; k++) {
        s[t] = in[i] + k;
        tile.sync();
        int other = s[t ^ 63];
        tile.sync();
        out[i] = other;
    }
    out[i] += tile.shfl(in[i], 40) + tile.any(in[i] == 3);
}
// launch: grid=(2,1,1) block=(128,1,1) shared=0 in=i32[256] out=i32[256]
extern "C" __global__ void bad_tile_of_two_warps_without_sync(const int *in, int *out) {
    __shared__ cg::block_tile_memory<128> memory;
    __shared__ int s[128];
    cg::thread_block block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<64>(block);
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 128 + t]; // expect: SharedRace
    int other = s[t ^ 63]; // expect: SharedRace
    tile.sync();
    out[blockIdx.x * 128 + t] = other;
}
