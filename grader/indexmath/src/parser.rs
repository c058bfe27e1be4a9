//! Recursive descent over the tokens: statements and real-valued expressions.
//!
//! ```text
//! program   = { statement ( END | ';' ) }
//! statement = tensor [ '[' [ int { ',' int } ] ']' ] '=' expr
//! expr      = term { ( '+' | '-' ) term }
//! term      = factor { ( '*' | '/' ) factor }
//! factor    = '-' factor | reduction '[' bound { ',' bound } ']' term | primary
//! reduction = 'sum' | 'max' | 'min' | 'argmax' | 'argmin'
//! bound     = name [ '<' int ]
//! primary   = number | '(' expr ')' | tensor [ [ '?' ] '[' [ int { ',' int } ] ']' ] | call
//! tensor    = plain | 'grad' '(' plain ')'
//! plain     = name [ "'" ]
//! ```
//!
//! The body of a reduction is a *term*: it extends over `*` and `/`, and ends before `+` and `-`. The calls are
//! in `call_parser`, the integers in `int_parser`.

use crate::ast::{Bound, Expr, ExprKind, Int, Read, Statement};
use crate::error::{Error, Result};
use crate::lexer::{Tok, Token, lex};
use crate::ops::{Op, Reduction};
use crate::span::Span;

/// Brackets, signs and sums inside each other: what the recursion of the parser may use.
const MAX_NESTING: u32 = 64;
/// Height of an expression tree, so that later passes may recurse: a sum of 256 terms has 256.
pub(crate) const MAX_HEIGHT: u32 = 256;

/// Names that no tensor, index or size may have.
pub(crate) const RESERVED: [&str; 23] = [
    "sum", "grad", "div", "mod", "ceil_div", "min", "max", "argmax", "argmin", "select", "index",
    "and", "or", "exp", "log", "sqrt", "rsqrt", "tanh", "abs", "pow", "f16", "bf16", "f32",
];

pub(crate) struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    nesting: u32,
    /// May integers be elements of tensors here? Not in sizes.
    pub(crate) elements: bool,
}

/// A node and the height of its tree.
pub(crate) type Tall<T> = (T, u32);

