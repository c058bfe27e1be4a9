//! D = A B + C as tensor cores compute it, up to the last bits.
//!
//! Products are exact. An element of D begins with that of C and adds the products in the order of k, each sum rounded to the
//! nearest `f32` (of integers and `f64`: in their own type); the result is rounded to `f16` once where D is. The ISA leaves
//! order and rounding open, and GPUs add in groups and cut bits off, so the last bits of theirs may be others.

use super::round::{self, F16, Mode};
use crate::matrix::{Product, Scalar};

/// A matrix row by row, each element as the bits of its type.
pub type Dense = Vec<u64>;

/// The bits that stand for a NaN in `f32`.
const NAN: u32 = 0x7FFF_FFFF;

fn to_f32(bits: u64, scalar: Scalar) -> f32 {
    match scalar {
        Scalar::F16 => half::f16::from_bits(bits as u16).to_f32(),
        Scalar::Bf16 => half::bf16::from_bits(bits as u16).to_f32(),
        Scalar::Tf32 => f32::from_bits(bits as u32 & !0x1FFF),
        _ => f32::from_bits(bits as u32),
    }
}

fn of_f32(value: f32, scalar: Scalar) -> u64 {
    match scalar {
        Scalar::F16 => round::to_16(value.into(), F16, Mode::Nearest).into(),
        _ if value.is_nan() => NAN.into(),
        _ => value.to_bits().into(),
    }
}

fn to_integer(bits: u64, scalar: Scalar) -> i64 {
    match scalar {
        Scalar::S8 => i64::from(bits as i8),
        Scalar::U8 => i64::from(bits as u8),
        _ => i64::from(bits as i32),
    }
}

/// The product of whole matrices.
pub fn product(op: &Product, a: &Dense, b: &Dense, c: &Dense) -> Dense {
    let (n, depth) = (op.shape.n, op.shape.k);
    let element = |index: usize| {
        let (row, col) = (index / n, index % n);
        let pairs = || (0..depth).map(|k| (a[row * depth + k], b[k * n + col]));
        match op.d.scalar {
            Scalar::F64 => {
                let start = f64::from_bits(c[index]);
                let fma = |sum, (a, b)| f64::mul_add(f64::from_bits(a), f64::from_bits(b), sum);
                let sum = pairs().fold(start, fma);
                if sum.is_nan() { f64::NAN.to_bits() } else { sum.to_bits() }
            }
            Scalar::S32 => {
                let start = to_integer(c[index], Scalar::S32);
                let sum = pairs().fold(start, |sum, (x, y)| {
                    sum + to_integer(x, op.a.scalar) * to_integer(y, op.b.scalar)
                });
                let sum =
                    if op.saturate { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum };
                (sum as u32).into()
            }
            scalar => {
                let start = to_f32(c[index], op.c.scalar);
                let sum = pairs().fold(start, |sum, (x, y)| {
                    to_f32(x, op.a.scalar).mul_add(to_f32(y, op.b.scalar), sum)
                });
                of_f32(sum, scalar)
            }
        }
    };
    (0..op.shape.m * n).map(element).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{Fragment, Layout, Role, Shape};

    fn op(input: Scalar, sum: Scalar, saturate: bool) -> Product {
        let shape = Shape { m: 1, n: 1, k: 3 };
        let fragment = |role, scalar| {
            let (rows, cols) = Fragment::size(role, shape);
            Fragment { role, layout: Layout::Wmma, scalar, rows, cols, slots: Vec::new() }
        };
        Product {
            shape,
            d: fragment(Role::Sum, sum),
            a: fragment(Role::A, input),
            b: fragment(Role::B, input),
            c: fragment(Role::Sum, sum),
            saturate,
        }
    }

    fn f32s(values: &[f32]) -> Dense {
        values.iter().map(|value| value.to_bits().into()).collect()
    }

    #[test]
    fn sums_go_in_order_and_are_rounded_each() {
        let ones = f32s(&[1.0; 3]);
        let tf32 = op(Scalar::Tf32, Scalar::F32, false);
        // 2^24 swallows the first 1.
        let big = f32s(&[1.0, 1.0, -16_777_216.0]);
        assert_eq!(product(&tf32, &big, &ones, &f32s(&[16_777_216.0])), f32s(&[0.0]));
        // What tf32 has no bits for does not count.
        let fine = f32s(&[1.0 + 1.0 / 1024.0, f32::from_bits(0x3F80_1FFF), 0.0]);
        let expected = 2.0 + 1.0 / 1024.0;
        assert_eq!(product(&tf32, &fine, &ones, &f32s(&[0.0])), f32s(&[expected]));
        let infinite = f32s(&[f32::INFINITY, f32::NEG_INFINITY, 0.0]);
        assert_eq!(product(&tf32, &infinite, &ones, &f32s(&[0.0])), [u64::from(NAN)]);
    }

    #[test]
    fn halves_are_rounded_once() {
        let half = |x: f32| u64::from(half::f16::from_f32(x).to_bits());
        let one = vec![half(1.0); 3];
        // 2048 + 1 + 1 is 2050 in f32; in f16 each step would round back to 2048.
        let f16 = op(Scalar::F16, Scalar::F16, false);
        let a = vec![half(1.0), half(1.0), half(0.0)];
        assert_eq!(product(&f16, &a, &one, &vec![half(2048.0)]), [half(2050.0)]);
        let tiny = vec![u64::from(half::bf16::from_f32(1e-30).to_bits()); 3];
        let bf16 = op(Scalar::Bf16, Scalar::F32, false);
        assert_eq!(product(&bf16, &tiny, &tiny, &f32s(&[1.0])), f32s(&[1.0]));
    }

    #[test]
    fn integers_wrap_or_stay_in_range() {
        let (a, b) = (vec![0x7F, 0xFF, 0], vec![1, 1, 0]);
        let sum = |saturate, scalar| {
            product(&op(scalar, Scalar::S32, saturate), &a, &b, &vec![i32::MAX as u64])[0] as u32
        };
        assert_eq!(sum(false, Scalar::S8), (i32::MAX as u32) + 126);
        assert_eq!(sum(true, Scalar::S8), i32::MAX as u32);
        assert_eq!(sum(false, Scalar::U8), (i32::MAX as u32) + 127 + 255);
    }
}
