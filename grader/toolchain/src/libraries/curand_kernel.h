// The generators of cuRAND that a kernel calls itself: XORWOW (Marsaglia, 2003), MRG32k3a (L'Ecuyer, 1999) and Philox4x32-10 (Salmon et
// al., 2011), with cuRAND's seeding, subsequences and distributions, so that each gives the numbers that it gives there. Functions are for
// host and device: cuRAND's host functions in curand.cu use them, too.
#pragma once
#include "curand.h"
#include <cuda_runtime.h>
#include <math.h>

#define CURAND_FUNCTION_MEMBER __forceinline__ __host__ __device__
#define CURAND_FUNCTION static CURAND_FUNCTION_MEMBER

struct curandStateXORWOW {
    unsigned int d, v[5];
    int boxmuller_flag, boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
struct curandStateMRG32k3a {
    unsigned int s1[3], s2[3];
    int boxmuller_flag, boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
struct curandStatePhilox4_32_10 {
    uint4 ctr, output;
    uint2 key;
    unsigned int STATE;
    int boxmuller_flag, boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
typedef curandStateXORWOW curandState, curandState_t, curandStateXORWOW_t;
typedef curandStateMRG32k3a curandStateMRG32k3a_t;
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

namespace curand_detail {

// A jump over n steps of XORWOW's shift register multiplies its state by A^n, A being one step. By the theorem of Cayley and Hamilton this is
// r(A), with the remainder r of x^n modulo A's characteristic polynomial, whose degree is 160 (Haramoto et al., 2008). The bits of a
// polynomial are its coefficients, that of x^0 first; the characteristic polynomial is without its x^160 here.
#define CURAND_CHARACTERISTIC {0x60001, 0x8610030, 0x62121, 0xf3c0035, 0xf0e}
// The remainders of x^(2^67 * 2^k) for k = 0 ... 31: a subsequence has 2^67 numbers.
#define CURAND_SUBSEQUENCES { \
    {0x26294934, 0x77bbc248, 0x1a87dad0, 0x930052d4, 0x947e6dd2}, \
    {0x5f39c379, 0x95e20ba6, 0x20e9ff72, 0x1244ce5e, 0xe8fd228f}, \
    {0xa7474d19, 0x37c549e0, 0x140877d2, 0x24c43924, 0xcd52ebec}, \
    {0xe0360ec5, 0xb1c96c24, 0xdbb91766, 0x666ff5dc, 0xf19a7e52}, \
    {0xfcc8f692, 0x35aa698a, 0x4ebbf85, 0x448304b0, 0x82f3fd5}, \
    {0x48c289bd, 0xe851cf98, 0x845ad581, 0xfd70752a, 0x2c3e63f6}, \
    {0xe502f5b3, 0x77859d31, 0x97e1cbb3, 0xea09047a, 0x61d5f37e}, \
    {0xb89326d0, 0x5a8655a9, 0xfb6e98f5, 0x2102162, 0x7e6fcf6f}, \
    {0xb3a15db4, 0xc6df3330, 0x1a8be751, 0xf1e4b221, 0x6bb61c05}, \
    {0x133de1d0, 0x361e4422, 0xc6131fcf, 0xd9719f45, 0x9658a164}, \
    {0x19e2bee8, 0xf8974218, 0x4e65536a, 0xa2570336, 0xe9b88082}, \
    {0x7863644b, 0x2a21ce84, 0x112e86f1, 0xed01ce0e, 0xba143e84}, \
    {0xe2cae2e, 0xd1011279, 0x58923768, 0x2bf650ba, 0xc985bcda}, \
    {0x213a286a, 0x6596b510, 0x6fc10eae, 0x38a13547, 0x11c7749e}, \
    {0x146281e7, 0xa45b4452, 0xafa8c695, 0x74a0ac94, 0x4b250e0a}, \
    {0x2306bc52, 0x790f3b4c, 0x2fe473b9, 0xbc81d7c0, 0x93efe98}, \
    {0x89658c8b, 0xf3914315, 0xa73fe84b, 0x3c5fadb6, 0xadba8dd6}, \
    {0x9e49814, 0x9caf5ed, 0x6b2460d9, 0x1b9981c1, 0x2d1fefc3}, \
    {0x82161afc, 0x9bb13c55, 0xfd20d7fb, 0x306d90b9, 0x92bf386f}, \
    {0x96d32350, 0xe081864, 0x69faa798, 0xe7faecf5, 0xf1f951be}, \
    {0x3e9058c1, 0x71da9705, 0xe2cb1f2b, 0x73456536, 0xbd6501b6}, \
    {0x990ffc6e, 0xbfdd1b5d, 0xc83e520b, 0xe972936a, 0xac79abb9}, \
    {0xb1321eb5, 0xb06d01a2, 0x51532012, 0x8fb59962, 0x141d3b0b}, \
    {0x3257dfe1, 0xd8a3d601, 0x3a58c735, 0x845f36e4, 0x112c611}, \
    {0xa0ffe9a4, 0xf57be00e, 0xe706880c, 0x191211ef, 0xee5664fb}, \
    {0x9a3385b8, 0xc540c30a, 0xb241d1e0, 0x626569, 0x6b355fe9}, \
    {0xe129d45d, 0xac3e698b, 0xd61f79fd, 0x7a72a28b, 0x7f4942be}, \
    {0x612501bb, 0xae7b767d, 0xaa66c165, 0x9bfaf8e, 0x3e55c16d}, \
    {0x874e26a7, 0x33bc5a47, 0xad95cba5, 0x67651c39, 0xf1f07dca}, \
    {0xb5ed0732, 0x30e7a573, 0x5c056714, 0x2304f8fa, 0xebc584e1}, \
    {0x4b324c2e, 0x2bdcc5a0, 0x53eb4240, 0xcac4fbc1, 0x13e529e7}, \
    {0xe1683e38, 0xa2339994, 0x7308a647, 0xc7c3f0b1, 0x4a3dcd33}, \
}
static const unsigned int host_subsequences[32][5] = CURAND_SUBSEQUENCES;
static __device__ const unsigned int device_subsequences[32][5] = CURAND_SUBSEQUENCES;

struct Polynomial { unsigned int word[5]; };

CURAND_FUNCTION Polynomial subsequences(int k) {
    Polynomial p;
    for (int i = 0; i < 5; i++) {
#ifdef __CUDA_ARCH__
        p.word[i] = device_subsequences[k][i];
#else
        p.word[i] = host_subsequences[k][i];
#endif
    }
    return p;
}

CURAND_FUNCTION void step(unsigned int v[5]) {
    unsigned int t = v[0] ^ (v[0] >> 2);
    v[0] = v[1]; v[1] = v[2]; v[2] = v[3]; v[3] = v[4];
    v[4] = v[4] ^ (v[4] << 4) ^ t ^ (t << 1);
}

// Replaces a state by p(A) times it.
CURAND_FUNCTION void apply(const Polynomial& p, unsigned int v[5]) {
    unsigned int sum[5] = {0, 0, 0, 0, 0};
    for (int word = 0; word < 5; word++) {
        for (unsigned int bits = p.word[word], i = 0; i < 32; i++, bits >>= 1) {
            if (bits & 1) for (int k = 0; k < 5; k++) sum[k] ^= v[k];
            step(v);
        }
    }
    for (int k = 0; k < 5; k++) v[k] = sum[k];
}

CURAND_FUNCTION Polynomial square(const Polynomial& p) {
    const unsigned int modulus[5] = CURAND_CHARACTERISTIC;
    unsigned int wide[11] = {0};
    for (int i = 0; i < 160; i++) wide[2 * i >> 5] |= (p.word[i >> 5] >> (i & 31) & 1) << (2 * i & 31);
    for (int i = 319; i >= 160; i--) {
        if (!(wide[i >> 5] >> (i & 31) & 1)) continue;
        int word = (i - 160) >> 5, bit = (i - 160) & 31;
        for (int k = 0; k < 5; k++) {
            wide[word + k] ^= modulus[k] << bit;
            if (bit) wide[word + k + 1] ^= modulus[k] >> (32 - bit);
        }
    }
    Polynomial result;
    for (int k = 0; k < 5; k++) result.word[k] = wide[k];
    return result;
}

CURAND_FUNCTION Polynomial times_x(const Polynomial& p) {
    const unsigned int modulus[5] = CURAND_CHARACTERISTIC;
    Polynomial result;
    for (int k = 0; k < 5; k++) {
        result.word[k] = p.word[k] << 1 | (k ? p.word[k - 1] >> 31 : 0);
        if (p.word[4] >> 31) result.word[k] ^= modulus[k];
    }
    return result;
}

// Multiplication, vectors and matrices modulo m < 2^32.
CURAND_FUNCTION unsigned int times(unsigned int a, unsigned int b, unsigned int m) { return (unsigned long long)a * b % m; }
CURAND_FUNCTION unsigned int product(const unsigned int row[3], unsigned int a, unsigned int b, unsigned int c, unsigned int m) {
    return ((unsigned long long)times(row[0], a, m) + times(row[1], b, m) + times(row[2], c, m)) % m;
}

// Replaces a state by matrix^n times it.
CURAND_FUNCTION void jump(const unsigned int matrix[9], unsigned long long n, unsigned int s[3], unsigned int m) {
    unsigned int power[3][3];
    for (int i = 0; i < 9; i++) power[i / 3][i % 3] = matrix[i];
    for (; n; n >>= 1) {
        if (n & 1) {
            unsigned int t[3];
            for (int i = 0; i < 3; i++) t[i] = product(power[i], s[0], s[1], s[2], m);
            for (int i = 0; i < 3; i++) s[i] = t[i];
        }
        unsigned int squared[3][3];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) squared[i][j] = product(power[i], power[0][j], power[1][j], power[2][j], m);
        for (int i = 0; i < 9; i++) power[i / 3][i % 3] = squared[i / 3][i % 3];
    }
}

const unsigned int M1 = 4294967087u, M2 = 4294944443u;

// A step of MRG32k3a: a number of 1 ... M1.
CURAND_FUNCTION unsigned int mrg(curandStateMRG32k3a* s) {
    unsigned int p1 = (1403580ull * s->s1[1] + 810728ull * (M1 - s->s1[0])) % M1;
    unsigned int p2 = (527612ull * s->s2[2] + 1370589ull * (M2 - s->s2[0])) % M2;
    s->s1[0] = s->s1[1]; s->s1[1] = s->s1[2]; s->s1[2] = p1;
    s->s2[0] = s->s2[1]; s->s2[1] = s->s2[2]; s->s2[2] = p2;
    return p1 <= p2 ? p1 - p2 + M1 : p1 - p2;
}

CURAND_FUNCTION uint4 philox(uint4 c, uint2 key) {
    for (int round = 0; round < 10; round++) {
        unsigned long long x = 0xD2511F53ull * c.x, z = 0xCD9E8D57ull * c.z;
        c = make_uint4((unsigned int)(z >> 32) ^ c.y ^ key.x, (unsigned int)z, (unsigned int)(x >> 32) ^ c.w ^ key.y, (unsigned int)x);
        key.x += 0x9E3779B9u; key.y += 0xBB67AE85u;
    }
    return c;
}

// Moves on by n blocks of four numbers.
CURAND_FUNCTION void advance(curandStatePhilox4_32_10* s, unsigned long long n) {
    unsigned long long low = s->ctr.x | (unsigned long long)s->ctr.y << 32, sum = low + n;
    s->ctr.x = (unsigned int)sum; s->ctr.y = (unsigned int)(sum >> 32);
    if (sum < low && !++s->ctr.z) ++s->ctr.w;
    s->output = philox(s->ctr, s->key);
}

CURAND_FUNCTION float uniform(unsigned int x) { return x * 2.3283064e-10f + 2.3283064e-10f / 2; }
// 53 bits of two numbers.
CURAND_FUNCTION double uniform(unsigned int x, unsigned int y) {
    unsigned long long z = x ^ (unsigned long long)y << 21;
    return z * 1.1102230246251565e-16 + 1.1102230246251565e-16 / 2;
}

// The method of Box and Muller: two normal numbers of a radius's number u in (0, 1] and an angle.
CURAND_FUNCTION float2 box_muller(float u, float angle) {
    float2 result;
    float radius = sqrtf(-2.0f * logf(u));
#ifdef __CUDA_ARCH__
    __sincosf(angle, &result.x, &result.y);
#else
    result.x = sinf(angle); result.y = cosf(angle);
#endif
    result.x *= radius; result.y *= radius;
    return result;
}
CURAND_FUNCTION float2 box_muller(unsigned int x, unsigned int y) {
    const float unit = 2.3283064e-10f * 6.2831855f;
    return box_muller(uniform(x), y * unit + unit / 2);
}
// The angle is in multiples of pi.
CURAND_FUNCTION double2 box_muller(double u, double angle) {
    double2 result;
    double radius = sqrt(-2.0 * log(u));
#ifdef __CUDA_ARCH__
    sincospi(angle, &result.x, &result.y);
#else
    result.x = sin(angle * 3.1415926535897932); result.y = cos(angle * 3.1415926535897932);
#endif
    result.x *= radius; result.y *= radius;
    return result;
}
CURAND_FUNCTION double2 box_muller(unsigned int x0, unsigned int x1, unsigned int y0, unsigned int y1) {
    unsigned long long y = y0 ^ (unsigned long long)y1 << 21;
    return box_muller(uniform(x0, x1), y * (1.1102230246251565e-16 * 2) + 1.1102230246251565e-16);
}

// What Poisson numbers need in the precision of the special function unit. Where nvcc leaves it to the assembler to contract a product and
// a difference, as it does in cuRAND's own code, the fused operation stands here.
CURAND_FUNCTION float fast_rsqrt(float x) {
#ifdef __CUDA_ARCH__
    asm("rsqrt.approx.f32.ftz %0, %1;" : "=f"(x) : "f"(x));
    return x;
#else
    return 1.0f / sqrtf(x);
#endif
}
CURAND_FUNCTION float fast_exp(float x) {
#ifdef __CUDA_ARCH__
    x = x * 1.4426950408889634074;
    asm("ex2.approx.f32.ftz %0, %1;" : "=f"(x) : "f"(x));
    return x;
#else
    return expf(x);
#endif
}
CURAND_FUNCTION float fast_log(float x) {
#ifdef __CUDA_ARCH__
    asm("lg2.approx.f32.ftz %0, %1;" : "=f"(x) : "f"(x));
    return x * 0.69314718055994530942;
#else
    return logf(x);
#endif
}
CURAND_FUNCTION float fast_rcp(float x) {
#ifdef __CUDA_ARCH__
    asm("rcp.approx.f32.ftz %0, %1;" : "=f"(x) : "f"(x));
    return x;
#else
    return 1.0f / x;
#endif
}

// The logarithm of (n - 1)!: exact up to 8, else by the series of Stirling (Hart et al., "Computer Approximations", 1968, number 5404).
CURAND_FUNCTION double log_gamma(int n) {
    const double exact[9] = {1.060460290274525023e1, 0, 0, 6.931471805599453094e-1, 1.791759469228055001, 3.178053830347945620,
                             4.787491742782045994, 6.579251212010100995, 8.525161361065414300};
    if (n <= 8) return exact[n < 0 ? (n < -8 ? 0 : -n) : n];
    double x = n, inverse = 1.0 / x, square = inverse * inverse;
    double series = -0.1633436431e-2;
    series = series * square + 0.83645878922e-3;
    series = series * square - 0.5951896861197e-3;
    series = series * square + 0.793650576493454e-3;
    series = series * square - 0.277777777735865004e-2;
    series = series * square + 0.833333333333331018375e-1;
    series = series * inverse + 0.918938533204672;
    double half = 0.5 * log(x), rest = fma(half, x - 0.5, -x);
    return rest + fma(half, x - 0.5, series);
}

// A logistic approximation of the distribution of a Poisson number of this mean: 1 / (1 + e^(slope (mean - x) - shift))^2.
struct Logistic {
    float mean, slope, shift;
    CURAND_FUNCTION_MEMBER Logistic(float mean) : mean(mean) {
        slope = fast_rsqrt(mean - 0.12400979329415655f);
        slope = 1.43248035075540910f * slope + 0.00025361074907033f;
        shift = fast_rsqrt(mean - 1.97381164089999420f);
        shift = 0.21096734870196546f * shift + 0.94201734077887530f;
    }
    CURAND_FUNCTION_MEMBER float at(float x) const {
        float root = 1.0f + fast_exp(fmaf(slope, mean - x, -shift));
        return fast_rcp(root * root);
    }
    CURAND_FUNCTION_MEMBER float inverse(float y) const {
        float t = shift + fast_log(fast_rsqrt(y) - 1.0f);
        return fmaf(-t, fast_rcp(slope), mean);
    }
};

}  // namespace curand_detail

// XORWOW.

CURAND_FUNCTION unsigned int curand(curandStateXORWOW* s) {
    curand_detail::step(s->v);
    s->d += 362437;
    return s->v[4] + s->d;
}
CURAND_FUNCTION void skipahead(unsigned long long n, curandStateXORWOW* s) {
    s->d += 362437 * (unsigned int)n;
    if (n < 2048) {
        for (; n; n--) curand_detail::step(s->v);
        return;
    }
    curand_detail::Polynomial p = {{1, 0, 0, 0, 0}};
    for (int bit = 63; bit >= 0; bit--) {
        if (n >> bit > 1) p = curand_detail::square(p);
        if (n >> bit & 1) p = curand_detail::times_x(p);
    }
    curand_detail::apply(p, s->v);
}
CURAND_FUNCTION void skipahead_sequence(unsigned long long n, curandStateXORWOW* s) {
    curand_detail::Polynomial p;
    for (int k = 0; n; k++, n >>= 1) {
        p = k < 32 ? curand_detail::subsequences(k) : curand_detail::square(p);
        if (n & 1) curand_detail::apply(p, s->v);
    }
}
CURAND_FUNCTION void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset, curandStateXORWOW* s) {
    unsigned int low = 1099087573u * ((unsigned int)seed ^ 0xaad26b49u), high = 2591861531u * ((unsigned int)(seed >> 32) ^ 0xf7dcefddu);
    s->d = 6615241 + low + high;
    s->v[0] = 123456789 + low; s->v[1] = 362436069 ^ low; s->v[2] = 521288629 + high; s->v[3] = 88675123 ^ high; s->v[4] = 5783321 + low;
    s->boxmuller_flag = s->boxmuller_flag_double = 0;
    s->boxmuller_extra = 0; s->boxmuller_extra_double = 0;
    skipahead_sequence(sequence, s);
    skipahead(offset, s);
}
CURAND_FUNCTION float curand_uniform(curandStateXORWOW* s) { return curand_detail::uniform(curand(s)); }
CURAND_FUNCTION double curand_uniform_double(curandStateXORWOW* s) {
    unsigned int x = curand(s), y = curand(s);
    return curand_detail::uniform(x, y);
}
CURAND_FUNCTION float2 curand_normal2(curandStateXORWOW* s) {
    unsigned int x = curand(s), y = curand(s);
    return curand_detail::box_muller(x, y);
}
CURAND_FUNCTION double2 curand_normal2_double(curandStateXORWOW* s) {
    unsigned int x0 = curand(s), x1 = curand(s), y0 = curand(s), y1 = curand(s);
    return curand_detail::box_muller(x0, x1, y0, y1);
}

