//! D = A B + C as the tensor cores of NVIDIA's Hopper generation compute it.
//!
//! An element of D is the sum of that of C and of all products, which are exact. Each term is cut, toward zero, to
//! 25 bits below the place of the largest exponent ([`super::fused_sum`]); the cut terms are added exactly, and the sum is cut to `f32` or
//! rounded to the nearest `f16` (Xie, Wang, Yang and Yang, "MMA-Sim: Bit-Accurate Reference Model of Tensor Cores and Matrix
//! Cores", 2025). The ISA leaves all this open, and other generations do otherwise. In `f64` the products are added one
//! after the other, each with one rounding; integers are exact. An H200 gives the same bits (`tests/golden/mma.py`).

use super::float::w64;
use super::fused_sum::{BitMatrix, COLUMNS, FiniteMatrix, Sums, Term, fused};
use super::product8;
use super::round::{self, F16, Mode};
use crate::isa::matrix::{Layout, Product, Scalar};

/// A negative zero of `f16`.
const MINUS_ZERO: u64 = 1 << 15;

/// [`add_products`](super::fused_sum::add_products), compiled for this processor.
pub type AddProducts = fn([&FiniteMatrix; 3], (usize, usize), (usize, usize)) -> Sums;

/// Sums in `f16` and `f32`.
fn floats(op: &Product, [a, b, c]: [&BitMatrix; 3], add_products: AddProducts) -> BitMatrix {
    let (n, depth) = (op.shape.n, op.shape.k);
    // Machine code for `wmma` adds in `f32` unless both C and D are of `f16`, and takes `tf32` by fours.
    let halves = op.c.scalar == Scalar::F16 && op.d.scalar == Scalar::F16;
    let within = if halves { Scalar::F16 } else { Scalar::F32 };
    let by_fours = op.a.layout == Layout::Wmma && op.a.scalar == Scalar::Tf32;
    let group = if by_fours { 4 } else { depth };
    let from_half = |&start: &u64| {
        if op.c.scalar == Scalar::F16 && !halves {
            half::f16::from_bits(start as u16).to_f32().to_bits().into()
        } else {
            start
        }
    };
    let c: BitMatrix = c.iter().map(from_half).collect();
    let to_result = |sum: u64| {
        if op.d.scalar == within {
            // A sum of halves that rounds to zero has no sign, other than that of `mma` (measured on an H100).
            let unsigned = halves && op.a.layout == Layout::Wmma && sum == MINUS_ZERO;
            return if unsigned { 0 } else { sum };
        }
        round::to_16(f32::from_bits(sum as u32).into(), F16, Mode::Nearest).into()
    };
    if !by_fours
        && n.is_multiple_of(COLUMNS)
        && let Some(a) = FiniteMatrix::new(a, op.a.scalar)
        && let Some(b) = FiniteMatrix::new(b, op.b.scalar)
        && let Some(c) = FiniteMatrix::new(&c, within)
    {
        let places =
            (0..op.shape.m).flat_map(|row| (0..n).step_by(COLUMNS).map(move |col| (row, col)));
        let sums =
            places.map(|place| add_products([&a, &b, &c], (n, depth), place).rounded(within));
        return sums.flatten().map(to_result).collect();
    }
    let terms = |matrix: &BitMatrix, scalar| -> Vec<Term> {
        matrix.iter().map(|&bits| Term::new(bits, scalar)).collect()
    };
    let (a, b) = (terms(a, op.a.scalar), terms(b, op.b.scalar));
    let mut terms = Vec::with_capacity(group + 1);
    let element = |(index, &start): (usize, &u64)| {
        let sum = (0..depth).step_by(group).fold(start, |sum, first| {
            terms.clear();
            terms.push(Term::new(sum, within));
            let products = (first..depth.min(first + group)).map(|k| {
                let (row, col) = (index / n, index % n);
                a[row * depth + k].times(b[k * n + col])
            });
            terms.extend(products);
            fused(&terms, within)
        });
        to_result(sum)
    };
    c.iter().enumerate().map(element).collect()
}

