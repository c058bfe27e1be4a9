// Step 2 of 3: tensor cores and a pipeline.
// What changed: an implicit matrix product over the positions. A block has 128 (or 64) filters by as many channels for one of the nine
// weights, and a share of the positions, 64 at a time, in three stages; both factors are stored transposed, which ldmatrix.trans turns
// round.
// Predicted: as step 3 of the input gradient, 0.12 ms, and 5 us for adding 14 shares of 1.2 MB.
// Measured: 140.3 us; 35.7 us for 64 to 64 channels.

#include "instructions.cuh"

const int DEPTH = 64; // positions of a step
const int STAGES = 3;

__global__ void zero_weights(float* weights, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) weights[i] = 0.0f;
}

template <int TILE>
__device__ inline void tile(const half* grad_output, const half* input, float* grad_weights, int N, int H, int W, int C, int K)
{
    constexpr int SIDE = TILE / 64 * DEPTH * 128, BLOCKS = TILE / 32; // a warp has half of the filters, a quarter of the channels
    extern __shared__ __align__(128) char raw[];
    unsigned start = shared_address(raw);
    int piece = threadIdx.x % 8, row = threadIdx.x / 8;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int tap = blockIdx.x % 9, job = blockIdx.x / 9, dh = tap / 3 - 1, dw = tap % 3 - 1;
    int c0 = job % (C / TILE) * TILE, k0 = job / (C / TILE) * TILE;
    int steps = N * H * W / DEPTH;
    int first = (int)((long long)steps * blockIdx.y / gridDim.y), last = (int)((long long)steps * (blockIdx.y + 1) / gridDim.y);
    auto bring = [&](int step) {
        unsigned to = start + (step - first) % STAGES * 2 * SIDE;
#pragma unroll
        for (int i = 0; i < 2 * TILE / 64; i++) {
            int r = row + 32 * (i % 2), position = step * DEPTH + r;
            int h = position / W % H + dh, w = position % W + dw;
            bool inside = (unsigned)h < (unsigned)H && (unsigned)w < (unsigned)W;
            copy16(to + i / 2 * 8192 + place(r, piece), grad_output + position * K + k0 + i / 2 * 64 + piece * 8, true);
            copy16(to + SIDE + i / 2 * 8192 + place(r, piece),
                   input + (inside ? (position + dh * W + dw) * C + c0 + i / 2 * 64 + piece * 8 : 0), inside);
        }
    };
    float sum[BLOCKS][BLOCKS][4] = {};
    for (int step = first; step < first + STAGES - 1; step++) {
        if (step < last) bring(step);
        end_group();
    }
    for (int step = first; step < last; step++) {
        wait_for_all_groups_but<STAGES - 2>();
        __syncthreads(); // this step has come, and all have used the stage that is filled next
        if (step + STAGES - 1 < last) bring(step + STAGES - 1);
        end_group();
        unsigned gradients = start + (step - first) % STAGES * 2 * SIDE, pixels = gradients + SIDE;
#pragma unroll
        for (int s = 0; s < DEPTH / 16; s++) {
            unsigned a[BLOCKS][4], b[BLOCKS / 2][4];
#pragma unroll
            for (int m = 0; m < BLOCKS; m++) {
                int k = warp / 4 * (TILE / 2) + m * 16;
                load_transposed(a[m], gradients + k / 64 * 8192 + place(s * 16 + lane / 16 * 8 + lane % 8, k % 64 / 8 + lane / 8 % 2));
            }
#pragma unroll
            for (int j = 0; j < BLOCKS / 2; j++) {
                int c = warp % 4 * (TILE / 4) + j * 16;
                load_transposed(b[j], pixels + c / 64 * 8192 + place(s * 16 + lane % 16, c % 64 / 8 + lane / 16));
            }
#pragma unroll
            for (int m = 0; m < BLOCKS; m++)
#pragma unroll
                for (int j = 0; j < BLOCKS; j++) multiply(sum[m][j], a[m], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
    }
#pragma unroll
    for (int m = 0; m < BLOCKS; m++)
#pragma unroll
        for (int j = 0; j < BLOCKS; j++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                int k = k0 + warp / 4 * (TILE / 2) + m * 16 + i / 2 * 8 + lane / 4;
                int c = c0 + warp % 4 * (TILE / 4) + j * 8 + lane % 4 * 2 + i % 2;
                atomicAdd(&grad_weights[(k * 9 + tap) * C + c], sum[m][j][i]);
            }
}

__global__ void __launch_bounds__(256, 2)
    weights_pipeline(const half* grad_output, const half* input, float* grad_weights, int N, int H, int W, int C, int K)
{
    if (C % 128 == 0 && K % 128 == 0) tile<128>(grad_output, input, grad_weights, N, H, W, C, K);
    else tile<64>(grad_output, input, grad_weights, N, H, W, C, K);
}
