// The gradient of a convolution's input: which products each thread added. One right kernel and two wrong ones are recordings; the
// other right form, which goes through the padded gradient with the rotated filter, is computed here from the tensors of a recording.
"use strict";

{
    const { Figure, cell, define, shown, text } = Play;
    const SIZE = 30, TOP = 20, PLACES = { "grad(output)": 0, filters: 130, "grad(input)": 270 }, PADDED = "padded";
    const tensors = trace => Object.keys(PLACES).map(name => trace.memory(name));

    define("play-gather", class extends Figure {
        label = "Products of each element";

        build() {
            const kernels = [["h − fh, filter as it is", "10_right"], ["h + p in the padded gradient, filter rotated", PADDED],
                ["both: h − fh, filter rotated", "10_rotated"], ["neither: h + fh, filter as it is", "10_forward"]];
            const traces = kernels.map(([, name]) => name).filter(name => name !== PADDED);
            this.traces = Object.fromEntries(traces.map(name => [name, new PlayTrace(name)]));
            this.kernel = this.choice("kernel", kernels);
            this.row = this.slider("h", { min: 0, max: 4, value: 1 });
            this.column = this.slider("w", { min: 0, max: 4, value: 1 });
            this.onDrag((x, y) => {
                if (x < PLACES["grad(input)"]) return;
                this.row.value = Math.floor((y - TOP) / SIZE);
                this.column.value = Math.floor((x - PLACES["grad(input)"]) / SIZE);
            });
        }

        // What a thread of a recording read: elements of each memory, in order of time.
        recorded(trace, at) {
            const reads = trace.memories.map(() => []);
            for (const run of trace.runs) {
                for (const { writes, memory, lanes, elements } of run.accesses) {
                    const lane = lanes.indexOf(at % 32);
                    if (!writes && run.warp === at >> 5 && lane >= 0) reads[memory].push(elements[lane]);
                }
            }
            return reads;
        }

        // What a thread of the full convolution reads, but for the zeros of the padding and their weights.
        padded(trace, at) {
            const reads = trace.memories.map(() => []), [gradient, filters, result] = tensors(trace);
            const [side, filter, width] = [gradient, filters, result].map(index => trace.memories[index].shape.at(-1));
            const exists = place => place >= 0 && place < side;
            for (let p = 0; p < filter; p++) {
                for (let q = 0; q < filter; q++) {
                    const [oh, ow] = [Math.floor(at / width) + p - (filter - 1), at % width + q - (filter - 1)];
                    if (!exists(oh) || !exists(ow)) continue;
                    reads[gradient].push(oh * side + ow);
                    reads[filters].push((filter - 1 - p) * filter + filter - 1 - q);
                }
            }
            return reads;
        }

        // The recording with what the full convolution leaves in the place of its result.
        full(trace) {
            const [gradient, filters, result] = tensors(trace), before = index => trace.memories[index].before;
            const after = trace.memories[result].expected.map((_, at) => {
                const reads = this.padded(trace, at);
                return reads[gradient].reduce((sum, element, i) => sum + before(gradient)[element] * before(filters)[reads[filters][i]], 0);
            });
            const wrong = [...after.keys()].filter(at => after[at] !== trace.memories[result].expected[at]);
            return trace.memories.map((memory, index) => index === result ? { ...memory, after, wrong } : memory);
        }

        update() {
            const padded = this.kernel.value === PADDED, at = this.row.value * 5 + this.column.value;
            const trace = this.traces[padded ? "10_right" : this.kernel.value];
            const [gradient, filters, result] = tensors(trace);
            const memories = padded ? this.full(trace) : trace.memories;
            const reads = padded ? this.padded(trace, at) : this.recorded(trace, at);
            let markup = "";
            for (const [name, x] of Object.entries(PLACES)) {
                const index = trace.memory(name), memory = memories[index], side = memory.shape.at(-1);
                markup += text(x + side * SIZE / 2, 8, name);
                (index === result ? memory.after : memory.before).forEach((value, i) => {
                    const wrong = memory.wrong.includes(i), chosen = index === result && i === at;
                    const style = chosen ? "mine" : wrong ? "wrong" : reads[index].includes(i) ? "read" : "";
                    const [left, top] = [x + i % side * SIZE, TOP + Math.floor(i / side) * SIZE];
                    markup += cell(left, top, SIZE, SIZE, shown(value), style);
                    if (chosen) markup += `<rect x="${left}" y="${top}" width="${SIZE}" height="${SIZE}" class="frame${wrong ? " bad" : ""}"></rect>`;
                });
            }
            const { after, expected, wrong } = memories[result], values = index => reads[index].map(i => memories[index].before[i]);
            const [left, right] = [values(gradient), values(filters)];
            const sum = left.map((value, i) => `${shown(value)}·${shown(right[i])}`).join(" + ") || "no product";
            const zeros = padded ? memories[filters].before.length - left.length : 0;
            const rest = zeros ? ` (and ${zeros} products with zeros of the padding)` : "";
            const verdict = after[at] === expected[at] ? "right" : `which should be ${shown(expected[at])}`;
            this.draw(PLACES["grad(input)"] + 5 * SIZE, TOP + 5 * SIZE, markup, `The gradient of a 5 by 5 input; ${wrong.length} of 25 elements are wrong.`);
            this.say(`grad_input[${this.row.value}, ${this.column.value}] = ${sum} = ${shown(after[at])}${rest}, ${verdict}. ${wrong.length ? `${wrong.length} of 25 elements are wrong.` : "All elements are right."}`);
        }
    });
}
