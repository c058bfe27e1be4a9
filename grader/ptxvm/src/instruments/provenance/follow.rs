//! Follows values through the instructions of a block.

use super::arena::raw;
use crate::finding::{AccessKind, Log};
use crate::instruments::provenance::Provenance;
use crate::instruments::provenance::arena::{LocationId, Node, NodeId};
use crate::instruments::provenance::cells::{LoadedValue, WriteOrigin};
use crate::instruments::provenance::number::Number;
use crate::instruments::provenance::registers::Expressions;
use crate::instruments::provenance::rules::{Rule, rule};
use crate::instruments::provenance::tracker::local_address;
use crate::isa::atom_op::AtomOp;
use crate::isa::ir::{Alu, Atom, Op, System};
use crate::isa::mbarrier::{Arrival, Operation};
use crate::isa::names::{Base, Elements, Pred, Reg32, Slot};
use crate::isa::operands::operands;
use crate::isa::ops::shuffle::source_lane;
use crate::isa::types::Type;
use crate::isa::window::Window;
use crate::lanes::lanes;
use crate::machine::monitor::{Event, Monitor, Step};
use crate::machine::registers::Registers;
use crate::memory::Memory;
use crate::memory::buffer::BufferId;
use crate::memory::lane_memory::LaneMemory;

impl Monitor for &mut Provenance {
    const STEPS: bool = true;

    fn block_start(&mut self, _shared_bytes: u32, _warps: u32) {
        self.shared.clear();
        self.local.clear();
        self.warps.iter_mut().for_each(Expressions::clear);
    }

    fn before(&mut self, step: &Step) {
        self.steps += 1;
        if step.mask == 0 {
            return;
        }
        match &step.instr.op {
            Op::Alu(alu) => self.arithmetic(step, alu),
            &Op::Shfl { mode, dst: Some(dst), a, b, c, .. } => {
                let warp = &mut self.warps[step.warp as usize];
                if warp.live(Slot::Reg32(a)) | warp.live(Slot::Reg32(dst)) == 0 {
                    return;
                }
                let (b, c) = (step.registers.r(b), step.registers.r(c));
                let mut nodes = [NodeId::NONE; 32];
                for lane in lanes(step.mask) {
                    let (source, _) = source_lane(mode, lane as u32, b[lane], c[lane]);
                    if step.members[lane] >> source & 1 == 1 {
                        nodes[lane] = warp.get(Slot::Reg32(a), source as usize);
                    }
                }
                warp.set_lanes(Slot::Reg32(dst), step.mask, &nodes);
            }
            Op::Atom(atom) => self.before_atomic(step, atom),
            &Op::CopyLocal(to, from, size) => {
                for lane in lanes(step.mask) {
                    self.copy_local(step, lane, to, from, size);
                }
            }
            Op::Ballot(d, _) | Op::ActiveMask(d) | Op::Clock32(d) => {
                self.warps[step.warp as usize].forget(Slot::Reg32(*d), step.mask);
            }
            Op::Clock64(d) => self.warps[step.warp as usize].forget(Slot::Reg64(*d), step.mask),
            &Op::MatchAny(d, a) | &Op::MatchAll(d, _, a) => self.compared(step, d, a),
            &Op::Redux(_, d, a) => self.compared(step, d, Slot::Reg32(a)),
            // A state is no expression; what copies bring is not followed.
            Op::Mbarrier(mbarrier) => match mbarrier.operation {
                Operation::Arrive(Arrival { token, .. }) => {
                    self.warps[step.warp as usize].forget(token, step.mask);
                }
                Operation::Copy(_) | Operation::Send(_) | Operation::CopiesArrive { .. } => {
                    self.lost = true;
                }
                _ => {}
            },
            Op::BulkStore(_) => self.lost = true,
            Op::Matrix(matrix) => self.matrix(step, matrix),
            Op::Load(address, _) | Op::Store(address, _) => self.addressed(step, address.base),
            Op::PoisonPropagatingLoad(quiet) | Op::PoisonPropagatingStore(quiet) => {
                self.addressed(step, quiet.address.base);
            }
            // An instruction without a rule must never pass for one that was followed.
            other => self.lost |= !moves_nothing(other),
        }
    }

