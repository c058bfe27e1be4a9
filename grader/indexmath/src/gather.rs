//! Gather form: a scattered contribution `x[r] += body` solved for its target, `x[h] = sum body`.
//!
//! Each axis gives one equation `h = r`. It is solved for an index that stands in it with the factor
//! 1 or -1, or for both indices of `s*a + p` where p runs over `0 .. s`: `a = div(h, s)`, `p = mod(h, s)`.
//! A solved index may then leave its range; a factor of the body that is read at this very
//! index makes the product 0 there, once its read is padded.

use std::collections::BTreeMap;

use crate::ast::{Int, IntKind, IntOp, Op, Read};
use crate::ir::{IndexId, Node, Part, Program};
use crate::poly::same_size;
use crate::span::Span;

/// A contribution in gather form.
#[derive(Clone, Debug)]
pub(crate) struct Gathered {
    /// Indices that are still summed over.
    pub sum: Vec<IndexId>,
    pub body: Node,
}

/// Solves `part` of `target` for the indices `axes`, one for each axis. `None`: not in this form.
pub(crate) fn gather(
    program: &Program,
    target: &str,
    part: &Part,
    axes: &[IndexId],
) -> Option<Gathered> {
    let shape = &program.tensors.get(target)?.shape;
    let mut solver = Solver { program, part, solved: BTreeMap::new(), guarded: Vec::new() };
    let mut open = Vec::new();
    for (axis, subscript) in part.subscripts.iter().enumerate() {
        match subscript.as_index().filter(|id| !solver.solved.contains_key(id)) {
            Some(id) => {
                solver.solved.insert(id, Int::index(axes[axis]));
                let range = &program.indices[id].range;
                if same_size(range, &shape[axis].int) != Some(true) {
                    solver.guard(id)?;
                }
            }
            None => open.push(axis),
        }
    }
    for axis in open {
        solver.solve(&part.subscripts[axis], axes[axis])?;
    }
    let sum = part.loops.iter().copied().filter(|id| !solver.solved.contains_key(id)).collect();
    Some(Gathered { sum, body: solver.rewrite(&part.body, false)? })
}

struct Solver<'a> {
    program: &'a Program,
    part: &'a Part,
    /// Indices expressed in the target's axes and the remaining loops.
    solved: BTreeMap<IndexId, Int>,
    /// Solved indices that can leave their range.
    guarded: Vec<IndexId>,
}

impl Solver<'_> {
    /// Solves `axis = subscript` for one more index.
    fn solve(&mut self, subscript: &Int, axis: IndexId) -> Option<()> {
        let subscript = self.substitute(subscript);
        let mut terms = Vec::new();
        flatten(&subscript, 1, &mut terms);
        for &id in &self.part.loops {
            if self.solved.contains_key(&id) || !self.has_guard(id) {
                continue;
            }
            let holds = |&&(_, term): &&(i64, &Int)| term.indices().contains(&id);
            if terms.iter().filter(holds).count() != 1 {
                continue;
            }
            let found = terms.iter().position(|(_, term)| term.as_index() == Some(id));
            let Some((sign, _)) = found.map(|place| terms[place]) else { continue };
            let rest: Vec<(i64, &Int)> =
                terms.iter().copied().filter(|(_, term)| term.as_index() != Some(id)).collect();
            let value = solution(axis, &rest, sign);
            self.guarded.push(id);
            self.settle(id, &value);
            return Some(());
        }
        self.solve_blocks(&terms, axis)
    }

    /// Solves `axis = s*a + p + rest`, where p has the range s.
    fn solve_blocks(&mut self, terms: &[(i64, &Int)], axis: IndexId) -> Option<()> {
        let open = |id: &IndexId| self.part.loops.contains(id) && !self.solved.contains_key(id);
        let (block, (step, outer)) =
            terms.iter().enumerate().find_map(|(place, (sign, term))| {
                let (step, index) = scaled_index(term)?;
                (*sign == 1 && open(&index) && self.has_guard(index))
                    .then_some((place, (step, index)))
            })?;
        let (place, inner) = terms.iter().enumerate().find_map(|(place, (sign, term))| {
            let index = term.as_index().filter(|id| *sign == 1 && open(id))?;
            let range = &self.program.indices[index].range;
            (same_size(range, step) == Some(true)).then_some((place, index))
        })?;
        let others = terms.iter().enumerate().filter(|(other, _)| ![block, place].contains(other));
        let rest: Vec<(i64, &Int)> = others.map(|(_, term)| *term).collect();
        let uses = |id: IndexId| rest.iter().any(|(_, term)| term.indices().contains(&id));
        if uses(outer) || uses(inner) || outer == inner {
            return None;
        }
        let value = solution(axis, &rest, 1);
        self.guarded.push(outer);
        self.settle(outer, &Int::binary(IntOp::Div, value.clone(), step.clone()));
        self.settle(inner, &Int::binary(IntOp::Mod, value, step.clone()));
        Some(())
    }

    /// Notes a solution; what was solved before in terms of this index follows.
    fn settle(&mut self, id: IndexId, value: &Int) {
        for other in self.solved.values_mut() {
            *other = replace(other, id, value);
        }
        self.solved.insert(id, value.clone());
    }

    fn guard(&mut self, id: IndexId) -> Option<()> {
        self.guarded.push(id);
        self.has_guard(id).then_some(())
    }

    /// Is some factor of the body read at `id`, on an axis as long as its range?
    fn has_guard(&self, id: IndexId) -> bool {
        let range = &self.program.indices[id].range;
        let mut factors = Vec::new();
        product_reads(&self.part.body, &mut factors);
        factors.iter().any(|read| {
            let shape = self.program.tensors.get(&read.tensor).map(|tensor| &tensor.shape);
            read.subscripts.iter().enumerate().any(|(axis, subscript)| {
                let size = shape.and_then(|shape| shape.get(axis));
                subscript.as_index() == Some(id)
                    && size.is_some_and(|size| same_size(&size.int, range) == Some(true))
            })
        })
    }

    fn substitute(&self, int: &Int) -> Int {
        int.map(&mut |leaf| {
            let solution = leaf.as_index().and_then(|id| self.solved.get(&id));
            solution.cloned().unwrap_or_else(|| leaf.clone())
        })
    }

    /// The body in the new indices. A divisor must not become padded: it would divide by 0.
    fn rewrite(&self, node: &Node, divisor: bool) -> Option<Node> {
        Some(match node {
            Node::Number(_) | Node::Size(..) => node.clone(),
            Node::Neg(inner) => Node::Neg(Box::new(self.rewrite(inner, divisor)?)),
            Node::Sum(bound, body) => {
                Node::Sum(bound.clone(), Box::new(self.rewrite(body, divisor)?))
            }
            Node::Binary(op, left, right) => Node::binary(
                *op,
                self.rewrite(left, divisor)?,
                self.rewrite(right, divisor || *op == Op::Div)?,
            ),
            Node::Read(read) => {
                let moved = read
                    .subscripts
                    .iter()
                    .any(|int| int.indices().iter().any(|id| self.guarded.contains(id)));
                if moved && divisor {
                    return None;
                }
                let subscripts = read.subscripts.iter().map(|int| self.substitute(int)).collect();
                Node::Read(Read { subscripts, padded: read.padded || moved, ..read.clone() })
            }
        })
    }
}