// MRG32k3a.

CURAND_FUNCTION unsigned int curand(curandStateMRG32k3a* s) { return (unsigned int)(curand_detail::mrg(s) * 1.000000048662); }
CURAND_FUNCTION void skipahead(unsigned long long n, curandStateMRG32k3a* s) {
    const unsigned int a1[9] = {0, 1, 0, 0, 0, 1, curand_detail::M1 - 810728, 1403580, 0};
    const unsigned int a2[9] = {0, 1, 0, 0, 0, 1, curand_detail::M2 - 1370589, 0, 527612};
    curand_detail::jump(a1, n, s->s1, curand_detail::M1);
    curand_detail::jump(a2, n, s->s2, curand_detail::M2);
}
// The matrices of a subsequence of 2^76 numbers and of a sequence of 2^127.
CURAND_FUNCTION void skipahead_subsequence(unsigned long long n, curandStateMRG32k3a* s) {
    const unsigned int a1[9] = {82758667, 1871391091, 4127413238, 3672831523, 69195019, 1871391091, 3672091415, 3528743235, 69195019};
    const unsigned int a2[9] = {1511326704, 3759209742, 1610795712, 4292754251, 1511326704, 3889917532, 3859662829, 4292754251, 3708466080};
    curand_detail::jump(a1, n, s->s1, curand_detail::M1);
    curand_detail::jump(a2, n, s->s2, curand_detail::M2);
}
CURAND_FUNCTION void skipahead_sequence(unsigned long long n, curandStateMRG32k3a* s) {
    const unsigned int a1[9] = {2427906178, 3580155704, 949770784, 226153695, 1230515664, 3580155704, 1988835001, 986791581, 1230515664};
    const unsigned int a2[9] = {1464411153, 277697599, 1610723613, 32183930, 1464411153, 1022607788, 2824425944, 32183930, 2093834863};
    curand_detail::jump(a1, n, s->s1, curand_detail::M1);
    curand_detail::jump(a2, n, s->s2, curand_detail::M2);
}
CURAND_FUNCTION void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset, curandStateMRG32k3a* s) {
    unsigned int low = (unsigned int)seed ^ 0x55555555u, high = (unsigned int)(seed >> 32) ^ 0xAAAAAAAAu;
    if (!seed) low = high = 1;
    for (int i = 0; i < 3; i++) {
        s->s1[i] = curand_detail::times(i == 1 ? high : low, 12345, curand_detail::M1);
        s->s2[i] = curand_detail::times(i == 1 ? low : high, 12345, curand_detail::M2);
    }
    s->boxmuller_flag = s->boxmuller_flag_double = 0;
    s->boxmuller_extra = 0; s->boxmuller_extra_double = 0;
    skipahead_subsequence(sequence, s);
    skipahead(offset, s);
}
CURAND_FUNCTION double curand_uniform_double(curandStateMRG32k3a* s) { return curand_detail::mrg(s) * 2.3283065498378288e-10; }
CURAND_FUNCTION float curand_uniform(curandStateMRG32k3a* s) { return (float)curand_uniform_double(s); }
CURAND_FUNCTION float2 curand_normal2(curandStateMRG32k3a* s) {
    float u = curand_uniform(s), angle = curand_uniform(s) * 6.2831855f;
    return curand_detail::box_muller(u, angle);
}
CURAND_FUNCTION double2 curand_normal2_double(curandStateMRG32k3a* s) {
    double u = curand_uniform_double(s), angle = curand_uniform_double(s) * 2.0;
    return curand_detail::box_muller(u, angle);
}