/// The product of two elements; of words that hold several, the sum of their products.
fn integer_product(op: &Product, x: u64, y: u64) -> i64 {
    match op.a.scalar {
        Scalar::B1 => {
            let both = if op.xor { x ^ y } else { x & y };
            both.count_ones().into()
        }
        Scalar::S4 | Scalar::U4 => {
            let part = |word: u64, index: u32, scalar| {
                let high = (word as u32) << (28 - 4 * index);
                i64::from(if scalar == Scalar::S4 {
                    high.cast_signed() >> 28
                } else {
                    (high >> 28).cast_signed()
                })
            };
            (0..8).map(|index| part(x, index, op.a.scalar) * part(y, index, op.b.scalar)).sum()
        }
        _ => to_integer(x, op.a.scalar) * to_integer(y, op.b.scalar),
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
pub fn product(
    op: &Product,
    a: &BitMatrix,
    b: &BitMatrix,
    c: &BitMatrix,
    add_products: AddProducts,
) -> BitMatrix {
    let (n, depth) = (op.shape.n, op.shape.k);
    let pair = |index: usize, k: usize| (index / n * depth + k, k * n + index % n);
    let all = 0..op.shape.m * n;
    match op.d.scalar {
        Scalar::F64 => all
            .map(|index| {
                (0..depth).fold(c[index], |sum, k| {
                    let (x, y) = pair(index, k);
                    w64::fma(a[x], b[y], sum)
                })
            })
            .collect(),
        Scalar::S32 => all
            .map(|index| {
                let products = (0..depth).map(|k| {
                    let (x, y) = pair(index, k);
                    integer_product(op, a[x], b[y])
                });
                let sum = to_integer(c[index], Scalar::S32) + products.sum::<i64>();
                let range = i32::MIN.into()..=i32::MAX.into();
                let sum = if op.saturate { sum.clamp(*range.start(), *range.end()) } else { sum };
                (sum as u32).into()
            })
            .collect(),
        _ if matches!(op.a.scalar, Scalar::E4m3 | Scalar::E5m2) => product8::product(op, a, b, c),
        _ => floats(op, [a, b, c], add_products),
    }
}

#[cfg(test)]
mod tests {
    use super::super::float::{MADE, QUIET};
    use super::super::fused_sum::NAN;
    use super::super::fused_sum::add_products;
    use super::*;
    use crate::isa::matrix::{Fragment, Role, Shape};

    fn product(op: &Product, a: &BitMatrix, b: &BitMatrix, c: &BitMatrix) -> BitMatrix {
        super::product(op, a, b, c, add_products)
    }

    fn op(input: Scalar, sum: Scalar, saturate: bool) -> Product {
        let shape = Shape { m: 1, n: 1, k: 3 };
        let fragment = |role, scalar| {
            let (rows, cols) = Fragment::size(role, shape);
            Fragment { role, layout: Layout::Mma, scalar, rows, cols, slots: Vec::new() }
        };
        Product {
            shape,
            d: fragment(Role::Sum, sum),
            a: fragment(Role::A, input),
            b: fragment(Role::B, input),
            c: fragment(Role::Sum, sum),
            saturate,
            xor: false,
            sparsity: None,
        }
    }

    fn f32s(values: &[f32]) -> BitMatrix {
        values.iter().map(|value| value.to_bits().into()).collect()
    }

    #[test]
    fn terms_are_cut_and_added_at_once() {
        let ones = f32s(&[1.0; 3]);
        let tf32 = op(Scalar::Tf32, Scalar::F32, false);
        let sum = |terms: [f32; 3], c: f32| {
            f32::from_bits(product(&tf32, &f32s(&terms), &ones, &f32s(&[c]))[0] as u32)
        };
        // 2^24 does not swallow the ones, as it would in f32.
        assert_eq!(sum([1.0, 1.0, -16_777_216.0], 16_777_216.0), 2.0);
        // What lies more than 25 bits below the largest term does not count, however often it is there.
        let (kept, lost) = ((-25f32).exp2(), (-26f32).exp2());
        assert_eq!(sum([lost, lost, -1.0], 1.0), 0.0);
        assert_eq!(sum([kept, kept, -1.0], 1.0), 2.0 * kept);
        // The sum is cut too: one step of f32 below 1 is 2^-24.
        assert_eq!(sum([-kept, 0.0, 0.0], 1.0), 1.0f32.next_down());
        assert_eq!(sum([-lost, 0.0, 0.0], 1.0), 1.0);
        assert_eq!(sum([-0.0, 0.0, 0.0], 0.0).to_bits(), 0);
        // What tf32 has no bits for does not count.
        let fine = sum([1.0 + 1.0 / 1024.0, f32::from_bits(0x3F80_1FFF), 0.0], 0.0);
        assert_eq!(fine, 2.0 + 1.0 / 1024.0);
        assert_eq!(sum([f32::INFINITY, f32::NEG_INFINITY, 0.0], 0.0).to_bits(), NAN);
        assert_eq!(sum([f32::INFINITY, 1.0, 0.0], 0.0), f32::INFINITY);
    }

    #[test]
    fn what_is_too_large_is_infinite() {
        let bf16 = op(Scalar::Bf16, Scalar::F32, false);
        let large = vec![u64::from(half::bf16::from_f32(1e30).to_bits()); 3];
        let infinity = u64::from(f32::INFINITY.to_bits());
        assert_eq!(product(&bf16, &large, &large, &f32s(&[0.0])), [infinity]);
        // The last bit that is cut off would have made it infinite.
        let one = vec![u64::from(half::bf16::from_f32(1.0).to_bits()), 0, 0];
        assert_eq!(product(&bf16, &one, &one, &f32s(&[f32::MAX])), f32s(&[f32::MAX]));
    }

    #[test]
    fn machine_code_for_wmma_goes_other_ways() {
        // Eight products of tf32 in two halves: the first sum is cut to f32 before the second.
        let mut tf32 = op(Scalar::Tf32, Scalar::F32, false);
        tf32.shape.k = 8;
        let tiny = (-24f32).exp2();
        let a = f32s(&[tiny, 0.0, 0.0, 0.0, tiny, 0.0, 0.0, 0.0]);
        let ones = f32s(&[1.0; 8]);
        let once = product(&tf32, &a, &ones, &f32s(&[1.0]));
        tf32.a.layout = Layout::Wmma;
        let twice = product(&tf32, &a, &ones, &f32s(&[1.0]));
        assert_eq!([once, twice], [f32s(&[1.0f32.next_up()]), f32s(&[1.0])]);
        // Minus 2^-48 is too small for a half: `mma` keeps its sign.
        let mut halves = op(Scalar::F16, Scalar::F16, false);
        let [small, minus] = [1, 0x8001].map(|bits| vec![bits, 0, 0]);
        assert_eq!(product(&halves, &minus, &small, &vec![0]), [MINUS_ZERO]);
        halves.a.layout = Layout::Wmma;
        assert_eq!(product(&halves, &minus, &small, &vec![0]), [0]);
        // From f32 to f16: cut to f32 first.
        let mut mixed = op(Scalar::F16, Scalar::F32, false);
        mixed.d.scalar = Scalar::F16;
        let half = |x: f32| u64::from(half::f16::from_f32(x).to_bits());
        let a = [half(1.0), half((-11f32).exp2()), half((-24f32).exp2())];
        let ones = [half(1.0), half(1.0), half(0.5)].to_vec();
        assert_eq!(product(&mixed, &a.to_vec(), &ones, &f32s(&[0.0])), [half(1.0)]);
        mixed.c.scalar = Scalar::F16;
        assert_eq!(product(&mixed, &a.to_vec(), &ones, &vec![0]), [half(1.0) + 1]);
        mixed.d.scalar = Scalar::F32;
        assert_eq!(product(&mixed, &a.to_vec(), &ones, &vec![half(2.0)])[0] as u32 >> 12, 0x40400);
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
    fn f64_makes_another_nan_than_it_passes_on() {
        let f64s = |values: [f64; 3]| values.map(f64::to_bits).to_vec();
        let (ones, infinity) = (f64s([1.0; 3]), f64::INFINITY);
        let sum = |a: [f64; 3], b: &BitMatrix, c: u64| {
            product(&op(Scalar::F64, Scalar::F64, false), &f64s(a), b, &vec![c])[0]
        };
        assert_eq!(sum([infinity, 1.0, -infinity], &ones, 0), MADE);
        assert_eq!(sum([0.0, 1.0, 2.0], &f64s([infinity, 1.0, 1.0]), 0), MADE);
        assert_eq!(sum([1.0, -infinity, 2.0], &ones, infinity.to_bits()), MADE);
        assert_eq!(sum([1.0; 3], &ones, MADE), MADE);
        // Signalling ones, told apart by their last bits.
        let nan = |payload: u64| f64::from_bits(0xFFF0_0000_0000_0000 | payload);
        let quiet = |payload: u64| nan(payload).to_bits() | QUIET;
        let (in_a, in_b) = ([1.0, nan(1), 2.0], f64s([1.0, nan(2), 1.0]));
        assert_eq!(sum(in_a, &ones, 0), quiet(1));
        assert_eq!(sum(in_a, &ones, nan(3).to_bits()), quiet(3));
        assert_eq!(sum(in_a, &in_b, nan(3).to_bits()), quiet(2));
        assert_eq!(sum(in_a, &f64s([1.0, nan(2), nan(4)]), 0), quiet(4));
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

    /// Eight columns are computed at once, a single one is not.
    #[test]
    fn columns_together_are_as_each_alone() {
        let mut state = 1u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        let types = [
            (Scalar::F16, Scalar::F32),
            (Scalar::F16, Scalar::F16),
            (Scalar::Bf16, Scalar::F32),
            (Scalar::Tf32, Scalar::F32),
        ];
        for round in 0..64 {
            let (input, sum) = types[round % 4];
            let mut op = op(input, sum, false);
            op.shape = Shape { m: 2, n: 8, k: 16 };
            // Of all sizes, or near each other; zeros among them, and infinities in the last rounds.
            let mut of_type = |scalar: Scalar| {
                let bits = next() << 1 | next() & 1;
                let (wide, exponent, near) = match scalar {
                    Scalar::F16 => (0xFFFF, 0x7C00, 0x3800),
                    Scalar::Bf16 => (0xFFFF, 0x7F80, 0x3F00),
                    _ => (0xFFFF_FFFF, 0x7F80_0000, 0x3F00_0000),
                };
                let bits = bits & wide;
                match round / 4 % 4 {
                    0 if bits.is_multiple_of(5) => 0,
                    0 | 1 => bits & !exponent | near | bits & (exponent >> 3),
                    2 if bits & exponent == exponent => bits & !exponent,
                    _ => bits,
                }
            };
            let a: BitMatrix = (0..2 * 16).map(|_| of_type(input)).collect();
            let b: BitMatrix = (0..16 * 8).map(|_| of_type(input)).collect();
            let c: BitMatrix = (0..2 * 8).map(|_| of_type(sum)).collect();
            let together = product(&op, &a, &b, &c);
            op.shape.n = 1;
            for col in 0..8 {
                let column = |matrix: &BitMatrix| -> BitMatrix {
                    matrix.iter().skip(col).step_by(8).copied().collect()
                };
                assert_eq!(column(&together), product(&op, &a, &column(&b), &column(&c)));
            }
        }
    }
}
