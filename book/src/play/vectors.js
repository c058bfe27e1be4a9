// Threads of blocks and elements of a vector: which thread has which element, and which has none.
"use strict";

{
    const { Figure, cell, define, text } = Play;
    const SIZE = 25, GAP = 10, WIDTH = 440;

    define("play-vectors", class extends Figure {
        label = "Elements, blocks and threads";

        build() {
            this.elements = this.slider("N", { min: 1, max: 32, value: 10 });
            this.size = this.slider("threads per block", { min: 1, max: 16, value: 4 });
            this.thread = this.slider("look at thread", { min: 0, max: 11, value: 6 });
            this.guard = this.choice("guard", [["if (i >= N) return;", true], ["none", false]]);
            this.onDrag((x, y) => {
                const found = this.places.findIndex(([left, top]) => x >= left && x < left + SIZE && y >= top && y < top + 2 * SIZE);
                if (found >= 0) this.thread.value = found;
            });
        }

        update() {
            const elements = this.elements.value, size = this.size.value, guard = this.guard.value;
            const blocks = Math.ceil(elements / size), threads = blocks * size;
            this.thread.limit(threads - 1);
            const chosen = this.thread.value;
            let x = 0, y = 16, markup = "";
            this.places = [];
            for (let block = 0; block < blocks; block++) {
                if (x > 0 && x + size * SIZE > WIDTH) [x, y] = [0, y + 2 * SIZE + 32];
                markup += text(x, y - 8, size > 1 ? `block ${block}` : block, "start");
                for (let t = 0; t < size; t++, x += SIZE) {
                    const i = block * size + t, own = i === chosen ? "mine" : "";
                    const below = i < elements ? cell(x, y + SIZE, SIZE, SIZE, i, own || "read")
                        : guard ? cell(x, y + SIZE, SIZE, SIZE, "", "pad") : cell(x, y + SIZE, SIZE, SIZE, i, "wrong");
                    markup += cell(x, y, SIZE, SIZE, t, own) + below;
                    this.places.push([x, y]);
                }
                x += GAP;
            }
            const idle = threads - elements;
            const count = `${blocks} ${blocks > 1 ? "blocks" : "block"} of ${size}: ${threads} ${threads > 1 ? "threads" : "thread"}`;
            this.draw(WIDTH, y + 2 * SIZE + 2, markup, `${count} for ${elements} elements; ${idle} have none.`);
            const [block, t] = [Math.floor(chosen / size), chosen % size];
            const does = chosen < elements ? `and computes C[${chosen}]`
                : guard ? "which is not below N, so it returns" : `and writes C[${chosen}], past the end of C`;
            this.say(`${count}, ${idle} without an element. Thread ${t} of block ${block} has i = ${block} · ${size} + ${t} = ${chosen}, ${does}.`);
        }
    });
}
