"""Runs single instructions on a GPU and writes what they give.

Usage, in this folder, on a machine with an NVIDIA driver: python3 make.py OUT

Each line of instructions.txt is a seed and an instruction. Its operands are registers 1 to 4 of their files, its result
register 0. Every thread gets four random 64-bit words (many of them edge cases, from edges.txt) as operands; the results,
64 little-endian words for each instruction, are written to OUT. h200.bin was made on an NVIDIA H200, driver 580, on
2026-11-21. The test tests/it/golden.rs builds the same programs and inputs.
"""

import ctypes as c
import struct
import sys

THREADS = 64
MASK = (1 << 64) - 1
EDGES32, EDGES64 = ([int(x, 16) for x in line.split()] for line in open("edges.txt").read().splitlines())


def inputs(seed):
    state, out = seed, []
    for _ in range(THREADS * 4):
        state = (state * 6364136223846793005 + 1442695040888963407) & MASK
        kind, mixed = state >> 61, state ^ (state >> 29)
        other = (state * 2862933555777941757 + 3037000493) & MASK
        edge32, edge64 = EDGES32[(state >> 32) % len(EDGES32)], EDGES64[(state >> 32) % len(EDGES64)]
        if kind < 3:
            value = edge32 | ((other >> 32) << 32 if kind == 2 else 0)
        elif kind == 3:
            value = edge64
        elif kind == 4:
            value = (edge32 + (other >> 62) - 1) & 0xFFFFFFFF
        elif kind == 5:
            value = (edge64 + (other >> 61) - 4) & MASK
        elif kind == 6:
            value = (0x3F000000 + ((other >> 38) & 0x1FFFFFF)) | ((0x3FE00000 + ((other >> 10) & 0x3FFFFF)) << 32)
        else:
            value = mixed
        out.append(value)
    return out


RESULTS = {
    "%rs0": "cvt.u64.u16 %rd0,%rs0;",
    "%r0": "cvt.u64.u32 %rd0,%r0;",
    "%f0": "mov.b32 %r0,%f0;cvt.u64.u32 %rd0,%r0;",
    "%fd0": "mov.b64 %rd0,%fd0;",
    "%p0": "selp.u64 %rd0,1,0,%p0;",
    "%rd0": "",
}


def ptx(instruction):
    result = instruction.split(None, 1)[1].split(",")[0].split("|")[0].strip()
    load = (
        "ld.global.u64 %rdN,[%rd20+OFFSET];cvt.u32.u64 %rN,%rdN;cvt.u16.u64 %rsN,%rdN;"
        "mov.b32 %fN,%rN;mov.b64 %fdN,%rdN;and.b64 %rd9,%rdN,1;setp.ne.u64 %pN,%rd9,0;\n"
    )
    loads = "".join(load.replace("N", str(i)).replace("OFFSET", str(i * 8 - 8)) for i in range(1, 5))
    return (
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in,.param .u64 out){\n"
        ".reg .b16 %rs<9>;.reg .b32 %r<30>;.reg .b64 %rd<30>;.reg .f32 %f<9>;.reg .f64 %fd<9>;.reg .pred %p<9>;\n"
        "mov.u64 %rd0,0;mov.u32 %r0,0;\n"
        "ld.param.u64 %rd20,[in];ld.param.u64 %rd21,[out];mov.u32 %r20,%tid.x;\n"
        "mul.wide.u32 %rd22,%r20,8;add.s64 %rd21,%rd21,%rd22;mul.wide.u32 %rd22,%r20,32;add.s64 %rd20,%rd20,%rd22;\n"
        + loads + instruction + "\n" + RESULTS[result] + "\nst.global.u64 [%rd21],%rd0;\nret;\n}\n"
    )


def main():
    driver = c.CDLL("libcuda.so.1")

    def check(code, what):
        if code:
            sys.exit(f"{what}: CUDA error {code}")

    device, context = c.c_int(), c.c_void_p()
    check(driver.cuInit(0), "cuInit")
    check(driver.cuDeviceGet(c.byref(device), 0), "cuDeviceGet")
    check(driver.cuDevicePrimaryCtxRetain(c.byref(context), device), "context")
    check(driver.cuCtxSetCurrent(context), "context")
    source, target = c.c_uint64(), c.c_uint64()
    check(driver.cuMemAlloc_v2(c.byref(source), c.c_size_t(THREADS * 32)), "memory")
    check(driver.cuMemAlloc_v2(c.byref(target), c.c_size_t(THREADS * 8)), "memory")
    with open(sys.argv[1], "wb") as out:
        for line in open("instructions.txt").read().splitlines():
            seed, instruction = line.split(" ", 1)
            module, function = c.c_void_p(), c.c_void_p()
            check(driver.cuModuleLoadData(c.byref(module), ptx(instruction).encode() + b"\0"), instruction)
            check(driver.cuModuleGetFunction(c.byref(function), module, b"k"), instruction)
            data = struct.pack(f"<{THREADS * 4}Q", *inputs(int(seed)))
            check(driver.cuMemcpyHtoD_v2(source, data, c.c_size_t(len(data))), instruction)
            params = (c.c_void_p * 2)(c.cast(c.byref(source), c.c_void_p), c.cast(c.byref(target), c.c_void_p))
            check(driver.cuLaunchKernel(function, 1, 1, 1, THREADS, 1, 1, 0, None, params, None), instruction)
            check(driver.cuCtxSynchronize(), instruction)
            results = c.create_string_buffer(THREADS * 8)
            check(driver.cuMemcpyDtoH_v2(results, target, c.c_size_t(THREADS * 8)), instruction)
            out.write(results.raw)
            driver.cuModuleUnload(module)


if __name__ == "__main__":
    main()
