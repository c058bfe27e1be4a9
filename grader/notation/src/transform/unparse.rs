//! From statements with resolved names back to text, in gather form.

use crate::integer::polynomial::same_size;
use crate::program::ir::{Assignment, Contribution, Index, Program};
use crate::program::limits::{high_range, plus};
use crate::program::node::{Guard, IndexId, Node};
use crate::program::ranges::lone_axes;
use crate::shape::DimExpr;
use crate::span::Span;
use crate::syntax::ast::{Bound, Expr, ExprKind, Limit, Statement};
use crate::syntax::int_expr::{IntExpr, IntKind, IntOp, Read};
use crate::syntax::operators::{Condition, Connective, Op};
use crate::syntax::parser::cursor::RESERVED;
use crate::transform::gather::gather_form;

/// The statement as text, in gather form, with names for the indices that stand for nothing else there.
pub fn statement_text(program: &Program, statement: &Assignment) -> String {
    if statement.recurrence.as_ref().is_some_and(|recurrence| !recurrence.backwards) {
        let lines = statement.contributions.iter();
        let lines = lines.map(|part| contribution_text(program, &statement.target, part));
        return lines.collect::<Vec<_>>().join("\n");
    }
    let mut program = program.clone();
    let Some((axes, body)) = whole_statement(&mut program, statement) else { return String::new() };
    let mut printer = Printer { program: &program, scope: Vec::new() };
    let subscripts =
        axes.iter().map(|&id| IntExpr::new(IntKind::Name(printer.bind(id)), Span::default()));
    let subscripts = subscripts.collect();
    let body = printer.node(&body);
    let target = statement.target.clone();
    let target_span = Span::default();
    Statement { target, target_span, subscripts, adds: false, padded: false, body }.to_string()
}

/// A contribution as the statement that it was written as.
fn contribution_text(program: &Program, target: &str, contribution: &Contribution) -> String {
    let mut printer = Printer { program, scope: Vec::new() };
    for &id in &contribution.loops {
        printer.bind(id);
    }
    let subscripts = contribution.subscripts.iter();
    let subscripts = subscripts.map(|int| int.map(&mut |leaf| printer.leaf(leaf))).collect();
    let body = printer.node(&contribution.body);
    let (target, target_span) = (target.to_owned(), Span::default());
    Statement { target, target_span, subscripts, adds: false, padded: false, body }.to_string()
}

/// A statement in gather form, as one body over an index for each axis of its target. These indices are added to `program`.
pub fn whole_statement(
    program: &mut Program,
    statement: &Assignment,
) -> Option<(Vec<IndexId>, Node)> {
    let shape = program.tensors.get(&statement.target)?.shape.clone();
    let first = program.indices.len();
    for (axis, size) in shape.iter().enumerate() {
        let name = axis_name(program, statement, axis, size);
        let span = Span::default();
        program.indices.push(Index { name, range: size.int.clone(), span });
    }
    let axes: Vec<IndexId> = (first..program.indices.len()).collect();
    let mut body: Option<Node> = None;
    for contribution in &statement.contributions {
        let form = gather_form(program, &statement.target, contribution, &axes);
        let summand = Node::sum(form.sum, form.body);
        body = Some(match body {
            Some(sum) => Node::binary(Op::Add, sum, summand),
            None => summand,
        });
    }
    Some((axes, body.unwrap_or(Node::Number(0.0))))
}

/// A name for an axis: that of an index that stands alone there, else the size's in lower case.
fn axis_name(program: &Program, statement: &Assignment, axis: usize, size: &DimExpr) -> String {
    let mut contributions = statement.contributions.iter();
    let lone = contributions.find_map(|contribution| contribution.subscripts[axis].as_index());
    if let Some(id) = lone {
        return program.indices[id].name.clone();
    }
    match &size.int.kind {
        IntKind::Name(name) => name.to_lowercase(),
        _ => "i".to_owned(),
    }
}

/// Makes parsed expressions of resolved ones.
struct Printer<'a> {
    program: &'a Program,
    /// The names of the indices that are bound here.
    scope: Vec<(IndexId, String)>,
}

