// Times of puzzle 46 beside its own tiles multiplied by hand, and beside puzzle 18, for N x N matrices. Needs a GPU for N = 4096.
#include <cstdio>
#include <cstdlib>

#include "../../solutions/18_sgemm_tiled.cu"
#include "../../solutions/46_wmma_gemm.cu"

// The block and the tiles of wmma_gemm, with ordinary multiplications: eight sums for each thread.
__global__ void by_hand(const half* A, const half* B, float* C, int M, int N, int K)
{
    __shared__ half a[32][16], b[16][32];
    int top = blockIdx.y * 32, left = blockIdx.x * 32;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float sum[8] = {};
    for (int start = 0; start < K; start += 16) {
        for (int i = threadIdx.x; i < 32 * 16; i += 128) {
            int row = top + i / 16, k = start + i % 16;
            a[i / 16][i % 16] = row < M && k < K ? A[row * K + k] : __float2half(0.0f);
        }
        for (int i = threadIdx.x; i < 16 * 32; i += 128) {
            int k = start + i / 32, column = left + i % 32;
            b[i / 32][i % 32] = k < K && column < N ? B[k * N + column] : __float2half(0.0f);
        }
        __syncthreads();
        for (int k = 0; k < 16; k++)
            for (int r = 0; r < 8; r++)
                sum[r] += __half2float(a[warp * 8 + r][k]) * __half2float(b[k][lane]);
        __syncthreads();
    }
    for (int r = 0; r < 8; r++) {
        int row = top + warp * 8 + r, column = left + lane;
        if (row < M && column < N) C[row * N + column] = sum[r];
    }
}

// Prints the shortest of nine runs, after one to warm up.
template <class Launch>
void measure(const char* name, int n, Launch launch)
{
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    float best = 1e9f;
    for (int run = 0; run < 10; run++) {
        cudaEventRecord(start);
        launch();
        cudaEventRecord(stop);
        cudaEventSynchronize(stop);
        float ms;
        cudaEventElapsedTime(&ms, start, stop);
        if (run > 0 && ms < best) best = ms;
    }
    printf("%-12s %.3f ms, %.1f TFLOP/s\n", name, best, 2.0 * n * n * n / best / 1e9);
}

int main(int argc, char** argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 4096;
    half *a, *b;
    float *wide_a, *wide_b, *c;
    cudaMalloc(&a, n * n * sizeof(half));
    cudaMalloc(&b, n * n * sizeof(half));
    cudaMalloc(&wide_a, n * n * sizeof(float));
    cudaMalloc(&wide_b, n * n * sizeof(float));
    cudaMalloc(&c, n * n * sizeof(float));
    cudaMemset(a, 0, n * n * sizeof(half));
    cudaMemset(b, 0, n * n * sizeof(half));
    cudaMemset(wide_a, 0, n * n * sizeof(float));
    cudaMemset(wide_b, 0, n * n * sizeof(float));
    dim3 wide((n + 31) / 32, (n + 31) / 32), narrow((n + 15) / 16, (n + 15) / 16);
    measure("wmma_gemm", n, [&] { wmma_gemm<<<wide, 128>>>(a, b, c, n, n, n); });
    measure("by_hand", n, [&] { by_hand<<<wide, 128>>>(a, b, c, n, n, n); });
    measure("sgemm_tiled", n, [&] { sgemm_tiled<<<narrow, dim3(16, 16)>>>(wide_a, wide_b, c, n, n, n); });
    if (cudaGetLastError() != cudaSuccess) return 1;
    for (void* memory : {(void*)a, (void*)b, (void*)wide_a, (void*)wide_b, (void*)c}) cudaFree(memory);
}
