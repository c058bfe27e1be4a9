//! The parser's position in the tokens, and the limits of its recursion.

use crate::error::{Error, Result};
use crate::span::Span;
use crate::syntax::int_expr::IntOp;
use crate::syntax::lexer::{Token, TokenKind, lex};

/// How many brackets, signs and reductions may stand inside each other: the parser recurses into each.
const MAX_NESTING: u32 = 64;

/// The height that an expression tree may have, because later passes recurse over it. A sum of 256 terms has it.
const MAX_HEIGHT: u32 = 256;

/// Names with a meaning of their own, which no tensor, index or size may have.
pub(crate) const RESERVED: [&str; 29] = [
    "sum", "prod", "grad", "div", "mod", "ceil_div", "min", "max", "argmax", "argmin", "select",
    "index", "and", "or", "exp", "log", "sqrt", "rsqrt", "tanh", "sin", "cos", "erf", "sigmoid",
    "floor", "abs", "pow", "f16", "bf16", "f32",
];

/// The tokens of a text, and which one comes next.
pub(crate) struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    position: usize,
    nesting: u32,
    /// Whether integers may be elements of tensors here: in subscripts, not in sizes.
    pub(crate) elements_allowed: bool,
}

/// A tree and its height.
pub(crate) type WithHeight<T> = (T, u32);

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str) -> Result<Self> {
        Ok(Self { tokens: lex(text)?, position: 0, nesting: 0, elements_allowed: true })
    }

    /// A parser for sizes and types: line ends mean nothing in them, and there are no elements.
    pub(crate) fn of_sizes(text: &'a str) -> Result<Self> {
        let mut parser = Self::new(text)?;
        parser.elements_allowed = false;
        parser.tokens.retain(|token| token.kind != TokenKind::End);
        Ok(parser)
    }

    /// The next token; it is not consumed.
    pub(crate) fn token(&self) -> Token<'a> {
        // The last token is `Eof`, and `next` never goes past it.
        self.tokens[self.position]
    }

    /// The kind of the next token.
    pub(crate) fn peek(&self) -> TokenKind<'a> {
        self.token().kind
    }

    /// The kind of the token `ahead` of the next one.
    pub(crate) fn peek_at(&self, ahead: usize) -> TokenKind<'a> {
        self.tokens.get(self.position + ahead).map_or(TokenKind::Eof, |token| token.kind)
    }

    /// Consumes the next token.
    pub(crate) fn next(&mut self) -> Token<'a> {
        let token = self.token();
        if token.kind != TokenKind::Eof {
            self.position += 1;
        }
        token
    }

    /// Consumes the next token if it is `kind`, and says whether it was.
    pub(crate) fn eat(&mut self, kind: TokenKind<'_>) -> bool {
        let found = self.peek() == kind;
        if found {
            self.next();
        }
        found
    }

    /// Consumes the next token, which must be `kind`.
    pub(crate) fn expect(&mut self, kind: TokenKind<'_>) -> Result<Span> {
        if self.peek() == kind {
            Ok(self.next().span)
        } else {
            Err(self.expected(&kind.describe()))
        }
    }

    /// Consumes the next token, which must be `kind`; `help` is given where it is not.
    pub(crate) fn expect_or_help(
        &mut self,
        kind: TokenKind<'_>,
        expected: &str,
        help: impl Into<String>,
    ) -> Result<Span> {
        if self.peek() == kind {
            Ok(self.next().span)
        } else {
            Err(self.expected(expected).help(help))
        }
    }

    /// The error that `what` should stand where the next token is.
    pub(crate) fn expected(&self, what: &str) -> Error {
        let token = self.token();
        Error::new(token.span, format!("expected {what}, found {}", token.kind.describe()))
    }

    /// Runs `parse` one bracket deeper.
    pub(crate) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting == MAX_NESTING {
            let message = format!("more than {MAX_NESTING} nested brackets, signs or reductions");
            return Err(Error::new(self.token().span, message)
                .help("split the formula into several statements"));
        }
        self.nesting += 1;
        let result = parse(self);
        self.nesting -= 1;
        result
    }

    /// The height of a tree over subtrees of the heights `left` and `right`.
    pub(crate) fn height_over(span: Span, left: u32, right: u32) -> Result<u32> {
        let height = left.max(right) + 1;
        if height > MAX_HEIGHT {
            let message = format!("an expression more than {MAX_HEIGHT} operations deep");
            return Err(Error::new(span, message)
                .help("write it as a `sum`, or split it into several statements"));
        }
        Ok(height)
    }

    /// Parses `operand { operator operand }`, grouped from left to right. `join` makes a tree of an operator, its place
    /// in the text and its operands.
    pub(crate) fn left_associative<T, O>(
        &mut self,
        operand: impl Fn(&mut Self) -> Result<WithHeight<T>>,
        operator: impl Fn(TokenKind<'_>) -> Option<O>,
        join: impl Fn(O, Span, WithHeight<T>, WithHeight<T>) -> Result<WithHeight<T>>,
    ) -> Result<WithHeight<T>> {
        let mut left = operand(self)?;
        while let Some(op) = operator(self.peek()) {
            let span = self.next().span;
            let right = operand(self)?;
            left = join(op, span, left, right)?;
        }
        Ok(left)
    }

    /// A name that is not reserved; `what` says for an error what it would name.
    pub(crate) fn plain_name(&mut self, what: &str) -> Result<(String, Span)> {
        let Token { kind: TokenKind::Name(name), span } = self.token() else {
            return Err(self.expected(what));
        };
        if RESERVED.contains(&name) {
            let error = Error::new(span, format!("`{name}` is a reserved word here"));
            let called = self.peek_at(1) == TokenKind::Open && IntOp::function(name).is_some();
            return Err(if called {
                error.help(format!("its result is an integer: write `index({name}(...))`"))
            } else {
                error.help(format!("give {what} another name"))
            });
        }
        self.next();
        Ok((name.to_owned(), span))
    }
}
