// Step 3 of 3: wgmma and the copy engine. For compute capability 9.0 (sm_90a).
// What changed: a block has 128 filters by 128 channels by the three weights of a row of the filter, so that the pixels of an image's row
// with a halo serve three weights: 192 sums for each thread of two warpgroups. One product has the three weights as its columns, which are
// one pixel apart in shared memory. A stage is a row of an image, 18 KB, and there are twelve. 22 shares of the positions are added
// atomically.
// Predicted: 45 us for the products at 84 % of the peak, 26 MB of additions at about 5 TB/s, and 5 us for the launches and the first stage.
// Measured: 67.8 us, 1.08 times as fast as PyTorch (73.2 us); 22.0 us for 64 to 64 channels. The products alone take 60.2 us, with zeros as
// data 57.0. It makes no difference to have three products of 128 columns, or shares that are stored and added up by another kernel; copies
// by cp.async with indices of 64 bits took 79.0 us. For 64 to 64 channels, half of the additions go by way of shared memory (22.1 us;
// before, 26.3). Half as many blocks: 102.7 and 29.6 us.

#include "instructions.cuh"

// Adds 64 filters by three times 64 channels: both factors are stored transposed, and the taps of a row are a pixel apart.
__device__ inline void multiply(float (&d)[96], unsigned long long a, unsigned long long b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n192k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
                 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95}, "
                 "%96, %97, 1, 1, 1, 1, 1;"
                 : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24), EIGHT(d, 32), EIGHT(d, 40),
                   EIGHT(d, 48), EIGHT(d, 56), EIGHT(d, 64), EIGHT(d, 72), EIGHT(d, 80), EIGHT(d, 88)
                 : "l"(a), "l"(b));
}

const int WIDTH = 32;                  // pixels of a row of an image
const int GRADIENTS = WIDTH * 128;     // bytes of a row for 64 filters
const int PIXELS = (WIDTH + 2) * 128;  // and of its pixels with their neighbours for 64 channels
const int PLACE = 5120;                // of these, in a stage

__device__ __align__(128) unsigned long long maps[2][16];

// Zeros to add to, and the maps of the copy engine.
__global__ void prepare(const half* grad_output, const half* input, float* grad_weights, int N, int H, int W, int C, int K)
{
    __shared__ __align__(128) unsigned long long built[2][16];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 9 * K * C) grad_weights[i] = 0.0f;
    if (i >= 32) return;
    built[i / 16][i % 16] = 0;
    __syncwarp();
    if (i == 0) describe<2>(shared_address(built[0]), grad_output, {K, N * H * W}, {64, WIDTH});
    if (i == 1) describe<4>(shared_address(built[1]), input, {C, W, H, N}, {64, WIDTH + 2, 1, 1});
    __syncwarp();
    maps[i / 16][i % 16] = built[i / 16][i % 16];
}

template <int TILE, int STAGES>
__device__ inline void tile(float* grad_weights, int N, int H, int C, int K)
{
    constexpr int HALVES = TILE / 64, STAGE = HALVES * (GRADIENTS + PLACE);
    // Two warpgroups share the filters, or if there are 64, the rows.
    constexpr int SHARED_ROWS = TILE == 64 ? 2 : 1;
    extern __shared__ char raw[];
    unsigned stages = (shared_address(raw) + 1023) / 1024 * 1024, full = stages + STAGES * STAGE, empty = full + 8 * STAGES;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) set_up(full + 8 * i, 1), set_up(empty + 8 * i, 8 / SHARED_ROWS);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    int job = blockIdx.x, split = blockIdx.y, splits = gridDim.y;
    int p = job % 3, k0 = job / 3 % (K / TILE) * TILE, c0 = job / 3 / (K / TILE) * TILE;
    int rows = N * H;
    int first = (int)((long long)rows * split / splits), last = (int)((long long)rows * (split + 1) / splits);

    if (threadIdx.x < 128) { // the warpgroup that brings; one thread of it suffices
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (threadIdx.x > 0) return;
        for (int i = 0; i < 2; i++)
            asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(maps[i]) : "memory");
        for (int row = first; row < last; row++) {
            int slot = (row - first) % STAGES;
            unsigned to = stages + slot * STAGE;
            wait(empty + 8 * slot, ((row - first) / STAGES + 1) & 1);
            arrive_expecting(full + 8 * slot, HALVES * (GRADIENTS + PIXELS));
            for (int i = 0; i < HALVES; i++) {
                copy_box(to + i * GRADIENTS, maps[0], full + 8 * slot, k0 + 64 * i, row * WIDTH);
                copy_box(to + HALVES * GRADIENTS + i * PLACE, maps[1], full + 8 * slot, c0 + 64 * i, -1, row % H + p - 1, row / H);
            }
        }
    } else { // the two that multiply
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
        int consumer = threadIdx.x / 128 - 1, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
        float sum[HALVES][96];
#pragma unroll
        for (int i = 0; i < HALVES; i++)
#pragma unroll
            for (int j = 0; j < 96; j++) sum[i][j] = 0.0f;
        int before = -1; // the stage whose products may still run
#pragma unroll 1
        for (int stage = SHARED_ROWS == 2 ? consumer : 0; stage < last - first; stage += SHARED_ROWS) {
            wait(full + 8 * (stage % STAGES), stage / STAGES & 1);
            unsigned gradients = stages + stage % STAGES * STAGE, pixels = gradients + HALVES * GRADIENTS;
            if (SHARED_ROWS == 1) gradients += consumer * GRADIENTS;
            before_products();
#pragma unroll
            for (int k = 0; k < WIDTH / 16; k++)
#pragma unroll
                for (int i = 0; i < HALVES; i++)
                    multiply(sum[i], factor(gradients + k * 2048, 0, 1024), factor(pixels + i * PLACE + k * 2048, 128, 1024));
            end_products();
            wait_for_products<1>();
            if (lane == 0 && before >= 0) arrive(empty + 8 * (before % STAGES));
            before = stage;
        }
        wait_for_products<0>();
        if (SHARED_ROWS == 2) { // they have sums of the same weights: the second hands its over
            asm volatile("bar.sync 1, 256;" ::: "memory"); // nobody reads a stage any more
            float* handed = (float*)(raw + (stages - shared_address(raw))) + threadIdx.x % 128;
            if (consumer == 1)
#pragma unroll
                for (int j = 0; j < 96; j++) handed[j * 128] = sum[0][j];
            asm volatile("bar.sync 1, 256;" ::: "memory");
            if (consumer == 1) return;
#pragma unroll
            for (int j = 0; j < 96; j++) sum[0][j] += handed[j * 128];
        }
#pragma unroll
        for (int i = 0; i < HALVES; i++)
#pragma unroll
            for (int low = 0; low < 2; low++) {
                int k = k0 + (SHARED_ROWS == 1 ? consumer * 64 : 0) + warp * 16 + low * 8 + lane / 4;
                float* to = grad_weights + (k * 9 + p * 3) * C + c0 + i * 64 + lane % 4 * 2;
#pragma unroll
                for (int j = 0; j < 24; j++)
                    asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(to + j / 8 * C + j % 8 * 8),
                                 "f"(sum[i][j * 4 + low * 2]), "f"(sum[i][j * 4 + low * 2 + 1]) : "memory");
            }
    }
}

__global__ void __launch_bounds__(384, 1)
    weights_tma(const half* grad_output, const half* input, float* grad_weights, int N, int H, int W, int C, int K)
{
    if (C % 128 == 0 && K % 128 == 0) tile<128, 12>(grad_weights, N, H, C, K);
    else tile<64, 20>(grad_weights, N, H, C, K);
}
