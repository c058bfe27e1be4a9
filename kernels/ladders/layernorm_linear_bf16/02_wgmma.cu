// Step 2 of 2: wgmma and the copy engine, in clusters. For compute capability 9.0 (sm_90a).
// What changed: products as in conv2d_backward_fp16_input/07_tma: a warpgroup brings, two multiply 64x256 elements each. Two blocks of a
// cluster have neighbouring tiles of rows and the same columns: each brings half of the second factor for both (multicast). A factor whose sum
// runs along its columns is read transposed. In the products for dW, idle warps of the first warpgroup add up dbias.
// Predicted: 700 TFLOP/s, as cuBLAS has, so 590 us for the products, and 50 us for 235 MB of the other passes.
// Measured: 639 us, as fast as torch.compile (638), 1.15 times as fast as PyTorch without it. At first it took 932: arrivals with .release and
// waits with .acquire at the scope of the cluster, which the copy engine does not need, made the products take 250, 257 and 274 us (now 229, 180
// and 180; cuBLAS 198, 173 and 167), and atomic additions of 792 blocks made `finish` take 104 (now 42). Without clusters 651 us, a second
// warpgroup that starts one step later 650 or two 656, streaming stores 651: no difference, as quartiles are up to 27 us apart.

#include "instructions.cuh"
#include <cuda_bf16.h>
typedef __nv_bfloat16 bf16;

// Arrives at the barrier of a block of the cluster.
__device__ inline void arrive(unsigned barrier, int block)
{
    asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;\n\t"
                 "mbarrier.arrive.shared::cluster.b64 _, [there]; }" ::"r"(barrier), "r"(block) : "memory");
}
__device__ inline void wait_for_cluster()
{
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}
// The copy engine brings a box of a matrix, exchanges the pieces of its rows, and tells the barrier; or to both blocks of a cluster.
template <bool BOTH>
__device__ inline void copy_box(unsigned to, const void* map, unsigned barrier, int x, int y)
{
    if (BOTH)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1, {%3, %4}], [%2], %5;"
                     ::"r"(to), "l"(map), "r"(barrier), "r"(x), "r"(y), "h"((short)3) : "memory");
    else
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                     ::"r"(to), "l"(map), "r"(barrier), "r"(x), "r"(y) : "memory");
}
template <bool A_LONG, bool B_LONG>
__device__ inline void multiply(float (&d)[128], unsigned long long a, unsigned long long b, bool add)
{
    asm volatile("{ .reg .pred add; setp.ne.b32 add, %130, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
                 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
                 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
                 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
                 "%128, %129, add, 1, 1, %131, %132; }"
                 : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24), EIGHT(d, 32), EIGHT(d, 40), EIGHT(d, 48), EIGHT(d, 56),
                   EIGHT(d, 64), EIGHT(d, 72), EIGHT(d, 80), EIGHT(d, 88), EIGHT(d, 96), EIGHT(d, 104), EIGHT(d, 112), EIGHT(d, 120)
                 : "l"(a), "l"(b), "r"((int)add), "n"(!A_LONG), "n"(!B_LONG));
}
__device__ inline unsigned rounded(float x, float y)
{
    __nv_bfloat162 both = __floats2bfloat162_rn(x, y);
    return *(unsigned*)&both;
}

const int M = 128, N = 256, DEPTH = 64, STAGES = 4; // of a tile and a step of the sum
const int CLUSTER = 2; // blocks with the same columns
const int SHARE = N / CLUSTER; // of the second factor that a block brings
const int A_SIZE = M * DEPTH * 2, STAGE = A_SIZE + N * DEPTH * 2;

// Of the normalised rows, dy and W: with boxes of 128 rows, then of 64, for factors that are read transposed.
__device__ __align__(128) unsigned long long maps[6][16];

