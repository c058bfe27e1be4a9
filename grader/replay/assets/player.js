// The controls: which time, thread and element are shown.

class Player {
  constructor(data) {
    this.recording = new Recording(data);
    this.time = 0;
    this.thread = 0;
    this.chosen = null;
    this.header(data);
    this.findings(data);
    this.memories = data.memories.map((_, index) => new MemoryView(this, index));
    // What the kernel computes comes first.
    const order = { output: 0, "in place": 0, result: 0, shared: 1, input: 2, workspace: 3 };
    const sorted = [...this.memories].sort((a, b) => order[a.memory.role] - order[b.memory.role]);
    document.getElementById("memories").append(...sorted.map(view => view.element));
    // The source asks where its lines lie, which is best asked when all others have drawn.
    this.views = [new LanesView(this), new VariablesView(this), new AccessView(this), ...this.memories, new WhyView(this), new SourceView(this)];
    const { memory, flat } = data.element;
    if (data.memories[memory]) {
      this.chosen = { memory, element: flat };
      const writes = this.writes();
      if (writes.length) this.thread = this.recording.touched[memory].get(flat).findLast(entry => entry.kind !== 0).thread;
    }
    this.slider = document.getElementById("time");
    this.slider.max = String(Math.max(0, this.recording.steps - 1));
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    for (const button of document.querySelectorAll("[data-do]")) button.addEventListener("click", event => this.act(button.dataset.do, event.shiftKey));
    document.addEventListener("keydown", event => this.key(event));
    addEventListener("resize", () => this.drawMarks());
    this.go(this.recording.runEnds[0] ?? 0);
    this.followLink();
    this.drawMarks();
  }

  // `#step=120&thread=5` leads to a moment.
  followLink() {
    const link = new URLSearchParams(location.hash.slice(1));
    const thread = Number(link.get("thread"));
    if (link.has("thread") && thread < this.recording.threads) this.thread = thread;
    if (link.has("step")) this.go(Number(link.get("step")) - 1);
  }

  header(data) {
    document.getElementById("title").textContent = `${data.title}: ${data.test}`;
    const dims = data.dims.map(([name, value]) => `${name} = ${value}`).join(", ");
    const which = data.launches > 1 ? `launch ${data.launch + 1} of ${data.launches}, ` : "";
    document.getElementById("launch").textContent =
      `${which}${data.kernel}<<<(${data.grid.join(", ")}), (${data.block_size.join(", ")})>>>, block (${data.block.join(", ")}); ${dims}; seed ${data.seed}`;
    if (!data.cut) return;
    const notice = document.getElementById("notice");
    notice.textContent = `The block does more: these are its first ${this.recording.steps} steps.`;
    notice.hidden = false;
  }

  findings(data) {
    const box = document.getElementById("findings");
    this.findingSteps = [];
    for (const { text, ends } of data.findings) {
      const item = make("li", {}, text);
      ends.forEach(({ line, thread }, i) => {
        if (line === null) return;
        const step = thread === null ? null : this.stepAt(line, thread);
        item.append(ends.length > 1 ? ` (${i + 1}) line ${line} ` : ` (line ${line}) `);
        if (step === null) return;
        this.findingSteps.push(step);
        item.append(make("button", { class: "jump", on: () => { this.chooseThread(thread); this.go(step); } }, `step ${step + 1}`));
      });
      box.append(item);
    }
    this.findingSteps.sort((a, b) => a - b);
    document.getElementById("findings-box").hidden = !data.findings.length;
  }

  // The first step of a thread at a line that accesses memory, or the first at all.
  stepAt(line, thread) {
    const { recording } = this;
    const { pc, lanes, code } = recording.data;
    const own = (recording.ofWarp[thread >> 5] ?? []).filter(step => lanes[step] >>> (thread & 31) & 1 && code[pc[step]].line === line);
    return own.find(step => recording.accessesOf.has(step)) ?? own[0] ?? null;
  }

