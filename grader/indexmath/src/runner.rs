//! Runs one loop nest: in what order, and on which way.

use std::ops::ControlFlow;

use crate::address::{Address, all_affine, axes, flat};
use crate::affine::{Affine, Sub};
use crate::bound::FEW_TERMS;
use crate::error::Result;
use crate::exec::{Data, Sums};
use crate::facts::Facts;
use crate::ir::IndexId;
use crate::lower::{Access, Array, Lowered, Nest};
use crate::space::{Loop, Row, Space};

/// What starting a row costs, in iterations.
const ROW_COST: f64 = 30.0;

pub(crate) struct Runner<'a> {
    pub lowered: &'a Lowered,
    pub nest: &'a Nest,
    pub tensors: &'a [Option<Data<'a>>],
    pub ranges: &'a [(i64, i64)],
}

impl Runner<'_> {
    pub(crate) fn run(
        &self,
        target: &mut Sums,
        temporaries: &[Sums],
        element: Option<&[i64]>,
    ) -> Result<()> {
        let (facts, settlings) = self.facts(temporaries, target.work);
        let mut space = self.space();
        self.add_facts(target, facts);
        let flat = self.flat_target(&mut space, element);
        let exact = self.nest.reads.iter().all(|read| match read.array {
            Array::Tensor(id) => {
                self.tensors[id].as_ref().is_some_and(|data| data.errors.is_empty())
            }
            Array::Temporary(_) => false,
        });
        let affine = self.nest.reads.iter().all(|read| all_affine(read).is_some());
        if let (Some(factor), true, true, Address::Flat(to)) =
            (self.nest.product, exact, affine, &flat)
        {
            self.products(&mut space, factor, *to, target);
            Ok(())
        } else {
            self.general(&mut space, &flat, target, temporaries, element, &settlings)
        }
    }

    /// The loops, the best one for rows last.
    fn space(&self) -> Space {
        let bounds = |&index: &IndexId| {
            let (low, high) = self.ranges[index];
            Loop { index, low, high }
        };
        let mut loops: Vec<Loop> = self.nest.loops.iter().map(bounds).collect();
        let costs: Vec<f64> = loops.iter().map(|l| self.row_cost(l)).collect();
        let cheapest = (0..loops.len()).min_by(|&a, &b| costs[a].total_cmp(&costs[b]));
        if let Some(place) = cheapest {
            let inner = loops.remove(place);
            loops.push(inner);
        }
        Space::new(loops)
    }

    /// About what an iteration costs where rows run along `l`: a share of starting the row, and for each
    /// array how far apart its elements are.
    fn row_cost(&self, l: &Loop) -> f64 {
        let accesses = self.nest.reads.iter().chain([&self.nest.target]);
        let strides = accesses.filter_map(|access| {
            let affine = all_affine(access)?;
            Some(flat(&affine, &self.array_address(access).1).coefficient(l.index))
        });
        let spread: f64 = strides.map(|stride| stride.unsigned_abs().min(64) as f64).sum();
        ROW_COST / (l.high - l.low).max(1) as f64 + spread / 16.0
    }

    fn add_facts(&self, target: &mut Sums, facts: Facts) {
        // Terms of an element: exact for a temporary, the mean for a tensor.
        let count = |id: &IndexId| self.lowered.ranges[*id] as f64;
        let iterations: f64 = self.nest.loops.iter().map(count).product();
        let elements = match self.nest.target.array {
            Array::Tensor(id) => self.lowered.tensors[id].len as f64,
            Array::Temporary(_) => target.axes.iter().map(|(id, ..)| count(id)).product(),
        };
        let each = iterations / elements;
        let sum = &mut target.facts;
        sum.spread = sum.spread.min(facts.spread);
        sum.roundings = sum.roundings.max(facts.roundings);
        sum.grain = sum.grain.zip(facts.grain).map(|(a, b)| a.max(b));
        if let Some(contest) = &self.nest.contest {
            // One of the values, or a place; how irregular the winners are is not known.
            sum.spread = 0.0;
            sum.grain = if contest.reduction.is_place() { Some(0) } else { facts.grain };
            return;
        }
        let terms = each + facts.roundings;
        target.regular |= facts.is_regular(terms) && terms > FEW_TERMS;
        target.most_terms += each.max(1.0) * (facts.additions + 1.0);
    }

    pub(crate) fn array_address(&self, access: &Access) -> (Vec<i64>, Vec<i64>) {
        match access.array {
            Array::Tensor(id) => {
                let layout = &self.lowered.tensors[id];
                (layout.shape.iter().map(|&size| size as i64).collect(), layout.strides.clone())
            }
            Array::Temporary(_) => (Vec::new(), Vec::new()),
        }
    }

    /// The address of the target, with limits so that it is inside and is `element`.
    fn flat_target(&self, space: &mut Space, element: Option<&[i64]>) -> Address {
        let access = &self.nest.target;
        if let Array::Temporary(_) = access.array {
            // Its axes are known to the array itself.
            return Address::Axes(Vec::new());
        }
        let (shape, strides) = self.array_address(access);
        let subs = access.subs.iter().enumerate();
        for (axis, sub) in subs {
            if let Sub::Affine(affine) = sub {
                match element {
                    Some(element) => space.limit(affine, element[axis], element[axis]),
                    None if access.padded => space.limit(affine, 0, shape[axis] - 1),
                    None => {}
                }
            }
        }
        match (all_affine(access), element) {
            (Some(_), Some(_)) => Address::Flat(space.follow(&Affine::default())),
            (Some(affine), None) => Address::Flat(space.follow(&flat(&affine, &strides))),
            (None, _) => Address::Axes(axes(space, access, &self.lowered.tensors)),
        }
    }

    fn products(&self, space: &mut Space, factor: f64, to: usize, target: &mut Sums) {
        let mut factors: Vec<(usize, &[f64])> = Vec::new();
        for read in &self.nest.reads {
            let (Array::Tensor(id), Some(affine)) = (read.array, all_affine(read)) else { return };
            let Some(data) = &self.tensors[id] else { return };
            let (shape, strides) = self.array_address(read);
            if read.padded {
                for (affine, size) in affine.iter().zip(&shape) {
                    space.limit(affine, 0, size - 1);
                }
            }
            factors.push((space.follow(&flat(&affine, &strides)), &data.values));
        }
        let _ = space.rows(&mut |row| {
            let at = |form: usize, lane: usize| row.value(form, lane) as usize;
            match factors.as_slice() {
                [(f, a)] => accumulate(target, row, to, |l| factor * a[at(*f, l)]),
                [(f, a), (g, b)] => {
                    accumulate(target, row, to, |l| factor * a[at(*f, l)] * b[at(*g, l)]);
                }
                all => accumulate(target, row, to, |l| {
                    all.iter().fold(factor, |product, (f, a)| product * a[at(*f, l)])
                }),
            }
            ControlFlow::Continue(())
        });
    }
}

/// Adds `term(lane)` for a whole row.
#[inline]
fn accumulate(target: &mut Sums, row: &Row<'_>, to: usize, term: impl Fn(usize) -> f64) {
    if row.step(to) == 0 {
        let first = row.value(to, 0) as usize;
        let (mut value, mut magnitude) = (0.0, 0.0);
        for lane in 0..row.count {
            let term = term(lane);
            value += term;
            magnitude += term.abs();
        }
        target.value[first] += value;
        target.magnitude[first] += magnitude;
        target.terms[first] += row.count as f64;
    } else {
        for lane in 0..row.count {
            let at = row.value(to, lane) as usize;
            let term = term(lane);
            target.value[at] += term;
            target.magnitude[at] += term.abs();
            target.terms[at] += 1.0;
        }
    }
}
