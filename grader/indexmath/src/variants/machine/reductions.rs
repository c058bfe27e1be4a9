//! Reductions: their loops, and what is kept of them.

use super::{Point, Run};
use crate::syntax::operators::Reduction;
use crate::variants::code::{Code, Loop};
use crate::variants::inner::{self, Body, Line, Step};
use crate::variants::kept::{self, Kept};
use crate::variants::limits::{Limit, limits};
use crate::variants::value::{Sum, Value, binary, call, exact};

/// Loops of fewer iterations are not worth a look at what is in them.
const LONG: u64 = 8;

/// Reductions that are kept for all evaluations of a machine, at most.
const MOST_KEPT: usize = 1 << 18;

/// The loops of a reduction.
struct Nest<'c> {
    kind: Reduction,
    ranges: &'c [Loop],
    body: &'c Code,
    /// Where one of these does not hold, the body is 0, and nothing is read to know it.
    limits: Vec<Limit<'c>>,
    /// The body, if it is plain arithmetic.
    inner: Option<Body<'c>>,
}

/// How far a reduction has come.
struct Progress {
    sum: Sum,
    /// Where the extremum so far is, if that is asked for.
    position: Option<i64>,
    /// For each step of the inner body, where it leads in the loop under way, and its value if that is the same in all iterations.
    lines: Vec<Line>,
    constants: Vec<Option<Value>>,
}

impl Progress {
    fn add(&mut self, value: Value, at: i64) {
        if self.sum.add(value)
            && let Some(position) = &mut self.position
        {
            *position = at;
        }
    }
}

impl Run<'_, '_> {
    /// As [`Self::reduce`], which is asked once for what is kept. Whether it is kept makes no difference for the budget: a search ends where it
    /// would end if nothing were.
    pub(super) fn reduction(
        &mut self,
        code: &Code,
        kind: Reduction,
        ranges: &[Loop],
        body: &Code,
    ) -> Option<Value> {
        let machine = self.machine;
        let Some((key, is_right)) = self.key(code) else { return self.reduce(kind, ranges, body) };
        let known = if is_right {
            machine.reduced.borrow().get(&key).copied()
        } else {
            self.own_reduced.get(&key).copied()
        };
        if let Some((value, cost)) = known {
            let left = machine.budget.get().checked_sub(cost);
            machine.budget.set(left.unwrap_or(0));
            return left.map(|_| value);
        }
        let (budget, for_elements) = (machine.budget.get(), self.for_elements);
        let value = self.reduce(kind, ranges, body)?;
        // The elements are known the next time.
        let cost = budget - machine.budget.get() - (self.for_elements - for_elements);
        if !is_right {
            self.own_reduced.insert(key, (value, cost));
        } else if machine.reduced.borrow().len() < MOST_KEPT {
            machine.reduced.borrow_mut().insert(key, (value, cost));
        }
        Some(value)
    }

    /// Where the value of a reduction is kept, and whether for all evaluations of the machine; `None` if it is not kept.
    fn key(&self, code: &Code) -> Option<((usize, Point), bool)> {
        /// Bits for an index.
        const BITS: u32 = 18;
        let address = kept::address(code);
        let kept = self.kept.iter().find(|kept| kept.address == address)?;
        let Kept { number, ref free, is_right, .. } = *kept;
        // Whoever wants to know the inputs goes through each part once more.
        if self.inputs.is_some() || free.len() > (Point::BITS / BITS) as usize {
            return None;
        }
        let mut point = 0;
        for &index in free.iter() {
            let value = self.env[index].saturating_add(1 << (BITS - 1));
            let value = Point::try_from(value).ok().filter(|value| value >> BITS == 0)?;
            point = point << BITS | value;
        }
        Some(((number, point), is_right))
    }

    fn reduce(&mut self, kind: Reduction, ranges: &[Loop], body: &Code) -> Option<Value> {
        let position = if kind.gives_position() { Some(-1) } else { None };
        let (lines, constants) = (Vec::new(), Vec::new());
        let mut progress = Progress { sum: Sum::new(kind), position, lines, constants };
        let chooses = !matches!(kind, Reduction::Sum | Reduction::Prod);
        let limits = limits(kind, ranges, body, &|code| self.current(code));
        let sizes = ranges.iter().map(|range| range.constant_size().unwrap_or(LONG));
        let is_long = sizes.fold(1, u64::saturating_mul) >= LONG && self.inputs.is_none();
        let inner = is_long.then(|| Body::of(body, &|code| self.current(code))).flatten();
        let nest = Nest { kind, ranges, body, limits, inner };
        self.choosing(chooses, |run| run.nest(&nest, 0, 0, &mut progress))?;
        match progress.position {
            Some(position) => Some(exact(position as f64)),
            None => Some(progress.sum.finish()),
        }
    }

