// What the page shows of the recording at a time. Each view is given the player, which knows the time, the thread and the
// element that are chosen.

// The source, with the warps at each line, and the PTX.
class SourceView {
  constructor(player) {
    this.player = player;
    const { source, code, file } = player.recording.data;
    document.getElementById("file").textContent = file;
    this.lines = source.map((text, i) => {
      const warps = make("span", { class: "warps" });
      const item = make("li", {}, warps, make("span", { class: "number" }, String(i + 1)), make("span", {}, text || " "));
      return { item, warps };
    });
    document.getElementById("source").append(...this.lines.map(line => line.item));
    this.instructions = code.map(({ text }) => make("li", {}, text));
    const ptx = document.getElementById("ptx");
    document.getElementById("show-ptx").addEventListener("change", event => {
      if (event.target.checked && !ptx.childElementCount) ptx.append(...this.instructions);
      ptx.hidden = !event.target.checked;
      this.update();
    });
  }

  update() {
    const { recording, time } = this.player;
    const { pc, warp, lanes, code } = recording.data;
    const at = new Map();
    for (let w = 0; w < recording.warps; w++) {
      const step = recording.current(w, time);
      const line = step < 0 ? null : code[pc[step]].line;
      const over = step >= 0 && recording.ofWarp[w].at(-1) === step && step < time;
      if (line !== null && !over) (at.get(line) ?? at.set(line, []).get(line)).push(`w${w}:${bits(lanes[step])}`);
    }
    const now = code[pc[time]].line;
    this.lines.forEach(({ item, warps }, i) => {
      const here = at.get(i + 1);
      const text = here ? here.length > 2 ? `${here.length} warps` : here.join(" ") : "";
      if (warps.textContent !== text) warps.textContent = text;
      item.className = (now === i + 1 ? "now " : "") + (here ? "here" : "");
    });
    if (now !== null) keepInView(document.getElementById("source"), this.lines[now - 1].item);
    if (!document.getElementById("ptx").hidden) {
      this.instructions[this.marked]?.classList.remove("now");
      this.marked = pc[time];
      this.instructions[this.marked].classList.add("now");
      keepInView(document.getElementById("ptx"), this.instructions[this.marked]);
    }
    document.getElementById("now").textContent = this.sentence(warp[time], now);
  }

  sentence(warp, line) {
    const { recording, time } = this.player;
    const count = bits(recording.data.lanes[time]);
    const where = line === null ? "code of a header" : `line ${line}`;
    return `Step ${time + 1} of ${recording.steps}: warp ${warp}, ${where}, ${count} lane${count === 1 ? "" : "s"}`;
  }
}

// One row of cells for each warp.
class LanesView {
  constructor(player) {
    this.player = player;
    const { recording } = player;
    this.rows = Array.from({ length: recording.warps }, (_, w) => {
      const cells = Array.from({ length: 32 }, (_, lane) => {
        const thread = w * 32 + lane;
        if (thread >= recording.threads) return make("span", { class: "lane none" });
        const name = `thread ${threadName(recording.data, thread)}, lane ${lane} of warp ${w}`;
        return make("button", { class: "lane", title: name, "aria-label": name, tabindex: lane ? "-1" : "0", on: () => player.chooseThread(thread) });
      });
      const row = make("div", { class: "warp" }, make("span", { class: "name" }, `warp ${w}`), ...cells);
      return { row, cells };
    });
    document.getElementById("lanes").append(...this.rows.map(({ row }) => row));
  }

  update() {
    const { recording, time, thread } = this.player;
    this.rows.forEach(({ row, cells }, w) => {
      row.className = recording.data.warp[time] === w ? "warp now" : "warp";
      cells.forEach((cell, lane) => {
        const name = `lane ${recording.laneState(w, lane, time)}${thread === w * 32 + lane ? " chosen" : ""}`;
        if (cell.className !== name) cell.className = name;
      });
    });
  }
}

// The chosen thread's variables.
class VariablesView {
  constructor(player) {
    this.player = player;
  }

