// Products that steps 5 to 8 share.

#pragma once

#include "instructions.cuh"

#define NAMES_32 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_64 NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NAMES_128 NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define LIST_32(d) EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24)
#define LIST_64(d) LIST_32(d), EIGHT(d, 32), EIGHT(d, 40), EIGHT(d, 48), EIGHT(d, 56)
#define LIST_128(d) LIST_64(d), EIGHT(d, 64), EIGHT(d, 72), EIGHT(d, 80), EIGHT(d, 88), EIGHT(d, 96), EIGHT(d, 104), EIGHT(d, 112), EIGHT(d, 120)
// `columns` is twice the sums of a thread; `stored` says which of the factors are stored transposed.
#define PRODUCT(name, sums, columns, stored, a_number, b_number, add_number) \
    __device__ inline void name(float (&d)[sums], unsigned long long a, unsigned long long b, bool add) \
    { \
        asm volatile("{ .reg .pred add; setp.ne.b32 add, %" add_number ", 0;\n\t" \
                     "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32.f16.f16 {" NAMES_##sums "}, " \
                     "%" a_number ", %" b_number ", add, 1, 1, " stored "; }" \
                     : LIST_##sums(d) : "l"(a), "l"(b), "r"((int)add)); \
    }
PRODUCT(multiply, 32, "64", "0, 1", "32", "33", "34")
PRODUCT(multiply, 64, "128", "0, 1", "64", "65", "66")
PRODUCT(multiply_turned, 64, "128", "1, 0", "64", "65", "66")
PRODUCT(multiply_turned, 128, "256", "1, 0", "128", "129", "130")
__device__ inline unsigned rounded(float x, float y)
{
    half2 both = __floats2half2_rn(x, y);
    return *(unsigned*)&both;
}
// Transposes 8x8 halves of a warp, a word for each lane.
__device__ inline unsigned transposed(unsigned x)
{
    unsigned y;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(y) : "r"(x));
    return y;
}