    fn access(&mut self, event: &Event, _log: &mut Log) {
        match &event.program.code[event.pc as usize].op {
            Op::Load(_, elements) => self.loaded(event, elements),
            Op::PoisonPropagatingLoad(quiet) => self.loaded(event, &quiet.elements),
            Op::Store(_, elements) => self.stored(event, elements),
            Op::PoisonPropagatingStore(quiet) => self.stored(event, &quiet.elements),
            Op::Atom(atom) => self.updated(event, atom),
            Op::Matrix(_) => self.matrix_stored(event),
            Op::Mbarrier(_) => {}
            _ => self.lost = true,
        }
    }
}

/// What a read needs besides an address.
pub(super) struct Source<'a> {
    pub place: LocationId,
    pub window: Window,
    pub memory: &'a Memory,
}

/// Operations that leave nothing in a register or in memory that could be an expression.
fn moves_nothing(op: &Op) -> bool {
    matches!(
        op,
        Op::Branch { .. }
            | Op::Join
            | Op::PoisonCheckingChoice(_)
            | Op::Call(_)
            | Op::Ret
            | Op::Exit
            | Op::Trap
            | Op::GridTrap
            | Op::InvalidCall(_)
            | Op::Bar(_)
            | Op::Shfl { dst: None, .. }
            | Op::VoteP(..)
            | Op::Members(_)
            | Op::System(System::Printf { .. } | System::AssertFail { .. })
            | Op::WarpSync
            | Op::Fence(_)
            | Op::Nop
    )
}

impl Provenance {
    pub(super) fn place(&self, pc: u32) -> LocationId {
        self.place_of.get(pc as usize).copied().unwrap_or(0)
    }

    /// The result is an integer that depends on values.
    fn compared(&mut self, step: &Step, dst: Reg32, source: Slot) {
        let warp = &mut self.warps[step.warp as usize];
        self.depends |= warp.live(source) & step.mask != 0;
        warp.forget(Slot::Reg32(dst), step.mask);
    }

    /// Where an access goes depends on values.
    pub(super) fn addressed(&mut self, step: &Step, base: Base) {
        let slot = match base {
            Base::Reg32(register) => Slot::Reg32(register),
            Base::Reg64(register) => Slot::Reg64(register),
        };
        self.depends |= self.warps[step.warp as usize].live(slot) & step.mask != 0;
    }

    fn arithmetic(&mut self, step: &Step, alu: &Alu) {
        match *alu {
            Alu::SelectR(d, a, b, p) => {
                return self.select(step, Slot::Reg32(d), Slot::Reg32(a), Slot::Reg32(b), p);
            }
            Alu::SelectQ(d, a, b, p) => {
                return self.select(step, Slot::Reg64(d), Slot::Reg64(a), Slot::Reg64(b), p);
            }
            _ => {}
        }
        let Some(operands) = operands(alu) else {
            // Logic on predicates: what decided them is noted where they were set.
            self.lost |= !matches!(alu, Alu::Logic(..));
            return;
        };
        let warp = &mut self.warps[step.warp as usize];
        let live = operands.sources.iter().fold(0, |all, &slot| all | warp.live(slot)) & step.mask;
        let Some(dst) = operands.dst else {
            self.depends |= live != 0;
            return;
        };
        if live != step.mask {
            warp.forget(dst, step.mask & !live);
        }
        if live == 0 {
            return;
        }
        let rule = rule(alu);
        let place = self.place(step.pc);
        for lane in lanes(live) {
            let node = self.apply(rule, step, &operands.sources, lane, place);
            self.warps[step.warp as usize].set(dst, lane, node);
        }
    }

    fn select(&mut self, step: &Step, dst: Slot, a: Slot, b: Slot, p: Pred) {
        let warp = &mut self.warps[step.warp as usize];
        let chosen = step.registers.p(p);
        for lane in lanes(step.mask) {
            let node = warp.get(if chosen >> lane & 1 == 1 { a } else { b }, lane);
            warp.set(dst, lane, node);
        }
    }

