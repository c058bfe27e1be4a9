//! Real-valued expressions and conditions.
//!
//! ```text
//! expr       = term { ( '+' | '-' ) term }
//! term       = factor { ( '*' | '/' ) factor }
//! factor     = '-' factor | reduction '[' bound { ',' bound } ']' term | primary
//! reduction  = 'sum' | 'prod' | 'max' | 'min' | 'argmax' | 'argmin'
//! bound      = name [ ( '<' | '<=' | '>' | '>=' ) int ] | int ( '<' | '<=' ) name ( '<' | '<=' ) int
//! primary    = number | '(' expr ')' | tensor [ [ '?' ] '[' [ int { ',' int } ] ']' ] | call
//! tensor     = plain | 'grad' '(' plain ')'
//! plain      = name [ "'" ]
//! call       = function '(' expr [ ',' expr ] ')'
//!            | 'select' '(' condition ',' expr ',' expr ')'
//!            | 'index' '(' int ')'
//! condition  = conjunct { 'or' conjunct }
//! conjunct   = test { 'and' test }
//! test       = expr comparison expr | '(' condition ')'
//! comparison = '<' | '<=' | '>' | '>=' | '==' | '!='
//! ```
//!
//! The body of a reduction is a *term*: it extends over `*` and `/`, and ends before `+` and `-`.

use crate::error::{Error, Result};
use crate::span::Span;
use crate::syntax::ast::{Expr, ExprKind};
use crate::syntax::int_expr::Read;
use crate::syntax::lexer::{Token, TokenKind};
use crate::syntax::operators::{Condition, Connective, Function, Op, Reduction};
use crate::syntax::parser::cursor::{Parser, WithHeight};

