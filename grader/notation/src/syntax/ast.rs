//! What the parser makes of the text of a formula: statements over real-valued expressions, names as they are written.

use crate::span::Span;
use crate::syntax::int_expr::{IntExpr, Read};
use crate::syntax::operators::{Condition, Function, Op, Reduction};

/// A real-valued expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

/// The forms of a real-valued expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    Number(f64),
    /// A size, or a tensor without axes.
    Name(String),
    Read(Read),
    Neg(Box<Expr>),
    Binary(Op, Box<Expr>, Box<Expr>),
    Reduce(Reduction, Vec<Bound>, Box<Expr>),
    /// A function with as many arguments as it takes.
    Call(Function, Vec<Expr>),
    /// The first expression where the condition holds, else the second.
    Select(Box<Condition<Expr>>, Box<Expr>, Box<Expr>),
    /// `index(int)`: the value of an integer expression as a number.
    Index(IntExpr),
}

/// An index that a reduction binds, with the limits of its range that are written: `k`, `k < K`, `j >= i`, or
/// `row[i] <= e < row[i+1]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    pub name: String,
    pub low: Option<Limit>,
    pub high: Option<Limit>,
    pub span: Span,
}

/// A limit of an index; one that is `strict` does not belong to the range.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    pub int: IntExpr,
    pub strict: bool,
}

/// `target[subscripts] = body`, or `target[subscripts] += body`.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub target: String,
    pub target_span: Span,
    pub subscripts: Vec<IntExpr>,
    /// Whether the body is added to the element: `+=`.
    pub adds: bool,
    /// Written `?[...]`, with `+=` only: what would be added outside the tensor is left out.
    pub padded: bool,
    pub body: Expr,
}
