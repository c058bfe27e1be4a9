//! Prints what the parser reads: `parse(print(x)) == x`, spans aside.
//!
//! Brackets stand only where the grammar needs them. Subscripts are printed tight (`oh+fh`), sizes and
//! bodies with spaces.

use std::fmt::{self, Display, Formatter};

use crate::ast::{Bound, Expr, ExprKind, Form, Int, IntKind, IntOp, Op, Read, Statement};

/// How tightly an operand must hold together to stand without brackets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Sum,
    Product,
    Atom,
}

/// An integer expression with the names of its indices.
pub(crate) struct IntText<'a> {
    pub int: &'a Int,
    /// Names of resolved indices; a missing one is printed as its number.
    pub names: &'a [String],
    pub tight: bool,
}

impl Display for IntText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write(f, self.int, Level::Sum)
    }
}

impl IntText<'_> {
    fn write(&self, f: &mut Formatter<'_>, int: &Int, level: Level) -> fmt::Result {
        let own = int_level(int);
        if own < level {
            f.write_str("(")?;
        }
        match &int.kind {
            IntKind::Const(value) => write!(f, "{value}")?,
            IntKind::Name(name) => f.write_str(name)?,
            IntKind::Index(id) => match self.names.get(*id) {
                Some(name) => f.write_str(name)?,
                None => write!(f, "{id}")?,
            },
            IntKind::Neg(inner) => {
                f.write_str("-")?;
                self.write(f, inner, Level::Atom)?;
            }
            IntKind::Binary(op, left, right) => self.binary(f, *op, left, right)?,
        }
        if own < level { f.write_str(")") } else { Ok(()) }
    }

    fn binary(&self, f: &mut Formatter<'_>, op: IntOp, left: &Int, right: &Int) -> fmt::Result {
        let Some((symbol, left_level, right_level)) = infix(op) else {
            write!(f, "{}(", function_name(op))?;
            self.write(f, left, Level::Sum)?;
            f.write_str(if self.tight { "," } else { ", " })?;
            self.write(f, right, Level::Sum)?;
            return f.write_str(")");
        };
        let space = if left_level == Level::Sum && !self.tight { " " } else { "" };
        self.write(f, left, left_level)?;
        write!(f, "{space}{symbol}{space}")?;
        self.write(f, right, right_level)
    }
}

fn int_level(int: &Int) -> Level {
    match &int.kind {
        // A negative constant is read back as a negation, which is an atom too.
        IntKind::Const(_) | IntKind::Name(_) | IntKind::Index(_) | IntKind::Neg(_) => Level::Atom,
        IntKind::Binary(op, ..) => match op {
            IntOp::Add | IntOp::Sub => Level::Sum,
            IntOp::Mul => Level::Product,
            _ => Level::Atom,
        },
    }
}

fn infix(op: IntOp) -> Option<(&'static str, Level, Level)> {
    match op {
        IntOp::Add => Some(("+", Level::Sum, Level::Product)),
        IntOp::Sub => Some(("-", Level::Sum, Level::Product)),
        IntOp::Mul => Some(("*", Level::Product, Level::Atom)),
        _ => None,
    }
}

fn function_name(op: IntOp) -> &'static str {
    match op {
        IntOp::Add => "add",
        IntOp::Sub => "sub",
        IntOp::Mul => "mul",
        IntOp::Div => "div",
        IntOp::Mod => "mod",
        IntOp::CeilDiv => "ceil_div",
        IntOp::Min => "min",
        IntOp::Max => "max",
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_expr(f, self, Level::Sum, true)
    }
}

