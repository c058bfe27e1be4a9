// Step 4 of 4: wgmma and the copy engine. For compute capability 9.0 (sm_90a).
// What changed: a float is the sum of three numbers of bf16, which have eight significant bits each, and a product of floats six products of
// bf16; the other three are below the rounding of a float. wgmma reads bf16 transposed, which it does not for TF32, so nothing has to be
// transposed in memory. `split` stores the three numbers of a matrix one matrix behind the other. A step of 64 brings the three of either
// factor, 96 KB, for six products; its sums begin at zero and are added to the total as floats, since tensor cores truncate.
// Predicted: a sixth of some 700 TFLOP/s is 115; two passes more over memory.
// Measured: 589 us, 2.2 times as fast as PyTorch, with an eighth of its largest error of y; 3,463 us for 1,024 to 4,096, 2.4 times. The products
// make 115 to 126 TFLOP/s, 690 to 760 of bf16. With sums that run on in the tensor cores it takes as long, and the error is 4 times PyTorch's.
// Streaming stores of y, or a second warpgroup that starts a step later, make no difference. When all warps of `split_dy` and all blocks of
// `finish` added to the same sums atomically, these took 75 and 55 us; now 38, and 41 with 8 for `add_shares`.
// An infinity becomes NaN, as in step 3, and so does what rounds to one, from 3.39e38 on.

#include "instructions.cuh"
#include "rows.cuh"
#include <cuda_bf16.h>
typedef __nv_bfloat16 bf16;

template <bool A_LONG, bool B_LONG>
__device__ inline void multiply(float (&d)[64], unsigned long long a, unsigned long long b, bool add)
{
    asm volatile("{ .reg .pred add; setp.ne.b32 add, %66, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "%64, %65, add, 1, 1, %67, %68; }"
                 : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24), EIGHT(d, 32), EIGHT(d, 40), EIGHT(d, 48), EIGHT(d, 56)
                 : "l"(a), "l"(b), "r"((int)add), "n"(!A_LONG), "n"(!B_LONG));
}

const int TILE = 128, DEPTH = 64, STAGES = 2;
const int PART = TILE * DEPTH * 2, STAGE = 6 * PART; // bytes: a number of each element of a factor, and all of both

// Of the normalised rows, dy and W: with boxes of 128 rows, then of 64, for factors that are read transposed.
__device__ __align__(128) unsigned long long maps[6][16];

__device__ void split(const float (&v)[4], bf16* to, int distance)
{
    float rest[4] = {v[0], v[1], v[2], v[3]};
#pragma unroll
    for (int part = 0; part < 3; part++) {
        bf16 all[4];
#pragma unroll
        for (int i = 0; i < 4; i++) all[i] = bf16(rest[i]), rest[i] -= float(all[i]);
        *(uint2*)(to + part * distance) = *(uint2*)all;
    }
}

// Besides, zeros where others will add, and the maps.
__global__ void normalise(const float* x, const float* gamma, const float* beta, float* room, float2* stats, float* dW, float* dbias,
                           int rows, int H, int O, float eps)
{
    __shared__ __align__(128) unsigned long long built[6][16];
    bf16* parts = (bf16*)room;
    write_zeros(dW, dbias, H, O);
    normalise_rows(x, gamma, beta, stats, H, eps, [=](int at, const float (&v)[4]) { split(v, parts + at, rows * H); });
    if (blockIdx.x > 0 || threadIdx.x >= 32) return;
    for (int i = threadIdx.x; i < 96; i += 32) built[i / 16][i % 16] = 0;
    __syncwarp();
    if (threadIdx.x == 0)
        for (int map = 0; map < 6; map++) {
            int kind = map % 3;
            describe(shared_address(built[map]), parts + (kind == 0 ? 0 : kind == 1 ? 3 * rows * H : 3 * rows * (H + O)),
                     3 * (kind == 2 ? O : rows), kind == 1 ? O : H, map < 3 ? TILE : 64);
        }
    __syncwarp();
    for (int i = threadIdx.x; i < 96; i += 32) maps[i / 16][i % 16] = built[i / 16][i % 16];
}

// Splits a matrix; a warp has 128 columns of every so many rows. `sums` gets those of the columns, if it is not null.
__device__ void split_matrix(const float* from, bf16* to, float* sums, int rows, int columns)
{
    int c = blockIdx.x * 128 + threadIdx.x % 32 * 4, step = gridDim.y * 8;
    float sum[4] = {};
    for (int row = blockIdx.y * 8 + threadIdx.x / 32; row < rows; row += 4 * step) {
        float v[4][4] = {};
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (row + i * step < rows) load(from + (row + i * step) * columns + c, v[i]);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (row + i * step < rows) split(v[i], to + (row + i * step) * columns + c, rows * columns);
#pragma unroll
            for (int j = 0; j < 4; j++) sum[j] += v[i][j];
        }
    }
    if (!sums) return;
    __shared__ float shares[8][128];
    *(float4*)&shares[threadIdx.x / 32][threadIdx.x % 32 * 4] = make_float4(sum[0], sum[1], sum[2], sum[3]);
    __syncthreads();
    if (threadIdx.x >= 128) return;
    for (int i = 1; i < 8; i++) shares[0][threadIdx.x] += shares[i][threadIdx.x];
    atomicAdd(&sums[blockIdx.x * 128 + threadIdx.x], shares[0][threadIdx.x]);
}
__global__ void split_dy(const float* dy, float* room, float* dbias, int rows, int H, int O)
{
    split_matrix(dy, (bf16*)room + 3 * rows * H, dbias, rows, O);
}
__global__ void split_W(const float* W, float* room, int rows, int H, int O)
{
    split_matrix(W, (bf16*)room + 3 * rows * (H + O), nullptr, O, H);
}

