// Integers: bits, words of bytes and halves, and what dynamic programming uses.

#define KERNEL(name) extern "C" __global__ void name

KERNEL(integer_intrinsics)(unsigned *x, unsigned long long *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = x[i], b = x[i + n], c = x[i + 2 * n];
    unsigned long long p = y[i], q = y[i + n];
    a += __brev(a) + __clz(b) + __ffs(c) + __popc(a) + __byte_perm(a, b, c) + __funnelshift_l(a, b, c);
    a += __funnelshift_r(a, b, c) + __funnelshift_lc(a, b, c) + __funnelshift_rc(a, b, c);
    a += __mul24(a, b) + __umul24(b, c) + __mulhi(a, b) + __umulhi(b, c) + __sad(a, b, c) + __usad(a, b, c);
    a += __hadd(a, b) + __rhadd(a, b) + __uhadd(a, b) + __urhadd(b, c) + __fns(a, b & 31, (int)c % 8);
    a += __dp4a((int)a, (int)b, (int)c) + __dp4a(a, b, c) + __dp2a_lo((int)a, (int)b, (int)c) + __dp2a_hi(a, b, c);
    a += __dp2a_lo(a, b, c) + __dp2a_hi((int)a, (int)b, (int)c);
    p += __brevll(p) + __clzll(q) + __ffsll(p) + __popcll(q) + __mul64hi(p, q) + __umul64hi(p, q);
    p += abs((int)a) + llabs((long long)q) + min(a, b) + max((int)b, (int)c) + min(p, q) + max((long long)p, (long long)q);
    p += p / (q | 1) + p % (q | 1) + (long long)p / (long long)(q | 3) + a / (b | 1) + (int)a % (int)(b | 1);
    p += (unsigned short)a * (short)b + (unsigned char)(a / 3) + ((short)b >> (c & 7)) + ((unsigned char)c << 3);
    __int128 wide = (__int128)(long long)p * (long long)q + a;
    y[i] = p + (unsigned long long)(wide >> 64);
    x[i] = a;
}

KERNEL(words_of_bytes)(unsigned *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = x[i], b = x[i + n], c = x[i + 2 * n];
    a += __vabs2(a) + __vabs4(b) + __vabsss2(a) + __vabsss4(b) + __vabsdiffs2(a, b) + __vabsdiffs4(a, b);
    a += __vabsdiffu2(a, b) + __vabsdiffu4(a, b) + __vadd2(a, b) + __vadd4(b, c) + __vaddss2(a, b) + __vaddss4(b, c);
    a += __vaddus2(a, b) + __vaddus4(b, c) + __vavgs2(a, b) + __vavgs4(b, c) + __vavgu2(a, b) + __vavgu4(b, c);
    a += __vcmpeq2(a, b) + __vcmpeq4(b, c) + __vcmpges2(a, b) + __vcmpges4(b, c) + __vcmpgeu2(a, b) + __vcmpgtu4(b, c);
    a += __vcmpgts2(a, b) + __vcmples4(b, c) + __vcmpleu2(a, b) + __vcmplts4(b, c) + __vcmpltu2(a, b) + __vcmpne4(b, c);
    a += __vhaddu2(a, b) + __vhaddu4(b, c) + __vmaxs2(a, b) + __vmaxs4(b, c) + __vmaxu2(a, b) + __vmaxu4(b, c);
    a += __vmins2(a, b) + __vmins4(b, c) + __vminu2(a, b) + __vminu4(b, c) + __vneg2(a) + __vneg4(b);
    a += __vnegss2(a) + __vnegss4(b) + __vsads2(a, b) + __vsads4(b, c) + __vsadu2(a, b) + __vsadu4(b, c);
    a += __vseteq2(a, b) + __vseteq4(b, c) + __vsetges2(a, b) + __vsetgeu4(b, c) + __vsetgts2(a, b) + __vsetgtu4(b, c);
    a += __vsetles2(a, b) + __vsetleu4(b, c) + __vsetlts2(a, b) + __vsetltu4(b, c) + __vsetne2(a, b) + __vsetne4(b, c);
    a += __vsub2(a, b) + __vsub4(b, c) + __vsubss2(a, b) + __vsubss4(b, c) + __vsubus2(a, b) + __vsubus4(b, c);
    x[i] = a;
}

KERNEL(dynamic_programming)(unsigned *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = x[i], b = x[i + n], c = x[i + 2 * n];
    int s = a, t = b, u = c;
    bool high, low;
    s += __vimax3_s32(s, t, u) + __vimin3_s32(s, t, u) + __vimax3_s32_relu(s, t, u) + __vimin3_s32_relu(s, t, u);
    a += __vimax3_u32(a, b, c) + __vimin3_u32(a, b, c) + __vimax3_s16x2(a, b, c) + __vimin3_u16x2(a, b, c);
    a += __vimax3_s16x2_relu(a, b, c) + __vimin3_s16x2_relu(a, b, c) + __vimax_s16x2_relu(a, b) + __vimin_s16x2_relu(a, b);
    s += __vimax_s32_relu(s, t) + __vimin_s32_relu(s, t) + __viaddmax_s32(s, t, u) + __viaddmin_s32(s, t, u);
    s += __viaddmax_s32_relu(s, t, u) + __viaddmin_s32_relu(s, t, u);
    a += __viaddmax_u32(a, b, c) + __viaddmin_u32(a, b, c) + __viaddmax_s16x2(a, b, c) + __viaddmin_u16x2(a, b, c);
    a += __viaddmax_s16x2_relu(a, b, c) + __viaddmin_s16x2_relu(a, b, c);
    s += __vibmax_s32(s, t, &low) + low;
    a += __vibmin_u32(a, b, &low) + low + __vibmax_s16x2(a, b, &high, &low) + high + low;
    a += __vibmin_u16x2(a, b, &high, &low) + high + low;
    x[i] = a + s;
}
