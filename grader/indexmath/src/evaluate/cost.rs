//! Estimates the work of an evaluation before it starts.

use crate::lower::nest::{Array, LoweredProgram, LoweredStatement};
use crate::program::node::IndexId;

/// An upper bound on the work of an evaluation. The numbers saturate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The number of iterations of all loops.
    pub steps: u64,
    /// The number of elements of all intermediate results, those of sums inside of products among them.
    pub elements: u64,
}

/// The number of iterations of `loops`.
pub(crate) fn iterations(lowered: &LoweredProgram, loops: &[IndexId]) -> u64 {
    let ranges = loops.iter().map(|&index| lowered.ranges[index] as u64);
    ranges.fold(1_u64, u64::saturating_mul)
}

/// The cost of computing the tensors `wanted`; names that the formula does not know cost nothing.
pub(crate) fn cost(lowered: &LoweredProgram, wanted: &[&str]) -> Cost {
    let mut cost = Cost { steps: 0, elements: 0 };
    for statement in needed(lowered, wanted) {
        let target = lowered.tensors[statement.target].len as u64;
        cost.elements = cost.elements.saturating_add(target);
        for contribution in &statement.contributions {
            for nest in &contribution.nests {
                cost.steps = cost.steps.saturating_add(iterations(lowered, &nest.loops));
            }
            for axes in &contribution.temporaries {
                cost.elements = cost.elements.saturating_add(iterations(lowered, axes));
            }
        }
    }
    cost
}

/// The number of iterations of kernels that look for the terms of each element of the tensors `wanted`, where the formula adds terms to
/// elements that data or several indices choose, `x[o + k]`. Of several indices a kernel runs through all but one, such as those of
/// a filter and not those of an output: the longest one is left out whose range is not a size of its own.
pub(crate) fn gather_steps(
    lowered: &LoweredProgram,
    wanted: &[&str],
    is_size: &dyn Fn(i64) -> bool,
) -> u64 {
    let mut all: u64 = 0;
    for statement in needed(lowered, wanted) {
        let target = lowered.tensors[statement.target].len as u64;
        let nests = statement.contributions.iter().flat_map(|contribution| &contribution.nests);
        for nest in nests.filter(|nest| matches!(nest.target.array, Array::Tensor(_))) {
            let mut loops = nest.loops.clone();
            if let Some(axes) = nest.target.affine_subscripts() {
                if axes.iter().all(|axis| axis.terms.len() <= 1) {
                    continue;
                }
                for axis in axes {
                    let indices = axis.terms.iter().map(|(index, _)| *index);
                    // An output may be as long as some size by chance; then the longer index is meant.
                    let order = |index: &IndexId| {
                        let range = lowered.ranges[*index];
                        if is_size(range) { (false, -range) } else { (true, range) }
                    };
                    let left_out = indices.max_by_key(order);
                    loops.retain(|index| Some(*index) != left_out);
                }
            }
            let steps = iterations(lowered, &loops).saturating_mul(target);
            all = all.saturating_add(steps);
        }
    }
    all
}

/// The statements that compute the tensors `wanted`, the last one first.
fn needed<'l>(lowered: &'l LoweredProgram, wanted: &[&str]) -> Vec<&'l LoweredStatement> {
    let mut needed = vec![false; lowered.tensors.len()];
    for id in wanted.iter().filter_map(|name| lowered.by_name.get(*name)) {
        needed[*id] = true;
    }
    let mut statements = Vec::new();
    for statement in lowered.statements.iter().rev() {
        if !needed[statement.target] {
            continue;
        }
        for &id in &statement.reads {
            needed[id] = true;
        }
        statements.push(statement);
    }
    statements
}
