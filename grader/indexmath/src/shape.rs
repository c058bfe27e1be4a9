//! Sizes, element types and shapes.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use crate::ast::{Int, IntKind, IntOp};
use crate::error::{Error, Result, list};
use crate::int_parser;
use crate::lexer::Tok;
use crate::parser::Parser;
use crate::pretty::IntText;
use crate::span::Span;

/// Sizes by name.
pub type Dims = BTreeMap<String, i64>;

/// An integer expression over sizes: `H - F + 1`, `ceil_div(batch*C_in*H*W, 256)`.
#[derive(Clone, Debug, PartialEq)]
pub struct DimExpr {
    pub(crate) int: Int,
}

impl DimExpr {
    /// Parses `+ - * / %`, parentheses, `ceil_div(a, b)`, `div(a, b)`, `mod(a, b)`, `min(a, b)`,
    /// `max(a, b)`, names and integers. Division and remainder are those of the floor.
    ///
    /// # Errors
    /// Where the text is no such expression.
    pub fn parse(text: &str) -> Result<Self> {
        Ok(Self { int: int_parser::integer(text)? })
    }

    /// Value under `dims`.
    ///
    /// # Errors
    /// Names without a value, overflow and division by zero, at their place in the text.
    pub fn eval(&self, dims: &Dims) -> Result<i64> {
        eval(&self.int, dims, &|_| None)
    }

    /// The names it reads, with their places, in order of appearance.
    pub fn names(&self) -> Vec<(String, Span)> {
        let mut names = Vec::new();
        self.int.leaves(&mut |leaf| {
            if let IntKind::Name(name) = &leaf.kind {
                names.push((name.clone(), leaf.span));
            }
        });
        names
    }
}

impl Display for DimExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        IntText { int: &self.int, names: &[], tight: false }.fmt(f)
    }
}

/// The value of `int`; `index` gives the values of resolved indices.
pub(crate) fn eval(int: &Int, dims: &Dims, index: &impl Fn(usize) -> Option<i64>) -> Result<i64> {
    match &int.kind {
        IntKind::Const(value) => Ok(*value),
        IntKind::Name(name) => dims.get(name).copied().ok_or_else(|| unbound(name, int.span, dims)),
        IntKind::Index(id) => {
            index(*id).ok_or_else(|| Error::new(int.span, "an index where a size must stand"))
        }
        IntKind::Element(_) => {
            Err(Error::new(int.span, "a tensor element where a size must stand"))
        }
        IntKind::Neg(inner) => {
            let value = eval(inner, dims, index)?;
            value.checked_neg().ok_or_else(|| overflow(int.span))
        }
        IntKind::Binary(op, left, right) => {
            let (a, b) = (eval(left, dims, index)?, eval(right, dims, index)?);
            apply(*op, a, b).map_err(|problem| problem.at(int.span, right.span))
        }
    }
}

fn unbound(name: &str, span: Span, dims: &Dims) -> Error {
    Error::new(span, format!("the size `{name}` has no value"))
        .help(format!("sizes with a value: {}", list(dims.keys().map(String::as_str))))
}

fn overflow(span: Span) -> Error {
    Error::new(span, "this does not fit 64 bits")
}

/// Why an integer operation has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    Overflow,
    ZeroDivisor,
}

impl Problem {
    /// The error, for an operation at `whole` with the right operand at `divisor`.
    pub(crate) fn at(self, whole: Span, divisor: Span) -> Error {
        match self {
            Self::Overflow => overflow(whole),
            Self::ZeroDivisor => Error::new(divisor, "the divisor is 0"),
        }
    }
}

pub(crate) fn apply(op: IntOp, a: i64, b: i64) -> std::result::Result<i64, Problem> {
    let checked = match op {
        IntOp::Add => a.checked_add(b),
        IntOp::Sub => a.checked_sub(b),
        IntOp::Mul => a.checked_mul(b),
        IntOp::Min => Some(a.min(b)),
        IntOp::Max => Some(a.max(b)),
        IntOp::Div | IntOp::Mod | IntOp::CeilDiv if b == 0 => return Err(Problem::ZeroDivisor),
        IntOp::Div => floor_div(a, b),
        IntOp::Mod => a.checked_rem(b).map(|rest| {
            // The remainder of the floor division has the divisor's sign.
            if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }
        }),
        IntOp::CeilDiv => floor_div(a, b).and_then(|floor| {
            let whole = a.checked_rem(b)? == 0;
            floor.checked_add(i64::from(!whole))
        }),
    };
    checked.ok_or(Problem::Overflow)
}

fn floor_div(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    let negative_rest = a % b != 0 && (a < 0) != (b < 0);
    Some(quotient - i64::from(negative_rest))
}

/// Element type of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
    /// IEEE binary16.
    F16,
    /// bfloat16.
    BF16,
    /// 32-bit signed integer.
    I32,
}

impl DType {
    const ALL: [Self; 5] = [Self::F32, Self::F64, Self::F16, Self::BF16, Self::I32];

    /// As it is written in a tensor's type.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::I32 => "i32",
        }
    }

    /// Has it a gradient?
    pub fn is_float(self) -> bool {
        self != Self::I32
    }
}

impl Display for DType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// `f32[batch, C_in, H, W]`, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorType {
    /// Element type.
    pub dtype: DType,
    /// One size for each axis; empty for a scalar.
    pub shape: Vec<DimExpr>,
}

impl TensorType {
    /// Parses `dtype[size, ...]`; `dtype[]` is a scalar.
    ///
    /// # Errors
    /// Where the text is no such type.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parser = Parser::of_sizes(text)?;
        let known = list(DType::ALL.map(DType::name));
        let example = "a tensor's type is written like `f32[batch, H, W]`";
        let Tok::Name(name) = parser.peek() else {
            return Err(parser.expected("an element type").help(example));
        };
        let Some(dtype) = DType::ALL.into_iter().find(|dtype| dtype.name() == name) else {
            return Err(Error::new(parser.token().span, format!("unknown element type `{name}`"))
                .help(format!("element types: {known}")));
        };
        parser.next();
        if parser.peek() != Tok::OpenSquare {
            return Err(parser.expected("`[` and the sizes").help(example));
        }
        let shape = parser.subscripts()?.0.0.into_iter().map(|int| DimExpr { int }).collect();
        if parser.peek() != Tok::Eof {
            return Err(parser.expected("the end of the type").help(example));
        }
        Ok(Self { dtype, shape })
    }
}

impl Display for TensorType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.dtype)?;
        for (place, size) in self.shape.iter().enumerate() {
            write!(f, "{}{size}", if place == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}
