//! The integer part of the grammar: sizes, ranges and subscripts.
//!
//! ```text
//! int      = xor { '|' xor }
//! xor      = and { '^' and }
//! and      = shift { '&' shift }
//! shift    = sum { ( '<<' | '>>' ) sum }
//! sum      = product { ( '+' | '-' ) product }
//! product  = atom { ( '*' | '/' | '%' ) atom }
//! atom     = '-' atom | '~' atom | digits | '0x' digits | name | '(' int ')' | function '(' int ',' int ')' | element
//! function = 'div' | 'mod' | 'ceil_div' | 'min' | 'max'
//! element  = name [ "'" ] '[' int { ',' int } ']'
//! ```
//!
//! An element of an integer tensor stands in subscripts only: `x[b, label[b]]`.

use crate::error::{Error, Result};
use crate::span::Span;
use crate::syntax::int_expr::{IntExpr, IntKind, IntOp, Read};
use crate::syntax::lexer::{Token, TokenKind};
use crate::syntax::parser::cursor::{Parser, RESERVED, WithHeight};

/// Parses a text that is one integer expression without elements of tensors.
pub(crate) fn parse_size(text: &str) -> Result<IntExpr> {
    let mut parser = Parser::of_sizes(text)?;
    let (int, _) = parser.int()?;
    if parser.peek() != TokenKind::Eof {
        return Err(parser.expected("an operator or the end of the size"));
    }
    Ok(int)
}

