"""Which places and strides of matrices wmma.load and wmma.store take on a GPU of compute capability 9.0: align.tsv.

Usage, on a machine with an NVIDIA driver, Python and numpy: python3 align.py OUT. One line for each matrix, layout and state space.
Columns: bytes that the address is moved by, bytes that the stride in a register is longer by, and those of a constant one: ok, wrong
(other elements than those asked for) or fault. What is less even than a place that faults was not tried (-).
Each trial that faults spoils its process, so a worker starts itself again behind it. The test reads it packed: zstd -19 --rm align.tsv
"""

import ctypes as c
import os
import subprocess
import sys

import numpy as np

SIZES = {"f16": 2, "bf16": 2, "tf32": 4, "f32": 4, "f64": 8, "s8": 1, "s32": 4}
SHAPES = ["m16n16k16", "m32n8k16", "m8n32k16"]
WORKERS = 8
BUFFER = 16384


def cases():
    for role in "abcd":
        for shape, kind in ([(s, t) for s in SHAPES for t in ("f16", "s8")] + [("m16n16k16", "bf16"), ("m16n16k8", "tf32"), ("m8n8k4", "f64")]
                            if role in "ab" else
                            [(s, t) for s in SHAPES for t in ("f16", "f32", "s32")] + [("m16n16k8", "f32"), ("m8n8k4", "f64")]):
            for layout in ("row", "col"):
                for space in ("global", "shared", "generic_global", "generic_shared"):
                    yield role, shape, kind, layout, space


def dims(role, shape, layout):
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    m, n, k = int(m), int(n), int(k)
    rows, cols = {"a": (m, k), "b": (k, n)}.get(role, (m, n))
    return (rows, cols) if layout == "row" else (cols, rows)


def registers(role, shape, kind):
    lines, length = dims(role, shape, "row")
    if kind == "f16" and role in "ab":
        return 8
    return lines * length // 32 * SIZES[kind] // (8 if kind == "f64" else 4)


