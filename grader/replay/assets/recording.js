"use strict";
// The recording: what each warp did, and what variables and memory held at any time. Time is the index of a step, an
// instruction of a warp; the state at a time is that after the step.

class Recording {
  constructor(data) {
    this.data = data;
    this.steps = data.pc.length;
    this.warps = Math.ceil(data.block_size.reduce((a, b) => a * b, 1) / 32);
    this.threads = data.block_size.reduce((a, b) => a * b, 1);
    this.indexSteps();
    this.indexAccesses();
    this.indexRegisters();
  }

  // The steps of each warp; runs of steps of a warp on one line; when each lane takes its last step.
  indexSteps() {
    const { pc, warp, lanes, code } = this.data;
    this.ofWarp = Array.from({ length: this.warps }, () => []);
    this.last = new Int32Array(this.warps * 32).fill(-1);
    this.runStart = new Int32Array(this.steps);
    this.runEnds = [];
    this.barriers = [];
    this.divergences = [];
    for (let t = 0; t < this.steps; t++) {
      const own = this.ofWarp[warp[t]];
      const before = own.length ? own[own.length - 1] : -1;
      const line = code[pc[t]].line;
      const sameRun = before >= 0 && code[pc[before]].line === line && lanes[before] === lanes[t];
      this.runStart[t] = sameRun ? this.runStart[before] : t;
      if (!sameRun && before >= 0 && code[pc[before]].line !== null) this.runEnds.push(before);
      if (before >= 0 && bits(lanes[t]) < bits(lanes[before]) && (lanes[t] & lanes[before]) === lanes[t]) this.divergences.push(t);
      if (code[pc[t]].barrier) this.barriers.push(t);
      own.push(t);
      // A lane that returns early goes to the end of the function, and comes to it when its warp has time: it has left already.
      if (/^(ret|exit|bra\.uni)\b/.test(code[pc[t]].text)) continue;
      for (let lane = 0; lane < 32; lane++) if (lanes[t] >>> lane & 1) this.last[warp[t] * 32 + lane] = t;
    }
    for (const own of this.ofWarp) if (own.length) this.runEnds.push(own[own.length - 1]);
    this.runEnds.sort((a, b) => a - b);
  }

  // For each step its accesses; for each element its reads and writes, in order of time.
  indexAccesses() {
    const { accesses, memories } = this.data;
    this.accessesOf = new Map();
    this.touched = memories.map(() => new Map());
    this.local = new Map();
    for (let i = 0; i < accesses.step.length; i++) {
      const step = accesses.step[i];
      if (!this.accessesOf.has(step)) this.accessesOf.set(step, []);
      this.accessesOf.get(step).push(i);
      const end = i + 1 < accesses.first.length ? accesses.first[i + 1] : accesses.lane.length;
      for (let k = accesses.first[i]; k < end; k++) {
        const thread = this.data.warp[step] * 32 + accesses.lane[k];
        const entry = { step, thread, value: accesses.value[k], kind: accesses.kind[i] };
        const memory = accesses.memory[k];
        if (memory >= 0) push(this.touched[memory], accesses.element[k], entry);
        else if (memory === -1) push(this.local, thread * 2 ** 20 + accesses.element[k], entry);
      }
    }
  }

  // For each register and thread the values that it took, in order of time.
  indexRegisters() {
    const { writes, warp } = this.data;
    this.registers = new Map();
    for (let i = 0; i < writes.step.length; i++) {
      const step = writes.step[i], values = writes.values[i];
      let next = 0;
      for (let lane = 0; lane < 32; lane++) {
        if (!(writes.lanes[i] >>> lane & 1)) continue;
        const value = values.length === 1 ? values[0] : values[next++];
        push(this.registers, writes.register[i] * 4096 + warp[step] * 32 + lane, { step, value });
      }
    }
  }

  // Lanes and elements of an access.
  *lanesOf(access) {
    const { first, lane, memory, element, value } = this.data.accesses;
    const end = access + 1 < first.length ? first[access + 1] : lane.length;
    for (let k = first[access]; k < end; k++) yield { lane: lane[k], memory: memory[k], element: element[k], value: value[k] };
  }

