"""Pages with the figures of a chapter alone, as mdBook would show them: for tests where mdBook may be missing."""

import pathlib
import re
import tempfile

BOOK = pathlib.Path(__file__).resolve().parent.parent
SOURCE = BOOK / "src"
# mdBook's colours that the figures use, of its lightest and its darkest theme.
THEMES = {
    "light": "--bg: #fff; --fg: #000; --links: #20609f; --table-border-color: #f2f2f2; --quote-bg: #f2f7fa; --mono-font: monospace",
    "navy": "--bg: #161923; --fg: #bcbdd0; --links: #62b5e5; --table-border-color: #1f2331; --quote-bg: #262933; --mono-font: monospace",
}

folder = tempfile.TemporaryDirectory()
for name in ("play", "traces"):
    (pathlib.Path(folder.name) / name).symlink_to(SOURCE / name)


def chapters():
    """The names of the chapters with figures that the reader drives."""
    return sorted(path.stem for path in SOURCE.glob("*.md") if "\n<play-" in path.read_text())


def included(found):
    """The still figure, which may not be drawn yet."""
    path = SOURCE / found[1]
    return path.read_text() if path.exists() else ""


def write(chapter, theme="light"):
    """The address of a page with the chapter's driven figures."""
    text = (SOURCE / f"{chapter}.md").read_text()
    figures = [figure for figure in re.findall(r"<figure>.*?</figure>", text, re.S) if "\n<play-" in figure]
    body = re.sub(r"\{\{#include (.*?)\}\}", included, "\n".join(figures))
    style = "".join((BOOK / "theme" / name).read_text() for name in ("workbook.css", "play.css"))
    page = f"""<!doctype html><html lang="en" class="{theme}"><meta charset="utf-8"><title>{chapter}</title>
<style>html {{ {THEMES[theme]} }} body {{ margin: 0 15px; font: 16px sans-serif; background: var(--bg); color: var(--fg) }}{style}</style>
<main class="content" style="max-width: 780px; margin: auto">{body}</main></html>"""
    path = pathlib.Path(folder.name) / f"{chapter}.{theme}.html"
    path.write_text(page)
    return path.as_uri()
