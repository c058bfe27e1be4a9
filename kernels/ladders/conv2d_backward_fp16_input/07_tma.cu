// Step 7 of 7: the copy engine (TMA), in step 5. For compute capability 9.0 (sm_90a); the virtual machine has no copy engine.
// What changed: one thread asks for a box of 10x34 pixels and for 64x64 weights; the engine finds the addresses, writes zeros outside of
// the image and tells the barrier how many bytes have come. Nobody needs a fence.
// Predicted: step 6 takes 50 us without its copies, so at most 8 us less.
// Measured: 56.8 us, 1.06 times as fast as PyTorch (60.4 us); 16.2 us for 64 to 64 channels. The engine reads what it must know of a
// tensor, its map, from global memory. A host makes it (cuTensorMapEncodeTiled), but a launch of this workbook has no place for it, so each
// block makes its own from zeros, field by field: 1 us. That works on this GPU and driver; NVIDIA does not promise it. With all data zero a
// kernel like this takes 3 us less, for the tensor cores' power counts too. One warpgroup three weights behind the other, so that they
// store at different times: no gain.

#include <cuda_fp16.h>

__device__ inline unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
// Barrier objects in shared memory.
__device__ inline void set_up(unsigned barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ inline void arrive(unsigned barrier)
{
    asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(barrier) : "memory");
}
__device__ inline void wait(unsigned barrier, unsigned parity)
{
    asm volatile("{ .reg .pred done;\n\t"
                 "again: mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n\t"
                 "@!done bra again; }" ::"r"(barrier), "r"(parity) : "memory");
}
// One thread announces the bytes that will come.
__device__ inline void arrive_expecting(unsigned barrier, unsigned bytes)
{
    asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared.b64 t, [%0], %1; }" ::"r"(barrier), "r"(bytes) : "memory");
}
// The copy engine brings a box of a tensor, with zeros outside of it, exchanges the pieces of its rows, and tells the barrier.
__device__ inline void copy_box(unsigned to, const void* map, unsigned barrier, int x, int y, int z)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
                 ::"r"(to), "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z) : "memory");
}
__device__ inline void copy_box(unsigned to, const void* map, unsigned barrier, int x, int y, int z, int w)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
                 ::"r"(to), "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}

