//! Iteration spaces: the iterations of a loop nest as a polyhedron, a box of indices cut by affine constraints, walked row by
//! row (the terms are those of the polyhedral model: Feautrier, "Some Efficient Solutions to the Affine Scheduling Problem",
//! International Journal of Parallel Programming 21, 1992).
//!
//! A walker keeps the values of some affine forms (addresses and the like) while it goes; a constraint
//! `low <= form <= high` cuts the range of every loop as early as it can, so that what a constraint
//! excludes costs nothing: a padded border, or all iterations that do not reach one element.

use std::ops::ControlFlow;

use crate::integer::affine::Affine;
use crate::program::node::IndexId;

/// An index and its values `low .. high`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loop {
    pub index: IndexId,
    pub low: i64,
    pub high: i64,
}

/// An affine form whose value the walker keeps.
#[derive(Debug)]
struct TrackedForm {
    constant: i64,
    /// For each loop: how the form grows from one iteration to the next.
    steps: Vec<i64>,
}

#[derive(Debug)]
struct Constraint {
    /// The position of the form that it bounds.
    form: usize,
    low: i64,
    high: i64,
    /// For each depth: what the loops from this depth on can add to the form, at least and at most.
    rest: Vec<(i64, i64)>,
}

/// A box of indices, the constraints that cut it, and the forms that are kept along the walk.
#[derive(Debug)]
pub(crate) struct IterationSpace {
    loops: Vec<Loop>,
    forms: Vec<TrackedForm>,
    constraints: Vec<Constraint>,
}

/// Consecutive values of the last loop; the others are fixed.
pub(crate) struct Row<'a> {
    /// The tracked forms at the first iteration of the row.
    values: &'a [i64],
    /// How each form grows from one iteration to the next.
    steps: &'a [i64],
    /// The values of the loops at the first iteration.
    pub at: &'a [i64],
    /// The number of iterations.
    pub count: usize,
}

impl Row<'_> {
    /// How a tracked form grows from one iteration to the next.
    pub(crate) fn step(&self, form: usize) -> i64 {
        self.steps[form]
    }

    /// The value of a tracked form, `iteration` after the first. Forms are kept modulo 2^64: an address may wrap on the way,
    /// and is correct where a constraint keeps its subscripts inside.
    #[inline]
    pub(crate) fn value(&self, form: usize, iteration: usize) -> i64 {
        self.values[form].wrapping_add(self.steps[form].wrapping_mul(iteration as i64))
    }
}

impl IterationSpace {
    pub(crate) fn new(loops: Vec<Loop>) -> Self {
        Self { loops, forms: Vec::new(), constraints: Vec::new() }
    }

    pub(crate) fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// Tracks the value of `affine`, whose indices are all loops. Gives its number for [`Row::value`].
    pub(crate) fn track(&mut self, affine: &Affine) -> usize {
        let steps = self.loops.iter().map(|l| affine.coefficient(l.index)).collect();
        self.forms.push(TrackedForm { constant: affine.constant, steps });
        self.forms.len() - 1
    }

    /// Leaves out all iterations where `affine` is outside `low ..= high`.
    pub(crate) fn constrain(&mut self, affine: &Affine, low: i64, high: i64) {
        let form = self.track(affine);
        let mut rest = vec![(0_i64, 0_i64)];
        for (l, step) in self.loops.iter().zip(&self.forms[form].steps).rev() {
            let (a, b) = (step * l.low, step * (l.high - 1));
            let (least, most) = rest[rest.len() - 1];
            rest.push((least + a.min(b), most + a.max(b)));
        }
        rest.reverse();
        self.constraints.push(Constraint { form, low, high, rest });
    }

    /// Visits all rows, in the order of the loops.
    pub(crate) fn rows(
        &self,
        visit: &mut impl FnMut(&Row<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if self.loops.iter().any(|l| l.low >= l.high) {
            return ControlFlow::Continue(());
        }
        let start: Vec<i64> = self.forms.iter().map(|form| form.constant).collect();
        let inside = |constraint: &Constraint| {
            let value = start[constraint.form];
            value + constraint.rest[0].1 >= constraint.low
                && value + constraint.rest[0].0 <= constraint.high
        };
        if !self.constraints.iter().all(inside) {
            return ControlFlow::Continue(());
        }
        // The values of the forms at each depth.
        let mut values = vec![start; self.loops.len() + 1];
        let mut at: Vec<i64> = self.loops.iter().map(|l| l.low).collect();
        let last = self.loops.len().saturating_sub(1);
        let steps: Vec<i64> =
            self.forms.iter().map(|form| form.steps.last().copied().unwrap_or(0)).collect();
        if self.loops.is_empty() {
            return visit(&Row { values: &values[0], steps: &steps, at: &at, count: 1 });
        }
        let mut walker = Walker { space: self, values: &mut values, at: &mut at, steps, last };
        walker.descend(0, visit)
    }

    /// The values of the loop at `depth` at which every constraint can still hold, given the forms' values there.
    fn clip(&self, depth: usize, values: &[i64]) -> (i64, i64) {
        let Loop { mut low, mut high, .. } = self.loops[depth];
        for constraint in &self.constraints {
            let step = self.forms[constraint.form].steps[depth];
            let (least, most) = constraint.rest[depth + 1];
            // need: constraint.low - most <= value + step * i <= constraint.high - least
            let bottom = constraint.low - most - values[constraint.form];
            let top = constraint.high - least - values[constraint.form];
            match step {
                0 if bottom > 0 || top < 0 => return (0, 0),
                0 => {}
                1.. => {
                    low = low.max(ceil_div(bottom, step));
                    high = high.min(top.div_euclid(step) + 1);
                }
                _ => {
                    low = low.max(ceil_div(-top, -step));
                    high = high.min((-bottom).div_euclid(-step) + 1);
                }
            }
        }
        (low, high)
    }
}

/// The quotient rounded up, for a positive divisor.
fn ceil_div(a: i64, b: i64) -> i64 {
    -((-a).div_euclid(b))
}

/// A walk over an iteration space.
struct Walker<'a> {
    space: &'a IterationSpace,
    /// The values of the forms at each depth.
    values: &'a mut [Vec<i64>],
    /// The values of the loops.
    at: &'a mut [i64],
    /// How each form grows along a row.
    steps: Vec<i64>,
    /// The depth of the last loop.
    last: usize,
}

