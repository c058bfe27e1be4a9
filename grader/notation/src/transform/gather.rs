//! Gather form: a scattered contribution `x[r] += body`, solved for its target: `x[h] = sum body`. A kernel in gather form has
//! one thread for each element that it writes, and needs no atomics (Kirk and Hwu, "Programming Massively Parallel
//! Processors", on scatter-to-gather transformation).
//!
//! Each axis gives one equation `h = r`. It is solved for an index that stands in it with the factor
//! 1 or -1, or for both indices of `s*a + p` where p runs over `0 .. s`: `a = div(h, s)`, `p = mod(h, s)`.
//! A solved index may then leave its range. That is allowed where a factor of the body is read at this very index: padded,
//! the read makes the product 0 there. What cannot be solved remains a condition:
//! `x[h] = sum[i] select(index(h) == index(r), body, 0)`.

use std::collections::BTreeMap;

use crate::integer::polynomial::same_size;
use crate::program::ir::{Assignment, Contribution, Program};
use crate::program::node::{Guard, IndexId, Node};
use crate::syntax::int_expr::{IntExpr, IntKind, IntOp, Read};
use crate::syntax::operators::{Condition, Connective, Function, Op, Reduction};

/// A contribution in gather form: for all values of the target's axes, the sum of `body` over `sum`.
#[derive(Clone, Debug)]
pub struct GatherForm {
    /// The indices that are still summed over.
    pub sum: Vec<IndexId>,
    pub body: Node,
}

/// Solves `contribution`, one of the tensor `target`, for the indices `axes`, one for each of the target's axes.
pub fn gather_form(
    program: &Program,
    target: &str,
    contribution: &Contribution,
    axes: &[IndexId],
) -> GatherForm {
    let of_target = |statement: &&Assignment| statement.target == target;
    let statement = program.statements.iter().find(of_target);
    let recurrence = statement.and_then(|statement| statement.recurrence.as_ref());
    let mut solver = Solver::new(program, contribution);
    solver.may_cut = recurrence.is_some();
    solver.solve_all(target, axes, true);
    if let Some(form) = solver.finish(axes) {
        return form;
    }
    // Some read cannot be moved outside its tensor: only indices that stay inside their ranges are solved for.
    let mut solver = Solver::new(program, contribution);
    solver.solve_all(target, axes, false);
    let body = contribution.body.clone();
    solver.finish(axes).unwrap_or(GatherForm { sum: contribution.loops.clone(), body })
}

/// The equations of one contribution, and what is solved of them.
struct Solver<'a> {
    program: &'a Program,
    contribution: &'a Contribution,
    /// Indices expressed in the target's axes and the remaining loops.
    solved: BTreeMap<IndexId, IntExpr>,
    /// Solved indices that can leave their range.
    guarded: Vec<IndexId>,
    /// The axes whose equation is not solved.
    open: Vec<usize>,
    /// Conditions under which solved indices are inside their ranges.
    cuts: Vec<Guard>,
    /// Whether solved indices may leave their ranges under such a condition: in a recurrence, whose steps are one less than
    /// its axis is long.
    may_cut: bool,
}

impl<'a> Solver<'a> {
    fn new(program: &'a Program, contribution: &'a Contribution) -> Self {
        Self {
            program,
            contribution,
            solved: BTreeMap::new(),
            guarded: Vec::new(),
            open: Vec::new(),
            cuts: Vec::new(),
            may_cut: false,
        }
    }

    /// Takes the range of an index that was solved for as a condition.
    fn cut(&mut self, id: IndexId, value: &IntExpr) {
        let range = self.program.indices[id].range.clone();
        self.cuts.push(Guard { left: value.clone(), right: range, strict: true });
    }