#define REPLACE(field, type, value, ...) \
    asm volatile("tensormap.replace.tile." field ".shared::cta.b1024." type " [%0], " value ";" ::"r"(map), ##__VA_ARGS__ : "memory")
// One axis of a map after the other; `stride` is the bytes from an element of this axis to the next.
template <int AXIS, int RANK>
__device__ inline void describe_axes(unsigned map, const int (&size)[RANK], const int (&box)[RANK], long long stride)
{
    if constexpr (AXIS < RANK) {
        if constexpr (AXIS > 0) REPLACE("global_stride", "b64", "%1, %2", "n"(AXIS - 1), "l"(stride));
        REPLACE("global_dim", "b32", "%1, %2", "n"(AXIS), "r"(size[AXIS]));
        REPLACE("box_dim", "b32", "%1, %2", "n"(AXIS), "r"(box[AXIS]));
        REPLACE("element_stride", "b32", "%1, %2", "n"(AXIS), "r"(1));
        describe_axes<AXIS + 1>(map, size, box, stride * size[AXIS]);
    }
}
// Makes a map, zeros so far, of a tensor of halves: its sizes and those of a box, the innermost first.
template <int RANK>
__device__ inline void describe(unsigned map, const void* tensor, const int (&size)[RANK], const int (&box)[RANK])
{
    REPLACE("global_address", "b64", "%1", "l"(tensor));
    REPLACE("rank", "b32", "%1", "r"(RANK - 1));
    describe_axes<0>(map, size, box, 2);
    REPLACE("elemtype", "b32", "6");          // f16
    REPLACE("interleave_layout", "b32", "0"); // none
    REPLACE("swizzle_mode", "b32", "3");      // rows of 128 bytes
    REPLACE("fill_mode", "b32", "0");         // zeros
}
// A warp brings a map to global memory, where the copy engine reads it.
__device__ inline void publish(unsigned long long* map, const void* built)
{
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;\n\t"
                 "fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map), "r"(shared_address(built)) : "memory");
}
// The products of a warpgroup, four warps: they are started, ended as a group, and waited for.
__device__ inline void before_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int GROUPS>
__device__ inline void wait_for_products()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(GROUPS) : "memory");
}
// A factor in shared memory: rows of 128 bytes, whose pieces are exchanged as place() does. `stride` is the distance between
// groups of eight rows. In a factor that is stored transposed, `leading` is the distance between columns 0 to 63 and the next 64.
__device__ inline unsigned long long factor(unsigned at, int leading, int stride)
{
    return (at & 0x3FFFFull) >> 4 | (unsigned long long)(leading >> 4) << 16 | (unsigned long long)(stride >> 4) << 32 | 1ull << 62;
}
#define EIGHT(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
__device__ inline void multiply(float (&d)[64], unsigned long long a, unsigned long long b, bool add)
{
    asm volatile("{ .reg .pred add; setp.ne.b32 add, %66, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "%64, %65, add, 1, 1, 0, 1; }"
                 : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24), EIGHT(d, 32), EIGHT(d, 40),
                   EIGHT(d, 48), EIGHT(d, 56)
                 : "l"(a), "l"(b), "r"((int)add));
}
__device__ inline void multiply(float (&d)[32], unsigned long long a, unsigned long long b, bool add)
{
    asm volatile("{ .reg .pred add; setp.ne.b32 add, %34, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "%32, %33, add, 1, 1, 0, 1; }"
                 : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24)
                 : "l"(a), "l"(b), "r"((int)add));
}
__device__ inline unsigned rounded(float x, float y)
{
    half2 both = __floats2half2_rn(x, y);
    return *(unsigned*)&both;
}
// Four lanes hold a word of each of four pieces of 16 bytes; afterwards lane i holds piece i.
__device__ inline uint4 exchange(unsigned a, unsigned b, unsigned c, unsigned d)
{
    bool odd = threadIdx.x & 1, high = threadIdx.x & 2;
    unsigned x = __shfl_xor_sync(0xffffffff, odd ? a : b, 1), y = __shfl_xor_sync(0xffffffff, odd ? c : d, 1);
    if (odd) a = x, c = y;
    else b = x, d = y;
    x = __shfl_xor_sync(0xffffffff, high ? a : c, 2), y = __shfl_xor_sync(0xffffffff, high ? b : d, 2);
    if (high) a = x, b = y;
    else c = x, d = y;
    return make_uint4(a, b, c, d);
}

const int ROWS = 8, COLUMNS = 32;              // of a tile
const int PITCH = COLUMNS + 2;                 // pixels of a row with its neighbours
const int PIXELS = (ROWS + 2) * PITCH;         // that a tile needs
const int SLAB = (PIXELS * 128 + 1023) / 1024 * 1024;
const int DEPTH = 64;                          // channels of the output in a slab
const int BLOCKS = 132;                        // at most

__device__ __align__(128) unsigned long long maps[BLOCKS][2][16];

