//! Estimates the work of an evaluation before it starts.

use crate::lower::nest::LoweredProgram;
use crate::program::node::IndexId;

/// An upper bound on the work of an evaluation. The numbers saturate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The number of iterations of all loops.
    pub steps: u64,
    /// The number of elements of all intermediate results, those of sums inside of products among them.
    pub elements: u64,
    /// The number of iterations of kernels that look for the terms of each element among all, where data choose the elements.
    pub gathered: u64,
}

/// The number of iterations of `loops`.
pub(crate) fn iterations(lowered: &LoweredProgram, loops: &[IndexId]) -> u64 {
    let ranges = loops.iter().map(|&index| lowered.ranges[index] as u64);
    ranges.fold(1_u64, u64::saturating_mul)
}

/// The cost of computing the tensors `wanted`; names that the formula does not know cost nothing.
pub(crate) fn cost(lowered: &LoweredProgram, wanted: &[&str]) -> Cost {
    let mut needed = vec![false; lowered.tensors.len()];
    for name in wanted {
        if let Some(&id) = lowered.by_name.get(*name) {
            needed[id] = true;
        }
    }
    let product = |loops: &[IndexId]| iterations(lowered, loops);
    let mut cost = Cost { steps: 0, elements: 0, gathered: 0 };
    for statement in lowered.statements.iter().rev() {
        if !needed[statement.target] {
            continue;
        }
        for &id in &statement.reads {
            needed[id] = true;
        }
        let target = lowered.tensors[statement.target].len as u64;
        cost.elements = cost.elements.saturating_add(target);
        for contribution in &statement.contributions {
            for nest in &contribution.nests {
                let steps = product(&nest.loops);
                cost.steps = cost.steps.saturating_add(steps);
                if statement.is_scattered_by_data() {
                    cost.gathered = cost.gathered.saturating_add(steps.saturating_mul(target));
                }
            }
            for axes in &contribution.temporaries {
                cost.elements = cost.elements.saturating_add(product(axes));
            }
        }
    }
    cost
}
