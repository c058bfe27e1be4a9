//! Special values: data that show what ordinary numbers hide.

use super::permitted::{Allowed, Infinite};
use crate::rng::Stream;
use tensor::{DType, Tensor, decode, encode};

/// A kind of data for the inputs of a drawn case that `[draw]` leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// Small integers, for which most sums are exact.
    Integers,
    /// Real values around 0.
    Normal,
    /// A few different numbers, zeros of both signs among them: ties, and products with 0.
    Ties,
    /// Rows far from zero, each at another distance.
    Offsets,
    /// Negative values only.
    Negative,
    /// Rows of different spread, and elements of different size.
    Spread,
    /// Rows below zero whose exponentials reach from large ones to those that are 0, though their quotients do not.
    Exponents,
    /// Rows whose last elements are far above all others, and planes whose last rows are: a maximum that stops early is far too
    /// small.
    LargestLast,
    /// Values that differ from 1 in their last bits.
    NearOne,
    /// Rows of the size of a small constant of the formula, or of its square root, and rows of zeros: what the constant is
    /// added to no longer hides it.
    NearConstants,
    /// The smallest numbers of the type, subnormal ones among them.
    Tiny,
    /// The largest numbers of the type.
    Huge,
    /// NaN in one element of each tensor that may have it, and zeros in half of the others.
    NotANumber,
    /// Infinities, where every correct kernel gives the same result.
    Infinite,
    /// Values that are not finite, where a test of the spec says what becomes of them.
    Stated,
    /// Numbers that the kernel compares with, their neighbours, and twice and half of them, among small integers.
    Compared,
    /// Small integers, after the same kernels ran on others: a kernel may keep something from one launch for the next.
    AfterOthers,
    /// Small integers, after the same kernels ran on others of the same sizes in the same memory: a program may keep what follows from
    /// the contents of memory by its address.
    InSameMemory,
}

impl Flavour {
    const SPECIAL: [Self; 14] = [
        Self::Normal,
        Self::Ties,
        Self::Offsets,
        Self::Negative,
        Self::Spread,
        Self::Exponents,
        Self::LargestLast,
        Self::NearOne,
        Self::NearConstants,
        Self::Tiny,
        Self::Huge,
        Self::NotANumber,
        Self::Infinite,
        Self::Stated,
    ];

    /// All flavours but integers, in random order.
    pub(super) fn order(stream: &mut Stream) -> Vec<Self> {
        let order = stream.permutation(Self::SPECIAL.len() as u32);
        order.into_iter().map(|i| Self::SPECIAL[i as usize]).collect()
    }

    /// Whether an input that may hold this can have such data; a tensor of it may still be too short.
    pub(super) fn fits(self, allowed: &Allowed) -> bool {
        match self {
            Self::Exponents => allowed.exponent,
            Self::NearConstants => !allowed.constants.is_empty(),
            Self::Tiny | Self::Huge => allowed.extreme,
            Self::Infinite => allowed.infinite != Infinite::Nowhere,
            Self::Stated => !allowed.stated.is_empty(),
            Self::Compared => !allowed.literals.is_empty(),
            _ => true,
        }
    }

    /// How much simpler data could be tried in the place of these, simplest first.
    pub fn simpler(self) -> &'static [Self] {
        match self {
            Self::Integers => &[],
            Self::Normal | Self::AfterOthers | Self::InSameMemory => &[Self::Integers],
            _ => &[Self::Integers, Self::Normal],
        }
    }
}

/// From so many elements on, a maximum or a sum over a row may stop early.
const LONG_ROW: usize = 32;

/// Exponents of the smallest number, of the smallest that is not subnormal, and of the largest, a little below it.
fn exponents(dtype: DType) -> (i64, i64, i64) {
    match dtype {
        DType::F16 => (-24, -14, 14),
        // Only floating-point numbers are drawn so.
        DType::I32 | DType::I64 | DType::U8 => (0, 0, 6),
        DType::F32 | DType::F64 | DType::BF16 => (-149, -126, 126),
    }
}

