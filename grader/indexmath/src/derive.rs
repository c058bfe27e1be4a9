//! Reverse mode, statement by statement, last first.
//!
//! For `y[s] += body` over some loops, the cotangent of every read `x[r]` in `body` gets
//! `grad(x)[r] += grad(y)[s] · ∂body/∂x[r]` over the same loops and those of the sums around the
//! read. That holds for any subscripts; a padded read becomes a padded (guarded) target.

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{Op, Read};
use crate::error::{Error, Result};
use crate::ir::{Assign, Index, IndexId, Node, Part, Program, grad};
use crate::span::Span;

/// The program followed by its reverse pass.
pub(crate) fn differentiate(program: &Program) -> Result<Program> {
    let targets = program.statements.iter().map(|statement| statement.target.as_str());
    let reads = program.statements.iter().flat_map(|statement| reads_of(statement));
    if let Some(name) = targets.clone().chain(reads.clone()).find(|name| is_cotangent(name)) {
        let message = format!("a formula with `{name}` cannot be differentiated again");
        return Err(Error::new(Span::default(), message)
            .help("give the tensor a plain name, or state only the forward formula"));
    }
    let read: BTreeSet<&str> = reads.collect();
    let outputs: BTreeSet<&str> = targets.clone().filter(|name| !read.contains(name)).collect();

    let mut reverse = program.clone();
    let floats: Vec<String> = program
        .tensors
        .iter()
        .filter(|(name, tensor)| tensor.dtype.is_float() && !is_cotangent(name))
        .map(|(name, _)| name.clone())
        .collect();
    for name in &floats {
        let like = program.tensors[name].clone();
        reverse.tensors.insert(grad(name), like);
    }
    let mut pass = Pass { indices: &mut reverse.indices, program, parts: BTreeMap::new() };
    let mut statements = Vec::new();
    for statement in program.statements.iter().rev() {
        let target = &statement.target;
        if !program.tensors[target].dtype.is_float() {
            continue;
        }
        if !outputs.contains(target.as_str()) {
            let parts = pass.parts.remove(target).unwrap_or_default();
            statements.push(Assign { target: grad(target), parts });
        }
        for part in &statement.parts {
            let seed = Node::Read(Read {
                tensor: grad(target),
                subscripts: part.subscripts.clone(),
                padded: part.padded,
                span: Span::default(),
            });
            pass.walk(&part.body, seed, &part.loops);
        }
    }
    let assigned: BTreeSet<&str> = targets.collect();
    let inputs = floats.iter().filter(|name| !assigned.contains(name.as_str()));
    for name in inputs {
        let parts = pass.parts.remove(name).unwrap_or_default();
        statements.push(Assign { target: grad(name), parts });
    }
    reverse.statements.extend(statements);
    Ok(reverse)
}

fn reads_of(statement: &Assign) -> Vec<&str> {
    let mut names = Vec::new();
    for part in &statement.parts {
        part.body.reads(&mut |read| names.push(read.tensor.as_str()));
    }
    names
}

pub(crate) fn is_cotangent(name: &str) -> bool {
    name.starts_with("grad(")
}

struct Pass<'a> {
    indices: &'a mut Vec<Index>,
    program: &'a Program,
    /// Contributions to each tensor's cotangent so far.
    parts: BTreeMap<String, Vec<Part>>,
}

impl Pass<'_> {
    /// Adds what `node` passes on, where `seed` is the cotangent of `node`.
    fn walk(&mut self, node: &Node, seed: Node, loops: &[IndexId]) {
        match node {
            Node::Number(_) | Node::Size(..) => {}
            Node::Read(read) => self.contribute(read, seed, loops),
            Node::Neg(inner) => self.walk(inner, Node::Neg(Box::new(seed)), loops),
            Node::Sum(bound, body) => {
                let loops = [loops, bound.as_slice()].concat();
                self.walk(body, seed, &loops);
            }
            Node::Binary(op, left, right) => self.binary(*op, left, right, seed, loops),
        }
    }

    fn binary(&mut self, op: Op, left: &Node, right: &Node, seed: Node, loops: &[IndexId]) {
        match op {
            Op::Add => {
                self.walk(left, seed.clone(), loops);
                self.walk(right, seed, loops);
            }
            Op::Sub => {
                self.walk(left, seed.clone(), loops);
                self.walk(right, Node::Neg(Box::new(seed)), loops);
            }
            Op::Mul => {
                if self.has_reads(left) {
                    let factor = right.clone();
                    self.walk(left, Node::binary(Op::Mul, seed.clone(), factor), loops);
                }
                if self.has_reads(right) {
                    let factor = left.clone();
                    self.walk(right, Node::binary(Op::Mul, seed, factor), loops);
                }
            }
            Op::Div => {
                if self.has_reads(left) {
                    let divisor = right.clone();
                    self.walk(left, Node::binary(Op::Div, seed.clone(), divisor), loops);
                }
                if self.has_reads(right) {
                    // d(a/b) = -(a / (b·b)) db
                    // The copies end up inside the loops of `right`'s own sums.
                    let (dividend, b, c) = (left.clone(), self.fresh(right), self.fresh(right));
                    let square = Node::binary(Op::Mul, b, c);
                    let product = Node::binary(Op::Mul, seed, dividend);
                    let quotient = Node::binary(Op::Div, product, square);
                    self.walk(right, Node::Neg(Box::new(quotient)), loops);
                }
            }
        }
    }

    fn has_reads(&self, node: &Node) -> bool {
        let mut found = false;
        node.reads(&mut |read| found |= self.program.tensors[&read.tensor].dtype.is_float());
        found
    }

    fn contribute(&mut self, read: &Read, seed: Node, loops: &[IndexId]) {
        if !self.program.tensors[&read.tensor].dtype.is_float() {
            return;
        }
        self.parts.entry(read.tensor.clone()).or_default().push(Part {
            loops: loops.to_vec(),
            subscripts: read.subscripts.clone(),
            padded: read.padded,
            body: seed,
        });
    }

    /// A copy in which every sum has indices of its own.
    fn fresh(&mut self, node: &Node) -> Node {
        self.copy(node, &mut BTreeMap::new())
    }

    fn copy(&mut self, node: &Node, renamed: &mut BTreeMap<IndexId, IndexId>) -> Node {
        match node {
            Node::Number(_) | Node::Size(..) => node.clone(),
            Node::Read(read) => Node::Read(rename(read, renamed)),
            Node::Neg(inner) => Node::Neg(Box::new(self.copy(inner, renamed))),
            Node::Binary(op, left, right) => {
                Node::binary(*op, self.copy(left, renamed), self.copy(right, renamed))
            }
            Node::Sum(bound, body) => {
                let mut own = Vec::new();
                for &id in bound {
                    let new = self.indices.len();
                    let index = self.indices[id].clone();
                    self.indices.push(index);
                    renamed.insert(id, new);
                    own.push(new);
                }
                let body = self.copy(body, renamed);
                Node::Sum(own, Box::new(body))
            }
        }
    }
}

fn rename(read: &Read, renamed: &BTreeMap<IndexId, IndexId>) -> Read {
    let subscript = |int: &crate::ast::Int| {
        int.map(&mut |leaf| match leaf.as_index().and_then(|id| renamed.get(&id)) {
            Some(&new) => crate::ast::Int::new(crate::ast::IntKind::Index(new), leaf.span),
            None => leaf.clone(),
        })
    };
    Read { subscripts: read.subscripts.iter().map(subscript).collect(), ..read.clone() }
}
