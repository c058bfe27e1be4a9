// The gradient of the weights of one layer, by the three kernels of puzzle 36.
#include "../../kernels/references/conv_weight_kernels.cu"

// ANCHOR: launches
const int N = 1, H = 4, W = 4, C = 64, K = 64;

template <int TILE>
void launch(const half* grad_output, const half* input, float* grad_weights, int* used)
{
    dim3 grid((K + TILE - 1) / TILE, (C + TILE - 1) / TILE, 9);
    conv_bwd_weight_tile<TILE><<<grid, 256>>>(grad_output, input, grad_weights, used,
                                              N, H, W, C, K);
}
// ANCHOR_END: launches

int main()
{
    half *grad_output, *input;
    float* grad_weights;
    int* used;
    cudaMalloc(&grad_output, N * H * W * K * sizeof(half));
    cudaMalloc(&input, N * H * W * C * sizeof(half));
    cudaMalloc(&grad_weights, K * 9 * C * sizeof(float));
    cudaMalloc(&used, sizeof(int));
    cudaMemset(grad_output, 0, N * H * W * K * sizeof(half));
    cudaMemset(input, 0, N * H * W * C * sizeof(half));
    launch<16>(grad_output, input, grad_weights, used);
    launch<32>(grad_output, input, grad_weights, used);
    launch<64>(grad_output, input, grad_weights, used);
    cudaDeviceSynchronize();
    cudaFree(grad_output), cudaFree(input), cudaFree(grad_weights), cudaFree(used);
}
