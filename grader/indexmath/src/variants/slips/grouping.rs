//! Brackets that stand elsewhere: an operation that takes in too much or too little.

use super::{Edit, Place};
use crate::syntax::operators::{Function, Op};
use crate::variants::tree::Tree;

pub(super) fn edits(place: &Place) -> Vec<Edit> {
    match place.tree {
        Tree::Binary(op @ (Op::Mul | Op::Div), left, right) => {
            let mut edits = narrower(place, *op, left, right);
            edits.extend(scaled_earlier(place, *op, left, right));
            edits
        }
        Tree::Binary(op @ (Op::Add | Op::Sub), left, right) => wider(place, *op, left, right),
        Tree::Call(function, values) => match &values[..] {
            [argument] => outside(place, *function, argument),
            [_, _] => scaled_later(place),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// `(a + b) * c` as `a + b * c`, and `c * (a + b)` as `c * a + b`.
fn narrower(place: &Place, op: Op, left: &Tree, right: &Tree) -> Vec<Edit> {
    let text = |tree: &Tree| place.model.text(tree);
    let how = if op == Op::Mul { "multiplied" } else { "divided" };
    let mut edits = Vec::new();
    if let Tree::Binary(sum @ (Op::Add | Op::Sub), a, b) = left {
        for (key, whole, part) in [
            (
                "right alone",
                Tree::binary(*sum, (**a).clone(), Tree::binary(op, (**b).clone(), right.clone())),
                b,
            ),
            (
                "left alone",
                Tree::binary(*sum, Tree::binary(op, (**a).clone(), right.clone()), (**b).clone()),
                a,
            ),
        ] {
            let says = format!(
                "only {} is {how} by {}, not all of {}",
                text(part),
                text(right),
                text(left)
            );
            edits.push(Edit::new(key, 2, whole, says));
        }
    }
    if let (Op::Mul, Tree::Binary(sum @ (Op::Add | Op::Sub), a, b)) = (op, right) {
        for (key, whole, part) in [
            (
                "left alone",
                Tree::binary(*sum, Tree::binary(op, left.clone(), (**a).clone()), (**b).clone()),
                a,
            ),
            (
                "right alone",
                Tree::binary(*sum, (**a).clone(), Tree::binary(op, left.clone(), (**b).clone())),
                b,
            ),
        ] {
            let says = format!(
                "only {} is multiplied by {}, not all of {}",
                text(part),
                text(left),
                text(right)
            );
            edits.push(Edit::new(key, 2, whole, says));
        }
    }
    edits
}

/// `a * b + c` as `a * (b + c)` or `b * (a + c)`, and `a + b / c` as `(a + b) / c`.
fn wider(place: &Place, op: Op, left: &Tree, right: &Tree) -> Vec<Edit> {
    let text = |tree: &Tree| place.model.text(tree);
    let mut edits = Vec::new();
    let mut add = |key: &str, tree: Tree, how: &str, by: &Tree, sum: &Tree, meant: &Tree| {
        let says = format!("{} is {how} by {}, not {} alone", text(sum), text(by), text(meant));
        edits.push(Edit::new(key, 2, tree, says));
    };
    if let Tree::Binary(inner @ (Op::Mul | Op::Div), a, b) = left {
        let how = if *inner == Op::Mul { "multiplied" } else { "divided" };
        let sum = Tree::binary(op, (**a).clone(), right.clone());
        add("wider", Tree::binary(*inner, sum.clone(), (**b).clone()), how, b, &sum, a);
        if *inner == Op::Mul {
            let sum = Tree::binary(op, (**b).clone(), right.clone());
            add("wider right", Tree::binary(*inner, (**a).clone(), sum.clone()), how, a, &sum, b);
        }
    }
    if let Tree::Binary(inner @ (Op::Mul | Op::Div), a, b) = right {
        let how = if *inner == Op::Mul { "multiplied" } else { "divided" };
        let sum = Tree::binary(op, left.clone(), (**a).clone());
        add("wide", Tree::binary(*inner, sum.clone(), (**b).clone()), how, b, &sum, a);
        if *inner == Op::Mul {
            let sum = Tree::binary(op, left.clone(), (**b).clone());
            add("wide right", Tree::binary(*inner, (**a).clone(), sum.clone()), how, a, &sum, b);
        }
    }
    edits
}

/// `f(a + b)` as `f(a) + b`, and the like.
fn outside(place: &Place, function: Function, argument: &Tree) -> Vec<Edit> {
    let Tree::Binary(op, a, b) = argument else { return Vec::new() };
    let call = |tree: &Tree| Tree::Call(function, vec![tree.clone()]);
    let name = function.name();
    let of = |key: &str, tree: Tree, inside: &Tree, out: &Tree| {
        let (inside, out) = (place.model.text(inside), place.model.text(out));
        Edit::new(
            key,
            2,
            tree,
            format!("`{name}` is taken of {inside} alone, and {out} stands outside of it"),
        )
    };
    let right = of("right outside", Tree::binary(*op, call(a), (**b).clone()), a, b);
    let left = of("left outside", Tree::binary(*op, (**a).clone(), call(b)), b, a);
    vec![right, left]
}

/// `max(a / c, b)` as `max(a, b) / c`, also through several maxima and minima.
fn scaled_later(place: &Place) -> Vec<Edit> {
    let text = |tree: &Tree| place.model.text(tree);
    let edits = unscaled(place.tree).into_iter().enumerate().map(|(nth, (op, limited, a, by))| {
        let how = if op == Op::Mul { "multiplied" } else { "divided" };
        let says = format!("{} is {how} by {}, not {} alone", text(&limited), text(by), text(a));
        Edit::new(format!("later {nth}"), 2, Tree::binary(op, limited, by.clone()), says)
    });
    edits.collect()
}

/// `c * max(a, b)` as `max(c * a, b)`, also through several maxima and minima.
fn scaled_earlier(place: &Place, op: Op, left: &Tree, right: &Tree) -> Vec<Edit> {
    let text = |tree: &Tree| place.model.text(tree);
    let how = if op == Op::Mul { "multiplied" } else { "divided" };
    let swapped = (op == Op::Mul).then_some((right, left));
    let both = [(left, right)].into_iter().chain(swapped);
    let all = both.flat_map(|(limited, by)| {
        scaled(limited, op, by).into_iter().map(move |(tree, value)| (tree, value, by))
    });
    let edits = all.enumerate().map(|(nth, (tree, value, by))| {
        let says =
            format!("{} is {how} by {} before it is limited, not after", text(value), text(by));
        Edit::new(format!("earlier {nth}"), 2, tree, says)
    });
    edits.collect()
}

/// The maxima and minima in which one value is scaled, with that value.
fn scaled<'t>(tree: &'t Tree, op: Op, by: &Tree) -> Vec<(Tree, &'t Tree)> {
    let Tree::Call(function @ (Function::Max | Function::Min), values) = tree else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for (at, value) in values.iter().enumerate() {
        let is_limited = matches!(value, Tree::Call(Function::Max | Function::Min, _));
        let inside = if is_limited {
            scaled(value, op, by)
        } else {
            vec![(Tree::binary(op, value.clone(), by.clone()), value)]
        };
        all.extend(inside.into_iter().map(|(changed, value)| {
            let mut values = values.clone();
            values[at] = changed;
            (Tree::Call(*function, values), value)
        }));
    }
    all
}

/// A maximum or minimum in which one scaled value is not, with the operation, the value and the scale.
fn unscaled(tree: &Tree) -> Vec<(Op, Tree, &Tree, &Tree)> {
    let Tree::Call(function @ (Function::Max | Function::Min), values) = tree else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for (at, value) in values.iter().enumerate() {
        let inside = match value {
            Tree::Binary(Op::Div, a, by) => vec![(Op::Div, (**a).clone(), &**a, &**by)],
            Tree::Binary(Op::Mul, a, b) => {
                [(a, b), (b, a)].map(|(a, by)| (Op::Mul, (**a).clone(), &**a, &**by)).to_vec()
            }
            _ => unscaled(value),
        };
        all.extend(inside.into_iter().map(|(op, changed, a, by)| {
            let mut values = values.clone();
            values[at] = changed;
            (op, Tree::Call(*function, values), a, by)
        }));
    }
    all
}