  update() {
    const { recording, time, thread } = this.player;
    const { data } = recording;
    document.getElementById("thread").textContent = `Variables of thread ${threadName(data, thread)}, block (${data.block.join(", ")})`;
    const names = address => this.pointee(address);
    const rows = recording.variables(thread, time).map(({ variable, values, fixed, changed }) => {
      const { name, kind, size, shape } = variable;
      let text = "optimised away, or not set yet";
      if (fixed) text = shown(values[0]);
      else if (values) {
        text = values.map(value => decoded(value, kind, size, names)).join(", ");
        if (shape.length) text = `{ ${text}${shape.reduce((a, b) => a * b, 1) > values.length ? ", …" : ""} }`;
      }
      const type = kind === "other" ? "structure" : kind + shape.map(n => `[${n}]`).join("");
      return make("tr", { class: changed ? "changed" : "" }, make("td", { class: "name" }, name), make("td", { class: "value" }, text), make("td", { class: "kind" }, type));
    });
    document.getElementById("variables").replaceChildren(...rows.length ? rows : [make("tr", {}, make("td", {}, "no variable is in scope here"))]);
  }

  // The element that an address points to.
  pointee(address) {
    for (const memory of this.player.recording.data.memories) {
      if (memory.role === "shared") continue;
      const offset = address - BigInt(memory.address), size = BigInt(bytesOf(memory.dtype));
      const length = memory.shape.reduce((a, b) => a * b, 1);
      if (offset >= 0n && offset <= BigInt(length) * size) return `→ ${memory.name}[${offset / size}]`;
    }
    return null;
  }
}

// What the line's accesses cost: sectors of global memory, passes of shared memory.
class AccessView {
  constructor(player) {
    this.player = player;
  }

  update() {
    const { recording, time } = this.player;
    const parts = recording.accessesOfLine(time).map(access => this.one(access));
    document.getElementById("access").replaceChildren(...parts.length ? parts : [make("p", {}, "none")]);
  }

  one(access) {
    const { recording } = this.player;
    const { memories, accesses } = recording.data;
    const lanes = [...recording.lanesOf(access)];
    const kind = ["reads", "writes", "updates atomically"][accesses.kind[access]];
    const memory = lanes[0].memory;
    const count = new Set(lanes.map(lane => lane.lane)).size;
    const who = `${count} lane${count === 1 ? " " + kind : "s " + kind.replace(/s( |$)/, "$1")}`;
    if (memory === -1) return make("p", {}, `${who} the thread's own memory`);
    if (memory < 0) return make("p", {}, `${who} memory that belongs to no tensor`);
    const of = memories[memory];
    const width = bytesOf(of.dtype);
    const start = Number(BigInt(of.address) & 0xfffffffn);
    const own = lanes.filter(lane => lane.memory === memory);
    const what = count === 1 ? `${elementName(of, own[0].element)} = ${shown(own[0].value)}` : of.name;
    if (of.role === "shared") {
      const words = new Map();
      for (const { element } of own) {
        const word = start + element * width >> 2;
        (words.get(word % 32) ?? words.set(word % 32, new Set()).get(word % 32)).add(word);
      }
      const passes = Math.max(...[...words.values()].map(set => set.size));
      return make("p", {}, `${who} ${what}: ${passes} pass${passes === 1 ? "" : "es, a bank conflict"}`);
    }
    const sectors = new Map();
    for (const { element } of own) {
      const byte = start + element * width, sector = Math.floor(byte / 32);
      (sectors.get(sector) ?? sectors.set(sector, new Set()).get(sector)).add(Math.floor(byte % 32 / 4));
    }
    const boxes = [...sectors.entries()].sort((a, b) => a[0] - b[0]).slice(0, 40).map(([, used]) =>
      make("span", { class: "sector" }, ...Array.from({ length: 8 }, (_, k) => make("i", { class: used.has(k) ? accesses.kind[access] ? "used" : "read" : "" }))));
    const plural = sectors.size === 1 ? "" : "s";
    return make("div", {}, make("p", {}, `${who} ${what}: ${sectors.size} sector${plural} of 32 bytes`), make("div", { class: "sectors", "aria-hidden": "true" }, ...boxes));
  }
}

