//! What a kernel compares: the literals in the comparisons of its PTX. A kernel with special code for a size or a value names it
//! there.

use crate::ptx;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// What a kernel compares.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparisons {
    /// A sum of parameters and extents, an integer that it is compared with, and how. The index of a block is compared with the last one
    /// if the grid has one block more.
    pub sums: BTreeMap<(GivenSum, i64), Compared>,
    /// The sizes of the numbers that values of type f32 or f64 are compared with; 0 and what is not finite are left out. Where they are
    /// converted to integers, the first number past these.
    pub values: Vec<f64>,
    /// How far other integers reach before the kernel treats them in another way: literals that indices are compared with, and the
    /// last integers that a narrow type holds where one is converted to it. Those that any small case passes are left out.
    pub reaches: BTreeSet<i64>,
    /// Smaller literals that integers are compared with of which nothing is known: indices, which a kernel may treat in another way where
    /// several of them are past one.
    pub indices: BTreeSet<i64>,
    /// The remainders that are compared, until all literals are known: a sum, its divisor, what is left.
    remainders: BTreeSet<(GivenSum, i64, i64)>,
}

/// How two integers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Compared {
    /// Whether they are equal.
    Equality,
    /// Which of them is larger, or by a remainder.
    Order,
}

/// Where reaches are looked for: below is that of a thread's index in its block, and above are the bits of floating-point numbers, such as
/// the exponent in 1,048,575, the upper half of the largest subnormal double.
const REACHES: RangeInclusive<i64> = 1_025..=1 << 19;

/// Where literals of several indices at once are looked for: below are the copies of an unrolled loop and the lanes of a warp.
const INDICES: RangeInclusive<i64> = 32..=256;

/// Integers up to this are exact in f32, and not all above it.
const REACH_OF_F32: i64 = 1 << 24;

/// The smallest integer that is not 1 times its reciprocal in f32: an index that is divided by it as a product of floats is wrong.
const DIVIDES_BADLY: i64 = 41;

/// The smallest integer of whose square the same is true: of 49.
const SQUARE_DIVIDES_BADLY: i64 = 7;

/// How often the compiler unrolls a loop at most whose end it does not know.
const MOST_UNROLLED: i64 = 16;

/// A number that each thread of a launch is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Given {
    /// The parameter at this position.
    Param(usize),
    /// The number of blocks along this axis.
    Grid(usize),
    /// The number of threads of a block along this axis.
    Block(usize),
}

/// A sum of what a launch gives: each with its factor, which is not 0.
pub type GivenSum = BTreeMap<Given, i64>;

/// What is known of a register.
#[derive(Clone, Debug)]
enum Known {
    /// A sum of parameters, extents and a number.
    Sum(GivenSum, i64),
    /// A multiple of this number.
    Multiple(i64),
    /// The square of a sum.
    Square(GivenSum),
    /// What is left of a sum when it is divided by this number.
    Remainder(GivenSum, i64),
    Float(f64),
    /// A number of type f32 that follows from integers.
    FromIntegers,
}