/// `last`: nothing follows on the same level, so an open-ended `sum` needs no brackets.
fn write_expr(f: &mut Formatter<'_>, expr: &Expr, level: Level, last: bool) -> fmt::Result {
    let own = match &expr.kind {
        ExprKind::Binary(Op::Add | Op::Sub, ..) => Level::Sum,
        ExprKind::Binary(Op::Mul | Op::Div, ..) => Level::Product,
        _ => Level::Atom,
    };
    let brackets = own < level || (!last && ends_open(expr));
    if brackets {
        f.write_str("(")?;
    }
    let last = last || brackets;
    match &expr.kind {
        ExprKind::Number(value) => write!(f, "{value}")?,
        ExprKind::Name(name) => f.write_str(name)?,
        ExprKind::Read(read) => write_read(f, read)?,
        ExprKind::Neg(inner) => {
            f.write_str("-")?;
            write_expr(f, inner, Level::Atom, last)?;
        }
        ExprKind::Binary(op @ (Op::Add | Op::Sub), left, right) => {
            // A `sum` ends before `+` and `-`.
            write_expr(f, left, Level::Sum, true)?;
            f.write_str(if *op == Op::Add { " + " } else { " - " })?;
            write_expr(f, right, Level::Product, true)?;
        }
        ExprKind::Binary(op, left, right) => {
            write_expr(f, left, Level::Product, false)?;
            f.write_str(if *op == Op::Mul { " * " } else { " / " })?;
            write_expr(f, right, Level::Atom, last)?;
        }
        ExprKind::Sum(bounds, body) => {
            f.write_str("sum[")?;
            for (place, bound) in bounds.iter().enumerate() {
                f.write_str(if place == 0 { "" } else { "," })?;
                write_bound(f, bound)?;
            }
            f.write_str("] ")?;
            write_expr(f, body, Level::Product, true)?;
        }
    }
    if brackets { f.write_str(")") } else { Ok(()) }
}

/// Would a following `*` or `/` be read as part of its last operand?
fn ends_open(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Sum(..) => true,
        ExprKind::Neg(inner) => ends_open(inner),
        ExprKind::Binary(Op::Mul | Op::Div, _, right) => ends_open(right),
        _ => false,
    }
}

fn write_bound(f: &mut Formatter<'_>, bound: &Bound) -> fmt::Result {
    f.write_str(&bound.name)?;
    match &bound.range {
        Some(range) => write!(f, " < {}", IntText { int: range, names: &[], tight: true }),
        None => Ok(()),
    }
}

fn write_read(f: &mut Formatter<'_>, read: &Read) -> fmt::Result {
    f.write_str(&read.tensor)?;
    f.write_str(if read.padded { "?" } else { "" })?;
    write_subscripts(f, &read.subscripts)
}

