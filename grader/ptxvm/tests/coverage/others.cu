// Clocks, hints, addresses, calls, assertions, output.

#include <cstdio>
#include <cassert>

#define KERNEL(name) extern "C" __global__ void name
__constant__ float weights[64];
__device__ int counter;
__device__ __managed__ int managed = 3;
struct Pair { float a; int b; double c[3]; };
__device__ __noinline__ Pair turned(Pair p, const int *by) { p.a += *by; p.b = -p.b; p.c[1] = p.c[0]; return p; }

KERNEL(clocks_and_hints)(int *x, float *y, unsigned long long *t)
{
    extern __shared__ int room[];
    int i = threadIdx.x;
    room[i] = x[i];
    __nanosleep(100);
    t[0] = clock64();
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    unsigned low, high;
    asm volatile("mov.u32 %0, %%globaltimer_lo;" : "=r"(low));
    asm volatile("mov.u32 %0, %%globaltimer_hi;" : "=r"(high));
    asm volatile("prefetch.global.L2 [%0];" ::"l"(x));
    asm volatile("prefetch.global.L1 [%0];" ::"l"(x));
    asm volatile("prefetchu.L1 [%0];" ::"l"(x));
    asm volatile("pmevent 3;");
    unsigned smem = (unsigned)__cvta_generic_to_shared(room);
    int v;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(v) : "r"(smem));
    __builtin_assume(i < 1024);
    if (__isGlobal(x) && __isShared(room) && !__isLocal(x) && !__isConstant(x))
        v += __builtin_expect(x[1], 1);
    v += gridDim.x * gridDim.y * gridDim.z + blockDim.y + blockDim.z + blockIdx.y + blockIdx.z + threadIdx.y + threadIdx.z + warpSize;
    x[i] = v + room[(i + 1) % 32] + low + high;
    t[1] = now;
    y[i] = weights[i & 63] + counter + managed;
}
KERNEL(calls_and_asserts)(Pair *p, int *x)
{
    int i = threadIdx.x;
    p[i] = turned(p[i], x);
    assert(x[i] >= 0);
    printf("%d %f %s\n", i, p[i].c[0], "done");
    if (x[i] > 1000)
        __trap();
    int local[16];
    for (int k = 0; k < 16; k++)
        local[k] = x[k] * i;
    x[i] = local[x[i] & 15];
    if (x[i] == 77)
        asm("exit;");
    switch (x[i]) {
    case 0: x[0] = 1; break;
    case 1: x[1] = 5; break;
    case 2: x[2] = 7; break;
    case 3: x[3] = 9; break;
    case 4: x[0] = 11; break;
    case 5: x[4] = 13; break;
    case 9: x[4] = 17; break;
    default: x[5] = 3;
    }
    __brkpt();
}
