// Step 2 of 4: tiles.
// What changed: a block makes 128x128 elements of a product. It keeps 16 steps of the sum in shared memory, each factor with the sum's index
// first, and loads the next 16 into registers meanwhile; a thread has 8x8 sums and loads 16 floats for 64 multiplications. dbias is added up
// by the blocks of dW, from what they have in shared memory; dgamma and dbeta by the pass that finishes dx.
// Predicted: cuBLAS has some 50 of 67 TFLOP/s; without its care for register banks 40 to 45.
// Measured: 1,527 us, 0.85 of PyTorch's speed; 10,023 us for 1,024 to 4,096. Each product makes 40 TFLOP/s, cuBLAS 44 to 49.


const int TILE_M = 128, TILE_N = 128, DEPTH = 16, PITCH = TILE_M + 4, THREADS = 256, BLOCKS = 2;
typedef float Sums[8][8];

// The next 16 steps of a factor. LONG: the sum runs along its rows, so they are transposed on their way.
template <bool LONG>
__device__ void fetch(float4 (&held)[2], const float* from, int pitch)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int piece = threadIdx.x + i * 256;
        held[i] = *(const float4*)(LONG ? from + piece / 4 * pitch + piece % 4 * 4 : from + piece / 32 * pitch + piece % 32 * 4);
    }
}
template <bool LONG>
__device__ void put(float (&to)[DEPTH][PITCH], const float4 (&held)[2])
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int piece = threadIdx.x + i * 256, k = piece % 4 * 4, m = piece / 4;
        if (LONG) to[k][m] = held[i].x, to[k + 1][m] = held[i].y, to[k + 2][m] = held[i].z, to[k + 3][m] = held[i].w;
        else *(float4*)&to[piece / 32][piece % 32 * 4] = held[i];
    }
}

// `seen` gets the first factor of each step.
template <bool A_LONG, bool B_LONG, class Seen>
__device__ void product(Sums& sum, const float* a, int a_pitch, const float* b, int b_pitch, int steps, Seen seen)
{
    __shared__ float as[2][DEPTH][PITCH], bs[2][DEPTH][PITCH];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int m = (warp / 2 * 4 + lane / 8) * 4, n = (warp % 2 * 8 + lane % 8) * 4;
    int a_step = A_LONG ? DEPTH : DEPTH * a_pitch, b_step = B_LONG ? DEPTH : DEPTH * b_pitch;
    float4 next_a[2], next_b[2];
    fetch<A_LONG>(next_a, a, a_pitch);
    fetch<B_LONG>(next_b, b, b_pitch);
    put<A_LONG>(as[0], next_a);
    put<B_LONG>(bs[0], next_b);
    __syncthreads();
    for (int step = 0; step < steps; step++) {
        if (step + 1 < steps) {
            a += a_step, b += b_step;
            fetch<A_LONG>(next_a, a, a_pitch);
            fetch<B_LONG>(next_b, b, b_pitch);
        }
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            float u[8], v[8];
            *(float4*)u = *(const float4*)&as[step & 1][k][m], *(float4*)(u + 4) = *(const float4*)&as[step & 1][k][m + 64];
            *(float4*)v = *(const float4*)&bs[step & 1][k][n], *(float4*)(v + 4) = *(const float4*)&bs[step & 1][k][n + 64];
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 8; j++) sum[i][j] += u[i] * v[j];
        }
        seen(step, as[step & 1][0], PITCH);
        if (step + 1 < steps) {
            put<A_LONG>(as[~step & 1], next_a);
            put<B_LONG>(bs[~step & 1], next_b);
        }
        __syncthreads();
    }
}
template <class Use>
__device__ void for_all(const Sums& sum, Use use)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int m = (warp / 2 * 4 + lane / 8) * 4, n = (warp % 2 * 8 + lane % 8) * 4;
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 8; j += 2) use(m + i / 4 * 64 + i % 4, n + j / 4 * 64 + j % 4, sum[i][j], sum[i][j + 1]);
}
#include "products.cuh"
