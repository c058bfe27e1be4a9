//! Products of 8-bit floats as machine code for `sm_90` computes them: those of a warp, and those of a warp group.
//!
//! Its tensor cores know `e4m3` and `e5m2` only in products of warp groups, so `ptxas` makes `f16` of both halves of each register:
//! two products of 16 elements each, the second of which adds to the first, and an `f32` addition of C at the end
//! (`cuobjdump -sass` of CUDA 13.0 shows it). Other architectures add otherwise.

use super::float::NAN_F32;
use super::fused_sum::{BitMatrix, NAN, Term, fused, fused_of};
use super::narrow::{f16_from_e4m3, f16_from_e5m2};

use crate::isa::matrix::{Product, Scalar};

/// D = A B + C.
pub fn product(op: &Product, a: &BitMatrix, b: &BitMatrix, c: &BitMatrix) -> BitMatrix {
    let (n, depth) = (op.shape.n, op.shape.k);
    let (a, b) = (terms(a, op.a.scalar), terms(b, op.b.scalar));
    let element = |(index, &start): (usize, &u64)| {
        let (row, col) = (index / n, index % n);
        let sum = [0, 2].into_iter().fold(0, |sum, first| {
            // A register holds four neighbours along k: its lower half the first two.
            let half = (0..depth).filter(|k| k % 4 / 2 * 2 == first);
            let products = half.map(|k| a[row * depth + k].times(b[k * n + col]));
            let terms: Vec<Term> =
                std::iter::once(Term::new(sum, Scalar::F32)).chain(products).collect();
            fused(&terms, Scalar::F32)
        });
        let [start, sum] = [start, sum].map(|bits| f32::from_bits(bits as u32));
        let sum = start + sum;
        u64::from(if sum.is_nan() { NAN_F32 } else { sum.to_bits() })
    };
    c.iter().enumerate().map(element).collect()
}

/// Bits that a term of a warp group's product keeps below that of the largest term's exponent, and bits of the significand of its `f32`
/// sum behind the point.
const KEPT: i32 = 13;

/// D = A B + C of a warp group: all at once, in fewer bits than halves have (Xie and others, "MMA-Sim", 2025).
pub fn of_group(op: &Product, a: &BitMatrix, b: &BitMatrix, c: &BitMatrix) -> BitMatrix {
    let (n, depth, to) = (op.shape.n, op.shape.k, op.d.scalar);
    let terms = |matrix: &BitMatrix, scalar| -> Vec<Term> {
        matrix.iter().map(|&bits| Term::new(bits, scalar)).collect()
    };
    let (a, b) = (terms(a, op.a.scalar), terms(b, op.b.scalar));
    let element = |(index, &start): (usize, &u64)| {
        let (row, col) = (index / n, index % n);
        let products = (0..depth).map(|k| a[row * depth + k].times(b[k * n + col]));
        let terms: Vec<Term> = std::iter::once(Term::new(start, to)).chain(products).collect();
        let sum = fused_of(&terms, KEPT, to);
        if to == Scalar::F32 && sum != NAN.into() { sum & !((1 << (23 - KEPT)) - 1) } else { sum }
    };
    c.iter().enumerate().map(element).collect()
}

