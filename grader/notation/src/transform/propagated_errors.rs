//! How errors pass through the steps of a recurrence.
//!
//! A step reads an element in several places, `u[t,i] + a*(u[t,i-1] - 2*u[t,i] + u[t,i+1])`, and the error of the element is the same
//! in all of them. Where the step is linear in the target, the error of earlier slices adds exactly
//! `Σ |∂step/∂u[r]| · error(u)[r]` (Higham 2002, section 3.3); each read for itself would let errors grow from step to step
//! where in truth they fade.

use std::sync::Arc;

use crate::dtype::DType;
use crate::program::ir::{Assignment, Contribution, Index, Program, error_of};
use crate::program::node::{IndexId, Node};
use crate::shape::TensorType;
use crate::span::Span;
use crate::syntax::int_expr::{IntExpr, Read};
use crate::syntax::operators::{Function, Op, Reduction};
use crate::transform::fresh_indices::FreshIndices;
use crate::transform::local_derivatives::LocalDerivatives;

/// The program with the propagated errors of all its recurrences that are linear.
pub fn with_propagated_errors(program: &Arc<Program>) -> Arc<Program> {
    if program.statements.iter().all(|statement| statement.recurrence.is_none()) {
        return Arc::clone(program);
    }
    let mut whole = program.as_ref().clone();
    let mut statements = std::mem::take(&mut whole.statements);
    for statement in &mut statements {
        let errors = contributions(statement, &mut whole.indices);
        let Some(recurrence) = &mut statement.recurrence else { continue };
        let shape = whole.tensors[&statement.target].shape.clone();
        whole.tensors.insert(error_of(&statement.target), TensorType { dtype: DType::F64, shape });
        recurrence.errors = errors;
    }
    whole.statements = statements;
    Arc::new(whole)
}

/// A read of the target, with its derivative.
struct Occurrence {
    loops: Vec<IndexId>,
    read: Read,
    derivative: Node,
}

fn contributions(statement: &Assignment, indices: &mut Vec<Index>) -> Option<Vec<Contribution>> {
    let target = statement.target.as_str();
    let mut all = Vec::new();
    for contribution in &statement.contributions {
        let Contribution { loops, subscripts, padded, body } = contribution;
        if !is_linear(body, target) {
            return None;
        }
        let rules = LocalDerivatives {
            fresh: FreshIndices { table: indices },
            is_active: |node: &Node| reads(node, target),
        };
        let mut pass = Pass { rules, target, found: Vec::new() };
        pass.propagate(body, Node::Number(1.0), loops);
        for Occurrence { loops, read, derivative } in pass.found {
            let size = Node::Call(Function::Abs, vec![derivative]);
            let error = Node::Read(Read { tensor: error_of(target), ..read });
            let body = Node::binary(Op::Mul, size, error);
            let (subscripts, padded) = (subscripts.clone(), *padded);
            all.push(Contribution { loops, subscripts, padded, body });
        }
    }
    Some(all)
}

fn reads(node: &Node, target: &str) -> bool {
    let mut found = false;
    node.reads(&mut |read| found |= read.tensor == target);
    found
}

/// Whether the value is a linear function of the target's elements.
fn is_linear(node: &Node, target: &str) -> bool {
    if !reads(node, target) {
        return true;
    }
    let linear = |node: &Node| is_linear(node, target);
    match node {
        Node::Read(read) => !read.subscripts.iter().any(|int| {
            let mut own = false;
            int.elements(&mut |inner| own |= inner.tensor == target);
            own
        }),
        Node::Neg(inner) => linear(inner),
        Node::Binary(Op::Add | Op::Sub, left, right) => linear(left) && linear(right),
        Node::Binary(Op::Mul, left, right) => {
            linear(left) && linear(right) && !(reads(left, target) && reads(right, target))
        }
        Node::Binary(Op::Div, left, right) => linear(left) && !reads(right, target),
        Node::Reduce(Reduction::Sum, _, body) => linear(body),
        Node::Select(condition, yes, no) => {
            let mut free = true;
            condition.values(&mut |value| free &= !reads(value, target));
            free && linear(yes) && linear(no)
        }
        _ => false,
    }
}

struct Pass<'a, A> {
    rules: LocalDerivatives<'a, A>,
    target: &'a str,
    found: Vec<Occurrence>,
}

impl<A: Fn(&Node) -> bool> Pass<'_, A> {
    fn propagate(&mut self, node: &Node, derivative: Node, loops: &[IndexId]) {
        if !reads(node, self.target) {
            return;
        }
        if let Node::Read(read) = node {
            self.occurs(loops, read, derivative);
            return;
        }
        for passed_on in self.rules.of(node, derivative) {
            let loops = [loops, passed_on.bound].concat();
            self.propagate(passed_on.operand, passed_on.cotangent, &loops);
        }
    }

    /// Adds an occurrence; those of the same element are one.
    fn occurs(&mut self, loops: &[IndexId], read: &Read, derivative: Node) {
        let bare = |read: &Read| {
            let subscripts = read.subscripts.iter().map(IntExpr::without_spans).collect();
            Read { subscripts, span: Span::default(), ..read.clone() }
        };
        let read = bare(read);
        let same = |other: &&mut Occurrence| other.loops == loops && other.read == read;
        match self.found.iter_mut().find(same) {
            Some(other) => {
                let sum = std::mem::replace(&mut other.derivative, Node::Number(0.0));
                other.derivative = Node::binary(Op::Add, sum, derivative);
            }
            None => self.found.push(Occurrence { loops: loops.to_vec(), read, derivative }),
        }
    }
}