  // The accesses of the line that a warp executes at a time: of its steps from the line's first one to now.
  accessesOfLine(time) {
    const own = this.ofWarp[this.data.warp[time]];
    const found = [];
    for (let k = atMost(own, time); k >= 0 && own[k] >= this.runStart[time]; k--) found.unshift(...this.accessesOf.get(own[k]) ?? []);
    return found;
  }

  // The last step of a warp up to a time, -1 if it has not begun.
  current(warp, time) {
    const own = this.ofWarp[warp], k = atMost(own, time);
    return k < 0 ? -1 : own[k];
  }

  // `active`, `waiting`, `left`, or `none` where the block has no such thread.
  laneState(warp, lane, time) {
    const thread = warp * 32 + lane;
    if (thread >= this.threads) return "none";
    const step = this.current(warp, time);
    if (step < 0) return "waiting";
    if (this.last[thread] < time && !this.data.cut) return "left";
    const atBarrier = this.data.code[this.data.pc[step]].barrier && this.data.warp[time] !== warp;
    return this.data.lanes[step] >>> lane & 1 && !atBarrier ? "active" : "waiting";
  }

  // The value of an element; null where nothing has been written, undefined where that is not known.
  valueAt(memory, element, time) {
    const all = this.touched[memory].get(element);
    if (all) {
      for (let k = atMost(all, time, entry => entry.step); k >= 0; k--) {
        if (all[k].kind !== 0) return all[k].value;
      }
      // A read before the first write knows what the launch found.
      if (!this.data.memories[memory].before) return all.find(entry => entry.kind === 0)?.value;
    }
    const before = this.data.memories[memory].before;
    return before ? before[element] : undefined;
  }

  // Where a thread goes on: its next instruction, or its last one.
  pcOf(thread, time) {
    const own = this.ofWarp[thread >> 5];
    for (let k = atMost(own, time) + 1; k < own.length; k++) {
      if (this.data.lanes[own[k]] >>> (thread & 31) & 1) return this.data.pc[own[k]];
    }
    for (let k = atMost(own, time); k >= 0; k--) {
      if (this.data.lanes[own[k]] >>> (thread & 31) & 1) return this.data.pc[own[k]];
    }
    return -1;
  }

  // The variables in scope of a thread, each with its values and whether the last line of its warp has changed it.
  variables(thread, time) {
    const pc = this.pcOf(thread, time);
    const step = this.current(thread >> 5, time);
    const since = step < 0 ? 0 : this.runStart[step];
    const shown = [];
    for (const variable of this.data.variables) {
      if (pc < variable.from || pc > variable.to) continue;
      if (variable.fixed !== null) {
        shown.push({ variable, values: [variable.fixed], fixed: true, changed: false });
        continue;
      }
      const place = variable.places.find(place => place.from <= pc && pc < place.to) ?? variable.places.find(place => pc === place.to);
      if (!place) {
        shown.push({ variable, values: null, changed: false });
        continue;
      }
      const count = variable.shape.reduce((a, b) => a * b, 1);
      const values = [];
      let changed = false;
      for (let i = 0; i < Math.min(count, 64); i++) {
        const all = place.register === null
          ? this.local.get(thread * 2 ** 20 + place.local + i * variable.size)
          : this.registers.get(place.register * 4096 + thread);
        const k = all ? atMost(all, time, entry => entry.step) : -1;
        values.push(k < 0 ? null : all[k].value);
        changed ||= k >= 0 && all[k].step >= since;
      }
      shown.push({ variable, values, changed });
    }
    return shown;
  }
}

const bits = mask => { let n = 0; for (mask >>>= 0; mask; mask &= mask - 1) n++; return n; };

function push(map, key, entry) {
  const all = map.get(key);
  if (all) all.push(entry); else map.set(key, [entry]);
}

// Index of the last entry of a sorted list that is not above a value, -1 if there is none.
function atMost(list, value, of = entry => entry) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = low + high >> 1;
    if (of(list[middle]) <= value) low = middle + 1; else high = middle;
  }
  return low - 1;
}