/// Every 8-bit float is an `f16`.
fn terms(matrix: &BitMatrix, scalar: Scalar) -> Vec<Term> {
    let widen = if scalar == Scalar::E4m3 { f16_from_e4m3 } else { f16_from_e5m2 };
    matrix.iter().map(|&bits| Term::new(widen(bits as u32).into(), Scalar::F16)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::matrix::{Fragment, Layout, Role, Shape};

    /// One row by one column of `k` elements.
    fn row_by_column(k: usize, scalars: [Scalar; 2]) -> Product {
        let shape = Shape { m: 1, n: 1, k };
        let fragment = |role, scalar| {
            let (rows, cols) = Fragment::size(role, shape);
            Fragment { role, layout: Layout::Mma, scalar, rows, cols, slots: Vec::new() }
        };
        Product {
            shape,
            d: fragment(Role::Sum, Scalar::F32),
            a: fragment(Role::A, scalars[0]),
            b: fragment(Role::B, scalars[1]),
            c: fragment(Role::Sum, Scalar::F32),
            saturate: false,
            xor: false,
            sparsity: None,
        }
    }

    fn sum(a: [u64; 8], b: [u64; 8], c: f32, scalars: [Scalar; 2]) -> f32 {
        let op = row_by_column(8, scalars);
        f32::from_bits(product(&op, &a.to_vec(), &b.to_vec(), &vec![c.to_bits().into()])[0] as u32)
    }

    #[test]
    fn numbers_of_both_formats_multiply() {
        // e4m3: 0x38 is 1, 0x44 is 3, 0x7E is 448, 0x01 is 2^-9. e5m2: 0x3C is 1, 0xC2 is -3, 0x60 is 2^9.
        let a = [0x38, 0x44, 0x7E, 0x01, 0, 0, 0, 0x44];
        let b = [0x3C, 0xC2, 0x3C, 0x60, 0, 0, 0, 0x3C];
        assert_eq!(
            sum(a, b, 0.5, [Scalar::E4m3, Scalar::E5m2]),
            0.5 + 1.0 - 9.0 + 448.0 + 1.0 + 3.0
        );
        let [infinity, nan] = [0x7C, 0x7F];
        let one = [0x3C, 0, 0, 0, 0, 0, 0, 0];
        let both = [Scalar::E5m2; 2];
        assert_eq!(sum([infinity, 0, 0, 0, 0, 0, 0, 0], one, 1.0, both), f32::INFINITY);
        assert_eq!(sum([nan, 0, 0, 0, 0, 0, 0, 0], one, 1.0, both).to_bits(), NAN_F32);
    }

    #[test]
    fn sums_of_a_group_have_thirteen_bits_behind_the_point() {
        let op = row_by_column(2, [Scalar::E5m2; 2]);
        // e5m2: 0x3C is 1, 0x08 is 2^-13, 0x04 is 2^-14.
        let sum = |a: [u64; 2], c: f32| {
            let bits = of_group(&op, &a.to_vec(), &vec![0x3C; 2], &vec![c.to_bits().into()])[0];
            f32::from_bits(bits as u32)
        };
        assert_eq!(sum([0x08, 0], 1.0), 1.0 + (-13f32).exp2());
        assert_eq!(sum([0x04, 0x04], 1.0), 1.0);
        // One place more before the point costs one behind it.
        assert_eq!(sum([0x3C, 0x08], 1.0), 2.0);
        assert_eq!(sum([0x7F, 0], 1.0).to_bits(), NAN);
    }

    #[test]
    fn halves_of_registers_are_added_one_after_the_other() {
        let both = [Scalar::E5m2; 2];
        // e5m2: 0x78 is 2^15, 0x60 is 2^9, 0x3E is 1.5, 0x01 is 2^-16.
        let b = [0x78, 0x78, 0x78, 0x78, 0, 0, 0, 0];
        // 2^30 - 2^30 within one half leaves 1/2 of the other.
        assert_eq!(sum([0x78, 0xF8, 0x01, 0, 0, 0, 0, 0], b, 0.0, both), 0.5);
        // Across the halves the first sum still has it: 2^24 + 2^-1 is cut to 2^24.
        let b = [0x78, 0x78, 0x78, 0, 0, 0, 0, 0];
        assert_eq!(sum([0x60, 0x01, 0xE0, 0, 0, 0, 0, 0], b, 0.0, both), 0.0);
        assert_eq!(sum([0x60, 0xE0, 0x01, 0, 0, 0, 0, 0], b, 0.0, both), 0.5);
        // C is added at the end, with rounding: 2^24 + 1.5 is 2^24 + 2.
        let ones = [0x3C; 8];
        assert_eq!(sum([0x3E, 0, 0, 0, 0, 0, 0, 0], ones, 16_777_216.0, both), 16_777_218.0);
    }
}
