//! The value of an integer expression, and constant folding.

use std::collections::BTreeMap;

use crate::error::{Error, Result, list};
use crate::integer::arithmetic::{ArithmeticError, apply};
use crate::span::Span;
use crate::syntax::int_expr::{IntExpr, IntKind};

/// The value of each size, by its name.
pub type Dims = BTreeMap<String, i64>;

/// The value of an expression without tensor elements. `index` gives the values of resolved indices.
///
/// # Errors
/// Sizes and indices without a value, elements of tensors, overflow, and division by zero.
pub fn evaluate(int: &IntExpr, dims: &Dims, index: &impl Fn(usize) -> Option<i64>) -> Result<i64> {
    match &int.kind {
        IntKind::Const(value) => Ok(*value),
        IntKind::Name(name) => dims.get(name).copied().ok_or_else(|| unbound(name, int.span, dims)),
        IntKind::Index(id) => index(*id)
            .ok_or_else(|| Error::new(int.span, "found an index where a size is expected")),
        IntKind::Element(_) => {
            Err(Error::new(int.span, "found a tensor element where a size is expected"))
        }
        IntKind::Neg(inner) => {
            let value = evaluate(inner, dims, index)?;
            value.checked_neg().ok_or_else(|| ArithmeticError::Overflow.at(int.span, int.span))
        }
        IntKind::Binary(op, left, right) => {
            let (a, b) = (evaluate(left, dims, index)?, evaluate(right, dims, index)?);
            apply(*op, a, b).map_err(|error| error.at(int.span, right.span))
        }
    }
}

/// The value of an expression over sizes alone.
///
/// # Errors
/// Those of [`evaluate`].
#[inline]
pub fn evaluate_size(int: &IntExpr, dims: &Dims) -> Result<i64> {
    evaluate(int, dims, &|_| None)
}

/// The value of the size `name`, which is at `span`.
///
/// # Errors
/// A size without a value.
#[inline]
pub fn named_size(name: &str, span: Span, dims: &Dims) -> Result<i64> {
    dims.get(name).copied().ok_or_else(|| unbound(name, span, dims))
}

fn unbound(name: &str, span: Span, dims: &Dims) -> Error {
    Error::new(span, format!("the size `{name}` has no value"))
        .help(format!("sizes with a value: {}", list(dims.keys().map(String::as_str))))
}

/// The value of an expression over constants and indices whose interval could be computed, so that neither overflow nor
/// a zero divisor is left.
pub fn evaluate_proved(int: &IntExpr, index: &impl Fn(usize) -> i64) -> i64 {
    match &int.kind {
        IntKind::Const(value) => *value,
        IntKind::Index(id) => index(*id),
        // Sizes were replaced by their values, elements by indices.
        IntKind::Name(_) | IntKind::Element(_) => 0,
        IntKind::Neg(inner) => evaluate_proved(inner, index).wrapping_neg(),
        IntKind::Binary(op, left, right) => {
            apply(*op, evaluate_proved(left, index), evaluate_proved(right, index)).unwrap_or(0)
        }
    }
}

/// Replaces sizes by their values, and operations on constants by their results.
///
/// # Errors
/// Those of [`evaluate`], for the parts without indices.
#[inline]
pub fn fold_constants(int: &IntExpr, dims: &Dims) -> Result<IntExpr> {
    let kind = match &int.kind {
        IntKind::Const(_) | IntKind::Index(_) | IntKind::Element(_) => return Ok(int.clone()),
        IntKind::Name(_) => IntKind::Const(evaluate_size(int, dims)?),
        IntKind::Neg(inner) => IntKind::Neg(Box::new(fold_constants(inner, dims)?)),
        IntKind::Binary(op, left, right) => {
            let (left, right) = (fold_constants(left, dims)?, fold_constants(right, dims)?);
            IntKind::Binary(*op, Box::new(left), Box::new(right))
        }
    };
    let constant = |operand: &IntExpr| matches!(operand.kind, IntKind::Const(_));
    let foldable = match &kind {
        IntKind::Neg(inner) => constant(inner),
        IntKind::Binary(_, left, right) => constant(left) && constant(right),
        _ => false,
    };
    let folded = IntExpr::new(kind, int.span);
    if !foldable {
        return Ok(folded);
    }
    Ok(IntExpr::new(IntKind::Const(evaluate_size(&folded, dims)?), int.span))
}
