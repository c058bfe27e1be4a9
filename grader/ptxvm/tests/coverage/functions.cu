// Functions of numbers: each kernel uses all of a family.

#define KERNEL(name) extern "C" __global__ void name

KERNEL(float_functions)(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float a = x[i], b = x[i + n], s, c;
    a += sinf(a) + cosf(b) + tanf(a) + asinf(a) + acosf(b) + atanf(a) + atan2f(a, b);
    a += sinhf(a) + coshf(b) + tanhf(a) + asinhf(a) + acoshf(b) + atanhf(a);
    a += expf(a) + exp2f(b) + exp10f(a) + expm1f(b) + logf(a) + log2f(b) + log10f(a) + log1pf(b) + logbf(a);
    a += powf(a, b) + sqrtf(a) + rsqrtf(b) + cbrtf(a) + rcbrtf(b) + hypotf(a, b) + rhypotf(a, b);
    a += erff(a) + erfcf(b) + erfinvf(a) + erfcinvf(b) + erfcxf(a) + normcdff(b) + normcdfinvf(a);
    a += tgammaf(a) + lgammaf(b) + j0f(a) + y1f(b) + cyl_bessel_i0f(a);
    a += fmodf(a, b) + remainderf(a, b) + fdimf(a, b) + fmaxf(a, b) + fminf(a, b) + fmaf(a, b, a);
    a += floorf(a) + ceilf(b) + truncf(a) + roundf(b) + rintf(a) + nearbyintf(b) + fabsf(a) + copysignf(a, b);
    a += ldexpf(a, 3) + scalbnf(b, 2) + nextafterf(a, b) + sinpif(a) + cospif(b) + norm3df(a, b, a) + rnorm4df(a, b, a, b);
    int e;
    a += frexpf(a, &e) + e + modff(b, &s) + s + ilogbf(a) + remquof(a, b, &e) + e;
    sincosf(a, &s, &c);
    a += s * c;
    sincospif(b, &s, &c);
    a += s * c + lrintf(a) + lroundf(b) + (float)llrintf(a) + (float)llroundf(b);
    a += isnan(a) + isinf(b) + isfinite(a) + signbit(b);
    x[i] = a;
}

KERNEL(double_functions)(double *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double a = x[i], b = x[i + n], s, c;
    a += sin(a) + cos(b) + tan(a) + asin(a) + acos(b) + atan(a) + atan2(a, b);
    a += sinh(a) + cosh(b) + tanh(a) + asinh(a) + acosh(b) + atanh(a);
    a += exp(a) + exp2(b) + exp10(a) + expm1(b) + log(a) + log2(b) + log10(a) + log1p(b) + logb(a);
    a += pow(a, b) + sqrt(a) + rsqrt(b) + cbrt(a) + rcbrt(b) + hypot(a, b) + rhypot(a, b);
    a += erf(a) + erfc(b) + erfinv(a) + erfcinv(b) + erfcx(a) + normcdf(b) + normcdfinv(a);
    a += tgamma(a) + lgamma(b);
    a += fmod(a, b) + remainder(a, b) + fdim(a, b) + fmax(a, b) + fmin(a, b) + fma(a, b, a);
    a += floor(a) + ceil(b) + trunc(a) + round(b) + rint(a) + nearbyint(b) + fabs(a) + copysign(a, b);
    a += ldexp(a, 3) + scalbn(b, 2) + nextafter(a, b) + sinpi(a) + cospi(b) + norm3d(a, b, a) + rnorm4d(a, b, a, b);
    int e;
    a += frexp(a, &e) + e + modf(b, &s) + s + ilogb(a) + remquo(a, b, &e) + e;
    sincos(a, &s, &c);
    a += s * c;
    a += __dadd_rn(a, b) + __dadd_rz(a, b) + __dadd_ru(a, b) + __dadd_rd(a, b) + __dsub_rn(a, b) + __dsub_ru(a, b);
    a += __dmul_rn(a, b) + __dmul_rz(a, b) + __dmul_ru(a, b) + __dmul_rd(a, b) + __fma_rn(a, b, a) + __fma_ru(a, b, a);
    a += __ddiv_rn(a, b) + __ddiv_rz(a, b) + __ddiv_ru(a, b) + __drcp_rn(a) + __drcp_rd(b) + __dsqrt_rn(a) + __dsqrt_ru(b);
    a += __double2int_rn(a) + __double2int_ru(b) + __double2uint_rz(a) + __double2ll_rd(b) + __double2ull_rn(a);
    a += __double2float_ru(a) + __double2float_rz(b) + __int2double_rn(i) + __uint2double_rn(i);
    a += __ll2double_ru((long long)a) + __ull2double_rz((unsigned long long)b);
    a += __longlong_as_double(__double_as_longlong(a) ^ 1) + __hiloint2double(__double2hiint(a), __double2loint(b));
    x[i] = a;
}

KERNEL(float_intrinsics)(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = x[i], b = x[i + n], s, c;
    a += __fadd_rn(a, b) + __fadd_rz(a, b) + __fadd_ru(a, b) + __fadd_rd(a, b) + __fsub_rn(a, b) + __fsub_rz(a, b);
    a += __fmul_rn(a, b) + __fmul_rz(a, b) + __fmul_ru(a, b) + __fmul_rd(a, b);
    a += __fmaf_rn(a, b, a) + __fmaf_rz(a, b, a) + __fmaf_ru(a, b, a) + __fmaf_rd(a, b, a);
    a += __fmaf_ieee_rn(a, b, a) + __fmaf_ieee_ru(a, b, a);
    a += __fdiv_rn(a, b) + __fdiv_rz(a, b) + __fdiv_ru(a, b) + __fdiv_rd(a, b) + __fdividef(a, b);
    a += __frcp_rn(a) + __frcp_ru(b) + __fsqrt_rn(a) + __fsqrt_rz(b) + __frsqrt_rn(a);
    a += __sinf(a) + __cosf(b) + __tanf(a) + __expf(a) + __exp10f(b) + __logf(a) + __log2f(b) + __log10f(a) + __powf(a, b);
    __sincosf(a, &s, &c);
    a += s + c + __saturatef(a) + __int_as_float(__float_as_int(a) ^ 1) + __uint_as_float(__float_as_uint(b) | 1);
    a += __float2int_rn(a) + __float2int_rz(b) + __float2int_ru(a) + __float2int_rd(b);
    a += __float2uint_rn(a) + __float2uint_rz(b) + __float2ll_rn(a) + __float2ll_ru(b) + __float2ull_rz(a) + __float2ull_rd(b);
    a += __int2float_rn(i) + __int2float_ru(i) + __uint2float_rz(i) + __ll2float_rd(i) + __ull2float_ru(i);
    a += __tanhf(a);
    x[i] = a;
}
