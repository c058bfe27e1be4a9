//! `ld`, `st`, `atom`, `red`.

use super::Body;
use super::body::{Register, Result, VariableLocation};
use super::modifiers::Modifiers;
use super::poison::PoisonTolerance;
use super::strength::STRONG;
use crate::frontend::syntax::ast::{AddressBase, Operand};
use crate::isa::atom_op::AtomOp;
use crate::isa::ir::alu::{Q1, QR, R1};
use crate::isa::ir::{Alu, Atom, Op, PoisonPropagatingAccess, Uniform};
use crate::isa::names::{Address, Base, Element, Elements, Marks, Slot, Strength};
use crate::isa::ordering::Ordering;
use crate::isa::types::Type;
use crate::isa::window::Window;

/// Cache hints, ordering and scopes: on this machine every access is at once visible to all.
const HINTS: [&str; 16] = [
    "weak", "acq_rel", "cta", "cluster", "gpu", "sys", "ca", "cg", "cs", "lu", "cv", "wb", "wt",
    "unified", "noftz", "sc",
];

/// What an instruction does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Load,
    Store,
    /// `atom`, which returns the old value.
    Atomic,
    /// `red`, which returns nothing.
    Reduction,
}

/// What the modifiers of an access say of its operands.
#[derive(Clone, Copy)]
struct Form {
    ty: Type,
    /// Elements of the vector: 1, 2 or 4.
    count: usize,
    window: Option<Window>,
    /// The address is one of `.shared::cluster`.
    in_cluster: bool,
    marks: Marks,
}

