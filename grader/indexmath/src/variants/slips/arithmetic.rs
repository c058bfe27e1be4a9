//! Factors, terms and signs: left out, flipped, swapped.

use super::{Edit, Place};
use crate::syntax::int_expr::{IntExpr, IntKind};
use crate::syntax::operators::{Function, Op};
use crate::variants::tree::{Access, Tree};

pub(super) fn edits(place: &Place) -> Vec<Edit> {
    match place.tree {
        Tree::Neg(inner) => {
            let says = format!("the minus sign before {} is left out", place.model.text(inner));
            vec![Edit::new("no minus", 1, (**inner).clone(), says)]
        }
        Tree::Binary(op, left, right) => {
            let mut edits = binary(place, *op, left, right);
            edits.extend((*op == Op::Div).then(|| complement(place)));
            edits.extend(
                (*op == Op::Mul && left.without_spans() == right.without_spans())
                    .then(|| magnitude(place, left)),
            );
            edits
        }
        Tree::Read(access) if place.model.tensors[access.tensor].dtype.is_float() => {
            let mut edits = vec![complement(place), one_more(place)];
            edits.extend(too_many(place));
            edits
        }
        _ => Vec::new(),
    }
}

/// 1 - x in the place of x: the probability of the other case, black for white.
fn complement(place: &Place) -> Edit {
    let tree = Tree::binary(Op::Sub, Tree::Number(1.0), place.tree.clone());
    let text = place.model.text(place.tree);
    let says = format!("1 minus {text} stands in the place of {text}");
    Edit::new("complement", 3, tree, says)
}

/// 1 + x in the place of x: a scale that is learned as its distance from 1.
fn one_more(place: &Place) -> Edit {
    let tree = Tree::binary(Op::Add, Tree::Number(1.0), place.tree.clone());
    let text = place.model.text(place.tree);
    Edit::new("one more", 3, tree, format!("1 plus {text} stands in the place of {text}"))
}

/// |x| in the place of its square.
fn magnitude(place: &Place, factor: &Tree) -> Edit {
    let tree = Tree::Call(Function::Abs, vec![factor.clone()]);
    let says =
        format!("the absolute value of {} is taken, not its square", place.model.text(factor));
    Edit::new("absolute", 2, tree, says)
}

/// A factor that the part reads elsewhere, at the same element, and not in this product.
fn too_many(place: &Place) -> Vec<Edit> {
    let is_there = |access: &&Access| {
        let is_bound = access.subscripts.iter().all(|int| int.uses_only(place.scope));
        is_bound && Tree::Read((*access).clone()) != *place.tree
    };
    let of = |access: &Access| {
        let text = place.model.access_text(access);
        let tree = Tree::binary(Op::Mul, place.tree.clone(), Tree::Read(access.clone()));
        let says = format!("{} is multiplied by {text}, too", place.model.text(place.tree));
        Edit::new(format!("times {text}"), 3, tree, says)
    };
    place.others.iter().filter(is_there).map(of).collect()
}

/// Whoever forgets a product of products forgets more than one thing.
fn weight(tree: &Tree) -> u8 {
    match tree {
        Tree::Binary(..) => 2,
        _ => 1,
    }
}

fn binary(place: &Place, op: Op, left: &Tree, right: &Tree) -> Vec<Edit> {
    let (l, r) = (place.model.text(left), place.model.text(right));
    let with = |op: Op, a: &Tree, b: &Tree| Tree::binary(op, a.clone(), b.clone());
    let (left_weight, right_weight) = (weight(left), weight(right));
    let edits = match op {
        Op::Mul => vec![
            (right, "drop", right_weight, left.clone(), format!("the factor {r} is left out")),
            (left, "drop", left_weight, right.clone(), format!("the factor {l} is left out")),
            (
                right,
                "divide",
                2,
                with(Op::Div, left, right),
                format!("it is divided by {r}, not multiplied by it"),
            ),
            (
                left,
                "divide",
                2,
                with(Op::Div, right, left),
                format!("it is divided by {l}, not multiplied by it"),
            ),
            (
                right,
                "add",
                3,
                with(Op::Add, left, right),
                format!("{r} is added to {l}, not multiplied with it"),
            ),
            (
                right,
                "twice",
                3,
                with(Op::Mul, place.tree, right),
                format!("the factor {r} is there twice"),
            ),
            (
                left,
                "twice",
                3,
                with(Op::Mul, left, place.tree),
                format!("the factor {l} is there twice"),
            ),
        ],
        Op::Add => vec![
            (right, "drop", right_weight, left.clone(), format!("the term {r} is left out")),
            (left, "drop", left_weight, right.clone(), format!("the term {l} is left out")),
            (
                right,
                "flip",
                1,
                with(Op::Sub, left, right),
                format!("the term {r} is subtracted, not added"),
            ),
            (
                left,
                "flip",
                1,
                with(Op::Sub, right, left),
                format!("the term {l} is subtracted, not added"),
            ),
            (
                right,
                "twice",
                2,
                with(Op::Add, place.tree, right),
                format!("the term {r} is added twice"),
            ),
            (
                left,
                "twice",
                2,
                with(Op::Add, place.tree, left),
                format!("the term {l} is added twice"),
            ),
            (
                right,
                "multiply",
                3,
                with(Op::Mul, left, right),
                format!("{l} is multiplied by {r}, not added to it"),
            ),
        ],
        Op::Sub => vec![
            (right, "drop", right_weight, left.clone(), format!("the term {r} is not subtracted")),
            (
                left,
                "drop",
                left_weight,
                Tree::Neg(Box::new(right.clone())),
                format!("the term {l} is left out"),
            ),
            (
                right,
                "flip",
                1,
                with(Op::Add, left, right),
                format!("the term {r} is added, not subtracted"),
            ),
            (
                place.tree,
                "swap",
                1,
                with(Op::Sub, right, left),
                format!(
                    "the difference {} is taken the other way round",
                    place.model.text(place.tree)
                ),
            ),
            (
                right,
                "twice",
                3,
                with(Op::Sub, place.tree, right),
                format!("the term {r} is subtracted twice"),
            ),
        ],
        Op::Div => vec![
            (right, "drop", right_weight, left.clone(), format!("the division by {r} is left out")),
            (
                left,
                "drop",
                left_weight,
                Tree::binary(Op::Div, Tree::Number(1.0), right.clone()),
                format!("the numerator {l} is left out"),
            ),
            (
                right,
                "multiply",
                2,
                with(Op::Mul, left, right),
                format!("it is multiplied by {r}, not divided by it"),
            ),
            (
                place.tree,
                "swap",
                2,
                with(Op::Div, right, left),
                format!("the fraction {} is upside down", place.model.text(place.tree)),
            ),
            (
                right,
                "twice",
                3,
                with(Op::Div, place.tree, right),
                format!("it is divided by {r} twice"),
            ),
        ],
    };
    let edit = |(about, key, rank, tree, says): (&Tree, &str, u8, Tree, String)| {
        Edit::new(key, rank, tree, says).about(about)
    };
    let mut edits: Vec<Edit> = edits.into_iter().map(edit).collect();
    if op == Op::Div {
        for name in place.sizes.iter().chain(place.products) {
            let size = IntExpr::new(IntKind::Name(name.clone()), crate::Span::default());
            let says = format!("it is divided by {}, not by {r}", place.size_text(&size));
            let tree = with(Op::Div, left, &Tree::Int(size));
            edits.push(Edit::new(format!("by {name}"), 2, tree, says).about(right));
        }
    }
    edits
}
