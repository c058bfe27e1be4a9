//! What a kernel compares: the literals in the comparisons of its PTX. A kernel with special code for a size or a value names it
//! there.

use crate::ptx;
use std::collections::{BTreeMap, BTreeSet};

/// What a kernel compares.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparisons {
    /// A sum of parameters, and an integer that it is compared with.
    pub sums: BTreeSet<(ParamSum, i64)>,
    /// The sizes of the numbers that values of type f32 or f64 are compared with; 0 and what is not finite are left out.
    pub values: Vec<f64>,
}

/// A sum of parameters: the position of each with its factor, which is not 0.
pub type ParamSum = BTreeMap<usize, i64>;

/// What is known of a register.
#[derive(Clone, Debug)]
enum Known {
    /// A sum of parameters and a number.
    Sum(ParamSum, i64),
    /// A multiple of this number.
    Multiple(i64),
    Float(f64),
}

/// The comparisons of a kernel by its name in the PTX: those of `setp`, `set`, `min` and `max`, and remainders (PTX ISA 9.7.1, 9.7.3
/// and 9.7.6), in which both sides are integers that follow from parameters and literals, or one is a floating-point literal.
pub fn comparisons(ptx: &str, symbol: &str) -> Comparisons {
    let text = ptx::kernel(ptx, symbol).unwrap_or_default();
    let mut definitions: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, operands) in text.lines().filter_map(instruction) {
        *definitions.entry(operands[0]).or_default() += 1;
    }
    let mut registers: BTreeMap<&str, Known> = BTreeMap::new();
    let mut found = Comparisons::default();
    for (opcode, operands) in text.lines().filter_map(instruction) {
        let of = |nth: usize| {
            let operand = operands.get(nth)?;
            registers.get(operand).cloned().or_else(|| literal(operand))
        };
        let mut parts = opcode.split('.');
        let value = match parts.next().unwrap_or_default() {
            "ld" if opcode.starts_with("ld.param") => {
                let at = operands.get(1).and_then(|place| param(place));
                at.map(|at| Known::Sum(ParamSum::from([(at, 1)]), 0))
            }
            "mov" => of(1),
            "cvt" if !parts.any(is_float) => of(1),
            "neg" => scaled(of(1), -1),
            "add" => sum(of(1), of(2)),
            // What is left of a division, which the compiler makes a product.
            "sub" if let (Some(of), Some(Known::Multiple(number))) = (of(1), of(2)) => {
                found.add(Some(of), Some(Known::Sum(ParamSum::new(), number)));
                None
            }
            "sub" => sum(of(1), scaled(of(2), -1)),
            "and" => {
                let one = Some(Known::Sum(ParamSum::new(), 1));
                found.add(of(1), sum(of(2), one));
                None
            }
            "mul" if !opcode.contains(".hi") => product(of(1), of(2)),
            "mad" if !opcode.contains(".hi") => sum(product(of(1), of(2)), of(3)),
            "shl" => {
                number(of(2)).filter(|n| (0..32).contains(n)).and_then(|n| scaled(of(1), 1 << n))
            }
            "setp" | "set" | "min" | "max" | "rem" => {
                found.add(of(1), of(2));
                None
            }
            _ => None,
        };
        // One that is set in two places holds different values.
        if let Some(value) = value.filter(|_| definitions[operands[0]] == 1) {
            registers.insert(operands[0], value);
        }
    }
    found
}

impl Comparisons {
    fn add(&mut self, left: Option<Known>, right: Option<Known>) {
        let of = [&left, &right].into_iter().flatten();
        for value in
            of.filter_map(|known| if let Known::Float(value) = known { Some(value) } else { None })
        {
            let size = value.abs();
            if size.is_finite() && size > 0.0 && !self.values.contains(&size) {
                self.values.push(size);
            }
        }
        let difference = sum(left, scaled(right, -1));
        // With a positive term first, so that `a - b` and `b - a` are one.
        let is_turned = matches!(&difference, Some(Known::Sum(terms, _))
            if terms.values().next().is_some_and(|factor| *factor < 0));
        let turned = if is_turned { scaled(difference, -1) } else { difference };
        if let Some(Known::Sum(terms, added)) = turned
            && !terms.is_empty()
            && let Some(number) = added.checked_neg()
        {
            self.sums.insert((terms, number));
        }
    }
}

/// The number, if it is an integer.
fn number(of: Option<Known>) -> Option<i64> {
    match of? {
        Known::Sum(terms, number) if terms.is_empty() => Some(number),
        _ => None,
    }
}

fn scaled(of: Option<Known>, factor: i64) -> Option<Known> {
    let Known::Sum(terms, added) = of? else { return None };
    let times = |value: i64| value.checked_mul(factor);
    let mut terms: ParamSum =
        terms.into_iter().map(|(at, of)| Some((at, times(of)?))).collect::<Option<_>>()?;
    terms.retain(|_, factor| *factor != 0);
    Some(Known::Sum(terms, times(added)?))
}

