//! Scalar and SIMD video instructions.

use super::Body;
use super::body::Result;
use super::modifiers::Modifiers;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::alu::{R1, R2, R3, R4};
use crate::isa::ir::{Alu, Uniform};
use crate::isa::names::Reg32;
use crate::isa::ops::video::{
    PrimaryOperation, ScalarVideo, SecondaryOperation, Selector, SimdVideo,
};
use crate::isa::types::Type;

/// The elements that `vadd4` takes from its operands where nothing else is said: those of the first, those of the second.
const ELEMENTS: [u32; 2] = [0x3210, 0x7654];

const COMPARISONS: [(&str, PrimaryOperation); 6] = [
    ("eq", PrimaryOperation::Eq),
    ("ne", PrimaryOperation::Ne),
    ("lt", PrimaryOperation::Lt),
    ("le", PrimaryOperation::Le),
    ("gt", PrimaryOperation::Gt),
    ("ge", PrimaryOperation::Ge),
];

fn compared(modifiers: &mut Modifiers) -> Option<PrimaryOperation> {
    COMPARISONS.iter().find(|(name, _)| modifiers.take(name)).map(|&(_, action)| action)
}

/// The part of a register that a selector such as `.b2` or `.h1` names; None if it is not a selector.
fn part(selector: &str) -> Option<Selector> {
    let index: u32 = selector.get(1..)?.parse().ok()?;
    match (selector.as_bytes()[0], index) {
        (b'b', 0..4) => Some(Selector { start: index * 8, bits: 8 }),
        (b'h', 0..2) => Some(Selector { start: index * 16, bits: 16 }),
        _ => None,
    }
}

/// The digits of `.b7201` or `.h32`, the first element's first; `count` of them.
fn digits(selector: &str, prefix: char, count: usize) -> Option<Vec<u32>> {
    let digits = selector.strip_prefix(prefix)?;
    let all: Option<Vec<u32>> = digits.chars().rev().map(|digit| digit.to_digit(8)).collect();
    all.filter(|all| all.len() <= count && !all.is_empty())
}

