// 16-bit and 8-bit floats: arithmetic, comparisons, functions, conversions.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#define KERNEL(name) extern "C" __global__ void name

template <class T> __device__ T scalar_half(T a, T b, T c)
{
    a = a + b * c - a / b;
    a += __hadd(a, b) + __hsub(b, c) + __hmul(a, c) + __hdiv(a, b) + __hneg(a) + __habs(b) + __hfma(a, b, c);
    a += __hadd_rn(a, b) + __hsub_rn(b, c) + __hmul_rn(a, c);
    a += __hadd_sat(a, b) + __hsub_sat(b, c) + __hmul_sat(a, c) + __hfma_sat(a, b, c) + __hfma_relu(a, b, c);
    a += __hmax(a, b) + __hmin(b, c) + __hmax_nan(a, b) + __hmin_nan(b, c);
    if (__heq(a, b) || __hne(b, c) && __hle(a, c) || __hge(a, b) && __hlt(b, c) || __hgt(a, c))
        a += b;
    if (__hequ(a, b) || __hneu(b, c) && __hleu(a, c) || __hgeu(a, b) && __hltu(b, c) || __hgtu(a, c))
        a += c;
    if (__hisnan(a) || __hisinf(b))
        a = c;
    a += hexp(a) + hexp2(b) + hexp10(c) + hlog(a) + hlog2(b) + hlog10(c) + hsin(a) + hcos(b) + hsqrt(c) + hrsqrt(a);
    a += hrcp(b) + htanh(c) + htanh_approx(a) + hfloor(a) + hceil(b) + htrunc(c) + hrint(a);
    return a;
}
template <class T2> __device__ T2 paired_half(T2 a, T2 b, T2 c)
{
    a = a + b * c - a / b;
    a += __hadd2(a, b) + __hsub2(b, c) + __hmul2(a, c) + __h2div(a, b) + __hneg2(a) + __habs2(b) + __hfma2(a, b, c);
    a += __hadd2_rn(a, b) + __hsub2_rn(b, c) + __hmul2_rn(a, c);
    a += __hadd2_sat(a, b) + __hsub2_sat(b, c) + __hmul2_sat(a, c) + __hfma2_sat(a, b, c) + __hfma2_relu(a, b, c);
    a += __hmax2(a, b) + __hmin2(b, c) + __hmax2_nan(a, b) + __hmin2_nan(b, c) + __hcmadd(a, b, c);
    a += __heq2(a, b) + __hne2(b, c) + __hle2(a, c) + __hge2(a, b) + __hlt2(b, c) + __hgt2(a, c);
    a += __hequ2(a, b) + __hneu2(b, c) + __hleu2(a, c) + __hgeu2(a, b) + __hltu2(b, c) + __hgtu2(a, c) + __hisnan2(a);
    unsigned m = __heq2_mask(a, b) ^ __hne2_mask(a, b) ^ __hle2_mask(a, c) ^ __hge2_mask(a, b) ^ __hlt2_mask(b, c) ^ __hgt2_mask(a, c);
    m ^= __hequ2_mask(a, b) ^ __hneu2_mask(a, b) ^ __hleu2_mask(a, c) ^ __hgeu2_mask(a, b) ^ __hltu2_mask(b, c) ^ __hgtu2_mask(a, c);
    if (__hbeq2(a, b) || __hbne2(b, c) && __hble2(a, c) || __hbge2(a, b) && __hblt2(b, c) || __hbgt2(a, c) || m == 77)
        a += b;
    if (__hbequ2(a, b) || __hbneu2(b, c) && __hbleu2(a, c) || __hbgeu2(a, b) && __hbltu2(b, c) || __hbgtu2(a, c))
        a += c;
    a += h2exp(a) + h2exp2(b) + h2exp10(c) + h2log(a) + h2log2(b) + h2log10(c) + h2sin(a) + h2cos(b) + h2sqrt(c) + h2rsqrt(a);
    a += h2rcp(b) + h2tanh(c) + h2tanh_approx(a) + h2floor(a) + h2ceil(b) + h2trunc(c) + h2rint(a);
    return a;
}

KERNEL(half_arithmetic)(__half *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = scalar_half(x[i], x[i + n], x[i + 2 * n]);
}
KERNEL(half2_arithmetic)(__half2 *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = paired_half(x[i], x[i + n], x[i + 2 * n]);
}
#if __CUDA_ARCH__ >= 800
KERNEL(bf16_arithmetic)(__nv_bfloat16 *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = scalar_half(x[i], x[i + n], x[i + 2 * n]);
}
#endif
#if __CUDA_ARCH__ >= 800
KERNEL(bf162_arithmetic)(__nv_bfloat162 *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = paired_half(x[i], x[i + n], x[i + 2 * n]);
}
#endif

