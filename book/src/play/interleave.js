// Two threads that add to the same element, in an order that the reader chooses.
"use strict";

{
    const { Figure, cell, define, text } = Play;
    const THREADS = [{ name: "thread 1", gradient: 2 }, { name: "thread 3", gradient: 8 }];
    const COLUMNS = [0, 150, 300], ROW = 26, WIDTH = 400;

    define("play-interleave", class extends Figure {
        label = "Two threads add to the same element";

        build() {
            this.how = this.choice("in each thread", [["dX[7] += g", false], ["atomicAdd(&dX[7], g)", true]]);
            for (const input of this.how.inputs) input.addEventListener("change", () => { this.order = []; this.update(); });
            this.order = [];
            this.next = THREADS.map(({ name }, thread) => this.button(`next step of ${name}`, () => this.order.push(thread)));
            this.button("undo", () => this.order.pop());
            this.button("start over", () => { this.order = []; });
        }

        update() {
            const atomic = this.how.value, steps = atomic ? ["add"] : ["load", "add", "store"];
            const done = THREADS.map(() => 0), registers = THREADS.map(() => null);
            let memory = 0, rows = "";
            for (const [i, thread] of this.order.entries()) {
                const { gradient } = THREADS[thread], step = steps[done[thread]++];
                let words;
                if (atomic) words = `add ${gradient}`, memory += gradient;
                else if (step === "load") words = `load ${memory}`, registers[thread] = memory;
                else if (step === "add") words = `${registers[thread]} + ${gradient}`, registers[thread] += gradient;
                else words = `store ${registers[thread]}`, memory = registers[thread];
                const y = 40 + i * ROW, stores = atomic || step === "store";
                rows += cell(COLUMNS[thread], y, 130, ROW - 4, words, step === "load" ? "read" : stores ? "mine" : "") + cell(COLUMNS[2], y, 90, ROW - 4, memory, stores ? "mine" : "");
            }
            const heads = THREADS.map(({ name, gradient }, t) => text(COLUMNS[t] + 65, 8, `${name}, g = ${gradient}`)).join("") + text(COLUMNS[2] + 45, 8, "dX[7]");
            const start = cell(COLUMNS[2], 18, 90, ROW - 8, 0);
            done.forEach((count, thread) => { this.next[thread].disabled = count === steps.length; });
            const ended = done.every(count => count === steps.length);
            this.draw(WIDTH, 40 + (atomic ? 2 : 6) * ROW, heads + start + rows, `${this.order.length} steps of two threads in the chosen order; dX[7] is ${memory}.`);
            const orders = "Of the 20 orders of these six steps only 2 give 10: those in which one thread ends before the other begins.";
            this.say(!ended ? `dX[7] is ${memory}. Choose which thread takes the next step.`
                : memory === 10 ? `dX[7] is 10, which is right. ${atomic ? "No other step fits into an atomic addition: both orders give 10." : orders}`
                : `dX[7] is ${memory} instead of 10: the ${10 - memory} is lost, because both threads loaded before one of them stored. ${orders}`);
        }
    });
}
