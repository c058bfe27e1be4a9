"""Tries every control of the page that `grader replay` writes, by keyboard and by pointer, in a headless Chromium.

    python3 book/scripts/test_replay.py [--grader PROGRAM] [--pictures FOLDER]

It makes its pages with the grader, and measures how long the largest one takes to open and to draw a step. Where no Chromium is found
it says so and does nothing (CHROMIUM names one).
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import browser

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# A wrong kernel with terms that differ; a race with findings, barriers and shared memory; the largest recording.
PAGES = {
    "wrong": ["10", "--wrong", "goes", "--test", "conv_backward_input_tiny"],
    "race": ["18", "--wrong", "no-barrier-after", "--test", "sgemm_tiled_whole_tiles"],
    "large": ["18", "--solution", "--test", "sgemm_tiled_long_rows"],
}
# Milliseconds: a frame at 60 a second, and a second to open.
FRAME, OPENING = 16.7, 1000

failures = []


def expect(holds, what):
    if not holds:
        failures.append(what)
        print("FAILED", what)


def settled(page):
    """Waits for the frame in which the page draws what was asked for."""
    page.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def time(page):
    return page.run("player.time")


def keys(page, name):
    for key, shift, back in [("ArrowRight", False, "ArrowLeft"), ("ArrowRight", True, "ArrowLeft")]:
        page.run("player.go(player.recording.runEnds[9])")
        before = time(page)
        page.key(key, shift)
        after = time(page)
        expect(after > before, f"{name}: {key} does not go on")
        page.key(back, shift)
        expect(time(page) == before, f"{name}: {back} does not go back")
    page.key("End")
    expect(time(page) == page.run("player.recording.steps - 1"), f"{name}: End")
    page.key("Home")
    expect(time(page) == 0, f"{name}: Home")
    lists = {"t": "player.ofThread()", "b": "player.recording.barriers", "d": "player.recording.divergences", "w": "player.writes()", "f": "player.findingSteps"}
    for key, times in lists.items():
        wanted = page.run(f"{times}.find(t => t > 0) ?? 0")
        page.key("Home")
        page.key(key)
        expect(time(page) == wanted, f"{name}: {key} goes to {time(page)} and not to {wanted}")
        page.key("End")
        wanted = page.run(f"{times}.findLast(t => t < player.time) ?? player.time")
        page.key(key.upper(), shift=True)
        expect(time(page) == wanted, f"{name}: Shift + {key} goes to {time(page)} and not to {wanted}")
    page.key("Home")
    page.key(" ")
    expect(page.run("!!player.timer"), f"{name}: Space does not play")
    page.key(" ")
    expect(page.run("!player.timer"), f"{name}: Space does not pause")
    page.run("document.getElementById('time').focus()")
    page.key("Home")
    page.key("ArrowRight")
    expect(time(page) > 0, f"{name}: the slider does not hear the keyboard")


def tab(page, name):
    controls = page.run("document.querySelectorAll('#controls button, #controls input').length")
    page.run("window.visited = new Set(); document.addEventListener('focusin', e => visited.add(e.target)); document.querySelector('.skip').focus()")
    for _ in range(controls + 2):
        page.key("Tab")
    reached = page.run("[...visited].filter(e => e.closest('#controls') && e.matches('button, input')).length")
    expect(reached == controls, f"{name}: the Tab key reaches {reached} of {controls} controls")


def place(page, script):
    return page.run(f"(e => {{ if (!e) return null; e.scrollIntoView({{ block: 'center' }}); const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }})({script})")


def pointer(page, name):
    for what in ("last", "first", "line", "instruction", "instruction-back", "line-back"):
        button = f"""document.querySelector('[data-do="{what}"]')"""
        page.run("player.go(player.recording.runEnds[9])")
        before = time(page)
        page.click(*place(page, button))
        expect(time(page) != before, f"{name}: the button {what} does nothing by pointer")
        page.run(f"player.go(player.recording.runEnds[9]); {button}.focus()")
        page.key("Enter")
        expect(time(page) != before, f"{name}: the button {what} does nothing by keyboard")
    x, y = place(page, "document.getElementById('time')")
    page.run("player.go(0)")
    page.click(x, y, to=(x + 100, y))
    expect(time(page) > 0, f"{name}: the slider does nothing by pointer")
    settled(page)
    lane = "[...document.querySelectorAll('#lanes .lane:not(.none)')][7]"
    page.click(*place(page, lane))
    expect(page.run("player.thread") == 7, f"{name}: a lane cannot be chosen by pointer")
    settled(page)
    page.run("[...document.querySelectorAll('#lanes .lane:not(.none)')][3].focus()")
    page.key("Enter")
    expect(page.run("player.thread") == 3, f"{name}: a lane cannot be chosen by keyboard")
    for act in ("page.click", "page.key"):
        page.run("player.chosen = null; player.draw()")
        settled(page)
        cell = "document.querySelector('#memories .grid button')"
        if act == "page.click":
            page.click(*place(page, cell))
        else:
            page.run(f"{cell}.focus()")
            page.key("Enter")
        expect(page.run("!!player.chosen"), f"{name}: a cell cannot be chosen with {act}")
    if name == "race":
        ends = page.run("[...document.querySelectorAll('#findings li')].map(li => li.querySelectorAll('.jump').length)")
        expect(2 in ends, f"{name}: no race has a jump to both of its ends: {ends}")
    settled(page)
    page.click(*place(page, "document.getElementById('show-ptx')"))
    settled(page)
    expect(page.run("!document.getElementById('ptx').hidden"), f"{name}: PTX is not shown")
    beside = "source.top === ptx.top && source.right < ptx.left"
    if page.run("innerWidth") <= 760:
        beside = "source.bottom < ptx.top"
    found = page.run(f"(([source, ptx]) => {beside})(['source', 'ptx'].map(id => document.getElementById(id).getBoundingClientRect()))")
    expect(found, f"{name}: PTX does not stand where there is room for it")
    page.run("document.getElementById('show-ptx').focus()")
    page.key(" ")
    settled(page)
    expect(page.run("document.getElementById('ptx').hidden"), f"{name}: PTX is still shown")
    for i in range(page.run("document.querySelectorAll('.memory input[type=checkbox]').length")):
        box = f"document.querySelectorAll('.memory input[type=checkbox]')[{i}]"
        before = page.run(f"{box}.checked")
        page.click(*place(page, box))
        expect(page.run(f"{box}.checked") != before, f"{name}: a box of a memory cannot be ticked")
    if page.run("!!document.querySelector('.why .jump')"):
        wanted = page.run("Number(document.querySelector('.why .jump').textContent.replace(/\\D/g, '')) - 1")
        page.click(*place(page, "document.querySelector('.why .jump')"))
        expect(time(page) == wanted, f"{name}: a jump goes to {time(page)} and not to {wanted}")


def processor_time(page):
    """Milliseconds that the page's thread has worked, and what for. The clock would count other programs, too."""
    metrics = {metric["name"]: metric["value"] * 1000 for metric in page.send("Performance.getMetrics")["metrics"]}
    return {name: metrics[f"{name}Duration"] for name in ("Task", "Script", "Layout", "RecalcStyle")}


