//! Floating-point arithmetic and the `.approx` functions.

use super::body::{Body, Result};
use super::mods::Mods;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::Alu;
use crate::isa::ir::alu::{PQ, PR, Q1, Q2, Q3, R1, R2, R3};
use crate::isa::names::{Q, R};
use crate::isa::ops::round::Mode;
use crate::isa::types::Type;

/// Modifiers of a floating-point operation that work before and after it.
#[derive(Clone, Copy, Default)]
struct Around {
    flush: bool,
    saturate: bool,
    relu: bool,
}

impl Around {
    /// The operation itself flushes its result.
    fn flushed(self) -> Self {
        Self { flush: false, ..self }
    }
}

/// The four directions of one operation, in the order of `Mode`.
type Directions<T> = [T; 4];

fn directed<T: Copy>(all: Directions<T>, mode: Mode) -> T {
    match mode {
        Mode::Nearest => all[0],
        Mode::Zero => all[1],
        Mode::Down => all[2],
        Mode::Up => all[3],
    }
}

/// Takes `.rn`, `.rz`, `.rm` or `.rp`.
pub(super) fn take_mode(mods: &mut Mods) -> Option<Mode> {
    Some(match mods.take_any(&["rn", "rz", "rm", "rp"])? {
        "rn" => Mode::Nearest,
        "rz" => Mode::Zero,
        "rm" => Mode::Down,
        _ => Mode::Up,
    })
}