/// Real values around 0.
pub(super) fn normal(tensor: &Tensor, mut stream: Stream) -> Vec<f64> {
    let values: Vec<f64> = (0..tensor.len()).map(|_| stream.normal()).collect();
    decode(tensor.dtype, &encode(tensor.dtype, &values))
}

/// How far above the others an element is whose row ends with the largest ones: 1 in the last eighth of a row, one more in its last
/// element, and 2 more in the last eighth of the rows of a plane.
fn above(i: usize, shape: &[usize], row: usize) -> f64 {
    let is_last = |i: usize, of: usize| i >= of - of.div_ceil(8);
    let rows = shape.iter().rev().nth(1).copied().unwrap_or(0);
    let last_row = rows > 1 && is_last(i / row % rows, rows);
    let last = row > 1 && i % row == row - 1;
    f64::from(is_last(i % row, row)) + f64::from(last) + 2.0 * f64::from(last_row)
}

/// The distance of neighbours along the longest axis, and its length.
fn longest_axis(shape: &[usize]) -> (usize, usize) {
    let along = |axis: usize| (shape[axis + 1..].iter().product::<usize>().max(1), shape[axis]);
    (0..shape.len()).map(along).max_by_key(|(_, len)| *len).unwrap_or((1, 1))
}

fn infinity(stream: &mut Stream) -> f64 {
    if stream.below(4) == 0 { f64::INFINITY } else { f64::NEG_INFINITY }
}

/// Signs and sizes whose sums along rows and over rows are 0: -1 in the second half of a row, or of the rows, and 1 where that is so of both
/// or neither; and 16 more at the end of each half.
fn in_halves(i: usize, size: f64, rows: usize, row: usize) -> f64 {
    let place = |i: usize, of: usize| {
        let half = of.div_ceil(2);
        (i >= half, of >= LONG_ROW && i % half >= half - half.div_ceil(8))
    };
    let ((second, last), (second_row, last_row)) = (place(i % row, row), place(i / row, rows));
    let sign = if second == second_row { 1.0 } else { -1.0 };
    sign * (size + 16.0 * f64::from(last || last_row))
}

