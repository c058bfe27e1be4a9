// Step 3 of 4: tensor cores.
// What changed: a float is the sum of two numbers of TF32, which has 11 significant bits: the first bits, and what is left. A product of
// floats is then high*high + high*low + low*high; low*low is below the rounding of a float. Copies by cp.async fill the tiles of the next two
// steps. The two numbers that a lane has of a row are neighbours, as the order of the sum is free. Tensor cores truncate their sums, so those
// of 32 steps begin at zero and are added to the total as floats.
// Predicted: mma.sync reaches some 60 % of the 530 TFLOP/s of TF32 at 1,980 MHz, and a third of that is 100 TFLOP/s.
// Measured: 1,202 us, 1.08 times as fast as PyTorch; 7,785 us for 1,024 to 4,096. It makes 50 TFLOP/s, half of the prediction. The largest
// error of y is 0.4 of PyTorch's. If all sums run on in the tensor cores, a warp can have 64x64 of them, and it takes 1,061 and 6,632 us, but the
// error grows to 5 times PyTorch's, and over 16,384 rows to 45 times. Sums of eight steps, 1,211 us; both numbers rounded (cvt.rna), 1,298.
// An infinity becomes NaN, since infinity minus infinity is left.

const int TILE_M = 128, TILE_N = 128, DEPTH = 32, STAGES = 3;
const int ROWS = 64, COLUMNS = 32; // of a warp
const int ACROSS = TILE_N / COLUMNS, THREADS = TILE_M / ROWS * ACROSS * 32;
const int BLOCKS = 1; // of a multiprocessor

// How a factor lies in shared memory; LONG: the sum runs along its rows. The pitch lets all lanes of a fragment use different banks.
template <bool LONG, int TILE>
struct Layout {
    static constexpr int PITCH = LONG ? DEPTH + 8 : TILE + 4;
    static constexpr int SIZE = LONG ? TILE * PITCH : DEPTH * PITCH;
};
template <bool LONG, int TILE>
__device__ void bring(float* to, const float* from, int pitch)
{
    constexpr int WIDTH = (LONG ? DEPTH : TILE) / 4; // pieces of 16 bytes
#pragma unroll
    for (int piece = threadIdx.x; piece < TILE * DEPTH / 4; piece += THREADS)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     ::"r"((unsigned)__cvta_generic_to_shared(to + piece / WIDTH * Layout<LONG, TILE>::PITCH + piece % WIDTH * 4)),
                       "l"(from + piece / WIDTH * pitch + piece % WIDTH * 4) : "memory");
}
// Two neighbours in the sum, in row or column m.
template <bool LONG, int TILE>
__device__ void fragment(const float* tile, int m, int k, float& first, float& second)
{
    constexpr int PITCH = Layout<LONG, TILE>::PITCH;
    if (LONG) {
        float2 both = *(const float2*)(tile + m * PITCH + k);
        first = both.x, second = both.y;
    } else first = tile[k * PITCH + m], second = tile[(k + 1) * PITCH + m];
}
__device__ void split(float x, unsigned& high, unsigned& low)
{
    high = __float_as_uint(x) & 0xffffe000;
    low = __float_as_uint(x - __uint_as_float(high)); // tensor cores leave out its last bits
}
__device__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

typedef float Sums[ROWS / 16][COLUMNS / 8][4]; // of a thread

template <bool A_LONG, bool B_LONG, class Seen>
__device__ void product(Sums& sum, const float* a, int a_pitch, const float* b, int b_pitch, int steps, Seen seen)
{
    extern __shared__ __align__(16) float stages[];
    constexpr int A_SIZE = Layout<A_LONG, TILE_M>::SIZE, STAGE = A_SIZE + Layout<B_LONG, TILE_N>::SIZE;
    int a_step = A_LONG ? DEPTH : DEPTH * a_pitch, b_step = B_LONG ? DEPTH : DEPTH * b_pitch;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int m = warp / ACROSS * ROWS + lane / 4, n = warp % ACROSS * COLUMNS + lane / 4;
    auto next = [&](int step) {
        if (step < steps) {
            float* to = stages + step % STAGES * STAGE;
            bring<A_LONG, TILE_M>(to, a + step * a_step, a_pitch);
            bring<B_LONG, TILE_N>(to + A_SIZE, b + step * b_step, b_pitch);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    for (int step = 0; step < STAGES - 1; step++) next(step);
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads(); // this step's tiles are there, and those of the step before are free
        next(step + STAGES - 1);
        const float *as = stages + step % STAGES * STAGE, *bs = as + A_SIZE;
        Sums part = {}; // of this step
#pragma unroll
        for (int at = 0; at < DEPTH; at += 8) {
            int k = at + lane % 4 * 2;
            unsigned a_high[ROWS / 16][4], a_low[ROWS / 16][4];
#pragma unroll
            for (int i = 0; i < ROWS / 16 * 2; i++) {
                float x, y;
                fragment<A_LONG, TILE_M>(as, m + i * 8, k, x, y);
                split(x, a_high[i / 2][i % 2], a_low[i / 2][i % 2]);
                split(y, a_high[i / 2][i % 2 + 2], a_low[i / 2][i % 2 + 2]);
            }
#pragma unroll
            for (int j = 0; j < COLUMNS / 8; j++) {
                float x, y;
                unsigned b_high[2], b_low[2];
                fragment<B_LONG, TILE_N>(bs, n + j * 8, k, x, y);
                split(x, b_high[0], b_low[0]);
                split(y, b_high[1], b_low[1]);
#pragma unroll
                for (int i = 0; i < ROWS / 16; i++) multiply(part[i][j], a_low[i], b_high);
#pragma unroll
                for (int i = 0; i < ROWS / 16; i++) multiply(part[i][j], a_high[i], b_low);
#pragma unroll
                for (int i = 0; i < ROWS / 16; i++) multiply(part[i][j], a_high[i], b_high);
            }
        }
#pragma unroll
        for (int i = 0; i < ROWS / 16; i++)
#pragma unroll
            for (int j = 0; j < COLUMNS / 8; j++)
#pragma unroll
                for (int e = 0; e < 4; e++) sum[i][j][e] += part[i][j][e];
        seen(step, as, Layout<A_LONG, TILE_M>::PITCH);
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
}

// Calls `use` for each pair of neighbours in a row, with their place in the tile.
template <class Use>
__device__ void for_all(const Sums& sum, Use use)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int m = warp / ACROSS * ROWS + lane / 4, n = warp % ACROSS * COLUMNS + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < ROWS / 8; i++)
#pragma unroll
        for (int j = 0; j < COLUMNS / 8; j++) use(m + i * 8, n + j * 8, sum[i / 2][j][i % 2 * 2], sum[i / 2][j][i % 2 * 2 + 1]);
}
#include "products.cuh"
