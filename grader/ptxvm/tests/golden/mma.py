"""Runs the products of matrices of ../fixtures on a GPU of compute capability 9.0 and packs what they give.

Usage, on a machine with an NVIDIA driver, Python and numpy: python3 mma.py OUT.

OUT/mma.txt has a line for each kernel: its name, the bytes of one D, and for each sort of operands a hash of the hashes of its results. The operands are made by `operands`, here and in tests/it/products.rs alike. OUT/whole.txt says how the other kernels of the
fixtures did on whole numbers, where every order of sums gives the same.
"""

import ctypes as c
import os
import re
import sys

import numpy as np

from gpu import Gpu, U, mix

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
import ptx  # noqa: E402: it lies in the folder above

SETS = 64
# Bits of exponent and mantissa.
FORMATS = {"f16": (5, 10), "bf16": (8, 7), "tf32": (8, 23), "f32": (8, 23), "f64": (11, 52),
           "e4m3": (4, 3), "e5m2": (5, 2)}
WIDTH = {"f16": 2, "bf16": 2, "tf32": 4, "f32": 4, "f64": 8, "s8": 1, "u8": 1, "s32": 4, "e4m3": 1, "e5m2": 1}


def whole(values, exponent, mantissa):
    """Whole numbers from -8 to 8 in a format."""
    bias = (1 << (exponent - 1)) - 1
    magnitude = np.abs(values).astype(np.uint64)
    top = np.select([magnitude >= U(8), magnitude >= U(4), magnitude >= U(2)], [3, 2, 1], 0).astype(np.uint64)
    fraction = (magnitude << U(mantissa)) >> top
    bits = ((U(bias) + top) << U(mantissa)) | (fraction & U((1 << mantissa) - 1))
    bits = np.where(magnitude == 0, U(0), bits)
    return bits | np.where(values < 0, U(1 << (exponent + mantissa)), U(0))