// Philox4x32-10. `STATE` counts the numbers of `output` that are used.

CURAND_FUNCTION unsigned int curand(curandStatePhilox4_32_10* s) {
    unsigned int result = s->STATE == 0 ? s->output.x : s->STATE == 1 ? s->output.y : s->STATE == 2 ? s->output.z : s->output.w;
    if (++s->STATE == 4) {
        curand_detail::advance(s, 1);
        s->STATE = 0;
    }
    return result;
}
CURAND_FUNCTION uint4 curand4(curandStatePhilox4_32_10* s) {
    uint4 result;
    result.x = curand(s); result.y = curand(s); result.z = curand(s); result.w = curand(s);
    return result;
}
CURAND_FUNCTION void skipahead(unsigned long long n, curandStatePhilox4_32_10* s) {
    s->STATE += n & 3;
    curand_detail::advance(s, n / 4 + (s->STATE > 3));
    s->STATE &= 3;
}
CURAND_FUNCTION void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10* s) {
    unsigned long long sum = (s->ctr.z | (unsigned long long)s->ctr.w << 32) + n;
    s->ctr.z = (unsigned int)sum; s->ctr.w = (unsigned int)(sum >> 32);
    s->output = curand_detail::philox(s->ctr, s->key);
}
CURAND_FUNCTION void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset, curandStatePhilox4_32_10* s) {
    s->ctr = make_uint4(0, 0, (unsigned int)sequence, (unsigned int)(sequence >> 32));
    s->key = make_uint2((unsigned int)seed, (unsigned int)(seed >> 32));
    s->STATE = 0;
    s->boxmuller_flag = s->boxmuller_flag_double = 0;
    s->boxmuller_extra = 0; s->boxmuller_extra_double = 0;
    skipahead(offset, s);
}
CURAND_FUNCTION float curand_uniform(curandStatePhilox4_32_10* s) { return curand_detail::uniform(curand(s)); }
CURAND_FUNCTION double curand_uniform_double(curandStatePhilox4_32_10* s) { return curand(s) * 2.3283064365386963e-10 + 2.3283064365386963e-10; }
CURAND_FUNCTION float4 curand_uniform4(curandStatePhilox4_32_10* s) {
    uint4 x = curand4(s);
    return make_float4(curand_detail::uniform(x.x), curand_detail::uniform(x.y), curand_detail::uniform(x.z), curand_detail::uniform(x.w));
}
CURAND_FUNCTION double2 curand_uniform2_double(curandStatePhilox4_32_10* s) {
    uint4 x = curand4(s);
    return make_double2(curand_detail::uniform(x.x, x.y), curand_detail::uniform(x.z, x.w));
}
CURAND_FUNCTION float2 curand_normal2(curandStatePhilox4_32_10* s) {
    unsigned int x = curand(s), y = curand(s);
    return curand_detail::box_muller(x, y);
}
CURAND_FUNCTION float4 curand_normal4(curandStatePhilox4_32_10* s) {
    float2 a = curand_normal2(s), b = curand_normal2(s);
    return make_float4(a.x, a.y, b.x, b.y);
}
CURAND_FUNCTION double2 curand_normal2_double(curandStatePhilox4_32_10* s) {
    uint4 x = curand4(s);
    return curand_detail::box_muller(x.x, x.y, x.z, x.w);
}