/// The comparisons of a kernel by its name in the PTX: those of `setp`, `set`, `min` and `max`, and remainders (PTX ISA 9.7.1, 9.7.3
/// and 9.7.6), in which one side is a literal and the other one an integer or a floating-point number, or both are sums of parameters and
/// extents.
pub fn comparisons(ptx: &str, symbol: &str) -> Comparisons {
    let text = ptx::kernel(ptx, symbol).unwrap_or_default();
    let mut definitions: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, operands) in text.lines().filter_map(instruction) {
        *definitions.entry(operands[0]).or_default() += 1;
    }
    let mut registers: BTreeMap<&str, Known> = BTreeMap::new();
    // Those that hold the index of the block, and its axis.
    let mut block_indices: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found = Comparisons::default();
    let mut remainders: Vec<(Option<Known>, Option<Known>)> = Vec::new();
    let mut converted: Vec<Option<Known>> = Vec::new();
    for (opcode, operands) in text.lines().filter_map(instruction) {
        let of = |nth: usize| {
            let operand = operands.get(nth)?;
            registers.get(operand).cloned().or_else(|| literal(operand))
        };
        let block_index = |nth: usize| {
            let operand = operands.get(nth)?;
            block_indices.get(operand).copied().or_else(|| axis_of(operand, "%ctaid."))
        };
        let types: Vec<&str> = opcode.split('.').skip(1).collect();
        let is_known = |of| matches!(of, Some(Known::FromIntegers | Known::Float(_)));
        let value = match opcode.split('.').next().unwrap_or_default() {
            "ld" if opcode.starts_with("ld.param") => {
                let at = operands.get(1).and_then(|place| param(place));
                at.map(|at| Known::Sum(GivenSum::from([(Given::Param(at), 1)]), 0))
            }
            "mov" => of(1),
            "cvt" => {
                let from = types.last().copied().unwrap_or_default();
                let to = types.iter().rev().nth(1).copied().unwrap_or_default();
                let source = of(1);
                match (is_integer(from), is_integer(to)) {
                    (true, true) => {
                        found.reaches.extend(last_of_16_bits(from));
                        source
                    }
                    (true, false) => {
                        converted.push(source);
                        (to == "f32").then_some(Known::FromIntegers)
                    }
                    (false, to_integer) => {
                        let is_index = matches!(source, Some(Known::FromIntegers));
                        if is_index && to_integer {
                            found.reaches.insert(REACH_OF_F32);
                        }
                        if !is_index && let Some(last) = past_integers(to) {
                            found.add_value(last);
                        }
                        (is_index && to == "f32").then_some(Known::FromIntegers)
                    }
                }
            }
            "add" | "sub" | "mul" | "fma" | "div" | "rcp" | "neg" | "abs" | "min" | "max"
                if types.last() == Some(&"f32")
                    && (1..operands.len()).all(|nth| is_known(of(nth))) =>
            {
                Some(Known::FromIntegers)
            }
            "neg" => scaled(of(1), -1),
            "add" => sum(of(1), of(2)),
            // What is left of a division, which the compiler makes a product.
            "sub" if let (Some(of), Some(Known::Multiple(number))) = (of(1), of(2)) => {
                let left = remainder(&of, number);
                remainders.push((Some(of), Some(Known::Sum(GivenSum::new(), number))));
                left
            }
            "sub" => sum(of(1), scaled(of(2), -1)),
            "and" => {
                let one = Some(Known::Sum(GivenSum::new(), 1));
                let divisor = sum(of(2), one);
                let left = of(1).zip(number(divisor.clone()));
                let left = left.and_then(|(of, divisor)| remainder(&of, divisor));
                remainders.push((of(1), divisor));
                // An index is cut to its low bits. A longer mask with others is one of the bits of a number.
                if let Some(mask) = number(of(2)).and_then(index_mask) {
                    found.add_reach(of(1), Some(Known::Sum(GivenSum::new(), mask)));
                }
                // What a power of two divides: the remainder of a signed division is the difference.
                let power = number(of(2)).and_then(i64::checked_neg);
                let power = power.filter(|power| *power > 1 && power.count_ones() == 1);
                left.or_else(|| power.filter(|_| of(1).is_some()).map(Known::Multiple))
            }
            "mul" if !opcode.contains(".hi") => product(of(1), of(2)),
            "mad" if !opcode.contains(".hi") => sum(product(of(1), of(2)), of(3)),
            // The sign of a size, which is not negative, or a part of it.
            "shr" => match (of(1), number(of(2))) {
                (Some(Known::Sum(terms, number)), Some(31)) if !terms.is_empty() || number == 0 => {
                    Some(Known::Sum(GivenSum::new(), 0))
                }
                (source, Some(_)) if number(source.clone()) == Some(0) => source,
                _ => None,
            },
            "shl" => {
                number(of(2)).filter(|n| (0..32).contains(n)).and_then(|n| scaled(of(1), 1 << n))
            }
            "rem" if is_integer(types.last().copied().unwrap_or_default()) => {
                remainders.push((of(1), of(2)));
                found.add_reach(of(1), of(2));
                of(1).zip(number(of(2))).and_then(|(of, divisor)| remainder(&of, divisor))
            }
            "setp" | "set" | "min" | "max" => {
                let is_equality = types.first().is_some_and(|how| ["eq", "ne"].contains(how));
                let how = if is_equality { Compared::Equality } else { Compared::Order };
                found.add((of(1), of(2)), how);
                if types.last().is_some_and(|of| is_integer(of)) {
                    found.add_reach(of(1), of(2));
                }
                None
            }
            _ => None,
        };
        if is_test(opcode)
            && let Some((axis, literal)) = [(1, 2), (2, 1)]
                .into_iter()
                .find_map(|(index, literal)| Some((block_index(index)?, number(of(literal))?)))
        {
            found.add_block_index(axis, literal);
        }
        if opcode.starts_with("mov")
            && definitions[operands[0]] == 1
            && let Some(axis) = block_index(1)
        {
            block_indices.insert(operands[0], axis);
        }
        // One that is set in two places holds different values.
        if let Some(value) = value.filter(|_| definitions[operands[0]] == 1) {
            registers.insert(operands[0], value);
        }
    }
    let past = found.past_literals();
    found.add_multiples(&remainders);
    for (of, divisor) in remainders {
        found.add((of, divisor), Compared::Order);
    }
    if found.reaches.contains(&REACH_OF_F32) {
        for of in converted {
            let (of, divisor) = match of {
                Some(Known::Square(root)) => (Some(Known::Sum(root, 0)), SQUARE_DIVIDES_BADLY),
                of => (of, DIVIDES_BADLY),
            };
            let divisor = Some(Known::Sum(GivenSum::new(), divisor));
            found.add((of, divisor), Compared::Equality);
        }
    }
    for sum in past {
        found.sums.entry(sum).or_insert(Compared::Order);
    }
    found
}

