//! Runs a statement: the value, the magnitude, the number of terms and the propagated error of every element at once.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::evaluate::data::{Accumulators, TemporaryAxis, TensorData};
use crate::evaluate::nest::run_nest;
use crate::evaluate::nest_run::NestRun;
use crate::lower::nest::{
    Array, LoweredContribution, LoweredProgram, LoweredStatement, Subscript, row_major_strides,
};
use crate::rounding::bound::{Approx, RunningSum, store};
use crate::rounding::enclosure::Ambiguity;

/// Computes all elements of a statement's target, row-major, or only the one at the coordinates `element`.
///
/// # Errors
/// Elements of integer tensors that lead a subscript outside, and data for which rounding decides a result.
pub(crate) fn run_statement(
    lowered: &LoweredProgram,
    statement: &LoweredStatement,
    tensors: &[Option<TensorData<'_>>],
    element: Option<&[i64]>,
) -> Result<Vec<Approx>> {
    let layout = &lowered.tensors[statement.target];
    let len = if element.is_some() { 1 } else { layout.len };
    let mut target = Accumulators::new(len, Vec::new(), statement.compute_type);
    for contribution in &statement.contributions {
        run_contribution(lowered, contribution, tensors, element, &mut target)?;
    }
    let stored = (0..len).map(|at| {
        let sum = target.sum(at);
        let value = if sum.terms == 0.0 { 0.0 } else { sum.value };
        store(RunningSum { value, ..sum }, &target.profile, target.correlated, layout.dtype)
    });
    let elements: Vec<Approx> = stored.collect();
    match target.ambiguity {
        Some(ambiguity) if elements.iter().any(|element| !element.bound.is_finite()) => {
            Err(ambiguous(&layout.name, ambiguity))
        }
        _ => Ok(elements),
    }
}

fn ambiguous(name: &str, Ambiguity { doubt }: Ambiguity) -> Error {
    Error::ambiguous(format!(
        "`{name}` compares values that are closer to each other than their rounding error ({doubt:.1e})"
    ))
    .help("use other data, or compare exact values: inputs, or small integers")
}

fn run_contribution(
    lowered: &LoweredProgram,
    contribution: &LoweredContribution,
    tensors: &[Option<TensorData<'_>>],
    element: Option<&[i64]>,
    target: &mut Accumulators,
) -> Result<()> {
    let ranges = needed_ranges(lowered, contribution, element);
    let mut temporaries: Vec<Accumulators> = Vec::new();
    for axes in &contribution.temporaries {
        let shape: Vec<usize> =
            axes.iter().map(|&id| (ranges[id].end - ranges[id].start) as usize).collect();
        let axes = axes.iter().zip(row_major_strides(&shape));
        let axes =
            axes.map(|(&index, stride)| TemporaryAxis { index, low: ranges[index].start, stride });
        let len = shape.iter().product();
        temporaries.push(Accumulators::new(len, axes.collect(), target.compute_type));
    }
    for nest in &contribution.nests {
        let run = |element, temporaries, into: &mut Accumulators| {
            run_nest(
                &NestRun { lowered, nest, tensors, temporaries, ranges: &ranges, element },
                into,
            )
        };
        match nest.target.array {
            Array::Tensor(_) => run(element, &temporaries, target)?,
            Array::Temporary(id) => {
                // A temporary reads only those that were complete before it: the later ones.
                let none = Accumulators::new(0, Vec::new(), target.compute_type);
                let mut own = std::mem::replace(&mut temporaries[id], none);
                run(None, &temporaries, &mut own)?;
                target.ambiguity = target.ambiguity.or(own.ambiguity);
                temporaries[id] = own;
            }
        }
    }
    Ok(())
}

/// The values of each index that matter for `element`: a single one, where the index is a subscript of the target.
fn needed_ranges(
    lowered: &LoweredProgram,
    contribution: &LoweredContribution,
    element: Option<&[i64]>,
) -> Vec<Range<i64>> {
    let mut ranges: Vec<Range<i64>> = lowered.ranges.iter().map(|&range| 0..range).collect();
    let Some(element) = element else { return ranges };
    let nests = contribution.nests.iter();
    for nest in nests.filter(|nest| matches!(nest.target.array, Array::Tensor(_))) {
        for (subscript, &coordinate) in nest.target.subscripts.iter().zip(element) {
            if let Subscript::Affine(affine) = subscript
                && let [(id, 1)] = affine.terms.as_slice()
            {
                let at = coordinate - affine.constant;
                let Range { start, end } = ranges[*id];
                ranges[*id] = at.max(start)..(at + 1).min(end).max(at.max(start));
            }
        }
    }
    ranges
}