def speed(page, name, opened):
    """How long the page takes to open, and to draw a step while somebody scrubs."""
    count = 100
    before = processor_time(page)
    page.run(f"""(async () => {{
        for (let i = 0; i < {count}; i++) {{
            player.go(Math.floor(i / {count} * player.recording.steps));
            await new Promise(requestAnimationFrame);
        }}
    }})()""")
    step = {what: (spent - before[what]) / count for what, spent in processor_time(page).items()}
    parts = ", ".join(f"{what} {spent:.1f}" for what, spent in step.items() if what != "Task")
    print(f"{name}: {page.run('player.recording.steps')} steps; milliseconds of processor time: {opened['Task']:.0f} to open, {step['Task']:.1f} a step ({parts})")
    expect(opened["Task"] < OPENING, f"{name}: opens in {opened['Task']:.0f} ms")
    expect(step["Task"] < FRAME, f"{name}: a step takes {step['Task']:.1f} ms")


def look_at(page, name, path, pictures):
    for dark in (False, True):
        for width in (1000, 390):
            page.open(path.as_uri(), width, dark)
            settled(page)
            wide = page.run("document.documentElement.scrollWidth")
            expect(wide <= width, f"{name}: is {wide} pixels wide in a window of {width}")
            if pictures:
                page.picture(pictures / f"replay_{name}.{'dark' if dark else 'light'}.{width}.png", whole=False)
    page.open("about:blank")
    before = processor_time(page)
    page.open(path.as_uri())
    settled(page)
    speed(page, name, {what: spent - before[what] for what, spent in processor_time(page).items()})
    tab(page, name)
    keys(page, name)
    page.open(path.as_uri())
    pointer(page, name)
    page.send("Emulation.setEmulatedMedia", media="print")
    expect(page.run("getComputedStyle(document.querySelector('.buttons')).display") == "none", f"{name}: buttons on paper")
    page.send("Emulation.setEmulatedMedia", media="")
    if pictures and name != "large":
        page.print(pictures / f"replay_{name}.pdf")
    expect(not page.messages, f"{name}: {page.messages}")
    page.messages.clear()


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--grader", default=str(ROOT / "target/debug/grader"))
    options.add_argument("--pictures", type=pathlib.Path)
    options = options.parse_args()
    path = browser.find()
    if not path:
        print("skipped: no Chromium found")
        return
    with tempfile.TemporaryDirectory() as folder:
        page = browser.Page(path)
        page.send("Performance.enable", timeDomain="threadTicks")
        for name, arguments in PAGES.items():
            file = pathlib.Path(folder) / f"{name}.html"
            command = [options.grader, "replay", *arguments, "--seed", "1", "--no-open", "--output", str(file)]
            subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
            look_at(page, name, file, options.pictures)
        page.close()
    print(f"{len(PAGES)} replays: {len(failures) or 'no'} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