// LONG: the sum runs along a factor's rows. bias: what is added to each column, or null. column_sums gets those of the first factor, or null.
template <bool A_LONG, bool B_LONG>
__device__ inline void product(const void* a_map, const void* b_map, bf16* result, const bf16* bias, float* column_sums, int rows,
                               int columns, int count)
{
    extern __shared__ char raw[];
    unsigned stages = (shared_address(raw) + 1023) / 1024 * 1024, full = stages + STAGES * STAGE, empty = full + 8 * STAGES;
    int rank = blockIdx.x % CLUSTER, helpers = column_sums ? 2 : 0;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) set_up(full + 8 * i, 1), set_up(empty + 8 * i, CLUSTER * (2 + helpers));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    wait_for_cluster();
    int across = columns / N, tiles = rows / (CLUSTER * M) * across, steps = count / DEPTH, stage = 0;
    if (threadIdx.x < 128) { // the warpgroup that brings; one thread of it suffices
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        int lane = threadIdx.x % 32, helper = threadIdx.x / 32 - 1;
        if (threadIdx.x == 0)
            for (int i = 0; i < 2; i++)
                asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(i ? a_map : b_map) : "memory");
        for (int tile = blockIdx.x / CLUSTER; tile < tiles; tile += gridDim.x / CLUSTER) {
            int m = (tile / across * CLUSTER + rank) * M, n = tile % across * N;
            if (threadIdx.x == 0) {
                for (int step = 0; step < steps; step++, stage++) {
                    int slot = stage % STAGES, k = step * DEPTH;
                    unsigned a = stages + slot * STAGE, b = a + A_SIZE + rank * (SHARE * DEPTH * 2), barrier = full + 8 * slot;
                    wait(empty + 8 * slot, (stage / STAGES + 1) & 1);
                    arrive_expecting(barrier, STAGE);
                    if (A_LONG) copy_box<false>(a, a_map, barrier, k, m);
                    else
                        for (int i = 0; i < M; i += 64) copy_box<false>(a + i * 128, a_map, barrier, m + i, k);
                    if (B_LONG) copy_box<CLUSTER == 2>(b, b_map, barrier, k, n + rank * SHARE);
                    else
                        for (int i = 0; i < SHARE; i += 64) copy_box<CLUSTER == 2>(b + i * 128, b_map, barrier, n + rank * SHARE + i, k);
                }
            } else if (helper >= 0 && helper < helpers) { // two neighbouring columns for each lane; blocks with the same take turns
                float first = 0.0f, second = 0.0f;
                for (int step = 0; step < steps; step++, stage++) {
                    int slot = stage % STAGES;
                    wait(full + 8 * slot, stage / STAGES & 1);
                    if (step % across == tile % across)
#pragma unroll 8
                        for (int k = 0; k < DEPTH; k++) {
                            const char* row = raw + (stages - shared_address(raw)) + slot * STAGE + helper * 8192 + k * 128;
                            float2 both = __bfloat1622float2(*(const __nv_bfloat162*)(row + ((lane / 4) ^ (k % 8)) * 16 + lane % 4 * 4));
                            first += both.x, second += both.y;
                        }
                    __syncwarp();
                    if (lane < CLUSTER) arrive(empty + 8 * slot, lane);
                }
                atomicAdd(&column_sums[m + helper * 64 + lane * 2], first);
                atomicAdd(&column_sums[m + helper * 64 + lane * 2 + 1], second);
            }
        }
    } else { // the two that multiply
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        int consumer = threadIdx.x / 128 - 1, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
        // LAG
        bool announces = threadIdx.x % 128 < CLUSTER; // to both blocks
        for (int tile = blockIdx.x / CLUSTER; tile < tiles; tile += gridDim.x / CLUSTER) {
            float sum[128];
#pragma unroll 1
            for (int step = 0; step < steps; step++, stage++) {
                wait(full + 8 * (stage % STAGES), stage / STAGES & 1);
                unsigned a = stages + stage % STAGES * STAGE, b = a + A_SIZE;
                a += consumer * 8192; // 64 rows of 128 bytes, or the second 64 columns
                before_products();
#pragma unroll
                for (int k = 0; k < DEPTH / 16; k++)
                    multiply<A_LONG, B_LONG>(sum, factor(a + k * (A_LONG ? 32 : 2048)), factor(b + k * (B_LONG ? 32 : 2048)), step + k > 0);
                end_products();
                wait_for_products<1>(); // those of the step before are done
                if (announces && step > 0) arrive(empty + 8 * ((stage - 1) % STAGES), threadIdx.x % 128);
            }
            wait_for_products<0>();
            if (announces) arrive(empty + 8 * ((stage - 1) % STAGES), threadIdx.x % 128);
            int m = (tile / across * CLUSTER + rank) * M + consumer * 64 + warp * 16 + lane / 4, n = tile % across * N;
#pragma unroll
            for (int j = 0; j < N / 32; j++) {
                float added[8] = {};
                if (bias)
#pragma unroll
                    for (int i = 0; i < 4; i++) {
                        float2 both = __bfloat1622float2(*(const __nv_bfloat162*)(bias + n + j * 32 + i * 8 + lane % 4 * 2));
                        added[2 * i] = both.x, added[2 * i + 1] = both.y;
                    }
#pragma unroll
                for (int low = 0; low < 2; low++) {
                    unsigned words[4];
#pragma unroll
                    for (int i = 0; i < 4; i++) {
                        int at = (j * 4 + i) * 4 + low * 2;
                        words[i] = rounded(sum[at] + added[2 * i], sum[at + 1] + added[2 * i + 1]);
                    }
                    *(uint4*)(result + (m + low * 8) * columns + n + j * 32 + lane % 4 * 8) =
                        exchange(words[0], words[1], words[2], words[3]);
                }
            }
        }
    }
    wait_for_cluster(); // no block ends while the other one may send something
}