/// The values of a tensor; `None` if they are not allowed there. Those of the last input of a case may have two signs where those of
/// the others have one.
pub(super) fn make(
    (flavour, is_last): (Flavour, bool),
    tensor: &Tensor,
    mut stream: Stream,
    allowed: &Allowed,
) -> Option<Vec<f64>> {
    let s = &mut stream;
    let len = tensor.len();
    let (least, normal, most) = exponents(tensor.dtype);
    // Rows are along the last axis.
    let row = tensor.shape.last().copied().unwrap_or(1).max(1);
    if !flavour.fits(allowed) {
        return None;
    }
    let values: Vec<f64> = match flavour {
        Flavour::Integers | Flavour::Normal | Flavour::AfterOthers | Flavour::InSameMemory => {
            return None;
        }
        Flavour::Ties => {
            let few = [0.0, -0.0, 1.0, -1.0, 1.0, 2.0];
            // Zeros of both signs are the largest in the second half.
            let none_above_zero = [0.0, -0.0, -1.0, -1.0, -2.0, 0.0];
            let set = |i: usize| if 2 * i < len { few } else { none_above_zero };
            (0..len).map(|i| set(i)[s.below(few.len() as u32) as usize]).collect()
        }
        Flavour::Offsets => {
            let far: &[f64] = if allowed.extreme && most > 20 {
                &[30.0, -30.0, 3e3, -3e3, -3e5, 3e5, -3e9]
            } else {
                &[30.0, -30.0, 3e3, -3e3]
            };
            let mut offset = 0.0;
            let mut value = |i: usize| {
                if i.is_multiple_of(row) {
                    offset = far[s.below(far.len() as u32) as usize];
                }
                offset + s.normal()
            };
            (0..len).map(&mut value).collect()
        }
        Flavour::Negative if allowed.compared && most > 70 => {
            // In turn, so that two rows have both.
            let far = [1e5, 3e9];
            let first = s.below(2) as usize;
            let value = |i: usize| -far[(first + i / row) % 2] * (0.1 + s.normal().abs());
            (0..len).map(value).collect()
        }
        Flavour::Negative => {
            let far: &[f64] =
                if allowed.extreme && most > 70 { &[1.0, 1e5, 1e20] } else { &[1.0, 30.0, 3e3] };
            let size = far[s.below(far.len() as u32) as usize];
            (0..len).map(|_| -size * (0.1 + s.normal().abs())).collect()
        }
        Flavour::Spread => {
            let mut scale = 1.0;
            let mut value = |i: usize| {
                if i.is_multiple_of(row) {
                    scale = [1.0, 8.0, 16.0, 32.0][s.below(4) as usize];
                }
                let value = scale * s.normal();
                // Some much smaller than their neighbours.
                if s.below(4) == 0 { value * 2_f64.powi(-(s.below(12) as i32)) } else { value }
            };
            (0..len).map(&mut value).collect()
        }
        Flavour::Exponents => {
            let mut top = 0.0;
            let mut value = |i: usize| {
                if i.is_multiple_of(row) {
                    top = s.between(-75, -50);
                }
                top - [0.0, 0.0, 25.0, 50.0][s.below(4) as usize] + s.normal()
            };
            (0..len).map(&mut value).collect()
        }
        // What is long is the number of rows, and a few integers of one sign in a sum of inexact terms are off in one direction: by
        // more than the bound, which takes roundings for independent.
        Flavour::LargestLast if allowed.linear && !allowed.exact && row < LONG_ROW => return None,
        // Integers, so that a single term that is left out of a long sum shows. Those of one sign sum up to more than half
        // precision holds exactly; if those of one input change their sign half-way, so little is left at the end that the error of a
        // partial sum shows.
        Flavour::LargestLast if allowed.linear => {
            let least = if !is_last && s.below(4) == 0 { -3.0 } else { 0.0 };
            let changes = is_last && s.below(4) > 0;
            let mut value = |i: usize| {
                let size = least + f64::from(s.below(6));
                if changes {
                    in_halves(i, size, len / row, row)
                } else {
                    size + 8.0 * above(i, &tensor.shape, row)
                }
            };
            (0..len).map(&mut value).collect()
        }
        // Tensor cores cut off what they add, which drifts in a long sum of one sign.
        Flavour::LargestLast
            if matches!(tensor.dtype, DType::F16 | DType::BF16) && !allowed.compared =>
        {
            return None;
        }
        Flavour::LargestLast => {
            // exp of it is infinite.
            (0..len).map(|i| 200.0 * above(i, &tensor.shape, row) + s.normal()).collect()
        }
        Flavour::NearOne => {
            let unit = 2_f64.powi(if most > 20 { -23 } else { -10 });
            (0..len).map(|_| 1.0 + unit * s.between(-8, 8)).collect()
        }
        Flavour::NearConstants => {
            // What has a single axis is as often a list of numbers as a row.
            let row = if tensor.shape.len() > 1 { row } else { 1 };
            let constants = &allowed.constants;
            let mut scale = 0.0;
            let mut value = |i: usize| {
                if i.is_multiple_of(row) {
                    let constant = constants[s.below(constants.len() as u32) as usize];
                    let root = constant.sqrt();
                    scale = [constant, root, root, 0.0][s.below(4) as usize];
                }
                scale * s.normal()
            };
            (0..len).map(&mut value).collect()
        }
        Flavour::Tiny => {
            // A subnormal half is an ordinary float, in which it is added.
            let subnormal = allowed.subnormal || (allowed.alone && tensor.dtype == DType::F16);
            let exponents = if subnormal { (least, least + 26) } else { (normal, normal + 10) };
            let exponent = |s: &mut Stream| s.between(exponents.0, exponents.1) as i32;
            // From 1 to 2, so that a normal number stays one.
            let digits = |s: &mut Stream| (1.0 + s.normal().abs() / 8.0).copysign(s.normal());
            (0..len).map(|_| digits(s) * 2_f64.powi(exponent(s))).collect()
        }
        Flavour::Huge => {
            let exponent = |s: &mut Stream| s.between(most - 24, most - 3) as i32;
            (0..len).map(|_| s.normal() * 2_f64.powi(exponent(s))).collect()
        }
        Flavour::NotANumber => {
            let mut values: Vec<f64> = (0..len).map(|_| s.integer(3)).collect();
            for value in values.iter_mut().filter(|_| s.below(2) == 0) {
                *value = 0.0;
            }
            // A single one, so that most of the results are numbers.
            if allowed.nan && len > 0 {
                let nan = if s.below(2) == 0 { f64::NAN } else { -f64::NAN };
                values[s.below(len as u32) as usize] = nan;
            }
            values
        }
        Flavour::Infinite => match allowed.infinite {
            Infinite::Nowhere => return None,
            // Few, so that many of the results are finite.
            Infinite::Few => {
                let mut values: Vec<f64> = (0..len).map(|_| s.integer(9)).collect();
                let (stride, longest) = longest_axis(&tensor.shape);
                for _ in 0..len.div_ceil(longest.max(24)) {
                    let mut at = s.below(len as u32) as usize;
                    // Every other one near the end of the longest axis: what a tile keeps shows in the one after it, and often in
                    // the last one alone.
                    let place = at / stride % longest;
                    if longest > LONG_ROW && s.below(2) == 0 {
                        at = at - place * stride + (longest - 1 - place % LONG_ROW) * stride;
                    }
                    values[at] = infinity(s);
                }
                values
            }
            // So many that most windows have nothing else.
            Infinite::Everywhere => {
                let common = f64::NEG_INFINITY;
                let mut value = || match s.below(32) {
                    0 => s.integer(9),
                    1 => -common,
                    _ => common,
                };
                (0..len).map(|_| value()).collect()
            }
        },
        Flavour::Compared => {
            let (literals, unit) =
                (&allowed.literals, 2_f64.powi(if most > 20 { -23 } else { -10 }));
            let near = [1.0, 1.0 + unit, 1.0 - unit, 2.0, 0.5];
            let mut value = || {
                if s.below(2) == 0 {
                    return s.integer(9);
                }
                let literal = literals[s.below(literals.len() as u32) as usize];
                let size = literal * near[s.below(near.len() as u32) as usize];
                // Twice one of the largest numbers is none of the type, and a literal may be none itself.
                let is_held = decode(tensor.dtype, &encode(tensor.dtype, &[size]))[0].is_finite();
                let size = if is_held { size } else { literal * (1.0 - unit) };
                if s.below(2) == 0 { size } else { -size }
            };
            (0..len).map(|_| value()).collect()
        }
        Flavour::Stated => {
            let mut values: Vec<f64> = (0..len).map(|_| s.integer(9)).collect();
            // In turn, and densely in small tensors, so that each occurs where there is room.
            let count = allowed.stated.len();
            let mut stated = allowed.stated.iter().cycle().skip(s.below(count as u32) as usize);
            let every = (len / count).clamp(1, 3) as u32;
            for value in &mut values {
                if s.below(every) == 0 {
                    *value = *stated.next().unwrap_or(value);
                }
            }
            values
        }
    };
    let rounded = decode(tensor.dtype, &encode(tensor.dtype, &values));
    let is_kept = |(given, kept): (&f64, &f64)| kept.is_finite() || !given.is_finite();
    values.iter().zip(&rounded).all(is_kept).then_some(rounded)
}
