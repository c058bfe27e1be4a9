//! The indices that a reduction binds, and their ranges.
//!
//! ```text
//! bound = name [ comparison int ] | int below name below int
//! comparison = '<' | '<=' | '>' | '>='
//! below = '<' | '<='
//! ```

use crate::error::{Error, Result};
use crate::span::Span;
use crate::syntax::ast::{Bound, Limit};
use crate::syntax::int_expr::{IntExpr, IntKind};
use crate::syntax::lexer::TokenKind;
use crate::syntax::operators::Comparison;
use crate::syntax::parser::cursor::Parser;

const PATTERN: &str = "write a range as `k < K`, `j <= i`, `j > i`, or `low <= j < high`";

impl Parser<'_> {
    /// An index of a reduction.
    pub(crate) fn bound(&mut self) -> Result<Bound> {
        let after_name = matches!(
            self.peek_at(1),
            TokenKind::Comma | TokenKind::CloseSquare | TokenKind::Compare(_) | TokenKind::Equals
        );
        let starts_int = match self.peek() {
            TokenKind::Name(_) => !after_name,
            kind => matches!(kind, TokenKind::Number(_) | TokenKind::Open | TokenKind::Minus),
        };
        if !starts_int {
            return self.bound_by_name();
        }
        let (low, _) = self.int()?;
        if !matches!(self.peek(), TokenKind::Compare(_)) {
            return Err(self.expected("`<=`, `<` and an index").help(PATTERN));
        }
        let strict = self.below()?;
        self.between(Limit { int: low, strict })
    }

    /// `name`, `name comparison int`, or `size below name below int`.
    fn bound_by_name(&mut self) -> Result<Bound> {
        let (name, span) = self.index_name()?;
        if self.peek() == TokenKind::Equals {
            return Err(self.expected("`<`").help(PATTERN));
        }
        let TokenKind::Compare(comparison) = self.peek() else {
            return Ok(Bound { name, low: None, high: None, span });
        };
        let sign = self.next().span;
        let (int, _) = self.int()?;
        let whole = span.to(int.span);
        if let TokenKind::Compare(_) = self.peek() {
            let low = IntExpr::new(IntKind::Name(name), span);
            let strict = strictness(comparison, sign)?;
            let IntKind::Name(name) = int.kind else {
                return Err(
                    Error::new(int.span, "the middle of a range must be an index").help(PATTERN)
                );
            };
            return self.below_high(name, int.span, Limit { int: low, strict });
        }
        let (low, high) = match comparison {
            Comparison::Less => (None, Some(Limit { int, strict: true })),
            Comparison::LessEqual => (None, Some(Limit { int, strict: false })),
            Comparison::Greater => (Some(Limit { int, strict: true }), None),
            Comparison::GreaterEqual => (Some(Limit { int, strict: false }), None),
            Comparison::Equal | Comparison::NotEqual => {
                let message = format!("`{}` in a range", comparison.symbol());
                return Err(Error::new(sign, message).help(PATTERN));
            }
        };
        Ok(Bound { name, low, high, span: whole })
    }

    /// `name below int`, where `low` and its comparison were consumed.
    fn between(&mut self, low: Limit) -> Result<Bound> {
        let (name, span) = self.index_name()?;
        if !matches!(self.peek(), TokenKind::Compare(_)) {
            let sign = if low.strict { ">" } else { ">=" };
            return Err(self
                .expected(&format!("`<` and the end of the range of `{name}`"))
                .help(format!("without an end, write `{name} {sign} ...`")));
        }
        self.below_high(name, span, low)
    }

    /// `below int`, after the index.
    fn below_high(&mut self, name: String, span: Span, low: Limit) -> Result<Bound> {
        let strict = self.below()?;
        let (int, _) = self.int()?;
        let span = low.int.span.to(span).to(int.span);
        Ok(Bound { name, low: Some(low), high: Some(Limit { int, strict }), span })
    }

    /// `<` or `<=`; whether it is strict.
    fn below(&mut self) -> Result<bool> {
        match self.peek() {
            TokenKind::Compare(comparison) => {
                let sign = self.next().span;
                strictness(comparison, sign)
            }
            _ => Err(self.expected("`<` or `<=`").help(PATTERN)),
        }
    }

    fn index_name(&mut self) -> Result<(String, Span)> {
        let (name, span) = self.plain_name("an index")?;
        if name.ends_with('\'') {
            return Err(Error::new(span, format!("an index named `{name}`"))
                .help("only tensors have a primed name"));
        }
        Ok((name, span))
    }
}

fn strictness(comparison: Comparison, sign: Span) -> Result<bool> {
    match comparison {
        Comparison::Less => Ok(true),
        Comparison::LessEqual => Ok(false),
        other => {
            let message = format!("`{}` in a range with two ends", other.symbol());
            Err(Error::new(sign, message).help(PATTERN))
        }
    }
}
