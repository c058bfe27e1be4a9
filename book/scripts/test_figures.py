"""Tries every control of the figures that the reader drives, by keyboard and by pointer, in a headless Chromium.

    python3 book/scripts/test_figures.py [--grader PROGRAM] [--pictures FOLDER]

Looks at them in a light and a dark theme, at 1000 and at 390 pixels, on paper and without JavaScript; with --pictures it leaves a
picture of each. Where no Chromium is found it says so and does nothing (CHROMIUM names one).
"""

import argparse
import pathlib
import subprocess
import sys

import browser
import figure_page

FOCUSABLE = ".live input:not(:disabled), .live button:not(:disabled)"
# Letters of figures are drawn at least at so many pixels; on a phone a figure that is wider scrolls.
SMALLEST = 8.5

# What figures must say in some states: chapter, element, state, words.
STATES = [
    ("01_vector_add", "play-vectors", "this.elements.value = 1000 / 100; this.guard.inputs[1].checked = true; this.thread.value = 11", "i = 2 · 4 + 3 = 11, and writes C[11], past the end"),
    ("05_softmax_ce", "play-softmax", "this.subtract.inputs[1].checked = true; this.logits[0].value = 89", "above 3.4 · 10³⁸"),
    ("05_softmax_ce", "play-softmax", "this.logits.forEach(l => l.value = 88)", "their sum is not: infinity"),
    ("05_softmax_ce", "play-softmax", "this.subtract.inputs[2].checked = true; this.logits.forEach(l => l.value = -110)", "0 / 0 is NaN"),
    ("05_softmax_ce", "play-softmax", "this.subtract.inputs[0].checked = true", "add up to 1"),
    ("07_conv_forward", "play-window", "this.row.value = 2; this.column.value = 2", "= 1051"),
    ("06_fc_backward", "play-dense", "this.row.value = 0; this.column.value = 1", "grad_weights[0, 1] = 1 · 2 + 3 · 5 = 17"),
    ("06_fc_backward", "play-dense", "this.result.inputs[1].checked = true; this.column.value = 1", "grad_bias[1] = 2 + −1 = 1"),
    ("06_fc_backward", "play-dense", "this.result.inputs[2].checked = true; this.update(); this.row.value = 1; this.column.value = 1", "grad_input[1, 1] = 3 · −1 + −1 · 1 = −4"),
    ("09_conv_backward_weights", "play-window", "this.row.value = 0; this.column.value = 2", "grad_weights[0, 2] = 3·1 + 4·2 + 5·3 + 8·4"),
    ("09_conv_backward_weights", "play-window", "this.row.value = 1; this.column.value = 1", "= 681"),
    ("10_conv_backward_input", "play-gather", "this.row.value = 1; this.column.value = 1", "= 12, right. All elements are right"),
    ("10_conv_backward_input", "play-gather", "this.kernel.inputs[1].checked = true", "(and 5 products with zeros of the padding), right. All"),
    ("10_conv_backward_input", "play-gather", "this.kernel.inputs[2].checked = true", "which should be 12"),
    ("10_conv_backward_input", "play-gather", "this.kernel.inputs[3].checked = true", "of 25 elements are wrong"),
    ("11_sgd", "play-descent", "this.rate.value = 1.75; this.count.value = 1", "it is −0.6, from 0.8"),
    ("11_sgd", "play-descent", "this.rate.value = 2.1", "diverges"),
    ("24_maxpool2d_bwd_idx", "play-interleave", "this.order = [0, 1, 0, 0, 1, 1]", "is 8 instead of 10: the 2 is lost"),
    ("24_maxpool2d_bwd_idx", "play-interleave", "this.order = [1, 1, 1, 0, 0, 0]", "is 10, which is right"),
    ("29_conv_backward_input_f16", "play-channels", "this.order.inputs[0].checked = true", "reads 3 sectors"),
    ("29_conv_backward_input_f16", "play-channels", "this.order.inputs[1].checked = true", "reads 33 sectors"),
    ("34_conv_backward_weights_f16", "play-halfsum", "this.count.value = 100", "0.9883 in half"),
    ("34_conv_backward_weights_f16", "play-halfsum", "this.count.value = 1600", "14.64 in half"),
    ("34_conv_backward_weights_f16", "play-halfsum", "this.count.value = 4096", "32 in half"),
    ("37_sgd_master", "play-master", "this.count.value = 3", "master 0.9997, copy 0.999512, alone 1. Below 1 the 16-bit numbers are 4.9e−4 apart"),
    ("37_sgd_master", "play-master", "this.count.value = 40", "alone the weight never moves"),
    ("37_sgd_master", "play-master", "this.size.inputs[1].checked = true; this.count.value = 1", "becomes one of 4.9e−4"),
    ("37_sgd_master", "play-master", "this.size.inputs[0].checked = true; this.bits.inputs[1].checked = true; this.count.value = 20", "copy 0.996094"),
    ("41_layernorm_backward_input", "play-projection", "this.row.value = 30", "Right: dx = (0, 2, −2), with the sum 0 and dx · x̂ = 0. Diagonal only: (0, 1.5, −0.5)"),
    ("18_sgemm_tiled", "play-tiles", "this.time.value = 9999", "Barriers order every access"),
    ("18_sgemm_tiled", "play-tiles", "this.kernel.inputs[2].checked = true; this.update(); this.next(this.current.raceTimes)", "Race: it reads"),
    ("18_sgemm_tiled", "play-tiles", "this.kernel.inputs[3].checked = true; this.update(); this.time.value = 0; this.next(this.current.raceTimes)", "Race: it overwrites"),
    ("18_sgemm_tiled", "play-banks", "this.padding.value = 0", "32 passes"),
    ("18_sgemm_tiled", "play-banks", "this.padding.value = 1", "1 pass, no conflict"),
    ("18_sgemm_tiled", "play-banks", "this.width.value = 16; this.padding.value = 0", "2 banks: 16 passes"),
]