// Tiles of `rows` by `columns`, each for a part of the sum. LONG: the sum runs along a factor's rows.
template <bool A_LONG, bool B_LONG, class Use>
__device__ inline void product(const void* a_map, const void* b_map, int rows, int columns, int count, int splits, Use use)
{
    extern __shared__ char raw[];
    unsigned stages = (shared_address(raw) + 1023) / 1024 * 1024, full = stages + STAGES * STAGE, empty = full + 8 * STAGES;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) set_up(full + 8 * i, 1), set_up(empty + 8 * i, 8);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    int across = columns / TILE, tiles = rows / TILE * across, all = count / DEPTH, stage = 0;
    if (threadIdx.x < 128) { // the warpgroup that brings; one thread of it suffices
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x > 0) return;
        for (int i = 0; i < 2; i++)
            asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(i ? a_map : b_map) : "memory");
        for (int job = blockIdx.x; job < tiles * splits; job += gridDim.x) {
            int m = job % tiles / across * TILE, n = job % tiles % across * TILE, split = job / tiles;
            for (int step = all * split / splits; step < all * (split + 1) / splits; step++, stage++) {
                int slot = stage % STAGES, k = step * DEPTH;
                unsigned to = stages + slot * STAGE, barrier = full + 8 * slot;
                wait(empty + 8 * slot, (stage / STAGES + 1) & 1);
                arrive_expecting(barrier, STAGE);
                for (int part = 0; part < 3; part++, to += PART) {
                    if (A_LONG) copy_box(to, a_map, barrier, k, part * rows + m);
                    else
                        for (int i = 0; i < TILE; i += 64) copy_box(to + i * 128, a_map, barrier, m + i, part * count + k);
                    if (B_LONG) copy_box(to + 3 * PART, b_map, barrier, k, part * columns + n);
                    else
                        for (int i = 0; i < TILE; i += 64) copy_box(to + 3 * PART + i * 128, b_map, barrier, n + i, part * count + k);
                }
            }
        }
    } else { // the two that multiply
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        int consumer = threadIdx.x / 128 - 1, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
        for (int job = blockIdx.x; job < tiles * splits; job += gridDim.x) {
            int m = job % tiles / across * TILE, n = job % tiles % across * TILE, split = job / tiles;
            float sum[64] = {};
#pragma unroll 1
            for (int step = all * split / splits; step < all * (split + 1) / splits; step++, stage++) {
                unsigned a = stages + stage % STAGES * STAGE + consumer * 8192, b = a - consumer * 8192 + 3 * PART;
                float part[64];
                wait(full + 8 * (stage % STAGES), stage / STAGES & 1);
                before_products();
#pragma unroll
                for (int pair = 0; pair < 6; pair++) { // of the numbers' products, the small ones first
                    constexpr int OF_A[] = {0, 2, 1, 0, 1, 0}, OF_B[] = {2, 0, 1, 1, 0, 0};
#pragma unroll
                    for (int k = 0; k < DEPTH / 16; k++)
                        multiply<A_LONG, B_LONG>(part, factor(a + OF_A[pair] * PART + k * (A_LONG ? 32 : 2048)),
                                                 factor(b + OF_B[pair] * PART + k * (B_LONG ? 32 : 2048)), pair + k > 0);
                }
                end_products();
                wait_for_products<0>();
                if (lane == 0) arrive(empty + 8 * (stage % STAGES));
#pragma unroll
                for (int i = 0; i < 64; i++) sum[i] += part[i];
            }
            m += consumer * 64 + warp * 16 + lane / 4, n += lane % 4 * 2;
#pragma unroll
            for (int i = 0; i < 64; i += 2) use(m + i / 2 % 2 * 8, n + i / 4 * 8, sum[i], sum[i + 1]);
        }
    }
}

// The parts come by way of the maps.
__global__ void __launch_bounds__(384, 1) linear(const float*, const float* bias, float* y, int rows, int H, int O)
{
    product<true, true>(maps[0], maps[2], rows, O, H, 1, [=](int m, int n, float u, float v) {
        *(float2*)(y + m * O + n) = make_float2(u + bias[n], v + bias[n + 1]);
    });
}
// The gradient of the normalised rows, which waits in dx.
__global__ void __launch_bounds__(384, 1) input(const float*, float* dx, int rows, int H, int O)
{
    product<true, false>(maps[1], maps[5], rows, H, O, 1, [=](int m, int n, float u, float v) {
        *(float2*)(dx + m * H + n) = make_float2(u, v);
    });
}
__global__ void __launch_bounds__(384, 1) weights(const float*, float* dW, int rows, int H, int O, int splits)
{
    product<false, false>(maps[4], maps[3], O, H, rows, splits, [=](int m, int n, float u, float v) {
        atomicAdd(&dW[m * H + n], u);
        atomicAdd(&dW[m * H + n + 1], v);
    });
}