impl Comparisons {
    /// Adds a comparison of these two.
    fn add(&mut self, (left, right): (Option<Known>, Option<Known>), how: Compared) {
        for known in [&left, &right].into_iter().flatten() {
            if let Known::Float(value) = known {
                self.add_value(*value);
            }
        }
        if let (Some(Known::Remainder(terms, divisor)), Some(of)) = (&left, number(right.clone())) {
            // The first sum with that remainder, and the next one.
            if *divisor > MOST_UNROLLED {
                for at in [of, of.saturating_add(*divisor)] {
                    self.sums.entry((terms.clone(), at)).or_insert(how);
                }
            }
            self.remainders.insert((terms.clone(), *divisor, of));
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
            let before = self.sums.entry((terms, number)).or_insert(how);
            *before = how.max(*before);
        }
    }

    /// Adds a number that a value is compared with.
    fn add_value(&mut self, value: f64) {
        let size = value.abs();
        if size.is_finite() && size > 0.0 && !self.values.contains(&size) {
            self.values.push(size);
        }
    }

    /// Adds the first multiple of each divisor past a literal that the same sum is compared with: whether a tail is left may matter in long
    /// loops alone.
    fn add_multiples(&mut self, remainders: &[(Option<Known>, Option<Known>)]) {
        let literals: Vec<(GivenSum, i64)> = self.sums.keys().cloned().collect();
        for (of, divisor) in remainders {
            let (Some(Known::Sum(terms, 0)), Some(divisor @ 2..)) = (of, number(divisor.clone()))
            else {
                continue;
            };
            // A loop that is unrolled compares its end with the divisor itself.
            let least = if divisor > MOST_UNROLLED { divisor } else { divisor + 1 };
            let literals = literals.iter().filter(|(of, at)| of == terms && *at >= least);
            let next =
                |(_, at): &(GivenSum, i64)| (at / divisor).checked_add(1)?.checked_mul(divisor);
            for multiple in literals.filter_map(next) {
                self.sums.entry((terms.clone(), multiple)).or_insert(Compared::Order);
            }
        }
    }

