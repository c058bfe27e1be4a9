//! Which elements of intermediate tensors some elements of a result are computed from, for formulas of which all is too much.

use crate::evaluate::cost::iterations;
use crate::integer::interval::Interval;
use crate::lower::nest::{
    Access, Array, Layout, LoopNest, LoweredContribution, LoweredProgram, LoweredStatement,
    Subscript, TensorId, row_major_strides,
};
use crate::program::node::IndexId;
use std::collections::BTreeMap;

/// Elements of the target of a statement, by their row-major positions.
pub(crate) type Wanted<'a> = (&'a LoweredStatement, Vec<usize>);

/// A tensor of which a larger part than one in so many is asked for is computed as a whole.
const PART: usize = 8;

/// The elements of a tensor that are read.
#[derive(Clone, Debug, Default)]
pub(crate) enum Demand {
    #[default]
    Nothing,
    /// A mark for each element, and how many there are.
    Some(Vec<bool>, usize),
    All,
}

impl Demand {
    /// Adds the elements of a tensor within an interval on each axis.
    fn add(&mut self, layout: &Layout, part: &[Interval]) {
        let sizes: Vec<usize> =
            part.iter().map(|axis| (axis.high - axis.low + 1) as usize).collect();
        let size: usize = sizes.iter().product();
        if size > layout.len / PART {
            *self = Self::All;
        } else if matches!(self, Self::Nothing) {
            *self = Self::Some(vec![false; layout.len], 0);
        }
        let Self::Some(marks, count) = self else { return };
        let strides = row_major_strides(&sizes);
        for position in 0..size as i64 {
            let axes = part.iter().zip(&sizes).zip(strides.iter().zip(&layout.strides));
            let at = axes.map(|((axis, &size), (inner, outer))| {
                (axis.low + position / inner % size as i64) * outer
            });
            let mark = &mut marks[at.sum::<i64>() as usize];
            *count += usize::from(!std::mem::replace(mark, true));
        }
        if *count > layout.len / PART {
            *self = Self::All;
        }
    }
}

/// The positions of the marks.
pub(crate) fn marked(marks: &[bool]) -> Vec<usize> {
    (0..marks.len()).filter(|&at| marks[at]).collect()
}

