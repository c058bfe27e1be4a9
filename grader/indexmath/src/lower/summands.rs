//! The summands of a body.

use crate::program::node::{Guard, IndexId, Node};
use crate::syntax::operators::{Op, Reduction};

/// A summand of a body: for all values of `loops` at which the guards hold, `node` is added, or subtracted where it is
/// `negative`.
pub(crate) struct Summand<'a> {
    pub loops: Vec<IndexId>,
    pub guards: Vec<&'a Guard>,
    pub negative: bool,
    pub node: &'a Node,
}

/// Splits a body, which is added for all values of `loops`, at its sums, differences, signs and guards.
pub(crate) fn split_summands(node: &Node, loops: Vec<IndexId>) -> Vec<Summand<'_>> {
    let mut summands = Vec::new();
    split(Summand { loops, guards: Vec::new(), negative: false, node }, &mut summands);
    summands
}

fn split<'a>(whole: Summand<'a>, into: &mut Vec<Summand<'a>>) {
    let Summand { loops, mut guards, negative, node } = whole;
    match node {
        Node::Neg(inner) => {
            split(Summand { loops, guards, negative: !negative, node: inner }, into);
        }
        Node::Binary(op @ (Op::Add | Op::Sub), left, right) => {
            let (own, negated) = (loops.clone(), negative != (*op == Op::Sub));
            split(Summand { loops: own, guards: guards.clone(), negative, node: left }, into);
            split(Summand { loops, guards, negative: negated, node: right }, into);
        }
        Node::Reduce(Reduction::Sum, bound, body) => {
            let loops = [loops.as_slice(), bound].concat();
            split(Summand { loops, guards, negative, node: body }, into);
        }
        Node::Where(own, body) => {
            guards.extend(own);
            split(Summand { loops, guards, negative, node: body }, into);
        }
        _ => into.push(Summand { loops, guards, negative, node }),
    }
}
