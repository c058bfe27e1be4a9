//! Windows that extend past an edge: what lies outside counts along one axis, and a mean is taken of what lies inside.

use super::{Edit, Place};
use crate::syntax::int_expr::IntExpr;
use crate::syntax::operators::{Comparison, Condition, Connective, Op, Reduction};
use crate::variants::tree::{Access, Tree};

pub(super) fn edits(place: &Place) -> Vec<Edit> {
    match place.tree {
        Tree::Read(access) => zero_along_an_axis(place, access),
        Tree::Binary(Op::Div, sum, divisor) => means(place, sum, divisor).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Along one axis 0 is taken where a read lies outside, and along the others such a read is left out.
fn zero_along_an_axis(place: &Place, access: &Access) -> Vec<Edit> {
    let checked = checked(access);
    if checked.len() < 2 {
        return Vec::new();
    }
    let of = |axis: usize| {
        let others =
            checked.iter().filter(|&&other| other != axis).map(|&other| inside(access, other));
        let others = others.reduce(|a, b| Condition::join(Connective::And, a, b))?;
        let zero = Tree::Select(
            Box::new(others),
            Box::new(Tree::Number(0.0)),
            Box::new(place.tree.clone()),
        );
        let own = Box::new(place.tree.clone());
        let tree = Tree::Select(Box::new(inside(access, axis)), own, Box::new(zero));
        let says = format!(
            "{} counts as 0 where `{}` is outside of its axis, and is not left out",
            place.model.access_text(access),
            place.model.int_text(&access.subscripts[axis])
        );
        Some(Edit::new(format!("zero outside {axis}"), 2, tree, says))
    };
    checked.iter().filter_map(|&axis| of(axis)).collect()
}

/// The sum over a window, divided by how many of its elements lie inside.
fn means(place: &Place, sum: &Tree, divisor: &Tree) -> Option<Edit> {
    let Tree::Reduce(Reduction::Sum, ranges, body) = sum else { return None };
    let Tree::Read(access) = &**body else { return None };
    let all = checked(access).into_iter().map(|axis| inside(access, axis));
    let all = all.reduce(|a, b| Condition::join(Connective::And, a, b))?;
    let (one, zero) = (Box::new(Tree::Number(1.0)), Box::new(Tree::Number(0.0)));
    let term = Box::new(Tree::Select(Box::new(all), one, zero));
    let count = Tree::Reduce(Reduction::Sum, ranges.clone(), term);
    let says = format!(
        "the sum is divided by how many of its elements lie inside `{}`, not by {}",
        place.model.tensors[access.tensor].name,
        place.model.text(divisor)
    );
    Some(Edit::new("count inside", 2, Tree::binary(Op::Div, sum.clone(), count), says))
}

/// The axes along which a read may lie outside.
fn checked(access: &Access) -> Vec<usize> {
    let axes = 0..access.checks.len();
    axes.filter(|&axis| access.subscripts[axis].as_index().is_none()).collect()
}

/// Whether a subscript is inside of its axis.
fn inside(access: &Access, axis: usize) -> Condition<Tree> {
    let compare = |comparison: Comparison, limit: &IntExpr| {
        let subscript = Tree::Int(access.subscripts[axis].clone());
        Condition::compare(comparison, subscript, Tree::Int(limit.clone()))
    };
    let from = compare(Comparison::GreaterEqual, &IntExpr::constant(0));
    Condition::join(Connective::And, from, compare(Comparison::Less, &access.shape[axis]))
}
