//! Runs a statement: the value, the magnitude, the number of terms and the propagated error of every element at once.

use std::ops::Range;

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::evaluate::data::{Accumulators, TemporaryAxis, TensorData};
use crate::evaluate::nest::run_nest;
use crate::evaluate::nest_run::{NestRun, Slice, Wanted};
use crate::evaluate::parallel::{Parts, in_parallel, parts};
use crate::evaluate::slices::Slices;
use crate::lower::nest::{
    Array, Layout, LoopNest, LoweredContribution, LoweredProgram, LoweredRecurrence,
    LoweredStatement, Subscript, TensorId, row_major_strides,
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
    if let Some(recurrence) = &statement.recurrence {
        let elements = run_recurrence(lowered, statement, recurrence, tensors)?;
        return match element {
            None => Ok(elements),
            Some(coords) => Ok(vec![elements[layout.flat(coords)?]]),
        };
    }
    match element {
        Some(coords) => run_wanted(lowered, statement, tensors, Wanted::Element(coords), 1),
        None => match parts(lowered, statement) {
            Some(parts) => run_parts(lowered, statement, tensors, &parts),
            None => run_wanted(lowered, statement, tensors, Wanted::All, layout.len),
        },
    }
}

/// Computes some elements of a statement's target.
///
/// # Errors
/// Those of [`run_statement`].
fn run_wanted(
    lowered: &LoweredProgram,
    statement: &LoweredStatement,
    tensors: &[Option<TensorData<'_>>],
    wanted: Wanted<'_>,
    len: usize,
) -> Result<Vec<Approx>> {
    let mut target = Accumulators::new(len, Vec::new(), statement.compute_type);
    for contribution in &statement.contributions {
        run_contribution(lowered, contribution, tensors, wanted, &mut target)?;
    }
    stored(&target, &lowered.tensors[statement.target], statement.reduces())
}

/// Computes a statement part by part, on all cores.
///
/// # Errors
/// Those of [`run_statement`].
fn run_parts(
    lowered: &LoweredProgram,
    statement: &LoweredStatement,
    tensors: &[Option<TensorData<'_>>],
    parts: &Parts,
) -> Result<Vec<Approx>> {
    let Layout { shape, len, .. } = &lowered.tensors[statement.target];
    let Parts { axis, places } = parts;
    let (size, inner) = (shape[*axis], shape[axis + 1..].iter().product::<usize>());
    let outer = len / size / inner;
    let computed = in_parallel(places.len(), |part| {
        let Range { start: low, end: high } = places[part];
        let mut own = shape.clone();
        own[*axis] = high - low;
        let strides = row_major_strides(&own);
        let slice = Slice { axis: *axis, low: low as i64, high: high as i64, strides: &strides };
        let len = outer * (high - low) * inner;
        run_wanted(lowered, statement, tensors, Wanted::Slice(slice), len)
    });
    let nothing = Approx { value: 0.0, bound: 0.0, magnitude: 0.0, terms: 0 };
    let mut elements = vec![nothing; *len];
    for (part, places) in computed.into_iter().zip(places) {
        let run = (places.end - places.start) * inner;
        for (i, row) in part?.chunks(run).enumerate() {
            elements[(i * size + places.start) * inner..][..run].copy_from_slice(row);
        }
    }
    Ok(elements)
}

/// The elements that a kernel stores. `reduces` is that of [`store`].
///
/// # Errors
/// Data for which rounding decides a result.
fn stored(target: &Accumulators, layout: &Layout, reduces: bool) -> Result<Vec<Approx>> {
    let stored = (0..target.len()).map(|at| {
        let sum = target.sum(at);
        let value = if sum.terms == 0.0 { 0.0 } else { sum.value };
        let how = (target.correlated, reduces);
        store(RunningSum { value, ..sum }, &target.profile, how, layout.dtype)
    });
    let elements: Vec<Approx> = stored.collect();
    match target.ambiguity {
        Some(ambiguity) if elements.iter().any(|element| !element.bound.is_finite()) => {
            Err(ambiguous(&layout.name, ambiguity))
        }
        _ => Ok(elements),
    }
}

/// Computes a statement that reads its own target, slice by slice.
///
/// # Errors
/// Those of [`run_statement`].
fn run_recurrence(
    lowered: &LoweredProgram,
    statement: &LoweredStatement,
    recurrence: &LoweredRecurrence,
    tensors: &[Option<TensorData<'_>>],
) -> Result<Vec<Approx>> {
    let layout = &lowered.tensors[statement.target];
    let exact = |id: &TensorId| {
        *id == statement.target || tensors[*id].as_ref().is_some_and(TensorData::is_exact)
    };
    let propagated = recurrence.propagated.as_ref().filter(|_| statement.reads.iter().all(exact));
    let mut state = Slices::new(layout, recurrence, propagated.is_some());
    let mut tensors = tensors.to_vec();
    // Read in the place of errors, they leave the sizes of the factors alone.
    let scaled = recurrence.running.filter(|running| running.scaled);
    let units = vec![1.0; if scaled.is_some() { layout.len } else { 0 }];
    let count = layout.shape[recurrence.axis] as i64;
    for step in 0..count {
        let at = if recurrence.backwards { count - 1 - step } else { step };
        let strides = state.strides.clone();
        let slice = Slice { axis: recurrence.axis, low: at, high: at + 1, strides: &strides };
        let wanted = Wanted::Slice(slice);
        state.lend(&mut tensors, statement.target, recurrence.error);
        let mut target = Accumulators::new(state.len, Vec::new(), statement.compute_type);
        for contribution in statement.contributions.iter().filter(|c| reaches(c, slice)) {
            run_contribution(lowered, contribution, &tensors, wanted, &mut target)?;
        }
        for contribution in propagated.into_iter().flatten() {
            let mut errors = Accumulators::new(state.len, Vec::new(), DType::F64);
            run_contribution(lowered, contribution, &tensors, wanted, &mut errors)?;
            for (sum, error) in target.propagated.iter_mut().zip(&errors.value) {
                *sum += SECOND_ORDER * error.max(0.0);
            }
        }
        let errors = tensors[recurrence.error].replace(TensorData::units(&units));
        let mut factors = None;
        if scaled.is_some_and(|running| (running.first..=running.last).contains(&at)) {
            let mut sizes = Accumulators::new(state.len, Vec::new(), DType::F64);
            for contribution in recurrence.propagated.iter().flatten() {
                run_contribution(lowered, contribution, &tensors, wanted, &mut sizes)?;
            }
            factors = Some(sizes.value);
        }
        tensors[recurrence.error] = errors;
        state.take_back(&mut tensors, statement.target, recurrence.error);
        let mut elements = stored(&target, layout, true)?;
        let sums = (&target, factors.as_deref());
        state.allow_any_order(recurrence, at, sums, &mut elements, layout);
        state.put(at, &elements, layout, recurrence.axis);
    }
    Ok(state.elements)
}

/// Covers what the errors of earlier slices do to the roundings of this one.
const SECOND_ORDER: f64 = 1.001;

/// Whether a contribution can reach a slice: not where it goes to another fixed place.
fn reaches(contribution: &LoweredContribution, slice: Slice<'_>) -> bool {
    let goes_there = |nest: &LoopNest| match nest.target.array {
        Array::Temporary(_) => false,
        Array::Tensor(_) => match &nest.target.subscripts[slice.axis] {
            Subscript::Affine(affine) => !affine.terms.is_empty() || affine.constant == slice.low,
            _ => true,
        },
    };
    contribution.nests.iter().any(goes_there)
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
    wanted: Wanted<'_>,
    target: &mut Accumulators,
) -> Result<()> {
    let ranges = needed_ranges(lowered, contribution, wanted);
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
        let run = |wanted, temporaries, into: &mut Accumulators| {
            run_nest(
                &NestRun { lowered, nest, tensors, temporaries, ranges: &ranges, wanted },
                into,
            )
        };
        match nest.target.array {
            Array::Tensor(_) => run(wanted, &temporaries, target)?,
            Array::Temporary(id) => {
                // A temporary reads only those that were complete before it: the later ones.
                let none = Accumulators::new(0, Vec::new(), target.compute_type);
                let mut own = std::mem::replace(&mut temporaries[id], none);
                run(Wanted::All, &temporaries, &mut own)?;
                target.ambiguity = target.ambiguity.or(own.ambiguity);
                temporaries[id] = own;
            }
        }
    }
    Ok(())
}

/// The values of each index that matter for what is wanted: fewer, where the index is a subscript of the target.
fn needed_ranges(
    lowered: &LoweredProgram,
    contribution: &LoweredContribution,
    wanted: Wanted<'_>,
) -> Vec<Range<i64>> {
    let mut ranges: Vec<Range<i64>> = lowered.ranges.iter().map(|&range| 0..range).collect();
    let nests = contribution.nests.iter();
    for nest in nests.filter(|nest| matches!(nest.target.array, Array::Tensor(_))) {
        for (axis, subscript) in nest.target.subscripts.iter().enumerate() {
            let Some(some) = wanted.coordinates(axis) else { continue };
            if let Subscript::Affine(affine) = subscript
                && let [(id, 1)] = affine.terms.as_slice()
            {
                let Range { start, end } = ranges[*id];
                let low = (some.start - affine.constant).max(start);
                ranges[*id] = low..(some.end - affine.constant).min(end).max(low);
            }
        }
    }
    ranges
}
