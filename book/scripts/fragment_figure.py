"""Draws which lane holds each element of a wmma accumulator, from what a program prints that asks for it.

    grader run book/examples/fragments.cu | python3 book/scripts/fragment_figure.py > book/src/figures/46_fragment.svg
    python3 book/scripts/fragment_figure.py < book/scripts/fragment_h200.txt > book/src/figures/46_fragment_h200.svg

The second is what the program printed on an H200.

The chapter of puzzle 46 quotes the same output, and a test compares the two: if the layout changes, draw the figure anew.
"""

import re
import sys

from compact import compact

LANE = 5  # the lane whose elements are marked
SIDE = 22  # of a cell, in pixels
LEFT, TOP = 24, 24

rows = [re.findall(r"(\d+)\.(\d)", line) for line in sys.stdin if re.fullmatch(r"(\s*\d+\.\d){16}\s*", line)]
assert len(rows) == 16, "16 rows of 16 owners"
mine = [(int(number), row, column) for row, line in enumerate(rows)
        for column, (lane, number) in enumerate(line) if int(lane) == LANE]
places = ", ".join(f"x[{number}] is ({row}, {column})" for number, row, column in sorted(mine))
out = [f'<svg class="fig" style="--w:382" viewBox="-1 -1 382 380" xmlns="http://www.w3.org/2000/svg" role="img" '
      f'aria-label="An accumulator of 16 by 16 elements; in each cell the lane that holds it. The elements of lane {LANE} are '
      f'marked: {places}.">']
cells = {"cell": "", "cell mine": ""}
for row, line in enumerate(rows):
    for column, (lane, _) in enumerate(line):
        x, y = LEFT + column * SIDE, TOP + row * SIDE
        cells["cell mine" if int(lane) == LANE else "cell"] += f"M{x} {y}h{SIDE}v{SIDE}h-{SIDE}z"
for kind, path in cells.items():
    out.append(f'<path class="{kind}" d="{path}"/>')
for i in range(16):
    out.append(f'<text x="{LEFT + (i + 0.5) * SIDE:g}" y="12" class="small faint">{i}</text>')
    out.append(f'<text x="18" y="{TOP + (i + 0.5) * SIDE:g}" class="small faint end">{i}</text>')
for row, line in enumerate(rows):
    for column, (lane, _) in enumerate(line):
        x, y = LEFT + column * SIDE, TOP + row * SIDE
        out.append(f'<text x="{x + SIDE // 2}" y="{y + SIDE / 2 + 0.5:g}" class="small">{lane}</text>')
print(compact("\n".join([*out, "</svg>"])), end="")
