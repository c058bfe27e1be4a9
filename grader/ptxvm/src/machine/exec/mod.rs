//! Runs one warp until it ends, waits or has used its time slice.

pub(crate) mod arith;
mod atomics;
mod calls;
pub(crate) mod copies;
mod heap;
mod matrix;
pub(crate) mod mbarrier;
mod meet;
mod memory;
pub(crate) mod objects;
mod printf;
pub(crate) mod quiet;
mod turns;
pub(crate) mod warpops;
pub(crate) mod words;

use crate::finding::{FindingKind, Log};
use crate::isa::ir::{Bar, BarReduce, Guard, Instr, NO_PC, Op, Pc, Slot, System};
use crate::machine::monitor::{Monitor, Step};
use crate::machine::simd::Simd;
use crate::machine::spin::Polled;
use crate::machine::warp::{Split, Status, Warp, lanes};
use crate::memory::LaneMemory;
use crate::memory::flat::Flat;
use crate::memory::global::Memory;
use crate::program::Program;
use copies::Copies;
use objects::Mbarriers;

/// What all blocks of a launch share.
pub(crate) struct Env<'a> {
    pub program: &'a Program,
    pub memory: &'a Memory,
    pub constants: &'a Flat,
    pub params: &'a Flat,
    pub block_size: [u32; 3],
    pub budget: u64,
    /// Of a cooperative launch, what `%envreg1` and `%envreg2` point to; else 0.
    pub workspace: u64,
    pub simd: &'static Simd,
}

/// What the warps of a block share.
pub(crate) struct BlockState<M> {
    pub shared: Flat,
    pub log: Log,
    pub printed: String,
    pub monitor: M,
    pub coordinates: [u32; 3],
    pub lane_instructions: u64,
    pub mbarriers: Mbarriers,
    /// Asynchronous copies of each warp.
    pub copies: Vec<Copies>,
    /// What warps that spin wait for.
    pub polled: Vec<Polled>,
}

impl<M> BlockState<M> {
    /// For blocks of so many warps, none of which has begun.
    pub fn new(warps: u32, monitor: M) -> Self {
        Self {
            shared: Flat::default(),
            log: Log::default(),
            printed: String::new(),
            monitor,
            coordinates: [0; 3],
            lane_instructions: 0,
            mbarriers: Mbarriers::default(),
            copies: vec![Copies::default(); warps as usize],
            polled: Vec::new(),
        }
    }

    /// A block begins with these contents of its shared memory.
    pub fn begin(&mut self, coordinates: [u32; 3], shared: &Flat) {
        self.coordinates = coordinates;
        self.shared.reset_from(shared);
        self.mbarriers.clear();
        self.copies.iter_mut().for_each(Copies::clear);
        self.polled.clear();
    }
}

/// Why a warp stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    Done,
    /// Others may run.
    Slice,
    /// It waits in a loop for somebody else.
    Spins,
    /// Arrived at a barrier: the block decides whether it waits.
    Barrier {
        bar: Pc,
        id: u32,
        threads: Option<u32>,
    },
    /// The budget is spent.
    Endless,
}

/// Instructions of a warp before another one gets its turn: lets one warp wait for what another writes.
pub(crate) const SLICE: u64 = 1 << 14;

/// One warp at work.
pub(crate) struct Machine<'m, 'e, M> {
    pub env: &'m Env<'e>,
    pub state: &'m mut BlockState<M>,
    pub warp: &'m mut Warp,
}