def operands(name, matrix, kind, per_set):
    """SETS times so many elements of one matrix of a kernel, as the bits of their type.

    Every fourth set has whole numbers, the next one numbers of 0.25 to 4, the next any finite ones, the next some special
    ones too.
    """
    seed = mix(np.array([sum(ord(x) * 131 ** i for i, x in enumerate(name)) % (1 << 32) * 4 + matrix], dtype=np.uint64))[0]
    index = np.arange(SETS * per_set, dtype=np.uint64)
    random = mix(seed ^ index)
    sort = (index // U(per_set)) % U(4)
    if kind in ("s8", "u8"):
        return random & U(0xFF)
    if kind == "s32":
        small = ((random & U(0xFFFFFF)) + U((1 << 32) - (1 << 23))) & U(0xFFFFFFFF)
        return np.where(sort == 3, random & U(0xFFFFFFFF), small)
    exponent, mantissa = FORMATS[kind]
    bias, sign = (1 << (exponent - 1)) - 1, random >> U(63) << U(exponent + mantissa)
    fraction = random & U((1 << mantissa) - 1)
    if kind == "tf32":
        fraction = np.where(sort == 1, fraction & ~U(0x1FFF), fraction)
    near = sign | ((U(bias - 2) + ((random >> U(60)) & U(3))) << U(mantissa)) | fraction
    any_exponent = (random >> U(52)) % U((1 << exponent) - 1)
    finite = sign | (any_exponent << U(mantissa)) | fraction
    infinity, quiet = U(((1 << exponent) - 1) << mantissa), U(1 << (mantissa - 1))
    choice = (random >> U(54)) & U(63)
    # Zeros, infinities, the usual NaN, subnormals, and NaNs of any sign and payload, quiet ones and signalling ones.
    special = np.select([choice == U(i) for i in range(6)],
                        [sign, sign | infinity, infinity | quiet, sign | fraction,
                         sign | infinity | quiet | fraction, sign | infinity | (fraction & ~quiet) | U(1)], near)
    if WIDTH[kind] == 1:
        # Any byte now and then: what is no number differs between the two formats.
        special = np.where(choice == U(0), random & U(0xFF), near)
    numbers = whole((random % U(17)).astype(np.int64) - 8, exponent, mantissa)
    return np.select([sort == U(0), sort == U(1), sort == U(2)], [numbers, near, finite], special)


def packed(bits, kind):
    return bits.astype({1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[WIDTH[kind]])


def plan(name):
    """Elements of A, B, C and D of a set, and their types."""
    dims = re.search(r"m(\d+)n(\d+)k(\d+)", name)
    m, n, k = (int(x) for x in dims.groups())
    parts = name.split("_")
    if name.startswith("wmma"):
        sums = parts[3].split("to")
        kinds = [parts[2], parts[2], sums[0], sums[-1]]
    elif name.endswith("f64"):
        kinds = ["f64"] * 4
    else:
        kinds = [parts[3], parts[4] if parts[4:] else parts[3], parts[2], parts[2]]
    return list(zip([m * k, k * n, m * n, m * n], kinds))


def hashes(rows):
    """Of each row: h = (h ^ element) * prime, from the first to the last; the low 32 bits."""
    rows = rows.astype(np.uint64)
    state = np.full(len(rows), 0xCBF29CE484222325, np.uint64)
    for column in rows.T:
        state = (state ^ column) * U(0x9E3779B97F4A7C15)
        state ^= state >> U(32)
    return state.astype(np.uint32)


def fixture(name):
    """The text of a fixture, which is packed with the others."""
    return ptx.files()[f"fixtures/{name}"]


class Fixtures(Gpu):
    def load_file(self, file):
        # Lines name debug strings that are cut off in the fixtures, and the driver wants all or none of them.
        lines = [line for line in fixture(file).splitlines(True) if not re.match(r"\s*\.(loc|file)\b", line)]
        module = self.load("".join(lines))
        if module is None:
            raise RuntimeError(f"the assembler refuses {file}")
        return module

    def run(self, module, name, grid, block, arguments, out):
        """Launches with arrays, then numbers; `out` is the last array, and comes back."""
        buffers, params = [], []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                buffers.append(self.upload(argument))
                params.append(buffers[-1])
            else:
                params.append(c.c_float(argument) if isinstance(argument, float) else c.c_int(argument))
        self.launch(module, name, grid, block, params)
        result = self.download(buffers[-1], out)
        for address in buffers:
            self.driver.cuMemFree_v2(address)
        return result


def names(file):
    return re.findall(r"\.visible \.entry (\w+)\(", fixture(file))


def whole_kernels(gpu, mma, wmma, say):
    rng = np.random.default_rng(1)
    some = lambda *shape: rng.integers(-8, 9, shape).astype(np.float32)
    a, b = some(128, 160), some(160, 96)
    out = np.zeros((128, 96), np.float32)
    d = gpu.run(mma, "mma_gemm", (3, 2, 1), (128, 1, 1), [a.astype(np.float16), b.astype(np.float16), out, 128, 96, 160], out)
    say("mma_gemm", np.array_equal(d, a @ b))
    a, b, old = some(64, 48), some(48, 96), some(64, 96)
    d = gpu.run(wmma, "wmma_gemm", (3, 2, 1), (128, 1, 1),
                [a.astype(np.float16), b.astype(np.float16), old, 64, 96, 48, 0.5, -2.0], old)
    say("wmma_gemm", np.array_equal(d, 0.5 * (a @ b) - 2 * old))
    a, b, out = some(16, 16), some(16, 16), np.zeros((16, 16), np.float16)
    d = gpu.run(wmma, "wmma_elements", (1, 1, 1), (32, 1, 1),
                [a.astype(np.float16), np.ascontiguousarray(b.T).astype(np.float16), out], out)
    say("wmma_elements", np.array_equal(d.astype(np.float32), 2 * a @ b + 1))
    halves = np.arange(256, dtype=np.uint16)
    out = np.zeros(32 * 12, np.uint32)
    d = gpu.run(mma, "matrices", (1, 1, 1), (32, 1, 1), [halves, out], out).reshape(32, 12)
    lane = np.arange(32)
    row, col = lane // 4, lane % 4 * 2
    plain = lambda at: (at * 64 + row * 8 + col) | (at * 64 + row * 8 + col + 1) << 16
    turned = lambda at: (at * 64 + col * 8 + row) | (at * 64 + col * 8 + row + 8) << 16
    expected = [plain(0), turned(0), turned(1)] + [plain(i) for i in range(4)] + [turned(i) for i in range(4)] + [turned(0)]
    say("matrices", np.array_equal(d, np.stack(expected, 1)))
    out = np.zeros(256, np.uint16)
    d = gpu.run(mma, "transposed_matrices", (1, 1, 1), (32, 1, 1), [halves, out], out)
    say("transposed_matrices", np.array_equal(d.reshape(4, 8, 8), halves.reshape(4, 8, 8).transpose(0, 2, 1)))
    words, out = np.arange(1, 129, dtype=np.uint32), np.zeros(352, np.uint32)
    d = gpu.run(mma, "copies", (1, 1, 1), (32, 1, 1), [words, out], out)
    t, at = np.arange(32), np.arange(128)
    kept = np.where(at % 4 < 4 - at // 4 % 4, words, 0)
    ignored = np.where(at // 4 % 2 == 1, 0, words)
    say("copies", np.array_equal(d, np.concatenate([words[31 - t], words[62 - 2 * t], words[63 - 2 * t], kept, ignored])))


def main():
    folder = sys.argv[1]
    gpu, lines = Fixtures(), []
    files = ["mma_sm90.ptx", "wmma_sm90.ptx", "mma_hopper_sm90.ptx"]
    modules = [gpu.load_file(file) for file in files]
    mma, wmma, _ = modules
    for file, module in zip(files, modules):
        for name in names(file):
            if not re.match(r"w?mma_m\d", name):
                continue
            *matrices, (size, kind) = plan(name)
            out = packed(np.zeros(SETS * size), kind)
            arrays = [packed(operands(name, i, kind, size), kind) for i, (size, kind) in enumerate(matrices)]
            d = gpu.run(module, name, (SETS, 1, 1), (32, 1, 1), arrays + [out], out)
            # Every fourth set has operands of the same sort.
            sorts = hashes(hashes(d.reshape(SETS, -1)).reshape(-1, 4).T)
            lines.append(f"{name} {d.nbytes // SETS} {' '.join(f'{sort:08x}' for sort in sorts)}\n")
    open(os.path.join(folder, "mma.txt"), "w").write("".join(lines))
    with open(os.path.join(folder, "whole.txt"), "w") as report:
        whole_kernels(gpu, mma, wmma, lambda name, same: report.write(f"{name} {'equal' if same else 'DIFFERENT'}\n"))


if __name__ == "__main__":
    main()