    /// Solves all equations that it can; with `may_leave`, also for indices that can leave their range.
    fn solve_all(&mut self, target: &str, axes: &[IndexId], may_leave: bool) {
        let shape = self.program.tensors.get(target).map(|tensor| &tensor.shape);
        let mut rest = Vec::new();
        for (axis, subscript) in self.contribution.subscripts.iter().enumerate() {
            let Some(id) = subscript.as_index().filter(|id| !self.solved.contains_key(id)) else {
                rest.push(axis);
                continue;
            };
            let range = &self.program.indices[id].range;
            let size = shape.and_then(|shape| shape.get(axis));
            let whole = size.is_some_and(|size| same_size(range, &size.int) == Some(true))
                || self.is_limited(id);
            let guarded = may_leave && self.has_guard(id);
            if !whole && !guarded && !self.may_cut {
                self.open.push(axis);
                continue;
            }
            let value = IntExpr::index(axes[axis]);
            if !whole && self.may_cut {
                self.cut(id, &value);
            } else if !whole {
                self.guarded.push(id);
            }
            self.solved.insert(id, value);
        }
        for axis in rest {
            let subscript = &self.contribution.subscripts[axis];
            if !may_leave || self.solve(subscript, axes[axis]).is_none() {
                self.open.push(axis);
            }
        }
    }

    /// The body in the new indices, under the conditions that are left; `None` if a read cannot be moved outside its tensor.
    fn finish(mut self, axes: &[IndexId]) -> Option<GatherForm> {
        let (guards, body) = self.contribution.body.without_guards();
        let mut body = self.rewrite(body, false)?;
        let guards = guards.iter().map(|guard| self.guard(guard));
        let mut guards = guards.collect::<Option<Vec<_>>>()?;
        guards.append(&mut self.cuts);
        self.open.sort_unstable();
        let mut all: Option<Condition<Node>> = None;
        for &axis in &self.open {
            let subscript = &self.contribution.subscripts[axis];
            if self.breaks(subscript) {
                return None;
            }
            let equal = Node::same_int(&IntExpr::index(axes[axis]), &self.substitute(subscript));
            all = Some(match all {
                Some(before) => Condition::join(Connective::And, before, equal),
                None => equal,
            });
        }
        if let Some(condition) = all {
            body = Node::select(condition, body, Node::Number(0.0));
        }
        let body = Node::guarded(guards, body);
        let loops = self.contribution.loops.iter().copied();
        Some(GatherForm { sum: loops.filter(|id| !self.solved.contains_key(id)).collect(), body })
    }

    /// Solves `axis = subscript` for one more index.
    fn solve(&mut self, subscript: &IntExpr, axis: IndexId) -> Option<()> {
        let subscript = self.substitute(subscript);
        let mut terms = Vec::new();
        flatten(&subscript, 1, &mut terms);
        for &id in &self.contribution.loops {
            if self.solved.contains_key(&id) || !self.has_guard(id) {
                continue;
            }
            let holds = |&&(_, term): &&(i64, &IntExpr)| term.indices().contains(&id);
            if terms.iter().filter(holds).count() != 1 {
                continue;
            }
            let found = terms.iter().position(|(_, term)| term.as_index() == Some(id));
            let Some((sign, _)) = found.map(|position| terms[position]) else { continue };
            let rest: Vec<(i64, &IntExpr)> =
                terms.iter().copied().filter(|(_, term)| term.as_index() != Some(id)).collect();
            let value = solution(axis, &rest, sign);
            self.guarded.push(id);
            self.record(id, &value);
            return Some(());
        }
        self.solve_blocks(&terms, axis)
    }

    /// Solves `axis = s*a + p + rest`, where p has the range s.
    fn solve_blocks(&mut self, terms: &[(i64, &IntExpr)], axis: IndexId) -> Option<()> {
        let unsolved =
            |id: &IndexId| self.contribution.loops.contains(id) && !self.solved.contains_key(id);
        let (block, (step, outer)) =
            terms.iter().enumerate().find_map(|(position, (sign, term))| {
                let (step, index) = scaled_index(term)?;
                (*sign == 1 && unsolved(&index) && self.has_guard(index))
                    .then_some((position, (step, index)))
            })?;
        let (remainder, inner) =
            terms.iter().enumerate().find_map(|(position, (sign, term))| {
                let index = term.as_index().filter(|id| *sign == 1 && unsolved(id))?;
                let range = &self.program.indices[index].range;
                (same_size(range, step) == Some(true)).then_some((position, index))
            })?;
        let others =
            terms.iter().enumerate().filter(|(other, _)| ![block, remainder].contains(other));
        let rest: Vec<(i64, &IntExpr)> = others.map(|(_, term)| *term).collect();
        let uses = |id: IndexId| rest.iter().any(|(_, term)| term.indices().contains(&id));
        if uses(outer) || uses(inner) || outer == inner {
            return None;
        }
        let value = solution(axis, &rest, 1);
        self.guarded.push(outer);
        self.record(outer, &IntExpr::binary(IntOp::Div, value.clone(), step.clone()));
        self.record(inner, &IntExpr::binary(IntOp::Mod, value, step.clone()));
        Some(())
    }

