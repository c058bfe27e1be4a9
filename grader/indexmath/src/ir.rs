//! Resolved statements: names are known, indices are places in a table, ranges are known.

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{Int, IntKind, Read};
use crate::ops::{Cmp, Cond, Func, Op, Reduction};
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

/// A real-valued expression.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Number(f64),
    /// A size as a number.
    Size(String, Span),
    /// An integer expression over indices and sizes as a number.
    Index(Int),
    Read(Read),
    Neg(Box<Node>),
    Binary(Op, Box<Node>, Box<Node>),
    Reduce(Reduction, Vec<IndexId>, Box<Node>),
    /// As many values as the function takes.
    Call(Func, Vec<Node>),
    Select(Box<Cond<Node>>, Box<Node>, Box<Node>),
}

impl Node {
    pub(crate) fn binary(op: Op, left: Self, right: Self) -> Self {
        Self::Binary(op, Box::new(left), Box::new(right))
    }

    pub(crate) fn negate(node: Self) -> Self {
        Self::Neg(Box::new(node))
    }

    /// The sum over `bound`, which may be none.
    pub(crate) fn sum(bound: Vec<IndexId>, body: Self) -> Self {
        if bound.is_empty() { body } else { Self::Reduce(Reduction::Sum, bound, Box::new(body)) }
    }

    pub(crate) fn select(cond: Cond<Self>, yes: Self, no: Self) -> Self {
        Self::Select(Box::new(cond), Box::new(yes), Box::new(no))
    }

    /// `left == right` of two integer expressions. Elements, sizes and constants are numbers as they are.
    pub(crate) fn same_int(left: Int, right: Int) -> Cond<Self> {
        let number = |int: Int| match int.kind {
            IntKind::Element(read) => Self::Read(*read),
            IntKind::Name(name) => Self::Size(name, int.span),
            IntKind::Const(value) if value.unsigned_abs() < 1 << 53 => Self::Number(value as f64),
            _ => Self::Index(int),
        };
        Cond::compare(Cmp::Equal, number(left), number(right))
    }

    pub(crate) fn is_zero(&self) -> bool {
        matches!(self, Self::Number(value) if *value == 0.0)
    }

    /// The nodes directly below, left to right.
    pub(crate) fn children<'a>(&'a self, f: &mut impl FnMut(&'a Node)) {
        match self {
            Self::Number(_) | Self::Size(..) | Self::Index(_) | Self::Read(_) => {}
            Self::Neg(inner) | Self::Reduce(_, _, inner) => f(inner),
            Self::Binary(_, left, right) => {
                f(left);
                f(right);
            }
            Self::Call(_, values) => values.iter().for_each(f),
            Self::Select(cond, yes, no) => {
                cond.values(f);
                f(yes);
                f(no);
            }
        }
    }

    /// Calls `f` on every read, left to right; elements in subscripts and in indices as numbers are reads too.
    pub(crate) fn reads<'a>(&'a self, f: &mut dyn FnMut(&'a Read)) {
        match self {
            Self::Read(read) => read.with_elements(&mut |read| f(read)),
            Self::Index(int) => int.elements(&mut |read| f(read)),
            _ => {}
        }
        self.children(&mut |child| child.reads(f));
    }

    /// Calls `f` on every integer expression: subscripts and indices as numbers.
    fn ints<'a>(&'a self, f: &mut dyn FnMut(&'a Int)) {
        match self {
            Self::Read(read) => read.subscripts.iter().for_each(&mut *f),
            Self::Index(int) => f(int),
            _ => {}
        }
        self.children(&mut |child| child.ints(f));
    }

    /// The indices that occur in integer expressions, bound inside or not, each once.
    pub(crate) fn used_indices(&self) -> Vec<IndexId> {
        let mut used = Vec::new();
        self.ints(&mut |int| {
            for id in int.indices() {
                if !used.contains(&id) {
                    used.push(id);
                }
            }
        });
        used
    }
}

impl Part {
    /// Calls `f` on every read, those in the subscripts of the target first.
    pub(crate) fn reads<'a>(&'a self, f: &mut impl FnMut(&'a Read)) {
        self.subscripts.iter().for_each(|int| int.elements(f));
        self.body.reads(f);
    }
}

/// The name of the cotangent of `tensor`.
pub(crate) fn grad(tensor: &str) -> String {
    format!("grad({tensor})")
}

/// The tensor that one of this name is like: X for `grad(X)` and for `X'`.
pub(crate) fn like(name: &str) -> Option<&str> {
    name.strip_prefix("grad(").and_then(|rest| rest.strip_suffix(')')).or(name.strip_suffix('\''))
}