// Normal and log-normal numbers of any of them, one at a time: the second one of a pair waits in the state.

template <class State> CURAND_FUNCTION float curand_normal(State* s) {
    if (s->boxmuller_flag == 1) {
        s->boxmuller_flag = 0;
        return s->boxmuller_extra;
    }
    float2 pair = curand_normal2(s);
    s->boxmuller_flag = 1; s->boxmuller_extra = pair.y;
    return pair.x;
}
template <class State> CURAND_FUNCTION double curand_normal_double(State* s) {
    if (s->boxmuller_flag_double == 1) {
        s->boxmuller_flag_double = 0;
        return s->boxmuller_extra_double;
    }
    double2 pair = curand_normal2_double(s);
    s->boxmuller_flag_double = 1; s->boxmuller_extra_double = pair.y;
    return pair.x;
}
template <class State> CURAND_FUNCTION float2 curand_log_normal2(State* s, float mean, float stddev) {
    float2 pair = curand_normal2(s);
    return make_float2(expf(mean + stddev * pair.x), expf(mean + stddev * pair.y));
}
template <class State> CURAND_FUNCTION double2 curand_log_normal2_double(State* s, double mean, double stddev) {
    double2 pair = curand_normal2_double(s);
    return make_double2(exp(mean + stddev * pair.x), exp(mean + stddev * pair.y));
}
template <class State> CURAND_FUNCTION float curand_log_normal(State* s, float mean, float stddev) {
    if (s->boxmuller_flag == 2) {
        s->boxmuller_flag = 0;
        return s->boxmuller_extra;
    }
    float2 pair = curand_log_normal2(s, mean, stddev);
    s->boxmuller_flag = 2; s->boxmuller_extra = pair.y;
    return pair.x;
}
template <class State> CURAND_FUNCTION double curand_log_normal_double(State* s, double mean, double stddev) {
    if (s->boxmuller_flag_double == 2) {
        s->boxmuller_flag_double = 0;
        return s->boxmuller_extra_double;
    }
    double2 pair = curand_log_normal2_double(s, mean, stddev);
    s->boxmuller_flag_double = 2; s->boxmuller_extra_double = pair.y;
    return pair.x;
}
CURAND_FUNCTION float4 curand_log_normal4(curandStatePhilox4_32_10* s, float mean, float stddev) {
    float4 x = curand_normal4(s);
    return make_float4(expf(mean + stddev * x.x), expf(mean + stddev * x.y), expf(mean + stddev * x.z), expf(mean + stddev * x.w));
}

