// The gradient of a convolution's input: which products each thread added, by recordings of a right and of two wrong kernels.
"use strict";

{
    const { Figure, cell, define, shown, text } = Play;
    const SIZE = 30, TOP = 20, PLACES = { "grad(output)": 0, filters: 130, "grad(input)": 270 };

    define("play-gather", class extends Figure {
        label = "Products of each element";

        build() {
            const traces = [["oh = h − fh", "10_right"], ["also rotate the filter", "10_rotated"], ["oh = h + fh", "10_forward"]];
            this.traces = Object.fromEntries(traces.map(([, name]) => [name, new PlayTrace(name)]));
            this.kernel = this.choice("kernel", traces);
            this.row = this.slider("h", { min: 0, max: 4, value: 1 });
            this.column = this.slider("w", { min: 0, max: 4, value: 1 });
            this.onDrag((x, y) => {
                if (x < PLACES["grad(input)"]) return;
                this.row.value = Math.floor((y - TOP) / SIZE);
                this.column.value = Math.floor((x - PLACES["grad(input)"]) / SIZE);
            });
        }

        update() {
            const trace = this.traces[this.kernel.value], at = this.row.value * 5 + this.column.value;
            const [gradient, filters, result] = Object.keys(PLACES).map(name => trace.memory(name));
            const reads = { [gradient]: [], [filters]: [] };
            for (const run of trace.runs) {
                for (const { writes, memory, lanes, elements } of run.accesses) {
                    const lane = lanes.indexOf(at % 32);
                    if (!writes && run.warp === at >> 5 && lane >= 0) reads[memory]?.push(elements[lane]);
                }
            }
            let markup = "";
            for (const [name, x] of Object.entries(PLACES)) {
                const index = trace.memory(name), memory = trace.memories[index], side = memory.shape.at(-1);
                markup += text(x + side * SIZE / 2, 8, name);
                (index === result ? memory.after : memory.before).forEach((value, i) => {
                    const wrong = memory.wrong.includes(i), chosen = index === result && i === at;
                    const style = chosen ? "mine" : wrong ? "wrong" : reads[index]?.includes(i) ? "read" : "";
                    const [left, top] = [x + i % side * SIZE, TOP + Math.floor(i / side) * SIZE];
                    markup += cell(left, top, SIZE, SIZE, shown(value), style);
                    if (chosen) markup += `<rect x="${left}" y="${top}" width="${SIZE}" height="${SIZE}" class="frame${wrong ? " bad" : ""}"></rect>`;
                });
            }
            const { after, expected, wrong } = trace.memories[result], values = index => reads[index].map(i => trace.memories[index].before[i]);
            const [left, right] = [values(gradient), values(filters)];
            const sum = left.map((value, i) => `${shown(value)}·${shown(right[i])}`).join(" + ") || "no product";
            const verdict = after[at] === expected[at] ? "right" : `which should be ${shown(expected[at])}`;
            this.draw(PLACES["grad(input)"] + 5 * SIZE, TOP + 5 * SIZE, markup, `The gradient of a 5 by 5 input; ${wrong.length} of 25 elements are wrong.`);
            this.say(`grad_input[${this.row.value}, ${this.column.value}] = ${sum} = ${shown(after[at])}, ${verdict}. ${wrong.length ? `${wrong.length} of 25 elements are wrong.` : "All elements are right."}`);
        }
    });
}
