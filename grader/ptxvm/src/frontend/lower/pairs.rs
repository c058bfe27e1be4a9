//! Pairs of `f32` in a register of 64 bits (PTX ISA 9.7.3, `add`, `sub`, `mul` and `fma` of `.f32x2`): each half by itself.

use super::body::{Body, Result};
use super::float::take_mode;
use super::mods::Mods;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::Alu;
use crate::isa::ir::alu::{QRR, R1, R2, R3, RQ};
use crate::isa::names::R;
use crate::isa::ops::round::Mode;
use crate::isa::types::Type;

impl<'a> Body<'_, '_, '_, 'a> {
    /// True if the instruction was one of these.
    pub fn pair_of_floats(
        &mut self,
        mods: &mut Mods<'a>,
        operands: &[Operand<'a>],
    ) -> Result<bool> {
        let base = mods.base;
        if !matches!(base, "add" | "sub" | "mul" | "fma") || !mods.take("f32x2") {
            return Ok(false);
        }
        let mode = take_mode(mods).unwrap_or(Mode::Nearest);
        let flush = mods.take("ftz");
        let [d, sources @ ..] = operands else {
            return Err(self.malformed("a pair of floats needs a destination"));
        };
        if sources.len() != if base == "fma" { 3 } else { 2 } {
            return Err(self.malformed(format!("{} operands for `{base}`", operands.len())));
        }
        let mut halves = Vec::with_capacity(sources.len());
        for source in sources {
            let pair = self.value_q(source, Type::B64)?;
            halves.push([RQ::Low, RQ::High].map(|half| {
                let value = self.builder.new_r();
                self.prepare(Alu::RQ(half, value, pair));
                if flush { self.step(R1::FlushF, value) } else { value }
            }));
        }
        let d = self.dst_q(d)?;
        let results = [0, 1].map(|half| {
            let mut sources = halves.iter().map(|source| source[half]);
            let [a, b, c] = [0; 3].map(|_| sources.next());
            self.float_of_pair(base, mode, flush, [a, b, c])
        });
        let [Some(low), Some(high)] = results else {
            return Err(self.malformed("a pair of floats needs two or three sources"));
        };
        self.alu(Alu::QRR(QRR::Pack, d, low, high));
        Ok(true)
    }

    /// One half. None where a source lacks.
    fn float_of_pair(
        &mut self,
        base: &str,
        mode: Mode,
        flush: bool,
        [a, b, c]: [Option<R>; 3],
    ) -> Option<R> {
        let (a, b, d) = (a?, b?, self.builder.new_r());
        // A product is flushed before it is rounded up to the smallest normal number.
        let (op, flushed) = match (base, mode) {
            ("fma", mode) => {
                let (op, flushed) = match (mode, flush) {
                    (Mode::Nearest, false) => (R3::FmaF, false),
                    (Mode::Nearest, true) => (R3::FmaFtz, true),
                    (Mode::Down, false) => (R3::FmaRm, false),
                    (Mode::Down, true) => (R3::FmaFtzRm, true),
                    (Mode::Up, false) => (R3::FmaRp, false),
                    (Mode::Up, true) => (R3::FmaFtzRp, true),
                    (Mode::Zero, _) => (R3::FmaRz, false),
                };
                (Alu::R3(op, d, a, b, c?), flushed)
            }
            ("mul", mode) => {
                let (op, flushed) = match (mode, flush) {
                    (Mode::Nearest, false) => (R2::MulF, false),
                    (Mode::Nearest, true) => (R2::MulFtz, true),
                    (Mode::Down, false) => (R2::MulRm, false),
                    (Mode::Down, true) => (R2::MulFtzRm, true),
                    (Mode::Up, false) => (R2::MulRp, false),
                    (Mode::Up, true) => (R2::MulFtzRp, true),
                    (Mode::Zero, _) => (R2::MulRz, false),
                };
                (Alu::R2(op, d, a, b), flushed)
            }
            (_, mode) => {
                let b = if base == "sub" { self.step(R1::NegF, b) } else { b };
                let op = match mode {
                    Mode::Nearest => R2::AddF,
                    Mode::Zero => R2::AddRz,
                    Mode::Down => R2::AddRm,
                    Mode::Up => R2::AddRp,
                };
                (Alu::R2(op, d, a, b), false)
            }
        };
        self.alu(op);
        if flush && !flushed {
            self.alu(Alu::R1(R1::FlushF, d, d));
        }
        Some(d)
    }
}