impl Printer<'_> {
    /// Binds the index, and gives the name that it has here: its own, with a number where something else has that name.
    fn bind(&mut self, id: IndexId) -> String {
        let wish = &self.program.indices[id].name;
        let taken = |name: &str| {
            self.scope.iter().any(|(_, other)| other == name)
                || self.program.sizes.contains(name)
                || RESERVED.contains(&name)
        };
        let mut name = wish.clone();
        let mut number = 2;
        while taken(&name) {
            name = format!("{wish}{number}");
            number += 1;
        }
        self.scope.push((id, name.clone()));
        name
    }

    /// The leaf of an integer expression, an index replaced by its name.
    fn leaf(&self, leaf: &IntExpr) -> IntExpr {
        let found = leaf.as_index().and_then(|id| {
            self.scope.iter().rev().find(|(other, _)| *other == id).map(|(_, name)| name)
        });
        match found {
            Some(found) => IntExpr::new(IntKind::Name(found.clone()), leaf.span),
            None => leaf.clone(),
        }
    }

    fn read(&self, read: &Read) -> Read {
        read.map(&mut |leaf| self.leaf(leaf))
    }

    fn boxed(&mut self, node: &Node) -> Box<Expr> {
        Box::new(self.node(node))
    }

    fn node(&mut self, node: &Node) -> Expr {
        let kind = match node {
            Node::Number(value) => ExprKind::Number(*value),
            Node::Size(name, _) => ExprKind::Name(name.clone()),
            Node::Index(int) => ExprKind::Index(int.map(&mut |leaf| self.leaf(leaf))),
            Node::Read(read) if read.subscripts.is_empty() => ExprKind::Name(read.tensor.clone()),
            Node::Read(read) => ExprKind::Read(self.read(read)),
            Node::Neg(inner) => ExprKind::Neg(self.boxed(inner)),
            Node::Binary(op, left, right) => {
                ExprKind::Binary(*op, self.boxed(left), self.boxed(right))
            }
            Node::Reduce(reduction, bound, body) => {
                let outer = self.scope.len();
                let (guards, inner) = body.without_guards();
                let mut guards: Vec<Guard> = guards.to_vec();
                let bounds = bound.iter().enumerate().map(|(position, &id)| {
                    let limits = take_limits(id, &bound[position..], &mut guards);
                    self.bound(id, body, limits)
                });
                let bounds = bounds.collect();
                // Only a sum can have guards that are not limits of its indices: in gather form.
                let body = self.node(&conditional(&guards, inner));
                self.scope.truncate(outer);
                ExprKind::Reduce(*reduction, bounds, Box::new(body))
            }
            Node::Where(guards, body) => return self.node(&conditional(guards, body)),
            Node::Call(function, values) => {
                ExprKind::Call(*function, values.iter().map(|value| self.node(value)).collect())
            }
            Node::Select(condition, yes, no) => {
                let condition = condition.map(&mut |value| self.node(value));
                ExprKind::Select(Box::new(condition), self.boxed(yes), self.boxed(no))
            }
        };
        Expr { kind, span: Span::default() }
    }

    /// The index as a reduction binds it: with its range, if that does not follow from the body.
    fn bound(&mut self, id: IndexId, body: &Node, limits: Limits) -> Bound {
        let range = &self.program.indices[id].range;
        let axes = lone_axes(id, body, &self.program.tensors);
        let follows =
            !axes.is_empty() && axes.iter().all(|axis| same_size(&axis.size, range) == Some(true));
        let whole = || Limit { int: range.clone(), strict: true };
        let implied = |high: &Limit| match high_range(id, high, &self.program.indices) {
            Some(found) => same_size(&found, range) == Some(true),
            None => follows,
        };
        let high = limits.high.map(|high| {
            if implied(&high) {
                return high;
            }
            let past = if high.strict { high.int } else { plus(high.int, 1) };
            let int = IntExpr::binary(IntOp::Min, past, range.clone());
            Limit { int, strict: true }
        });
        let limit = |limit: Option<Limit>| {
            limit.map(|Limit { int, strict }| Limit { int: int.map(&mut |l| self.leaf(l)), strict })
        };
        let (low, high) = (limit(limits.low), limit(high));
        let high = high.or_else(|| (!follows).then(whole));
        Bound { name: self.bind(id), low, high, span: Span::default() }
    }
}

/// The limits of an index that guards give.
struct Limits {
    low: Option<Limit>,
    high: Option<Limit>,
}

/// Takes those guards that limit the index `id` where it is bound, before the others in `not_yet`.
fn take_limits(id: IndexId, not_yet: &[IndexId], guards: &mut Vec<Guard>) -> Limits {
    let mut limits = Limits { low: None, high: None };
    guards.retain(|Guard { left, right, strict }| {
        let is = |int: &IntExpr| int.as_index() == Some(id);
        let known = |int: &IntExpr| !int.indices().iter().any(|other| not_yet.contains(other));
        let limit = |int: &IntExpr| Some(Limit { int: int.clone(), strict: *strict });
        if is(left) && known(right) && limits.high.is_none() {
            limits.high = limit(right);
        } else if is(right) && known(left) && limits.low.is_none() {
            limits.low = limit(left);
        } else {
            return true;
        }
        false
    });
    limits
}

/// The body where all guards hold, else 0.
fn conditional(guards: &[Guard], body: &Node) -> Node {
    let conditions = guards.iter().map(Guard::condition);
    match conditions.reduce(|a, b| Condition::join(Connective::And, a, b)) {
        None => body.clone(),
        Some(all) => Node::select(all, body.clone(), Node::Number(0.0)),
    }
}