    /// The expression of a source; a constant for plain bits.
    fn source(&mut self, step: &Step, slot: Slot, lane: usize) -> NodeId {
        let node = self.warps[step.warp as usize].get(slot, lane);
        if node.is_some() {
            self.arena.observe(node, float(step.registers, slot, lane));
            return node;
        }
        self.arena.constant(float(step.registers, slot, lane))
    }

    fn apply(
        &mut self,
        rule: Rule,
        step: &Step,
        sources: &[Slot; 4],
        lane: usize,
        place: LocationId,
    ) -> NodeId {
        let [a, b, c, _] = *sources;
        match rule {
            Rule::Opaque | Rule::Compare => {
                let warp = &self.warps[step.warp as usize];
                let nodes = sources.iter().map(|&slot| warp.get(slot, lane));
                let nodes = nodes.filter(|node| node.is_some()).collect();
                self.arena.opaque_of(nodes, place)
            }
            Rule::IntegerAdd | Rule::IntegerSub | Rule::IntegerMul | Rule::IntegerMad => {
                self.integer(rule, step, [a, b, c], lane, place)
            }
            Rule::Half(name, op) => {
                self.half(op, name, (step.registers, step.warp), [a, b, c], lane, place)
            }
            Rule::Pair => {
                let warp = &self.warps[step.warp as usize];
                let (low, high) = (warp.get(a, lane), warp.get(b, lane));
                let mut word = |node: NodeId, slot| {
                    let bits = step.registers.lane(slot, lane) as u32;
                    if node.is_some() {
                        node
                    } else {
                        self.arena.constant(f32::from_bits(bits).into())
                    }
                };
                let (low, high) = (word(low, a), word(high, b));
                self.arena.pair(low, high)
            }
            _ => {
                let x = self.source(step, a, lane);
                self.float_rule(rule, step, x, [a, b, c], lane, place)
            }
        }
    }

    fn float_rule(
        &mut self,
        rule: Rule,
        step: &Step,
        x: NodeId,
        [a, b, c]: [Slot; 3],
        lane: usize,
        place: LocationId,
    ) -> NodeId {
        match rule {
            Rule::Copy => x,
            Rule::Neg => self.arena.neg(x),
            Rule::Abs => {
                self.depends = true;
                let negative = float(step.registers, a, lane).is_sign_negative();
                if negative { self.arena.neg(x) } else { x }
            }
            Rule::Saturate => {
                self.depends = true;
                let value = float(step.registers, a, lane);
                if (0.0..=1.0).contains(&value) {
                    x
                } else {
                    self.arena.constant(if value > 1.0 { 1.0 } else { 0.0 })
                }
            }
            Rule::Reciprocal => {
                let one = self.arena.constant(1.0);
                self.arena.div(one, x, place)
            }
            Rule::Function(name) => self.arena.function(name, [x, NodeId::NONE], place),
            Rule::ToInteger => self.arena.function("int", [x, NodeId::NONE], place),
            Rule::FromInteger => match self.arena.get(x) {
                Node::Function("integer", [inner, _], _) => inner,
                Node::Function("int", ..) => x,
                _ => self.arena.opaque_of(vec![x], place),
            },
            Rule::Narrow => match self.arena.get(x) {
                Node::Function("f16" | "bf16" | "f16 bits" | "bf16 bits", ..) => x,
                Node::Pair(low, _) => low,
                _ => self.arena.opaque_of(vec![x], place),
            },
            Rule::Widen(name) => match self.arena.get(x) {
                Node::Function(of, [inner, _], at) if of == raw(name) || of == name => {
                    self.arena.widened(name, (of, inner, at))
                }
                _ => self.arena.opaque_of(vec![x], place),
            },
            Rule::Low | Rule::High => match self.arena.get(x) {
                Node::Pair(low, high) => {
                    if rule == Rule::Low {
                        low
                    } else {
                        high
                    }
                }
                _ => self.arena.opaque_of(vec![x], place),
            },
            _ => {
                let y = self.source(step, b, lane);
                match rule {
                    Rule::Add => self.arena.add(x, y, place),
                    Rule::Sub => {
                        let y = self.arena.neg(y);
                        self.arena.add(x, y, place)
                    }
                    Rule::Mul => self.arena.mul(x, y, place),
                    Rule::Div => self.arena.div(x, y, place),
                    Rule::Fma => {
                        let z = self.source(step, c, lane);
                        let product = self.arena.mul(x, y, place);
                        self.arena.add(z, product, place)
                    }
                    Rule::Extreme(larger) => {
                        self.depends = true;
                        let (p, q) =
                            (float(step.registers, a, lane), float(step.registers, b, lane));
                        // Where one is no number, the other is the result.
                        let first = q.is_nan() || if larger { p >= q } else { p <= q };
                        if first { x } else { y }
                    }
                    _ => self.arena.opaque(place),
                }
            }
        }
    }

