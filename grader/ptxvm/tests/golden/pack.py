"""Packs what make.py wrote into tables.bin.zst: python3 pack.py FOLDER

For each line of tables.txt a hash of each CHUNK results. NaNs become the canonical one of their type first: PTX leaves their payload open.
"""

import glob
import subprocess
import sys

import numpy as np

CHUNK = 4096
MASKS = {"f16": (0x7FFF, 0x7C00), "bf16": (0x7FFF, 0x7F80), "f32": (0x7FFFFFFF, 0x7F800000),
         "f64": ((1 << 63) - 1, 0x7FF << 52)}


def canonical(kind, values):
    """NaNs as all ones below the sign."""
    if kind.endswith("x2"):
        low, high = values & 0xFFFF, values >> 16
        return canonical(kind[:-2], low) | canonical(kind[:-2], high) << 16
    if kind == "i":
        return values
    mask, infinity = MASKS[kind]
    mask, infinity = values.dtype.type(mask), values.dtype.type(infinity)
    return np.where((values & mask) > infinity, mask, values)


def hashes(values):
    """Of each chunk: h = (h ^ value) * prime, from the first to the last; the low 32 bits."""
    rows = values.astype(np.uint64).reshape(-1, CHUNK)
    state = np.full(len(rows), 0xCBF29CE484222325, np.uint64)
    for column in rows.T:
        state = (state ^ column) * np.uint64(0x9E3779B97F4A7C15)
        state ^= state >> np.uint64(32)
    return state.astype(np.uint32)


def main():
    found = {}
    for name in glob.glob(f"{sys.argv[1]}/tables.*.npz"):
        found.update(np.load(name))
    with open("tables.bin", "wb") as out:
        for number, line in enumerate(open("tables.txt").read().split("\n")[:-1]):
            kind = line.split(" ")[1]
            values = canonical(kind, found[str(number)])
            out.write(hashes(values).tobytes())
    subprocess.run(["zstd", "-19", "-q", "-f", "--rm", "tables.bin"], check=True)


if __name__ == "__main__":
    main()
