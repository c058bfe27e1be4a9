//! The summands of a body.

use crate::program::node::{IndexId, Node};
use crate::syntax::operators::{Op, Reduction};

/// A summand of a body: for all values of `loops`, `node` is added, or subtracted where it is `negative`.
pub(crate) struct Summand<'a> {
    pub loops: Vec<IndexId>,
    pub negative: bool,
    pub node: &'a Node,
}

/// Splits a body, which is added for all values of `loops`, at its sums, differences and signs.
pub(crate) fn split_summands(node: &Node, loops: Vec<IndexId>) -> Vec<Summand<'_>> {
    let mut summands = Vec::new();
    split(node, false, loops, &mut summands);
    summands
}

fn split<'a>(node: &'a Node, negative: bool, loops: Vec<IndexId>, into: &mut Vec<Summand<'a>>) {
    match node {
        Node::Neg(inner) => split(inner, !negative, loops, into),
        Node::Binary(op @ (Op::Add | Op::Sub), left, right) => {
            split(left, negative, loops.clone(), into);
            split(right, negative != (*op == Op::Sub), loops, into);
        }
        Node::Reduce(Reduction::Sum, bound, body) => {
            let loops = [loops.as_slice(), bound].concat();
            split(body, negative, loops, into);
        }
        _ => into.push(Summand { loops, negative, node }),
    }
}
