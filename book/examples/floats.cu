// Rounding: the order of a sum, fma, half and bfloat16.
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// ANCHOR: kernels
__global__ void orders()
{
    const int n = 1 << 20;
    float forward = 0, backward = 0, pairs[20] = {};
    double exact = 0;
    for (int i = 1; i <= n; i++) forward += 1.0f / i;
    for (int i = n; i >= 1; i--) backward += 1.0f / i, exact += 1.0f / i;
    printf("1 + 1/2 + ... + 1/2^20\n");
    printf("  forwards   %.6f\n", forward);
    printf("  backwards  %.6f\n", backward);
    float tree = 0; // adds neighbours, then sums of neighbours, ...
    for (int i = 1; i <= n; i++) {
        float sum = 1.0f / i;
        int level = 0;
        for (; i >> level & 1 ^ 1; level++) sum += pairs[level];
        if (level < 20) pairs[level] = sum; else tree = sum;
    }
    printf("  in pairs   %.6f\n", tree);
    printf("  in double  %.6f\n", exact);
}

__global__ void fused(float a, float b)
{
    float product = __fmul_rn(a, b);
    printf("a * b - a * b, the first product kept exact by fma: %g\n",
           fmaf(a, b, -product));
}

__global__ void types()
{
    for (float x : {0.1f, 2049.0f, 65519.0f, 65520.0f, 1e-8f, 1e38f})
        printf("%10g  half %-10g bfloat16 %g\n", x,
               __half2float(__float2half(x)),
               __bfloat162float(__float2bfloat16(x)));
}
// ANCHOR_END: kernels

int main()
{
    orders<<<1, 1>>>();
    fused<<<1, 1>>>(0.1f, 0.1f);
    types<<<1, 1>>>();
    cudaDeviceSynchronize();
}
