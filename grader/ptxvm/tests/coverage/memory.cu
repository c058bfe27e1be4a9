// Memory and what threads do together: atomics, vectors, hints, shuffles, votes, barriers.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define KERNEL(name) extern "C" __global__ void name

KERNEL(atomics)(int *a, unsigned *u, long long *l, unsigned long long *ul, float *f, double *d, unsigned short *h)
{
    int i = threadIdx.x;
    __shared__ int s[64];
    __shared__ float fs[64];
    __shared__ unsigned long long ls[64];
    s[i & 63] = 0, fs[i & 63] = 0, ls[i & 63] = 0;
    __syncthreads();
    a[0] += atomicAdd(a + 1, i) + atomicSub(a + 2, i) + atomicExch(a + 3, i) + atomicMin(a + 4, i) + atomicMax(a + 5, i);
    a[i] += atomicAnd(a + 6, i) + atomicOr(a + 7, i) + atomicXor(a + 8, i) + atomicCAS(a + 9, i, 3);
    u[i] += atomicInc(u + 1, i) + atomicDec(u + 2, i) + atomicMin(u + 3, i) + atomicMax(u + 4, i) + atomicCAS(h, 1, 2);
    l[i] += atomicMin(l + 1, (long long)i) + atomicMax(l + 2, (long long)i);
    l[i] += atomicAnd(l + 3, (long long)i) + atomicOr(l + 4, (long long)i) + atomicXor(l + 5, (long long)i);
    ul[i] += atomicAdd(ul + 1, 5ull) + atomicExch(ul + 2, 7ull) + atomicCAS(ul + 3, 1ull, 2ull) + atomicMin(ul + 4, 7ull) + atomicMax(ul, 3ull);
    f[i] += atomicAdd(f + 1, 1.f) + atomicExch(f + 2, 2.f);
    d[i] += atomicAdd(d + 1, 1.0);
    atomicAdd(s + (i & 7), 1);
    atomicMax(s + (i & 7), i);
    atomicAdd(fs + (i & 7), 1.f);
    atomicAdd(ls + (i & 7), 1ull);
    a[i] += atomicAdd_block(a + 11, 1) + atomicAdd_system(a + 12, 1) + atomicCAS_block(a + 13, 1, 2) + atomicExch_system(a + 14, 1);
    atomicOr_block(a + 15, 1);
    atomicXor_system(a + 16, 1);
    __syncthreads();
    f[i] += s[i & 7] + fs[i & 7] + ls[i & 7];
}
KERNEL(half_atomics)(__half *h, __half2 *h2, __nv_bfloat16 *b, __nv_bfloat162 *b2)
{
    int i = threadIdx.x;
    __shared__ __half s[4];
    __shared__ __half2 s2[4];
    atomicAdd(s + (i & 3), __float2half(1));
    atomicAdd(s2 + (i & 3), h2[i]);
    atomicAdd(b, b[i + 8]);
    atomicAdd(b2, b2[i + 8]);
    h[i] += atomicAdd(h, h[i + 8]);
    h2[i] += atomicAdd(h2, h2[i + 8]);
}
KERNEL(vector_memory)(float4 *x, double2 *y, uchar4 *z, short2 *w, longlong2 *l, ulonglong4_32a *q, char3 *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 a = __ldg(x + i), b = __ldcs(x + i + n), e = __ldcg(x + i), f = __ldca(x + i), g = __ldlu(x + i), h = __ldcv(x + i);
    a.x += b.y + e.z + f.w + g.x + h.y;
    __stwb(x + i, a);
    __stcg(x + i + n, b);
    __stcs(x + i + 2 * n, e);
    __stwt(x + i + 3 * n, f);
    double2 d = y[i];
    uchar4 u = z[i];
    short2 s = w[i];
    longlong2 m = l[i];
    ulonglong4_32a v = q[i];
    char3 t = c[i];
    u.x += t.y;
    y[i] = make_double2(d.y, d.x);
    z[i] = make_uchar4(u.w, u.z, u.y, u.x);
    w[i] = make_short2(s.y, s.x);
    l[i] = make_longlong2(m.y, m.x);
    q[i] = v;
    c[i] = make_char3(t.z, t.y, t.x);
    volatile float *p = &x[i].x;
    *p = *p + 1;
    memcpy(x + 4 * n + i, y + i, 16);
    memset(x + 5 * n + i, 0, 16);
}
KERNEL(warps_and_blocks)(int *x, float *f, double *d, unsigned long long *l)
{
    int i = threadIdx.x, a = x[i];
    unsigned all = 0xffffffff;
    a += __shfl_sync(all, a, 3) + __shfl_up_sync(all, a, 1) + __shfl_down_sync(all, a, 2, 16) + __shfl_xor_sync(all, a, 4, 8);
    f[i] += __shfl_sync(all, f[i], 0);
    d[i] += __shfl_xor_sync(all, d[i], 1);
    l[i] += __shfl_down_sync(all, l[i], 1);
    a += __all_sync(all, a) + __any_sync(all, a) + __ballot_sync(all, a) + __uni_sync(all, a) + __activemask();
    a += __match_any_sync(all, a) + __match_all_sync(all, a, &a) + __match_any_sync(all, l[i]) + __match_all_sync(all, l[i], &a);
    __syncwarp();
    a += __syncthreads_count(a) + __syncthreads_and(a) + __syncthreads_or(a);
    __threadfence();
    __threadfence_block();
    __threadfence_system();
    asm volatile("bar.sync 1, 64;");
    asm volatile("barrier.sync 2;");
    unsigned t, lane, warp;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(t));
    a += clock() + (int)clock64() + lane + warp + t;
    x[i] = a;
}
#if __CUDA_ARCH__ >= 900
KERNEL(vector_atomics)(float2 *a, float4 *b)
{
    float2 x = atomicAdd(a, make_float2(1, 2));
    atomicAdd(b, make_float4(x.x, x.y, 3, 4));
}
#endif