  writes() {
    const { chosen, recording } = this;
    if (!chosen) return [];
    return (recording.touched[chosen.memory].get(chosen.element) ?? []).filter(entry => entry.kind !== 0).map(entry => entry.step);
  }

  // Ends of the lines that the chosen thread executes.
  ofThread() {
    const { recording, thread } = this;
    return recording.runEnds.filter(step => recording.data.warp[step] === thread >> 5 && recording.data.lanes[step] >>> (thread & 31) & 1);
  }

  go(time) {
    this.time = Math.max(0, Math.min(time, this.recording.steps - 1));
    if (this.slider) this.slider.value = String(this.time);
    this.draw();
  }

  draw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      for (const view of this.views) view.update();
    });
  }

  chooseThread(thread) {
    this.thread = thread;
    this.draw();
  }

  chooseElement(memory, element) {
    this.chosen = { memory, element };
    this.drawMarks();
    this.draw();
  }

  // To the next of some times, or the one before.
  along(times, back) {
    const here = this.time;
    const next = back ? times.findLast(time => time < here) : times.find(time => time > here);
    if (next !== undefined) this.go(next);
  }

  act(what, back) {
    if (what !== "play") this.stop();
    const { recording } = this;
    switch (what) {
      case "first": return this.go(0);
      case "last": return this.go(recording.steps - 1);
      case "instruction": return this.go(this.time + 1);
      case "instruction-back": return this.go(this.time - 1);
      case "line": return this.along(recording.runEnds, back);
      case "line-back": return this.along(recording.runEnds, true);
      case "thread": return this.along(this.ofThread(), back);
      case "barrier": return this.along(recording.barriers, back);
      case "divergence": return this.along(recording.divergences, back);
      case "write": return this.along(this.writes(), back);
      case "finding": return this.along(this.findingSteps, back);
      case "play": return this.timer ? this.stop() : this.play();
    }
  }

  play() {
    if (this.time >= this.recording.steps - 1) this.go(0);
    this.timer = setInterval(() => {
      this.along(this.recording.runEnds, false);
      if (this.time >= (this.recording.runEnds.at(-1) ?? 0)) this.stop();
    }, matchMedia("(prefers-reduced-motion: reduce)").matches ? 1000 : 250);
    document.querySelector('[data-do="play"]').textContent = "❚❚ pause";
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    document.querySelector('[data-do="play"]').textContent = "▶ play";
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.tagName === "SELECT") return;
    const onSlider = event.target === this.slider;
    const shift = event.shiftKey;
    const keys = {
      ArrowRight: shift ? "instruction" : "line", ArrowLeft: shift ? "instruction-back" : "line-back", Home: "first", End: "last",
      t: "thread", b: "barrier", d: "divergence", w: "write", f: "finding", " ": "play",
    };
    const what = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!what || what === "play" && event.target.tagName === "BUTTON") return;
    if (event.target.type === "checkbox" && event.key === " ") return;
    // In a grid the arrow keys scroll.
    if (event.target.closest?.(".grid") && event.key.startsWith("Arrow")) return;
    if (onSlider || event.key.length > 1 || what) event.preventDefault();
    this.act(what, shift && event.key.length === 1);
  }


  drawMarks() {
    const canvas = document.getElementById("marks");
    const scale = devicePixelRatio || 1;
    canvas.width = canvas.clientWidth * scale;
    canvas.height = 10 * scale;
    const context = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    const steps = Math.max(1, this.recording.steps - 1);
    const mark = (times, colour, top, height) => {
      context.fillStyle = style.getPropertyValue(colour);
      for (const time of times) context.fillRect(time / steps * (canvas.width - 2 * scale), top * scale, 2 * scale, height * scale);
    };
    mark(this.recording.barriers, "--waiting", 0, 4);
    mark(this.writes(), "--accent", 5, 5);
    mark(this.findingSteps, "--wrong", 0, 10);
  }
}

const player = new Player(JSON.parse(document.getElementById("document").textContent));
