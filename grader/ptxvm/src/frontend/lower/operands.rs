//! Operands: registers, constants, special registers and addresses of variables.

use super::Body;
use super::body::{Register, Result, Scope, VariableLocation};
use super::context::ModuleSymbol;
use super::refuse;
use crate::error::LoadError;
use crate::finding::source_name;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::{Alu, Special, Uniform, alu};
use crate::isa::names::{Guard, Pred, Reg32, Reg64, Slot};
use crate::isa::types::Type;
use crate::isa::window::Window;

impl<'a> Body<'_, '_, '_, 'a> {
    /// The register of a name, if it is one. `%r7` of `.reg .b32 %r<10>` exists from its first mention on.
    pub fn register(&mut self, name: &'a str) -> Option<Register> {
        for index in (0..self.scopes.len()).rev() {
            if let Some(&register) = self.scopes[index].named.get(name) {
                return Some(register);
            }
            let scope = &self.scopes[index];
            let register = if let Some(ty) = family_type(scope, name) {
                self.new_register(ty)
            } else if family(&scope.wide_families, name, |&family| family).is_some() {
                self.new_wide()
            } else {
                continue;
            };
            self.scopes[index].named.insert(name, register);
            return Some(register);
        }
        None
    }

    /// Where a variable lies, if the name is one.
    pub fn place_of(&mut self, name: &'a str) -> Result<Option<VariableLocation>> {
        let found = self.scopes.iter().rev().find_map(|scope| scope.variables.get(name));
        if let Some(&place) = found {
            return Ok(Some(place));
        }
        Ok(match self.builder.module_place(name) {
            Some(ModuleSymbol::Global(index)) => Some(VariableLocation::Global(index)),
            Some(ModuleSymbol::Const(start)) => Some(VariableLocation::Const(start)),
            Some(ModuleSymbol::Shared(variable)) if variable.unsized_array => {
                let program = &mut self.builder.program;
                program.dynamic_shared_align = program.dynamic_shared_align.max(variable.align);
                let named = (source_name(variable.name).to_owned(), None);
                if !program.shared_names.contains(&named) {
                    program.shared_names.push(named);
                }
                Some(VariableLocation::DynamicShared)
            }
            Some(ModuleSymbol::Shared(variable)) => {
                Some(VariableLocation::Shared(self.builder.module_shared(variable)?))
            }
            None => None,
        })
    }

    /// Address of a variable in its own window, as a value that the launch fixes.
    pub fn address_of(place: VariableLocation, addend: i64) -> (Window, Uniform) {
        let fixed = |start: u32| Uniform::Bits(u64::from(start).wrapping_add_signed(addend));
        match place {
            VariableLocation::Global(index) => (Window::Global, Uniform::Global(index, addend)),
            VariableLocation::Const(start) => (Window::Const, fixed(start)),
            VariableLocation::Shared(start) => (Window::Shared, fixed(start)),
            VariableLocation::DynamicShared => (Window::Shared, Uniform::DynamicShared(addend)),
            // An offset: the address of the frame comes to it.
            VariableLocation::Local(start) | VariableLocation::Frame(start) => {
                (Window::Local, fixed(start))
            }
            VariableLocation::KernelParam(start) => (Window::Param, fixed(start)),
        }
    }

    pub fn predicate(&mut self, name: &'a str) -> Result<Pred> {
        match self.register(name) {
            Some(Register::Pred(predicate)) => Ok(predicate),
            Some(_) => Err(self.malformed(format!("`{name}` is not a predicate register"))),
            None if name == "%is_explicit_cluster" => {
                let is = self.builder.uniform_r(Uniform::Special(Special::IsExplicitCluster));
                let (predicate, zero) = (self.builder.new_p(), self.builder.zero());
                self.prepare(Alu::PRR(alu::PRR::Ne, predicate, is, zero));
                Ok(predicate)
            }
            None => Err(self.malformed(format!("unknown register `{name}`"))),
        }
    }

    /// A predicate operand, possibly negated; nvcc writes constants as 0 and -1.
    pub fn predicate_operand(&mut self, operand: &Operand<'a>) -> Result<Guard> {
        match operand {
            Operand::Name(name) => Ok(Guard { predicate: self.predicate(name)?, negated: false }),
            Operand::Not(name) => Ok(Guard { predicate: self.predicate(name)?, negated: true }),
            Operand::Int(value) => {
                let predicate = self.builder.new_p();
                let zero = self.builder.zero();
                let value = self.builder.uniform_r(Uniform::Bits(u64::from(*value != 0)));
                self.alu(Alu::PRR(alu::PRR::Ne, predicate, value, zero));
                Ok(Guard { predicate, negated: false })
            }
            _ => Err(self.malformed("expected a predicate register")),
        }
    }

    /// A constant as the bits of a type. None for anything else.
    fn constant(operand: &Operand<'a>, ty: Type) -> Option<u64> {
        let mask = |bits: u64| if ty.bits() == 64 { bits } else { bits & ((1 << ty.bits()) - 1) };
        Some(match *operand {
            // An integer where a float is wanted is its bits, as nvcc's inline assembly writes half constants.
            Operand::Int(value) => mask(value),
            Operand::F32(bits) => match ty {
                Type::F64 | Type::B64 => f64::from(f32::from_bits(bits)).to_bits(),
                _ => mask(bits.into()),
            },
            Operand::F64(bits) => match ty {
                Type::F32 | Type::B32 => (f64::from_bits(bits) as f32).to_bits().into(),
                _ => mask(bits),
            },
            _ => return None,
        })
    }

    /// A source of at most 32 bits. 16-bit values are zero-extended in their registers.
    pub fn value_r(&mut self, operand: &Operand<'a>, ty: Type) -> Result<Reg32> {
        if let Some(bits) = Self::constant(operand, ty) {
            return Ok(self.builder.uniform_r(Uniform::Bits(bits)));
        }
        if let Operand::Name(name) = operand {
            match self.register(name) {
                Some(Register::Reg32(register, _)) => {
                    self.note_read(false, register.0);
                    return Ok(register);
                }
                Some(_) => {
                    return Err(
                        self.malformed(format!("`{name}` does not have {} bits", ty.bits()))
                    );
                }
                None => {}
            }
            if let Some(bits) = reserved(name) {
                return Ok(self.builder.uniform_r(Uniform::Bits(bits)));
            }
            if *name == "%reserved_smem_offset_1" {
                let start = self.builder.reserved_shared()?;
                return Ok(self.builder.uniform_r(Uniform::Bits(start.into())));
            }
            if let Some(special) = special(name) {
                self.builder.asks_for_grid |= matches!(special, Special::Environment(_));
                return Ok(self.builder.uniform_r(Uniform::Special(special)));
            }
        }
        match self.symbol(operand)? {
            Some((_, uniform)) => Ok(self.builder.uniform_r(uniform)),
            None => Err(self.unknown(operand)),
        }
    }

    /// A source of 64 bits.
    pub fn value_q(&mut self, operand: &Operand<'a>, ty: Type) -> Result<Reg64> {
        if let Some(bits) = Self::constant(operand, ty) {
            return Ok(self.builder.uniform_q(Uniform::Bits(bits)));
        }
        if let Operand::Name(name) = operand {
            match self.register(name) {
                Some(Register::Reg64(register)) => {
                    self.note_read(true, register.0);
                    return Ok(register);
                }
                Some(_) => return Err(self.malformed(format!("`{name}` does not have 64 bits"))),
                None => {}
            }
            if let Some(special) = special(name) {
                return Ok(self.builder.uniform_q(Uniform::Special(special)));
            }
        }
        if let Some((VariableLocation::Frame(start), addend)) = self.variable_operand(operand)? {
            let (_, offset) = Self::address_of(VariableLocation::Frame(start), addend);
            let offset = self.builder.uniform_q(offset);
            let address = self.builder.new_q();
            self.alu(Alu::Q2(alu::Q2::AddI, address, self.builder.frame_pointer, offset));
            return Ok(address);
        }
        match self.symbol(operand)? {
            Some((_, uniform)) => Ok(self.builder.uniform_q(uniform)),
            None => Err(self.unknown(operand)),
        }
    }

    /// The address that `variable` or `variable+4` stands for.
    fn symbol(&mut self, operand: &Operand<'a>) -> Result<Option<(Window, Uniform)>> {
        if let Some((place, addend)) = self.variable_operand(operand)? {
            return Ok(Some(Self::address_of(place, addend)));
        }
        let Operand::Name(name) = operand else { return Ok(None) };
        let address = self.builder.context.addresses.get(name);
        Ok(address.map(|&address| (Window::Global, Uniform::Bits(address))))
    }

    /// The variable of `variable` or `variable+4`, and the addend.
    fn variable_operand(
        &mut self,
        operand: &Operand<'a>,
    ) -> Result<Option<(VariableLocation, i64)>> {
        let (name, addend) = match operand {
            Operand::Name(name) => (name, 0),
            Operand::Offset(name, addend) => (name, *addend),
            _ => return Ok(None),
        };
        Ok(self.place_of(name)?.map(|place| (place, addend)))
    }

    fn unknown(&self, operand: &Operand<'a>) -> LoadError {
        match operand {
            Operand::Name(name) if name.starts_with('%') => {
                self.unsupported(refuse::register(name))
            }
            Operand::Name(name) | Operand::Offset(name, _) => {
                self.malformed(format!("unknown name `{name}`"))
            }
            _ => self.malformed("this operand does not fit the instruction"),
        }
    }

    fn note_read(&mut self, wide: bool, index: u32) {
        *self.builder.reads.entry((wide, index)).or_default() += 1;
    }

    /// A destination of at most 32 bits and its width.
    pub fn dst_r(&mut self, operand: &Operand<'a>) -> Result<(Reg32, u32)> {
        match self.dst(operand)? {
            Some(Register::Reg32(register, bits)) => Ok((register, bits)),
            None => Ok((self.builder.new_r(), 32)),
            Some(_) => Err(self.malformed("the destination does not have 32 bits")),
        }
    }

    pub fn dst_q(&mut self, operand: &Operand<'a>) -> Result<Reg64> {
        match self.dst(operand)? {
            Some(Register::Reg64(register)) => Ok(register),
            None => Ok(self.builder.new_q()),
            Some(_) => Err(self.malformed("the destination does not have 64 bits")),
        }
    }

    pub fn dst_p(&mut self, operand: &Operand<'a>) -> Result<Pred> {
        match self.dst(operand)? {
            Some(Register::Pred(register)) => Ok(register),
            None => Ok(self.builder.new_p()),
            Some(_) => Err(self.malformed("the destination is not a predicate register")),
        }
    }

    /// A destination register; None for `_`.
    pub fn dst(&mut self, operand: &Operand<'a>) -> Result<Option<Register>> {
        let Operand::Name(name) = operand else {
            return Err(self.malformed("expected a register as destination"));
        };
        if *name == "_" {
            return Ok(None);
        }
        match self.register(name) {
            Some(register) => Ok(Some(register)),
            None => Err(self.malformed(format!("unknown register `{name}`"))),
        }
    }

    /// The registers of `{a, b}`, or a single one; an error if there are not `count` of them.
    pub fn vector<'o>(&self, operand: &'o Operand<'a>, count: usize) -> Result<&'o [Operand<'a>]> {
        let parts = match operand {
            Operand::Vector(parts) => parts.as_slice(),
            single => std::slice::from_ref(single),
        };
        if parts.len() != count {
            return Err(
                self.malformed(format!("{} registers where {count} are expected", parts.len()))
            );
        }
        Ok(parts)
    }

    /// A destination or source of an element of memory.
    pub fn slot_of(&mut self, operand: &Operand<'a>) -> Result<(Slot, u32)> {
        match self.dst(operand)? {
            Some(Register::Reg32(register, bits)) => Ok((Slot::Reg32(register), bits.max(16))),
            Some(Register::Reg64(register)) => Ok((Slot::Reg64(register), 64)),
            Some(Register::Pred(_)) => Err(self.malformed("predicates cannot be in memory")),
            Some(Register::Wide(_)) => Err(self.malformed("the register has 128 bits")),
            None => Ok((Slot::Sink, 32)),
        }
    }

    /// A value to store: a register of its own width, or a constant of the type's.
    pub fn source_slot(&mut self, operand: &Operand<'a>, ty: Type) -> Result<Slot> {
        if let Operand::Name(name) = operand {
            match self.register(name) {
                Some(Register::Reg32(register, _)) => {
                    self.note_read(false, register.0);
                    return Ok(Slot::Reg32(register));
                }
                Some(Register::Reg64(register)) => {
                    self.note_read(true, register.0);
                    return Ok(Slot::Reg64(register));
                }
                _ => {}
            }
        }
        if ty.bits() == 64 {
            Ok(Slot::Reg64(self.value_q(operand, ty)?))
        } else {
            Ok(Slot::Reg32(self.value_r(operand, ty)?))
        }
    }

    /// Notes that a named register is read through a base address.
    pub fn read_register(&mut self, name: &'a str) -> Option<Register> {
        let register = self.register(name)?;
        match register {
            Register::Reg32(r, _) => self.note_read(false, r.0),
            Register::Reg64(q) => self.note_read(true, q.0),
            Register::Pred(_) | Register::Wide(_) => {}
        }
        Some(register)
    }

    /// The operands, if there are exactly `N` of them; otherwise an error that says how many there should be.
    pub fn exactly<'o, const N: usize>(
        &self,
        operands: &'o [Operand<'a>],
    ) -> Result<&'o [Operand<'a>; N]> {
        operands.try_into().map_err(|_| self.wrong_count(operands.len(), N))
    }

    pub fn wrong_count(&self, count: usize, wanted: usize) -> LoadError {
        self.malformed(format!("{count} operands where {wanted} are expected"))
    }

    /// Brings a result back to 16 bits.
    pub fn narrow(&mut self, d: Reg32) {
        self.alu(Alu::R1(alu::R1::Zext16, d, d));
    }
}