def kernel(role, shape, kind, layout, space, stride=None, name="k"):
    """src, out, bytes of offset, stride in elements. Loads write their registers to out, stores get lane * 64 + register."""
    count = registers(role, shape, kind)
    wide = kind == "f64"
    reg, width = ("%rd1", 8) if wide else ("%r1", 4)
    regs = ",".join(f"{reg}{i:02}" for i in range(count))
    fregs = ",".join(f"%fd{i}" for i in range(count)) if wide else ",".join((f"%f{i}" if kind == "f32" else f"%r1{i:02}") for i in range(count))
    shared, generic = space.endswith("shared"), space.startswith("generic")
    s = [f".visible .entry {name}(.param .u64 src, .param .u64 out, .param .u32 offset, .param .u32 stride)", "{",
         ".reg .b32 %r<200>; .reg .b64 %rd<200>; .reg .f32 %f<20>; .reg .f64 %fd<20>; .reg .pred %p<4>;",
         "ld.param.u64 %rd0,[src]; ld.param.u64 %rd2,[out]; ld.param.u32 %r0,[offset]; ld.param.u32 %r2,[stride];",
         "cvta.to.global.u64 %rd0,%rd0; cvta.to.global.u64 %rd2,%rd2; mov.u32 %r3,%tid.x; cvt.u64.u32 %rd3,%r0;",
         "mul.wide.u32 %rd4,%r3,4;"]
    store = role == "d"
    if shared:
        s += ["mov.u32 %r4,buffer; shl.b32 %r5,%r3,2; mov.u32 %r6,0;",
              "LOOP: add.u32 %r7,%r5,%r6; cvt.u64.u32 %rd5,%r7;",
              "add.u64 %rd6,%rd0,%rd5; ld.global.u32 %r8,[%rd6]; add.u32 %r9,%r4,%r7; st.shared.u32 [%r9],%r8;",
              f"add.u32 %r6,%r6,128; setp.lt.u32 %p0,%r6,{BUFFER}; @%p0 bra LOOP; bar.sync 0;",
              "add.u32 %r10,%r4,%r0; cvt.u64.u32 %rd7,%r10; cvta.shared.u64 %rd8,%rd7;"]
        place = "%rd8" if generic else "%r10"
    elif store:
        s += ["add.u64 %rd7,%rd2,%rd3; cvta.global.u64 %rd8,%rd7;"]
        place = "%rd8" if generic else "%rd7"
    else:
        s += ["add.u64 %rd7,%rd0,%rd3; cvta.global.u64 %rd8,%rd7;"]
        place = "%rd8" if generic else "%rd7"
    ss = "" if generic else ("." + space)
    step = "%r2" if stride is None else str(stride)
    if store:
        for i in range(count):
            s += [f"mad.lo.u32 %r1{i:02},%r3,64,{i};"]
            if kind == "f16":
                s += [f"mul.lo.u32 %r1{i:02},%r1{i:02},65537; add.u32 %r1{i:02},%r1{i:02},32768;"]
            if wide:
                s += [f"cvt.rn.f64.u32 %fd{i},%r1{i:02};"]
            elif kind == "f32":
                s += [f"cvt.rn.f32.u32 %f{i},%r1{i:02};"]
        s += [f"wmma.store.d.sync.aligned.{layout}.{shape}{ss}.{kind} [{place}],{{{fregs}}},{step};"]
        if shared:
            s += ["bar.sync 0; mov.u32 %r6,0;",
                  "BACK: add.u32 %r7,%r5,%r6; cvt.u64.u32 %rd5,%r7; add.u64 %rd6,%rd2,%rd5; add.u32 %r9,%r4,%r7; ld.shared.u32 %r8,[%r9];",
                  f"st.global.u32 [%rd6],%r8; add.u32 %r6,%r6,128; setp.lt.u32 %p0,%r6,{BUFFER}; @%p0 bra BACK;"]
    else:
        s += [f"wmma.load.{role}.sync.aligned.{layout}.{shape}{ss}.{kind} {{{fregs}}},[{place}],{step};",
              f"mul.wide.u32 %rd9,%r3,{count * width}; add.u64 %rd9,%rd2,%rd9;"]
        for i in range(count):
            what = f"st.global.f64 [%rd9+{8 * i}],%fd{i};" if wide else (
                f"st.global.f32 [%rd9+{4 * i}],%f{i};" if kind == "f32" else f"st.global.u32 [%rd9+{4 * i}],%r1{i:02};")
            s += [what]
    s += ["ret;", "}"]
    return "\n".join(s) + "\n"


HEAD = f".version 9.0\n.target sm_90\n.address_size 64\n.shared .align 128 .b8 buffer[{BUFFER}];\n"


def trials(role, shape, kind, layout):
    """(group, bytes of offset, stride in bytes); the first is right by any rule. What comes behind a fault in its group is not tried."""
    _, length = dims(role, shape, layout)
    size = SIZES[kind]
    step = -(-length * size // 32) * 32 + 32
    powers = [x for x in (16, 8, 4, 2, 1) if x >= size]
    yield "", 0, step
    yield from (("at", x, step) for x in powers)
    yield from (("stride", 0, step + x) for x in powers)
    if shape in ("m16n16k16", "m16n16k8", "m8n8k4"):
        yield from (("const", 0, step + x) for x in powers)


def columns():
    return [f"at+{x}" for x in (1, 2, 4, 8, 16)] + [f"stride+{x}" for x in (1, 2, 4, 8, 16)] + [f"const+{x}" for x in (1, 2, 4, 8, 16)]


class Context:
    def __init__(self):
        self.cuda = c.CDLL("libcuda.so.1")
        device, context = c.c_int(), c.c_void_p()
        for call in (self.cuda.cuInit(0), self.cuda.cuDeviceGet(c.byref(device), 0), self.cuda.cuCtxCreate_v2(c.byref(context), 0, device)):
            if call:
                raise RuntimeError(f"CUDA error {call}")
        self.src, self.out = c.c_uint64(), c.c_uint64()
        self.check(self.cuda.cuMemAlloc_v2(c.byref(self.src), c.c_size_t(BUFFER)))
        self.check(self.cuda.cuMemAlloc_v2(c.byref(self.out), c.c_size_t(BUFFER)))

    def check(self, code):
        if code:
            raise RuntimeError(f"CUDA error {code}")

    def function(self, text):
        module, function = c.c_void_p(), c.c_void_p()
        self.check(self.cuda.cuModuleLoadData(c.byref(module), text.encode() + b"\0"))
        self.check(self.cuda.cuModuleGetFunction(c.byref(function), module, b"k"))
        return function

    def run(self, function, data, offset, stride):
        """The output, or None after a fault."""
        self.check(self.cuda.cuMemcpyHtoD_v2(self.src, data.ctypes.data_as(c.c_void_p), c.c_size_t(BUFFER)))
        self.check(self.cuda.cuMemsetD8_v2(self.out, c.c_ubyte(0), c.c_size_t(BUFFER)))
        params = [self.src, self.out, c.c_uint32(offset), c.c_uint32(stride)]
        pointers = (c.c_void_p * 4)(*(c.cast(c.byref(x), c.c_void_p) for x in params))
        self.check(self.cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, pointers, None))
        if self.cuda.cuCtxSynchronize():
            return None
        out = np.zeros(BUFFER, np.uint8)
        self.check(self.cuda.cuMemcpyDtoH_v2(out.ctypes.data_as(c.c_void_p), self.out, c.c_size_t(BUFFER)))
        return out