impl<'a> Body<'_, '_, '_, 'a> {
    /// Lowers `ld`, `st`, `atom` and `red`.
    pub(super) fn access(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        access: Access,
    ) -> Result<()> {
        if modifiers.take("async") {
            return self.async_access(modifiers, operands, access);
        }
        let ordering = self.note_ordering(modifiers, access);
        // `.mmio` stands before `.relaxed`.
        let strong = modifiers.take("mmio") | modifiers.take_any(&STRONG).is_some();
        let plain = Marks { kept: self.kept, ..Marks::default() };
        let marks = if strong { self.marks.unwrap_or(Marks::STRONG) } else { plain };
        let marks = Marks { read_only: modifiers.take("nc"), ..marks };
        self.builder.program.keeps_reads |= marks.kept;
        // Whether another thread has read what was stored before decides whether an update can be lost.
        self.builder.program.fenced |= marks.half_update && marks.strength == Strength::Strong;
        modifiers.drop_all(&HINTS);
        // The policy is the last operand.
        let operands = match operands {
            [rest @ .., _] if modifiers.take("L2::cache_hint") => rest,
            all => all,
        };
        modifiers.drop_prefixed(&["L1::", "L2::"]);
        let in_cluster = modifiers.take("shared::cluster");
        let window = self.access_window(modifiers);
        let is_global = !in_cluster && matches!(window, None | Some(Window::Global));
        if strong && access == Access::Load && is_global {
            self.builder.program.polls = true;
            self.builder.program.ordered = true;
        }
        let begin = self.code.len();
        if !self.wide_access(modifiers, operands, access, window, marks)? {
            self.access_in(modifiers, operands, access, (window, in_cluster), marks)?;
        }
        if let Some(ordering) = ordering {
            self.note_ordering_since(begin, ordering);
        }
        Ok(())
    }

    /// Lowers an access of elements of at most 64 bits.
    fn access_in(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        access: Access,
        (window, in_cluster): (Option<Window>, bool),
        marks: Marks,
    ) -> Result<()> {
        let ty = self.memory_type(modifiers)?;
        let count = match modifiers.take_any(&["v2", "v4"]) {
            Some("v2") => 2,
            Some(_) => 4,
            None => 1,
        };
        let form = Form { ty, count, window, in_cluster, marks };
        match access {
            Access::Load => self.load(operands, form),
            Access::Store => self.store(operands, form),
            Access::Atomic | Access::Reduction => self.atomic(modifiers, operands, access, form),
        }
    }

    /// The memory order of an access, if it is not the default. `.cg` and `.cv` count as reads of what other blocks write,
    /// because blocks poll with them.
    fn note_ordering(&mut self, modifiers: &Modifiers<'a>, access: Access) -> Option<Ordering> {
        let both = modifiers.has("acq_rel") || modifiers.has("sc");
        let (acquires, releases) = (modifiers.has("acquire"), modifiers.has("release"));
        let silent = !acquires && !releases && !modifiers.has("relaxed");
        let ordering = Ordering {
            acquires: both || acquires || silent,
            releases: both || releases,
            // Blocks of a cluster are ordered as those of the device: too much rather than too little.
            device_scope: !modifiers.has("cta"),
        };
        self.builder.program.fenced |= both || acquires || releases;
        if access == Access::Load && (modifiers.has("cg") || modifiers.has("cv")) {
            self.builder.reads_past_cache = true;
        } else if silent && ordering.device_scope && !both {
            return None;
        }
        Some(ordering)
    }

    /// Resolves the memory operand of an access.
    fn address_in(&mut self, operand: &Operand<'a>, form: Form) -> Result<Address> {
        if form.in_cluster {
            self.cluster_address(operand, form.marks)
        } else {
            self.address(operand, form.window, form.marks)
        }
    }

    /// None: generic. Parameters of functions lie in local memory.
    fn access_window(&mut self, modifiers: &mut Modifiers<'a>) -> Option<Window> {
        let window = modifiers.space().or_else(|| {
            modifiers.take_any(&["param::entry", "param::func"]).map(|_| Window::Param)
        })?;
        Some(match window {
            Window::Param if !self.is_entry => Window::Local,
            window => window,
        })
    }

    /// Resolves a memory operand: `[register+4]`, `[variable+4]` or `[4]`.
    pub fn address(
        &mut self,
        operand: &Operand<'a>,
        window: Option<Window>,
        marks: Marks,
    ) -> Result<Address> {
        let Operand::Address { base, offset } = operand else {
            return Err(self.malformed("expected an address in brackets"));
        };
        let AddressBase::Name(name) = *base else {
            let base = self.builder.uniform_q(Uniform::Bits(*offset as u64));
            return Ok(Address { window, base: Base::Reg64(base), offset: 0, marks });
        };
        match self.read_register(name) {
            Some(Register::Reg32(register, _)) => {
                return Ok(Address { window, base: Base::Reg32(register), offset: *offset, marks });
            }
            Some(Register::Reg64(register)) => {
                return Ok(Address { window, base: Base::Reg64(register), offset: *offset, marks });
            }
            Some(_) => return Err(self.malformed("this register is not an address")),
            None => {}
        }
        let Some(place) = self.place_of(name)? else {
            return Err(self.malformed(format!("unknown name `{name}`")));
        };
        let (of_variable, uniform) = Self::address_of(place, *offset);
        // `.param` of a call lies in local memory even inside a kernel.
        let param_of_call = window == Some(Window::Param) && of_variable == Window::Local;
        if window.is_some_and(|window| window != of_variable) && !param_of_call {
            return Err(self.malformed(format!("`{name}` is in another address space")));
        }
        if let (VariableLocation::Frame(start), pointer) = (place, self.builder.frame_pointer) {
            let offset = i64::from(start).wrapping_add(*offset);
            return Ok(Address {
                window: Some(of_variable),
                base: Base::Reg64(pointer),
                offset,
                marks,
            });
        }
        let base = self.builder.uniform_q(uniform);
        Ok(Address { window: Some(of_variable), base: Base::Reg64(base), offset: 0, marks })
    }

    fn memory_type(&self, modifiers: &mut Modifiers<'a>) -> Result<Type> {
        match modifiers.ty() {
            Some(Type::Pred) | None => {
                Err(self.unsupported(format!("the type of this `{}`", modifiers.base)))
            }
            Some(ty) => Ok(ty),
        }
    }

    fn load(&mut self, operands: &[Operand<'a>], form: Form) -> Result<()> {
        let Form { ty, count, window, .. } = form;
        let [d, address] = self.exactly(operands)?;
        let parts = self.vector(d, count)?;
        if let Some(start) = self.kernel_param(address, window)? {
            return self.load_param(parts, ty, start);
        }
        let address = self.address_in(address, form)?;
        let mut elements = Elements {
            slots: [Slot::Sink; 4],
            count: parts.len() as u8,
            element: Element { bytes: ty.bytes(), signed: ty.is_signed(), register_bits: 32 },
        };
        for (index, part) in parts.iter().enumerate() {
            let (slot, bits) = self.slot_of(part)?;
            if bits < ty.bits() && slot != Slot::Sink {
                return Err(self.malformed("the destination is narrower than its type"));
            }
            elements.slots[index] = slot;
            elements.element.register_bits = bits;
        }
        if let Some(PoisonTolerance::Unused(parts)) = self.poison {
            for (index, slot) in elements.slots.iter_mut().enumerate() {
                if parts >> index & 1 == 1 {
                    *slot = Slot::Sink;
                }
            }
        }
        self.emit_load(address, elements);
        Ok(())
    }

    /// Adds a load; one that propagates poison if its value is only moved.
    pub fn emit_load(&mut self, address: Address, elements: Elements) {
        self.emit(match self.poison {
            None | Some(PoisonTolerance::Unused(_)) => Op::Load(address, elements),
            Some(poison) => {
                let copies = poison == PoisonTolerance::Copy;
                Op::PoisonPropagatingLoad(Box::new(PoisonPropagatingAccess {
                    address,
                    elements,
                    copies,
                }))
            }
        });
    }

    /// Offset of a parameter of the kernel, where the address is one.
    pub fn kernel_param(
        &mut self,
        operand: &Operand<'a>,
        window: Option<Window>,
    ) -> Result<Option<u64>> {
        let Operand::Address { base: AddressBase::Name(name), offset } = operand else {
            return Ok(None);
        };
        if window != Some(Window::Param) || self.register(name).is_some() {
            return Ok(None);
        }
        Ok(match self.place_of(name)? {
            Some(VariableLocation::KernelParam(start)) => {
                Some(u64::from(start).wrapping_add_signed(*offset))
            }
            _ => None,
        })
    }

    /// The launch puts parameters into registers; a load is a move.
    fn load_param(&mut self, parts: &[Operand<'a>], ty: Type, start: u64) -> Result<()> {
        let bytes = ty.bytes();
        for (part, index) in parts.iter().zip(0u64..) {
            let offset = start.wrapping_add(index * u64::from(bytes));
            if offset > 1 << 16 {
                return Err(self.malformed("address outside the parameters"));
            }
            let uniform = Uniform::Param { offset: offset as u32, bytes };
            match self.dst(part)? {
                Some(Register::Reg64(d)) if ty.bits() == 64 => {
                    let value = self.builder.uniform_q(uniform);
                    self.alu(Alu::Q1(Q1::Mov, d, value));
                }
                Some(Register::Reg64(d)) => {
                    let value = self.builder.uniform_r(uniform);
                    let narrow = self.builder.new_r();
                    self.alu(Alu::R1(extension(ty), narrow, value));
                    self.alu(Alu::QR(if ty.is_signed() { QR::Sext } else { QR::Zext }, d, narrow));
                }
                Some(Register::Reg32(d, bits)) if bits >= ty.bits() => {
                    let value = self.builder.uniform_r(uniform);
                    self.alu(Alu::R1(extension(ty), d, value));
                    if bits < 32 {
                        self.narrow(d);
                    }
                }
                None => {}
                Some(_) => return Err(self.malformed("the destination does not fit its type")),
            }
        }
        Ok(())
    }

    fn store(&mut self, operands: &[Operand<'a>], form: Form) -> Result<()> {
        let Form { ty, count, .. } = form;
        let [address, source] = self.exactly(operands)?;
        let parts = self.vector(source, count)?;
        let address = self.address_in(address, form)?;
        let mut elements = Elements {
            slots: [Slot::Sink; 4],
            count: parts.len() as u8,
            element: Element { bytes: ty.bytes(), signed: false, register_bits: 64 },
        };
        for (index, part) in parts.iter().enumerate() {
            elements.slots[index] = self.source_slot(part, ty)?;
        }
        self.emit_store(address, elements);
        Ok(())
    }

    pub fn emit_store(&mut self, address: Address, elements: Elements) {
        self.emit(match self.poison {
            None => Op::Store(address, elements),
            Some(_) => Op::PoisonPropagatingStore(Box::new(PoisonPropagatingAccess {
                address,
                elements,
                copies: true,
            })),
        });
    }

    fn atomic(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        access: Access,
        form: Form,
    ) -> Result<()> {
        let Form { ty, count, .. } = form;
        let op = match modifiers
            .take_any(&["add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"])
        {
            Some("add") => AtomOp::Add,
            Some("min") => AtomOp::Min,
            Some("max") => AtomOp::Max,
            Some("and") => AtomOp::And,
            Some("or") => AtomOp::Or,
            Some("xor") => AtomOp::Xor,
            Some("exch") => AtomOp::Exch,
            Some("cas") => AtomOp::Cas,
            Some("inc") => AtomOp::Inc,
            Some("dec") => AtomOp::Dec,
            _ => return Err(self.malformed("an atomic needs an operation such as `.add`")),
        };
        let bits = ty.bits();
        let arithmetic = matches!(op, AtomOp::Add | AtomOp::Min | AtomOp::Max);
        if bits == 8
            || matches!(ty, Type::F32 | Type::F64) && matches!(op, AtomOp::Min | AtomOp::Max)
            || bits == 16 && !(ty.is_half() && arithmetic || op == AtomOp::Cas)
            || matches!(op, AtomOp::Inc | AtomOp::Dec) && bits != 32
        {
            return Err(self.unsupported("this atomic operation on this type"));
        }
        let (dst, operands) = if access == Access::Reduction {
            (None, operands)
        } else {
            let [d, rest @ ..] = operands else {
                return Err(self.malformed("`atom` needs a destination"));
            };
            (Some(d), rest)
        };
        let (address, b, c) = match (op, operands) {
            (AtomOp::Cas, [address, b, c]) if count == 1 => (address, b, Some(c)),
            (_, [address, b]) if op != AtomOp::Cas => (address, b, None),
            _ => return Err(self.malformed("wrong number of operands")),
        };
        let address = self.address_in(address, Form { marks: Marks::STRONG, ..form })?;
        if count == 1 {
            let dst = match dst {
                Some(d) => self.slot_of(d)?.0,
                None => Slot::Sink,
            };
            return self.one_atomic(op, ty, address, dst, b, c);
        }
        // Each element is an atomic of its own (PTX ISA 9.7.13.5); sources are read before any result is there.
        let (Operand::Vector(sources), Some(Operand::Vector(_)) | None) = (b, dst) else {
            return Err(self.malformed("an atomic on a vector has vectors as operands"));
        };
        let targets = match dst {
            Some(Operand::Vector(targets)) => targets.as_slice(),
            _ => &[],
        };
        if sources.len() != count || dst.is_some() && targets.len() != count {
            return Err(
                self.malformed(format!("{} registers where {count} are expected", sources.len()))
            );
        }
        let mut results = Vec::new();
        for (index, source) in (0i64..).zip(sources) {
            let offset = address.offset.wrapping_add(index * i64::from(ty.bytes()));
            let slot = match dst {
                Some(_) => Slot::Reg32(self.builder.new_r()),
                None => Slot::Sink,
            };
            self.one_atomic(op, ty, Address { offset, ..address }, slot, source, None)?;
            results.push(slot);
        }
        for (target, result) in targets.iter().zip(results) {
            if let (Some(Register::Reg32(d, _)), Slot::Reg32(result)) = (self.dst(target)?, result)
            {
                *self.builder.reads.entry((false, result.0)).or_default() += 1;
                self.alu(Alu::R1(R1::Mov, d, result));
            }
        }
        Ok(())
    }

    fn one_atomic(
        &mut self,
        op: AtomOp,
        ty: Type,
        address: Address,
        dst: Slot,
        b: &Operand<'a>,
        c: Option<&Operand<'a>>,
    ) -> Result<()> {
        let b = self.source_slot(b, ty)?;
        let c = match c {
            Some(c) => self.source_slot(c, ty)?,
            None => Slot::Sink,
        };
        let bits = ty.bits();
        let width_fits = |slot| {
            matches!((slot, bits), (Slot::Sink, _) | (Slot::Reg64(_), 64) | (Slot::Reg32(_), ..=32))
        };
        if ![dst, b, c].into_iter().all(width_fits) {
            return Err(self.malformed("a register does not have the width of the type"));
        }
        self.note_order(op, ty, address.window, dst);
        self.emit(Op::Atom(Box::new(Atom { op, ty, address, dst, b, c })));
        Ok(())
    }

    /// Whether blocks in another order could leave another result.
    fn note_order(&mut self, op: AtomOp, ty: Type, window: Option<Window>, dst: Slot) {
        if !matches!(window, None | Some(Window::Global)) {
            return;
        }
        // A pair of words is not one atomic step on the host.
        if ty.is_float()
            || ty.bits() == 64
            || matches!(op, AtomOp::Exch | AtomOp::Cas | AtomOp::Inc | AtomOp::Dec)
        {
            self.builder.program.ordered = true;
        }
        match dst {
            Slot::Reg32(register) => self.builder.order_if_read.push((false, register.0)),
            Slot::Reg64(register) => self.builder.order_if_read.push((true, register.0)),
            Slot::Sink => {}
        }
    }
}

fn extension(ty: Type) -> R1 {
    match ty {
        Type::S8 => R1::Sext8,
        Type::S16 => R1::Sext16,
        _ => R1::Mov,
    }
}
