"""Writes the drawings of figures with fewer characters; they look the same.

    python3 book/scripts/compact.py book/src/figures/*.svg

A rectangle becomes the path around it, an empty element ends in its own tag, and texts without letters go.
"""

import pathlib
import re
import sys


def outline(found):
    """A rectangle as a path, unless it has more than a place, a size and a class."""
    attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', found[1]))
    if not set(attributes) <= {"x", "y", "width", "height", "class"}:
        return found[0]
    x, y, width, height = (attributes[name] for name in ("x", "y", "width", "height"))
    style = attributes.get("class", "").strip()
    start = f'<path class="{style}"' if style else "<path"
    return f'{start} d="M{x} {y}h{width}v{height}h-{width}z">{found[2]}</path>'


def compact(drawing):
    drawing = re.sub(r"<text [^>]*></text>\n?", "", drawing)
    drawing = re.sub(r"<rect ([^>]*?)\s*/>", r"<rect \1></rect>", drawing)
    drawing = re.sub(r"<rect ([^>]*)>(.*?)</rect>", outline, drawing, flags=re.S)
    return re.sub(r"<(\w+)( [^>]*?) ?>\s*</\1>", r"<\1\2/>", drawing)


if __name__ == "__main__":
    for path in map(pathlib.Path, sys.argv[1:]):
        path.write_text(compact(path.read_text()))