    /// For each remainder that is compared the first sum with it past a literal: special code may be for large sizes alone.
    fn past_literals(&mut self) -> Vec<(GivenSum, i64)> {
        let remainders = std::mem::take(&mut self.remainders);
        let is_own = |(terms, at): &(GivenSum, i64)| {
            remainders.iter().any(|(of, divisor, remainder)| {
                of == terms && [*remainder, remainder.saturating_add(*divisor)].contains(at)
            })
        };
        // A loop that is unrolled compares its end with the number of its copies.
        let all = self.sums.keys().filter(|sum| sum.1 > MOST_UNROLLED && !is_own(sum));
        let literals: Vec<&(GivenSum, i64)> = all.collect();
        let next = |(terms, divisor, remainder): &(GivenSum, i64, i64)| {
            let (terms, divisor, remainder) = (terms.clone(), *divisor, *remainder);
            let literals = literals.iter().filter(move |(of, _)| *of == terms);
            literals.filter_map(move |(of, at)| {
                let more = remainder.checked_sub(*at)?.checked_sub(1)?.rem_euclid(divisor);
                Some((of.clone(), at.checked_add(1)?.checked_add(more)?))
            })
        };
        remainders.iter().flat_map(next).collect()
    }

    /// Adds a comparison of the index of a block: the grid must have a block with that number, and one that is not the first.
    fn add_block_index(&mut self, axis: usize, literal: i64) {
        if let Some(blocks) = literal.checked_add(1).filter(|blocks| *blocks > 0) {
            let grid = GivenSum::from([(Given::Grid(axis), 1)]);
            self.sums.entry((grid, blocks.max(2))).or_insert(Compared::Order);
        }
    }

