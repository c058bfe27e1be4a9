//! Gather form: a scattered contribution `x[r] += body` solved for its target, `x[h] = sum body`.
//!
//! Each axis gives one equation `h = r`. It is solved for an index that stands in it with the factor
//! 1 or -1, or for both indices of `s*a + p` where p runs over `0 .. s`: `a = div(h, s)`, `p = mod(h, s)`.
//! A solved index may then leave its range; a factor of the body that is read at this very
//! index makes the product 0 there, once its read is padded. What cannot be solved stays a condition:
//! `x[h] = sum[i] select(index(h) == index(r), body, 0)`.

use std::collections::BTreeMap;

use crate::ast::{Int, IntKind, IntOp, Read};
use crate::ir::{IndexId, Node, Part, Program};
use crate::ops::{Cond, Func, Junction, Op, Reduction};
use crate::poly::same_size;
use crate::span::Span;

/// A contribution in gather form.
#[derive(Clone, Debug)]
pub(crate) struct Gathered {
    /// Indices that are still summed over.
    pub sum: Vec<IndexId>,
    pub body: Node,
}

/// Solves `part` of `target` for the indices `axes`, one for each axis.
pub(crate) fn gather(program: &Program, target: &str, part: &Part, axes: &[IndexId]) -> Gathered {
    let mut solver = Solver::new(program, part);
    solver.solve_all(target, axes, true);
    if let Some(gathered) = solver.finish(axes) {
        return gathered;
    }
    // Some read cannot be moved outside its tensor: only what stays inside is solved.
    let mut solver = Solver::new(program, part);
    solver.solve_all(target, axes, false);
    let body = part.body.clone();
    solver.finish(axes).unwrap_or(Gathered { sum: part.loops.clone(), body })
}

struct Solver<'a> {
    program: &'a Program,
    part: &'a Part,
    /// Indices expressed in the target's axes and the remaining loops.
    solved: BTreeMap<IndexId, Int>,
    /// Solved indices that can leave their range.
    guarded: Vec<IndexId>,
    /// Axes whose equation is not solved.
    open: Vec<usize>,
}

impl<'a> Solver<'a> {
    fn new(program: &'a Program, part: &'a Part) -> Self {
        Self { program, part, solved: BTreeMap::new(), guarded: Vec::new(), open: Vec::new() }
    }

    /// Solves what it can; with `moves`, also for indices that can leave their range.
    fn solve_all(&mut self, target: &str, axes: &[IndexId], moves: bool) {
        let shape = self.program.tensors.get(target).map(|tensor| &tensor.shape);
        let mut rest = Vec::new();
        for (axis, subscript) in self.part.subscripts.iter().enumerate() {
            let Some(id) = subscript.as_index().filter(|id| !self.solved.contains_key(id)) else {
                rest.push(axis);
                continue;
            };
            let range = &self.program.indices[id].range;
            let size = shape.and_then(|shape| shape.get(axis));
            let whole = size.is_some_and(|size| same_size(range, &size.int) == Some(true));
            let guarded = moves && self.has_guard(id);
            if !whole && !guarded {
                self.open.push(axis);
                continue;
            }
            self.solved.insert(id, Int::index(axes[axis]));
            if !whole {
                self.guarded.push(id);
            }
        }
        for axis in rest {
            let subscript = &self.part.subscripts[axis];
            if !moves || self.solve(subscript, axes[axis]).is_none() {
                self.open.push(axis);
            }
        }
    }

    /// The body in the new indices, under the conditions that are left. `None` if a read would have to move.
    fn finish(mut self, axes: &[IndexId]) -> Option<Gathered> {
        let mut body = self.rewrite(&self.part.body, false)?;
        self.open.sort_unstable();
        let mut all: Option<Cond<Node>> = None;
        for &axis in &self.open {
            let subscript = &self.part.subscripts[axis];
            if self.moves_element(subscript) {
                return None;
            }
            let equal = Node::same_int(Int::index(axes[axis]), self.substitute(subscript));
            all = Some(match all {
                Some(before) => Cond::join(Junction::And, before, equal),
                None => equal,
            });
        }
        if let Some(cond) = all {
            body = Node::select(cond, body, Node::Number(0.0));
        }
        let loops = self.part.loops.iter().copied();
        Some(Gathered { sum: loops.filter(|id| !self.solved.contains_key(id)).collect(), body })
    }

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

    /// Does an index that can leave its range stand in it?
    fn moves(&self, int: &Int) -> bool {
        int.indices().iter().any(|id| self.guarded.contains(id))
    }

    /// Does such an index stand in an element that is a subscript? It cannot be padded.
    fn moves_element(&self, int: &Int) -> bool {
        let mut found = false;
        int.elements(&mut |read| found |= read.subscripts.iter().any(|int| self.moves(int)));
        found
    }

    /// The body in the new indices. `fragile`: around the node is what makes an infinity or NaN of the
    /// value that a padded read has outside, as a division does; nothing must become padded there.
    fn rewrite(&self, node: &Node, fragile: bool) -> Option<Node> {
        Some(match node {
            Node::Number(_) | Node::Size(..) => node.clone(),
            Node::Index(int) if self.moves_element(int) => return None,
            Node::Index(int) => Node::Index(self.substitute(int)),
            Node::Neg(inner) => Node::negate(self.rewrite(inner, fragile)?),
            Node::Reduce(reduction, bound, body) => {
                // Outside there is no sum, but a maximum that is infinite; a place is always a number.
                let fragile = match reduction {
                    Reduction::Sum => fragile,
                    Reduction::Max | Reduction::Min => true,
                    Reduction::ArgMax | Reduction::ArgMin => false,
                };
                let body = self.rewrite(body, fragile)?;
                Node::Reduce(*reduction, bound.clone(), Box::new(body))
            }
            Node::Binary(op, left, right) => Node::binary(
                *op,
                self.rewrite(left, fragile)?,
                self.rewrite(right, fragile || *op == Op::Div)?,
            ),
            Node::Call(func, values) => {
                let fragile = fragile || matches!(func, Func::Log | Func::Rsqrt | Func::Pow);
                let values = values.iter().map(|value| self.rewrite(value, fragile));
                Node::Call(*func, values.collect::<Option<Vec<_>>>()?)
            }
            Node::Select(cond, yes, no) => {
                // Whatever is compared, both branches are numbers.
                let cond = cond.try_map(&mut |value| self.rewrite(value, false).ok_or(())).ok()?;
                Node::select(cond, self.rewrite(yes, fragile)?, self.rewrite(no, fragile)?)
            }
            Node::Read(read) => {
                let moved = read.subscripts.iter().any(|int| self.moves(int));
                let stuck = read.subscripts.iter().any(|int| self.moves_element(int));
                if stuck || (moved && fragile) {
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
        Node::Select(_, yes, no) if no.is_zero() => product_reads(yes, into),
        Node::Select(_, yes, no) if yes.is_zero() => product_reads(no, into),
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
