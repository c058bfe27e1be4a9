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