    /// Records a solution, also in the solutions that refer to this index.
    fn record(&mut self, id: IndexId, value: &IntExpr) {
        for other in self.solved.values_mut() {
            *other = replace(other, id, value);
        }
        self.solved.insert(id, value.clone());
    }

    /// Whether a guard, which remains in the new indices, keeps the index inside its range.
    fn is_limited(&self, id: IndexId) -> bool {
        let (guards, _) = self.contribution.body.without_guards();
        guards.iter().any(|guard| guard.left.as_index() == Some(id))
    }

    /// Whether some factor of the body is read at `id`, on an axis as long as its range, so that padding makes the body 0
    /// outside.
    fn has_guard(&self, id: IndexId) -> bool {
        let range = &self.program.indices[id].range;
        let mut factors = Vec::new();
        product_reads(self.contribution.body.without_guards().1, &mut factors);
        factors.iter().any(|read| {
            let shape = self.program.tensors.get(&read.tensor).map(|tensor| &tensor.shape);
            read.subscripts.iter().enumerate().any(|(axis, subscript)| {
                let size = shape.and_then(|shape| shape.get(axis));
                subscript.as_index() == Some(id)
                    && size.is_some_and(|size| same_size(&size.int, range) == Some(true))
            })
        })
    }

    fn substitute(&self, int: &IntExpr) -> IntExpr {
        int.map(&mut |leaf| {
            let solution = leaf.as_index().and_then(|id| self.solved.get(&id));
            solution.cloned().unwrap_or_else(|| leaf.clone())
        })
    }

    /// Whether an index that can leave its range stands in the expression.
    fn moves(&self, int: &IntExpr) -> bool {
        int.indices().iter().any(|id| self.guarded.contains(id))
    }

    /// Whether the expression has no value where some index leaves its range: an element's subscript cannot be padded, and a
    /// divisor could become 0, or a shift be by less than 0 places.
    fn breaks(&self, int: &IntExpr) -> bool {
        let partial = |op: IntOp| {
            use IntOp::{CeilDiv, Div, Mod, ShiftLeft, ShiftRight};
            matches!(op, Div | Mod | CeilDiv | ShiftLeft | ShiftRight)
        };
        match &int.kind {
            IntKind::Const(_) | IntKind::Name(_) | IntKind::Index(_) => false,
            IntKind::Element(read) => read.subscripts.iter().any(|int| self.moves(int)),
            IntKind::Neg(inner) => self.breaks(inner),
            IntKind::Binary(op, left, right) => {
                (partial(*op) && self.moves(right)) || self.breaks(left) || self.breaks(right)
            }
        }
    }

    /// A guard in the new indices.
    fn guard(&self, guard: &Guard) -> Option<Guard> {
        if self.breaks(&guard.left) || self.breaks(&guard.right) {
            return None;
        }
        let Guard { left, right, strict } = guard;
        Some(Guard { left: self.substitute(left), right: self.substitute(right), strict: *strict })
    }