__global__ void __cluster_dims__(CLUSTER) __launch_bounds__(384, 1) linear(const bf16* bias, bf16* y, int rows, int H, int O)
{
    product<true, true>(maps[0], maps[2], y, bias, nullptr, rows, O, H);
}
// The gradient of the normalised rows, which waits in dx.
__global__ void __cluster_dims__(CLUSTER) __launch_bounds__(384, 1) input(bf16* dx, int rows, int H, int O)
{
    product<true, false>(maps[1], maps[5], dx, nullptr, nullptr, rows, H, O);
}
__global__ void __cluster_dims__(CLUSTER) __launch_bounds__(384, 1) weights(bf16* dW, float* sums, int rows, int H, int O)
{
    product<false, false>(maps[4], maps[3], dW, nullptr, sums, O, H, rows);
}

// The passes over rows, as in layernorm_linear/rows.cuh: a thread has eight columns, a block of H/8 threads two rows at a time.
const int AT_ONCE = 2;
template <int COUNT>
__device__ void add_threads(float (&sums)[COUNT], float (&parts)[COUNT][8])
{
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        for (int step = 16; step > 0; step /= 2) sums[i] += __shfl_xor_sync(0xffffffff, sums[i], step);
        if (threadIdx.x % 32 == 0) parts[i][threadIdx.x / 32] = sums[i];
        sums[i] = 0.0f;
    }
    __syncthreads();
    for (int warp = 0; warp < blockDim.x / 32; warp++)
#pragma unroll
        for (int i = 0; i < COUNT; i++) sums[i] += parts[i][warp];
}
__device__ void load(const bf16* from, float (&to)[8])
{
    uint4 all = *(const uint4*)from;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float2 both = __bfloat1622float2(((const __nv_bfloat162*)&all)[i]);
        to[2 * i] = both.x, to[2 * i + 1] = both.y;
    }
}
__device__ void store(bf16* to, const float (&of)[8])
{
    *(uint4*)to = make_uint4(rounded(of[0], of[1]), rounded(of[2], of[3]), rounded(of[4], of[5]), rounded(of[6], of[7]));
}

// Writes zeros where others will add, and makes the maps, too.
__global__ void normalise(const bf16* x, const bf16* gamma, const bf16* beta, bf16* normed, float2* stats, float* sums, const bf16* dy,
                          const bf16* W, int rows, int H, int O, float eps)
{
    __shared__ __align__(128) unsigned long long built[6][16];
    __shared__ float parts[2][AT_ONCE][8];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < O; i += gridDim.x * blockDim.x) sums[i] = 0.0f;
    int c = threadIdx.x * 8, at = blockIdx.x * AT_ONCE * H + c;
    float v[AT_ONCE][8], g[8], b[8], sum[AT_ONCE] = {}, squares[AT_ONCE] = {};
#pragma unroll
    for (int r = 0; r < AT_ONCE; r++) load(x + at + r * H, v[r]);
    load(gamma + c, g);
    load(beta + c, b);
#pragma unroll
    for (int r = 0; r < AT_ONCE; r++)
#pragma unroll
        for (int j = 0; j < 8; j++) sum[r] += v[r][j];
    add_threads(sum, parts[0]);