template <int CHANNELS, int STAGES>
__device__ inline void tile(const half* grad_output, const half* weights, half* grad_input, int N, int H, int W, int C, int K)
{
    constexpr int STAGE = DEPTH * CHANNELS * 2;
    extern __shared__ char raw[];
    unsigned slabs = (shared_address(raw) + 1023) / 1024 * 1024, stages = slabs + 2 * SLAB;
    unsigned slab_full = stages + STAGES * STAGE, slab_free = slab_full + 16, full = slab_free + 16, empty = full + 8 * STAGES;
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++) set_up(slab_full + 8 * i, 1), set_up(slab_free + 8 * i, 8);
        for (int i = 0; i < STAGES; i++) set_up(full + 8 * i, 1), set_up(empty + 8 * i, 8);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    int across = W / COLUMNS, down = (H + ROWS - 1) / ROWS, parts = C / CHANNELS;
    int tiles = N * across * down * parts, chunks = K / DEPTH;
    int slab = 0, stage = 0; // how many were used so far, in all tiles
    if (threadIdx.x < 128) { // the warpgroup that brings; one thread of it suffices
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        __shared__ __align__(128) unsigned long long built[2][16];
        unsigned long long *pixel_map = maps[blockIdx.x][0], *weight_map = maps[blockIdx.x][1];
        if (threadIdx.x < 32) {
            built[threadIdx.x / 16][threadIdx.x % 16] = 0;
            __syncwarp();
            if (threadIdx.x == 0)
                describe<4>(shared_address(built[0]), grad_output, {K, W, H, N}, {DEPTH, COLUMNS + 2, ROWS + 2, 1});
            if (threadIdx.x == 1) describe<3>(shared_address(built[1]), weights, {C, 9, K}, {64, 1, DEPTH});
            __syncwarp();
            publish(pixel_map, built[0]);
            publish(weight_map, built[1]);
        }
        for (int tile = blockIdx.x; tile < tiles && threadIdx.x == 0; tile += gridDim.x) {
            int part = tile % parts, w0 = tile / parts % across * COLUMNS;
            int h0 = tile / parts / across % down * ROWS, n = tile / parts / across / down;
            for (int chunk = 0; chunk < chunks; chunk++) {
                unsigned barrier = slab_full + 8 * (slab % 2);
                wait(slab_free + 8 * (slab % 2), (slab / 2 + 1) & 1);
                arrive_expecting(barrier, PIXELS * 128);
                copy_box(slabs + slab++ % 2 * SLAB, pixel_map, barrier, chunk * DEPTH, w0 - 1, h0 - 1, n);
                for (int tap = 0; tap < 9; tap++) {
                    int slot = stage % STAGES;
                    wait(empty + 8 * slot, (stage++ / STAGES + 1) & 1);
                    arrive_expecting(full + 8 * slot, STAGE);
                    for (int i = 0; i < CHANNELS / 64; i++)
                        copy_box(stages + slot * STAGE + i * 8192, weight_map, full + 8 * slot, part * CHANNELS + i * 64, tap, chunk * DEPTH);
                }
            }
        }
    } else { // the two that multiply
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        int consumer = threadIdx.x / 128 - 1, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            float sum[2][CHANNELS / 2];
            for (int chunk = 0; chunk < chunks; chunk++) {
                wait(slab_full + 8 * (slab % 2), slab / 2 & 1);
                unsigned own = slabs + slab % 2 * SLAB + consumer * 16 * 128;
#pragma unroll 1
                for (int tap = 0; tap < 9; tap++) {
                    wait(full + 8 * (stage % STAGES), stage / STAGES & 1);
                    unsigned pixels = own + ((2 - tap / 3) * PITCH + 2 - tap % 3) * 128;
                    unsigned weight = stages + stage % STAGES * STAGE;
                    before_products();
#pragma unroll
                    for (int k = 0; k < 4; k++)
#pragma unroll
                        for (int patch = 0; patch < 2; patch++)
                            multiply(sum[patch], factor(pixels + patch * 1024 + k * 32, 0, PITCH * 128),
                                     factor(weight + k * 2048, 8192, 1024), chunk + tap + k > 0);
                    end_products();
                    wait_for_products<1>(); // those of the weight before are done
                    if (lane == 0 && chunk + tap > 0) {
                        arrive(empty + 8 * ((stage - 1) % STAGES));
                        if (tap == 0) arrive(slab_free + 8 * ((slab - 1) % 2));
                    }
                    stage++;
                }
                slab++;
            }
            wait_for_products<0>();
            if (lane == 0) {
                arrive(empty + 8 * ((stage - 1) % STAGES));
                arrive(slab_free + 8 * ((slab - 1) % 2));
            }
            int part = tile % parts, w0 = tile / parts % across * COLUMNS;
            int h0 = tile / parts / across % down * ROWS, n = tile / parts / across / down;
#pragma unroll
            for (int patch = 0; patch < 2; patch++)
#pragma unroll
                for (int low = 0; low < 2; low++) {
                    // Eight rows of the product are eight pixels of an image's row.
                    int h = h0 + warp * 2 + low, w = w0 + (consumer * 2 + patch) * 8 + lane / 4;
                    half* to = grad_input + ((n * H + h) * W + w) * C + part * CHANNELS + lane % 4 * 8;
#pragma unroll
                    for (int j = 0; j < CHANNELS / 32; j++) {
                        unsigned words[4];
#pragma unroll
                        for (int i = 0; i < 4; i++)
                            words[i] = rounded(sum[patch][(j * 4 + i) * 4 + low * 2], sum[patch][(j * 4 + i) * 4 + low * 2 + 1]);
                        *(uint4*)(to + j * 32) = exchange(words[0], words[1], words[2], words[3]);
                    }
                }
        }
    }
}

__global__ void __launch_bounds__(384, 1)
    input_tma(const half* grad_output, const half* weights, half* grad_input, int N, int H, int W, int C, int K)
{
    if (C % 128 == 0) tile<128, 8>(grad_output, weights, grad_input, N, H, W, C, K);
    else tile<64, 12>(grad_output, weights, grad_input, N, H, W, C, K);
}
