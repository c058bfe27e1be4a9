// A block of puzzle 18 step by step, by recordings of four kernels: the tiles, without tiles, and with a barrier taken away.
"use strict";

{
    const { Figure, define, text } = Play;
    const KERNELS = [["tiles", "18_tiled"], ["no tiles", "18_naive"], ["no first barrier", "18_no_first"], ["no second barrier", "18_no_second"]];
    const SMALL = 3, LARGE = 5.5, LANE = 4, WIDTH = 440, LINES = 352;
    // Where each memory stands, and the size of its elements.
    const PLACES = { A: [0, 200, SMALL], B: [200, 0, SMALL], C: [200, 200, SMALL], a: [0, 20, LARGE], b: [98, 20, LARGE] };

    define("play-tiles", class extends Figure {
        label = "A block of a matrix product";

        build() {
            this.prepared = Object.fromEntries(KERNELS.map(([, name]) => [name, this.prepare(new PlayTrace(name))]));
            this.kernel = this.choice("kernel", KERNELS);
            this.time = this.slider("step", { min: 0, max: 9999, value: 150, show: value => String(value + 1) });
            this.steps(this.time, (value, direction) => value + direction);
            this.button("next barrier", () => this.next(this.current.barriers));
            this.toRace = this.button("next race", () => this.next(this.current.raceTimes));
        }

        // What is the same at every time: floats loaded so far, barriers, races, and the lines of the loop.
        prepare(trace) {
            const isGlobal = ({ writes, memory }) => !writes && trace.memories[memory].role !== "shared";
            let loaded = 0;
            const loads = trace.runs.map(run => loaded += run.accesses.filter(isGlobal).reduce((sum, { lanes }) => sum + lanes.length, 0));
            const races = trace.races(), times = trace.runs.map((run, time) => run.barrier ? time : -1).filter(time => time >= 0);
            const touching = trace.runs.filter(run => run.accesses.length || run.barrier).map(run => run.line);
            const lines = [...new Set(touching)].sort((a, b) => a - b);
            return { trace, loads, races, raceTimes: [...races.keys()], barriers: times, lines };
        }

        next(times) {
            this.pause();
            this.time.value = times.find(time => time > this.time.value) ?? times[0] ?? this.time.value;
        }

        get current() {
            return this.prepared[this.kernel.value];
        }

        update() {
            const { trace, loads, races, raceTimes, lines } = this.current;
            this.time.limit(trace.runs.length - 1);
            this.toRace.disabled = raceTimes.length === 0;
            const time = this.time.value, run = trace.runs[time], race = races.get(time);
            const markup = [this.tiles(trace, time), this.memories(trace, run, race), this.warps(trace, time), this.loads(loads, time), this.listing(trace, lines, time)];
            this.draw(WIDTH, LINES + lines.length * 16, markup.join(""), `Warp ${run.warp} executes line ${run.line}; the block has loaded ${loads[time]} floats from global memory.`);
            this.say(`Step ${time + 1}: warp ${run.warp}${run.barrier ? " reaches a barrier" : ""}. ${race ? this.told(trace, run, race)
                : raceTimes.length ? `${raceTimes.length} steps of this kernel are races.` : "Barriers order every access to shared memory, or there is none."}`);
        }

        told(trace, run, { memory, element, writes, other }) {
            const name = `${trace.memories[memory].name}[${Math.floor(element / 16)}][${element % 16}]`;
            const did = other.writes ? "wrote" : "read", does = writes ? "overwrites" : "reads";
            return `Race: it ${does} ${name}, which warp ${other.warp} ${did} since the same barrier. On a GPU either may come first.`;
        }

        // The tiles in global memory that the block has touched so far.
        tiles(trace, time) {
            const touched = new Set();
            for (let i = 0; i <= time; i++) {
                for (const { memory, elements } of trace.runs[i].accesses) {
                    const [x, y, size] = PLACES[trace.memories[memory].name] ?? [], columns = trace.memories[memory].shape[1];
                    if (size !== SMALL) continue;
                    const tile = of => 16 * Math.floor(of / 16);
                    touched.add(`x="${x + tile(elements[0] % columns) * size}" y="${y + tile(Math.floor(elements[0] / columns)) * size}"`);
                }
            }
            return [...touched].map(place => `<rect ${place} width="${16 * SMALL}" height="${16 * SMALL}" class="touched"></rect>`).join("");
        }

        memories(trace, run, race) {
            let markup = "";
            trace.memories.forEach(({ name, shape }, index) => {
                const [x, y, size] = PLACES[name] ?? [];
                if (x === undefined) return;
                const [rows, columns] = shape, style = size === LARGE ? "start" : "";
                markup += `<rect x="${x}" y="${y}" width="${columns * size}" height="${rows * size}" class="cell"></rect>`;
                for (let tile = 16; tile < columns && size === SMALL; tile += 16) markup += `<path d="M${x + tile * size} ${y} v${rows * size}" class="cell pad"></path>`;
                for (let tile = 16; tile < rows && size === SMALL; tile += 16) markup += `<path d="M${x} ${y + tile * size} h${columns * size}" class="cell pad"></path>`;
                markup += size === LARGE ? text(x, y - 9, `shared ${name}`, style) : text(x + columns * size / 2, y + rows * size / 2, name);
                const fill = new Map();
                for (const { writes, memory, elements } of run.accesses) if (memory === index) for (const element of elements) fill.set(element, writes ? "solid" : "reading");
                if (race?.memory === index) fill.set(race.element, "racing");
                for (const [element, color] of fill) markup += `<rect x="${x + element % columns * size}" y="${y + Math.floor(element / columns) * size}" width="${size}" height="${size}" class="${color}"></rect>`;
            });
            return markup;
        }

        warps(trace, time) {
            let markup = text(310, 11, "warps and lanes", "start");
            for (let warp = 0; warp < trace.warps; warp++) {
                const { lanes } = trace.runs[time], now = trace.runs[time].warp === warp, y = 24 + warp * 14;
                markup += `<rect x="310" y="${y}" width="${32 * LANE}" height="10" class="cell"></rect>`;
                for (let lane = 0; now && lane < 32; lane++) if (lanes >>> lane & 1) markup += `<rect x="${310 + lane * LANE}" y="${y}" width="${LANE - 1}" height="10" class="solid"></rect>`;
            }
            return markup;
        }

        // Floats from global memory: now, and in the end with and without tiles.
        loads(loads, time) {
            const rows = [["so far", loads[time], "mine"], ...KERNELS.slice(0, 2).map(([title, name]) => [title, this.prepared[name].loads.at(-1), "read"])];
            const most = Math.max(...rows.map(([, count]) => count));
            return text(310, 216, "floats loaded", "start") + rows.map(([title, count, style], i) => `${text(310, 236 + i * 36, `${title}: ${count}`, "start")}
                <rect x="310" y="${244 + i * 36}" width="${count / most * 128}" height="10" class="cell ${style}"></rect>`).join("");
        }

        // The lines that touch memory, with the warps that are there.
        listing(trace, lines, time) {
            const at = new Array(trace.warps).fill(null);
            for (let i = 0; i <= time; i++) if (lines.includes(trace.runs[i].line)) at[trace.runs[i].warp] = trace.runs[i].line;
            return lines.map((line, i) => {
                const y = LINES + 8 + i * 16, now = trace.runs[time].line === line, code = trace.source[line - 1].trim().replace(/ *\/\/.*/, "");
                const warps = at.map((of, warp) => of === line ? warp : "").join("");
                const shortened = (code.length > 54 ? `${code.slice(0, 53)}…` : code).replace(/&/g, "&amp;").replace(/</g, "&lt;");
                return `${now ? `<rect x="60" y="${y - 8}" width="380" height="16" class="mine"></rect>` : ""}${text(54, y, warps, "end faint")}${text(64, y, shortened, "start")}`;
            }).join("");
        }
    });
}
