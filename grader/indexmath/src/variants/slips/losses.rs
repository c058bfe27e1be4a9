//! Another loss than the cross-entropy.

use super::{Edit, Place};
use crate::syntax::operators::{Function, Op, Reduction};
use crate::variants::tree::{Access, Tree};

pub(super) fn edits(place: &Place) -> Vec<Edit> {
    match place.tree {
        Tree::Binary(Op::Mul, label, log) => two_classes(place, label, log).into_iter().collect(),
        Tree::Neg(inner) => match &**inner {
            Tree::Reduce(Reduction::Sum, ranges, body) => {
                squares(place, body, &|square| Tree::Reduce(Reduction::Sum, ranges.clone(), square))
                    .into_iter()
                    .collect()
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// `y * log(p)` as `y * log(p) + (1 - y) * log(1 - p)`, the cross-entropy of a single probability.
fn two_classes(place: &Place, label: &Tree, log: &Tree) -> Option<Edit> {
    let probability = probability(label, log)?;
    let other = |tree: &Tree| Tree::binary(Op::Sub, Tree::Number(1.0), tree.clone());
    let second = Tree::binary(Op::Mul, other(label), complemented(log, probability)?);
    let says = format!(
        "as for two classes, the same product of 1 minus {} and 1 minus {} is added",
        place.model.text(label),
        place.model.access_text(probability)
    );
    Some(Edit::new("two classes", 2, Tree::binary(Op::Add, place.tree.clone(), second), says))
}

/// `-sum y * log(p)` as the sum of `(p - y)^2`.
fn squares(place: &Place, body: &Tree, sum: &dyn Fn(Box<Tree>) -> Tree) -> Option<Edit> {
    let Tree::Binary(Op::Mul, label, log) = body else { return None };
    let probability = probability(label, log)?;
    let difference = Tree::binary(Op::Sub, Tree::Read(probability.clone()), (**label).clone());
    let square = Tree::binary(Op::Mul, difference.clone(), difference.clone());
    let says = format!(
        "the square of {} is summed, not {}",
        place.model.text(&difference),
        place.model.text(body)
    );
    Some(Edit::new("squares", 2, sum(Box::new(square)), says))
}

/// What the logarithm is taken of, if the other factor is a label.
fn probability<'t>(label: &Tree, log: &'t Tree) -> Option<&'t Access> {
    let (Tree::Read(_), Tree::Call(Function::Log, values)) = (label, log) else { return None };
    let mut reads = Vec::new();
    values.first()?.visit(&mut Vec::new(), &mut |_, tree| {
        if let Tree::Read(access) = tree {
            reads.push(access);
        }
    });
    match reads[..] {
        [read] => Some(read),
        _ => None,
    }
}

/// The tree with 1 less a read in the place of the read.
fn complemented(tree: &Tree, read: &Access) -> Option<Tree> {
    let mut path = None;
    tree.visit(&mut Vec::new(), &mut |at, tree| {
        if matches!(tree, Tree::Read(access) if access == read) {
            path = Some(at.to_vec());
        }
    });
    let other = Tree::binary(Op::Sub, Tree::Number(1.0), Tree::Read(read.clone()));
    Some(tree.with(&path?, &other))
}
