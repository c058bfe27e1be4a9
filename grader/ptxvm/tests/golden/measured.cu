// Single instructions at edges that make.py does not reach: prints instruction, operands and result. measured.py packs them.
// nvcc -arch=sm_90 measured.cu -o measured && ./measured > measured.tsv
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
typedef unsigned long long u64;

#define F3(id, text) case id: asm volatile("{.reg .f32 a,b,c,d;mov.b32 a,%1;mov.b32 b,%2;mov.b32 c,%3;" text "mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
#define H3(id, text) case id: asm volatile("{.reg .b16 a,b,c,d;cvt.u16.u32 a,%1;cvt.u16.u32 b,%2;cvt.u16.u32 c,%3;" text "cvt.u32.u16 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
#define R3(id, text) case id: asm volatile(text : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;

__global__ void run(int op, const u64 *in, u64 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    u64 a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2], w = 0;
    unsigned r = 0;
    switch (op) {
        F3(0, "mul.rn.ftz.f32 d,a,b;") F3(1, "mul.rz.ftz.f32 d,a,b;") F3(2, "mul.rm.ftz.f32 d,a,b;") F3(3, "mul.rp.ftz.f32 d,a,b;")
        F3(4, "fma.rn.ftz.f32 d,a,b,c;") F3(5, "fma.rz.ftz.f32 d,a,b,c;") F3(6, "fma.rm.ftz.f32 d,a,b,c;") F3(7, "fma.rp.ftz.f32 d,a,b,c;")
        F3(8, "div.rn.ftz.f32 d,a,b;") F3(9, "div.full.ftz.f32 d,a,b;") F3(10, "mul.rn.ftz.sat.f32 d,a,b;")
        F3(11, "div.rz.ftz.f32 d,a,b;") F3(12, "div.rp.ftz.f32 d,a,b;")
        H3(20, "mul.rn.ftz.f16 d,a,b;") H3(21, "fma.rn.ftz.f16 d,a,b,c;")
        R3(30, "bfe.u32 %0,%1,%2,%3;") R3(31, "bfe.s32 %0,%1,%2,%3;")
    case 32: asm volatile("bfi.b32 %0,%1,%2,%3,%4;" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)(a * 77)), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 33: asm volatile("bfe.u64 %0,%1,%2,%3;" : "=l"(w) : "l"(a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 34: asm volatile("bfe.s64 %0,%1,%2,%3;" : "=l"(w) : "l"(a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 35: asm volatile("bfi.b64 %0,%1,%2,%3,%4;" : "=l"(w) : "l"(a), "l"(a * 77), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 40: asm volatile("{.reg .f64 x;.reg .f32 d;mov.b64 x,%1;cvt.rn.ftz.f32.f64 d,x;mov.b32 %0,d;}" : "=r"(r) : "l"(a)); break;
    case 41: asm volatile("{.reg .f64 x;.reg .f32 d;mov.b64 x,%1;cvt.rp.ftz.f32.f64 d,x;mov.b32 %0,d;}" : "=r"(r) : "l"(a)); break;
    case 42: asm volatile("{.reg .f64 x;.reg .f32 d;mov.b64 x,%1;cvt.rm.ftz.f32.f64 d,x;mov.b32 %0,d;}" : "=r"(r) : "l"(a)); break;
    case 64: asm volatile("{.reg .b32 d;vadd.s32.s32.u32.sat d,%1.b3,%2.h0;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 65: asm volatile("{.reg .b32 d;vadd.u32.s32.s32.sat d,%1,%2;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 66: asm volatile("{.reg .b32 d;vsub.u32.u32.u32.sat.add d,%1.b1,%2.h1,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 67: asm volatile("{.reg .b32 d;vabsdiff.s32.s32.u32.max d,%1,%2,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 68: asm volatile("{.reg .b32 d;vmin.s32.u32.s32 d,%1.h1,%2.b2;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 69: asm volatile("{.reg .b32 d;vshl.u32.u32.u32.clamp d,%1,%2;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 70: asm volatile("{.reg .b32 d;vshl.s32.s32.u32.wrap d,%1,%2;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 71: asm volatile("{.reg .b32 d;vshl.u32.u32.u32.sat.clamp d,%1.h0,%2.b0;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 72: asm volatile("{.reg .b32 d;vshl.s32.s32.u32.sat.wrap.add d,%1,%2,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 73: asm volatile("{.reg .b32 d;vshr.s32.s32.u32.clamp d,%1,%2;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 74: asm volatile("{.reg .b32 d;vshr.u32.u32.u32.wrap.min d,%1.h1,%2,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 75: asm volatile("{.reg .b32 d;vmad.s32.s32.s32 d,%1.h0,%2.h1,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 76: asm volatile("{.reg .b32 d;vmad.u32.u32.u32.sat d,%1.h0,%2.h1,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 77: asm volatile("{.reg .b32 d;vmad.s32.s32.s32.sat.shr7 d,%1.h0,%2.h1,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 78: asm volatile("{.reg .b32 d;vmad.u32.u32.u32.po d,%1.h1,%2.b1,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 79: asm volatile("{.reg .b32 d;vmad.u32.u32.u32.shr15 d,%1.h0,%2.h0,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 80: asm volatile("{.reg .b32 d;vmad.s32.s32.s32.shr15 d,%1.h0,%2.b3,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 81: asm volatile("{.reg .b32 d;vset.s32.s32.lt d,%1,%2;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 82: asm volatile("{.reg .b32 d;vset.s32.u32.ge.add d,%1.b0,%2.b1,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 83: asm volatile("{.reg .b32 d;vset.u32.u32.ne.max d,%1,%2,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 84: asm volatile("{.reg .b32 d;vset4.u32.u32.ne d,%1,%2,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 85: asm volatile("{.reg .b32 d;vset4.s32.s32.lt.add d,%1,%2,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 86: asm volatile("{.reg .b32 d;vset2.s32.s32.ge d,%1,%2,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 87: asm volatile("{.reg .b32 d;vadd2.s32.s32.s32.sat d,%1,%2,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 88: asm volatile("{.reg .b32 d;vadd4.u32.u32.u32.sat d,%1,%2,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 89: asm volatile("{.reg .b32 d;vsub4.s32.u32.u32.sat d,%1,%2,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 90: asm volatile("{.reg .b32 d;vsub2.s32.s32.s32 d,%1.h31,%2.h22,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 91: asm volatile("{.reg .b32 d;vadd4.s32.s32.s32.add d,%1.b7210,%2.b3456,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 92: asm volatile("{.reg .b32 d;vavrg2.u32.u32.u32 d,%1,%2,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 93: asm volatile("{.reg .b32 d;vmax2.s32.s32.s32.add d,%1,%2,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 94: asm volatile("{.reg .b32 d;set.lt.u32.f16x2 d,%1,%2;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 95: asm volatile("{.reg .b32 d;set.geu.s32.bf16x2 d,%1,%2;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 96: asm volatile("{.reg .b32 d;set.gt.ftz.u32.f16x2 d,%1,%2;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 97: asm volatile("{.reg .b32 d;vadd.s32.s32.s32.sat d.b2,%1,%2,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 98: asm volatile("{.reg .b32 d;vsub.u32.u32.u32.sat d.h1,%1,%2,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 99: asm volatile("{.reg .b32 d;vadd2.s32.s32.s32 d.h1,%1,%2,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
    case 100: asm volatile("{.reg .b32 d;vsub4.u32.u32.u32 d.b20,%1,%2,%3;mov.b32 %0,d;}" : "=r"(r) : "r"((unsigned)a), "r"((unsigned)b), "r"((unsigned)c)); break;
#if __CUDA_ARCH__ >= 900
    case 50: asm volatile("{.reg .pred p;elect.sync %0|p,%1;@p add.u32 %0,%0,100;}" : "=r"(r) : "r"(__activemask())); break;
    case 51:
        if (i & 4)
            asm volatile("{.reg .pred p;elect.sync %0|p,%1;@p add.u32 %0,%0,100;}" : "=r"(r) : "r"(__activemask()));
        break;
#endif
    }
    out[i] = w | r;
}

static u64 state = 1;
static unsigned random_word()
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)((state ^ state >> 29) >> 32);
}
static unsigned bits(float x) { unsigned u; memcpy(&u, &x, 4); return u; }
static float of(unsigned u) { float x; memcpy(&x, &u, 4); return x; }

int main()
{
    const char *names[128] = {"mul.rn.ftz.f32", "mul.rz.ftz.f32", "mul.rm.ftz.f32", "mul.rp.ftz.f32", "fma.rn.ftz.f32", "fma.rz.ftz.f32", "fma.rm.ftz.f32", "fma.rp.ftz.f32", "div.rn.ftz.f32", "div.full.ftz.f32", "mul.rn.ftz.sat.f32", "div.rz.ftz.f32", "div.rp.ftz.f32"};
    names[20] = "mul.rn.ftz.f16", names[21] = "fma.rn.ftz.f16", names[30] = "bfe.u32", names[31] = "bfe.s32", names[32] = "bfi.b32", names[33] = "bfe.u64", names[34] = "bfe.s64", names[35] = "bfi.b64";
    names[40] = "cvt.rn.ftz.f32.f64", names[41] = "cvt.rp.ftz.f32.f64", names[42] = "cvt.rm.ftz.f32.f64", names[50] = "elect.sync", names[51] = "elect.sync of some";
    names[64] = "vadd.s32.s32.u32.sat %0,%1.b3,%2.h0;";
    names[65] = "vadd.u32.s32.s32.sat %0,%1,%2;";
    names[66] = "vsub.u32.u32.u32.sat.add %0,%1.b1,%2.h1,%3;";
    names[67] = "vabsdiff.s32.s32.u32.max %0,%1,%2,%3;";
    names[68] = "vmin.s32.u32.s32 %0,%1.h1,%2.b2;";
    names[69] = "vshl.u32.u32.u32.clamp %0,%1,%2;";
    names[70] = "vshl.s32.s32.u32.wrap %0,%1,%2;";
    names[71] = "vshl.u32.u32.u32.sat.clamp %0,%1.h0,%2.b0;";
    names[72] = "vshl.s32.s32.u32.sat.wrap.add %0,%1,%2,%3;";
    names[73] = "vshr.s32.s32.u32.clamp %0,%1,%2;";
    names[74] = "vshr.u32.u32.u32.wrap.min %0,%1.h1,%2,%3;";
    names[75] = "vmad.s32.s32.s32 %0,%1.h0,%2.h1,%3;";
    names[76] = "vmad.u32.u32.u32.sat %0,%1.h0,%2.h1,%3;";
    names[77] = "vmad.s32.s32.s32.sat.shr7 %0,%1.h0,%2.h1,%3;";
    names[78] = "vmad.u32.u32.u32.po %0,%1.h1,%2.b1,%3;";
    names[79] = "vmad.u32.u32.u32.shr15 %0,%1.h0,%2.h0,%3;";
    names[80] = "vmad.s32.s32.s32.shr15 %0,%1.h0,%2.b3,%3;";
    names[81] = "vset.s32.s32.lt %0,%1,%2;";
    names[82] = "vset.s32.u32.ge.add %0,%1.b0,%2.b1,%3;";
    names[83] = "vset.u32.u32.ne.max %0,%1,%2,%3;";
    names[84] = "vset4.u32.u32.ne %0,%1,%2,%3;";
    names[85] = "vset4.s32.s32.lt.add %0,%1,%2,%3;";
    names[86] = "vset2.s32.s32.ge %0,%1,%2,%3;";
    names[87] = "vadd2.s32.s32.s32.sat %0,%1,%2,%3;";
    names[88] = "vadd4.u32.u32.u32.sat %0,%1,%2,%3;";
    names[89] = "vsub4.s32.u32.u32.sat %0,%1,%2,%3;";
    names[90] = "vsub2.s32.s32.s32 %0,%1.h31,%2.h22,%3;";
    names[91] = "vadd4.s32.s32.s32.add %0,%1.b7210,%2.b3456,%3;";
    names[92] = "vavrg2.u32.u32.u32 %0,%1,%2,%3;";
    names[93] = "vmax2.s32.s32.s32.add %0,%1,%2,%3;";
    names[94] = "set.lt.u32.f16x2 %0,%1,%2;";
    names[95] = "set.geu.s32.bf16x2 %0,%1,%2;";
    names[96] = "set.gt.ftz.u32.f16x2 %0,%1,%2;";
    names[97] = "vadd.s32.s32.s32.sat %0.b2,%1,%2,%3;";
    names[98] = "vsub.u32.u32.u32.sat %0.h1,%1,%2,%3;";
    names[99] = "vadd2.s32.s32.s32 %0.h1,%1,%2,%3;";
    names[100] = "vsub4.u32.u32.u32 %0.b20,%1,%2,%3;";
    const int n = 2048;
    for (int op = 0; op < 128; op++) {
        if (!names[op])
            continue;
        std::vector<u64> in(3 * n), out(n);
        for (int i = 0; i < n; i++) {
            u64 a = 0, b = 0, c = 0;
            int off = (int)(random_word() % 9) - 4;
            if (op <= 12) {
                // Products and quotients within a few steps of 2^-126.
                a = 0x3F800000 | random_word() >> 9;
                double want = op == 8 || op == 9 || op >= 11 ? of(a) * 0x1p60 : 0x1p-126 / of(a) * 0x1p62;
                b = bits((float)want) + off;
                if (op == 8 || op == 9 || op >= 11) {
                    a = bits(of(a) * 0x1p-66f);
                } else {
                    a = bits(of(a) * 0x1p-62f * (1 << 0));
                    a = bits(of(a) * 1.0f);
                }
                if (op >= 4 && op <= 7 && i % 2) {
                    // Twice the product and a part of it away again: what is left is near 2^-126.
                    b = bits(of(b) * 2);
                    c = 0x80800000 + random_word() % 5;
                }
                if (random_word() & 1)
                    a ^= 0x80000000, c ^= 0x80000000;
            } else if (op <= 21) {
                // 2^-14 as f16: significands of 11 bits; exponents that add up to -15 or -14.
                unsigned e = 1 + random_word() % 14;
                a = e << 10 | (random_word() & 1023), b = (16 - e + random_word() % 2) << 10 | (random_word() & 1023);
                // Mostly the neighbours of the reciprocal.
                if (i % 4) {
                    double x = (1 + (a & 1023) / 1024.0);
                    int m = (int)(1024 * (2 / x - 1) + 0.5) + off;
                    b = (15 - e) << 10 | ((m < 0 ? 0 : m > 1023 ? 1023 : m));
                }
                if (op == 21 && i % 3)
                    c = random_word() % 2 ? 0x0400 : 0x8400, b += 1024;
            } else if (op <= 35) {
                unsigned edges[] = {0, 1, 8, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 257, 264, 288, 320, 511, 512, 65535, 65536, 65544, 0x7fffffff, 0x80000000, 0xffffffff, 0x80000008};
                a = (u64)random_word() << 32 | random_word(), b = edges[random_word() % 26], c = edges[random_word() % 26];
            } else if (op <= 42) {
                u64 base = 0x3810000000000000ull; // 2^-126
                a = base - (random_word() % 64 << 24) + (off << 22);
                if (random_word() & 1)
                    a |= 1ull << 63;
            }
            if (op >= 64) {
                unsigned edges[] = {0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x00ff00ff, 0x80018001, 31, 32, 33, 0x3c003c00, 0x7c01fc00, 0x04000200, 0x3f807fff};
                u64 *all[] = {&a, &b, &c};
                for (int k = 0; k < 3; k++) {
                    unsigned way = random_word() % 4;
                    *all[k] = way == 0 ? edges[random_word() % 20] : way == 1 ? random_word() % 40 : way == 2 ? random_word() : random_word() & 0x00ff00ff;
                }
            }
            in[3 * i] = a, in[3 * i + 1] = b, in[3 * i + 2] = c;
        }
        u64 *din, *dout;
        cudaMalloc(&din, 24 * n), cudaMalloc(&dout, 8 * n);
        cudaMemcpy(din, in.data(), 24 * n, cudaMemcpyHostToDevice);
        run<<<n / 128, 128>>>(op, din, dout, n);
        cudaError_t e = cudaMemcpy(out.data(), dout, 8 * n, cudaMemcpyDeviceToHost);
        if (e != cudaSuccess)
            return printf("%s: %s\n", names[op], cudaGetErrorString(e)), 1;
        for (int i = 0; i < n; i++)
            printf("%s\t%llx\t%llx\t%llx\t%llx\n", names[op], in[3 * i], in[3 * i + 1], in[3 * i + 2], out[i]);
        cudaFree(din), cudaFree(dout);
    }
}
