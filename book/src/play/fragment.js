// Which lane of a warp holds which element of an accumulator fragment of 16 × 16 floats.
"use strict";

{
    const { Figure, cell, define, text } = Play;
    const SIDE = 16, SIZE = 26;

    // Lane and number of an element. `book/examples/fragments.cu` prints them; a test of the book compares.
    const LAYOUTS = {
        vm: (row, column) => [row % 2 * 16 + column, row >> 1],
        h200: (row, column) => [row % 8 * 4 + (column % 8 >> 1), column % 2 + 2 * (row >> 3) + 4 * (column >> 3)],
    };

    define("play-fragment", class extends Figure {
        static layouts = LAYOUTS;
        label = "Lanes and elements of a fragment";

        build() {
            this.device = this.choice("on", [["the virtual machine", "vm"], ["an H200", "h200"]]);
            this.lane = this.slider("lane", { min: 0, max: 31, value: 5 });
            this.onDrag((x, y) => {
                const [row, column] = [Math.floor(y / SIZE), Math.floor(x / SIZE)];
                if (Math.min(row, column) >= 0 && Math.max(row, column) < SIDE) this.lane.value = LAYOUTS[this.device.value](row, column)[0];
            });
        }

        update() {
            const lane = this.lane.value, held = [];
            let markup = "";
            for (let row = 0; row < SIDE; row++) {
                for (let column = 0; column < SIDE; column++) {
                    const [owner, number] = LAYOUTS[this.device.value](row, column), own = owner === lane;
                    markup += cell(column * SIZE, row * SIZE, SIZE, SIZE, own ? `x[${number}]` : owner, own ? "mine" : "");
                    if (own) held[number] = `x[${number}] = S[${row}, ${column}]`;
                }
            }
            this.draw(SIDE * SIZE, SIDE * SIZE, markup, `A matrix of 16 by 16; in each cell the lane that holds it. Lane ${lane} holds eight of them.`);
            this.say(`Lane ${lane}: ${held.join(", ")}`);
        }
    });
}