// Poisson numbers of any of them: by products of uniform numbers (Knuth, "The Art of Computer Programming", volume 2) where the mean is
// small, by rounding normal ones where it is large, else by rejection.

template <class State> CURAND_FUNCTION unsigned int curand_poisson(State* s, double mean) {
    if (mean > 4000) return (unsigned int)(sqrt(mean) * curand_normal_double(s) + mean + 0.5);
    if (mean < 64) {
        unsigned int count = 0;
        float product = expf((float)mean);
        for (;; count++) {
            product *= curand_uniform(s);
            if (!(product > 1.0)) return count;
        }
    }
    const float m = (float)mean, log_mean = curand_detail::fast_log(m);
    const curand_detail::Logistic logistic(m);
    while (true) {
        float x = floorf(logistic.inverse(curand_uniform(s)));
        float y = curand_uniform(s);
        float bound = (logistic.at(x + 1.0f) - logistic.at(x)) * 1.3f;
        float density = curand_detail::fast_exp(fmaf(x, log_mean, -m) - (float)curand_detail::log_gamma((int)(1.0f + x)));
        if (y * bound < density && bound >= 1e-20) return (unsigned int)x;
    }
}
CURAND_FUNCTION uint4 curand_poisson4(curandStatePhilox4_32_10* s, double mean) {
    uint4 result;
    if (mean > 4000) {
        double2 a = curand_normal2_double(s), b = curand_normal2_double(s);
        const double root = sqrt(mean);
        result.x = (unsigned int)(root * a.x + mean + 0.5); result.y = (unsigned int)(root * a.y + mean + 0.5);
        result.z = (unsigned int)(root * b.x + mean + 0.5); result.w = (unsigned int)(root * b.y + mean + 0.5);
        return result;
    }
    result.x = curand_poisson(s, mean); result.y = curand_poisson(s, mean);
    result.z = curand_poisson(s, mean); result.w = curand_poisson(s, mean);
    return result;
}
