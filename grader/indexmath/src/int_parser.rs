//! The integer part of the grammar: sizes, ranges and subscripts.
//!
//! ```text
//! int     = product { ( '+' | '-' ) product }
//! product = atom { ( '*' | '/' | '%' ) atom }
//! atom    = '-' atom | digits | name | '(' int ')' | function '(' int ',' int ')' | element
//! function = 'div' | 'mod' | 'ceil_div' | 'min' | 'max'
//! element = name [ "'" ] '[' int { ',' int } ']'
//! ```
//!
//! An element of an integer tensor stands in subscripts only: `x[b, label[b]]`.

use crate::ast::{Int, IntKind, IntOp, Read};
use crate::error::{Error, Result};
use crate::lexer::{Tok, Token};
use crate::parser::{Parser, RESERVED, Tall};

/// Parses a text that is one integer expression.
pub(crate) fn integer(text: &str) -> Result<Int> {
    let mut parser = Parser::of_sizes(text)?;
    let (int, _) = parser.int()?;
    if parser.peek() != Tok::Eof {
        return Err(parser.expected("an operator or the end of the size"));
    }
    Ok(int)
}

impl Parser<'_> {
    /// An integer without elements of tensors.
    pub(crate) fn size(&mut self) -> Result<Tall<Int>> {
        let before = std::mem::replace(&mut self.elements, false);
        let result = self.int();
        self.elements = before;
        result
    }

    pub(crate) fn int(&mut self) -> Result<Tall<Int>> {
        let mut left = self.int_product()?;
        loop {
            let op = match self.peek() {
                Tok::Plus => IntOp::Add,
                Tok::Minus => IntOp::Sub,
                _ => return Ok(left),
            };
            self.next();
            let right = self.int_product()?;
            left = binary(op, left, right)?;
        }
    }

    fn int_product(&mut self) -> Result<Tall<Int>> {
        let mut left = self.int_atom()?;
        loop {
            let op = match self.peek() {
                Tok::Star => IntOp::Mul,
                Tok::Slash => IntOp::Div,
                Tok::Percent => IntOp::Mod,
                _ => return Ok(left),
            };
            self.next();
            let right = self.int_atom()?;
            left = binary(op, left, right)?;
        }
    }

    fn int_atom(&mut self) -> Result<Tall<Int>> {
        let Token { tok, span } = self.token();
        match tok {
            Tok::Minus => {
                self.next();
                let (inner, height) = self.nested(Self::int_atom)?;
                let span = span.to(inner.span);
                Ok((Int::new(IntKind::Neg(Box::new(inner)), span), Self::taller(span, height, 0)?))
            }
            Tok::Number(digits) => {
                self.next();
                let value = digits.parse::<i64>().map_err(|_| {
                    Error::new(span, format!("`{digits}` is no 64-bit integer"))
                        .help("sizes and subscripts are integers")
                })?;
                Ok((Int::new(IntKind::Const(value), span), 1))
            }
            Tok::Open => {
                self.next();
                let (mut inner, height) = self.nested(Self::int)?;
                inner.span = span.to(self.expect(Tok::Close)?);
                Ok((inner, height))
            }
            Tok::Name(name) => match IntOp::function(name) {
                Some(op) => {
                    self.next();
                    self.int_call(name, op, span)
                }
                None => self.int_name(name),
            },
            _ => Err(self.expected("an index, a size or an integer")),
        }
    }

    fn int_name(&mut self, name: &str) -> Result<Tall<Int>> {
        let Token { span, .. } = self.token();
        if RESERVED.contains(&name) {
            return Err(Error::new(span, format!("`{name}` in a size or subscript"))
                .help("integer expressions know + - * / %, div, mod, ceil_div, min and max"));
        }
        match self.peek_at(1) {
            Tok::Open => Err(Error::new(span, format!("`{name}` is no function"))
                .help("integer expressions know div, mod, ceil_div, min and max")),
            Tok::OpenSquare if self.elements => self.element(),
            Tok::OpenSquare => Err(Error::new(span, "a tensor element in a size")
                .help("sizes and ranges are made of sizes and integers")),
            Tok::Question => Err(Error::new(span, "a padded read as a subscript")
                .help("an element that is a subscript must lie inside its tensor")),
            _ if name.ends_with('\'') => Err(Error::new(span, format!("`{name}` is no index"))
                .help("only tensors have a primed name")),
            _ => {
                self.next();
                Ok((Int::new(IntKind::Name(name.to_owned()), span), 1))
            }
        }
    }

    /// `label[b]`.
    fn element(&mut self) -> Result<Tall<Int>> {
        let (tensor, start) = self.plain_name("a tensor")?;
        let ((subscripts, end), height) = self.nested(Self::subscripts)?;
        let span = start.to(end);
        let read = Read { tensor, subscripts, padded: false, span };
        let int = Int::new(IntKind::Element(Box::new(read)), span);
        Ok((int, Self::taller(span, height, 0)?))
    }

    fn int_call(&mut self, name: &str, op: IntOp, start: crate::span::Span) -> Result<Tall<Int>> {
        if self.peek() != Tok::Open {
            let message = format!("`(` after `{name}`");
            return Err(self.expected(&message).help(format!("write `{name}(a, b)`")));
        }
        self.next();
        let (left, right) = self.nested(|parser| {
            let left = parser.int()?;
            if parser.peek() != Tok::Comma {
                return Err(parser.expected("`,`").help(format!("`{name}` takes two integers")));
            }
            parser.next();
            Ok((left, parser.int()?))
        })?;
        let mut call = binary(op, left, right)?;
        call.0.span = start.to(self.expect(Tok::Close)?);
        Ok(call)
    }
}

fn binary(op: IntOp, left: Tall<Int>, right: Tall<Int>) -> Result<Tall<Int>> {
    let height = Parser::taller(left.0.span.to(right.0.span), left.1, right.1)?;
    Ok((Int::binary(op, left.0, right.0), height))
}
