// Step 2 of 3: tensor cores, and all gradients at once.
// What changed: a product of 27 weights by 64 filters, whose sums run over the positions. A warp has one row of pixels, and asks for all its
// gradients at once, 16 bytes for each load: 8 MB are in flight. The order of positions and filters in a product is free, so a lane
// loads eight filters of four positions for each step, and pairs two positions by __byte_perm; no gradient goes by way of shared memory. The
// 18 rows of the picture do, with zeros around them: there a row of the filter is nine halves that lie side by side.
// Predicted: 8.8 MB in 2.2 us, two launches in 4, 1 us for the products, and 1 to 2 for adding up 16 warps and 128 blocks.
// Measured: 11.4 us (8.8 with the data in the cache); 1.01 bytes are moved for each byte of work.

#include "instructions.cuh"

const int W = 32, C = 3, K = 64;
const int WARPS = 16;          // rows of pixels of a block
const int COLUMNS = 27;        // weights of a filter
const int PITCH = 112;         // halves of a row of the picture: pixel w lies at FIRST + 3 * w
const int FIRST = 8;

__global__ void zero_weights(float* weights, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) weights[i] = 0.0f;
}

// A warp's sums of its row, as the weights lie in memory. `meanwhile` runs while the gradients are on their way.
template <class Meanwhile>
__device__ inline void multiply_rows(const half* grad_output, const half* input, float* sums, int H, Meanwhile meanwhile)
{
    __shared__ __align__(16) half picture[WARPS + 2][PITCH];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, quad = lane % 4, row = lane / 4;
    int n = blockIdx.x / (H / WARPS), h0 = blockIdx.x % (H / WARPS) * WARPS;
    const uint4* from = (const uint4*)(grad_output + ((n * H + h0 + warp) * W + quad) * K) + row;
    uint4 gradients[2][4];
#pragma unroll
    for (int i = 0; i < 8; i++) gradients[i / 4][i % 4] = __ldcs(from + i * 4 * (K / 8));
    for (int i = threadIdx.x; i < (WARPS + 2) * (PITCH / 8); i += blockDim.x) {
        int r = i / (PITCH / 8), piece = i % (PITCH / 8), h = h0 + r - 1;
        bool inside = h >= 0 && h < H && piece > 0 && piece <= W * C / 8;
        uint4 loaded = make_uint4(0, 0, 0, 0);
        if (inside) loaded = ((const uint4*)(input + (n * H + h) * W * C))[piece - 1];
        *(uint4*)&picture[r][piece * 8] = loaded;
    }
    meanwhile();
    __syncthreads();
    float sum[2][8][4] = {};
#pragma unroll
    for (int s = 0; s < 2; s++) {
        unsigned pixels[2][4];
#pragma unroll
        for (int i = 0; i < 8; i++) {
            int column = min(i / 4 * 16 + i % 2 * 8 + row, COLUMNS - 1); // nobody reads the sums of 27 to 31
            const half* at = &picture[warp + column / 9][FIRST - C + column % 9 + (s * 16 + i / 2 % 2 * 8 + quad) * C];
            half2 both = __halves2half2(at[0], at[4 * C]);
            pixels[i / 4][i % 4] = *(unsigned*)&both;
        }
#pragma unroll
        for (int j = 0; j < 8; j++) { // filter 8 * row + j
            unsigned b[4];
#pragma unroll
            for (int i = 0; i < 4; i++) b[i] = ((const unsigned*)&gradients[s][i])[j / 2];
            unsigned halves = j % 2 ? 0x7632 : 0x5410;
            unsigned b0 = __byte_perm(b[0], b[1], halves), b1 = __byte_perm(b[2], b[3], halves);
            multiply(sum[0][j], pixels[0], b0, b1);
            multiply(sum[1][j], pixels[1], b0, b1);
        }
    }
#pragma unroll
    for (int i = 0; i < 64; i++) {
        int column = i / 32 * 16 + i / 2 % 2 * 8 + row, k = (quad * 2 + i % 2) * 8 + i / 4 % 8;
        if (column < COLUMNS) sums[(warp * K + k) * COLUMNS + column] = sum[i / 32][i / 4 % 8][i % 4];
    }
}

__device__ inline void add_warps(const float* sums, float* grad_weights)
{
    for (int i = threadIdx.x; i < K * COLUMNS; i += blockDim.x) {
        float total = 0.0f;
#pragma unroll
        for (int w = 0; w < WARPS; w++) total += sums[w * K * COLUMNS + i];
        atomicAdd(&grad_weights[i], total);
    }
}

__global__ void __launch_bounds__(32 * WARPS)
    rgb_products(const half* grad_output, const half* input, float* grad_weights, int H)
{
    extern __shared__ float sums[];
    multiply_rows(grad_output, input, sums, H, [] {});
    __syncthreads();
    add_warps(sums, grad_weights);
}
