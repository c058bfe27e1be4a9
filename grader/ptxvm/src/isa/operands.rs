//! The registers that an instruction reads and writes.

use super::ir::{Alu, MAX_OPERANDS, RegisterFile};
use super::opcodes::with_lane_operations;
use crate::isa::names::{Pred, Reg32, Reg64, Slot};

/// A register of one of the files.
#[derive(Clone, Copy)]
pub struct Register {
    file: RegisterFile,
    pub index: u32,
}

macro_rules! register_of_file {
    ($($file:ident)*) => {$(
        impl From<$file> for Register {
            fn from(register: $file) -> Self {
                Self { file: RegisterFile::$file, index: register.0 }
            }
        }
    )*};
}
register_of_file!(Reg32 Reg64 Pred);

/// The registers that a value comes from and goes to. Predicates hold no value to follow.
pub struct Operands {
    /// None: it is a predicate.
    pub dst: Option<Slot>,
    pub sources: [Slot; MAX_OPERANDS - 1],
}

/// None where the value depends on predicates.
pub fn operands(alu: &Alu) -> Option<Operands> {
    if matches!(alu, Alu::Logic(..) | Alu::SelectR(..) | Alu::SelectQ(..)) {
        return None;
    }
    let slot = |register: Option<Register>| match register?.file {
        RegisterFile::Reg32 => Some(Slot::Reg32(Reg32(register?.index))),
        RegisterFile::Reg64 => Some(Slot::Reg64(Reg64(register?.index))),
        RegisterFile::Pred => None,
    };
    let [dst, sources @ ..] = registers(alu);
    let sources = sources.map(|source| slot(source).unwrap_or(Slot::Sink));
    Some(Operands { dst: slot(dst), sources })
}

fn of<const N: usize>(registers: [Register; N]) -> [Option<Register>; MAX_OPERANDS] {
    let mut all = [None; MAX_OPERANDS];
    for (place, register) in all.iter_mut().zip(registers) {
        *place = Some(register);
    }
    all
}

macro_rules! define_registers {
    ($($(#[$doc:meta])* $signature:ident($method:ident: $dst:ident, $($file:ident),*) {
        $($op:ident $class:ident $rule:ident $(($($argument:tt)*))? $speed:ident $path:path $(= $($ptx:literal),+)?;)*
    })*) => {
        define_registers!{ @arms alu [] $($signature [$($file),*])* }
    };
    (@arms $alu:ident [$($arms:tt)*]) => {
        /// All registers of an instruction, the destination first.
        pub fn registers($alu: &Alu) -> [Option<Register>; MAX_OPERANDS] {
            match *$alu {
                $($arms)*
                Alu::Logic(_, d, a, b) => of([d.into(), a.into(), b.into()]),
                Alu::SelectR(d, a, b, p) => of([d.into(), a.into(), b.into(), p.into()]),
                Alu::SelectQ(d, a, b, p) => of([d.into(), a.into(), b.into(), p.into()]),
                Alu::CarryR(_, d, a, b) => of([d.into(), a.into(), b.into()]),
                Alu::CarryQ(_, d, a, b) => of([d.into(), a.into(), b.into()]),
            }
        }
    };
    (@arms $alu:ident [$($arms:tt)*] $signature:ident [$f1:ident] $($rest:tt)*) => {
        define_registers!{ @arms $alu [$($arms)*
            Alu::$signature(_, d, a) => of([d.into(), a.into()]),] $($rest)* }
    };
    (@arms $alu:ident [$($arms:tt)*] $signature:ident [$f1:ident, $f2:ident] $($rest:tt)*) => {
        define_registers!{ @arms $alu [$($arms)*
            Alu::$signature(_, d, a, b) => of([d.into(), a.into(), b.into()]),] $($rest)* }
    };
    (@arms $alu:ident [$($arms:tt)*] $signature:ident [$f1:ident, $f2:ident, $f3:ident] $($rest:tt)*) => {
        define_registers!{ @arms $alu [$($arms)*
            Alu::$signature(_, d, a, b, c) => of([d.into(), a.into(), b.into(), c.into()]),] $($rest)* }
    };
    (@arms $alu:ident [$($arms:tt)*] $signature:ident [$f1:ident, $f2:ident, $f3:ident, $f4:ident] $($rest:tt)*) => {
        define_registers!{ @arms $alu [$($arms)*
            Alu::$signature(_, d, a, b, c, e) => of([d.into(), a.into(), b.into(), c.into(), e.into()]),] $($rest)* }
    };
}
with_lane_operations!(define_registers);