    /// Integers that were made from floats: sums and products of them are followed, so that they can be shown.
    fn integer(
        &mut self,
        rule: Rule,
        step: &Step,
        sources: [Slot; 3],
        lane: usize,
        place: LocationId,
    ) -> NodeId {
        let count = if rule == Rule::IntegerMad { 3 } else { 2 };
        let mut nodes = [NodeId::NONE; 3];
        for (node, &slot) in nodes.iter_mut().zip(&sources).take(count) {
            let known = self.warps[step.warp as usize].get(slot, lane);
            *node = if known.is_some() {
                match self.arena.get(known) {
                    Node::Function("integer", [inner, _], _) => inner,
                    Node::Function("int", ..) => known,
                    _ => return self.arena.opaque(place),
                }
            } else {
                self.arena.constant(f64::from(step.registers.lane(slot, lane) as i32))
            };
        }
        let [x, y, z] = nodes;
        let result = match rule {
            Rule::IntegerAdd => self.arena.add(x, y, place),
            Rule::IntegerSub => {
                let y = self.arena.neg(y);
                self.arena.add(x, y, place)
            }
            Rule::IntegerMul => self.arena.mul(x, y, place),
            _ => {
                let product = self.arena.mul(x, y, place);
                self.arena.add(z, product, place)
            }
        };
        self.arena.function("integer", [result, NodeId::NONE], place)
    }

    fn copy_local(&mut self, step: &Step, lane: usize, to: u32, from: u32, size: u32) {
        let mut byte = 0;
        while byte < size {
            let rest = size - byte;
            let wide = |width: u32| {
                rest >= width
                    && (from + byte).is_multiple_of(width)
                    && (to + byte).is_multiple_of(width)
            };
            let at = |start: u32| local_address(step.warp, lane, (start + byte).into());
            // As wide as the value that is there, or as the alignment allows.
            let whole = |width: &u32| {
                wide(*width)
                    && !matches!(
                        self.local.load(at(from), *width),
                        LoadedValue::Nothing | LoadedValue::Mixed
                    )
            };
            let width = [8, 4, 2, 1].into_iter().find(whole);
            let node = match width.map(|width| self.local.load(at(from), width)) {
                Some(LoadedValue::Whole(node)) => node,
                Some(LoadedValue::Halves(low, high)) => self.arena.pair(low, high),
                _ => NodeId::NONE,
            };
            let width = width.unwrap_or(1);
            self.put(Window::Local, at(to), width, node, WriteOrigin::default());
            byte += width;
        }
    }

    /// Notes what a place holds.
    pub(super) fn put(
        &mut self,
        window: Window,
        address: u64,
        bytes: u32,
        node: NodeId,
        by: WriteOrigin,
    ) {
        let cells = match window {
            Window::Global => &mut self.global,
            Window::Shared => &mut self.shared,
            _ => &mut self.local,
        };
        if let (Node::Pair(low, high), true) = (self.arena.get(node), node.is_some() && bytes >= 4)
        {
            let half = bytes / 2;
            self.put(window, address, half, low, by);
            return self.put(window, address + u64::from(half), half, high, by);
        }
        self.lost |= !cells.store(address, bytes, node, by);
    }

