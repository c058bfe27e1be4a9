// Step 1 of 4: plain.
// What it is: a thread for two elements of a product, without shared memory. The forward pass keeps the normalised rows, as PyTorch does, so
// that each of the three products has its factors in memory.
// Predicted: a multiplication loads a float and a half from the L1 cache; 5 to 8 TFLOP/s, as puzzles 2 and 18 have.
// Measured: 45,039 us, 1.3 TFLOP/s. In y neighbours of a warp read rows of W, each another sector, which takes 38 of the 45 ms.

const int TILE_M = 8, TILE_N = 64, DEPTH = 16, THREADS = 256, BLOCKS = 8;
typedef float Sums[2];

template <bool A_LONG, bool B_LONG, class Seen>
__device__ void product(Sums& sum, const float* a, int a_pitch, const float* b, int b_pitch, int steps, Seen seen)
{
    int m = threadIdx.x / 32, n = threadIdx.x % 32 * 2;
    for (int step = 0; step < steps; step++) {
        for (int k = 0; k < DEPTH; k++) {
            float u = A_LONG ? a[m * a_pitch + k] : a[k * a_pitch + m];
            for (int i = 0; i < 2; i++) sum[i] += u * (B_LONG ? b[(n + i) * b_pitch + k] : b[k * b_pitch + n + i]);
        }
        seen(step, a, a_pitch);
        a += A_LONG ? DEPTH : DEPTH * a_pitch, b += B_LONG ? DEPTH : DEPTH * b_pitch;
    }
}
template <class Use>
__device__ void for_all(const Sums& sum, Use use)
{
    use(threadIdx.x / 32, threadIdx.x % 32 * 2, sum[0], sum[1]);
}
#include "products.cuh"
