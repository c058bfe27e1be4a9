//! Normal forms: integer expressions as polynomials over sizes, and as affine forms over indices
//! with such polynomials as coefficients. Equal normal forms mean equal values at every size.

use std::collections::BTreeMap;

use crate::ast::{Int, IntKind, IntOp};
use crate::pretty::IntText;
use crate::span::Span;

/// A polynomial over sizes. A key is a product of names, sorted; the empty one is the constant.
/// What is no polynomial (`div(H, 2)`) takes part as a name, printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Poly {
    terms: BTreeMap<Vec<String>, i64>,
}

/// More terms than any size has; keeps `(a+b)*(a+b)*...` from growing without end.
const MAX_TERMS: usize = 64;

impl Poly {
    pub(crate) fn constant(value: i64) -> Self {
        let mut poly = Self::default();
        if value != 0 {
            poly.terms.insert(Vec::new(), value);
        }
        poly
    }

    fn name(name: String) -> Self {
        Self { terms: BTreeMap::from([(vec![name], 1)]) }
    }

    /// The polynomial of an expression without indices; `None` if a coefficient overflows or the
    /// polynomial is too long to be worth it.
    pub(crate) fn of(int: &Int) -> Option<Self> {
        match &int.kind {
            IntKind::Const(value) => Some(Self::constant(*value)),
            IntKind::Name(name) => Some(Self::name(name.clone())),
            IntKind::Index(_) | IntKind::Element(_) => None,
            IntKind::Neg(inner) => Self::of(inner)?.times(-1),
            IntKind::Binary(op, left, right) => {
                let (a, b) = (Self::of(left)?, Self::of(right)?);
                match op {
                    IntOp::Add => a.plus(&b),
                    IntOp::Sub => a.plus(&b.times(-1)?),
                    IntOp::Mul => a.product(&b),
                    _ => {
                        // The operands in normal form, so that `div(H+1,2)` equals `div(1+H,2)`.
                        let plain = Int::binary(*op, a.to_int(), b.to_int());
                        Some(Self::name(
                            IntText { int: &plain, names: &[], tight: true }.to_string(),
                        ))
                    }
                }
            }
        }
    }

    pub(crate) fn as_constant(&self) -> Option<i64> {
        match self.terms.iter().next() {
            None => Some(0),
            Some((key, value)) if key.is_empty() && self.terms.len() == 1 => Some(*value),
            Some(_) => None,
        }
    }

    pub(crate) fn plus(&self, other: &Self) -> Option<Self> {
        let mut sum = self.clone();
        for (key, value) in &other.terms {
            let entry = sum.terms.entry(key.clone()).or_insert(0);
            *entry = entry.checked_add(*value)?;
        }
        sum.terms.retain(|_, value| *value != 0);
        (sum.terms.len() <= MAX_TERMS).then_some(sum)
    }

    pub(crate) fn times(&self, factor: i64) -> Option<Self> {
        let mut product = self.clone();
        for value in product.terms.values_mut() {
            *value = value.checked_mul(factor)?;
        }
        product.terms.retain(|_, value| *value != 0);
        Some(product)
    }

    fn product(&self, other: &Self) -> Option<Self> {
        let mut product = Self::default();
        for (a, x) in &self.terms {
            for (b, y) in &other.terms {
                let mut key = [a.as_slice(), b.as_slice()].concat();
                key.sort();
                let part = Self { terms: BTreeMap::from([(key, x.checked_mul(*y)?)]) };
                product = product.plus(&part)?;
            }
        }
        Some(product)
    }

    /// Back to an expression. An atom that is no plain name stands in it as a name: fine for
    /// comparing and printing, not for evaluating.
    fn to_int(&self) -> Int {
        let mut sum: Option<Int> = None;
        for (key, &value) in &self.terms {
            let mut product = (value.unsigned_abs() != 1 || key.is_empty())
                .then(|| Int::constant(value.checked_abs().unwrap_or(i64::MAX)));
            for name in key {
                let atom = Int::new(IntKind::Name(name.clone()), Span::default());
                product = Some(match product {
                    Some(left) => Int::binary(IntOp::Mul, left, atom),
                    None => atom,
                });
            }
            let part = product.unwrap_or_else(|| Int::constant(1));
            sum = Some(match sum {
                Some(left) if value < 0 => Int::binary(IntOp::Sub, left, part),
                Some(left) => Int::binary(IntOp::Add, left, part),
                None if value < 0 => Int::new(IntKind::Neg(Box::new(part)), Span::default()),
                None => part,
            });
        }
        sum.unwrap_or_else(|| Int::constant(0))
    }
}

/// Are the two sizes the same at every value of the names? `None`: not decided here.
pub(crate) fn same_size(a: &Int, b: &Int) -> Option<bool> {
    let difference = Poly::of(a)?.plus(&Poly::of(b)?.times(-1)?)?;
    difference.as_constant().map(|constant| constant == 0)
}
