"""Looks at the pages that `grader class grade` writes in a headless Chromium: light and dark, on a wide window and on a phone's.

    python3 book/scripts/test_class.py [--grader PROGRAM] [--pictures FOLDER]

It grades a small class of strange names. Where no Chromium is found it says so and does nothing (CHROMIUM names one).
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import browser

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WIDTHS = (1000, 390)
# What the accessibility guidelines (WCAG 2, 1.4.3) ask of text.
CONTRAST = 4.5
CLASS = """title = "A class & its <i>title</i>"
secret = "only for this test"
deadline = 2020-01-01T00:00:00+00:00
late = { per_day = 0.5, days = 100000 }
leaderboard = true
[[puzzle]]
number = 4
hidden_sizes = [{ n = 77 }]
[[puzzle]]
number = 10
points = 7.5
"""
LONG = "a_name_without_a_space_that_is_as_long_as_names_of_folders_may_well_become_when_a_platform_adds_its_numbers"

# Elements that end outside the window, but for those that scroll by themselves.
OUTSIDE = """[...document.querySelectorAll('body *')].filter(e => {
    for (let p = e.parentElement; p; p = p.parentElement) if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(p).overflowX)) return false;
    const box = e.getBoundingClientRect();
    return box.width > 0 && (box.right > innerWidth + 0.5 || box.left < -0.5);
}).map(e => e.outerHTML.slice(0, 80))"""
# Texts that are hard to read on what lies behind them, with their contrast.
FAINT = """(() => {
    const rgb = text => text.match(/[\\d.]+/g).map(Number);
    const channel = c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    const light = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
    const behind = e => {
        for (; e; e = e.parentElement) {
            const c = rgb(getComputedStyle(e).backgroundColor);
            if (c.length < 4 || c[3] > 0) return c;
        }
        return [255, 255, 255];
    };
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
    while (texts.nextNode()) {
        const e = texts.currentNode.parentElement;
        if (!texts.currentNode.data.trim()) continue;
        const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < LIMIT) found.push(contrast.toFixed(2) + ' ' + texts.currentNode.data.trim().slice(0, 40));
    }
    return found;
})()""".replace("LIMIT", str(CONTRAST))

failures = []


def expect(holds, what):
    if not holds:
        failures.append(what)
        print("FAILED", what)


def make(grader, folder):
    """Grades a class, and gives its overview and the pages of feedback."""
    solution = [(ROOT / "solutions" / f"{stem}.cu").read_text() for stem in ("04_relu", "10_conv_backward_input")]
    files = {
        "ada": [solution[0], solution[1]],
        "=cmd<script>document.title = 'forged'<!--": [solution[0], "not C++"],
        LONG: [solution[0].replace("0", "1", 1), solution[1].replace("H - F + 1", "H - F")],
        "学生 \u202eo": [],
    }
    for student, texts in files.items():
        target = folder / "submissions" / student.replace("/", "_")
        target.mkdir(parents=True)
        for stem, text in zip(("04_relu", "10_conv_backward_input"), texts):
            (target / f"{stem}.cu").write_text(text)
    (folder / "class.toml").write_text(CLASS)
    command = [grader, "--workbook", ROOT, "class", "grade", "submissions", "--partly-confined"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"cannot grade the class: {done.stdout}{done.stderr}")
    return [folder / "grades/overview.html", *sorted((folder / "grades/feedback").glob("*.html"))]


def look(page, path, width, dark, pictures):
    page.open(path.as_uri(), width, dark)
    name = f"{path.stem[:30]} {width} {'dark' if dark else 'light'}"
    expect(page.run("document.title") != "forged" and not page.run("document.scripts.length"), f"{name}: a script")
    wide = page.run("document.documentElement.scrollWidth")
    expect(wide <= width, f"{name}: {wide} pixels wide")
    for problem in page.run(OUTSIDE):
        expect(False, f"{name}: outside the window: {problem}")
    for problem in page.run(FAINT):
        expect(False, f"{name}: hard to read: {problem}")
    links = page.run("[...document.links].map(link => decodeURIComponent(link.pathname))")
    for link in links:
        expect(pathlib.Path(link).is_file(), f"{name}: a link leads nowhere: {link}")
    if pictures:
        page.picture(pictures / f"{name.replace(' ', '-')}.png")
    return len(links)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--grader", type=pathlib.Path, default=ROOT / "target/debug/grader")
    parser.add_argument("--pictures", type=pathlib.Path)
    arguments = parser.parse_args()
    program = browser.find()
    if not program:
        print("skipped: no Chromium found")
        return
    with tempfile.TemporaryDirectory() as folder:
        paths = make(arguments.grader.resolve(), pathlib.Path(folder))
        page = browser.Page(program)
        for path in paths:
            for width in WIDTHS:
                for dark in (False, True):
                    links = look(page, path, width, dark, arguments.pictures)
                    expect(path.stem != "overview" or links >= 4, "the overview leads to each page")
        page.close()
    print(f"{len(paths)} pages, {len(failures)} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