KERNEL(half_conversions)(__half *x, float *y, double *z, long long *w, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __half a = x[i], b = x[i + n];
    float f = y[i];
    long long k = w[i];
    a = __float2half(f) + __float2half_rn(f) + __float2half_rz(f) + __float2half_ru(f) + __float2half_rd(f) + __double2half(z[i]);
    f += __half2float(a) + __half2int_rn(a) + __half2int_rz(b) + __half2int_ru(a) + __half2int_rd(b);
    f += __half2uint_rn(a) + __half2uint_rz(b) + __half2short_rn(a) + __half2short_rz(b) + __half2ushort_rn(a) + __half2ushort_rz(b);
    f += __half2ll_rn(a) + __half2ll_rz(b) + __half2ull_rn(a) + __half2ull_rz(b) + __half2char_rz(a) + __half2uchar_rz(b);
    b += __int2half_rn(i) + __int2half_rz(i) + __uint2half_rn(i) + __uint2half_ru(i) + __short2half_rn(i) + __ushort2half_rn(i);
    b += __ll2half_rn(k) + __ll2half_rd(k) + __ull2half_rn(k) + __ull2half_rz(k) + __short_as_half(__half_as_short(a) ^ 1);
    __half2 p = __floats2half2_rn(f, f) + __float2half2_rn(f) + __halves2half2(a, b) + __half2half2(a) + make_half2(a, b);
    float2 g = __half22float2(p);
    p += __float22half2_rn(g) + __lowhigh2highlow(p) + __lows2half2(p, p) + __highs2half2(p, p) + __low2half2(p) + __high2half2(p);
    y[i] = f + g.x + __low2float(p) + __high2float(p);
    x[i] = a + b + __low2half(p) + __high2half(p) + __ldg(x) + __ldcs(x + 1) + __ldca(x + 2) + __ldcg(x + 3) + __ldcv(x + 4);
    __stcs(x + n, a);
    __stwt(x + n + 1, b);
    z[i] = (double)a;
}
KERNEL(bf16_conversions)(__nv_bfloat16 *x, float *y, double *z, long long *w, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __nv_bfloat16 a = x[i], b = x[i + n];
    float f = y[i];
    long long k = w[i];
    a = __float2bfloat16(f) + __float2bfloat16_rn(f) + __float2bfloat16_rz(f) + __float2bfloat16_ru(f) + __double2bfloat16(z[i]);
    f += __bfloat162float(a) + __bfloat162int_rn(a) + __bfloat162int_rz(b) + __bfloat162int_ru(a) + __bfloat162uint_rn(a);
    f += __bfloat162short_rn(a) + __bfloat162ushort_rz(b) + __bfloat162ll_rn(a) + __bfloat162ull_rz(b) + __bfloat162char_rz(a);
    b += __int2bfloat16_rn(i) + __int2bfloat16_rz(i) + __uint2bfloat16_rn(i) + __short2bfloat16_rn(i) + __ushort2bfloat16_rd(i);
    b += __ll2bfloat16_rn(k) + __ull2bfloat16_ru(k) + __short_as_bfloat16(__bfloat16_as_short(a) ^ 1);
    __nv_bfloat162 p = __floats2bfloat162_rn(f, f) + __float2bfloat162_rn(f) + __halves2bfloat162(a, b) + __bfloat162bfloat162(a);
    float2 g = __bfloat1622float2(p);
    p += __float22bfloat162_rn(g) + __lowhigh2highlow(p) + __lows2bfloat162(p, p) + __highs2bfloat162(p, p);
    y[i] = f + g.x + __low2float(p) + __high2float(p);
    x[i] = a + b + __low2bfloat16(p) + __high2bfloat16(p) + __ldg(x) + __ldcs(x + 1);
    z[i] = (double)a;
}
KERNEL(fp8_conversions)(__nv_fp8_e4m3 *x, __nv_fp8x2_e5m2 *y, __nv_fp8x4_e4m3 *v, float *z, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float2 p = (float2)y[i];
    float4 q = (float4)v[i];
    float f = (float)x[i] + p.x * p.y + q.x + q.y + q.z + q.w + z[i];
    __half h = (__half)x[i];
    __nv_bfloat16 b = __nv_bfloat16(__float2bfloat16(f));
    x[i] = __nv_fp8_e4m3(f);
    x[i + n] = __nv_fp8_e4m3(h);
    x[i + 2 * n] = __nv_fp8_e4m3(b);
    x[i + 3 * n] = __nv_fp8_e4m3((double)f);
    y[i] = __nv_fp8x2_e5m2(make_float2(f, p.x));
    y[i + n] = __nv_fp8x2_e5m2(__floats2half2_rn(f, f));
    v[i] = __nv_fp8x4_e4m3(make_float4(f, f, p.x, p.y));
    z[i] = f;
}
