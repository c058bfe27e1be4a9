//! The number of an element, split into its indices with other sizes than it should be: `i / H % W` in the place of `i / W % H`.

use super::{Edit, Place};
use crate::program::node::IndexId;
use crate::syntax::int_expr::{IntExpr, IntOp};
use crate::variants::tree::{Access, Tree};

/// The slips in which the elements of `target` are found by their numbers in memory.
pub(super) fn edits(place: &Place, target: &str) -> Vec<Edit> {
    let axes = place.scope;
    let size = |axis: usize| &place.model.ranges[axes[axis]];
    // Sizes that are the same change nothing.
    let text = |axis: usize| place.model.int_text(size(axis));
    let mut edits = Vec::new();
    for a in 0..axes.len() {
        for b in (a + 1..axes.len()).filter(|&b| text(a) != text(b)) {
            let given = |axis: usize, divisors: bool, modulus: bool| {
                let other = |of: usize| {
                    if of == a {
                        b
                    } else if of == b {
                        a
                    } else {
                        of
                    }
                };
                let divided = |of: usize| size(if divisors { other(of) } else { of });
                let limit = size(if modulus { other(axis) } else { axis });
                split(place, axis, &divided, limit)
            };
            for (axis, &index) in axes.iter().enumerate() {
                let correct = given(axis, false, false);
                for (divisors, modulus) in [(true, false), (false, true), (true, true)] {
                    let wrong = given(axis, divisors, modulus);
                    if wrong == correct {
                        continue;
                    }
                    let name = place.model.name(index);
                    let says = format!(
                        "`{name}` is `{}`, not `{}`, where `i` counts the elements of `{target}`",
                        shown(place, &wrong),
                        shown(place, &correct),
                    );
                    let tree = with_indices(place.tree, &[(index, wrong.1)]);
                    edits.push(Edit::new(
                        format!("split {axis} {a} {b} {divisors} {modulus}"),
                        2,
                        tree,
                        says,
                    ));
                }
            }
            let all: Vec<(IndexId, IntExpr)> =
                (0..axes.len()).map(|axis| (axes[axis], given(axis, true, true).1)).collect();
            let says = format!(
                "{} and {} are swapped wherever the number of an element of `{target}` is split into its indices",
                place.size_text(size(a)),
                place.size_text(size(b)),
            );
            edits.push(Edit::new(
                format!("split {a} {b}"),
                2,
                with_indices(place.tree, &all),
                says,
            ));
        }
    }
    edits
}

/// An index from the number of an element: the sizes by which it is divided, and the index. The first axis has no limit.
fn split<'a>(
    place: &Place,
    axis: usize,
    divided: &dyn Fn(usize) -> &'a IntExpr,
    limit: &IntExpr,
) -> (Option<IntExpr>, IntExpr, Option<IntExpr>) {
    let scope = place.scope;
    let product = |a: IntExpr, b: IntExpr| IntExpr::binary(IntOp::Mul, a, b);
    let number = scope.iter().enumerate().fold(None, |number: Option<IntExpr>, (at, &index)| {
        let index_now = IntExpr::index(index);
        Some(match number {
            None => index_now,
            Some(before) => IntExpr::binary(
                IntOp::Add,
                product(before, place.model.ranges[scope[at]].clone()),
                index_now,
            ),
        })
    });
    let mut int = number.unwrap_or_else(|| IntExpr::constant(0));
    let by = (axis + 1..scope.len()).map(|of| divided(of).clone()).reduce(product);
    if let Some(by) = &by {
        int = IntExpr::binary(IntOp::Div, int, by.clone());
    }
    let limit = (axis > 0).then(|| limit.clone());
    if let Some(limit) = &limit {
        int = IntExpr::binary(IntOp::Mod, int, limit.clone());
    }
    (by, int, limit)
}

/// The index as a kernel would have it.
fn shown(place: &Place, parts: &(Option<IntExpr>, IntExpr, Option<IntExpr>)) -> String {
    let (by, _, limit) = parts;
    let text = |int: &IntExpr| place.model.int_text(int);
    let by = by.as_ref().map(|by| match text(by) {
        product if product.contains('*') => format!(" / ({product})"),
        size => format!(" / {size}"),
    });
    let limit = limit.as_ref().map(|limit| format!(" % {}", text(limit)));
    format!("i{}{}", by.unwrap_or_default(), limit.unwrap_or_default())
}

/// The reads of a tree with other indices.
fn with_indices(tree: &Tree, to: &[(IndexId, IntExpr)]) -> Tree {
    let leaf = |leaf: &IntExpr| {
        let found = to.iter().find(|(index, _)| leaf.as_index() == Some(*index));
        found.map_or_else(|| leaf.clone(), |(_, int)| int.clone())
    };
    match tree {
        Tree::Read(access) => Tree::Read(Access {
            subscripts: access.subscripts.iter().map(|int| int.map(&mut |int| leaf(int))).collect(),
            ..access.clone()
        }),
        other => other.map_children(&mut |child| with_indices(child, to)),
    }
}
