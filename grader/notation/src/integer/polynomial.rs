//! Normal forms of sizes: polynomials over their names. Equal normal forms mean equal values at every size.

use std::collections::BTreeMap;

use crate::span::Span;
use crate::syntax::int_expr::{IntExpr, IntKind, IntOp};
use crate::syntax::printer::IntText;

/// A polynomial over sizes: a sum of monomials with integer coefficients, none of them 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Polynomial {
    /// The coefficient of each monomial. A monomial is a product of names, sorted; the empty one is the constant. What is
    /// not a polynomial (`div(H, 2)`) takes part as a name: its text.
    coefficients: BTreeMap<Vec<String>, i64>,
}

/// More monomials than any size has; it keeps `(a+b)*(a+b)*...` from growing without end.
const MAX_MONOMIALS: usize = 64;

impl Polynomial {
    fn constant(value: i64) -> Self {
        let mut polynomial = Self::default();
        if value != 0 {
            polynomial.coefficients.insert(Vec::new(), value);
        }
        polynomial
    }

    fn name(name: String) -> Self {
        Self { coefficients: BTreeMap::from([(vec![name], 1)]) }
    }

    /// The polynomial of an expression without indices; `None` if a coefficient overflows or there are too many
    /// monomials.
    fn of(int: &IntExpr) -> Option<Self> {
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
                        let plain = IntExpr::binary(*op, a.to_int(), b.to_int());
                        let text = IntText { int: &plain, names: &[], tight: true };
                        Some(Self::name(text.to_string()))
                    }
                }
            }
        }
    }

    fn as_constant(&self) -> Option<i64> {
        match self.coefficients.iter().next() {
            None => Some(0),
            Some((monomial, value)) if monomial.is_empty() && self.coefficients.len() == 1 => {
                Some(*value)
            }
            Some(_) => None,
        }
    }

    fn plus(&self, other: &Self) -> Option<Self> {
        let mut sum = self.clone();
        for (monomial, value) in &other.coefficients {
            let entry = sum.coefficients.entry(monomial.clone()).or_insert(0);
            *entry = entry.checked_add(*value)?;
        }
        sum.coefficients.retain(|_, value| *value != 0);
        (sum.coefficients.len() <= MAX_MONOMIALS).then_some(sum)
    }

    fn times(&self, factor: i64) -> Option<Self> {
        let mut product = self.clone();
        for value in product.coefficients.values_mut() {
            *value = value.checked_mul(factor)?;
        }
        product.coefficients.retain(|_, value| *value != 0);
        Some(product)
    }

    fn product(&self, other: &Self) -> Option<Self> {
        let mut product = Self::default();
        for (a, x) in &self.coefficients {
            for (b, y) in &other.coefficients {
                let mut monomial = [a.as_slice(), b.as_slice()].concat();
                monomial.sort();
                let part = Self { coefficients: BTreeMap::from([(monomial, x.checked_mul(*y)?)]) };
                product = product.plus(&part)?;
            }
        }
        Some(product)
    }

    /// An expression of this normal form. A subexpression that is not a polynomial is represented by a name: suitable for comparing and
    /// printing, not for evaluating.
    fn to_int(&self) -> IntExpr {
        let mut sum: Option<IntExpr> = None;
        for (monomial, &value) in &self.coefficients {
            let mut product = (value.unsigned_abs() != 1 || monomial.is_empty())
                .then(|| IntExpr::constant(value.checked_abs().unwrap_or(i64::MAX)));
            for name in monomial {
                let atom = IntExpr::new(IntKind::Name(name.clone()), Span::default());
                product = Some(match product {
                    Some(left) => IntExpr::binary(IntOp::Mul, left, atom),
                    None => atom,
                });
            }
            let part = product.unwrap_or_else(|| IntExpr::constant(1));
            sum = Some(match sum {
                Some(left) if value < 0 => IntExpr::binary(IntOp::Sub, left, part),
                Some(left) => IntExpr::binary(IntOp::Add, left, part),
                None if value < 0 => IntExpr::negate(part),
                None => part,
            });
        }
        sum.unwrap_or_else(|| IntExpr::constant(0))
    }
}

/// Whether two sizes are equal at every value of the names in them; `None` where their difference is a polynomial that is
/// 0 for some values only, or no normal form was found.
pub fn same_size(a: &IntExpr, b: &IntExpr) -> Option<bool> {
    let difference = Polynomial::of(a)?.plus(&Polynomial::of(b)?.times(-1)?)?;
    difference.as_constant().map(|constant| constant == 0)
}