// A tensor or a shared array as a grid, slice by slice.
class MemoryView {
  constructor(player, index) {
    this.player = player;
    this.index = index;
    this.memory = player.recording.data.memories[index];
    this.size = this.memory.shape.reduce((a, b) => a * b, 1);
    const shape = this.memory.shape;
    this.columns = shape.length ? shape.at(-1) : 1;
    this.rows = shape.length > 1 ? shape.at(-2) : 1;
    this.banks = false;
    // Beside what is wrong stands what the formula gives.
    this.beside = !!this.memory.expected && this.memory.wrong.length > 0;
    this.slice = 0;
    this.cells = new Map();
    this.marked = [];
    this.element = make("div", { class: "memory" });
    const { name, role, dtype } = this.memory;
    this.grid = make("div", { class: "grid", tabindex: "0", role: "group", "aria-label": `values of ${name}` });
    const what = `${role}, ${dtype}[${shape.join(", ")}]`;
    this.element.append(make("h3", {}, name, " ", make("small", {}, what)), this.axes(), this.grid);
    this.grid.style.setProperty("--letters", this.letters());
    this.build();
  }

  // The letters that a value may have: fractions take any number of digits while a kernel computes them.
  letters() {
    const { before, after, expected } = this.memory;
    const known = [before, after, expected].flatMap(values => values ?? []).filter(value => value !== null);
    const isFraction = value => typeof value === "number" && !Number.isInteger(value);
    return known.some(isFraction) || !known.length ? 11 : Math.max(5, ...known.map(value => shown(value).length + 1).slice(0, 50000));
  }

  // A chooser for the axes before the last two, and the view by banks.
  axes() {
    const box = make("div", { class: "axes" });
    const outer = this.memory.shape.slice(0, -2);
    const slices = outer.reduce((a, b) => a * b, 1);
    if (slices > 1) {
      this.chooser = make("select", {});
      for (let slice = 0; slice < Math.min(slices, 2000); slice++) {
        this.chooser.append(make("option", { value: String(slice) }, `[${coordinates(outer, slice).join(", ")}, …]`));
      }
      this.chooser.addEventListener("change", () => this.show(Number(this.chooser.value)));
      box.append(make("label", {}, "slice ", this.chooser));
    }
    if (this.memory.role === "shared") {
      const toggle = make("input", { type: "checkbox" });
      toggle.addEventListener("change", () => { this.banks = toggle.checked; this.build(); this.update(); });
      box.append(make("label", {}, toggle, " by banks"));
    }
    if (this.memory.expected) {
      const toggle = make("input", { type: "checkbox" });
      toggle.checked = this.beside;
      toggle.addEventListener("change", () => { this.beside = toggle.checked; this.build(); this.update(); });
      box.append(make("label", {}, toggle, " the formula's value below each"));
    }
    return box;
  }

  show(slice) {
    this.slice = slice;
    if (this.chooser) this.chooser.value = String(slice);
    this.build();
    this.update();
  }