#pragma unroll
    for (int r = 0; r < AT_ONCE; r++)
#pragma unroll
        for (int j = 0; j < 8; j++) {
            v[r][j] -= sum[r] / H;
            squares[r] += v[r][j] * v[r][j];
        }
    add_threads(squares, parts[1]);
#pragma unroll
    for (int r = 0; r < AT_ONCE; r++) {
        float rstd = rsqrtf(squares[r] / H + eps);
#pragma unroll
        for (int j = 0; j < 8; j++) v[r][j] = v[r][j] * rstd * g[j] + b[j];
        store(normed + at + r * H, v[r]);
        if (threadIdx.x == 0) stats[blockIdx.x * AT_ONCE + r] = make_float2(sum[r] / H, rstd);
    }
    if (blockIdx.x > 0 || threadIdx.x >= 32) return;
    for (int i = threadIdx.x; i < 96; i += 32) built[i / 16][i % 16] = 0;
    __syncwarp();
    if (threadIdx.x == 0)
        for (int map = 0; map < 6; map++) {
            int kind = map % 3;
            describe(shared_address(built[map]), kind == 0 ? normed : kind == 1 ? dy : W, kind == 2 ? O : rows, kind == 1 ? O : H,
                     map == 2 ? SHARE : map < 3 ? M : 64);
        }
    __syncwarp();
    for (int i = threadIdx.x; i < 96; i += 32) maps[i / 16][i % 16] = built[i / 16][i % 16];
}

// dx has the gradient of the normalised rows, and gets that of x. Each block leaves its share of dgamma and dbeta, one behind the other.
__global__ void finish(const bf16* x, const bf16* gamma, const float2* stats, bf16* dx, float* shares, int rows, int H)
{
    __shared__ float parts[2][2 * AT_ONCE][8];
    int c = threadIdx.x * 8, turn = 0;
    float g[8], in_gamma[8] = {}, in_beta[8] = {};
    load(gamma + c, g);
    for (int row = blockIdx.x * AT_ONCE; row < rows; row += gridDim.x * AT_ONCE, turn ^= 1) {
        float hat[AT_ONCE][8], d[AT_ONCE][8], of_rows[2 * AT_ONCE] = {};
#pragma unroll
        for (int r = 0; r < AT_ONCE; r++) load(x + (row + r) * H + c, hat[r]), load(dx + (row + r) * H + c, d[r]);
#pragma unroll
        for (int r = 0; r < AT_ONCE; r++)
#pragma unroll
            for (int j = 0; j < 8; j++) {
                hat[r][j] = (hat[r][j] - stats[row + r].x) * stats[row + r].y;
                in_beta[j] += d[r][j];
                in_gamma[j] += d[r][j] * hat[r][j];
                d[r][j] *= g[j];
                of_rows[r] += d[r][j];
                of_rows[AT_ONCE + r] += d[r][j] * hat[r][j];
            }
        add_threads(of_rows, parts[turn]);
#pragma unroll
        for (int r = 0; r < AT_ONCE; r++) {
#pragma unroll
            for (int j = 0; j < 8; j++)
                d[r][j] = stats[row + r].y * (d[r][j] - of_rows[r] / H - hat[r][j] * (of_rows[AT_ONCE + r] / H));
            store(dx + (row + r) * H + c, d[r]);
        }
    }
#pragma unroll
    for (int j = 0; j < 8; j++) shares[blockIdx.x * 2 * H + c + j] = in_gamma[j], shares[(blockIdx.x * 2 + 1) * H + c + j] = in_beta[j];
}

// Adds the shares up, 32 columns for each block, and rounds dbias.
__global__ void last(const float* shares, const float* sums, bf16* dgamma, bf16* dbeta, bf16* dbias, int count, int H, int O)
{
    __shared__ float part[8][32];
    int c = blockIdx.x * 32 + threadIdx.x;
    float sum = 0.0f;
    if (c < 2 * H)
        for (int i = threadIdx.y; i < count; i += 8) sum += shares[i * 2 * H + c];
    part[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0) return;
    for (int i = 1; i < 8; i++) sum += part[i][threadIdx.x];
    if (c < 2 * H) (c < H ? dgamma : dbeta)[c % H] = bf16(sum);
    else dbias[c - 2 * H] = bf16(sums[c - 2 * H]);
}
