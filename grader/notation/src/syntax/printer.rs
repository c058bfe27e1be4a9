//! From trees back to text, so that the parser reads the same tree again, spans aside.
//!
//! Brackets stand only where the grammar needs them. Subscripts are printed tight (`oh+fh`), sizes and
//! bodies with spaces.

use std::fmt::{self, Display, Formatter};

use crate::syntax::ast::{Bound, Expr, ExprKind, Limit, Statement};
use crate::syntax::int_expr::{IntExpr, IntKind, IntOp, Read};
use crate::syntax::operators::{Condition, Connective, Op};

/// The grammar's levels of precedence. An operand stands without brackets where its level is at least the one that its
/// place asks for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Bits,
    Sum,
    Product,
    Atom,
}

impl Level {
    /// The level that the right operand of an operator of this level needs: operators group from left to right.
    fn tighter(self) -> Self {
        match self {
            Self::Sum => Self::Product,
            Self::Bits | Self::Product | Self::Atom => Self::Atom,
        }
    }
}

/// An integer expression, to be displayed.
pub struct IntText<'a> {
    pub int: &'a IntExpr,
    /// The names of resolved indices; one without a name is printed as its number.
    pub names: &'a [String],
    /// Whether to leave out the spaces around operators, as in subscripts.
    pub tight: bool,
}

impl Display for IntText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write(f, self.int, Level::Sum)
    }
}

impl IntText<'_> {
    fn write(&self, f: &mut Formatter<'_>, int: &IntExpr, level: Level) -> fmt::Result {
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
            IntKind::Element(read) => {
                f.write_str(&read.tensor)?;
                if !read.subscripts.is_empty() {
                    write_subscripts(f, &read.subscripts, self.names)?;
                }
            }
            IntKind::Neg(inner) => {
                f.write_str("-")?;
                self.write(f, inner, Level::Atom)?;
            }
            IntKind::Binary(op, left, right) => self.binary(f, *op, left, right)?,
        }
        if own < level { f.write_str(")") } else { Ok(()) }
    }

    fn binary(
        &self,
        f: &mut Formatter<'_>,
        op: IntOp,
        left: &IntExpr,
        right: &IntExpr,
    ) -> fmt::Result {
        if let Some(name) = op.function_name() {
            write!(f, "{name}(")?;
            self.write(f, left, Level::Sum)?;
            f.write_str(if self.tight { "," } else { ", " })?;
            self.write(f, right, Level::Sum)?;
            return f.write_str(")");
        }
        let symbol = match op {
            IntOp::Add => "+",
            IntOp::Sub => "-",
            IntOp::And => "&",
            IntOp::Or => "|",
            IntOp::Xor => "^",
            IntOp::ShiftLeft => "<<",
            IntOp::ShiftRight => ">>",
            _ => "*",
        };
        // Bitwise operations stand in brackets inside each other and inside all others.
        let level = int_op_level(op);
        if level == Level::Bits {
            self.write(f, left, Level::Atom)?;
            write!(f, " {symbol} ")?;
            return self.write(f, right, Level::Atom);
        }
        let space = if level == Level::Sum && !self.tight { " " } else { "" };
        self.write(f, left, level)?;
        write!(f, "{space}{symbol}{space}")?;
        self.write(f, right, level.tighter())
    }
}

fn int_level(int: &IntExpr) -> Level {
    match &int.kind {
        IntKind::Binary(op, ..) => int_op_level(*op),
        // A negative constant is read back as a negation, which is an atom too.
        _ => Level::Atom,
    }
}

/// The level of an operation. Division and remainder are printed as functions, so that nobody takes them for a division
/// of real numbers.
fn int_op_level(op: IntOp) -> Level {
    match op {
        IntOp::Add | IntOp::Sub => Level::Sum,
        IntOp::Mul => Level::Product,
        IntOp::And | IntOp::Or | IntOp::Xor | IntOp::ShiftLeft | IntOp::ShiftRight => Level::Bits,
        _ => Level::Atom,
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_expr(f, self, Level::Sum, true)
    }
}