fn write_subscripts(f: &mut Formatter<'_>, subscripts: &[Int]) -> fmt::Result {
    f.write_str("[")?;
    for (place, int) in subscripts.iter().enumerate() {
        f.write_str(if place == 0 { "" } else { "," })?;
        write!(f, "{}", IntText { int, names: &[], tight: true })?;
    }
    f.write_str("]")
}

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.target)?;
        f.write_str(if self.form == Form::PaddedScatter { "?" } else { "" })?;
        if !self.subscripts.is_empty() {
            write_subscripts(f, &self.subscripts)?;
        }
        write!(f, " {} {}", if self.form == Form::Assign { "=" } else { "+=" }, self.body)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::parser::program;
    use crate::span::Span;

    fn int() -> impl Strategy<Value = Int> {
        let leaf = prop_oneof![
            (0..=i64::MAX).prop_map(IntKind::Const),
            select(vec!["i", "j", "H", "C_in"]).prop_map(|name| IntKind::Name(name.to_owned())),
        ];
        let leaf = leaf.prop_map(|kind| Int::new(kind, Span::default()));
        leaf.prop_recursive(4, 16, 2, |inner| {
            let ops = [
                IntOp::Add,
                IntOp::Sub,
                IntOp::Mul,
                IntOp::Div,
                IntOp::Mod,
                IntOp::CeilDiv,
                IntOp::Min,
                IntOp::Max,
            ];
            prop_oneof![
                1 => inner.clone().prop_map(|int| {
                    Int::new(IntKind::Neg(Box::new(int)), Span::default())
                }),
                4 => (select(ops.to_vec()), inner.clone(), inner)
                    .prop_map(|(op, a, b)| Int::binary(op, a, b)),
            ]
        })
    }

    fn tensor() -> impl Strategy<Value = String> {
        select(vec!["x", "y_2", "grad(x)", "Big"]).prop_map(str::to_owned)
    }

    fn expr() -> impl Strategy<Value = Expr> {
        let read = (tensor(), prop::collection::vec(int(), 0..3), any::<bool>());
        let leaf = prop_oneof![
            (0.0..f64::MAX).prop_map(ExprKind::Number),
            (0_u32..100).prop_map(|value| ExprKind::Number(f64::from(value) / 8.0)),
            tensor().prop_map(ExprKind::Name),
            read.prop_map(|(tensor, subscripts, padded)| {
                ExprKind::Read(Read { tensor, subscripts, padded, span: Span::default() })
            }),
        ];
        let node = |kind| Expr { kind, span: Span::default() };
        leaf.prop_map(node).prop_recursive(5, 32, 2, move |inner| {
            let bound =
                (select(vec!["p", "q", "r"]), prop::option::of(int())).prop_map(|(name, range)| {
                    Bound { name: name.to_owned(), range, span: Span::default() }
                });
            let ops = vec![Op::Add, Op::Sub, Op::Mul, Op::Div];
            prop_oneof![
                1 => inner.clone().prop_map(|expr| ExprKind::Neg(Box::new(expr))),
                4 => (select(ops), inner.clone(), inner.clone())
                    .prop_map(|(op, a, b)| ExprKind::Binary(op, Box::new(a), Box::new(b))),
                2 => (prop::collection::vec(bound, 1..3), inner)
                    .prop_map(|(bounds, body)| ExprKind::Sum(bounds, Box::new(body))),
            ]
            .prop_map(node)
        })
    }

    fn statement() -> impl Strategy<Value = Statement> {
        let subscripts = prop::collection::vec(int(), 0..3);
        (tensor(), subscripts, expr()).prop_map(|(target, subscripts, body)| Statement {
            target,
            target_span: Span::default(),
            subscripts,
            form: Form::Assign,
            body,
        })
    }

    fn bare_int(int: &Int) -> Int {
        let bare = |int: &Int| Box::new(bare_int(int));
        let kind = match &int.kind {
            IntKind::Neg(inner) => IntKind::Neg(bare(inner)),
            IntKind::Binary(op, a, b) => IntKind::Binary(*op, bare(a), bare(b)),
            leaf => leaf.clone(),
        };
        Int::new(kind, Span::default())
    }

    fn bare_expr(expr: &Expr) -> Expr {
        let bare = |expr: &Expr| Box::new(bare_expr(expr));
        let span = Span::default();
        let kind = match &expr.kind {
            ExprKind::Read(read) => {
                let subscripts = read.subscripts.iter().map(bare_int).collect();
                ExprKind::Read(Read { subscripts, span, ..read.clone() })
            }
            ExprKind::Neg(inner) => ExprKind::Neg(bare(inner)),
            ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, bare(a), bare(b)),
            ExprKind::Sum(bounds, body) => {
                let bounds = bounds.iter().map(|bound| Bound {
                    range: bound.range.as_ref().map(bare_int),
                    span,
                    ..bound.clone()
                });
                ExprKind::Sum(bounds.collect(), bare(body))
            }
            leaf => leaf.clone(),
        };
        Expr { kind, span }
    }

    /// Without spans.
    fn bare(statement: &Statement) -> Statement {
        Statement {
            target: statement.target.clone(),
            target_span: Span::default(),
            subscripts: statement.subscripts.iter().map(bare_int).collect(),
            form: statement.form,
            body: bare_expr(&statement.body),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_printed_is_read_back(statements in prop::collection::vec(statement(), 0..3)) {
            let text = statements.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
            let read: Vec<Statement> = match program(&text) {
                Ok(read) => read.iter().map(bare).collect(),
                Err(error) => panic!("{text}\n{error:?}"),
            };
            prop_assert_eq!(read, statements, "{}", text);
        }
    }

    #[test]
    fn brackets_only_where_they_are_needed() {
        for text in [
            "y[i] = a + b - (c - d)",
            "y[i] = a * b / (c / d) * -e",
            "y[i] = sum[k,p < K*K] x[i,k] * x[p,k] + 2",
            "y[i] = (sum[k] x[k]) / sum[k] x[k]",
            "y[i] = x[2*h+p,div(w,2),mod(-w,2)] * x?[h-(p-1)]",
            "loss = -(a + b) * 0.5",
        ] {
            let printed = program(text).map(|statements| statements[0].to_string());
            assert_eq!(printed.as_deref(), Ok(text));
        }
    }
}
