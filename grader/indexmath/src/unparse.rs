//! Resolved statements back to text.

use crate::ast::{Bound, Expr, ExprKind, Int, IntKind, Read, Statement};
use crate::gather::gather;
use crate::infer::lone_axes;
use crate::ir::{Assign, Index, IndexId, Node, Program};
use crate::ops::Op;
use crate::poly::same_size;
use crate::shape::DimExpr;
use crate::span::Span;

/// The statement as text, in gather form.
pub(crate) fn text(program: &Program, statement: &Assign) -> String {
    let Some(tensor) = program.tensors.get(&statement.target) else { return String::new() };
    let mut program = program.clone();
    let first = program.indices.len();
    for (axis, size) in tensor.shape.iter().enumerate() {
        let name = axis_name(&program, statement, axis, size);
        program.indices.push(Index { name, range: size.int.clone() });
    }
    let axes: Vec<IndexId> = (first..program.indices.len()).collect();
    let mut printer = Printer { program: &program, scope: Vec::new() };
    let subscripts =
        axes.iter().map(|&id| Int::new(name(printer.bind(id)), Span::default())).collect();
    let mut body: Option<Node> = None;
    for part in &statement.parts {
        let gathered = gather(&program, &statement.target, part, &axes);
        let summand = Node::sum(gathered.sum, gathered.body);
        body = Some(match body {
            Some(sum) => Node::binary(Op::Add, sum, summand),
            None => summand,
        });
    }
    let body = printer.node(&body.unwrap_or(Node::Number(0.0)));
    let target = statement.target.clone();
    Statement { target, target_span: Span::default(), subscripts, body }.to_string()
}

/// A name for an axis: that of an index that stands alone there, else the size's in lower case.
fn axis_name(program: &Program, statement: &Assign, axis: usize, size: &DimExpr) -> String {
    let lone = statement.parts.iter().find_map(|part| part.subscripts[axis].as_index());
    if let Some(id) = lone {
        return program.indices[id].name.clone();
    }
    match &size.int.kind {
        IntKind::Name(name) => name.to_lowercase(),
        _ => "i".to_owned(),
    }
}

fn name(name: String) -> IntKind {
    IntKind::Name(name)
}

struct Printer<'a> {
    program: &'a Program,
    /// Names of the indices bound here.
    scope: Vec<(IndexId, String)>,
}

impl Printer<'_> {
    /// A name that nothing else has here.
    fn bind(&mut self, id: IndexId) -> String {
        let wish = &self.program.indices[id].name;
        let taken = |name: &str| {
            self.scope.iter().any(|(_, other)| other == name)
                || self.program.sizes.contains(name)
                || crate::parser::RESERVED.contains(&name)
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

    /// The leaf of an integer with a name in the place of an index.
    fn leaf(&self, leaf: &Int) -> Int {
        let found = leaf.as_index().and_then(|id| {
            self.scope.iter().rev().find(|(other, _)| *other == id).map(|(_, name)| name)
        });
        match found {
            Some(found) => Int::new(name(found.clone()), leaf.span),
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
                let bounds = bound.iter().map(|&id| self.bound(id, body)).collect();
                let body = self.node(body);
                self.scope.truncate(outer);
                ExprKind::Reduce(*reduction, bounds, Box::new(body))
            }
            Node::Call(func, values) => {
                ExprKind::Call(*func, values.iter().map(|value| self.node(value)).collect())
            }
            Node::Select(cond, yes, no) => {
                let cond = cond.map(&mut |value| self.node(value));
                ExprKind::Select(Box::new(cond), self.boxed(yes), self.boxed(no))
            }
        };
        Expr { kind, span: Span::default() }
    }

    /// With its range, if the body does not tell it.
    fn bound(&mut self, id: IndexId, body: &Node) -> Bound {
        let range = &self.program.indices[id].range;
        let axes = lone_axes(id, body, &self.program.tensors);
        let told =
            !axes.is_empty() && axes.iter().all(|axis| same_size(&axis.size, range) == Some(true));
        let range = (!told).then(|| range.clone());
        Bound { name: self.bind(id), range, span: Span::default() }
    }
}