impl Walker<'_> {
    fn descend(
        &mut self,
        depth: usize,
        visit: &mut impl FnMut(&Row<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (low, high) = self.space.clip(depth, &self.values[depth]);
        if low >= high {
            return ControlFlow::Continue(());
        }
        self.at[depth] = low;
        self.enter(depth, low);
        if depth == self.last {
            let count = (high - low) as usize;
            let values = &self.values[depth + 1];
            return visit(&Row { values, steps: &self.steps, at: self.at, count });
        }
        for i in low..high {
            self.at[depth] = i;
            self.enter(depth, i);
            self.descend(depth + 1, visit)?;
        }
        ControlFlow::Continue(())
    }

    /// Computes the forms' values below `depth`, where its loop is at `i`.
    fn enter(&mut self, depth: usize, i: i64) {
        let (outer, inner) = self.values.split_at_mut(depth + 1);
        let forms = self.space.forms.iter();
        for ((value, outer), form) in inner[0].iter_mut().zip(&outer[depth]).zip(forms) {
            *value = outer.wrapping_add(form.steps[depth].wrapping_mul(i));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn affine() -> impl Strategy<Value = Affine> {
        (-6_i64..7, prop::array::uniform3(-3_i64..4)).prop_map(|(constant, coefficients)| Affine {
            constant,
            terms: coefficients.into_iter().enumerate().filter(|(_, c)| *c != 0).collect(),
        })
    }

    fn at(affine: &Affine, point: &[i64]) -> i64 {
        affine.constant + affine.terms.iter().map(|(id, c)| c * point[*id]).sum::<i64>()
    }

    proptest! {
        #[test]
        fn walks_exactly_the_points_inside_the_limits(
            loops in prop::collection::vec((-2_i64..3, 0_i64..5), 3),
            order in Just([0, 1, 2]).prop_shuffle(),
            constraints in prop::collection::vec((affine(), -5_i64..6, 0_i64..6), 0..4),
            tracked in affine(),
        ) {
            let loops: Vec<Loop> = order
                .iter()
                .map(|&index| Loop { index, low: loops[index].0, high: loops[index].0 + loops[index].1 })
                .collect();
            let mut space = IterationSpace::new(loops.clone());
            let form = space.track(&tracked);
            for (affine, low, width) in &constraints {
                space.constrain(affine, *low, low + width);
            }
            let mut got = Vec::new();
            let _ = space.rows(&mut |row| {
                for lane in 0..row.count as i64 {
                    let mut point = vec![0; 3];
                    for (l, value) in loops.iter().zip(row.at) {
                        point[l.index] = *value;
                    }
                    point[loops[2].index] += lane;
                    assert_eq!(row.value(form, lane as usize), at(&tracked, &point));
                    got.push(point);
                }
                ControlFlow::Continue(())
            });
            let mut want = Vec::new();
            for a in loops[0].low..loops[0].high {
                for b in loops[1].low..loops[1].high {
                    for c in loops[2].low..loops[2].high {
                        let mut point = vec![0; 3];
                        point[loops[0].index] = a;
                        point[loops[1].index] = b;
                        point[loops[2].index] = c;
                        if constraints.iter().all(|(affine, low, width)| {
                            (*low..=low + width).contains(&at(affine, &point))
                        }) {
                            want.push(point);
                        }
                    }
                }
            }
            prop_assert_eq!(got, want);
        }
    }

    #[test]
    fn no_loops_are_one_point() {
        let mut space = IterationSpace::new(Vec::new());
        space.constrain(&Affine { constant: 3, terms: Vec::new() }, 0, 3);
        let mut count = 0;
        let _ = space.rows(&mut |row| {
            count += row.count;
            ControlFlow::Continue(())
        });
        assert_eq!(count, 1);
    }
}
