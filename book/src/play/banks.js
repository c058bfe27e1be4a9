// The banks of shared memory that a warp's access needs, by the width of the rows and their padding.
"use strict";

{
    const { Figure, cell, define, text } = Play;
    const BANKS = 32, SIZE = 13.5, WORD = 8;

    define("play-banks", class extends Figure {
        label = "Banks of a warp's access";

        build() {
            this.lanes = this.choice("lane i reads", [["a[i][0], down a column", "column"], ["a[0][i], along a row", "row"]]);
            this.width = this.slider("floats in a row", { min: 1, max: 64, value: 32 });
            this.padding = this.slider("padding", { min: 0, max: 4, value: 0 });
        }

        update() {
            const stride = this.lanes.value === "row" ? 1 : this.width.value + this.padding.value;
            const stacks = Array.from({ length: BANKS }, () => []);
            for (let lane = 0; lane < 32; lane++) stacks[lane * stride % BANKS].push(lane);
            const passes = Math.max(...stacks.map(stack => stack.length)), height = Math.max(passes, 4) * WORD;
            let markup = "";
            stacks.forEach((stack, bank) => {
                markup += cell(bank * SIZE, height + 2, SIZE, 14, bank % 4 ? "" : bank);
                stack.forEach((_, i) => { markup += cell(bank * SIZE, height - WORD * (i + 1), SIZE, WORD, "", stack.length > 1 ? "wrong" : "read"); });
            });
            const busy = stacks.filter(stack => stack.length).length;
            markup += text(0, height + 28, "the 32 banks, and the words that the warp reads from each", "start");
            this.draw(BANKS * SIZE, height + 34, markup, `Words of a warp's access by bank: ${busy} banks are used, and ${passes} words lie in the fullest one.`);
            this.say(`Neighbouring lanes are ${stride} ${stride === 1 ? "word" : "words"} apart, so the 32 words lie in ${busy} ${busy > 1 ? "banks" : "bank"}: ${passes} ${passes > 1 ? "passes" : "pass"}${passes > 1 ? ", one after the other" : ", no conflict"}.`);
        }
    });
}
