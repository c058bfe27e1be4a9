"""Runs the instructions of tables.txt on a GPU and writes what they give.

Usage, in this folder, on a machine with an NVIDIA driver, Python and numpy: python3 make.py OUT

Each line of tables.txt is a result register, the type of the result, and an instruction. Operands are registers 1 to 4 of
each file: the low bits of four 64-bit words, which `words` makes. Lines that end in a blank run with all 2^16 values as
first operand, the others with ROWS operand sets. OUT/tables.N.npz gets the raw results by line number, for pack.py; the lines that the
driver's assembler refuses are in OUT/refused.txt.
"""

import os
import sys
import zlib

import numpy as np

from gpu import Gpu, U, mix

ROWS = 4096
ALL = 65536
BLOCK = 128
EDGES32, EDGES64 = (
    np.array([int(x, 16) for x in line.split()], dtype=np.uint64) for line in open("edges.txt").read().splitlines()
)
EDGES16 = np.array([int(x, 16) for x in (
    "0 8000 1 8001 3ff 400 83ff 8400 3bff 3c00 3c01 bc00 4000 c000 7bff fbff 7c00 fc00 7c01 7e00 fe00 7fff "
    "7f 80 807f 8080 3f7f 3f80 3f81 bf80 7f7f ff7f 7f80 ff80 7f81 7fc0 ffc0 ffff 4248 4049 7 1f"
).split()], dtype=np.uint64)

def words(rows):
    """The operands: rows x 4 words."""
    out = np.zeros((rows, 4), dtype=np.uint64)
    for j in range(4):
        n = np.arange(rows, dtype=np.uint64) * U(4) + U(j)
        z, y = mix(n), mix(n + U(1 << 40))
        kind, low, high = z >> U(60), y & U(0xFFFFFFFF), y >> U(32)
        e32 = EDGES32[low % U(len(EDGES32))]
        e64 = EDGES64[low % U(len(EDGES64))]
        e16 = [EDGES16[((y >> U(16 * k)) & U(0xFFFF)) % U(len(EDGES16))] for k in range(4)]
        halves = e16[0] | (e16[1] << U(16)) | (e16[2] << U(32)) | (e16[3] << U(48))
        power = U(1) << (low & U(63))
        first = out[:, 0] if j else e32
        choices = [
            e32, e32, e32 | (high << U(32)), e32 | (EDGES32[high % U(len(EDGES32))] << U(32)),
            e64, e64, e64 + (high & U(7)) - U(4), (e32 + (high & U(3)) - U(1)) & U(0xFFFFFFFF),
            (U(0x3F000000) + (y & U(0x1FFFFFF))) | ((U(0x3FE00000) + (high & U(0x3FFFFF))) << U(32)),
            halves, y & U(255), power + (high & U(3)) - U(1), y, y,
            first ^ np.where(high & U(1), U(0x8000000080008000), U(0)), first + (high & U(3)) - U(1),
        ]
        out[:, j] = np.choose(kind.astype(np.int64), choices)
    return out


WIDEN = {
    "rs0": "cvt.u64.u16 %rd0,%rs0;",
    "r0": "cvt.u64.u32 %rd0,%r0;",
    "f0": "mov.b32 %r0,%f0;cvt.u64.u32 %rd0,%r0;",
    "fd0": "mov.b64 %rd0,%fd0;",
    "p0": "selp.u64 %rd0,1,0,%p0;",
    "rd0": "",
}
DTYPE = {"rs0": np.uint16, "r0": np.uint32, "f0": np.uint32, "fd0": np.uint64, "p0": np.uint8, "rd0": np.uint64}


def ptx(result, instruction):
    load = (
        "ld.global.u64 %rdN,[%rd20+OFFSET];cvt.u32.u64 %rN,%rdN;cvt.u16.u64 %rsN,%rdN;"
        "mov.b32 %fN,%rN;mov.b64 %fdN,%rdN;and.b64 %rd9,%rdN,1;setp.ne.u64 %pN,%rd9,0;\n"
    )
    loads = "".join(load.replace("N", str(i)).replace("OFFSET", str(i * 8 - 8)) for i in range(1, 5))
    return (
        ".version 9.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 in,.param .u64 out,.param .u64 scratch){\n"
        ".reg .b16 %rs<9>;.reg .b32 %r<30>;.reg .b64 %rd<30>;.reg .f32 %f<9>;.reg .f64 %fd<9>;.reg .pred %p<9>;\n"
        ".shared .align 8 .b8 own[1024];\n"
        "mov.u64 %rd0,0;mov.u32 %r0,0;mov.u16 %rs0,0;setp.ne.u32 %p0,%r0,0;\n"
        "ld.param.u64 %rd20,[in];ld.param.u64 %rd21,[out];ld.param.u64 %rd24,[scratch];\n"
        "mov.u32 %r20,%tid.x;mov.u32 %r21,%ctaid.x;mov.u32 %r24,own;mad.lo.u32 %r24,%r20,8,%r24;\n"
        "mad.lo.u32 %r20,%r21,128,%r20;\n"
        "mul.wide.u32 %rd22,%r20,8;add.s64 %rd21,%rd21,%rd22;add.s64 %rd24,%rd24,%rd22;\n"
        "mul.wide.u32 %rd22,%r20,32;add.s64 %rd20,%rd20,%rd22;\n"
        + loads + instruction + "\n" + WIDEN[result] + "\nst.global.u64 [%rd21],%rd0;\nret;\n}\n"
    )


class Tables(Gpu):
    def __init__(self):
        super().__init__()
        self.out = self.alloc(ALL * 8)
        self.scratch = self.alloc(ALL * 8)

    def run(self, source, text, rows):
        """The 64-bit results, or None if the assembler refuses the text."""
        module = self.load(text)
        if module is None:
            return None
        self.launch(module, "k", (rows // BLOCK, 1, 1), (BLOCK, 1, 1), [source, self.out, self.scratch])
        results = self.download(self.out, np.zeros(rows, dtype=np.uint64))
        self.unload(module)
        return results


def worker(part, parts, folder):
    gpu = Tables()
    some = gpu.upload(words(ROWS))
    every = words(ALL)
    every[:, 0] = np.arange(ALL, dtype=np.uint64)
    every = gpu.upload(every)
    found, refused = {}, []
    for number, line in enumerate(open("tables.txt").read().split("\n")[:-1]):
        if number % parts != part:
            continue
        result, _, instruction = line.split(" ", 2)
        exhaustive = line.endswith(" ")
        results = gpu.run(every if exhaustive else some, ptx(result, instruction), ALL if exhaustive else ROWS)
        if results is None:
            refused.append(line)
        else:
            found[str(number)] = results.astype(DTYPE[result])
    np.savez_compressed(f"{folder}/tables.{part}.npz", **found)
    open(f"{folder}/refused.{part}.txt", "w").write("".join(line + "\n" for line in refused))
    print(part, len(found), len(refused), flush=True)


def main():
    folder, parts = sys.argv[1], 12
    os.environ["CUDA_CACHE_DISABLE"] = "1"
    children = []
    for part in range(parts):
        child = os.fork()
        if child == 0:
            try:
                worker(part, parts, folder)
            except Exception as error:
                print(part, "failed:", error, flush=True)
                os._exit(1)
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    checksum = zlib.crc32(words(ALL).tobytes())
    open(f"{folder}/words.crc32", "w").write(f"{checksum:08x}\n")


if __name__ == "__main__":
    main()