/// Writes an expression at a place that asks for `level`. `last` says that nothing follows on the same level, so that a
/// reduction, whose body is open to the right, needs no brackets.
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
            // A reduction ends before `+` and `-`.
            write_expr(f, left, Level::Sum, true)?;
            f.write_str(if *op == Op::Add { " + " } else { " - " })?;
            write_expr(f, right, Level::Product, true)?;
        }
        ExprKind::Binary(op, left, right) => {
            write_expr(f, left, Level::Product, false)?;
            f.write_str(if *op == Op::Mul { " * " } else { " / " })?;
            write_expr(f, right, Level::Atom, last)?;
        }
        ExprKind::Reduce(reduction, bounds, body) => {
            write!(f, "{}[", reduction.name())?;
            for (position, bound) in bounds.iter().enumerate() {
                f.write_str(if position == 0 { "" } else { "," })?;
                write_bound(f, bound)?;
            }
            f.write_str("] ")?;
            write_expr(f, body, Level::Product, true)?;
        }
        ExprKind::Call(function, values) => {
            write!(f, "{}(", function.name())?;
            for (position, value) in values.iter().enumerate() {
                write!(f, "{}{value}", if position == 0 { "" } else { ", " })?;
            }
            f.write_str(")")?;
        }
        ExprKind::Select(condition, yes, no) => {
            f.write_str("select(")?;
            write_condition(f, condition, None)?;
            write!(f, ", {yes}, {no})")?;
        }
        ExprKind::Index(int) => {
            write!(f, "index({})", IntText { int, names: &[], tight: true })?;
        }
    }
    if brackets { f.write_str(")") } else { Ok(()) }
}

/// Whether a following `*` or `/` would be read as part of the expression's last operand.
fn ends_open(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Reduce(..) => true,
        ExprKind::Neg(inner) => ends_open(inner),
        ExprKind::Binary(Op::Mul | Op::Div, _, right) => ends_open(right),
        _ => false,
    }
}

impl<T: Display> Display for Condition<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_condition(f, self, None)
    }
}

/// Writes a condition. `around` is the connective that it is an operand of, and whether it is the right one.
fn write_condition<T: Display>(
    f: &mut Formatter<'_>,
    condition: &Condition<T>,
    around: Option<(Connective, bool)>,
) -> fmt::Result {
    match condition {
        Condition::Compare(comparison, left, right) => {
            write!(f, "{left} {} {right}", comparison.symbol())
        }
        Condition::Join(connective, left, right) => {
            let brackets = match around {
                None => false,
                // `a and b or c` is `(a and b) or c`, and equal connectives group from left to right.
                Some((outer, is_right)) => {
                    (outer == *connective && is_right)
                        || (outer, *connective) == (Connective::And, Connective::Or)
                }
            };
            f.write_str(if brackets { "(" } else { "" })?;
            write_condition(f, left, Some((*connective, false)))?;
            write!(f, " {} ", connective.name())?;
            write_condition(f, right, Some((*connective, true)))?;
            f.write_str(if brackets { ")" } else { "" })
        }
    }
}

fn write_bound(f: &mut Formatter<'_>, bound: &Bound) -> fmt::Result {
    let text = |limit: &Limit| IntText { int: &limit.int, names: &[], tight: true }.to_string();
    let below = |limit: &Limit| if limit.strict { "<" } else { "<=" };
    let Bound { name, low, high, .. } = bound;
    match (low, high) {
        (None, None) => f.write_str(name),
        (None, Some(high)) => write!(f, "{name} {} {}", below(high), text(high)),
        (Some(low), None) => {
            write!(f, "{name} {} {}", if low.strict { ">" } else { ">=" }, text(low))
        }
        (Some(low), Some(high)) => {
            write!(f, "{} {} {name} {} {}", text(low), below(low), below(high), text(high))
        }
    }
}

fn write_read(f: &mut Formatter<'_>, read: &Read) -> fmt::Result {
    f.write_str(&read.tensor)?;
    f.write_str(if read.padded { "?" } else { "" })?;
    write_subscripts(f, &read.subscripts, &[])
}