fn family_type(scope: &Scope, name: &str) -> Option<Type> {
    family(&scope.families, name, |&(family, count, _)| (family, count)).map(|&(.., ty)| ty)
}

/// The last declared family that a name belongs to.
fn family<'s, T>(all: &'s [T], name: &str, of: impl Fn(&T) -> (&str, u64)) -> Option<&'s T> {
    let digits = name.len() - name.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (prefix, number) = name.split_at(digits);
    // `%r01` is not `%r1`.
    if number.is_empty() || number.len() > 1 && number.starts_with('0') {
        return None;
    }
    let number: u64 = number.parse().ok()?;
    all.iter().rev().find(|one| {
        let (family, count) = of(one);
        family == prefix && number < count
    })
}

/// The axis of a special register that has three.
pub(super) fn special_of(vector: &str, axis: &str) -> Option<Special> {
    let triple = |of: fn(u8) -> Special, axis: &str| match axis {
        "x" => Some(of(0)),
        "y" => Some(of(1)),
        "z" => Some(of(2)),
        _ => None,
    };
    match vector {
        "%tid" => triple(Special::Tid, axis),
        "%ntid" => triple(Special::Ntid, axis),
        "%ctaid" => triple(Special::Ctaid, axis),
        "%nctaid" => triple(Special::Nctaid, axis),
        "%cluster_ctaid" => triple(Special::ClusterCtaid, axis),
        "%cluster_nctaid" => triple(Special::ClusterNctaid, axis),
        "%clusterid" => triple(Special::Clusterid, axis),
        "%nclusterid" => triple(Special::Nclusterid, axis),
        _ => None,
    }
}

