//! Affine forms: integer expressions that are linear in the indices, at fixed sizes.

use crate::error::{Error, Result};
use crate::syntax::int_expr::{IntExpr, IntKind, IntOp};

/// `constant + Σ coefficient · index`. Each index occurs in it at most once, and no coefficient is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affine {
    pub constant: i64,
    /// Indices and their coefficients.
    pub terms: Vec<(usize, i64)>,
}

impl Affine {
    fn constant(constant: i64) -> Self {
        Self { constant, terms: Vec::new() }
    }

    #[inline]
    pub fn index(id: usize) -> Self {
        Self { constant: 0, terms: vec![(id, 1)] }
    }

    /// The affine form of an expression over constants and indices; `None` where it has none.
    ///
    /// # Errors
    /// A coefficient that does not fit into 64 bits.
    #[inline]
    pub fn of(int: &IntExpr) -> Result<Option<Self>> {
        let zero = Self::default();
        Ok(match &int.kind {
            IntKind::Const(value) => Some(Self::constant(*value)),
            IntKind::Index(id) => Some(Self::index(*id)),
            IntKind::Name(_) | IntKind::Element(_) => None,
            IntKind::Neg(inner) => match Self::of(inner)? {
                Some(inner) => Some(zero.plus(-1, &inner).ok_or_else(|| overflow(int))?),
                None => None,
            },
            IntKind::Binary(op, left, right) => {
                let (Some(a), Some(b)) = (Self::of(left)?, Self::of(right)?) else {
                    return Ok(None);
                };
                let sum = match op {
                    IntOp::Add => a.plus(1, &b),
                    IntOp::Sub => a.plus(-1, &b),
                    IntOp::Mul if a.terms.is_empty() => zero.plus(a.constant, &b),
                    IntOp::Mul if b.terms.is_empty() => zero.plus(b.constant, &a),
                    _ => return Ok(None),
                };
                Some(sum.ok_or_else(|| overflow(int))?)
            }
        })
    }

    /// The coefficient of an index, 0 if the form does not contain it.
    #[inline]
    pub fn coefficient(&self, index: usize) -> i64 {
        self.terms.iter().find(|(id, _)| *id == index).map_or(0, |(_, coefficient)| *coefficient)
    }

    /// `self + factor · other`; `None` on overflow.
    #[inline]
    pub fn plus(&self, factor: i64, other: &Self) -> Option<Self> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(factor.checked_mul(other.constant)?)?;
        for (id, coefficient) in &other.terms {
            let change = factor.checked_mul(*coefficient)?;
            match sum.terms.iter_mut().find(|(other, _)| other == id) {
                Some((_, sum)) => *sum = sum.checked_add(change)?,
                None => sum.terms.push((*id, change)),
            }
        }
        sum.terms.retain(|(_, coefficient)| *coefficient != 0);
        Some(sum)
    }

    /// `Σ form · stride`: the flat address of an element, from its subscripts and the strides of its tensor. Computed
    /// modulo 2^64, so that it may wrap where the subscripts lie outside.
    #[inline]
    pub fn flat_address(subscripts: &[Self], strides: &[i64]) -> Self {
        let mut sum = Self::default();
        for (affine, stride) in subscripts.iter().zip(strides) {
            sum.constant = sum.constant.wrapping_add(affine.constant.wrapping_mul(*stride));
            for (id, coefficient) in &affine.terms {
                let step = coefficient.wrapping_mul(*stride);
                match sum.terms.iter_mut().find(|(other, _)| other == id) {
                    Some((_, sum)) => *sum = sum.wrapping_add(step),
                    None => sum.terms.push((*id, step)),
                }
            }
        }
        sum
    }
}

/// The error of an integer expression whose value may be too large to be computed.
#[inline]
pub fn overflow(int: &IntExpr) -> Error {
    Error::new(int.span, "this does not fit into 64 bits at the largest values that it may have")
        .help("cut an element before it is multiplied or shifted: `(key[i] & 0xffff) * 31`")
}
