//! The registers that an instruction reads and writes.

use super::ir::Alu;
use super::opcodes::with_lane_operations;
use crate::isa::names::{Pred, Reg32, Reg64, Slot};

/// Registers of a lane operation.
pub struct Operands {
    /// The destination; None if it is a predicate, which holds no value to follow.
    pub dst: Option<Slot>,
    pub sources: [Slot; 4],
}

trait Register {
    fn slot(self) -> Option<Slot>;
}

impl Register for Reg32 {
    fn slot(self) -> Option<Slot> {
        Some(Slot::Reg32(self))
    }
}

impl Register for Reg64 {
    fn slot(self) -> Option<Slot> {
        Some(Slot::Reg64(self))
    }
}

impl Register for Pred {
    fn slot(self) -> Option<Slot> {
        None
    }
}

fn of<const N: usize>(dst: impl Register, sources: [Option<Slot>; N]) -> Operands {
    let mut slots = [Slot::Sink; 4];
    for (slot, source) in slots.iter_mut().zip(sources) {
        *slot = source.unwrap_or(Slot::Sink);
    }
    Operands { dst: dst.slot(), sources: slots }
}

macro_rules! define_operands {
    ($($(#[$doc:meta])* $signature:ident($method:ident: $dst:ident, $($file:ident),*) {
        $($op:ident $class:ident $rule:ident $(($($argument:tt)*))? $speed:ident $path:path $(= $($ptx:literal),+)?;)*
    })*) => {
        define_operands!{ @arms alu [] $($signature [$($file),*])* }
    };
    (@arms $alu:ident [$($arms:tt)*]) => {
        /// None where there is no rule.
        pub fn operands($alu: &Alu) -> Option<Operands> {
            Some(match *$alu {
                $($arms)*
                Alu::CarryR(_, d, a, b) => of(d, [a.slot(), b.slot()]),
                Alu::CarryQ(_, d, a, b) => of(d, [a.slot(), b.slot()]),
                _ => return None,
            })
        }
    };
    (@arms $alu:ident [$($arms:tt)*] $signature:ident [$f1:ident] $($rest:tt)*) => {
        define_operands!{ @arms $alu [$($arms)*
            Alu::$signature(_, d, a) => of(d, [a.slot()]),] $($rest)* }
    };
    (@arms $alu:ident [$($arms:tt)*] $signature:ident [$f1:ident, $f2:ident] $($rest:tt)*) => {
        define_operands!{ @arms $alu [$($arms)*
            Alu::$signature(_, d, a, b) => of(d, [a.slot(), b.slot()]),] $($rest)* }
    };
    (@arms $alu:ident [$($arms:tt)*] $signature:ident [$f1:ident, $f2:ident, $f3:ident] $($rest:tt)*) => {
        define_operands!{ @arms $alu [$($arms)*
            Alu::$signature(_, d, a, b, c) => of(d, [a.slot(), b.slot(), c.slot()]),] $($rest)* }
    };
    (@arms $alu:ident [$($arms:tt)*] $signature:ident [$f1:ident, $f2:ident, $f3:ident, $f4:ident]
        $($rest:tt)*) => {
        define_operands!{ @arms $alu [$($arms)*
            Alu::$signature(_, d, a, b, c, e) => of(d, [a.slot(), b.slot(), c.slot(), e.slot()]),]
            $($rest)* }
    };
}
with_lane_operations!(define_operands);