impl<'a> Body<'_, '_, '_, 'a> {
    fn action(
        &self,
        modifiers: &mut Modifiers<'a>,
        action: Option<PrimaryOperation>,
    ) -> Result<PrimaryOperation> {
        let action = action.or_else(|| compared(modifiers));
        action.ok_or_else(|| self.malformed("a comparison such as `.lt` is missing"))
    }

    /// Whether the result and the two operands are signed.
    fn video_types(
        &self,
        modifiers: &mut Modifiers<'a>,
        result: bool,
    ) -> Result<(bool, [bool; 2])> {
        let (b, a) = (modifiers.ty(), modifiers.ty());
        let d = if result { modifiers.ty() } else { Some(Type::U32) };
        match [d, a, b].map(|ty| ty.filter(|ty| matches!(ty, Type::S32 | Type::U32))) {
            [Some(d), Some(a), Some(b)] => Ok((d.is_signed(), [a.is_signed(), b.is_signed()])),
            _ => Err(self.malformed(format!("`{}` needs types such as `.s32`", modifiers.base))),
        }
    }

    /// A register and what stands behind the dot.
    fn selected<'o>(operand: &'o Operand<'a>) -> (Operand<'a>, Option<&'a str>)
    where
        'a: 'o,
    {
        match operand {
            Operand::Name(name) => match name.split_once('.') {
                Some((name, selector)) => (Operand::Name(name), Some(selector)),
                None => (Operand::Name(name), None),
            },
            other => (other.clone(), None),
        }
    }

    /// A part of a register, extended to 32 bits.
    fn video_source(&mut self, operand: &Operand<'a>, signed: bool) -> Result<Reg32> {
        let (register, selector) = Self::selected(operand);
        let value = self.value_r(&register, Type::U32)?;
        let Some(selector) = selector else { return Ok(value) };
        let part = part(selector)
            .ok_or_else(|| self.malformed(format!("`.{selector}` is not a part of a register")))?;
        let start = self.builder.uniform_r(Uniform::Bits(part.start.into()));
        let shifted = self.builder.new_r();
        self.prepare(Alu::R2(R2::ShrU, shifted, value, start));
        let op = match (part.bits, signed) {
            (8, true) => R1::Sext8,
            (8, false) => R1::Zext8,
            (_, true) => R1::Sext16,
            (_, false) => R1::Zext16,
        };
        self.prepare(Alu::R1(op, shifted, shifted));
        Ok(shifted)
    }

    /// `vadd` and its like. Without an action it is the comparison that a modifier names (`vset`).
    pub(super) fn video_scalar(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        action: Option<PrimaryOperation>,
    ) -> Result<()> {
        let is_set = action.is_none();
        let (signed, signed_sources) = self.video_types(modifiers, !is_set)?;
        let action = self.action(modifiers, action)?;
        let mut how = ScalarVideo {
            action,
            // The ISA does not say how `vset.min` compares; the assembler takes the first source's type.
            signed: signed || is_set && signed_sources[0],
            signed_sources,
            saturate: modifiers.take("sat"),
            wrap: modifiers.take("wrap"),
            plus_one: modifiers.take("po"),
            scale: match modifiers.take_any(&["shr7", "shr15"]) {
                Some("shr7") => 7,
                Some(_) => 15,
                None => 0,
            },
            part: Selector::ALL,
            then: match modifiers.take_any(&["add", "min", "max"]) {
                Some("add") => SecondaryOperation::Add,
                Some("min") => SecondaryOperation::Min,
                Some(_) => SecondaryOperation::Max,
                None => SecondaryOperation::Nothing,
            },
        };
        modifiers.take("clamp");
        let (d, a, b, c) = match operands {
            [d, a, b] => (d, a, b, None),
            [d, a, b, c] => (d, a, b, Some(c)),
            _ => return Err(self.malformed("a video instruction has two or three sources")),
        };
        let (d, selector) = Self::selected(d);
        if let Some(selector) = selector {
            how.part = part(selector).ok_or_else(|| {
                self.malformed(format!("`.{selector}` is not a part of a register"))
            })?;
            how.then = SecondaryOperation::Merge;
        }
        if c.is_none()
            != (how.then == SecondaryOperation::Nothing && action != PrimaryOperation::Mad)
        {
            return Err(self.malformed("the third source of a video instruction"));
        }
        let a = self.video_source(a, signed_sources[0])?;
        let b = self.video_source(b, signed_sources[1])?;
        let c = match c {
            Some(c) => self.value_r(c, Type::U32)?,
            None => self.builder.zero(),
        };
        let how = self.builder.uniform_r(Uniform::Bits(how.to_bits().into()));
        let (d, _) = self.dst_r(&d)?;
        self.alu(Alu::R4(R4::Video, d, a, b, c, how));
        Ok(())
    }

    /// Lowers `vadd2`, `vadd4` and their like.
    pub(super) fn video_simd(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        action: Option<PrimaryOperation>,
    ) -> Result<()> {
        let halves = modifiers.base.ends_with('2');
        let (signed, signed_sources) = self.video_types(modifiers, action.is_some())?;
        let action = self.action(modifiers, action)?;
        let [d, a, b, c] = self.exactly(operands)?;
        let (count, prefix) = if halves { (2, 'h') } else { (4, 'b') };
        let (d, mask) = Self::selected(d);
        let mask = match mask {
            None => (1 << count) - 1,
            Some(selector) => digits(selector, prefix, count)
                .filter(|all| all.iter().all(|&digit| (digit as usize) < count))
                .ok_or_else(|| self.malformed(format!("`.{selector}` selects no elements")))?
                .iter()
                .fold(0, |mask, digit| mask | 1 << digit),
        };
        let how = SimdVideo {
            action,
            signed,
            signed_sources,
            saturate: modifiers.take("sat"),
            accumulate: modifiers.take("add"),
            halves,
            mask,
        };
        let (first, second) = (Self::selected(a), Self::selected(b));
        let (a, b) = (self.value_r(&first.0, Type::U32)?, self.value_r(&second.0, Type::U32)?);
        let mut chosen = [a, b];
        for (index, selector) in [first.1, second.1].into_iter().enumerate() {
            let Some(selector) = selector else { continue };
            let all = digits(selector, prefix, count)
                .filter(|all| all.len() == count && (!halves || all.iter().all(|&half| half < 4)))
                .ok_or_else(|| self.malformed(format!("`.{selector}` selects no elements")))?;
            let bytes = all.iter().enumerate().fold(0, |bytes, (index, &digit)| {
                let pair = ((digit * 2 + 1) << 4) | (digit * 2);
                bytes | if halves { pair << (index * 8) } else { digit << (index * 4) }
            });
            if bytes != ELEMENTS[index] {
                let picked = self.builder.new_r();
                let bytes = self.builder.uniform_r(Uniform::Bits(bytes.into()));
                self.prepare(Alu::R3(R3::Prmt, picked, a, b, bytes));
                chosen[index] = picked;
            }
        }
        let c = self.value_r(c, Type::U32)?;
        let how = self.builder.uniform_r(Uniform::Bits(how.to_bits().into()));
        let (d, _) = self.dst_r(&d)?;
        self.alu(Alu::R4(R4::VideoSimd, d, chosen[0], chosen[1], c, how));
        Ok(())
    }
}
