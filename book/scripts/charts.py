"""Draws the charts of numbers that stand elsewhere: measured ones in kernels/ladders/README.md, and models that chapters derive.

    python3 book/scripts/charts.py [--check]

With --check it draws nothing, and fails where a figure in book/src/figures is another one.
"""

import math
import pathlib
import re
import sys

import compact

BOOK = pathlib.Path(__file__).resolve().parent.parent
README = BOOK.parent / "kernels/ladders/README.md"
SMS = 132  # of an H100 and an H200


def log_axis(low, high, start, end):
    return lambda value: start + (math.log(value) - math.log(low)) / (math.log(high) - math.log(low)) * (end - start)


def text(x, y, words, style=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="small{style and " " + style}">{words}</text>'


def path(points, style):
    return f'<path d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in points)}" class="{style}"/>'


def dot(x, y, style, size=4.5):
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" class="{style}"/>'


def drawing(width, height, words, parts):
    head = f'<svg class="fig" style="--w:{width}" viewBox="-1 -1 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{words}">'
    return compact.compact("\n".join([head, *parts, "</svg>", ""]))


def frame(x, y, xs, ys, left, bottom, right, top):
    """Two axes with their numbers."""
    parts = [path([(left, top), (left, bottom), (right, bottom)], "cell")]
    for value in xs:
        parts += [path([(x(value), bottom), (x(value), bottom + 4)], "cell"), text(x(value), bottom + 14, f"{value:g}")]
    for value in ys:
        parts += [path([(left - 4, y(value)), (left, y(value))], "cell"), text(left - 8, y(value), f"{value:,g}", "end")]
    return parts


def ladder_rows():
    """The tables of the README: for each its headings, and its rows by the name of the step."""
    tables = re.findall(r"((?:^\|.*\n)+)", README.read_text(), re.M)
    cells = [[[cell.strip() for cell in line.strip("|\n").split("|")] for line in table.splitlines()] for table in tables]
    return {table[0][1]: (table[0], {row[0]: row for row in table[2:]}) for table in cells}


def microseconds(words):
    number, unit = re.search(r"([\d,]+(?:\.\d+)?) ([um]s)", words).groups()
    return float(number.replace(",", "")) * (1000 if unit == "ms" else 1)


def column(x, y, rows, heads, time, vendor, flop, size):
    """The steps of a ladder at a size, in TFLOP per second, with a bar for PyTorch; and the place of the slowest."""
    rates = {step: flop / microseconds(row[time]) / 1e6 for step, row in rows.items() if row[time]}
    place, best = x(flop / size), max(rates, key=rates.get)
    low, high = y(min(rates.values())), y(rates[best])
    parts = [path([(place, low), (place, high)], "wire")]
    parts += [dot(place, y(rate), "cell read", 3) for step, rate in rates.items() if step != best]
    vendor = y(flop / microseconds(heads[vendor]) / 1e6)
    parts += [dot(place, high, "cell mine"), path([(place - 9, vendor), (place + 9, vendor)], "frame")]
    return parts, place, low


def copied():
    """GB per second of a large copy on the H200 of the ladders."""
    return float(re.search(r"([\d,]+) GB/s, a product", README.read_text())[1].replace(",", ""))


def legend(left, first, second):
    return [dot(left + 20, first, "cell mine"), text(left + 31, first, "fastest step", "start"), path([(left + 11, second), (left + 29, second)], "frame"), text(left + 34, second, "PyTorch", "start")]


def ladder_conv():
    """Each ladder's first, last and other steps, and PyTorch, under the roofline of the H200 that they were measured on."""
    tables = ladder_rows()
    copy = copied()
    peak = SMS * 4096 * 1.98e9 / 1e12
    positions = 64 * 32 * 32
    # What must be done and moved: a multiplication and an addition are two, each tensor travels once.
    layers = [
        ("bias", "bias, 256 channels", 1, 2, positions * 256, positions * 256 * 2 + 256 * 4),
        ("64 to 3", "input, 64 to 3 channels", 1, 2, 2 * positions * 64 * 3 * 9, positions * (64 + 3) * 2 + 64 * 3 * 9 * 2),
        ("64 to 64", "input, 256 to 128 channels", 4, 5, 2 * positions * 64 * 64 * 9, positions * (64 + 64) * 2 + 64 * 64 * 9 * 2),
        ("256 to 128", "input, 256 to 128 channels", 1, 2, 2 * positions * 256 * 128 * 9, positions * (256 + 128) * 2 + 256 * 128 * 9 * 2),
    ]
    left, bottom, right, top = 48, 246, 376, 14
    x, y = log_axis(0.1, 2000, left, right), log_axis(0.03, 2000, bottom, top)
    parts = frame(x, y, [0.1, 1, 10, 100, 1000], [0.1, 1, 10, 100, 1000], left, bottom, right, top)
    bend = peak * 1e3 / copy
    parts.append(path([(x(0.1), y(0.1 * copy / 1e3)), (x(bend), y(peak)), (right, y(peak))], "frame"))
    for name, table, time, vendor, flop, size in layers:
        heads, rows = tables[table]
        drawn, place, low = column(x, y, rows, heads, time, vendor, flop, size)
        parts += drawn
        parts.append(text(place + 8, low, name, "start") if name in ("bias", "64 to 3") else text(place - 8, low, name, "end") if name == "64 to 64" else text(right, low + 15, name, "end"))
    parts += legend(left, y(120), y(45))
    parts += [text(x(1.7), y(12), f"{copy / 1e3:.2f} TB/s", "end"), text(x(bend) - 8, y(peak), "1,070 TFLOP/s", "end")]
    parts += [text(left + 5, 5, "TFLOP/s", "start"), text((left + right) / 2, bottom + 33, "FLOP for each byte that must be moved")]
    words = (
        "A roofline with logarithmic axes, FLOP per byte from 0.1 to 2,000 and TFLOP per second from 0.1 to 2,000: a slope of 4.01 terabytes "
        "per second up to a flat roof of 1,070. Four columns of dots are the steps of four layers, from the slowest to the fastest: the bias "
        "far left, 64 to 3 channels on the slope, 64 to 64 and 256 to 128 near the roof. A bar in each column is PyTorch; the fastest step lies above it.")
    return drawing(384, 290, words, parts)


def ladder_latency():
    """The ladders of layer normalisation and of LeNet under the roofs of floats and of tensor cores."""
    tables, copy = ladder_rows(), copied()
    floats, tensor = SMS * 128 * 2 * 1.98e9 / 1e12, SMS * 4096 * 1.98e9 / 1e12

    def linear(rows, h, o, element):
        return 6 * rows * h * o, element * (2 * rows * (h + o) + 2 * h * o + 4 * h + 2 * o)

    ladders = [
        ("16 rows", "16 rows, 8 to 16", 1, 2, *linear(16, 8, 16, 4)),
        ("LeNet", "L2 overwritten", 1, 2, 2 * 64 * 463080, 4 * (785 * 64 + 2 * 44426)),
        ("768", "768 to 768", 1, 2, *linear(16384, 768, 768, 4)),
        ("4,096", "768 to 768", 4, 5, *linear(16384, 1024, 4096, 4)),
        ("bf16", "1,024 to 4,096", 1, 2, *linear(16384, 1024, 4096, 2)),
    ]
    left, bottom, right, top = 52, 246, 376, 14
    x, y = log_axis(1, 3000, left, right), log_axis(0.0003, 2000, bottom, top)
    parts = frame(x, y, [1, 10, 100, 1000], [0.001, 0.1, 10, 1000], left, bottom, right, top)
    bends = [peak * 1e3 / copy for peak in (tensor, floats)]
    for peak, bend, style in ((tensor, bends[0], "frame"), (floats, bends[1], "line")):
        parts.append(path([(x(1), y(copy / 1e3)), (x(bend), y(peak)), (right, y(peak))], style))
    for name, table, time, vendor, flop, size in ladders:
        heads, rows = tables[table]
        drawn, place, low = column(x, y, rows, heads, time, vendor, flop, size)
        parts += [*drawn, text(place + 9, low, name, "start") if name == "16 rows" else text(place, low + 13, name)]
    parts += legend(left, y(0.4), y(0.12))
    parts += [text(x(5), y(55), f"{copy / 1e3:.2f} TB/s", "end"), text(x(bends[0]) - 8, y(tensor), "tensor cores, bf16: 1,070", "end"), text(x(30), y(floats) + 11, "float: 67")]
    parts += [text(left + 5, 5, "TFLOP/s", "start"), text((left + right) / 2, bottom + 33, "FLOP for each byte that must be moved")]
    words = (
        "A roofline with logarithmic axes, FLOP per byte from 1 to 3,000 and TFLOP per second from 0.0003 to 2,000: a slope of 4.01 terabytes per second, "
        "a roof of 67 for floats and one of 1,070 for tensor cores. Far below both are two ladders that wait: 16 rows at 2.8 FLOP per byte and LeNet at 107. "
        "The ladders of 768 and 4,096 features end above the roof of floats, that of bf16 below the other; a bar in each column is PyTorch.")
    return drawing(384, 290, words, parts)


def levels():
    """Puzzles 02 and 18 under the roofs of global memory and of the memories within a multiprocessor, on an H100."""
    left, bottom, right, top = 48, 226, 366, 14
    x, y = log_axis(0.03, 100, left, right), log_axis(0.5, 100, bottom, top)
    peak, inner = 67, 67 / 2
    parts = frame(x, y, [0.1, 1, 10, 100], [1, 10, 100], left, bottom, right, top)
    parts.append(path([(x(0.5 / 3.35), y(0.5)), (x(20), y(peak)), (right, y(peak))], "frame"))
    parts.append(path([(x(0.03), y(0.03 * inner)), (x(2), y(peak)), (x(20), y(peak))], "line"))
    for intensity, rate, name in ((64 / 544, 1.0, "02, rows in x"), (0.5, 5.4, "02"), (0.25, 8.2, "18")):
        parts += [path([(x(intensity), y(rate)), (x(intensity), y(intensity * inner))], "wire"), dot(x(intensity), y(rate), "cell mine")]
        beside = x(0.5) if name.endswith("x") else x(intensity) + 5
        if name.endswith("x"):
            parts.append(path([(x(intensity) + 5, y(rate)), (beside, y(rate))], "cell pad"))
        parts.append(text(beside + 4, y(rate) + (7 if name == "18" else 0), name, "start"))
    parts += [text(x(8.5), y(12.5), "global memory", "start"), text(x(8.5), y(12.5) + 15, "3.35 TB/s", "start")]
    parts += [text(x(0.62), y(40) - 8, "L1 and shared", "end"), text(x(0.62), y(40) + 7, "33 TB/s", "end"), text(right, y(peak) - 10, "67 TFLOP/s", "end")]
    parts += [text(left + 5, 5, "TFLOP/s", "start"), text((left + right) / 2, bottom + 33, "FLOP for each byte that the threads ask for")]
    words = (
        "A roofline with two slopes, both axes logarithmic. The slope of global memory, 3.35 terabytes per second, meets the flat roof of 67 TFLOP "
        "per second at 20 FLOP per byte; that of L1 cache and shared memory, 33 terabytes per second, at 2. Three dots lie below the second slope and "
        "above the first: puzzle 02 with rows in x at 0.12, puzzle 18 at 0.25, just at the slope, and puzzle 02 at 0.5.")
    return drawing(384, 272, words, parts)


def tiles():
    """The bound of chapter 36: passes of the busiest multiprocessor for each position, by the number of channels on both sides."""
    left, bottom, right, top, most = 44, 226, 366, 34, 256
    x, y = (lambda channels: left + channels / most * (right - left)), (lambda passes: bottom - passes / 320 * (bottom - top))
    parts = frame(x, y, (32, 64, 128, 192, 256), (0, 100, 200, 300), left, bottom, right, top)
    for low, high, style, name in ((0, 32, "cell", "16"), (32, 64, "cell read", "32"), (64, most, "cell mine", "64: the rule’s choice")):
        parts += [f'<rect x="{x(low):.1f}" y="4" width="{x(high) - x(low):.1f}" height="20" class="{style}"></rect>', text((x(low) + x(high)) / 2, 14.5, name)]
    for tile, style in ((16, "wire"), (32, "line"), (64, "frame")):
        bound = [math.ceil(9 * math.ceil(c / tile) ** 2 / SMS) * tile * 17 / 16 for c in range(1, most + 1)]
        points = []
        for channels, passes in enumerate(bound, 1):
            if not points or points[-1][1] != y(passes):
                points += [(x(channels - 1), points[-1][1] if points else y(passes)), (x(channels - 1), y(passes))]
        points.append((right, points[-1][1]))
        parts.append(path(points, style))
        parts.append(text(right - 4, y(bound[-1]) + (12 if tile == 64 else -9), f"tile of {tile}", "end"))
    parts.append(text((left + right) / 2, bottom + 33, "channels on both sides, K = C"))
    words = (
        "Three stepped curves over the number of channels, from 1 to 256: passes through shared memory of the busiest multiprocessor for each position. "
        "The tile of 16 begins at 17 and ends highest, at 306. The tile of 32 begins at 34 and ends at 170; that of 64 stays at 68 up to 192 channels and "
        "then is 136, the lowest. Above them the choice of the rule: 16 below 32 channels, 32 below 64, then 64.")
    return drawing(384, 272, words, parts)


FIGURES = {"ladder_conv_roofline": ladder_conv, "ladder_latency_roofline": ladder_latency, "machine_roofline_levels": levels, "36_bound": tiles}


def main():
    other = []
    for name, draw in FIGURES.items():
        file = BOOK / "src/figures" / f"{name}.svg"
        if "--check" not in sys.argv:
            file.write_text(draw())
        elif not file.exists() or file.read_text() != draw():
            other.append(name)
    sys.exit(f"python3 book/scripts/charts.py draws other figures: {', '.join(other)}" if other else 0)


if __name__ == "__main__":
    main()