failures = []


def expect(holds, what):
    if not holds:
        failures.append(what)
        print("FAILED", what)


def seen(page):
    """All that the figures show, as text."""
    return page.run("[...document.querySelectorAll('.live')].map(live => live.innerHTML + [...live.querySelectorAll('input')].map(i => i.value + i.checked)).join()")


def middle(page, script):
    """Places in the window: a tenth, the middle, and nine tenths along an element."""
    return page.run(f"(e => {{ e.scrollIntoView({{ block: 'center' }}); const b = e.getBoundingClientRect(); return [0.1, 0.5, 0.9].map(p => [b.x + p * b.width, b.y + b.height / 2]); }})({script})")


def by_keyboard(page, name):
    count = page.run(f"document.querySelectorAll({FOCUSABLE!r}).length")
    page.run("window.escaped = 0; document.addEventListener('keydown', event => { if (event.key.startsWith('Arrow')) escaped++; }); document.activeElement.blur()")
    # The Tab key stops at each control; at radio buttons of one name it stops once.
    stops = page.run(f"new Set([...document.querySelectorAll({FOCUSABLE!r})].map(e => e.type === 'radio' ? e.name : e)).size")
    page.run("window.visited = new Set(); document.addEventListener('focusin', event => visited.add(event.target.type === 'radio' ? event.target.name : event.target))")
    for _ in range(stops + 1):
        page.key("Tab")
    expect(page.run("visited.size") >= stops, f"{name}: the Tab key reaches {page.run('visited.size')} of {stops} controls")
    for i in range(count):
        control = f"document.querySelectorAll({FOCUSABLE!r})[{i}]"
        kind = page.run(f"{control} ? {control}.type : ''")
        if not kind:
            continue
        page.run(f"{control}.focus()")
        before = seen(page)
        if kind == "range":
            at_end = page.run(f"{control}.value === {control}.max")
            page.key("ArrowLeft" if at_end else "ArrowRight")
        elif kind == "radio":
            page.key("ArrowRight")
        else:
            page.key("Enter")
        words = page.run(f"{control}?.textContent || {control}?.ariaLabel")
        # A step back at the beginning, and an undo of nothing, change nothing.
        expect(seen(page) != before or kind == "submit" or words in ("◀", "undo", "start over"), f"{name}: {kind} {i} does nothing by keyboard")
    expect(page.run("escaped") == 0, f"{name}: arrow keys turn the book's pages")


def by_pointer(page, name):
    for i in range(page.run(f"document.querySelectorAll({FOCUSABLE!r}).length")):
        control = f"document.querySelectorAll({FOCUSABLE!r})[{i}]"
        if not page.run(f"!!{control}"):
            continue
        kind = page.run(f"{control}.type")
        places, before = middle(page, control), seen(page)
        if kind == "range":
            page.click(*places[0])
            pressed = seen(page)
            page.click(*places[0], to=places[2])
            expect(seen(page) != pressed and (pressed != before or seen(page) != before), f"{name}: slider {i} does nothing by pointer")
        else:
            page.click(*places[1])
            if kind == "radio":
                expect(page.run(f"{control}.checked"), f"{name}: radio button {i} cannot be chosen by pointer")
    for i in range(page.run("document.querySelectorAll('.live .drag').length")):
        picture = f"document.querySelectorAll('.live .drag')[{i}]"
        places, before = middle(page, picture), seen(page)
        page.click(*places[1], to=places[0])
        page.click(*places[1], to=places[2])
        expect(seen(page) != before, f"{name}: dragging in the picture does nothing")


