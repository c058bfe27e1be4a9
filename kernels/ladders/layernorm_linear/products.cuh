// The launches of steps 1 to 3. A step brings TILE_M, TILE_N, DEPTH, THREADS and BLOCKS, the sums of a thread as Sums, `product`, which adds up
// a tile, and `for_all`, which tells where the sums belong.

#include "rows.cuh"

__global__ void normalise(const float* x, const float* gamma, const float* beta, float* normed, float2* stats, float* dW, float* dbias,
                          int H, int O, float eps)
{
    write_zeros(dW, dbias, H, O);
    normalise_rows(x, gamma, beta, stats, H, eps, [=](int at, const float (&v)[4]) {
        *(float4*)(normed + at) = make_float4(v[0], v[1], v[2], v[3]);
    });
}

// A factor is LONG if the sum runs along its rows.
__global__ void __launch_bounds__(THREADS, BLOCKS)
    linear(const float* normed, const float* W, const float* bias, float* y, int H, int O)
{
    int row = blockIdx.y * TILE_M, o = blockIdx.x * TILE_N;
    Sums sum = {};
    product<true, true>(sum, normed + row * H, H, W + o * H, H, H / DEPTH, [](auto...) {});
    for_all(sum, [=](int m, int n, float u, float v) {
        *(float2*)(y + (row + m) * O + o + n) = make_float2(u + bias[o + n], v + bias[o + n + 1]);
    });
}

// The gradient of the normalised rows, which waits in dx.
__global__ void __launch_bounds__(THREADS, BLOCKS) input(const float* dy, const float* W, float* dx, int H, int O)
{
    int row = blockIdx.y * TILE_M, h = blockIdx.x * TILE_N;
    Sums sum = {};
    product<true, false>(sum, dy + row * O, O, W + h, H, O / DEPTH, [](auto...) {});
    for_all(sum, [=](int m, int n, float u, float v) { *(float2*)(dx + (row + m) * H + h + n) = make_float2(u, v); });
}

__global__ void __launch_bounds__(THREADS, BLOCKS)
    weights(const float* dy, const float* normed, float* dW, float* dbias, int rows, int H, int O)
{
    int h = blockIdx.x * TILE_N, o = blockIdx.y * TILE_M, all = rows / DEPTH;
    int first = all * blockIdx.z / gridDim.z, last = all * (blockIdx.z + 1) / gridDim.z, row = first * DEPTH;
    float of_bias = 0.0f;
    // dbias is the sum of the first factor's rows. The blocks that have the same take turns.
    auto add_bias = [&](int step, const float* a, int pitch) {
        if (step % gridDim.x == blockIdx.x && threadIdx.x < TILE_M)
            for (int k = 0; k < DEPTH; k++) of_bias += a[k * pitch + threadIdx.x];
    };
    Sums sum = {};
    product<false, false>(sum, dy + row * O + o, O, normed + row * H + h, H, last - first, add_bias);
    if (threadIdx.x < TILE_M) atomicAdd(&dbias[o + threadIdx.x], of_bias);
    for_all(sum, [=](int m, int n, float u, float v) {
        atomicAdd(&dW[(o + m) * H + h + n], u);
        atomicAdd(&dW[(o + m) * H + h + n + 1], v);
    });
}
