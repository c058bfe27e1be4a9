"""Draws the still figures of those that the reader drives, where no drawing of its own stands in the book.

    python3 book/scripts/stills.py

Each is the figure itself in a telling state, as an SVG in book/src/figures.
"""

import browser
import compact
import figure_page

# What stands on paper: the chapter, the element, what brings it into its state, and what it shows in words.
STILLS = {
    "05_float": ("05_softmax_ce", "play-softmax", "this.logits[0].value = 89; this.subtract.inputs[1].checked = true",
                 "Four logits, 89, 1, -1 and 0.5, with nothing subtracted. The first exponential and the sum are infinite, and the first "
                 "probability is NaN; both are marked red. The other probabilities are 0."),
    "10_errors": ("10_conv_backward_input", "play-gather", "this.kernel.inputs[2].checked = true",
                  "The gradient of the output, the filter and the gradient of the input, from a kernel that also rotates the filter. "
                  "Elements that are wrong are red. The chosen one read four outputs and four weights, which are blue."),
    "18_race": ("18_sgemm_tiled", "play-tiles", "this.kernel.inputs[3].checked = true; this.time.value = this.current.raceTimes[0]",
                "A step of a block without the second barrier: a warp overwrites a tile in shared memory, a row of which is red, while "
                "other warps still multiply with it. Beside it the eight warps, the floats loaded so far, and the lines of the loop."),
    "18_banks": ("18_sgemm_tiled", "play-banks", "this.padding.value = 0",
                 "The 32 banks of shared memory side by side. All 32 words of a column lie in bank 0, one above the other, in red: with rows "
                 "of 32 floats the access needs 32 passes."),
    "24_update": ("24_maxpool2d_bwd_idx", "play-interleave", "this.order = [0, 1, 0, 0, 1, 1]",
                  "Six steps in order of time. Thread 1 loads 0, thread 3 loads 0, thread 1 adds 2 and stores 2, thread 3 adds 8 and "
                  "stores 8. In the end dX[7] is 8 and not 10."),
    "29_sectors": ("29_conv_backward_input_f16", "play-channels", "this.order.inputs[1].checked = true",
                   "Boxes for the 33 sectors that a warp reads if its threads run through the columns first: 32 of the gradient, of each of "
                   "which it uses one half of sixteen, and one of the weights."),
    "34_half": ("34_conv_backward_weights_f16", "play-halfsum", "this.count.value = 4096",
                "Sum over number of additions of 0.01. The exact sum is a straight line to 45. The sum in half precision stays below it up to "
                "16, runs ahead up to 32, and is level from there."),
    "41_projection": ("41_layernorm_backward_input", "play-projection", "",
                      "A vector g in three dimensions, and three lines through the origin: along (1, 1, 1), along the normalised row, and "
                      "orthogonal to both. The right gradient ends on the last line; that of the diagonal does not."),
}


def main():
    page = browser.Page(browser.find())
    for name, (chapter, element, state, words) in STILLS.items():
        page.open(figure_page.write(chapter))
        page.run(f"(function () {{ {state}; this.update(); }}).call(document.querySelector('{element}'))")
        style, box, markup = page.run(f"(p => [p.getAttribute('style'), p.getAttribute('viewBox'), p.innerHTML])(document.querySelector('{element}').picture)")
        lines = [line.strip() for line in markup.replace("><", ">\n<").splitlines()]
        head = f'<svg class="fig" style="{style.replace(" ", "").rstrip(";")}" viewBox="{box}" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{words}">'
        with open(figure_page.BOOK / "src/figures" / f"{name}.svg", "w") as file:
            file.write(compact.compact("\n".join([head, *filter(None, lines), "</svg>", ""])))
    page.close()


if __name__ == "__main__":
    main()
