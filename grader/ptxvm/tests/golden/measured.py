"""Packs what measured.cu printed into measured.txt and measured.bin.zst: python3 measured.py measured.tsv

A line is the operation's number in measured.cu, its result register, how many results are kept, and the instruction; operands are
registers 1 to 4 as in tables.txt. The results follow each other in measured.bin.zst, each in the width of its register.
tests/it/measured.rs makes the operands again.
"""

import collections
import gzip
import re
import subprocess
import sys

# The numbers of what measured.cu prints, in its order.
OPERATIONS = [*range(13), 20, 21, *range(30, 36), *range(40, 43), 50, 51, *range(64, 101)]

# Forms that do something else than the PTX ISA says, or round in their own way: more of them is kept.
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


def main():
    rows = collections.OrderedDict()
    with (gzip.open if sys.argv[1].endswith("gz") else open)(sys.argv[1], "rt") as table:
        for line in table:
            name, *words = line.rstrip("\n").split("\t")
            rows.setdefault(name, []).append([int(word, 16) for word in words])
    with open("measured.txt", "w") as text, open("measured.bin", "wb") as data:
        for operation, (name, sets) in zip(OPERATIONS, rows.items(), strict=True):
            if not (found := form(name)):
                continue
            result, instruction = found
            size = {"rs0": 2, "rd0": 8}.get(result, 4)
            kept = MANY if name.startswith(PECULIAR) else FEW
            text.write(f"{operation} {result} {kept} {instruction}\n")
            for index in range(kept):
                data.write(sets[index * len(sets) // kept][-1].to_bytes(size, "little"))
    subprocess.run(["zstd", "--ultra", "-22", "-q", "-f", "--rm", "measured.bin"], check=True)


if __name__ == "__main__":
    main()