def sizes(page, name):
    wide = page.run("document.documentElement.scrollWidth")
    expect(wide <= 390, f"{name}: is {wide} pixels wide on a phone")
    small = page.run("""Math.min(...[...document.querySelectorAll('.live .fig')].filter(p => p.querySelector('text')).map(p =>
        parseFloat(getComputedStyle(p.querySelector('text')).fontSize) * p.getScreenCTM().a))""")
    expect(small >= SMALLEST, f"{name}: letters of {small:.1f} pixels on a phone")


def still(page, name, how):
    shown = page.run("[...document.querySelectorAll('figure svg')].filter(e => e.getBoundingClientRect().width > 0).map(e => !!e.closest('.live'))")
    expect(shown and not any(shown), f"{name}: no still figure {how}")


def look_at(page, chapter, pictures):
    for theme in figure_page.THEMES:
        address = figure_page.write(chapter, theme)
        for width in (1000, 390):
            page.open(address, width)
            if width == 390:
                sizes(page, f"{chapter}, {theme}")
            if pictures:
                page.picture(pictures / f"{chapter}.{theme}.{width}.png")
    page.open(address)
    expect(page.run("[...document.querySelectorAll('figure svg')].every(e => !e.closest('.still') === e.getBoundingClientRect().width > 0)"), f"{chapter}: it is not driven")
    by_keyboard(page, chapter)
    page.open(address)
    by_pointer(page, chapter)
    page.send("Emulation.setEmulatedMedia", media="print")
    still(page, chapter, "on paper")
    page.send("Emulation.setEmulatedMedia", media="")
    page.send("Emulation.setScriptExecutionDisabled", value=True)
    page.open(address)
    still(page, chapter, "without JavaScript")
    page.send("Emulation.setScriptExecutionDisabled", value=False)
    if pictures:
        page.open(figure_page.write(chapter))
        page.print(pictures / f"{chapter}.pdf")
    expect(not page.messages, f"{chapter}: {page.messages}")
    page.messages.clear()


def states(page):
    open_now = None
    for chapter, element, state, words in STATES:
        if chapter != open_now:
            page.open(figure_page.write(chapter))
            open_now = chapter
        page.run(f"(function () {{ {state}; this.update(); }}).call(document.querySelector('{element}'))")
        said = page.run(f"document.querySelector('{element} .status').textContent")
        expect(words in said, f"{chapter}: {state}: {words!r} is not in {said!r}")


def fragments(page, grader):
    """The layouts of fragments are those that `book/examples/fragments.cu` prints on the virtual machine, and printed on an H200."""
    page.open(figure_page.write("46_wmma_gemm"))
    program = [grader, "run", "--backend", "vm", "book/examples/fragments.cu"]
    printed = {
        "vm": subprocess.run(program, check=True, cwd=figure_page.BOOK.parent, capture_output=True, text=True).stdout,
        "h200": (figure_page.BOOK / "scripts/fragment_h200.txt").read_text(),
    }
    for device, words in printed.items():
        layout = page.run(f"(l => Array.from({{ length: 256 }}, (_, i) => l(i >> 4, i % 16).join('.')))(customElements.get('play-fragment').layouts.{device})")
        expect(layout == words.split()[:256], f"46: the layout of {device} is another one")


def counts(page):
    """The loads of puzzle 18 are those that its chapter computes for one block: 4 steps of 512 floats, or 2 · 64 for each element."""
    page.open(figure_page.write("18_sgemm_tiled"))
    loads = page.run("(f => ['18_tiled', '18_naive'].map(name => f.prepared[name].loads.at(-1)))(document.querySelector('play-tiles'))")
    expect(loads == [4 * 512, 2 * 64 * 256], f"18: {loads} floats are loaded")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--grader", default=str(figure_page.BOOK.parent / "target/debug/grader"))
    options.add_argument("--pictures", type=pathlib.Path)
    options = options.parse_args()
    pictures = options.pictures
    path = browser.find()
    if not path:
        print("skipped: no Chromium found")
        return
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    page = browser.Page(path)
    for chapter in figure_page.chapters():
        look_at(page, chapter, pictures)
    states(page)
    fragments(page, options.grader)
    counts(page)
    page.close()
    print(f"{len(figure_page.chapters())} chapters: {len(failures) or 'no'} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
