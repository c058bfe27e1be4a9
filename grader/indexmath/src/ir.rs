//! Resolved statements: names are known, indices are places in a table, ranges are known.

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{Int, Op, Read};
use crate::shape::TensorType;
use crate::span::Span;

/// A place in [`Program::indices`].
pub(crate) type IndexId = usize;

#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// All tensors that were declared, and the cotangents that statements use.
    pub tensors: BTreeMap<String, TensorType>,
    pub indices: Vec<Index>,
    /// Names of the sizes.
    pub sizes: BTreeSet<String>,
    pub statements: Vec<Assign>,
    /// Sizes that must turn out to be equal.
    pub same: Vec<SameSize>,
}

/// An index runs over `0 .. range`.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    pub name: String,
    /// Over sizes only.
    pub range: Int,
}

/// `index` stands alone on two axes, whose sizes could not be shown to be equal.
#[derive(Clone, Debug)]
pub(crate) struct SameSize {
    pub index: IndexId,
    pub span: Span,
    pub first: Axis,
    pub second: Axis,
}

#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub tensor: String,
    pub place: usize,
    pub size: Int,
}

/// A tensor is the sum of `parts`; of none, zero.
#[derive(Clone, Debug)]
pub(crate) struct Assign {
    pub target: String,
    pub parts: Vec<Part>,
}

/// For all values of `loops`: `target[subscripts] += body`, where the subscripts lie inside.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub loops: Vec<IndexId>,
    pub subscripts: Vec<Int>,
    /// Subscripts may lie outside; then nothing is added.
    pub padded: bool,
    pub body: Node,
}

/// A real-valued expression. Functions will be a further variant.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Number(f64),
    /// A size as a number.
    Size(String, Span),
    Read(Read),
    Neg(Box<Node>),
    Binary(Op, Box<Node>, Box<Node>),
    Sum(Vec<IndexId>, Box<Node>),
}

impl Node {
    pub(crate) fn binary(op: Op, left: Self, right: Self) -> Self {
        Self::Binary(op, Box::new(left), Box::new(right))
    }

    /// Calls `f` on every read, left to right.
    pub(crate) fn reads<'a>(&'a self, f: &mut impl FnMut(&'a Read)) {
        match self {
            Self::Number(_) | Self::Size(..) => {}
            Self::Read(read) => f(read),
            Self::Neg(inner) | Self::Sum(_, inner) => inner.reads(f),
            Self::Binary(_, left, right) => {
                left.reads(f);
                right.reads(f);
            }
        }
    }

    /// The indices that occur in subscripts, bound inside or not, each once.
    pub(crate) fn used_indices(&self) -> Vec<IndexId> {
        let mut used = Vec::new();
        self.reads(&mut |read| {
            for subscript in &read.subscripts {
                for id in subscript.indices() {
                    if !used.contains(&id) {
                        used.push(id);
                    }
                }
            }
        });
        used
    }
}

/// The name of the cotangent of `tensor`.
pub(crate) fn grad(tensor: &str) -> String {
    format!("grad({tensor})")
}