/// What is read of each tensor for the elements that are wanted, through all statements that `runs` has. It may be more than
/// that, and never less.
pub(crate) fn demands(
    lowered: &LoweredProgram,
    runs: &[bool],
    wanted: &[Wanted<'_>],
) -> Vec<Demand> {
    let mut demands = vec![Demand::Nothing; lowered.tensors.len()];
    for (statement, flats) in wanted {
        demand(lowered, runs, statement, Some(flats), &mut demands);
    }
    for statement in lowered.statements.iter().rev().filter(|statement| runs[statement.target]) {
        let flats = match &demands[statement.target] {
            Demand::Nothing => continue,
            Demand::All => None,
            Demand::Some(marks, _) => Some(marked(marks)),
        };
        demand(lowered, runs, statement, flats.as_deref(), &mut demands);
    }
    demands
}

/// The iterations of a statement for so many elements of its target, about.
pub(crate) fn steps(lowered: &LoweredProgram, statement: &LoweredStatement, count: usize) -> u64 {
    let len = lowered.tensors[statement.target].len.max(1) as u64;
    let nests = statement.contributions.iter().flat_map(|contribution| &contribution.nests);
    let all = nests.map(|nest| iterations(lowered, &nest.loops)).fold(0, u64::saturating_add);
    (u128::from(all) * count as u128 / u128::from(len)).try_into().unwrap_or(u64::MAX)
}

/// Adds what a statement reads for some elements of its target; for all if there is no list.
fn demand(
    lowered: &LoweredProgram,
    runs: &[bool],
    statement: &LoweredStatement,
    flats: Option<&[usize]>,
    demands: &mut [Demand],
) {
    let whole = statement.recurrence.is_some() || statement.is_scattered_by_data();
    let Some(flats) = flats.filter(|_| !whole) else {
        let computed = statement.reads.iter().filter(|&&id| runs[id]);
        computed.for_each(|&id| demands[id] = Demand::All);
        return;
    };
    let layout = &lowered.tensors[statement.target];
    for &flat in flats {
        let coords = layout.coords(flat);
        for contribution in &statement.contributions {
            let known = fixed_in_all(contribution, &coords);
            for nest in &contribution.nests {
                let own = match nest.target.array {
                    Array::Tensor(_) => fixed(nest, &coords),
                    Array::Temporary(_) => known.clone(),
                };
                let range = |id: IndexId| match own.get(&id) {
                    Some(&at) => Interval { low: at, high: at },
                    None => Interval { low: 0, high: lowered.ranges[id] - 1 },
                };
                let guarded = nest.guards.iter().map(|guard| &guard.slack);
                let subscripts = guarded.chain(&nest.ints).chain(&nest.target.subscripts);
                subscripts.for_each(|it| add_subscript(lowered, runs, it, &range, demands));
                nest.reads.iter().for_each(|it| add_access(lowered, runs, it, &range, demands));
            }
        }
    }
}

/// The indices of a nest that the coordinates of its target's element decide.
fn fixed(nest: &LoopNest, coords: &[i64]) -> BTreeMap<IndexId, i64> {
    let decided = nest.target.subscripts.iter().zip(coords).filter_map(|(subscript, &at)| {
        let Subscript::Affine(affine) = subscript else { return None };
        match affine.terms[..] {
            [(id, 1)] => Some((id, at - affine.constant)),
            _ => None,
        }
    });
    decided.collect()
}

/// The indices that all nests which add to the target agree on: temporaries are computed for these values.
fn fixed_in_all(contribution: &LoweredContribution, coords: &[i64]) -> BTreeMap<IndexId, i64> {
    let to_tensor = |nest: &&LoopNest| matches!(nest.target.array, Array::Tensor(_));
    let mut all = contribution.nests.iter().filter(to_tensor).map(|nest| fixed(nest, coords));
    let mut agreed = all.next().unwrap_or_default();
    for other in all {
        agreed.retain(|id, at| other.get(id) == Some(at));
    }
    agreed
}

fn add_access(
    lowered: &LoweredProgram,
    runs: &[bool],
    access: &Access,
    range: &impl Fn(IndexId) -> Interval,
    demands: &mut [Demand],
) {
    access.subscripts.iter().for_each(|it| add_subscript(lowered, runs, it, range, demands));
    let Some(tensor) = computed(access, runs) else { return };
    let layout = &lowered.tensors[tensor];
    let axis = |(subscript, &size): (&Subscript, &usize)| {
        let bounds = match subscript {
            Subscript::Affine(affine) => Interval::of_affine(affine, range),
            Subscript::NonAffine(int) => Interval::of(int, range).ok(),
            Subscript::Indirect(_) => None,
        };
        let (low, high) = bounds.map_or((0, i64::MAX), |bounds| (bounds.low, bounds.high));
        Interval { low: low.max(0), high: high.min(size as i64 - 1) }
    };
    let part: Vec<Interval> = access.subscripts.iter().zip(&layout.shape).map(axis).collect();
    if part.iter().all(|axis| axis.low <= axis.high) {
        demands[tensor].add(layout, &part);
    }
}

/// Adds the elements inside of a subscript.
fn add_subscript(
    lowered: &LoweredProgram,
    runs: &[bool],
    subscript: &Subscript,
    range: &impl Fn(IndexId) -> Interval,
    demands: &mut [Demand],
) {
    let Subscript::Indirect(indirect) = subscript else { return };
    for element in &indirect.elements {
        add_access(lowered, runs, &element.access, range, demands);
    }
}

/// The tensor that an access reads, if a statement computes it.
fn computed(access: &Access, runs: &[bool]) -> Option<TensorId> {
    match access.array {
        Array::Tensor(tensor) if runs[tensor] => Some(tensor),
        Array::Tensor(_) | Array::Temporary(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::program::{compute, compute_parts};
    use crate::evaluate::statement::run_statement;
    use crate::lower::program::lower;
    use crate::{DType, Formula, TensorType};

    /// Compares elements of every gradient, computed from parts of the tensors on the way, with those from whole tensors.
    fn check(text: &str, types: &[(&str, &str)], dims: &[(&str, i64)]) {
        let types =
            types.iter().map(|(name, ty)| ((*name).to_owned(), TensorType::parse(ty).unwrap()));
        let types: BTreeMap<String, TensorType> = types.collect();
        let dims = dims.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
        let formula = Formula::parse(text, &types).unwrap().differentiate().unwrap();
        let lowered = lower(formula.at(&dims).unwrap().program(), &dims).unwrap();
        let value = |i: usize| ((i * 37 + 11) % 19) as f64 - 9.0;
        let inputs = lowered
            .tensors
            .iter()
            .enumerate()
            .filter(|(id, _)| lowered.statement_of(*id).is_none());
        let known = inputs.map(|(_, layout)| {
            let value =
                |i| if layout.dtype == DType::I32 { f64::from(i as u32 % 3) } else { value(i) };
            (layout.name.clone(), (0..layout.len).map(value).collect())
        });
        let known = known.collect();
        let mut partial = 0;
        for statement in &lowered.statements {
            let layout = &lowered.tensors[statement.target];
            let whole = compute(&lowered, &known, &[], &statement.reads).unwrap().data;
            for flat in [0, layout.len / 2, layout.len - 1] {
                let parts = compute_parts(&lowered, &known, &[(statement, vec![flat])]).unwrap();
                let coords = layout.coords(flat);
                let [a, b] = [&whole, &parts]
                    .map(|data| run_statement(&lowered, statement, data, Some(&coords)).unwrap());
                assert_eq!(a[0].value, b[0].value, "{} {coords:?}", layout.name);
                let runs: Vec<bool> = (0..lowered.tensors.len())
                    .map(|id| lowered.statement_of(id).is_some())
                    .collect();
                let all = demands(&lowered, &runs, &[(statement, vec![flat])]);
                partial += all.iter().filter(|one| matches!(one, Demand::Some(..))).count();
            }
        }
        assert!(partial > 0, "{text}: all tensors are needed as a whole");
    }

    #[test]
    fn elements_from_parts_of_tensors_are_those_from_whole_tensors() {
        check(
            "mean[b,h] = (sum[j] x[b,h,j]) / index(J)\n\
             d[b,h,j] = x[b,h,j] - mean[b,h]\n\
             r[b,h] = rsqrt((sum[j] d[b,h,j] * d[b,h,j]) / index(J) + 1)\n\
             n[b,h,j] = d[b,h,j] * r[b,h] * g[j]\n\
             y[b,h,o] = sum[j] n[b,h,j] * W[o,j]",
            &[
                ("x", "f32[B,H,J]"),
                ("mean", "f32[B,H]"),
                ("d", "f32[B,H,J]"),
                ("r", "f32[B,H]"),
                ("g", "f32[J]"),
                ("n", "f32[B,H,J]"),
                ("W", "f32[O,J]"),
                ("y", "f32[B,H,O]"),
            ],
            &[("B", 3), ("H", 7), ("J", 10), ("O", 9)],
        );
        // Windows with padding, strides, a maximum, a factor that is a sum, and indices from a tensor.
        check(
            "a[k,i] = sum[c,p < 3] x?[c,2*i+p-1] * w[k,c,p]\n\
             m[k,i] = max[p < 2] a[k,2*i+p]\n\
             t[k,i] = m[k,i] * (sum[j] m[k,j] * m[k,j])\n\
             y[i] = sum[k] t[k,div(i,2)] * v[place[i],k]",
            &[
                ("x", "f32[C,4*L]"),
                ("w", "f32[K,C,3]"),
                ("a", "f32[K,2*L]"),
                ("m", "f32[K,L]"),
                ("t", "f32[K,L]"),
                ("v", "f32[3,K]"),
                ("place", "i32[2*L]"),
                ("y", "f32[2*L]"),
            ],
            &[("C", 2), ("K", 11), ("L", 9)],
        );
    }
}