    /// The expression of a place that is read; of local memory that of its thread.
    pub(super) fn read(&mut self, source: &Source, address: u64, bytes: u32) -> NodeId {
        let place = source.place;
        let found = match source.window {
            Window::Global => self.global.load(address, bytes),
            Window::Shared => self.shared.load(address, bytes),
            Window::Local => self.local.load(address, bytes),
            Window::Const => return self.constant(source, address, bytes),
            // Launches with clusters are not followed.
            Window::Param | Window::Cluster => return NodeId::NONE,
        };
        match found {
            LoadedValue::Whole(node) => node,
            LoadedValue::Halves(NodeId::NONE, NodeId::NONE) => NodeId::NONE,
            // A plain word beside an expression.
            LoadedValue::Halves(NodeId::NONE, _) | LoadedValue::Halves(_, NodeId::NONE) => {
                self.arena.opaque(place)
            }
            LoadedValue::Halves(low, high) => self.arena.pair(low, high),
            LoadedValue::Mixed if bytes >= 4 => {
                let half = bytes / 2;
                let low = self.read(source, address, half);
                let high = self.read(source, address + u64::from(half), half);
                let both = low.is_some() && high.is_some();
                if both { self.arena.pair(low, high) } else { self.arena.opaque(place) }
            }
            LoadedValue::Mixed => self.arena.opaque(place),
            LoadedValue::Nothing if source.window == Window::Global => {
                self.untouched(source, address, bytes)
            }
            LoadedValue::Nothing => NodeId::NONE,
        }
    }

    /// The expression of a place in constant memory: an element of the buffer of which it holds a copy, if it does.
    fn constant(&mut self, source: &Source, address: u64, bytes: u32) -> NodeId {
        let copy = self.constants.iter().find(|(range, _)| range.contains(&address)).cloned();
        copy.map_or(NodeId::NONE, |(range, buffer)| {
            self.element_of(source, (buffer, (address - range.start) as i64), bytes)
        })
    }

    /// The expression of a place in global memory that no kernel has written.
    fn untouched(&mut self, source: &Source, address: u64, bytes: u32) -> NodeId {
        match source.memory.locate(address) {
            Some(at) => self.element_of(source, at, bytes),
            None => NodeId::NONE,
        }
    }

    /// The expression of what a buffer held before the first launch, at a byte counted from its start.
    fn element_of(
        &mut self,
        source: &Source,
        (buffer, offset): (BufferId, i64),
        bytes: u32,
    ) -> NodeId {
        let place = source.place;
        let Some(&number) = self.tensors.get(&buffer) else {
            // Labels and the like: another input may lead elsewhere.
            self.depends |= source.memory.variable_name(buffer).is_none();
            return NodeId::NONE;
        };
        let size = number.bytes();
        let aligned = offset.rem_euclid(size.into()) == 0;
        let node = if aligned && bytes == size {
            self.arena.element(buffer.0, offset, place)
        } else if aligned && bytes > size {
            let half = bytes / 2;
            let low = self.element_of(source, (buffer, offset), half);
            let high = self.element_of(source, (buffer, offset + i64::from(half)), half);
            return self.arena.pair(low, high);
        } else {
            self.arena.opaque(place)
        };
        match number {
            Number::F16 => self.arena.function(raw("f16"), [node, NodeId::NONE], place),
            Number::Bf16 => self.arena.function(raw("bf16"), [node, NodeId::NONE], place),
            Number::F32 | Number::F64 => node,
        }
    }

    fn read_by(&mut self, event: &Event, lane: usize, address: u64, bytes: u32) -> NodeId {
        let Event { window, memory, .. } = *event;
        let source = Source { place: self.place(event.pc), window, memory };
        let is_local = window == Window::Local;
        let address = if is_local { local_address(event.warp, lane, address) } else { address };
        self.read(&source, address, bytes)
    }

    fn loaded(&mut self, event: &Event, elements: &Elements) {
        let bytes = elements.element.bytes;
        let slots = &elements.slots[..elements.count.into()];
        for (index, &slot) in slots.iter().enumerate() {
            let offset = u64::from(bytes) * index as u64;
            for lane in lanes(event.mask) {
                let address = event.addresses[lane].wrapping_add(offset);
                // A refused load gives no value, but it tells which element was meant.
                let node = if event.done >> lane & 1 == 1 || event.window == Window::Global {
                    self.read_by(event, lane, address, bytes)
                } else {
                    NodeId::NONE
                };
                self.warps[event.warp as usize].set(slot, lane, node);
            }
        }
    }