impl<M: Monitor> Machine<'_, '_, M> {
    /// Runs until there is a reason to pause, such as `slice` instructions.
    pub fn run(&mut self, slice: u64) -> Pause {
        let env = self.env;
        let code = env.program.code.as_slice();
        let slice_end = (self.warp.executed + slice).min(env.budget);
        self.begin_turn(slice_end);
        let mut pc = self.warp.now.pc;
        loop {
            let mask = self.warp.now.mask;
            let mut reach = code;
            if M::STEPS {
                if self.waits_for_all(pc) {
                    pc = self.warp.now.pc;
                    continue;
                }
                // Runs of arithmetic end where the code does.
                reach = &code[..=pc as usize];
                self.before(pc, mask);
            }
            let ran = (env.simd.run)(reach, pc as usize, &mut self.warp.registers, mask);
            self.warp.executed += ran.instructions;
            self.state.lane_instructions += ran.lane_instructions;
            // Code ends in `Exit` or `Ret`, so there is always a next instruction.
            pc = ran.next as Pc;
            self.warp.now.pc = pc;
            if M::STEPS && ran.next == reach.len() {
                continue;
            }
            let instr = &code[ran.next];
            if !M::STEPS && self.waits_for_all(pc) {
                pc = self.warp.now.pc;
                continue;
            }
            let active = self.active(instr.guard);
            if instr.counted {
                self.warp.executed += 1;
                // A branch is taken or not by every lane of the split.
                let counted = if matches!(instr.op, Op::Branch { .. }) { mask } else { active };
                self.state.lane_instructions += u64::from(counted.count_ones());
            }
            match &instr.op {
                Op::Join => {
                    if self.warp.now.join == pc {
                        if !self.go_on() {
                            return Pause::Done;
                        }
                        pc = self.warp.now.pc;
                    } else {
                        pc += 1;
                    }
                    continue;
                }
                &Op::Branch { target, join } => {
                    // Only branches can make a program endless, so only here somebody looks at the clock.
                    if self.warp.executed >= env.budget {
                        return Pause::Endless;
                    }
                    self.branch(active, mask, target, join);
                    if self.warp.executed >= self.warp.spin.next_turn
                        && let Some(pause) = self.turn(slice_end)
                    {
                        return pause;
                    }
                    pc = self.warp.now.pc;
                    continue;
                }
                Op::Load(address, elements) => {
                    if active != 0 {
                        if address.strong && self.warp.spin.watch.is_some() {
                            self.watch_access(pc, active, address, elements.size(), true, false);
                        }
                        self.load(pc, active, address, elements);
                    }
                }
                Op::Store(address, elements) => {
                    if active != 0 {
                        if self.warp.spin.watch.is_some() {
                            self.watch_access(pc, active, address, elements.size(), false, true);
                        }
                        self.store(pc, active, address, elements);
                        if address.strong
                            && !self.state.polled.is_empty()
                            && self.changes_polled(active, address)
                        {
                            self.warp.now.pc = pc + 1;
                            return Pause::Slice;
                        }
                    }
                }
                Op::QuietLoad(load) => {
                    if active != 0 {
                        self.quiet_load(pc, active, load);
                    }
                }
                Op::QuietStore(store) => {
                    if active != 0 {
                        if self.warp.spin.watch.is_some() {
                            let (address, size) = (&store.address, store.elements.size());
                            self.watch_access(pc, active, address, size, false, true);
                        }
                        self.quiet_store(pc, active, store);
                    }
                }
                Op::Atom(atom) => {
                    if active != 0 {
                        if self.warp.spin.watch.is_some() {
                            let (address, size) = (&atom.address, atom.ty.bytes());
                            self.watch_access(pc, active, address, size, true, true);
                        }
                        self.atomic(pc, active, atom);
                        if !self.state.polled.is_empty()
                            && self.changes_polled(active, &atom.address)
                        {
                            self.warp.now.pc = pc + 1;
                            return Pause::Slice;
                        }
                    }
                }
                &Op::CopyLocal(to, from, size) => {
                    if self.warp.spin.watch.is_some() {
                        self.watch_local(mask, to, size);
                    }
                    self.copy_local(mask, to, from, size);
                }
                &Op::Call(target) => {
                    self.warp.now.pc = pc + 1;
                    let caller = self.warp.now;
                    self.warp.stack.push(caller);
                    self.warp.now = Split { pc: target, join: NO_PC, mask };
                    pc = target;
                    continue;
                }
                Op::Enter(enter) => {
                    self.watch_loses_track();
                    if !self.enter(pc, mask, enter) {
                        if !self.end_lanes(mask) {
                            return Pause::Done;
                        }
                        pc = self.warp.now.pc;
                        continue;
                    }
                }
                Op::Leave(leave) => self.leave(mask, leave),
                &Op::InvalidCall(pointer) => {
                    self.invalid_call(pc, mask, pointer);
                    if !self.end_lanes(mask) {
                        return Pause::Done;
                    }
                    pc = self.warp.now.pc;
                    continue;
                }
                Op::Ret => {
                    if !self.go_on() {
                        return Pause::Done;
                    }
                    pc = self.warp.now.pc;
                    continue;
                }
                Op::Exit => {
                    if !self.end_lanes(mask) {
                        return Pause::Done;
                    }
                    pc = self.warp.now.pc;
                    continue;
                }
                Op::Trap | Op::GridTrap => {
                    // The headers of cooperative groups trap where they find no workspace.
                    let no_grid = matches!(instr.op, Op::GridTrap) && env.workspace == 0;
                    let trap = FindingKind::Trap { message: None };
                    let kind = if no_grid { FindingKind::GridSync } else { trap };
                    self.record(kind, pc, mask);
                    if !self.end_lanes(mask) {
                        return Pause::Done;
                    }
                    pc = self.warp.now.pc;
                    continue;
                }
                Op::Bar(bar) => {
                    if let Some(pause) = self.barrier(pc, bar) {
                        return pause;
                    }
                }
                &Op::System(System::Printf { format, arguments, result }) => {
                    self.watch_loses_track();
                    self.printf(mask, format, arguments, result);
                }
                &Op::System(System::Malloc { size, result }) => {
                    self.watch_loses_track();
                    self.malloc(mask, size, result);
                }
                &Op::System(System::Free { pointer }) => {
                    self.watch_loses_track();
                    self.free(pc, mask, pointer);
                }
                &Op::System(System::AssertFail { message }) => {
                    self.assert_fail(pc, mask, message);
                    self.warp.now.pc = pc + 1;
                    if !self.end_lanes(mask) {
                        return Pause::Done;
                    }
                    pc = self.warp.now.pc;
                    continue;
                }
                &Op::Members(members) => {
                    if !self.members(pc, active, members) {
                        self.go_on();
                        pc = self.warp.now.pc;
                        continue;
                    }
                }
                Op::Matrix(matrix) => {
                    if active != 0 {
                        self.watch_loses_track();
                        let guests = std::mem::take(&mut self.warp.guests);
                        self.matrix(pc, active | guests, matrix);
                    }
                }
                Op::CopyAsync(copy) => {
                    if active != 0 {
                        self.watch_loses_track();
                        self.copy_async(pc, active, copy);
                    }
                }
                Op::CommitCopies => self.copies().commit(active),
                &Op::WaitCopies(groups) => self.wait_copies(active, groups),
                Op::Mbarrier(mbarrier) => {
                    self.watch_loses_track();
                    if active != 0 && self.mbarrier(pc, active, mbarrier) {
                        self.warp.now.pc = pc + 1;
                        if self.spins(mask) {
                            return Pause::Spins;
                        }
                        pc = self.warp.now.pc;
                        continue;
                    }
                }
                &Op::Fence(fence) => {
                    if active != 0 {
                        self.state.monitor.fence(self.warp.index, active, fence);
                    }
                }
                Op::WarpSync => self.state.monitor.warp_barrier(self.warp.index),
                // A run of arithmetic never stops at arithmetic.
                Op::Alu(_) | Op::Nop => {}
                other => self.warp_operation(active, other),
            }
            pc += 1;
            self.warp.now.pc = pc;
        }
    }

