// A recorded block, as `grader replay --trace` writes it: which warp executed which line, and what it accessed.
"use strict";

window.PlayTrace ??= class {
    constructor(name) {
        const data = window.PlayTraces[name];
        Object.assign(this, { source: data.source, memories: data.memories, block: data.block_size });
        const rows = data.runs.flatMap(numbers => PlayTrace.rows(numbers));
        this.runs = rows.map(([warp, line, mask, barrier, ...rest]) => {
            const accesses = [];
            for (let i = 0; i < rest.length; i += 4) {
                const [kind, memory, first, pattern] = rest.slice(i, i + 4), shape = data.patterns[pattern];
                const lanes = shape.filter((_, k) => k % 2 === 0), elements = shape.filter((_, k) => k % 2).map(offset => first + offset);
                accesses.push({ writes: kind > 0, memory, lanes, elements });
            }
            return { warp, line, lanes: data.masks[mask], barrier: barrier === 1, accesses };
        });
        this.warps = Math.max(...this.runs.map(run => run.warp)) + 1;
    }

    // The rows that a count, the first of them and their difference stand for.
    static rows([count, ...rest]) {
        if (count === 1) return [rest];
        const width = rest.length / 2, first = rest.slice(0, width), difference = rest.slice(width);
        return Array.from({ length: count }, (_, row) => first.map((number, i) => number + row * difference[i]));
    }

    memory(name) {
        return this.memories.findIndex(memory => memory.name === name);
    }

    // Accesses of shared memory that no barrier orders: for each run the first such access, with the other warp.
    races() {
        const passed = new Array(this.warps).fill(0), touched = new Map(), found = new Map();
        this.runs.forEach((run, index) => {
            for (const { writes, memory, elements } of run.accesses) {
                if (this.memories[memory].role !== "shared") continue;
                for (const element of elements) {
                    const key = memory * 65536 + element, before = touched.get(key) ?? [];
                    const other = before.find(of => of.warp !== run.warp && of.passed === passed[run.warp] && (of.writes || writes));
                    if (other && !found.has(index)) found.set(index, { memory, element, writes, other });
                    const same = of => of.warp === run.warp && of.passed === passed[run.warp] && of.writes === writes;
                    if (!before.some(same)) touched.set(key, [...before, { warp: run.warp, passed: passed[run.warp], writes }]);
                }
            }
            if (run.barrier) passed[run.warp]++;
        });
        return found;
    }
};