def spread(matrix, offset, step):
    """Lines of bytes in memory."""
    data = np.full(BUFFER, 0xEE, np.uint8)
    for line, values in enumerate(matrix):
        start = offset + line * step
        data[start:start + len(values)] = values
    return data


def elements(lines, length, size):
    """Different ones, as bytes of each line."""
    rng = np.random.default_rng(7)
    values = rng.integers(0, 256, (lines, length * size), dtype=np.uint8)
    return values


def worker(number, first, folder):
    gpu = Context()
    results = open(os.path.join(folder, f"align.{number}"), "a")
    index = 0
    for case in list(cases())[number::WORKERS]:
        role, shape, kind, layout, space = case
        todo = list(trials(role, shape, kind, layout))
        start, index = index, index + len(todo)
        if index <= first:
            continue
        lines, length = dims(role, shape, layout)
        size, base = SIZES[kind], todo[0][2]
        matrix, reference = elements(lines, length, size), None
        plain = gpu.function(HEAD + kernel(*case))
        for at, (group, offset, step) in enumerate(todo, start):
            if group and at < first:
                continue
            function = gpu.function(HEAD + kernel(*case, stride=step // size)) if group == "const" else plain
            out = gpu.run(function, spread(matrix, offset, step), offset, step // size)
            if out is not None and role == "d":
                out = np.stack([out[offset + i * step:][:length * size] for i in range(lines)])
            if not group:
                reference = out
                if out is None:
                    print(*case, "at+16", "fault_aligned", sep="\t", file=results, flush=True)
            if at >= first and group:
                verdict = "fault" if out is None else "ok" if np.array_equal(out, reference) else "wrong"
                print(*case, f"{group}+{offset or step - base}", verdict, sep="\t", file=results, flush=True)
            if out is None:
                rest = at + 1
                while rest < index and (not group or todo[rest - start][0] == group):
                    rest += 1
                os.execv(sys.executable, [sys.executable, __file__, "worker", str(number), str(rest), folder])


def main(folder):
    work = os.path.join(folder, "align")
    os.makedirs(work)
    running = [subprocess.Popen([sys.executable, __file__, "worker", str(i), "0", work]) for i in range(WORKERS)]
    codes = [process.wait() for process in running]
    table = {}
    for i in range(WORKERS):
        path = os.path.join(work, f"align.{i}")
        for line in open(path) if os.path.exists(path) else []:
            *case, what, verdict = line.rstrip("\n").split("\t")
            table.setdefault(tuple(case), {})[what] = verdict
    with open(os.path.join(folder, "align.tsv"), "w") as out:
        print("matrix", "shape", "type", "layout", "space", *columns(), sep="\t", file=out)
        for case in cases():
            print(*case, *(table.get(case, {}).get(x, "-") for x in columns()), sep="\t", file=out)
    print("workers", codes, "cases", len(table), "of", len(list(cases())))


if __name__ == "__main__":
    if sys.argv[1] == "worker":
        worker(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    else:
        main(sys.argv[1])