    /// Tells the monitor which instruction comes next.
    fn before(&mut self, pc: Pc, mask: u32) {
        let instr = &self.env.program.code[pc as usize];
        let BlockState { monitor, shared, .. } = &mut *self.state;
        let p = instr.guard.map(|guard| (self.warp.registers.p(guard.predicate), guard.negated));
        monitor.before(&Step {
            pc,
            instr,
            mask: p.map_or(mask, |(p, negated)| mask & if negated { !p } else { p }),
            split: mask,
            warp: self.warp.index,
            registers: &self.warp.registers,
            members: &self.warp.members,
            memory: self.env.memory,
            shared,
            local: &self.warp.local,
        });
    }

    /// Lanes of the running split that an instruction is for.
    fn active(&self, guard: Option<Guard>) -> u32 {
        let mask = self.warp.now.mask;
        match guard {
            None => mask,
            Some(guard) => mask & self.guard_bits(guard),
        }
    }

    fn guard_bits(&self, guard: Guard) -> u32 {
        let p = self.warp.registers.p(guard.predicate);
        if guard.negated { !p } else { p }
    }

    fn branch(&mut self, taken: u32, mask: u32, target: Pc, join: Pc) {
        if taken == mask {
            self.warp.now.pc = target;
        } else if taken == 0 {
            self.warp.now.pc += 1;
        } else {
            self.warp.diverge(taken, target, join);
        }
    }

    /// Notes a finding of the lanes of a mask.
    pub(super) fn record(&mut self, kind: FindingKind, pc: Pc, mask: u32) {
        let thread = self.warp.index * 32 + mask.trailing_zeros();
        self.state.log.record(kind, pc, thread, mask.count_ones());
    }

