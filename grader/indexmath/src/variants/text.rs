//! Trees as text, in the syntax of formulas.

use crate::span::Span;
use crate::syntax::ast::{Bound, Expr, ExprKind};
use crate::syntax::int_expr::{IntExpr, IntKind, Read};
use crate::syntax::operators::{Comparison, Condition};
use crate::syntax::printer::IntText;
use crate::variants::tree::{Access, Model, Tree};

/// Longer texts are cut off.
const MAX: usize = 56;

impl Model {
    /// The tree as the formula would be written, in backticks; a long one is cut off.
    pub(crate) fn text(&self, tree: &Tree) -> String {
        short(&self.expr(tree).to_string())
    }

    /// A comparison of two trees, in backticks; a long one is cut off.
    pub(crate) fn comparison_text(
        &self,
        comparison: Comparison,
        left: &Tree,
        right: &Tree,
    ) -> String {
        short(&format!("{} {} {}", self.expr(left), comparison.symbol(), self.expr(right)))
    }

    /// A condition, in backticks; a long one is cut off.
    pub(crate) fn condition_text(&self, condition: &Condition<Tree>) -> String {
        short(&condition.map(&mut |value| self.expr(value)).to_string())
    }

    /// An integer expression, without spaces.
    pub(crate) fn int_text(&self, int: &IntExpr) -> String {
        IntText { int, names: &self.indices, tight: true }.to_string()
    }

    /// A read, in backticks.
    pub(crate) fn access_text(&self, access: &Access) -> String {
        self.text(&Tree::Read(access.clone()))
    }

    pub(crate) fn name(&self, index: usize) -> &str {
        self.indices.get(index).map_or("k", String::as_str)
    }

    fn expr(&self, tree: &Tree) -> Expr {
        let boxed = |tree: &Tree| Box::new(self.expr(tree));
        let kind = match tree {
            Tree::Number(value) => ExprKind::Name(number(*value)),
            Tree::Int(int) => ExprKind::Name(self.int_text(int)),
            Tree::Read(access) if access.subscripts.is_empty() => {
                ExprKind::Name(self.tensors[access.tensor].name.clone())
            }
            Tree::Read(access) => ExprKind::Read(Read {
                tensor: self.tensors[access.tensor].name.clone(),
                subscripts: access.subscripts.iter().map(|int| self.named(int)).collect(),
                padded: false,
                span: Span::default(),
            }),
            Tree::Neg(inner) => ExprKind::Neg(boxed(inner)),
            Tree::Binary(op, left, right) => ExprKind::Binary(*op, boxed(left), boxed(right)),
            Tree::Reduce(kind, ranges, body) => {
                let bound = |index| Bound {
                    name: self.name(index).to_owned(),
                    low: None,
                    high: None,
                    span: Span::default(),
                };
                let bounds = ranges.iter().map(|range| bound(range.index)).collect();
                ExprKind::Reduce(*kind, bounds, boxed(body))
            }
            Tree::Call(function, values) => {
                ExprKind::Call(*function, values.iter().map(|value| self.expr(value)).collect())
            }
            Tree::Select(condition, yes, no) => {
                let condition = condition.map(&mut |value| self.expr(value));
                ExprKind::Select(Box::new(condition), boxed(yes), boxed(no))
            }
        };
        Expr { kind, span: Span::default() }
    }

    fn named(&self, int: &IntExpr) -> IntExpr {
        int.map(&mut |leaf| match leaf.kind {
            IntKind::Index(id) => {
                IntExpr::new(IntKind::Name(self.name(id).to_owned()), Span::default())
            }
            _ => leaf.clone(),
        })
    }
}

/// The text in backticks, its end cut off if it is long.
fn short(text: &str) -> String {
    if text.chars().count() <= MAX {
        return format!("`{text}`");
    }
    let start: String = text.chars().take(MAX - 4).collect();
    format!("`{} ...`", start.trim_end())
}

/// A number, a small one with its power of ten.
pub(crate) fn number(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-3 {
        format!("{:e}", value as f32)
    } else {
        value.to_string()
    }
}