/// Reads that multiply the whole body.
fn product_reads<'a>(node: &'a Node, into: &mut Vec<&'a Read>) {
    match node {
        Node::Read(read) => into.push(read),
        Node::Neg(inner) => product_reads(inner, into),
        Node::Binary(Op::Mul, left, right) => {
            product_reads(left, into);
            product_reads(right, into);
        }
        Node::Binary(Op::Div, left, _) => product_reads(left, into),
        _ => {}
    }
}

/// `s` and `a` of `s*a` or `a*s`, where `s` is free of indices.
fn scaled_index(int: &Int) -> Option<(&Int, IndexId)> {
    let IntKind::Binary(IntOp::Mul, left, right) = &int.kind else { return None };
    let pair = |index: &Int, step| index.as_index().map(|id| (step, id));
    let (step, id) = pair(right, left).or_else(|| pair(left, right))?;
    step.indices().is_empty().then_some((step, id))
}

/// Summands with their signs.
fn flatten<'a>(int: &'a Int, sign: i64, into: &mut Vec<(i64, &'a Int)>) {
    match &int.kind {
        IntKind::Neg(inner) => flatten(inner, -sign, into),
        IntKind::Binary(IntOp::Add, left, right) => {
            flatten(left, sign, into);
            flatten(right, sign, into);
        }
        IntKind::Binary(IntOp::Sub, left, right) => {
            flatten(left, sign, into);
            flatten(right, -sign, into);
        }
        _ => into.push((sign, int)),
    }
}

/// `v` from `axis = sign·v + rest`.
fn solution(axis: IndexId, rest: &[(i64, &Int)], sign: i64) -> Int {
    // Positive summands first, so that no leading minus is needed where one is positive.
    let mut terms = vec![(sign, Int::index(axis))];
    terms.extend(rest.iter().map(|(s, term)| (-s * sign, (*term).clone())));
    terms.sort_by_key(|(sign, _)| -sign);
    let mut terms = terms.into_iter();
    let Some((first_sign, first)) = terms.next() else { return Int::index(axis) };
    let negated = |int: Int| Int::new(IntKind::Neg(Box::new(int)), Span::default());
    let first = if first_sign < 0 { negated(first) } else { first };
    terms.fold(first, |sum, (sign, term)| {
        Int::binary(if sign < 0 { IntOp::Sub } else { IntOp::Add }, sum, term)
    })
}

fn replace(int: &Int, id: IndexId, by: &Int) -> Int {
    int.map(&mut |leaf| if leaf.as_index() == Some(id) { by.clone() } else { leaf.clone() })
}
