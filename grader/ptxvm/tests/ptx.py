"""Packs the PTX of the tests: the files of all folders in one, ptx.zst, since they have much in common.

    python3 ptx.py pack FOLDER     # takes FOLDER/*.ptx in, for what was there of this folder
    python3 ptx.py unpack FOLDER   # writes them back

Most of what tells two lines of PTX apart are numbers of registers and labels, even where kernels do the same. So they are written by
when they were last named: `%r~` is the register behind the highest so far, `%r~3` the third behind it, `%r^0` the one that was named
last, `%r^1` the one before it, `%r`12` the register 12, and `%r`` the one behind that. A declaration, `.reg .b32 %r<99>`, begins
anew. Labels, `$L__BB2_7`, are written like that, and where the function is that of the last label, only as `$L`. `it/fixture.rs` reads
all this.
"""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PACK = HERE / "ptx.zst"


class Named:
    """The registers of a kind, or the labels of a function."""

    def __init__(self):
        self.highest = self.chosen = 0
        self.recent = []  # the last one first

    def write(self, number):
        behind = number - self.highest
        if number in self.recent:
            code = f"^{self.recent.index(number)}"
        elif behind > 1 and number == self.chosen + 1 or behind <= 0:
            code = "`" if number == self.chosen + 1 else f"`{number}"
        else:
            code = "~" if behind == 1 else f"~{behind}"
        assert self.read(code[0], code[1:]) == number
        return code

    def read(self, mark, digits):
        if mark == "^":
            number = self.recent.pop(int(digits))
        elif mark == "~":
            number = self.highest = self.highest + int(digits or 1)
        else:
            number = self.chosen = int(digits or self.chosen + 1)
        self.recent.insert(0, number)
        return number


def encoded(text):
    kinds, labels = {}, ""

    def name(found):
        nonlocal labels
        kind, number = found.groups()
        if not number:
            kinds[kind] = Named()
            return found[0]
        code = kinds.setdefault(kind, Named()).write(int(number))
        if kind == labels:
            return f"$L{code}"
        if kind.startswith("$"):
            labels = kind
        return kind + code

    return re.sub(r"(%[a-z]+|\$L__BB\d+_)(?:<|(\d+))", name, text)


def decoded(text):
    kinds, labels = {}, ""

    def name(found):
        nonlocal labels
        kind, mark, digits = found.groups()
        if mark == "<":
            kinds[kind] = Named()
            return found[0]
        if kind == "$L":
            kind = labels
        elif kind.startswith("$"):
            labels = kind
        return kind + str(kinds.setdefault(kind, Named()).read(mark, digits))

    return re.sub(r"([%$]\w+)([~^`<])(\d*)", name, text)


def files():
    """The text of each file, by FOLDER/NAME."""
    text = subprocess.run(["zstd", "-dcq", PACK], check=True, capture_output=True, text=True).stdout
    parts = (part.split(" <==\n", 1) for part in ("\n" + text).split("\n==> ")[1:])
    return {name: decoded(text) for name, text in parts}


def main(action, folder):
    if action == "unpack":
        for name, text in files().items():
            if name.startswith(f"{folder}/"):
                (HERE / name).write_text(text)
        return
    packed = {name: text for name, text in files().items() if not name.startswith(f"{folder}/")} if PACK.exists() else {}
    packed |= {f"{folder}/{path.name}": path.read_text() for path in (HERE / folder).glob("*.ptx")}
    for name, text in packed.items():
        assert decoded(encoded(text)) == text, name
    text = "\n".join(f"==> {name} <==\n{encoded(packed[name])}" for name in sorted(packed))
    subprocess.run(["zstd", "--ultra", "-22", "-q", "-f", "-o", PACK], input=text, check=True, text=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
