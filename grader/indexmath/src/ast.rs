//! What the parser makes: names as written, a span on each node.

use crate::ops::{Cond, Func, Op, Reduction};
use crate::span::Span;

/// An integer expression: a size, a range or a subscript.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Int {
    pub kind: IntKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum IntKind {
    Const(i64),
    /// A size; before resolution also an index.
    Name(String),
    /// A resolved index: its place in the formula's table of indices.
    Index(usize),
    /// An element of an integer tensor; only in subscripts.
    Element(Box<Read>),
    Neg(Box<Int>),
    Binary(IntOp, Box<Int>, Box<Int>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntOp {
    Add,
    Sub,
    Mul,
    /// Floor division.
    Div,
    /// Remainder of the floor division.
    Mod,
    CeilDiv,
    Min,
    Max,
}

impl IntOp {
    /// The operators that are written as functions, `div` and `mod` included.
    pub(crate) fn function(name: &str) -> Option<Self> {
        Some(match name {
            "div" => Self::Div,
            "mod" => Self::Mod,
            "ceil_div" => Self::CeilDiv,
            "min" => Self::Min,
            "max" => Self::Max,
            _ => return None,
        })
    }
}

impl Int {
    pub(crate) fn new(kind: IntKind, span: Span) -> Self {
        Self { kind, span }
    }

    pub(crate) fn constant(value: i64) -> Self {
        Self::new(IntKind::Const(value), Span::default())
    }

    pub(crate) fn index(id: usize) -> Self {
        Self::new(IntKind::Index(id), Span::default())
    }

    pub(crate) fn binary(op: IntOp, left: Self, right: Self) -> Self {
        let span = left.span.to(right.span);
        Self::new(IntKind::Binary(op, Box::new(left), Box::new(right)), span)
    }

    /// Calls `f` on every leaf, left to right; an element's leaves are those of its subscripts.
    pub(crate) fn leaves<'a>(&'a self, f: &mut impl FnMut(&'a Int)) {
        match &self.kind {
            IntKind::Const(_) | IntKind::Name(_) | IntKind::Index(_) => f(self),
            IntKind::Element(read) => read.subscripts.iter().for_each(|int| int.leaves(f)),
            IntKind::Neg(inner) => inner.leaves(f),
            IntKind::Binary(_, left, right) => {
                left.leaves(f);
                right.leaves(f);
            }
        }
    }

    /// The same expression with every leaf replaced by what `f` gives.
    pub(crate) fn try_map<E>(&self, f: &mut impl FnMut(&Int) -> Result<Int, E>) -> Result<Int, E> {
        let kind = match &self.kind {
            IntKind::Const(_) | IntKind::Name(_) | IntKind::Index(_) => return f(self),
            IntKind::Element(read) => IntKind::Element(Box::new(read.try_map(f)?)),
            IntKind::Neg(inner) => IntKind::Neg(Box::new(inner.try_map(f)?)),
            IntKind::Binary(op, left, right) => {
                IntKind::Binary(*op, Box::new(left.try_map(f)?), Box::new(right.try_map(f)?))
            }
        };
        Ok(Int::new(kind, self.span))
    }

    /// [`Self::try_map`] with an `f` that cannot fail.
    pub(crate) fn map(&self, f: &mut impl FnMut(&Int) -> Int) -> Int {
        match self.try_map(&mut |leaf| Ok::<_, std::convert::Infallible>(f(leaf))) {
            Ok(int) => int,
        }
    }

    /// The resolved indices in it, each once, in order of appearance.
    pub(crate) fn indices(&self) -> Vec<usize> {
        let mut found = Vec::new();
        self.leaves(&mut |leaf| {
            if let IntKind::Index(id) = leaf.kind
                && !found.contains(&id)
            {
                found.push(id);
            }
        });
        found
    }

    /// Calls `f` on the elements in it, those in their subscripts after them.
    pub(crate) fn elements<'a>(&'a self, f: &mut impl FnMut(&'a Read)) {
        match &self.kind {
            IntKind::Const(_) | IntKind::Name(_) | IntKind::Index(_) => {}
            IntKind::Element(read) => read.with_elements(f),
            IntKind::Neg(inner) => inner.elements(f),
            IntKind::Binary(_, left, right) => {
                left.elements(f);
                right.elements(f);
            }
        }
    }

    pub(crate) fn has_elements(&self) -> bool {
        let mut found = false;
        self.elements(&mut |_| found = true);
        found
    }

    pub(crate) fn as_index(&self) -> Option<usize> {
        match self.kind {
            IntKind::Index(id) => Some(id),
            _ => None,
        }
    }
}

/// A real-valued expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ExprKind {
    Number(f64),
    /// A size or a tensor without axes.
    Name(String),
    Read(Read),
    Neg(Box<Expr>),
    Binary(Op, Box<Expr>, Box<Expr>),
    Reduce(Reduction, Vec<Bound>, Box<Expr>),
    Call(Func, Vec<Expr>),
    Select(Box<Cond<Expr>>, Box<Expr>, Box<Expr>),
    /// `index(int)`: an integer expression as a number.
    Index(Int),
}

/// `tensor[subscripts]` or `tensor?[subscripts]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Read {
    pub tensor: String,
    pub subscripts: Vec<Int>,
    /// Written `?[...]`: the identity of the reduction around it outside.
    pub padded: bool,
    pub span: Span,
}

impl Read {
    /// The same read with every leaf of its subscripts replaced by what `f` gives.
    pub(crate) fn try_map<E>(&self, f: &mut impl FnMut(&Int) -> Result<Int, E>) -> Result<Self, E> {
        let subscripts = self.subscripts.iter().map(|int| int.try_map(f));
        Ok(Self { subscripts: subscripts.collect::<Result<_, E>>()?, ..self.clone() })
    }

    /// [`Self::try_map`] with an `f` that cannot fail.
    pub(crate) fn map(&self, f: &mut impl FnMut(&Int) -> Int) -> Self {
        Self { subscripts: self.subscripts.iter().map(|int| int.map(f)).collect(), ..self.clone() }
    }

    /// Calls `f` on this read and on those in its subscripts.
    pub(crate) fn with_elements<'a>(&'a self, f: &mut impl FnMut(&'a Self)) {
        f(self);
        self.subscripts.iter().for_each(|int| int.elements(f));
    }
}

/// An index of a reduction, with its range if one is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bound {
    pub name: String,
    pub range: Option<Int>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Statement {
    pub target: String,
    pub target_span: Span,
    pub subscripts: Vec<Int>,
    pub body: Expr,
}