impl Parser<'_> {
    pub(crate) fn expr(&mut self) -> Result<WithHeight<Expr>> {
        let operator = |kind: TokenKind<'_>| match kind {
            TokenKind::Plus => Some(Op::Add),
            TokenKind::Minus => Some(Op::Sub),
            _ => None,
        };
        self.left_associative(Self::term, operator, |op, _, a, b| binary(op, a, b))
    }

    fn term(&mut self) -> Result<WithHeight<Expr>> {
        let operator = |kind: TokenKind<'_>| match kind {
            TokenKind::Star => Some(Op::Mul),
            TokenKind::Slash => Some(Op::Div),
            _ => None,
        };
        let term = self.left_associative(Self::factor, operator, |op, _, a, b| binary(op, a, b))?;
        if self.peek() == TokenKind::Percent {
            return Err(Error::new(self.token().span, "`%` outside a subscript")
                .help("`%` is for integers, which only subscripts and sizes are"));
        }
        self.no_bit_operation()?;
        Ok(term)
    }

    /// Checks that no bitwise operator follows.
    fn no_bit_operation(&self) -> Result<()> {
        let help = match self.peek() {
            TokenKind::Caret => {
                "write powers as `pow(a, b)`; of integers, `index(a ^ b)` is the exclusive or"
            }
            TokenKind::Ampersand
            | TokenKind::Bar
            | TokenKind::Tilde
            | TokenKind::ShiftLeft
            | TokenKind::ShiftRight => {
                "of integers, write `index(a & b)`; conditions are joined by `and` and `or`"
            }
            _ => return Ok(()),
        };
        let token = self.token();
        let message = format!("{} outside an integer expression", token.kind.describe());
        Err(Error::new(token.span, message).help(help))
    }

    fn factor(&mut self) -> Result<WithHeight<Expr>> {
        match self.peek() {
            TokenKind::Minus => {
                let start = self.next().span;
                let (inner, height) = self.nested(Self::factor)?;
                let span = start.to(inner.span);
                let height = Self::height_over(span, height, 0)?;
                Ok((Expr { kind: ExprKind::Neg(Box::new(inner)), span }, height))
            }
            TokenKind::Name(name) => match Reduction::named(name) {
                // `max(a, b)` is a function.
                Some(Reduction::Max | Reduction::Min) if self.peek_at(1) == TokenKind::Open => {
                    self.primary()
                }
                Some(reduction) => self.reduction(reduction),
                None => self.primary(),
            },
            _ => {
                self.no_bit_operation()?;
                self.primary()
            }
        }
    }

    fn reduction(&mut self, reduction: Reduction) -> Result<WithHeight<Expr>> {
        let start = self.next().span;
        let name = reduction.name();
        let expected = format!("`[` after `{name}`");
        let help = format!("write `{name}[i, j] body`");
        self.expect_or_help(TokenKind::OpenSquare, &expected, help)?;
        let mut bounds = vec![self.bound()?];
        while self.eat(TokenKind::Comma) {
            bounds.push(self.bound()?);
        }
        self.expect(TokenKind::CloseSquare)?;
        let (body, height) = self.nested(Self::term)?;
        let span = start.to(body.span);
        let height = Self::height_over(span, height, 0)?;
        Ok((Expr { kind: ExprKind::Reduce(reduction, bounds, Box::new(body)), span }, height))
    }

    fn primary(&mut self) -> Result<WithHeight<Expr>> {
        let Token { kind, span } = self.token();
        match kind {
            TokenKind::Number(digits) => {
                self.next();
                let value = digits.parse::<f64>().ok().filter(|value| value.is_finite());
                let value = value.ok_or_else(|| {
                    Error::new(span, format!("`{digits}` is not a finite number"))
                })?;
                Ok((Expr { kind: ExprKind::Number(value), span }, 1))
            }
            TokenKind::Open => {
                self.next();
                let (mut inner, height) = self.nested(Self::expr)?;
                inner.span = span.to(self.expect(TokenKind::Close)?);
                Ok((inner, height))
            }
            TokenKind::Name(name) => match self.call(name)? {
                Some(call) => Ok(call),
                None => self.read(),
            },
            _ => Err(self.expected("a number, a tensor or `(`")),
        }
    }

    fn read(&mut self) -> Result<WithHeight<Expr>> {
        let (tensor, span) = self.tensor_name()?;
        let padded = self.eat(TokenKind::Question);
        if self.peek() != TokenKind::OpenSquare {
            if padded {
                return Err(self.expected("`[` after `?`"));
            }
            if self.peek() == TokenKind::Open {
                return Err(Error::new(span, format!("`{tensor}` is not a function"))
                    .help("functions: exp, log, sqrt, rsqrt, tanh, sin, cos, erf, sigmoid, floor, abs, max, min, pow, select, index, f16, bf16, f32; elements are read with `[...]`, products written with `*`"));
            }
            return Ok((Expr { kind: ExprKind::Name(tensor), span }, 1));
        }
        let ((subscripts, end), _) = self.subscripts()?;
        let span = span.to(end);
        Ok((Expr { kind: ExprKind::Read(Read { tensor, subscripts, padded, span }), span }, 1))
    }

    /// The name of a tensor: `X`, `X'`, `grad(X)` or `grad(X')`.
    pub(crate) fn tensor_name(&mut self) -> Result<(String, Span)> {
        if self.peek() != TokenKind::Name("grad") {
            return self.plain_name("a tensor");
        }
        let start = self.next().span;
        self.expect_or_help(TokenKind::Open, "`(` after `grad`", "write `grad(X)`")?;
        let (name, _) = self.plain_name("the name of a tensor")?;
        let end = self.expect(TokenKind::Close)?;
        Ok((format!("grad({name})"), start.to(end)))
    }

    /// The call that starts with `name`; `None` if that does not name a function.
    fn call(&mut self, name: &str) -> Result<Option<WithHeight<Expr>>> {
        let function = Function::named(name);
        if function.is_none() && !["select", "index"].contains(&name) {
            return Ok(None);
        }
        let start = self.next().span;
        let help = format!("write `{}`", call_pattern(name, function));
        self.expect_or_help(TokenKind::Open, &format!("`(` after `{name}`"), help.as_str())?;
        let (kind, height) = self.nested(|parser| match function {
            Some(function) => parser.arguments(function, &help),
            None if name == "select" => parser.select(&help),
            None => {
                let (int, height) = parser.int()?;
                Ok((ExprKind::Index(int), height))
            }
        })?;
        let end = self.expect_or_help(TokenKind::Close, "an operator or `)`", help)?;
        let span = start.to(end);
        Ok(Some((Expr { kind, span }, Self::height_over(span, height, 0)?)))
    }

    fn arguments(&mut self, function: Function, help: &str) -> Result<WithHeight<ExprKind>> {
        let (first, mut height) = self.expr()?;
        let mut all = vec![first];
        while all.len() < function.arity() {
            let (next, other) = self.after_comma(help)?;
            all.push(next);
            height = height.max(other);
        }
        Ok((ExprKind::Call(function, all), height))
    }

    fn after_comma(&mut self, help: &str) -> Result<WithHeight<Expr>> {
        self.expect_or_help(TokenKind::Comma, "`,`", help)?;
        self.expr()
    }

    fn select(&mut self, help: &str) -> Result<WithHeight<ExprKind>> {
        let (condition, height) = self.condition()?;
        let (yes, second) = self.after_comma(help)?;
        let (no, third) = self.after_comma(help)?;
        let kind = ExprKind::Select(Box::new(condition), Box::new(yes), Box::new(no));
        Ok((kind, height.max(second).max(third)))
    }

    fn condition(&mut self) -> Result<WithHeight<Condition<Expr>>> {
        self.joined(Connective::Or, |parser| parser.joined(Connective::And, Self::test))
    }

    /// Parses `operand { connective operand }`.
    fn joined(
        &mut self,
        connective: Connective,
        operand: impl Fn(&mut Self) -> Result<WithHeight<Condition<Expr>>>,
    ) -> Result<WithHeight<Condition<Expr>>> {
        let operator = |kind: TokenKind<'_>| {
            (kind == TokenKind::Name(connective.name())).then_some(connective)
        };
        self.left_associative(operand, operator, |connective, span, left, right| {
            let height = Self::height_over(span, left.1, right.1)?;
            Ok((Condition::join(connective, left.0, right.0), height))
        })
    }

    fn test(&mut self) -> Result<WithHeight<Condition<Expr>>> {
        if self.peek() == TokenKind::Open && self.is_group_of_conditions() {
            self.next();
            let inner = self.nested(Self::condition)?;
            self.expect(TokenKind::Close)?;
            return Ok(inner);
        }
        let (left, height) = self.expr()?;
        let TokenKind::Compare(comparison) = self.peek() else {
            return Err(self.expected("a comparison").help(
                "a condition compares two values, as in `a < b`; the operators are < <= > >= == !=, `and` and `or`",
            ));
        };
        let span = self.next().span;
        let (right, other) = self.expr()?;
        if let TokenKind::Compare(_) = self.peek() {
            return Err(Error::new(self.token().span, "a comparison of a comparison")
                .help("write `a < b and b < c`"));
        }
        let height = Self::height_over(span, height, other)?;
        Ok((Condition::compare(comparison, left, right), height))
    }

    /// Whether `(`, where a condition may stand, opens a group of conditions and not an expression in brackets. What
    /// follows the closing bracket tells.
    fn is_group_of_conditions(&self) -> bool {
        let mut depth = 0_usize;
        for ahead in 0.. {
            match self.peek_at(ahead) {
                TokenKind::Open | TokenKind::OpenSquare => depth += 1,
                TokenKind::Close | TokenKind::CloseSquare => depth = depth.saturating_sub(1),
                TokenKind::Eof => return false,
                _ => {}
            }
            if depth == 0 {
                let next = self.peek_at(ahead + 1);
                return matches!(
                    next,
                    TokenKind::Name("and" | "or") | TokenKind::Comma | TokenKind::Close
                );
            }
        }
        false
    }
}

fn binary(op: Op, left: WithHeight<Expr>, right: WithHeight<Expr>) -> Result<WithHeight<Expr>> {
    let span = left.0.span.to(right.0.span);
    let height = Parser::height_over(span, left.1, right.1)?;
    let kind = ExprKind::Binary(op, Box::new(left.0), Box::new(right.0));
    Ok((Expr { kind, span }, height))
}

/// How the function is called, for a help text.
fn call_pattern(name: &str, function: Option<Function>) -> String {
    match function {
        Some(function) if function.arity() == 2 => format!("{name}(a, b)"),
        Some(_) => format!("{name}(x)"),
        None if name == "select" => "select(condition, a, b)".to_owned(),
        None => "index(i)".to_owned(),
    }
}
