//! Ranges whose limits depend on other indices or on data: how far an index can reach, as an expression over sizes.

use crate::program::ir::Index;
use crate::program::node::{Guard, IndexId};
use crate::span::Span;
use crate::syntax::ast::Limit;
use crate::syntax::int_expr::{IntExpr, IntKind, IntOp};

/// What the limits of an index say about it.
pub struct Limits {
    /// One more than the greatest value, over sizes only; `None` where it is not known.
    pub range: Option<IntExpr>,
    /// What cuts the range `0 .. range`.
    pub guards: Vec<Guard>,
}

/// The limits of the index `id`, with all names resolved. `indices` has the indices that they can refer to.
pub fn limits(id: IndexId, low: Option<&Limit>, high: Option<&Limit>, indices: &[Index]) -> Limits {
    let index = || IntExpr::index(id);
    let mut guards = Vec::new();
    if let Some(Limit { int, strict }) = low {
        guards.push(Guard { left: int.clone(), right: index(), strict: *strict });
    }
    let mut range = None;
    if let Some(Limit { int, strict }) = high {
        let of_sizes = int.indices().is_empty() && !int.has_elements();
        if of_sizes && *strict {
            range = Some(int.clone());
        } else {
            let past = |int| if *strict { int } else { plus(int, 1) };
            range = extreme(int, indices, End::Greatest).map(past);
            if of_sizes {
                return Limits { range, guards };
            }
            // At the smallest sizes the range can be empty.
            range = range.map(|range| if has_value(&range) { range } else { at_least_one(range) });
            guards.push(Guard { left: index(), right: int.clone(), strict: *strict });
        }
    }
    Limits { range, guards }
}

/// The range that an upper limit of the index `id` gives it, over sizes only.
pub fn high_range(id: IndexId, high: &Limit, indices: &[Index]) -> Option<IntExpr> {
    limits(id, None, Some(high), indices).range
}

/// Whether a range is at least 1 at all sizes.
fn has_value(range: &IntExpr) -> bool {
    match &range.kind {
        IntKind::Name(_) => true,
        IntKind::Const(value) => *value >= 1,
        _ => false,
    }
}

fn at_least_one(range: IntExpr) -> IntExpr {
    IntExpr::binary(IntOp::Max, range, IntExpr::constant(1))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Least,
    Greatest,
}

impl End {
    fn other(self) -> Self {
        if self == Self::Least { Self::Greatest } else { Self::Least }
    }
}

/// A bound of the least or the greatest value of an expression, over sizes only; `None` where none was found.
fn extreme(int: &IntExpr, indices: &[Index], end: End) -> Option<IntExpr> {
    if int.indices().is_empty() && !int.has_elements() {
        return Some(int.clone());
    }
    match &int.kind {
        IntKind::Index(_) if end == End::Least => Some(IntExpr::constant(0)),
        IntKind::Index(id) => Some(plus(indices.get(*id)?.range.clone(), -1)),
        IntKind::Const(_) | IntKind::Name(_) => Some(int.clone()),
        IntKind::Element(_) => None,
        IntKind::Neg(inner) => Some(IntExpr::negate(extreme(inner, indices, end.other())?)),
        IntKind::Binary(op, left, right) => {
            let of = |int, end| extreme(int, indices, end);
            let both = |a: Option<IntExpr>, b: Option<IntExpr>| Some(join(*op, a?, b?));
            match op {
                IntOp::Add => both(of(left, end), of(right, end)),
                IntOp::Sub => both(of(left, end), of(right, end.other())),
                IntOp::Mul if is_positive(left) => both(of(left, end), of(right, end)),
                IntOp::Mul | IntOp::Div | IntOp::CeilDiv if is_positive(right) => {
                    both(of(left, end), of(right, end))
                }
                IntOp::Mod if is_positive(right) && end == End::Least => Some(IntExpr::constant(0)),
                IntOp::Mod if is_positive(right) => Some(plus(right.as_ref().clone(), -1)),
                IntOp::Min | IntOp::Max => {
                    let one_will_do = (*op == IntOp::Min) == (end == End::Greatest);
                    match (of(left, end), of(right, end)) {
                        (Some(a), Some(b)) => Some(join(*op, a, b)),
                        (a, b) if one_will_do => a.or(b),
                        _ => None,
                    }
                }
                _ => None,
            }
        }
    }
}

/// Whether an expression is a size or a positive constant.
fn is_positive(int: &IntExpr) -> bool {
    has_value(int)
}

fn join(op: IntOp, left: IntExpr, right: IntExpr) -> IntExpr {
    match (op, &left.kind, &right.kind) {
        (IntOp::Add, _, IntKind::Const(value)) => plus(left, *value),
        (IntOp::Sub, _, IntKind::Const(value)) => plus(left, value.wrapping_neg()),
        (IntOp::Add, IntKind::Const(value), _) => plus(right, *value),
        _ => IntExpr::binary(op, left, right),
    }
}

/// `int + value`, where constants at the end are put together.
pub fn plus(int: IntExpr, value: i64) -> IntExpr {
    let (rest, before) = match &int.kind {
        IntKind::Const(constant) => (None, *constant),
        IntKind::Binary(IntOp::Add, left, right) => match right.kind {
            IntKind::Const(constant) => (Some(left.as_ref().clone()), constant),
            _ => (Some(int), 0),
        },
        IntKind::Binary(IntOp::Sub, left, right) => match right.kind {
            IntKind::Const(constant) => (Some(left.as_ref().clone()), constant.wrapping_neg()),
            _ => (Some(int), 0),
        },
        _ => (Some(int), 0),
    };
    let sum = before.saturating_add(value);
    let constant = |value: i64| IntExpr::new(IntKind::Const(value), Span::default());
    match rest {
        None => constant(sum),
        Some(rest) if sum == 0 => rest,
        Some(rest) if sum > 0 => IntExpr::binary(IntOp::Add, rest, constant(sum)),
        Some(rest) => IntExpr::binary(IntOp::Sub, rest, constant(sum.saturating_neg())),
    }
}
