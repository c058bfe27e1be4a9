//! Sizes and the types of tensors.

use std::fmt::{self, Display, Formatter};

use crate::dtype::DType;
use crate::error::{Error, Result, list};
use crate::integer::evaluate::{Dims, evaluate_size};
use crate::span::Span;
use crate::syntax::int_expr::{IntExpr, IntKind};
use crate::syntax::lexer::TokenKind;
use crate::syntax::parser::cursor::Parser;
use crate::syntax::parser::integer::parse_size;
use crate::syntax::printer::IntText;

/// An integer expression over sizes, as it stands in a shape: `H - F + 1`, `ceil_div(batch*C_in*H*W, 256)`.
#[derive(Clone, Debug, PartialEq)]
pub struct DimExpr {
    pub int: IntExpr,
}

impl DimExpr {
    /// Parses `+ - * / %`, parentheses, `ceil_div(a, b)`, `div(a, b)`, `mod(a, b)`, `min(a, b)`,
    /// `max(a, b)`, names and integers. Division and remainder are those of the floor.
    ///
    /// # Errors
    /// The first mistake in the text, with its place.
    pub fn parse(text: &str) -> Result<Self> {
        Ok(Self { int: parse_size(text)? })
    }

    /// The value for the sizes `dims`.
    ///
    /// # Errors
    /// Names without a value, overflow and division by zero, with their place in the text.
    pub fn eval(&self, dims: &Dims) -> Result<i64> {
        evaluate_size(&self.int, dims)
    }

    /// The names of sizes in the expression, with their places in the text, in order of appearance.
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

/// The type of a tensor: its element type and its shape, row-major. `f32[batch, C_in, H, W]`.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorType {
    /// The type of the elements.
    pub dtype: DType,
    /// One size for each axis; empty for a scalar.
    pub shape: Vec<DimExpr>,
}

impl TensorType {
    /// Parses `dtype[size, ...]`; `dtype[]` is a scalar.
    ///
    /// # Errors
    /// The first mistake in the text, with its place.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parser = Parser::of_sizes(text)?;
        let known = list(DType::ALL.map(DType::name));
        let example = "a tensor's type is written like `f32[batch, H, W]`";
        let TokenKind::Name(name) = parser.peek() else {
            return Err(parser.expected("an element type").help(example));
        };
        let Some(dtype) = DType::named(name) else {
            return Err(Error::new(parser.token().span, format!("unknown element type `{name}`"))
                .help(format!("element types: {known}")));
        };
        parser.next();
        if parser.peek() != TokenKind::OpenSquare {
            return Err(parser.expected("`[` and the sizes").help(example));
        }
        let shape = parser.subscripts()?.0.0.into_iter().map(|int| DimExpr { int }).collect();
        if parser.peek() != TokenKind::Eof {
            return Err(parser.expected("the end of the type").help(example));
        }
        Ok(Self { dtype, shape })
    }
}

impl Display for TensorType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.dtype)?;
        for (axis, size) in self.shape.iter().enumerate() {
            write!(f, "{}{size}", if axis == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}