    fn nest(
        &mut self,
        nest: &Nest<'_>,
        depth: usize,
        at: i64,
        progress: &mut Progress,
    ) -> Option<()> {
        let Some(range) = nest.ranges.get(depth) else {
            self.spend(1)?;
            progress.add(self.value(nest.body, nest.kind)?, at);
            return Some(());
        };
        let (from, to) = (self.int(&range.from)?, self.int(&range.to)?);
        if let Some(body) = &nest.inner
            && depth + 1 == nest.ranges.len()
            && to.saturating_sub(from) > 1
        {
            return self.inner_loop(nest, (body, range), (from, to), at, progress);
        }
        for step in from..to {
            let index = if range.backwards { to - 1 - (step - from) } else { step };
            self.env[range.index] = index;
            let at = at.checked_mul(to)?.checked_add(index)?;
            let mut limits = nest.limits.iter().filter(|limit| limit.depth == depth);
            if let Some(limit) = limits.find(|limit| !limit.holds(&self.env)) {
                self.spend(limit.inside)?;
                progress.sum.add_zeros(limit.inside);
                continue;
            }
            self.nest(nest, depth + 1, at, progress)?;
        }
        Some(())
    }

    /// The innermost loop of a nest, over `from .. to`. It is faster than [`Self::value`] for each iteration, and what is left of the budget is
    /// the same.
    fn inner_loop(
        &mut self,
        nest: &Nest<'_>,
        (body, range): (&Body<'_>, &Loop),
        (from, to): (i64, i64),
        at: i64,
        progress: &mut Progress,
    ) -> Option<()> {
        let count = to - from;
        let (first, by) = if range.backwards { (to - 1, -1) } else { (from, 1) };
        self.env[range.index] = first;
        progress.lines.clear();
        for step in &body.steps {
            progress.lines.extend(Line::of(step, &self.env, (range.index, by), count));
        }
        let are_lines = progress.lines.len() == body.steps.len();
        progress.constants.clear();
        progress.constants.resize(body.steps.len(), None);
        for iteration in 0..count {
            let index = first + by * iteration;
            self.env[range.index] = index;
            let at = at.checked_mul(to)?.checked_add(index)?;
            let left = self.machine.budget.get().saturating_sub(1 + body.reads);
            let value = if are_lines && left > 0 {
                self.machine.budget.set(left);
                self.steps(nest.kind, body, progress, iteration)?
            } else {
                self.spend(1)?;
                self.value(nest.body, nest.kind)?
            };
            progress.add(value, at);
        }
        Some(())
    }

    /// The value of a body in an iteration, for which the budget has been reduced.
    #[inline]
    fn steps(
        &mut self,
        kind: Reduction,
        body: &Body<'_>,
        Progress { lines, constants, .. }: &mut Progress,
        iteration: i64,
    ) -> Option<Value> {
        let mut stack = [exact(0.0); inner::DEPTH];
        let mut top = 0;
        let mut left = body.reads;
        for ((step, line), constant) in body.steps.iter().zip(&*lines).zip(constants) {
            match *step {
                Step::Number(value) => {
                    stack[top] = exact(value);
                    top += 1;
                }
                Step::Int(_) => {
                    stack[top] = exact(line.at(iteration)? as f64);
                    top += 1;
                }
                Step::Read(read, _) => {
                    left -= 1;
                    let found = match (line.at(iteration), *constant) {
                        (None, _) => Some(exact(kind.identity())),
                        (_, Some(known)) => Some(known),
                        (Some(flat), None) => {
                            let flat = usize::try_from(flat).ok();
                            flat.and_then(|flat| self.fetch(read.tensor, flat))
                        }
                    };
                    let Some(value) = found else {
                        // What was not read costs nothing, unless the budget is spent.
                        let budget = &self.machine.budget;
                        budget.set(if budget.get() == 0 { 0 } else { budget.get() + left });
                        return None;
                    };
                    if line.is_constant() {
                        *constant = Some(value);
                    }
                    stack[top] = value;
                    top += 1;
                }
                Step::Neg => stack[top - 1].value = -stack[top - 1].value,
                Step::Binary(op) => {
                    top -= 1;
                    stack[top - 1] = binary(op, stack[top - 1], stack[top]);
                }
                Step::Call(function, 1) => {
                    stack[top - 1] = call(function, stack[top - 1], exact(0.0));
                }
                Step::Call(function, _) => {
                    top -= 1;
                    stack[top - 1] = call(function, stack[top - 1], stack[top]);
                }
            }
        }
        Some(stack[0])
    }

    /// Takes something off the budget; `None` if it is spent.
    fn spend(&self, reads: u64) -> Option<()> {
        let left = self.machine.budget.get().checked_sub(reads);
        self.machine.budget.set(left.unwrap_or(0));
        left.map(|_| ())
    }
}