impl<'a> Body<'_, '_, '_, 'a> {
    /// True if the instruction was one of these.
    pub fn floating(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<bool> {
        let known = matches!(
            mods.base,
            "add"
                | "sub"
                | "mul"
                | "fma"
                | "mad"
                | "div"
                | "rcp"
                | "sqrt"
                | "rsqrt"
                | "neg"
                | "abs"
                | "min"
                | "max"
                | "copysign"
                | "ex2"
                | "lg2"
                | "sin"
                | "cos"
                | "tanh"
                | "testp"
        );
        let Some(ty) = mods.peek_type().filter(|ty| known && ty.is_float()) else {
            return Ok(false);
        };
        mods.ty();
        if mods.base == "testp" {
            self.test_class(mods, operands, ty)?;
            return Ok(true);
        }
        let around =
            Around { flush: mods.take("ftz"), saturate: mods.take("sat"), relu: mods.take("relu") };
        let approximate = mods.take("approx") | mods.take("full");
        let mode = take_mode(mods).unwrap_or(Mode::Nearest);
        let nan = mods.take("NaN");
        match operands.len() {
            2 => self.float_unary(mods.base, operands, ty, around, mode, approximate)?,
            3 => self.float_binary(mods.base, operands, ty, around, mode, nan)?,
            4 => self.float_ternary(operands, ty, around, mode)?,
            count => return Err(self.malformed(format!("{count} operands for `{}`", mods.base))),
        }
        Ok(true)
    }

    fn float_unary(
        &mut self,
        base: &str,
        operands: &[Operand<'a>],
        ty: Type,
        around: Around,
        mode: Mode,
        approximate: bool,
    ) -> Result<()> {
        let [d, a] = self.exactly(operands)?;
        if ty == Type::F64 {
            let op = match base {
                "neg" => Q1::NegF,
                "abs" => Q1::AbsF,
                "rcp" => directed([Q1::RcpF, Q1::RcpRz, Q1::RcpRm, Q1::RcpRp], mode),
                "sqrt" => directed([Q1::SqrtF, Q1::SqrtRz, Q1::SqrtRm, Q1::SqrtRp], mode),
                "rsqrt" => Q1::Rsqrt,
                _ => return Err(self.unsupported(format!("`{base}.f64`"))),
            };
            let (a, d) = (self.float_q(a, around)?, self.dst_q(d)?);
            self.alu(Alu::Q1(op, d, a));
            self.after_q(d, around);
            return Ok(());
        }
        let op = match (base, ty) {
            ("neg", Type::F32) => R1::NegF,
            ("abs", Type::F32) => R1::AbsF,
            ("rcp", Type::F32) if approximate => R1::RcpF,
            ("rcp", Type::F32) if around.flush && mode == Mode::Down => R1::RcpFtzRm,
            ("rcp", Type::F32) if around.flush && mode == Mode::Up => R1::RcpFtzRp,
            ("rcp", Type::F32) => directed([R1::RcpF, R1::RcpRz, R1::RcpRm, R1::RcpRp], mode),
            ("sqrt", Type::F32) => directed([R1::SqrtF, R1::SqrtRz, R1::SqrtRm, R1::SqrtRp], mode),
            ("rsqrt", Type::F32) => R1::Rsqrt,
            ("ex2", Type::F32) => R1::Ex2,
            ("lg2", Type::F32) => R1::Lg2,
            ("sin", Type::F32) => R1::Sin,
            ("cos", Type::F32) => R1::Cos,
            ("tanh", Type::F32) => R1::Tanh,
            ("neg", Type::F16 | Type::Bf16) => R1::NegH,
            ("neg", Type::F16x2 | Type::Bf16x2) => R1::NegH2,
            ("abs", Type::F16 | Type::Bf16) => R1::AbsH,
            ("abs", Type::F16x2 | Type::Bf16x2) => R1::AbsH2,
            ("ex2", Type::F16) => R1::Ex2F16,
            ("ex2", Type::Bf16) => R1::Ex2Bf16,
            ("ex2", Type::F16x2) => R1::Ex2F16x2,
            ("ex2", Type::Bf16x2) => R1::Ex2Bf16x2,
            ("tanh", Type::F16) => R1::TanhF16,
            ("tanh", Type::Bf16) => R1::TanhBf16,
            ("tanh", Type::F16x2) => R1::TanhF16x2,
            ("tanh", Type::Bf16x2) => R1::TanhBf16x2,
            _ => return Err(self.unsupported(format!("`{base}` of this type"))),
        };
        let (a, (d, _)) = (self.float_r(a, ty, around)?, self.dst_r(d)?);
        self.alu(Alu::R1(op, d, a));
        self.after_r(d, ty, around);
        Ok(())
    }

    fn float_binary(
        &mut self,
        base: &str,
        operands: &[Operand<'a>],
        ty: Type,
        around: Around,
        mode: Mode,
        nan: bool,
    ) -> Result<()> {
        let [d, a, b] = self.exactly(operands)?;
        if ty == Type::F64 {
            let mut flipped = false;
            let op = match base {
                "add" => directed([Q2::AddF, Q2::AddRz, Q2::AddRm, Q2::AddRp], mode),
                "sub" if mode == Mode::Nearest => Q2::SubF,
                "sub" => {
                    flipped = true;
                    directed([Q2::AddF, Q2::AddRz, Q2::AddRm, Q2::AddRp], mode)
                }
                "mul" => directed([Q2::MulF, Q2::MulRz, Q2::MulRm, Q2::MulRp], mode),
                "div" => directed([Q2::DivF, Q2::DivRz, Q2::DivRm, Q2::DivRp], mode),
                "min" => Q2::MinF,
                "max" => Q2::MaxF,
                "copysign" => Q2::CopysignF,
                _ => return Err(self.unsupported(format!("`{base}.f64`"))),
            };
            let (a, mut b) = (self.float_q(a, around)?, self.float_q(b, around)?);
            let d = self.dst_q(d)?;
            if flipped {
                let negative = self.builder.new_q();
                self.alu(Alu::Q1(Q1::NegF, negative, b));
                b = negative;
            }
            self.alu(Alu::Q2(op, d, a, b));
            self.after_q(d, around);
            return Ok(());
        }
        let mut flipped = false;
        let op = match (base, ty) {
            ("add", Type::F32) => directed([R2::AddF, R2::AddRz, R2::AddRm, R2::AddRp], mode),
            ("sub", Type::F32) if mode == Mode::Nearest => R2::SubF,
            ("sub", Type::F32) => {
                flipped = true;
                directed([R2::AddF, R2::AddRz, R2::AddRm, R2::AddRp], mode)
            }
            ("mul", Type::F32) => directed([R2::MulF, R2::MulRz, R2::MulRm, R2::MulRp], mode),
            ("div", Type::F32) => directed([R2::DivF, R2::DivRz, R2::DivRm, R2::DivRp], mode),
            ("min", Type::F32) => [R2::MinF, R2::MinNanF][usize::from(nan)],
            ("max", Type::F32) => [R2::MaxF, R2::MaxNanF][usize::from(nan)],
            ("copysign", Type::F32) => R2::CopysignF,
            ("add", Type::F16) => R2::AddF16,
            ("sub", Type::F16) => R2::SubF16,
            ("mul", Type::F16) => R2::MulF16,
            ("min", Type::F16) => [R2::MinF16, R2::MinNanF16][usize::from(nan)],
            ("max", Type::F16) => [R2::MaxF16, R2::MaxNanF16][usize::from(nan)],
            ("add", Type::Bf16) => R2::AddBf16,
            ("sub", Type::Bf16) => R2::SubBf16,
            ("mul", Type::Bf16) => R2::MulBf16,
            ("min", Type::Bf16) => [R2::MinBf16, R2::MinNanBf16][usize::from(nan)],
            ("max", Type::Bf16) => [R2::MaxBf16, R2::MaxNanBf16][usize::from(nan)],
            ("add", Type::F16x2) => R2::AddF16x2,
            ("sub", Type::F16x2) => R2::SubF16x2,
            ("mul", Type::F16x2) => R2::MulF16x2,
            ("min", Type::F16x2) => [R2::MinF16x2, R2::MinNanF16x2][usize::from(nan)],
            ("max", Type::F16x2) => [R2::MaxF16x2, R2::MaxNanF16x2][usize::from(nan)],
            ("add", Type::Bf16x2) => R2::AddBf16x2,
            ("sub", Type::Bf16x2) => R2::SubBf16x2,
            ("mul", Type::Bf16x2) => R2::MulBf16x2,
            ("min", Type::Bf16x2) => [R2::MinBf16x2, R2::MinNanBf16x2][usize::from(nan)],
            ("max", Type::Bf16x2) => [R2::MaxBf16x2, R2::MaxNanBf16x2][usize::from(nan)],
            _ => return Err(self.unsupported(format!("`{base}` of this type"))),
        };
        let (a, mut b) = (self.float_r(a, ty, around)?, self.float_r(b, ty, around)?);
        let (d, _) = self.dst_r(d)?;
        if flipped {
            let negative = self.builder.new_r();
            self.alu(Alu::R1(R1::NegF, negative, b));
            b = negative;
        }
        let (op, around) = match op {
            R2::MulF if around.flush => (R2::MulFtz, around.flushed()),
            R2::MulRm if around.flush => (R2::MulFtzRm, around.flushed()),
            R2::MulRp if around.flush => (R2::MulFtzRp, around.flushed()),
            R2::DivRm if around.flush => (R2::DivFtzRm, around.flushed()),
            R2::DivRp if around.flush => (R2::DivFtzRp, around.flushed()),
            R2::MulF16 if around.flush => (R2::MulFtzF16, around.flushed()),
            R2::MulF16x2 if around.flush => (R2::MulFtzF16x2, around.flushed()),
            op => (op, around),
        };
        self.alu(Alu::R2(op, d, a, b));
        self.after_r(d, ty, around);
        Ok(())
    }

    /// `fma`, and `mad`, which is `fma` for floats on every target since `sm_20`.
    fn float_ternary(
        &mut self,
        operands: &[Operand<'a>],
        ty: Type,
        around: Around,
        mode: Mode,
    ) -> Result<()> {
        let [d, a, b, c] = self.exactly(operands)?;
        if ty == Type::F64 {
            let op = directed([Q3::FmaF, Q3::FmaRz, Q3::FmaRm, Q3::FmaRp], mode);
            let (a, b) = (self.float_q(a, around)?, self.float_q(b, around)?);
            let (c, d) = (self.float_q(c, around)?, self.dst_q(d)?);
            self.alu(Alu::Q3(op, d, a, b, c));
            self.after_q(d, around);
            return Ok(());
        }
        let op = match ty {
            Type::F16 => R3::FmaF16,
            Type::F16x2 => R3::FmaF16x2,
            Type::Bf16 => R3::FmaBf16,
            Type::Bf16x2 => R3::FmaBf16x2,
            _ => directed([R3::FmaF, R3::FmaRz, R3::FmaRm, R3::FmaRp], mode),
        };
        let (a, b) = (self.float_r(a, ty, around)?, self.float_r(b, ty, around)?);
        let (c, (d, _)) = (self.float_r(c, ty, around)?, self.dst_r(d)?);
        let (op, around) = match op {
            R3::FmaF if around.flush => (R3::FmaFtz, around.flushed()),
            R3::FmaRm if around.flush => (R3::FmaFtzRm, around.flushed()),
            R3::FmaRp if around.flush => (R3::FmaFtzRp, around.flushed()),
            R3::FmaF16 if around.flush => (R3::FmaFtzF16, around.flushed()),
            R3::FmaF16x2 if around.flush => (R3::FmaFtzF16x2, around.flushed()),
            op => (op, around),
        };
        self.alu(Alu::R3(op, d, a, b, c));
        self.after_r(d, ty, around);
        Ok(())
    }

    fn test_class(
        &mut self,
        mods: &mut Mods<'a>,
        operands: &[Operand<'a>],
        ty: Type,
    ) -> Result<()> {
        let [d, a] = self.exactly(operands)?;
        let class =
            mods.take_any(&["finite", "infinite", "number", "notanumber", "normal", "subnormal"]);
        let (r, q) = match class {
            Some("finite") => (PR::Finite, PQ::Finite),
            Some("infinite") => (PR::Infinite, PQ::Infinite),
            Some("number") => (PR::Number, PQ::Number),
            Some("notanumber") => (PR::NotANumber, PQ::NotANumber),
            Some("normal") => (PR::Normal, PQ::Normal),
            Some("subnormal") => (PR::Subnormal, PQ::Subnormal),
            _ => return Err(self.malformed("`testp` needs a class such as `.finite`")),
        };
        let d = self.dst_p(d)?;
        match ty {
            Type::F32 => {
                let a = self.value_r(a, ty)?;
                self.alu(Alu::PR(r, d, a));
            }
            Type::F64 => {
                let a = self.value_q(a, ty)?;
                self.alu(Alu::PQ(q, d, a));
            }
            _ => return Err(self.unsupported("`testp` of this type")),
        }
        Ok(())
    }

    /// A source, flushed where `.ftz` says so.
    fn float_r(&mut self, operand: &Operand<'a>, ty: Type, around: Around) -> Result<R> {
        let value = self.value_r(operand, ty)?;
        let flush = match ty {
            Type::F16 => R1::FlushF16,
            Type::F16x2 => R1::FlushF16x2,
            Type::Bf16 => R1::FlushBf16,
            Type::Bf16x2 => R1::FlushBf16x2,
            _ => R1::FlushF,
        };
        if !around.flush {
            return Ok(value);
        }
        Ok(self.step(flush, value))
    }

    fn float_q(&mut self, operand: &Operand<'a>, around: Around) -> Result<Q> {
        let value = self.value_q(operand, Type::F64)?;
        if !around.flush {
            return Ok(value);
        }
        let flushed = self.builder.new_q();
        self.prepare(Alu::Q1(Q1::FlushF, flushed, value));
        Ok(flushed)
    }

    fn after_r(&mut self, d: R, ty: Type, around: Around) {
        let (flush, saturate, relu) = match ty {
            Type::F16 => (R1::FlushF16, R1::SatF16, R1::ReluF16),
            Type::F16x2 => (R1::FlushF16x2, R1::SatF16x2, R1::ReluF16x2),
            Type::Bf16 => (R1::FlushBf16, R1::SatBf16, R1::ReluBf16),
            Type::Bf16x2 => (R1::FlushBf16x2, R1::SatBf16x2, R1::ReluBf16x2),
            _ => (R1::FlushF, R1::SatF, R1::ReluF16),
        };
        // `.relu` does not exist for f32.
        if around.flush {
            self.alu(Alu::R1(flush, d, d));
        }
        if around.saturate {
            self.alu(Alu::R1(saturate, d, d));
        }
        if around.relu && ty != Type::F32 {
            self.alu(Alu::R1(relu, d, d));
        }
    }

    fn after_q(&mut self, d: Q, around: Around) {
        if around.flush {
            self.alu(Alu::Q1(Q1::FlushF, d, d));
        }
        if around.saturate {
            self.alu(Alu::Q1(Q1::SatF, d, d));
        }
    }
}