    pub(super) fn writer(&self, event: &Event, lane: usize) -> WriteOrigin {
        WriteOrigin {
            place: self.place(event.pc),
            block: event.block,
            thread: event.thread_coordinates(event.warp * 32 + lane as u32),
            atomic: event.kind == AccessKind::Atomic,
        }
    }

    fn stored(&mut self, event: &Event, elements: &Elements) {
        let bytes = elements.element.bytes;
        let slots = &elements.slots[..elements.count.into()];
        for lane in lanes(event.done) {
            for (index, &slot) in slots.iter().enumerate() {
                let node = self.warps[event.warp as usize].get(slot, lane);
                let mut address = event.addresses[lane] + u64::from(bytes) * index as u64;
                if event.window == Window::Local {
                    address = local_address(event.warp, lane, address);
                }
                self.put(event.window, address, bytes, node, self.writer(event, lane));
            }
        }
    }

    fn before_atomic(&mut self, step: &Step, atom: &Atom) {
        self.addressed(step, atom.address.base);
        let bytes = atom.ty.bytes();
        for lane in lanes(step.mask) {
            self.pending.value[lane] = self.warps[step.warp as usize].get(atom.b, lane);
            if !self.pending.value[lane].is_some() && atom.ty.is_float() && !atom.ty.is_half() {
                self.pending.value[lane] = self.arena.constant(float(step.registers, atom.b, lane));
            }
            let offset = atom.address.offset;
            let mut address = match atom.address.base {
                Base::Reg64(base) => step.registers.q(base)[lane].wrapping_add_signed(offset),
                Base::Reg32(base) => {
                    step.registers.r(base)[lane].wrapping_add(offset as u32).into()
                }
            };
            let window = atom.address.window.unwrap_or_else(|| {
                let window = Window::of(address);
                address = address.wrapping_sub(window.base());
                window
            });
            let bits = |memory: &dyn LaneMemory| match memory.check(lane, address, bytes, false) {
                Ok(place) => memory.get(lane, place, bytes).0,
                Err(_) => 0,
            };
            self.pending.before[lane] = match window {
                Window::Global => bits(&step.memory),
                Window::Shared => bits(step.shared),
                _ => bits(step.local),
            };
        }
    }

    /// Follows the lanes of an atomic one after another, in the order in which they were executed.
    fn updated(&mut self, event: &Event, atom: &Atom) {
        let place = self.place(event.pc);
        let bytes = atom.ty.bytes();
        let adds = atom.op == AtomOp::Add && matches!(atom.ty, Type::F32 | Type::F64);
        for lane in lanes(event.mask) {
            if event.done >> lane & 1 == 0 {
                self.warps[event.warp as usize].forget(atom.dst, 1 << lane);
                continue;
            }
            let old = self.read_by(event, lane, event.addresses[lane], bytes);
            let value = self.pending.value[lane];
            let new = if adds {
                let before = if old.is_some() {
                    old
                } else {
                    let bits = self.pending.before[lane];
                    self.arena.constant(decode(atom.ty, bits))
                };
                self.arena.add(before, value, place)
            } else if atom.op == AtomOp::Exch {
                value
            } else if old.is_some() || value.is_some() {
                self.depends = true;
                self.arena.opaque(place)
            } else {
                NodeId::NONE
            };
            let mut address = event.addresses[lane];
            if event.window == Window::Local {
                address = local_address(event.warp, lane, address);
            }
            self.put(event.window, address, bytes, new, self.writer(event, lane));
            self.warps[event.warp as usize].set(atom.dst, lane, old);
        }
    }
}

fn decode(ty: Type, bits: u64) -> f64 {
    if ty == Type::F64 { f64::from_bits(bits) } else { f32::from_bits(bits as u32).into() }
}

/// The value of a register as a float of its width.
fn float(registers: &Registers, slot: Slot, lane: usize) -> f64 {
    match slot {
        Slot::Reg32(register) => f32::from_bits(registers.r(register)[lane]).into(),
        Slot::Reg64(register) => f64::from_bits(registers.q(register)[lane]),
        Slot::Sink => 0.0,
    }
}
