"""The largest error of the approximate functions on a GPU, in units of the last place of the exact result.

Usage: python3 approx.py OUT.  Every 127th of the 2^32 operands; for division, as
many pairs. Lines of OUT/approx.txt: instruction, condition, largest distance in ulp to the correctly rounded result, the operand
(bits), what the GPU gave, largest absolute error.
"""

import sys

import numpy as np

from gpu import Gpu, c, mix

PTX = (
    ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in,.param .u64 out,.param .u64 scratch){\n"
    ".reg .b32 %r<30>;.reg .b64 %rd<30>;.reg .f32 %f<9>;\n"
    "ld.param.u64 %rd20,[in];ld.param.u64 %rd21,[out];ld.param.u64 %rd24,[scratch];mov.u32 %r20,%tid.x;mov.u32 %r21,%ctaid.x;"
    "mad.lo.u32 %r20,%r21,128,%r20;mul.wide.u32 %rd22,%r20,4;add.s64 %rd20,%rd20,%rd22;add.s64 %rd21,%rd21,%rd22;"
    "add.s64 %rd24,%rd24,%rd22;ld.global.f32 %f1,[%rd20];ld.global.f32 %f2,[%rd24];\nINSTRUCTION\n"
    "st.global.f32 [%rd21],%f0;ret;}\n"
)
N = 1 << 20
ROUNDS = 33


def key(bits):
    """Order of floats as integers."""
    b = bits.astype(np.int64)
    return np.where(b & 0x80000000, -(b & 0x7FFFFFFF), b)


EXACT = {
    "ex2": lambda a, b: np.exp2(a), "lg2": lambda a, b: np.log2(a), "sin": lambda a, b: np.sin(a), "cos": lambda a, b: np.cos(a),
    "tanh": lambda a, b: np.tanh(a), "rsqrt": lambda a, b: 1 / np.sqrt(a), "rcp": lambda a, b: 1 / a,
    "sqrt": lambda a, b: np.sqrt(a), "div": lambda a, b: a / b,
}


def conditions(name, a, b):
    yield "all normal operands and results", np.ones(len(a), bool)
    if name == "lg2":
        yield "0.5..2", (a >= 0.5) & (a <= 2)
        yield "outside 0.5..2", (a < 0.5) | (a > 2)
    if name in ("sin", "cos"):
        yield "|x| <= pi", np.abs(a) <= np.pi
        yield "|x| <= 100 pi", np.abs(a) <= 100 * np.pi
    if name == "div":
        yield "|y| in 2^-126..2^126", (np.abs(b) <= 2.0**126) & (np.abs(b) >= 2.0**-126)


def main():
    gpu = Gpu()
    driver = gpu.driver
    gpu.out, gpu.src, gpu.src2 = gpu.alloc(N * 4), gpu.alloc(N * 4), gpu.alloc(N * 4)
    out = open(sys.argv[1] + "/approx.txt", "w")
    np.seterr(all="ignore")
    for text in open("tables.txt").read().split("\n"):
        parts = text.split(" ", 2)
        if len(parts) != 3 or not (".approx" in text or ".full" in text) or not text.endswith(";") or parts[1] != "f32":
            continue
        name = parts[2].split(".")[0]
        module = gpu.load(PTX.replace("INSTRUCTION", text.split(" ", 2)[2]))
        if module is None:
            out.write(f"{text} refused\n")
            continue
        worst = {}
        for r in range(ROUNDS):
            i = np.arange(N, dtype=np.uint64) + np.uint64(r * N)
            bits = ((i * np.uint64(127)) & np.uint64(0xFFFFFFFF)).astype(np.uint32)
            if name != "div":
                bits2 = bits
            else:
                bits2 = (mix(i) & np.uint64(0xFFFFFFFF)).astype(np.uint32)
            for address, data in ((gpu.src, bits), (gpu.src2, bits2)):
                gpu.check(driver.cuMemcpyHtoD_v2(address, data.ctypes.data_as(c.c_void_p), c.c_size_t(data.nbytes)))
            gpu.launch(module, "k", (N // 128, 1, 1), (128, 1, 1), [gpu.src, gpu.out, gpu.src2])
            got = gpu.download(gpu.out, np.zeros(N, np.uint32))
            a, b = bits.view(np.float32).astype(np.float64), bits2.view(np.float32).astype(np.float64)
            exact = EXACT[name](a, b)
            want = exact.astype(np.float32)
            g = got.view(np.float32)
            tiny = np.float32(2.0**-126)
            usable = np.isfinite(want) & np.isfinite(g) & (np.abs(want) >= tiny) & (np.abs(a) >= tiny) & np.isfinite(a)
            usable &= (np.abs(b) >= tiny) & np.isfinite(b)
            ulp = np.abs(key(got) - key(want.view(np.uint32)))
            absolute = np.abs(g.astype(np.float64) - exact)
            for what, where in conditions(name, a, b):
                where = where & usable
                if not where.any():
                    continue
                u, x = np.where(where, ulp, -1), np.where(where, absolute, -1)
                k = int(u.argmax())
                old = worst.get(what, (-1, 0, 0, -1.0))
                new = (int(u[k]), int(bits[k]), int(got[k]), max(old[3], float(x.max())))
                worst[what] = new if new[0] > old[0] else (*old[:3], new[3])
        gpu.unload(module)
        for what, (u, operand, given, absolute) in worst.items():
            out.write(f"{text.split(' ', 2)[2]} | {what} | {u} ulp at {operand:08x}, gave {given:08x} | absolute {absolute:.3g}\n")
        out.flush()


if __name__ == "__main__":
    main()
