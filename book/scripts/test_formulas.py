"""Measures every formula of the book in a headless Chromium: none may be wider than its column, on a phone or on a desk.

    python3 book/scripts/test_formulas.py

Where no Chromium is found it says so and does nothing (CHROMIUM names one).
"""

import html
import pathlib
import re
import sys
import tempfile

import browser
from figure_page import BOOK, SOURCE

# mdBook's margins at both sides of the column.
MARGIN = 20


def formulas():
    """Where each formula that stands by itself begins, and its TeX."""
    for path in sorted(SOURCE.glob("*.md")):
        text = path.read_text()
        for found in re.finditer(r"^```math\n(.*?)^```", text, re.S | re.M):
            yield f"{path.name}:{text.count(chr(10), 0, found.start()) + 1}", found[1]


def write(folder, all_tex):
    blocks = "".join(f'<pre><code class="language-math">{html.escape(tex)}</code></pre>' for tex in all_tex)
    katex = (SOURCE / "katex").as_uri()
    page = f"""<!doctype html><html lang="en"><meta charset="utf-8"><link rel="stylesheet" href="{katex}/katex.min.css">
<script src="{katex}/katex.min.js"></script><style>{(BOOK / "theme/workbook.css").read_text()} body {{ margin: 0 {MARGIN}px; font-size: 16px }}</style>
{blocks}<script>{(BOOK / "theme/math.js").read_text()}</script></html>"""
    path = pathlib.Path(folder) / "formulas.html"
    path.write_text(page)
    return path.as_uri()


def main():
    program = browser.find()
    if not program:
        print("skipped: no Chromium")
        return
    places, all_tex = zip(*formulas())
    failed = 0
    page = browser.Page(program)
    with tempfile.TemporaryDirectory() as folder:
        address = write(folder, all_tex)
        for width in (360, 390, 1000):
            page.open(address, width)
            page.run("document.fonts.ready.then(() => 0)")
            shown = page.run("[...document.querySelectorAll('.math-display')].map(e => [e.scrollWidth - e.clientWidth, !!e.querySelector('.katex-error')])")
            assert len(shown) == len(places), f"{len(shown)} formulas of {len(places)} are shown"
            for place, (beyond, error) in zip(places, shown):
                if beyond > 1 or error:
                    failed += 1
                    print(f"FAILED {place}: " + ("TeX that KaTeX does not read" if error else f"{beyond} pixels beyond the column at {width}"))
    page.close()
    print(f"{len(places)} formulas: {failed or 'no'} failures")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
