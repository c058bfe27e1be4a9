// Products that steps 5, 7 and 8 share.

#pragma once

#include "instructions.cuh"

__device__ inline void multiply(float (&d)[64], unsigned long long a, unsigned long long b, bool add)
{
    asm volatile("{ .reg .pred add; setp.ne.b32 add, %66, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "%64, %65, add, 1, 1, 0, 1; }"
                 : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24), EIGHT(d, 32), EIGHT(d, 40),
                   EIGHT(d, 48), EIGHT(d, 56)
                 : "l"(a), "l"(b), "r"((int)add));
}
__device__ inline void multiply(float (&d)[32], unsigned long long a, unsigned long long b, bool add)
{
    asm volatile("{ .reg .pred add; setp.ne.b32 add, %34, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "%32, %33, add, 1, 1, 0, 1; }"
                 : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24)
                 : "l"(a), "l"(b), "r"((int)add));
}
__device__ inline unsigned rounded(float x, float y)
{
    half2 both = __floats2half2_rn(x, y);
    return *(unsigned*)&both;
}
