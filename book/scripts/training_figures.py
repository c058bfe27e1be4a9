"""Draws the training of puzzle 50 for its chapter: runs its last test on the virtual machine, with a fixed seed, which takes a minute.

    python3 book/scripts/training_figures.py            # writes book/src/figures/50_losses.svg and 50_confusion.svg
    python3 book/scripts/training_figures.py --check    # fails if they are not what the training gives now
"""

import ast
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

from compact import compact

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TEST, SEED = "mixed_and_fp32", 11
EPOCHS = 3


def train():
    """The losses in mixed precision, those in float, and the confusion matrix, as the grader draws it."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["cargo", "run", "--quiet", "--", "puzzle", "50", "--solution", "--backend", "vm"]
        command += ["--test", TEST, "--seed", str(SEED), "--dump", folder]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        tensors = pathlib.Path(folder) / TEST
        mixed, plain = (floats(tensors / f"{name}.got.npy") for name in ("losses", "fp32_losses"))
    return mixed, plain, matrix(ROOT / "pictures" / f"50_{TEST}_confusion.svg")


def floats(path):
    """The numbers of an array in NumPy's format."""
    data = path.read_bytes()
    end = 10 + struct.unpack("<H", data[8:10])[0]
    assert ast.literal_eval(data[10:end].decode())["descr"] == "<f4"
    return struct.unpack(f"<{(len(data) - end) // 4}f", data[end:])


def matrix(path):
    """The numbers of a table of ten rows and columns, from where they stand in the picture."""
    texts = re.findall(r'<text x="(\d+)" y="(\d+)"[^>]*?>\s*(\d+)\s*</text>', path.read_text())
    texts = [tuple(map(int, text)) for text in texts]
    # The names of the columns stand lowest, those of the rows leftmost.
    bottom, left = max(y for _, y, _ in texts), min(x for x, _, _ in texts)
    columns = {x: name for x, y, name in texts if y == bottom}
    rows = {y: name for x, y, name in texts if x == left}
    near = lambda names, at: names[min(names, key=lambda place: abs(place - at))]
    table = [[0] * 10 for _ in range(10)]
    for x, y, value in texts:
        if y != bottom and x != left:
            table[near(rows, y)][near(columns, x)] = value
    return table


def losses(mixed, plain):
    left, top, base, high = 34, 22, 172, 3.0
    width = len(mixed)
    assert max(mixed + plain) <= high
    place = lambda loss: round(base - loss / high * (base - top))
    out = []
    for loss in range(4):
        out.append(f'<path d="M{left} {place(loss)}h{width}" class="cell pad"></path>')
        out.append(f'<text x="{left - 10}" y="{place(loss)}" class="small">{loss}</text>')
    for epoch in range(EPOCHS + 1):
        x = left + width * epoch // EPOCHS
        out.append(f'<path d="M{x} {base}v4" class="cell"></path>')
        out.append(f'<text x="{x}" y="{base + 14}" class="small">{width * epoch // EPOCHS}</text>')
    out.append(f'<text x="{left + width // 2}" y="{base + 30}" class="small">batch</text>')
    out.append(f'<text x="{left}" y="6" class="small">loss</text>')
    for values, style in ((plain, "wire"), (mixed, "line")):
        heights = [place(value) for value in values]
        steps = "".join(f"l1 {b - a}" for a, b in zip(heights, heights[1:]))
        out.append(f'<path d="M{left} {heights[0]}{steps}" class="{style}"></path>')
    for y, style, name in ((26, "line", "mixed precision"), (42, "wire", "float, as in puzzle 15")):
        x = left + width - 176
        out.append(f'<path d="M{x} {y}h20" class="{style}"></path>')
        out.append(f'<text x="{x + 28}" y="{y}" class="small start">{name}</text>')
    words = f"Two curves of the loss over {width} batches, in mixed precision and in float. They fall together from {mixed[0]:.1f} to near 0."
    return svg(left + width + 12, base + 40, words, out)


def confusion(table):
    size, left, top = 30, 60, 40
    total, right = sum(map(sum, table)), sum(table[i][i] for i in range(10))
    out = [f'<text x="{left + 5 * size}" y="10" class="small">taken for</text>', f'<text x="20" y="{top - 12}" class="small">digit</text>']
    for style, is_style in (("cell read", lambda row, column: row == column),
                            ("cell mine", lambda row, column: row != column and table[row][column]),
                            ("cell", lambda row, column: row != column and not table[row][column])):
        cells = [(row, column) for row in range(10) for column in range(10) if is_style(row, column)]
        path = "".join(f"M{left + column * size} {top + row * size}h{size}v{size}h-{size}z" for row, column in cells)
        out.append(f'<path d="{path}" class="{style}"></path>')
    for row in range(10):
        y = top + row * size + 15
        out.append(f'<text x="44" y="{y}" class="small">{row}</text>')
        out.append(f'<text x="{left + row * size + 15}" y="28" class="small">{row}</text>')
        counts = [(column, count) for column, count in enumerate(table[row]) if count]
        out += [f'<text x="{left + column * size + 15}" y="{y}" class="small">{count}</text>' for column, count in counts]
    words = f"A table of ten rows and ten columns: a row for each digit, a column for what it was taken for. {right} of {total} lie on the diagonal."
    return svg(left + 10 * size + 20, top + 10 * size + 12, words, out)


def svg(width, height, words, lines):
    head = f'<svg class="fig" style="--w:{width}" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{words}">'
    return compact("\n".join([head, *lines, "</svg>", ""]))


def main():
    mixed, plain, table = train()
    stale = []
    for name, text in (("50_losses", losses(mixed, plain)), ("50_confusion", confusion(table))):
        path = ROOT / "book/src/figures" / f"{name}.svg"
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(name)
    if stale:
        sys.exit(f"stale: {', '.join(stale)}; run python3 {sys.argv[0]}")


if __name__ == "__main__":
    main()