  build() {
    this.cells.clear();
    this.shown = new Map();
    this.grid.classList.toggle("beside", this.beside);
    const perBank = 4 / bytesOf(this.memory.dtype);
    const columns = this.banks ? Math.max(1, Math.round(32 * perBank)) : Math.min(this.columns, 128);
    const total = this.banks ? this.size : this.rows * this.columns;
    const rows = Math.min(Math.ceil(total / (this.banks ? columns : this.columns)), 128);
    const base = this.banks ? 0 : this.slice * this.rows * this.columns;
    const head = make("tr", {}, make("th", {}, this.banks ? "bank" : ""));
    for (let column = 0; column < columns; column++) head.append(make("th", {}, String(this.banks ? Math.floor(column / perBank) % 32 : column)));
    const table = make("table", this.banks ? { class: "banks" } : {}, head);
    for (let row = 0; row < rows; row++) {
      const line = make("tr", {}, make("th", {}, this.banks ? String(row * columns) : String(row)));
      for (let column = 0; column < columns; column++) {
        const element = base + row * (this.banks ? columns : this.columns) + column;
        if (element >= this.size) break;
        const name = elementName(this.memory, element);
        const cell = make("button", { title: name, tabindex: "-1", on: () => this.player.chooseElement(this.index, element) });
        cell.append(document.createTextNode(""));
        if (this.beside) cell.append(make("i", {}, shown(this.memory.expected[element])));
        this.cells.set(element, cell);
        line.append(make("td", {}, cell));
      }
      table.append(line);
    }
    const all = this.banks ? rows * columns >= this.size : rows >= this.rows && columns >= this.columns;
    this.grid.replaceChildren(table, ...all ? [] : [make("p", {}, "only the first 128 rows and columns are shown")]);
  }

  update() {
    const { recording, time, chosen } = this.player;
    const now = new Map();
    for (const access of recording.accessesOfLine(time)) {
      const kind = recording.data.accesses.kind[access] ? "written" : "read";
      for (const { memory, element } of recording.lanesOf(access)) if (memory === this.index && now.get(element) !== "written") now.set(element, kind);
    }
    const first = now.keys().next();
    if (!first.done && !this.banks && !this.cells.has(first.value) && first.value >= 0 && first.value < this.size && this.memory.shape.length > 2) {
      const slice = Math.floor(first.value / (this.rows * this.columns));
      if (slice !== this.slice) { this.slice = slice; if (this.chooser) this.chooser.value = String(slice); this.build(); }
    }
    const wrong = this.wrong ??= new Set(this.memory.wrong);
    for (const [element, cell] of this.cells) {
      const value = recording.valueAt(this.index, element, time);
      const text = value === undefined ? "?" : value === null ? "·" : shown(value);
      const name = [now.get(element), value === null ? "unwritten" : "", wrong.has(element) ? "wrong" : "",
        chosen && chosen.memory === this.index && chosen.element === element ? "chosen" : ""].filter(Boolean).join(" ");
      const before = this.shown.get(element);
      if (before && before.text === text && before.name === name) continue;
      this.shown.set(element, { text, name });
      cell.firstChild.data = text;
      cell.className = name;
    }
    if (this.banks) this.markConflicts(now);
  }

  markConflicts(now) {
    const width = bytesOf(this.memory.dtype), start = Number(this.memory.address);
    const words = new Map();
    for (const element of now.keys()) {
      const word = start + element * width >> 2;
      (words.get(word % 32) ?? words.set(word % 32, new Set()).get(word % 32)).add(word);
    }
    for (const [element, cell] of this.cells) {
      const word = start + element * width >> 2;
      cell.parentElement.className = now.has(element) && words.get(word % 32)?.size > 1 ? "conflict" : "";
    }
  }
}

// How the chosen element got its value: its reads and writes in order of time, and the terms of the formula.
class WhyView {
  constructor(player) {
    this.player = player;
  }

  update() {
    const { recording, time, chosen } = this.player;
    const { memories, element } = recording.data;
    const title = document.getElementById("element"), box = document.getElementById("why");
    if (!chosen) {
      this.key = null;
      title.textContent = "Choose an element above to see how it got its value";
      box.replaceChildren();
      return;
    }
    const memory = memories[chosen.memory];
    const value = recording.valueAt(chosen.memory, chosen.element, time);
    title.textContent = `${elementName(memory, chosen.element)} is ${value === undefined ? "not recorded" : value === null ? "not written yet" : shown(value)}`;
    const key = `${chosen.memory}:${chosen.element}`;
    if (this.key !== key) this.build(chosen);
    this.key = key;
    // Rows are made once for an element. With the time only their tone changes.
    for (const { row, step } of this.rows) row.classList.toggle("future", step !== null && step > time);
  }