fn sum(left: Option<Known>, right: Option<Known>) -> Option<Known> {
    let (Known::Sum(mut terms, added), Known::Sum(more, number)) = (left?, right?) else {
        return None;
    };
    for (at, factor) in more {
        let own = terms.entry(at).or_default();
        *own = own.checked_add(factor)?;
    }
    terms.retain(|_, factor| *factor != 0);
    Some(Known::Sum(terms, added.checked_add(number)?))
}

fn product(left: Option<Known>, right: Option<Known>) -> Option<Known> {
    match (number(left.clone()), number(right.clone())) {
        (Some(factor), _) => scaled(right, factor),
        (_, Some(factor)) if left.is_some() => scaled(left, factor),
        (None, Some(factor)) => Some(Known::Multiple(factor)),
        _ => None,
    }
}

/// The opcode and the operands of an instruction with at least one of these.
fn instruction(line: &str) -> Option<(&str, Vec<&str>)> {
    let line = line.trim().strip_suffix(';')?;
    let line = match line.strip_prefix('@') {
        Some(guarded) => guarded.split_once(char::is_whitespace)?.1.trim_start(),
        None => line,
    };
    let (opcode, operands) = line.split_once(char::is_whitespace)?;
    Some((opcode, operands.split(',').map(str::trim).collect()))
}

/// The position of the parameter of an address such as `[kernel_param_2]`; `None` for a part of one.
fn param(address: &str) -> Option<usize> {
    let name = address.strip_prefix('[')?.strip_suffix(']')?;
    name.rsplit_once("_param_")?.1.parse().ok()
}

fn is_float(part: &str) -> bool {
    part.starts_with(['f', 'b']) && part[1..].starts_with(|c: char| c.is_ascii_digit())
}

/// The value of a literal (PTX ISA 4.5): decimal, or the bits of a number in hexadecimal digits.
fn literal(operand: &str) -> Option<Known> {
    let bits = |digits: &str| u64::from_str_radix(digits, 16).ok();
    if let Some(digits) = operand.strip_prefix("0f").or(operand.strip_prefix("0F")) {
        return Some(Known::Float(f32::from_bits(u32::try_from(bits(digits)?).ok()?).into()));
    }
    if let Some(digits) = operand.strip_prefix("0d").or(operand.strip_prefix("0D")) {
        return Some(Known::Float(f64::from_bits(bits(digits)?)));
    }
    operand.parse().ok().map(|number| Known::Sum(ParamSum::new(), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_beside_parameters_and_numbers_are_found() {
        let ptx = "
.visible .entry other(.param .u32 other_param_0)
{
    ld.param.u32 %r1, [other_param_0];
    setp.eq.s32 %p1, %r1, 4;
}
.visible .entry k(
    .param .u64 k_param_0,
    .param .u32 k_param_1,
    .param .u32 k_param_2
)
{
    ld.param.u64 %rd1, [k_param_0];
    ld.param.u32 %r1, [k_param_1];
    mov.f32 %f9, 0f7149F2CA;
    mov.u32 %r2, 0;
    add.s32 %r3, %r1, -1;
    setp.lt.u32 %p1, %r3, 3;
    @%p1 bra $L;
    min.s32 %r4, %r1, 128;
    setp.eq.and.s32 %p2, 777, %r1, %p1;
    setp.gt.s32 %p3, %r2, 50;
    neg.s32 %r12, %r1;
    setp.eq.s64 %p8, -9223372036854775808, %r12;
    ld.param.u32 %r5, [k_param_2];
    sub.s32 %r6, %r1, %r5;
    add.s32 %r7, %r6, 1;
    setp.eq.s32 %p6, %r7, 9;
    setp.eq.s32 %p7, %r5, %r1;
    mul.hi.s32 %r8, %r1, 715827883;
    mul.lo.s32 %r9, %r8, 48;
    sub.s32 %r10, %r1, %r9;
    and.b32 %r11, %r1, 63;
$L:
    add.s32 %r2, %r2, 1;
    ld.global.f32 %f1, [%rd1];
    setp.gt.f32 %p4, %f1, %f9;
    max.f32 %f2, %f1, 0f00000000;
    setp.lt.f32 %p5, %f1, 0fBF000000;
    ret;
}
";
        let found = comparisons(ptx, "k");
        let one = ParamSum::from([(1, 1)]);
        let difference = ParamSum::from([(1, 1), (2, -1)]);
        let of_one = [4, 48, 64, 128, 777].map(|number| (one.clone(), number));
        let of_two = [0, 8].map(|number| (difference.clone(), number));
        assert_eq!(found.sums, of_one.into_iter().chain(of_two).collect());
        assert_eq!(found.values, [f64::from(1e30_f32), 0.5]);
        assert_eq!(comparisons(ptx, "other").sums, [(ParamSum::from([(0, 1)]), 4)].into());
        assert_eq!(comparisons(ptx, "none"), Comparisons::default());
    }
}
