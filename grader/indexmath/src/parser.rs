//! Recursive descent over the tokens: statements and real-valued expressions.
//!
//! ```text
//! program   = { statement ( END | ';' ) }
//! statement = tensor [ '[' [ int { ',' int } ] ']' ] '=' expr
//! expr      = term { ( '+' | '-' ) term }
//! term      = factor { ( '*' | '/' ) factor }
//! factor    = '-' factor | 'sum' '[' bound { ',' bound } ']' term | primary
//! bound     = name [ '<' int ]
//! primary   = number | '(' expr ')' | tensor [ [ '?' ] '[' [ int { ',' int } ] ']' ]
//! tensor    = name | 'grad' '(' name ')'
//! ```
//!
//! The body of a `sum` is a *term*: it extends over `*` and `/`, and ends before `+` and `-`.

use crate::ast::{Bound, Expr, ExprKind, Form, Int, Op, Read, Statement};
use crate::error::{Error, Result};
use crate::lexer::{Tok, Token, lex};
use crate::span::Span;

/// Brackets, signs and sums inside each other: what the recursion of the parser may use.
const MAX_NESTING: u32 = 64;
/// Height of an expression tree, so that later passes may recurse: a sum of 256 terms has 256.
pub(crate) const MAX_HEIGHT: u32 = 256;

/// Names that no tensor, index or size may have.
pub(crate) const RESERVED: [&str; 7] = ["sum", "grad", "div", "mod", "ceil_div", "min", "max"];

pub(crate) struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    nesting: u32,
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
        Ok(Self { tokens: lex(text)?, at: 0, nesting: 0 })
    }

    /// Without the line ends: for texts in which they mean nothing.
    pub(crate) fn without_lines(text: &'a str) -> Result<Self> {
        let mut parser = Self::new(text)?;
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
            let message = format!("more than {MAX_NESTING} brackets, signs or sums in each other");
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
            if self.peek() == Tok::OpenSquare { self.subscripts()?.0 } else { Vec::new() };
        if self.peek() != Tok::Equals {
            return Err(self.expected("`=`").help("a statement is `tensor[indices] = expression`"));
        }
        self.next();
        let (body, _) = self.expr()?;
        Ok(Statement { target, target_span, subscripts, form: Form::Assign, body })
    }

    fn expr(&mut self) -> Result<Tall<Expr>> {
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
            Tok::Name("sum") => self.sum(),
            _ => self.primary(),
        }
    }

    fn sum(&mut self) -> Result<Tall<Expr>> {
        let start = self.next().span;
        if self.peek() != Tok::OpenSquare {
            return Err(self.expected("`[` after `sum`").help("write `sum[i, j] body`"));
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
        Ok((Expr { kind: ExprKind::Sum(bounds, Box::new(body)), span }, height))
    }

    fn bound(&mut self) -> Result<Bound> {
        let (name, mut span) = self.plain_name("an index")?;
        let range = if self.eat(Tok::Less) {
            let (range, _) = self.int()?;
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
            Tok::Name(_) => self.read(),
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
                    .help("elements are read with `[...]`; products are written with `*`"));
            }
            return Ok((Expr { kind: ExprKind::Name(tensor), span }, 1));
        }
        let (subscripts, end) = self.subscripts()?;
        let span = span.to(end);
        Ok((Expr { kind: ExprKind::Read(Read { tensor, subscripts, padded, span }), span }, 1))
    }

    /// `[` int, … `]`.
    pub(crate) fn subscripts(&mut self) -> Result<(Vec<Int>, Span)> {
        self.expect(Tok::OpenSquare)?;
        let mut list = Vec::new();
        if self.peek() != Tok::CloseSquare {
            loop {
                list.push(self.int()?.0);
                if !self.eat(Tok::Comma) {
                    break;
                }
            }
        }
        if self.peek() != Tok::CloseSquare {
            return Err(self.expected("`,` or `]`"));
        }
        Ok((list, self.next().span))
    }

    /// `X` or `grad(X)`.
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

    fn plain_name(&mut self, what: &str) -> Result<(String, Span)> {
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