  build(chosen) {
    const { memories, element } = this.player.recording.data;
    const memory = memories[chosen.memory];
    this.rows = [];
    const parts = [];
    const explained = element.memory === chosen.memory && element.flat === chosen.element;
    if (memory.expected) {
      const after = memory.after?.[chosen.element];
      const got = after === null || after === undefined ? "never written" : shown(after);
      parts.push(make("p", {}, `The formula gives ${shown(memory.expected[chosen.element])}; after the launch it is ${got}.`));
    }
    const columns = make("div", { class: "columns" }, this.history(chosen));
    if (explained && element.terms.length) columns.append(this.terms(element, chosen));
    parts.push(columns);
    document.getElementById("why").replaceChildren(...parts);
  }

  // A row of a table that belongs to a step.
  row(step, kind, ...cells) {
    const row = make("tr", { class: kind }, ...cells);
    this.rows.push({ row, step });
    return row;
  }

  jump(step, text) {
    return make("button", { class: "jump", on: () => this.player.go(step) }, text);
  }

  history({ memory, element }) {
    const { recording } = this.player;
    const all = recording.touched[memory].get(element) ?? [];
    const { code, pc } = recording.data;
    const rows = all.slice(0, 400).map(({ step, thread, value, kind }) => this.row(step, "",
      make("td", {}, this.jump(step, `step ${step + 1}`)),
      make("td", {}, `${["read", "written", "updated"][kind]} by thread ${threadName(recording.data, thread)}`),
      make("td", {}, `line ${code[pc[step]].line ?? "?"}`),
      make("td", {}, kind ? `now ${shown(value)}` : shown(value))));
    const more = all.length > 400 ? ` (the first 400 of ${all.length})` : "";
    const head = make("p", {}, rows.length ? `In this block, in order of time${more}:` : "This block does not touch it.");
    return make("div", {}, head, make("table", { class: "terms" }, ...rows));
  }

  // The products of the formula and of the kernel, each with the step that loaded its elements in the writer's thread.
  terms(element, chosen) {
    const { recording } = this.player;
    const writes = (recording.touched[chosen.memory].get(chosen.element) ?? []).filter(entry => entry.kind !== 0);
    const writer = writes.at(-1)?.thread;
    const loaded = factor => (recording.touched[factor[0]].get(factor[1]) ?? []).filter(entry => entry.kind === 0);
    const dated = element.terms.map(term => {
      const steps = term.factors.flatMap(factor => {
        const all = loaded(factor);
        return (all.find(entry => entry.thread === writer) ?? all[0])?.step ?? [];
      });
      return { term, step: steps.length ? Math.max(...steps) : null };
    });
    const order = ({ term, step }) => term.kind === "correct" ? 1e9 + (step ?? 1e9) : step ?? -1;
    dated.sort((a, b) => order(a) - order(b));
    const rows = dated.slice(0, 400).map(({ term, step }) => this.row(step, term.kind,
      make("td", {}, term.kind), make("td", {}, term.text), make("td", {}, term.value === null ? "" : `= ${shown(term.value)}`),
      make("td", {}, step === null ? "" : this.jump(step, `step ${step + 1}`)), make("td", {}, term.line ? `line ${term.line}` : "")));
    const wrong = element.terms.filter(term => term.kind !== "correct").length;
    const head = wrong ? `${wrong} of ${element.terms.length} terms differ from the formula's:` : `All ${element.terms.length} terms are those of the formula:`;
    return make("div", {}, make("p", {}, head), make("table", { class: "terms" }, ...rows));
  }
}

function keepInView(box, item) {
  const top = item.offsetTop - box.offsetTop, bottom = top + item.offsetHeight;
  if (top < box.scrollTop + 20) box.scrollTop = top - 60;
  else if (bottom > box.scrollTop + box.clientHeight - 20) box.scrollTop = bottom - box.clientHeight + 60;
}