fn write_subscripts(
    f: &mut Formatter<'_>,
    subscripts: &[IntExpr],
    names: &[String],
) -> fmt::Result {
    f.write_str("[")?;
    for (position, int) in subscripts.iter().enumerate() {
        f.write_str(if position == 0 { "" } else { "," })?;
        write!(f, "{}", IntText { int, names, tight: true })?;
    }
    f.write_str("]")
}

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.target)?;
        f.write_str(if self.padded { "?" } else { "" })?;
        if self.padded || !self.subscripts.is_empty() {
            write_subscripts(f, &self.subscripts, &[])?;
        }
        write!(f, " {} {}", if self.adds { "+=" } else { "=" }, self.body)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::dtype::DType;
    use crate::span::Span;
    use crate::syntax::operators::{Comparison, Function, Reduction};
    use crate::syntax::parser::statement::parse_statements;

    fn int() -> impl Strategy<Value = IntExpr> {
        let leaf = prop_oneof![
            (0..=i64::MAX).prop_map(IntKind::Const),
            select(vec!["i", "j", "H", "C_in"]).prop_map(|name| IntKind::Name(name.to_owned())),
        ];
        let leaf = leaf.prop_map(|kind| IntExpr::new(kind, Span::default()));
        leaf.prop_recursive(4, 16, 2, |inner| {
            prop_oneof![
                1 => inner.clone().prop_map(IntExpr::negate),
                4 => (select(IntOp::ALL.to_vec()), inner.clone(), inner.clone())
                    .prop_map(|(op, a, b)| IntExpr::binary(op, a, b)),
                1 => (select(vec!["n", "label'"]), prop::collection::vec(inner, 1..3))
                    .prop_map(|(name, subscripts)| {
                        let (tensor, span) = (name.to_owned(), Span::default());
                        let read = Read { tensor, subscripts, padded: false, span };
                        IntExpr::new(IntKind::Element(Box::new(read)), span)
                    }),
            ]
        })
    }

    fn tensor() -> impl Strategy<Value = String> {
        select(vec!["x", "y_2", "grad(x)", "Big", "x'", "grad(x')"]).prop_map(str::to_owned)
    }

    fn cond(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = Condition<Expr>> {
        let leaf = (select(Comparison::ALL.to_vec()), inner.clone(), inner)
            .prop_map(|(cmp, a, b)| Condition::compare(cmp, a, b));
        leaf.prop_recursive(3, 8, 2, |inner| {
            (select(vec![Connective::And, Connective::Or]), inner.clone(), inner)
                .prop_map(|(junction, a, b)| Condition::join(junction, a, b))
        })
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
            let limit = || {
                let limit = (int(), any::<bool>()).prop_map(|(int, strict)| Limit { int, strict });
                prop::option::of(limit)
            };
            let bound =
                (select(vec!["p", "q", "r"]), limit(), limit()).prop_map(|(name, low, high)| {
                    Bound { name: name.to_owned(), low, high, span: Span::default() }
                });
            let ops = vec![Op::Add, Op::Sub, Op::Mul, Op::Div];
            let reductions = Reduction::ALL.to_vec();
            let unary = vec![
                Function::Exp,
                Function::Log,
                Function::Sqrt,
                Function::Rsqrt,
                Function::Tanh,
                Function::Sin,
                Function::Cos,
                Function::Erf,
                Function::Sigmoid,
                Function::Floor,
                Function::Abs,
                Function::Cast(DType::F16),
                Function::Cast(DType::BF16),
                Function::Cast(DType::F32),
            ];
            let binary = vec![Function::Max, Function::Min, Function::Pow];
            prop_oneof![
                1 => inner.clone().prop_map(|expr| ExprKind::Neg(Box::new(expr))),
                4 => (select(ops), inner.clone(), inner.clone())
                    .prop_map(|(op, a, b)| ExprKind::Binary(op, Box::new(a), Box::new(b))),
                2 => (select(reductions), prop::collection::vec(bound, 1..3), inner.clone())
                    .prop_map(|(reduction, bounds, body)| {
                        ExprKind::Reduce(reduction, bounds, Box::new(body))
                    }),
                1 => (select(unary), inner.clone())
                    .prop_map(|(func, x)| ExprKind::Call(func, vec![x])),
                1 => (select(binary), inner.clone(), inner.clone())
                    .prop_map(|(func, a, b)| ExprKind::Call(func, vec![a, b])),
                1 => (cond(inner.clone().boxed()), inner.clone(), inner)
                    .prop_map(|(cond, a, b)| {
                        ExprKind::Select(Box::new(cond), Box::new(a), Box::new(b))
                    }),
                1 => int().prop_map(ExprKind::Index),
            ]
            .prop_map(node)
        })
    }

    fn statement() -> impl Strategy<Value = Statement> {
        let subscripts = prop::collection::vec(int(), 0..3);
        (tensor(), subscripts, any::<(bool, bool)>(), expr()).prop_map(
            |(target, subscripts, (adds, padded), body)| Statement {
                target,
                target_span: Span::default(),
                subscripts,
                adds,
                padded: adds && padded,
                body,
            },
        )
    }

    fn bare_int(int: &IntExpr) -> IntExpr {
        let bare = |int: &IntExpr| Box::new(bare_int(int));
        let kind = match &int.kind {
            IntKind::Neg(inner) => IntKind::Neg(bare(inner)),
            IntKind::Binary(op, a, b) => IntKind::Binary(*op, bare(a), bare(b)),
            IntKind::Element(read) => IntKind::Element(Box::new(bare_read(read))),
            leaf => leaf.clone(),
        };
        IntExpr::new(kind, Span::default())
    }

    fn bare_limit(limit: &Limit) -> Limit {
        Limit { int: bare_int(&limit.int), strict: limit.strict }
    }

    fn bare_read(read: &Read) -> Read {
        let subscripts = read.subscripts.iter().map(bare_int).collect();
        Read { subscripts, span: Span::default(), ..read.clone() }
    }

    fn bare_expr(expr: &Expr) -> Expr {
        let bare = |expr: &Expr| Box::new(bare_expr(expr));
        let span = Span::default();
        let kind = match &expr.kind {
            ExprKind::Read(read) => ExprKind::Read(bare_read(read)),
            ExprKind::Neg(inner) => ExprKind::Neg(bare(inner)),
            ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, bare(a), bare(b)),
            ExprKind::Reduce(reduction, bounds, body) => {
                let bounds = bounds.iter().map(|bound| Bound {
                    low: bound.low.as_ref().map(bare_limit),
                    high: bound.high.as_ref().map(bare_limit),
                    span,
                    ..bound.clone()
                });
                ExprKind::Reduce(*reduction, bounds.collect(), bare(body))
            }
            ExprKind::Call(func, values) => {
                ExprKind::Call(*func, values.iter().map(bare_expr).collect())
            }
            ExprKind::Select(cond, yes, no) => {
                let cond = cond.map(&mut bare_expr);
                ExprKind::Select(Box::new(cond), bare(yes), bare(no))
            }
            ExprKind::Index(int) => ExprKind::Index(bare_int(int)),
            leaf => leaf.clone(),
        };
        Expr { kind, span }
    }

    /// A copy of the statement with empty spans.
    fn bare(statement: &Statement) -> Statement {
        Statement {
            target: statement.target.clone(),
            target_span: Span::default(),
            subscripts: statement.subscripts.iter().map(bare_int).collect(),
            adds: statement.adds,
            padded: statement.padded,
            body: bare_expr(&statement.body),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_printed_is_read_back(statements in prop::collection::vec(statement(), 0..3)) {
            let text = statements.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
            let read: Vec<Statement> = match parse_statements(&text) {
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
            "y[i] = max(x[i], 0) + max[k] x[k] / 2 - pow(x[i], 2)",
            "y[i] = select((a < b or c == d) and e != f or a <= b, argmax[k] x[k], index(2*i+1))",
            "y[i] = select((a + b) * 2 >= c, x'[label[i]+1], f16(x[n[n[i]],i]))",
        ] {
            let printed = parse_statements(text).map(|statements| statements[0].to_string());
            assert_eq!(printed.as_deref(), Ok(text));
        }
    }
}