    /// Adds the literal that an integer is compared with of which nothing is known.
    fn add_reach(&mut self, left: Option<Known>, right: Option<Known>) {
        if let (None, known) | (known, None) = (left, right) {
            let literal = number(known);
            self.reaches.extend(literal.filter(|literal| REACHES.contains(literal)));
            self.indices.extend(literal.filter(|literal| INDICES.contains(literal)));
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

/// The remainder of a sum.
fn remainder(of: &Known, divisor: i64) -> Option<Known> {
    match of {
        Known::Sum(terms, 0) if !terms.is_empty() && divisor > 1 => {
            Some(Known::Remainder(terms.clone(), divisor))
        }
        _ => None,
    }
}

fn scaled(of: Option<Known>, factor: i64) -> Option<Known> {
    let Known::Sum(terms, added) = of? else { return None };
    let times = |value: i64| value.checked_mul(factor);
    let mut terms: GivenSum =
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
        (None, None) => match (left?, right?) {
            (Known::Sum(root, 0), Known::Sum(other, 0)) if root == other => {
                Some(Known::Square(root))
            }
            _ => None,
        },
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

fn is_integer(part: &str) -> bool {
    part.starts_with(['s', 'u']) && part[1..].starts_with(|c: char| c.is_ascii_digit())
}

/// The last integer that a type of 16 bits holds.
fn last_of_16_bits(part: &str) -> Option<i64> {
    match part {
        "s16" => Some(i16::MAX.into()),
        "u16" => Some(u16::MAX.into()),
        _ => None,
    }
}

/// The mask of an index, if this is one of its low bits, or of those of the bytes in front of the element.
fn index_mask(mask: i64) -> Option<i64> {
    let bytes = mask & mask.checked_neg()?;
    let elements = if (1..=16).contains(&bytes) { mask / bytes } else { return None };
    let is_low = elements & (elements + 1) == 0;
    if is_low { Some(elements) } else { Some(mask).filter(|mask| *mask <= u16::MAX.into()) }
}

/// The first number past the integers of a type that a value is converted to: what is computed with them overflows there.
fn past_integers(part: &str) -> Option<f64> {
    let bits: i32 = part.get(1..)?.parse().ok()?;
    match part.get(..1)? {
        "s" => Some(2_f64.powi(bits - 1)),
        "u" => Some(2_f64.powi(bits)),
        _ => None,
    }
}

/// Whether an instruction compares an integer with another, or cuts it.
fn is_test(opcode: &str) -> bool {
    let name = opcode.split('.').next().unwrap_or_default();
    ["setp", "set", "min", "max", "and", "rem"].contains(&name)
}

/// The axis of a special register whose name begins so.
fn axis_of(operand: &str, register: &str) -> Option<usize> {
    ["x", "y", "z"].iter().position(|axis| operand.strip_prefix(register) == Some(axis))
}

/// The value of an extent, or of a literal (PTX ISA 4.5): decimal, or the bits of a number in hexadecimal digits.
fn literal(operand: &str) -> Option<Known> {
    let extents = [("%nctaid.", Given::Grid as fn(usize) -> Given), ("%ntid.", Given::Block)];
    let extent = extents.iter().find_map(|(name, of)| axis_of(operand, name).map(of));
    if let Some(extent) = extent {
        return Some(Known::Sum(GivenSum::from([(extent, 1)]), 0));
    }
    let bits = |digits: &str| u64::from_str_radix(digits, 16).ok();
    if let Some(digits) = operand.strip_prefix("0f").or(operand.strip_prefix("0F")) {
        return Some(Known::Float(f32::from_bits(u32::try_from(bits(digits)?).ok()?).into()));
    }
    if let Some(digits) = operand.strip_prefix("0d").or(operand.strip_prefix("0D")) {
        return Some(Known::Float(f64::from_bits(bits(digits)?)));
    }
    operand.parse().ok().map(|number| Known::Sum(GivenSum::new(), number))
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
    and.b32 %r13, %r1, -1;
    rem.s32 %r14, %r1, 0;
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
        let one = GivenSum::from([(Given::Param(1), 1)]);
        let difference = GivenSum::from([(Given::Param(1), 1), (Given::Param(2), -1)]);
        let (order, equality) = (Compared::Order, Compared::Equality);
        // Beside literals and remainders, the multiples of 48 and 64 past each of the literals.
        let of_one = [
            (0, order),
            (4, order),
            (48, order),
            (64, order),
            (128, order),
            (144, order),
            (192, order),
            (777, equality),
            (816, order),
            (832, order),
        ];
        let of_one = of_one.map(|(number, how)| ((one.clone(), number), how));
        let of_two = [0, 8].map(|number| ((difference.clone(), number), equality));
        assert_eq!(found.sums, of_one.into_iter().chain(of_two).collect());
        assert_eq!(found.values, [f64::from(1e30_f32), 0.5]);
        assert!(found.reaches.is_empty());
        let of_other = [((GivenSum::from([(Given::Param(0), 1)]), 4), equality)].into();
        assert_eq!(comparisons(ptx, "other").sums, of_other);
        assert_eq!(comparisons(ptx, "none"), Comparisons::default());
    }

    /// How far an index reaches: up to a literal, as an integer of 16 bits, and as a float.
    #[test]
    fn the_reach_of_indices_is_found() {
        let reaches = |body: &str| {
            let body = body.replace("; ", ";\n");
            let ptx = format!(".entry k(.param .u32 k_param_0)\n{{\n{body}\n}}\n");
            comparisons(&ptx, "k").reaches.into_iter().collect::<Vec<i64>>()
        };
        assert_eq!(reaches("mov.u32 %r1, %tid.x; setp.gt.s32 %p1, %r1, 70000;"), [70_000]);
        assert!(reaches("mov.u32 %r1, %tid.x; setp.gt.s32 %p1, %r1, 1024;").is_empty());
        assert_eq!(reaches("cvt.s32.s16 %r2, %rs1; cvt.u32.u16 %r3, %rs2;"), [32_767, 65_535]);
        assert_eq!(reaches("ld.global.u32 %r1, [%rd1]; and.b32 %r2, %r1, 65535;"), [65_535]);
        assert_eq!(reaches("and.b32 %r2, %r1, 262143;"), [262_143]);
        // Four bytes for each element.
        assert_eq!(reaches("and.b64 %rd2, %rd1, 1048572;"), [262_143]);
        assert!(reaches("and.b32 %r2, %r1, 258048;").is_empty());
        assert!(reaches("and.b32 %r2, %r1, 8388607; setp.lt.u32 %p1, %r1, 2139095040;").is_empty());
        let float = "cvt.rn.f32.u32 %f1, %r1; fma.rn.f32 %f2, %f1, 0f3F000000, %f1; ";
        assert_eq!(reaches(&format!("{float}cvt.rzi.s32.f32 %r2, %f2;")), [1 << 24]);
        let floor = "cvt.rmi.f32.f32 %f3, %f2; cvt.rzi.u64.f32 %rd2, %f3;";
        assert_eq!(reaches(&format!("{float}{floor}")), [1 << 24]);
        // A number that is loaded is not an index, though it is divided by a size.
        let mean = "ld.global.f32 %f3, [%rd1]; div.rn.f32 %f4, %f3, %f2; cvt.rni.s32.f32 %r3, %f4;";
        assert!(reaches(&format!("{float}{mean}")).is_empty());
        assert!(reaches("cvt.rn.f64.s32 %fd1, %r1; cvt.rzi.s32.f64 %r2, %fd1;").is_empty());
    }

    /// An index divided by a size as a product of floats is wrong where the size is 41; a mean of floats has no such size.
    #[test]
    fn sizes_that_divide_badly_as_floats_are_found() {
        let sums = |last: &str| {
            let ptx = format!(
                ".entry k(.param .u32 k_param_0)\n{{\nld.param.u32 %r1, [k_param_0];\ncvt.rn.f32.s32 %f1, %r1;\n\
                 rcp.rn.f32 %f2, %f1;\ncvt.rn.f32.u32 %f3, %r2;\nmul.f32 %f4, %f3, %f2;\n{last}\n}}\n"
            );
            comparisons(&ptx, "k").sums
        };
        let found = [((GivenSum::from([(Given::Param(0), 1)]), 41), Compared::Equality)].into();
        assert_eq!(sums("cvt.rzi.s32.f32 %r3, %f4;"), found);
        assert_eq!(sums("st.global.f32 [%rd1], %f4;"), BTreeMap::new());
    }

    /// What is computed with integers overflows past the largest of their type; the index of a float is an integer before it is one.
    #[test]
    fn values_that_are_converted_to_integers_reach_past_them() {
        let values = |body: &str| comparisons(&format!(".entry k()\n{{\n{body}\n}}\n"), "k").values;
        let load = "ld.global.f32 %f1, [%rd1];\n";
        assert_eq!(values(&format!("{load}cvt.rzi.s32.f32 %r1, %f1;")), [2_147_483_648.0]);
        assert_eq!(values(&format!("{load}cvt.rni.u16.f32 %rs1, %f1;")), [65_536.0]);
        assert!(values("cvt.rn.f32.s32 %f1, %r1;\ncvt.rzi.s32.f32 %r2, %f1;").is_empty());
        assert!(values(&format!("{load}cvt.rni.f32.f32 %f2, %f1;")).is_empty());
    }

    #[test]
    fn literals_of_indices_are_found() {
        let ptx = ".entry k()\n{\nmov.u32 %r1, %tid.x;\nsetp.gt.s32 %p1, %r1, 40;\nsetp.lt.u32 %p2, %r1, 3;\n}\n";
        assert_eq!(comparisons(ptx, "k").indices, BTreeSet::from([40]));
    }

    #[test]
    fn a_square_that_divides_badly_as_a_float_is_found() {
        // `(int)(r * (1.0f / (n * n)))`
        let ptx = "
.visible .entry k(.param .u32 k_param_0)
{
    ld.param.u32 %r1, [k_param_0];
    mul.lo.s32 %r2, %r1, %r1;
    cvt.rn.f32.s32 %f1, %r2;
    rcp.rn.f32 %f2, %f1;
    mov.u32 %r3, %tid.x;
    cvt.rn.f32.s32 %f3, %r3;
    mul.f32 %f4, %f3, %f2;
    cvt.rzi.s32.f32 %r4, %f4;
    ret;
}
";
        let n = GivenSum::from([(Given::Param(0), 1)]);
        assert_eq!(comparisons(ptx, "k").sums, [((n, 7), Compared::Equality)].into());
    }

    #[test]
    fn a_remainder_past_another_literal_is_found() {
        // `n % 16 == 9 && n > 100` with a signed n.
        let ptx = "
.visible .entry k(.param .u32 k_param_0)
{
    ld.param.u32 %r1, [k_param_0];
    shr.s32 %r2, %r1, 31;
    shr.u32 %r3, %r2, 28;
    add.s32 %r4, %r1, %r3;
    and.b32 %r5, %r4, -16;
    sub.s32 %r6, %r1, %r5;
    setp.eq.s32 %p1, %r6, 9;
    setp.gt.s32 %p2, %r1, 100;
    ret;
}
";
        let n = GivenSum::from([(Given::Param(0), 1)]);
        let found = comparisons(ptx, "k").sums;
        let numbers: Vec<i64> = found.keys().filter(|key| key.0 == n).map(|key| key.1).collect();
        assert!(numbers.contains(&105), "{numbers:?}");
    }

    /// A size with a remainder that the kernel asks for is found, and the next one; a loop that is unrolled asks for small ones.
    #[test]
    fn the_remainders_of_sizes_are_found() {
        let ptx = ".entry k(.param .u32 k_param_0)
{
ld.param.u32 %r1, [k_param_0];
mul.hi.s32 %r2, %r1, 715827883;
mul.lo.s32 %r3, %r2, 100;
sub.s32 %r4, %r1, %r3;
setp.eq.s32 %p1, %r4, 37;
setp.gt.s32 %p2, %r1, 100;
and.b32 %r5, %r1, 3;
setp.eq.s32 %p3, %r5, 2;
}
";
        let found = comparisons(ptx, "k").sums.into_iter().map(|((_, at), how)| (at, how));
        let (order, equality) = (Compared::Order, Compared::Equality);
        // And the multiples of 4 and 100 past each of them, and what has the remainders past 100.
        let expected = [
            (4, order),
            (37, equality),
            (40, order),
            (100, order),
            (102, order),
            (104, order),
            (137, equality),
            (140, order),
            (200, order),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    /// The number of blocks is that of a size, and so is the index of the last one; the index in a block is not.
    #[test]
    fn what_a_grid_is_compared_with_is_found() {
        let ptx = ".entry k(.param .u32 k_param_0)
{
mov.u32 %r1, %nctaid.y;
setp.eq.s32 %p1, %r1, 3;
mov.u32 %r2, %ntid.x;
setp.gt.u32 %p2, %r2, 200;
mov.u32 %r3, %ctaid.x;
and.b32 %r4, %r3, 8191;
setp.ne.s32 %p3, %r3, 5;
mov.u32 %r5, %tid.x;
setp.eq.s32 %p4, %r5, 0;
mov.u32 %r6, %ctaid.z;
setp.ne.s32 %p5, %r6, 0;
}
";
        let one = |of, number, how| ((GivenSum::from([(of, 1)]), number), how);
        let sums = [
            one(Given::Grid(0), 6, Compared::Order),
            one(Given::Grid(0), 8192, Compared::Order),
            one(Given::Grid(1), 3, Compared::Equality),
            one(Given::Grid(2), 2, Compared::Order),
            one(Given::Block(0), 200, Compared::Order),
        ];
        assert_eq!(comparisons(ptx, "k").sums, sums.into());
    }
}