/// The bounds of what the driver of an H100 reserves in shared memory for all blocks.
fn reserved(register: &str) -> Option<u64> {
    Some(match register {
        "%reserved_smem_offset_begin" | "%reserved_smem_offset_0" => 0,
        "%reserved_smem_offset_end" => 288,
        "%reserved_smem_offset_cap" => 1024,
        _ => return None,
    })
}

/// Special registers whose value a warp keeps.
fn special(name: &str) -> Option<Special> {
    if let Some((vector, axis)) = name.split_once('.') {
        return special_of(vector, axis);
    }
    Some(match name {
        "%laneid" => Special::LaneId,
        "%warpid" => Special::WarpId,
        "%cluster_ctarank" => Special::ClusterRank,
        "%cluster_nctarank" => Special::ClusterBlocks,
        "%nwarpid" => Special::NWarpId,
        "WARP_SZ" => Special::WarpSize,
        "%smid" => Special::SmId,
        "%nsmid" => Special::NSmId,
        "%gridid" => Special::GridId,
        "%lanemask_eq" => Special::LaneMaskEq,
        "%lanemask_le" => Special::LaneMaskLe,
        "%lanemask_lt" => Special::LaneMaskLt,
        "%lanemask_ge" => Special::LaneMaskGe,
        "%lanemask_gt" => Special::LaneMaskGt,
        "%dynamic_smem_size" => Special::DynamicSharedSize,
        "%total_smem_size" => Special::TotalSharedSize,
        "%aggr_smem_size" => Special::AggregateSharedSize,
        // PTX ISA 10: %envreg<32>.
        _ => {
            let number: u8 = name.strip_prefix("%envreg")?.parse().ok()?;
            return (number < 32).then_some(Special::Environment(number));
        }
    })
}
