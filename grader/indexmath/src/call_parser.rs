//! Calls and conditions.
//!
//! ```text
//! call  = function '(' expr [ ',' expr ] ')'
//!       | 'select' '(' cond ',' expr ',' expr ')'
//!       | 'index' '(' int ')'
//! cond  = both { 'or' both }
//! both  = test { 'and' test }
//! test  = expr compare expr | '(' cond ')'
//! compare = '<' | '<=' | '>' | '>=' | '==' | '!='
//! ```

use crate::ast::{Expr, ExprKind};
use crate::error::{Error, Result};
use crate::lexer::Tok;
use crate::ops::{Cmp, Cond, Func, Junction};
use crate::parser::{Parser, Tall};

type TallCond = Tall<Cond<Expr>>;

impl Parser<'_> {
    /// The call that starts with `name`; `None` if it is not the name of a function.
    pub(crate) fn call(&mut self, name: &str) -> Result<Option<Tall<Expr>>> {
        let func = Func::named(name);
        if func.is_none() && !["select", "index"].contains(&name) {
            return Ok(None);
        }
        let start = self.next().span;
        if self.peek() != Tok::Open {
            let message = format!("`(` after `{name}`");
            return Err(self.expected(&message).help(format!("write `{}`", pattern(name, func))));
        }
        self.next();
        let (kind, height) = self.nested(|parser| match func {
            Some(func) => parser.arguments(func),
            None if name == "select" => parser.select(),
            None => {
                let (int, height) = parser.int()?;
                Ok((ExprKind::Index(int), height))
            }
        })?;
        if self.peek() != Tok::Close {
            let help = format!("write `{}`", pattern(name, func));
            return Err(self.expected("an operator or `)`").help(help));
        }
        let span = start.to(self.next().span);
        Ok(Some((Expr { kind, span }, Self::taller(span, height, 0)?)))
    }

    fn arguments(&mut self, func: Func) -> Result<Tall<ExprKind>> {
        let (first, mut height) = self.expr()?;
        let mut all = vec![first];
        while all.len() < func.arity() {
            let (next, other) = self.after_comma(func.name(), Some(func))?;
            all.push(next);
            height = height.max(other);
        }
        Ok((ExprKind::Call(func, all), height))
    }

    fn after_comma(&mut self, name: &str, func: Option<Func>) -> Result<Tall<Expr>> {
        if !self.eat(Tok::Comma) {
            let help = format!("write `{}`", pattern(name, func));
            return Err(self.expected("`,`").help(help));
        }
        self.expr()
    }

    fn select(&mut self) -> Result<Tall<ExprKind>> {
        let (cond, height) = self.cond()?;
        let (yes, second) = self.after_comma("select", None)?;
        let (no, third) = self.after_comma("select", None)?;
        let kind = ExprKind::Select(Box::new(cond), Box::new(yes), Box::new(no));
        Ok((kind, height.max(second).max(third)))
    }

    fn cond(&mut self) -> Result<TallCond> {
        self.joined(Junction::Or, |parser| parser.joined(Junction::And, Self::test))
    }

    /// `part { junction part }`.
    fn joined(
        &mut self,
        junction: Junction,
        part: impl Fn(&mut Self) -> Result<TallCond>,
    ) -> Result<TallCond> {
        let mut left = part(self)?;
        while self.peek() == Tok::Name(junction.name()) {
            let span = self.next().span;
            let right = part(self)?;
            let height = Self::taller(span, left.1, right.1)?;
            left = (Cond::join(junction, left.0, right.0), height);
        }
        Ok(left)
    }

    fn test(&mut self) -> Result<TallCond> {
        if self.peek() == Tok::Open && self.is_group_of_conditions() {
            self.next();
            let inner = self.nested(Self::cond)?;
            self.expect(Tok::Close)?;
            return Ok(inner);
        }
        let (left, height) = self.expr()?;
        let Some(cmp) = comparison(self.peek()) else {
            return Err(self
                .expected("a comparison")
                .help("a condition is like `a < b`; there are < <= > >= == !=, `and`, `or`"));
        };
        let span = self.next().span;
        let (right, other) = self.expr()?;
        if comparison(self.peek()).is_some() {
            return Err(Error::new(self.token().span, "a comparison of a comparison")
                .help("write `a < b and b < c`"));
        }
        Ok((Cond::compare(cmp, left, right), Self::taller(span, height, other)?))
    }

    /// At `(` where a condition may stand: is it a group of conditions, or an expression in brackets? What
    /// follows the closing bracket tells.
    fn is_group_of_conditions(&self) -> bool {
        let mut depth = 0_usize;
        for ahead in 0.. {
            match self.peek_at(ahead) {
                Tok::Open | Tok::OpenSquare => depth += 1,
                Tok::Close | Tok::CloseSquare => depth = depth.saturating_sub(1),
                Tok::Eof => return false,
                _ => {}
            }
            if depth == 0 {
                let next = self.peek_at(ahead + 1);
                return matches!(next, Tok::Name("and" | "or") | Tok::Comma | Tok::Close);
            }
        }
        false
    }
}

fn comparison(tok: Tok<'_>) -> Option<Cmp> {
    Some(match tok {
        Tok::Less => Cmp::Less,
        Tok::LessEqual => Cmp::LessEqual,
        Tok::Greater => Cmp::Greater,
        Tok::GreaterEqual => Cmp::GreaterEqual,
        Tok::EqualEqual => Cmp::Equal,
        Tok::NotEqual => Cmp::NotEqual,
        _ => return None,
    })
}

/// How the function is called.
fn pattern(name: &str, func: Option<Func>) -> String {
    match func {
        Some(func) if func.arity() == 2 => format!("{name}(a, b)"),
        Some(_) => format!("{name}(x)"),
        None if name == "select" => "select(condition, a, b)".to_owned(),
        None => "index(i)".to_owned(),
    }
}