    /// A barrier of the whole block needs every living lane of the warp. Lanes that come alone are told and go on.
    fn barrier(&mut self, pc: Pc, bar: &Bar) -> Option<Pause> {
        let mask = self.warp.now.mask;
        let come = mask | std::mem::take(&mut self.warp.guests);
        if come != self.warp.live {
            self.end_idle();
        }
        if come != self.warp.live {
            let other = self.warp.elsewhere().and_then(|pc| self.env.program.place(pc)).cloned();
            self.record(FindingKind::BarrierDivergence { other }, pc, mask);
            self.finish_alone(bar, mask);
            return None;
        }
        let lane = mask.trailing_zeros() as usize;
        let id = self.warp.registers.r(bar.id)[lane];
        let threads = bar.threads.map(|threads| self.warp.registers.r(threads)[lane]);
        self.warp.now.pc = pc + 1;
        self.warp.spin.watch = None;
        if bar.waits {
            self.warp.status = Status::Waiting(id);
        }
        Some(Pause::Barrier { bar: pc, id, threads })
    }

    /// Ends lanes that have returned already, as the source says it, but wait at a jump to the kernel's end: which side of a
    /// branch runs first must not decide what a barrier says.
    pub(super) fn end_idle(&mut self) {
        let mut rest = self.warp.live & !self.warp.now.mask;
        let mut ended = 0;
        for split in self.warp.stack.iter().rev() {
            if self.env.program.only_ends(split.pc) {
                ended |= split.mask & rest;
            }
            rest &= !split.mask;
        }
        self.warp.retire(ended);
        for part in std::mem::take(&mut self.warp.others) {
            if part.state.moves()
                && self.env.program.only_ends(part.now.pc)
                && part.stack.is_empty()
            {
                self.warp.live &= !part.now.mask;
            } else {
                self.warp.others.push(part);
            }
        }
    }

    /// The result of a reduction over lanes that nobody else joined.
    fn finish_alone(&mut self, bar: &Bar, mask: u32) {
        if let Some((reduce, guard)) = bar.reduce {
            let bits = self.guard_bits(guard) & mask;
            let all = bits == mask;
            finish_reduction(self.warp, reduce, mask, bits.count_ones(), all);
        }
    }

    fn copy_local(&mut self, mask: u32, to: u32, from: u32, size: u32) {
        let local = &mut self.warp.local;
        for lane in lanes(mask) {
            for byte in 0..u64::from(size) {
                let places = (
                    local.check(lane, u64::from(from) + byte, 1, false),
                    local.check(lane, u64::from(to) + byte, 1, true),
                );
                if let (Ok(from), Ok(to)) = places {
                    let (value, defined) = local.get(lane, from, 1);
                    if defined {
                        local.put(lane, to, 1, value);
                    }
                }
            }
        }
    }

    /// A parameter of a call, as the called function finds it.
    fn argument(&self, lane: usize, place: u32, bytes: u32) -> u64 {
        match self.warp.local.check(lane, place.into(), bytes, false) {
            Ok(place) => self.warp.local.get(lane, place, bytes).0,
            Err(_) => 0,
        }
    }

    fn set_argument(&mut self, lane: usize, place: u32, bytes: u32, value: u64) {
        if let Ok(place) = self.warp.local.check(lane, place.into(), bytes, true) {
            self.warp.local.put(lane, place, bytes, value);
        }
    }

    fn assert_fail(&mut self, pc: Pc, mask: u32, message: u32) {
        let lane = mask.trailing_zeros() as usize;
        let text = self.string(lane, self.argument(lane, message, 8));
        self.record(FindingKind::Trap { message: Some(text) }, pc, mask);
    }

    fn set_lanes(&mut self, slot: Slot, mask: u32, values: &[u64; 32]) {
        for lane in lanes(mask) {
            self.warp.registers.set_lane(slot, lane, values[lane]);
        }
    }
}

/// Writes the result of `bar.red` to the lanes of a warp.
pub(crate) fn finish_reduction(
    warp: &mut Warp,
    reduce: BarReduce,
    mask: u32,
    count: u32,
    all: bool,
) {
    match reduce {
        BarReduce::Popc(d) => {
            for lane in lanes(mask) {
                warp.registers.r_mut(d)[lane] = count;
            }
        }
        BarReduce::And(d) => warp.registers.set_p(d, mask, if all { u32::MAX } else { 0 }),
        BarReduce::Or(d) => warp.registers.set_p(d, mask, if count > 0 { u32::MAX } else { 0 }),
    }
}

/// The instruction at a place of the code.
pub(crate) fn instruction(program: &Program, pc: Pc) -> Option<&Instr> {
    program.code.get(pc as usize)
}