    /// The node in the new indices. `fragile` says that an operation around it, such as a division, makes an infinity or NaN
    /// of the value that a padded read has outside; nothing must become padded there, and the answer is `None`.
    fn rewrite(&self, node: &Node, fragile: bool) -> Option<Node> {
        Some(match node {
            Node::Number(_) | Node::Size(..) => node.clone(),
            Node::Index(int) if self.breaks(int) => return None,
            Node::Index(int) => Node::Index(self.substitute(int)),
            Node::Neg(inner) => Node::negate(self.rewrite(inner, fragile)?),
            Node::Reduce(reduction, bound, body) => {
                // Outside there is no sum and no factor, but a maximum that is infinite; a position is always finite.
                let fragile = match reduction {
                    Reduction::Sum | Reduction::Prod => fragile,
                    Reduction::Max | Reduction::Min => true,
                    Reduction::ArgMax | Reduction::ArgMin => false,
                };
                let body = self.rewrite(body, fragile)?;
                Node::Reduce(*reduction, bound.clone(), Box::new(body))
            }
            Node::Where(guards, body) => {
                let guards = guards.iter().map(|guard| self.guard(guard));
                let guards = guards.collect::<Option<Vec<_>>>()?;
                Node::guarded(guards, self.rewrite(body, fragile)?)
            }
            Node::Binary(op, left, right) => Node::binary(
                *op,
                self.rewrite(left, fragile)?,
                self.rewrite(right, fragile || *op == Op::Div)?,
            ),
            Node::Call(function, values) => {
                let fragile =
                    fragile || matches!(function, Function::Log | Function::Rsqrt | Function::Pow);
                let values = values.iter().map(|value| self.rewrite(value, fragile));
                Node::Call(*function, values.collect::<Option<Vec<_>>>()?)
            }
            Node::Select(condition, yes, no) => {
                // Whatever is compared, both branches are numbers.
                let condition =
                    condition.try_map(&mut |value| self.rewrite(value, false).ok_or(())).ok()?;
                Node::select(condition, self.rewrite(yes, fragile)?, self.rewrite(no, fragile)?)
            }
            Node::Read(read) => {
                let moved = read.subscripts.iter().any(|int| self.moves(int));
                let stuck = read.subscripts.iter().any(|int| self.breaks(int));
                if stuck || (moved && fragile) {
                    return None;
                }
                let subscripts = read.subscripts.iter().map(|int| self.substitute(int)).collect();
                Node::Read(Read { subscripts, padded: read.padded || moved, ..read.clone() })
            }
        })
    }
}

/// Collects the reads that are factors of the whole node.
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

/// The factor `s` and the index `a` of `s*a` or `a*s`, where `s` is free of indices.
fn scaled_index(int: &IntExpr) -> Option<(&IntExpr, IndexId)> {
    let IntKind::Binary(IntOp::Mul, left, right) = &int.kind else { return None };
    let pair = |index: &IntExpr, step| index.as_index().map(|id| (step, id));
    let (step, id) = pair(right, left).or_else(|| pair(left, right))?;
    step.indices().is_empty().then_some((step, id))
}

/// Collects the summands with their signs.
fn flatten<'a>(int: &'a IntExpr, sign: i64, into: &mut Vec<(i64, &'a IntExpr)>) {
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

/// The solution `v` of `axis = sign·v + rest`.
fn solution(axis: IndexId, rest: &[(i64, &IntExpr)], sign: i64) -> IntExpr {
    // Positive summands first, so that no leading minus is needed where one is positive.
    let mut terms = vec![(sign, IntExpr::index(axis))];
    terms.extend(rest.iter().map(|(s, term)| (-s * sign, (*term).clone())));
    terms.sort_by_key(|(sign, _)| -sign);
    let mut terms = terms.into_iter();
    let Some((first_sign, first)) = terms.next() else { return IntExpr::index(axis) };
    let first = if first_sign < 0 { IntExpr::negate(first) } else { first };
    terms.fold(first, |sum, (sign, term)| {
        IntExpr::binary(if sign < 0 { IntOp::Sub } else { IntOp::Add }, sum, term)
    })
}

/// The expression with `by` in the place of the index `id`.
fn replace(int: &IntExpr, id: IndexId, by: &IntExpr) -> IntExpr {
    int.map(&mut |leaf| if leaf.as_index() == Some(id) { by.clone() } else { leaf.clone() })
}