/// Parses statements.
pub(crate) fn program(text: &str) -> Result<Vec<Statement>> {
    let mut parser = Parser::new(text)?;
    let mut statements = Vec::new();
    loop {
        while parser.eat(Tok::End) {}
        if parser.peek() == Tok::Eof {
            return Ok(statements);
        }
        statements.push(parser.statement()?);
        if !matches!(parser.peek(), Tok::End | Tok::Eof) {
            return Err(parser.expected("an operator or the end of the statement"));
        }
    }
}

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str) -> Result<Self> {
        Ok(Self { tokens: lex(text)?, at: 0, nesting: 0, elements: true })
    }

    /// For sizes and types: line ends mean nothing in them, and there are no elements.
    pub(crate) fn of_sizes(text: &'a str) -> Result<Self> {
        let mut parser = Self::new(text)?;
        parser.elements = false;
        parser.tokens.retain(|token| token.tok != Tok::End);
        Ok(parser)
    }

    pub(crate) fn token(&self) -> Token<'a> {
        // The last token is `Eof`, and `next` never goes past it.
        self.tokens[self.at]
    }

    pub(crate) fn peek(&self) -> Tok<'a> {
        self.token().tok
    }

    /// The token `ahead` of the next one.
    pub(crate) fn peek_at(&self, ahead: usize) -> Tok<'a> {
        self.tokens.get(self.at + ahead).map_or(Tok::Eof, |token| token.tok)
    }

    pub(crate) fn next(&mut self) -> Token<'a> {
        let token = self.token();
        if token.tok != Tok::Eof {
            self.at += 1;
        }
        token
    }

    pub(crate) fn eat(&mut self, tok: Tok<'_>) -> bool {
        let found = self.peek() == tok;
        if found {
            self.next();
        }
        found
    }

    pub(crate) fn expect(&mut self, tok: Tok<'_>) -> Result<Span> {
        if self.peek() == tok { Ok(self.next().span) } else { Err(self.expected(&tok.describe())) }
    }

    pub(crate) fn expected(&self, what: &str) -> Error {
        let token = self.token();
        Error::new(token.span, format!("expected {what}, found {}", token.tok.describe()))
    }

    /// Runs `parse` one bracket deeper.
    pub(crate) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting == MAX_NESTING {
            let message =
                format!("more than {MAX_NESTING} brackets, signs or reductions in each other");
            return Err(Error::new(self.token().span, message)
                .help("split the formula into several statements"));
        }
        self.nesting += 1;
        let result = parse(self);
        self.nesting -= 1;
        result
    }

    /// The height of a node over subtrees of the heights `left` and `right`.
    pub(crate) fn taller(span: Span, left: u32, right: u32) -> Result<u32> {
        let height = left.max(right) + 1;
        if height > MAX_HEIGHT {
            let message = format!("an expression of more than {MAX_HEIGHT} steps");
            return Err(Error::new(span, message)
                .help("write it as a `sum`, or split it into several statements"));
        }
        Ok(height)
    }

    fn statement(&mut self) -> Result<Statement> {
        let Tok::Name(_) = self.peek() else {
            return Err(self
                .expected("a statement")
                .help("a statement is `tensor[indices] = expression`"));
        };
        let (target, target_span) = self.tensor_name()?;
        let subscripts =
            if self.peek() == Tok::OpenSquare { self.subscripts()?.0.0 } else { Vec::new() };
        if self.peek() != Tok::Equals {
            return Err(self.expected("`=`").help("a statement is `tensor[indices] = expression`"));
        }
        self.next();
        let (body, _) = self.expr()?;
        Ok(Statement { target, target_span, subscripts, body })
    }

    pub(crate) fn expr(&mut self) -> Result<Tall<Expr>> {
        let mut left = self.term()?;
        loop {
            let op = match self.peek() {
                Tok::Plus => Op::Add,
                Tok::Minus => Op::Sub,
                _ => return Ok(left),
            };
            self.next();
            let right = self.term()?;
            left = binary(op, left, right)?;
        }
    }

    fn term(&mut self) -> Result<Tall<Expr>> {
        let mut left = self.factor()?;
        loop {
            let op = match self.peek() {
                Tok::Star => Op::Mul,
                Tok::Slash => Op::Div,
                Tok::Percent => {
                    return Err(Error::new(self.token().span, "`%` outside a subscript")
                        .help("only subscripts and sizes are integers and have a remainder"));
                }
                _ => return Ok(left),
            };
            self.next();
            let right = self.factor()?;
            left = binary(op, left, right)?;
        }
    }

    fn factor(&mut self) -> Result<Tall<Expr>> {
        match self.peek() {
            Tok::Minus => {
                let start = self.next().span;
                let (inner, height) = self.nested(Self::factor)?;
                let span = start.to(inner.span);
                let height = Self::taller(span, height, 0)?;
                Ok((Expr { kind: ExprKind::Neg(Box::new(inner)), span }, height))
            }
            Tok::Name(name) => match Reduction::named(name) {
                // `max(a, b)` is a function.
                Some(Reduction::Max | Reduction::Min) if self.peek_at(1) == Tok::Open => {
                    self.primary()
                }
                Some(reduction) => self.reduction(reduction),
                None => self.primary(),
            },
            _ => self.primary(),
        }
    }

    fn reduction(&mut self, reduction: Reduction) -> Result<Tall<Expr>> {
        let start = self.next().span;
        let name = reduction.name();
        if self.peek() != Tok::OpenSquare {
            let message = format!("`[` after `{name}`");
            return Err(self.expected(&message).help(format!("write `{name}[i, j] body`")));
        }
        self.next();
        let mut bounds = vec![self.bound()?];
        while self.eat(Tok::Comma) {
            bounds.push(self.bound()?);
        }
        self.expect(Tok::CloseSquare)?;
        let (body, height) = self.nested(Self::term)?;
        let span = start.to(body.span);
        let height = Self::taller(span, height, 0)?;
        Ok((Expr { kind: ExprKind::Reduce(reduction, bounds, Box::new(body)), span }, height))
    }

    fn bound(&mut self) -> Result<Bound> {
        let (name, mut span) = self.plain_name("an index")?;
        if name.ends_with('\'') {
            return Err(Error::new(span, format!("an index named `{name}`"))
                .help("only tensors have a primed name"));
        }
        let range = if self.eat(Tok::Less) {
            let (range, _) = self.size()?;
            span = span.to(range.span);
            Some(range)
        } else {
            None
        };
        Ok(Bound { name, range, span })
    }

    fn primary(&mut self) -> Result<Tall<Expr>> {
        let Token { tok, span } = self.token();
        match tok {
            Tok::Number(digits) => {
                self.next();
                let value = digits.parse::<f64>().ok().filter(|value| value.is_finite());
                let value = value
                    .ok_or_else(|| Error::new(span, format!("`{digits}` is no finite number")))?;
                Ok((Expr { kind: ExprKind::Number(value), span }, 1))
            }
            Tok::Open => {
                self.next();
                let (mut inner, height) = self.nested(Self::expr)?;
                inner.span = span.to(self.expect(Tok::Close)?);
                Ok((inner, height))
            }
            Tok::Name(name) => match self.call(name)? {
                Some(call) => Ok(call),
                None => self.read(),
            },
            _ => Err(self.expected("a number, a tensor or `(`")),
        }
    }

    fn read(&mut self) -> Result<Tall<Expr>> {
        let (tensor, span) = self.tensor_name()?;
        let padded = self.eat(Tok::Question);
        if self.peek() != Tok::OpenSquare {
            if padded {
                return Err(self.expected("`[` after `?`"));
            }
            if self.peek() == Tok::Open {
                return Err(Error::new(span, format!("`{tensor}` is no function"))
                    .help("functions: exp, log, sqrt, rsqrt, tanh, abs, max, min, pow, select, index, f16, bf16, f32; elements are read with `[...]`, products written with `*`"));
            }
            return Ok((Expr { kind: ExprKind::Name(tensor), span }, 1));
        }
        let ((subscripts, end), _) = self.subscripts()?;
        let span = span.to(end);
        Ok((Expr { kind: ExprKind::Read(Read { tensor, subscripts, padded, span }), span }, 1))
    }

    /// `[` int, … `]`.
    pub(crate) fn subscripts(&mut self) -> Result<Tall<(Vec<Int>, Span)>> {
        self.expect(Tok::OpenSquare)?;
        let mut list = Vec::new();
        let mut height = 0;
        if self.peek() != Tok::CloseSquare {
            loop {
                let (int, own) = self.int()?;
                list.push(int);
                height = height.max(own);
                if !self.eat(Tok::Comma) {
                    break;
                }
            }
        }
        if self.peek() != Tok::CloseSquare {
            return Err(self.expected("`,` or `]`"));
        }
        Ok(((list, self.next().span), height))
    }

    /// `X`, `X'`, `grad(X)` or `grad(X')`.
    fn tensor_name(&mut self) -> Result<(String, Span)> {
        if self.peek() != Tok::Name("grad") {
            return self.plain_name("a tensor");
        }
        let start = self.next().span;
        if self.peek() != Tok::Open {
            return Err(self.expected("`(` after `grad`").help("write `grad(X)`"));
        }
        self.next();
        let (name, _) = self.plain_name("the name of a tensor")?;
        let end = self.expect(Tok::Close)?;
        Ok((format!("grad({name})"), start.to(end)))
    }

    pub(crate) fn plain_name(&mut self, what: &str) -> Result<(String, Span)> {
        let Token { tok: Tok::Name(name), span } = self.token() else {
            return Err(self.expected(what));
        };
        if RESERVED.contains(&name) {
            return Err(Error::new(span, format!("`{name}` has a meaning of its own here"))
                .help(format!("give {what} another name")));
        }
        self.next();
        Ok((name.to_owned(), span))
    }
}

fn binary(op: Op, left: Tall<Expr>, right: Tall<Expr>) -> Result<Tall<Expr>> {
    let span = left.0.span.to(right.0.span);
    let height = Parser::taller(span, left.1, right.1)?;
    let kind = ExprKind::Binary(op, Box::new(left.0), Box::new(right.0));
    Ok((Expr { kind, span }, height))
}