impl Parser<'_> {
    /// An integer. Bitwise operators bind as in C, but for comparisons, which there are none of.
    pub(crate) fn int(&mut self) -> Result<WithHeight<IntExpr>> {
        let operator = |kind: TokenKind<'_>| (kind == TokenKind::Bar).then_some(IntOp::Or);
        self.left_associative(Self::int_xor, operator, |op, _, a, b| binary(op, a, b))
    }

    fn int_xor(&mut self) -> Result<WithHeight<IntExpr>> {
        let operator = |kind: TokenKind<'_>| (kind == TokenKind::Caret).then_some(IntOp::Xor);
        self.left_associative(Self::int_and, operator, |op, _, a, b| binary(op, a, b))
    }

    fn int_and(&mut self) -> Result<WithHeight<IntExpr>> {
        let operator = |kind: TokenKind<'_>| (kind == TokenKind::Ampersand).then_some(IntOp::And);
        self.left_associative(Self::int_shift, operator, |op, _, a, b| binary(op, a, b))
    }

    fn int_shift(&mut self) -> Result<WithHeight<IntExpr>> {
        let operator = |kind: TokenKind<'_>| match kind {
            TokenKind::ShiftLeft => Some(IntOp::ShiftLeft),
            TokenKind::ShiftRight => Some(IntOp::ShiftRight),
            _ => None,
        };
        self.left_associative(Self::int_sum, operator, |op, _, a, b| binary(op, a, b))
    }

    fn int_sum(&mut self) -> Result<WithHeight<IntExpr>> {
        let operator = |kind: TokenKind<'_>| match kind {
            TokenKind::Plus => Some(IntOp::Add),
            TokenKind::Minus => Some(IntOp::Sub),
            _ => None,
        };
        self.left_associative(Self::int_product, operator, |op, _, a, b| binary(op, a, b))
    }

    fn int_product(&mut self) -> Result<WithHeight<IntExpr>> {
        let operator = |kind: TokenKind<'_>| match kind {
            TokenKind::Star => Some(IntOp::Mul),
            TokenKind::Slash => Some(IntOp::Div),
            TokenKind::Percent => Some(IntOp::Mod),
            _ => None,
        };
        self.left_associative(Self::int_atom, operator, |op, _, a, b| binary(op, a, b))
    }

    fn int_atom(&mut self) -> Result<WithHeight<IntExpr>> {
        let Token { kind, span } = self.token();
        match kind {
            TokenKind::Minus => {
                self.next();
                let (inner, height) = self.nested(Self::int_atom)?;
                let span = span.to(inner.span);
                let negated = IntExpr::new(IntKind::Neg(Box::new(inner)), span);
                Ok((negated, Self::height_over(span, height, 0)?))
            }
            // ~a is -1 - a.
            TokenKind::Tilde => {
                self.next();
                let (inner, height) = self.nested(Self::int_atom)?;
                let span = span.to(inner.span);
                let mut flipped = IntExpr::binary(IntOp::Sub, IntExpr::constant(-1), inner);
                flipped.span = span;
                Ok((flipped, Self::height_over(span, height, 0)?))
            }
            TokenKind::Number(digits) => {
                self.next();
                let value = match digits.strip_prefix("0x") {
                    Some(digits) => i64::from_str_radix(digits, 16),
                    None => digits.parse::<i64>(),
                };
                let value = value.map_err(|_| {
                    Error::new(span, format!("`{digits}` is not a 64-bit integer"))
                        .help("sizes and subscripts are integers")
                })?;
                Ok((IntExpr::new(IntKind::Const(value), span), 1))
            }
            TokenKind::Open => {
                self.next();
                let (mut inner, height) = self.nested(Self::int)?;
                inner.span = span.to(self.expect(TokenKind::Close)?);
                Ok((inner, height))
            }
            TokenKind::Name(name) => match IntOp::function(name) {
                Some(op) => {
                    self.next();
                    self.int_call(name, op, span)
                }
                None => self.int_name(name),
            },
            _ => Err(self.expected("an index, a size or an integer")),
        }
    }

    fn int_name(&mut self, name: &str) -> Result<WithHeight<IntExpr>> {
        let Token { span, .. } = self.token();
        if RESERVED.contains(&name) {
            return Err(Error::new(span, format!("`{name}` in a size or subscript"))
                .help("integer expressions can use + - * / %, & | ^ ~ << >>, div, mod, ceil_div, min and max"));
        }
        match self.peek_at(1) {
            TokenKind::Open => Err(Error::new(span, format!("`{name}` is not a function"))
                .help("the functions of integer expressions are div, mod, ceil_div, min and max")),
            TokenKind::OpenSquare if self.elements_allowed => self.element(),
            TokenKind::OpenSquare => Err(Error::new(span, "a tensor element in a size")
                .help("sizes and ranges are expressions of sizes and integers")),
            TokenKind::Question => Err(Error::new(span, "a padded read as a subscript")
                .help("an element used as a subscript must lie inside its tensor")),
            _ if name.ends_with('\'') => Err(Error::new(span, format!("`{name}` is not an index"))
                .help("only tensors have a primed name")),
            _ => {
                self.next();
                Ok((IntExpr::new(IntKind::Name(name.to_owned()), span), 1))
            }
        }
    }

    /// An element of an integer tensor: `label[b]`.
    fn element(&mut self) -> Result<WithHeight<IntExpr>> {
        let (tensor, start) = self.plain_name("a tensor")?;
        let ((subscripts, end), height) = self.nested(Self::subscripts)?;
        let span = start.to(end);
        let read = Read { tensor, subscripts, padded: false, span };
        let int = IntExpr::new(IntKind::Element(Box::new(read)), span);
        Ok((int, Self::height_over(span, height, 0)?))
    }

    /// The arguments of `op`, whose name was just consumed at `start`.
    fn int_call(&mut self, name: &str, op: IntOp, start: Span) -> Result<WithHeight<IntExpr>> {
        let expected = format!("`(` after `{name}`");
        self.expect_or_help(TokenKind::Open, &expected, format!("write `{name}(a, b)`"))?;
        let (left, right) = self.nested(|parser| {
            let left = parser.int()?;
            let help = format!("`{name}` takes two integers");
            parser.expect_or_help(TokenKind::Comma, "`,`", help)?;
            Ok((left, parser.int()?))
        })?;
        let mut call = binary(op, left, right)?;
        call.0.span = start.to(self.expect(TokenKind::Close)?);
        Ok(call)
    }

    /// `[int, …]`, and the place of the closing bracket.
    pub(crate) fn subscripts(&mut self) -> Result<WithHeight<(Vec<IntExpr>, Span)>> {
        self.expect(TokenKind::OpenSquare)?;
        let mut list = Vec::new();
        let mut height = 0;
        if self.peek() != TokenKind::CloseSquare {
            loop {
                let (int, own) = self.int()?;
                list.push(int);
                height = height.max(own);
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
        }
        if self.peek() != TokenKind::CloseSquare {
            return Err(self.expected("`,` or `]`"));
        }
        Ok(((list, self.next().span), height))
    }
}

fn binary(
    op: IntOp,
    left: WithHeight<IntExpr>,
    right: WithHeight<IntExpr>,
) -> Result<WithHeight<IntExpr>> {
    let height = Parser::height_over(left.0.span.to(right.0.span), left.1, right.1)?;
    Ok((IntExpr::binary(op, left.0, right.0), height))
}
