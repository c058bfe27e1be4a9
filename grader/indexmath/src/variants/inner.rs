//! Innermost loops whose bodies are arithmetic on elements: the body as code for a stack machine, and where its reads lead as lines
//! along the loop.

use crate::program::node::IndexId;
use crate::syntax::operators::{Function, Op};
use crate::variants::code::{Code, Int, Linear, Read};

/// What the stack holds at most.
pub(super) const DEPTH: usize = 12;

/// The body of an innermost loop.
pub(super) struct Body<'c> {
    pub steps: Vec<Step<'c>>,
    /// How many of the steps read.
    pub reads: u64,
}

/// A step of the stack machine.
#[derive(Clone, Copy)]
pub(super) enum Step<'c> {
    Number(f64),
    Int(&'c Linear),
    Read(&'c Read, &'c Linear),
    Neg,
    Binary(Op),
    /// A function of one or two values.
    Call(Function, usize),
}

/// What a step needs in a loop: where a read leads, or the value of an integer.
#[derive(Clone, Copy)]
pub(super) struct Line {
    start: i64,
    step: i64,
    /// The iterations in which a read is inside of its checks: from the first to before the end.
    first: i64,
    end: i64,
}

impl<'c> Body<'c> {
    /// `None` if there is more in it than arithmetic on elements. `current` is what stands in the place of a code.
    pub(super) fn of(code: &'c Code, current: &dyn Fn(&'c Code) -> &'c Code) -> Option<Self> {
        let mut body = Self { steps: Vec::new(), reads: 0 };
        let depth = body.add(code, current)?;
        (depth <= DEPTH).then_some(body)
    }

    /// Adds the steps of a code. How deep the stack becomes.
    fn add(&mut self, code: &'c Code, current: &dyn Fn(&'c Code) -> &'c Code) -> Option<usize> {
        let (step, depth) = match current(code) {
            Code::Number(value) => (Step::Number(*value), 1),
            Code::Int(Int::Linear(linear)) => (Step::Int(linear), 1),
            Code::Read(read) => {
                let is_linear = |int: &Int| matches!(int, Int::Linear(_));
                let Int::Linear(address) = &read.address else { return None };
                if !read.checks.iter().all(|(subscript, ..)| is_linear(subscript)) {
                    return None;
                }
                self.reads += 1;
                (Step::Read(read, address), 1)
            }
            Code::Neg(inner) => (Step::Neg, self.add(inner, current)?),
            Code::Binary(op, left, right) => {
                let depth = self.add(left, current)?.max(self.add(right, current)? + 1);
                (Step::Binary(*op), depth)
            }
            Code::Call(function, values) => {
                let mut depth = 1;
                for (below, value) in values.iter().enumerate() {
                    depth = depth.max(self.add(value, current)? + below);
                }
                (Step::Call(*function, values.len()), depth)
            }
            Code::Int(_) | Code::Reduce(..) | Code::Select(..) => return None,
        };
        self.steps.push(step);
        Some(depth)
    }
}

impl Line {
    /// The line of a step in `count` iterations, of which the first has the indices `env`, and each next one adds `by` to `index`. `None`
    /// where the numbers are not small.
    pub(super) fn of(
        step: &Step<'_>,
        env: &[i64],
        (index, by): (IndexId, i64),
        count: i64,
    ) -> Option<Self> {
        /// Numbers up to here can be multiplied and added.
        const SMALL: i64 = 1 << 30;
        let small = |value: i64| (-SMALL..=SMALL).contains(&value).then_some(value);
        small(count)?;
        let along =
            |linear: &Linear| Some((small(linear.value(env))?, by * small(linear.factor(index))?));
        match step {
            Step::Int(linear) => {
                let (start, step) = along(linear)?;
                Some(Self { start, step, first: 0, end: count })
            }
            Step::Read(read, address) => {
                let (start, step) = along(address)?;
                let (mut first, mut end) = (0, count);
                for (subscript, low, high) in &read.checks {
                    let Int::Linear(subscript) = subscript else { return None };
                    let (start, step) = along(subscript)?;
                    let (below, above) = (low.saturating_sub(start), high.saturating_sub(start));
                    // The iterations i with below <= step * i <= above.
                    match step {
                        0 if below <= 0 && above >= 0 => {}
                        0 => end = 0,
                        1.. => {
                            first = first.max(below.saturating_add(step - 1).div_euclid(step));
                            end = end.min(above.div_euclid(step).saturating_add(1));
                        }
                        _ => {
                            let (below, above) = (above.saturating_neg(), below.saturating_neg());
                            let step = -step;
                            first = first.max(below.saturating_add(step - 1).div_euclid(step));
                            end = end.min(above.div_euclid(step).saturating_add(1));
                        }
                    }
                }
                Some(Self { start, step, first, end })
            }
            _ => Some(Self { start: 0, step: 0, first: 0, end: count }),
        }
    }

    /// Whether it is the same in all iterations.
    pub(super) fn is_constant(&self) -> bool {
        self.step == 0
    }

    /// The value of the linear form; `None` where a check does not let it through.
    #[inline]
    pub(super) fn at(&self, iteration: i64) -> Option<i64> {
        (self.first <= iteration && iteration < self.end)
            .then_some(self.start + self.step * iteration)
    }
}
