"""Packs what measured.cu printed into measured.txt and measured.bin.zst: python3 measured.py measured.tsv

A line is a result register, the bytes of each operand, how many operand sets are kept, and the instruction; operands are registers
1 to 4 as in tables.txt. The sets follow each other in measured.bin.zst: operands, then the result in the width of its register.
"""

import collections
import gzip
import re
import subprocess
import sys

# Forms that do something else than the PTX ISA says, or round in their own way: more of them is kept.
MANY, FEW = 256, 128
PECULIAR = ("vshl", "vmad.u32", "vadd.s32.s32.s32.sat %0.b2", "vsub.u32.u32.u32.sat %0.h1", "vabsdiff", "cvt", "div.rp")


def form(name):
    """Result register, bytes of the operands, and the instruction in the names of tables.txt."""
    if name.startswith(("elect", "div.full")):
        return None
    if "%" in name:
        used = max(int(n) for n in re.findall(r"%(\d)", name))
        return "r0", [4] * used, re.sub(r"%(\d)", r"%r\1", name)
    if name.startswith("cvt"):
        return "f0", [8], f"{name} %f0,%fd1;"
    if name.startswith("bfe"):
        wide = name.endswith("64")
        kind = "rd" if wide else "r"
        return kind + "0", [8 if wide else 4, 4, 4], f"{name} %{kind}0,%{kind}1,%r2,%r3;"
    if name.startswith("bfi"):
        wide = name.endswith("64")
        kind, size = ("rd", 8) if wide else ("r", 4)
        return kind + "0", [size, size, 4, 4], f"{name} %{kind}0,%{kind}1,%{kind}2,%r3,%r4;"
    kind, size = ("rs", 2) if name.endswith("f16") else ("f", 4)
    count = 3 if name.startswith("fma") else 2
    return kind + "0", [size] * count, f"{name} %{kind}0," + ",".join(f"%{kind}{i + 1}" for i in range(count)) + ";"


def main():
    rows = collections.OrderedDict()
    with (gzip.open if sys.argv[1].endswith("gz") else open)(sys.argv[1], "rt") as table:
        for line in table:
            name, *words = line.rstrip("\n").split("\t")
            rows.setdefault(name, []).append([int(word, 16) for word in words])
    with open("measured.txt", "w") as text, open("measured.bin", "wb") as data:
        for name, sets in rows.items():
            if not (found := form(name)):
                continue
            result, sizes, instruction = found
            size = {"rs0": 2, "rd0": 8}.get(result, 4)
            kept = MANY if name.startswith(PECULIAR) else FEW
            text.write(f"{result} {''.join(map(str, sizes))} {kept} {instruction}\n")
            for index in range(kept):
                *operands, value = sets[index * len(sets) // kept]
                if name.startswith("bfi"):
                    operands.insert(1, operands[0] * 77)
                for operand, width in zip(operands, sizes):
                    data.write((operand & ((1 << 8 * width) - 1)).to_bytes(width, "little"))
                data.write(value.to_bytes(size, "little"))
    subprocess.run(["zstd", "-19", "-q", "-f", "--rm", "measured.bin"], check=True)


if __name__ == "__main__":
    main()
