"""Packs what measured.cu printed into measured.txt: python3 measured.py measured.tsv

A line is the operation's number in measured.cu, its result register, how many results count, their hash, and the instruction; operands
are registers 1 to 4 as in tables.txt. tests/it/measured.rs makes the operands again.
"""

import collections
import gzip
import re
import sys

# The numbers of what measured.cu prints, in its order.
OPERATIONS = [*range(13), 20, 21, *range(30, 36), *range(40, 43), 50, 51, *range(64, 101)]

# Forms that do something else than the PTX ISA says, or round in their own way: more of them count.
MANY, FEW = 256, 128
PECULIAR = ("vshl", "vmad.u32", "vadd.s32.s32.s32.sat %0.b2", "vsub.u32.u32.u32.sat %0.h1", "vabsdiff", "cvt", "div.rp")


def form(name):
    """Result register, and the instruction in the names of tables.txt."""
    if name.startswith(("elect", "div.full")):
        return None
    if "%" in name:
        return "r0", re.sub(r"%(\d)", r"%r\1", name)
    if name.startswith("cvt"):
        return "f0", f"{name} %f0,%fd1;"
    if name.startswith("bfe"):
        kind = "rd" if name.endswith("64") else "r"
        return kind + "0", f"{name} %{kind}0,%{kind}1,%r2,%r3;"
    if name.startswith("bfi"):
        kind = "rd" if name.endswith("64") else "r"
        return kind + "0", f"{name} %{kind}0,%{kind}1,%{kind}2,%r3,%r4;"
    kind = "rs" if name.endswith("f16") else "f"
    count = 3 if name.startswith("fma") else 2
    return kind + "0", f"{name} %{kind}0," + ",".join(f"%{kind}{i + 1}" for i in range(count)) + ";"


def digest(results):
    """h = (h ^ result) * prime, from the first to the last; the low 32 bits."""
    state = 0xCBF29CE484222325
    for result in results:
        state = (state ^ result) * 0x9E3779B97F4A7C15 % (1 << 64)
        state ^= state >> 32
    return state % (1 << 32)


def main():
    rows = collections.OrderedDict()
    with (gzip.open if sys.argv[1].endswith("gz") else open)(sys.argv[1], "rt") as table:
        for line in table:
            name, *words = line.rstrip("\n").split("\t")
            rows.setdefault(name, []).append([int(word, 16) for word in words])
    with open("measured.txt", "w") as text:
        for operation, (name, sets) in zip(OPERATIONS, rows.items(), strict=True):
            if not (found := form(name)):
                continue
            result, instruction = found
            size = {"rs0": 2, "rd0": 8}.get(result, 4)
            count = MANY if name.startswith(PECULIAR) else FEW
            results = (sets[index * len(sets) // count][-1] % (1 << 8 * size) for index in range(count))
            text.write(f"{operation} {result} {count} {digest(results):08x} {instruction}\n")


if __name__ == "__main__":
    main()
