// What came with compute capability 8.0: copies past the registers, reductions of a warp, tensor cores on bf16.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <mma.h>
using namespace nvcuda;
namespace cg = cooperative_groups;

const int N = 16;

__global__ void who(int* arch)
{
#ifdef __CUDA_ARCH__
    *arch = __CUDA_ARCH__;
#endif
}

__global__ void reversed(const float4* in, float4* out)
{
    __shared__ float4 s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], sizeof(float4));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
}

__global__ void by_group(const float* in, float* out)
{
    __shared__ float s[64];
    cg::thread_block block = cg::this_thread_block();
    cg::memcpy_async(block, s, in, sizeof s);
    cg::wait(block);
    out[threadIdx.x] = s[threadIdx.x ^ 1];
}

__global__ void reductions(const int* in, int* out)
{
    int x = in[threadIdx.x];
    unsigned odd = __ballot_sync(~0u, x & 1);
    out[0] = __reduce_add_sync(~0u, x);
    out[1] = __reduce_min_sync(~0u, x);
    out[2] = __reduce_max_sync(~0u, x);
    out[3] = __reduce_xor_sync(~0u, x);
    if (x & 1) out[4] = __reduce_add_sync(odd, x);
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
    out[5] = cg::reduce(warp, x, cg::plus<int>());
}

__global__ void multiply(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, -1.0f);
    wmma::load_matrix_sync(fa, a, N);
    wmma::load_matrix_sync(fb, b, N);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, N, wmma::mem_row_major);
}

__global__ void pairs(const __nv_bfloat162* in, __nv_bfloat162* out)
{
    __nv_bfloat162 x = in[threadIdx.x];
    out[threadIdx.x] = __hmax2(__hfma2(x, x, x), __hneg2(x));
}

int main()
{
    float* x;
    int* i;
    __nv_bfloat16 *a, *b;
    cudaMallocManaged(&x, 1024 * sizeof(float));
    cudaMallocManaged(&i, 64 * sizeof(int));
    cudaMallocManaged(&a, N * N * sizeof(__nv_bfloat16));
    cudaMallocManaged(&b, N * N * sizeof(__nv_bfloat16));

    cudaDeviceProp p;
    cudaGetDeviceProperties(&p, 0);
    who<<<1, 1>>>(i);
    cudaDeviceSynchronize();
    std::printf("compiled for this device: %d\n", *i == p.major * 100 + p.minor * 10);

    for (int k = 0; k < 512; k++) x[k] = (float)k;
    reversed<<<1, 64>>>((float4*)x, (float4*)(x + 256));
    cudaDeviceSynchronize();
    std::printf("reversed: %g %g %g\n", x[256], x[259], x[511]);
    by_group<<<1, 64>>>(x, x + 512);
    cudaDeviceSynchronize();
    std::printf("by group: %g %g\n", x[512], x[575]);

    for (int k = 0; k < 32; k++) i[k] = k * 5 % 17 - 4;
    reductions<<<1, 32>>>(i, i + 32);
    cudaDeviceSynchronize();
    std::printf("reductions: %d %d %d %d %d %d\n", i[32], i[33], i[34], i[35], i[36], i[37]);

    for (int k = 0; k < N * N; k++) {
        a[k] = __float2bfloat16((float)(k * 7 % 11 - 5));
        b[k] = __float2bfloat16((float)(k * 5 % 13 - 6));
    }
    multiply<<<1, 32>>>(a, b, x);
    cudaDeviceSynchronize();
    int wrong = 0;
    for (int row = 0; row < N; row++)
        for (int column = 0; column < N; column++) {
            float sum = -1.0f;
            for (int k = 0; k < N; k++)
                sum += __bfloat162float(a[row * N + k]) * __bfloat162float(b[column * N + k]);
            wrong += sum != x[row * N + column];
        }
    std::printf("product: %d wrong, corners %g %g\n", wrong, x[0], x[N * N - 1]);

    pairs<<<1, 128>>>((__nv_bfloat162*)a, (__nv_bfloat162*)b);
    cudaDeviceSynchronize();
    std::printf("pairs: %g %g %g\n", __bfloat162float(b[0]), __bfloat162float(b[1]), __bfloat162float(b[255]));
    std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    cudaFree(x);
    cudaFree(i);
    cudaFree(a);
    cudaFree(b);
}
