//! Compares what a run left in the tensors of a case with what is expected.

use super::cause::{self, Alike};
use super::{compare, require};
use crate::verdict::{Cause, Largest, TensorDiff, TestVerdict};
use device::backend::{Run, RunTensor};
use device::finding::{Element, Finding, Problem};
use puzzle::case::{Case, CaseLaunch, CaseTensor, Role, last_launch_with};
use puzzle::comparison::{are_correct, first_change};
use puzzle::tensor::Tensor;

/// Compares every element of every output with what is expected, and every input with what it was.
///
/// What contradicts the case itself (a tensor missing from the run or of another length) becomes a finding, so that it
/// can never pass. What the patterns of the errors show is added by [`with_causes`]: of most cases that are run, only whether they pass is asked.
pub fn judge(case: &Case, run: &Run) -> TestVerdict {
    let (mut findings, mut diffs) = judge_tensors(&case.tensors, &case.launches, run);
    // What comes of a run with mistakes is no result.
    if findings.is_empty() && diffs.is_empty() {
        findings = require::unmet(case, run);
    }
    let mut notes = run.notes.clone();
    if findings.is_empty() && diffs.is_empty() {
        notes.extend(run.unused_reads.first().map(of_unused_read));
    } else {
        findings.extend(run.unused_reads.iter().cloned());
    }
    if findings.iter().any(|finding| finding.problem.ends_the_run()) {
        diffs.clear();
    }
    let mut diffs = causes_first(case, diffs);
    let correct = correct_sources(case, &diffs);
    if let Some(first) = diffs.first_mut() {
        first.correct_sources = correct;
    }
    TestVerdict {
        test: case.test.clone(),
        about: case.about.clone(),
        dims: case.dims.clone(),
        used_dims: case.used_dims.clone(),
        seed: case.seed,
        time: run.time,
        printed: run.printed.clone(),
        notes,
        findings,
        diffs,
        cases: 1,
        smallest: None,
        largest: if case.options.differences { largest(&case.tensors, run) } else { Vec::new() },
    }
}

/// Adds to the verdict on a run what the pattern of the errors in each output shows.
pub fn with_causes(mut verdict: TestVerdict, case: &Case, run: &Run) -> TestVerdict {
    for diff in &mut verdict.diffs {
        let name = &diff.tensor.name;
        let is_it = |given: &CaseTensor| given.wanted().is_some_and(|(t, _)| t.name == *name);
        let Some(at) = case.tensors.iter().position(is_it) else { continue };
        diff.cause = run.tensors.get(at).and_then(|got| likely_cause(case, at, diff, got));
    }
    name_exchanged(&case.tensors, run, &mut verdict.diffs);
    verdict
}

/// What the pattern of the errors of `diff` shows, which is that of the tensor at `at`.
fn likely_cause(case: &Case, at: usize, diff: &TensorDiff, got: &RunTensor) -> Option<Cause> {
    let tensors = &case.tensors;
    let CaseTensor { tensor, .. } = &tensors[at];
    let (wanted, expected) = tensors[at].wanted()?;
    let launch = last_launch_with(&case.launches, at);
    // Only in a row of threads one block has the first elements. Host code has no threads of its own, and one thread no block.
    let is_row =
        |l: &&CaseLaunch| l.block[0] > 1 && l.block[1..] == [1, 1] && l.grid[1..] == [1, 1];
    let vectors: Vec<(&str, &[f64])> = tensors.iter().filter_map(vector).collect();
    let same_shape = || tensors.iter().filter(|other| other.tensor.shape == tensor.shape);
    let alike: Vec<Alike> = same_shape()
        .filter_map(|other| {
            let Tensor { name, dtype, .. } = &other.tensor;
            Some(Alike { name, dtype: *dtype, values: other.start()? })
        })
        .collect();
    // Whole numbers alone are compared with one value.
    let others: Vec<(Tensor, Vec<f64>)> = same_shape()
        .filter_map(|other| {
            let (other, expected) = other.wanted()?;
            let is_other = other.name != wanted.name && !other.dtype.is_float();
            let values = expected.iter().map(|element| element.value);
            is_other.then(|| (other, values.collect()))
        })
        .collect();
    let outputs: Vec<Alike> = others
        .iter()
        .map(|(Tensor { name, dtype, .. }, values)| Alike { name, dtype: *dtype, values })
        .collect();
    let rows = tensor.shape.first().copied().unwrap_or(0);
    let columns: Vec<(String, Vec<f64>)> =
        tensors.iter().flat_map(|other| columns(other, rows)).collect();
    cause::likely(&cause::View {
        shape: &wanted.shape,
        dtype: wanted.dtype,
        expected,
        got: &got.values,
        written: &got.written,
        wrong: &diff.wrong,
        start: tensors[at].start(),
        block: launch.filter(is_row).map_or(0, |l| l.block[0] as usize),
        vectors: &vectors,
        alike: &alike,
        outputs: &outputs,
        columns: &columns,
    })
}

/// What is worth knowing of a read whose value no result depends on.
fn of_unused_read(read: &Finding) -> String {
    let place = read.line.as_ref().map(|line| format!("line {}: ", line.line)).unwrap_or_default();
    format!("{place}a read of memory that nothing has written; no result depends on it")
}

/// The wrong outputs, none before one that the formula computes it from: a wrong mean makes all that follows from it wrong.
fn causes_first(case: &Case, diffs: Vec<TensorDiff>) -> Vec<TensorDiff> {
    let mut ordered: Vec<TensorDiff> = Vec::new();
    let mut left = diffs;
    while !left.is_empty() {
        let from_wrong = |diff: &TensorDiff| {
            let sources = case.formula.sources(&diff.tensor.name);
            left.iter().any(|other| {
                other.tensor.name != diff.tensor.name && sources.contains(&other.tensor.name)
            })
        };
        let first = left.iter().position(|diff| !from_wrong(diff)).unwrap_or(0);
        ordered.push(left.remove(first));
    }
    ordered
}

/// With fewer wrong elements than this two outputs hold each other's values by chance.
const MIN_EXCHANGED: usize = 2;

/// Says of two wrong outputs which hold each other's values that each does.
fn name_exchanged(tensors: &[CaseTensor], run: &Run, diffs: &mut [TensorDiff]) {
    let of = |diff: &TensorDiff| {
        tensors.iter().zip(&run.tensors).find_map(|(given, got)| {
            let (tensor, expected) = given.wanted()?;
            (tensor.name == diff.tensor.name).then_some((expected, got))
        })
    };
    let holds = |diff: &TensorDiff, other: &TensorDiff| {
        of(diff).zip(of(other)).is_some_and(|((_, got), (expected, _))| {
            expected.len() == got.values.len() && are_correct(expected, &got.values, &got.written)
        })
    };
    let is_exchanged = |a: &TensorDiff, b: &TensorDiff| {
        let is_told = a.tensor.shape == b.tensor.shape && a.wrong_count >= MIN_EXCHANGED;
        is_told && holds(a, b) && holds(b, a)
    };
    let all = 0..diffs.len();
    let pairs = all.clone().flat_map(|a| all.clone().map(move |b| (a, b)));
    let found = pairs.filter(|&(a, b)| a != b && is_exchanged(&diffs[a], &diffs[b]));
    let found: Vec<(usize, String)> =
        found.map(|(a, b)| (a, diffs[b].tensor.name.clone())).collect();
    for (a, tensor) in found {
        diffs[a].cause = Some(Cause::ExchangedWith { tensor });
    }
}

/// The outputs that the formula computes the first wrong one from, without those that come before others of them. None if one of
/// them is wrong, too.
fn correct_sources(case: &Case, diffs: &[TensorDiff]) -> Vec<String> {
    let Some(first) = diffs.first().map(|diff| &diff.tensor.name) else { return Vec::new() };
    let sources = case.formula.sources(first);
    let is_source = |name: &String| name != first && sources.contains(name);
    if diffs.iter().any(|diff| is_source(&diff.tensor.name)) {
        return Vec::new();
    }
    let outputs = case.tensors.iter().filter_map(|tensor| Some(tensor.wanted()?.0.name));
    let outputs: Vec<String> = outputs.filter(is_source).collect();
    let comes_before = |name: &&String| {
        outputs.iter().any(|other| other != *name && case.formula.sources(other).contains(*name))
    };
    outputs.iter().filter(|name| !comes_before(name)).cloned().collect()
}

/// For each output, the element that is farthest off. One that is NaN is farther than any number.
fn largest(tensors: &[CaseTensor], run: &Run) -> Vec<Largest> {
    let one = |(tensor, got): (&CaseTensor, &RunTensor)| {
        let (tensor, expected) = tensor.wanted()?;
        let whole =
            got.values.len() == expected.len() && got.written.iter().all(|&written| written);
        let off = |flat: usize| match (got.values[flat], expected[flat].value) {
            (got, expected) if got == expected || got.is_nan() && expected.is_nan() => 0.0,
            (got, expected) => (got - expected).abs(),
        };
        let farther = |&a: &usize, &b: &usize| {
            let (a, b) = (off(a), off(b));
            a.is_nan().cmp(&b.is_nan()).then(a.total_cmp(&b))
        };
        // Of equal ones the first.
        let flat = (0..expected.len()).filter(|_| whole).rev().max_by(farther)?;
        Some(Largest { tensor, flat, off: off(flat), allowed: expected[flat].bound })
    };
    tensors.iter().zip(&run.tensors).filter_map(one).collect()
}

fn judge_tensors(
    tensors: &[CaseTensor],
    launches: &[CaseLaunch],
    run: &Run,
) -> (Vec<Finding>, Vec<TensorDiff>) {
    let mut findings = run.findings.clone();
    let mut diffs = Vec::new();
    let mut compared = 0;
    if run.tensors.len() != tensors.len() {
        findings.push(contradiction(
            launches,
            format!(
                "the run returned {} tensors, but the case has {}",
                run.tensors.len(),
                tensors.len()
            ),
        ));
    }
    let missing = RunTensor { values: Vec::new(), written: Vec::new() };
    for (index, case_tensor) in tensors.iter().enumerate() {
        let CaseTensor { tensor, role } = case_tensor;
        let got = run.tensors.get(index).unwrap_or(&missing);
        let expected_length = match role {
            Role::Input(values) => values.len(),
            Role::Output(expected) | Role::InPlace { expected, .. } => expected.len(),
            Role::Result | Role::Workspace => tensor.len(),
        };
        let start_length = case_tensor.start().map_or(tensor.len(), <[f64]>::len);
        let lengths = [expected_length, start_length, got.values.len(), got.written.len()];
        if lengths != [tensor.len(); 4] {
            let message = format!(
                "`{}` has {} elements, but {expected_length} expected values, and {} values with {} flags came back",
                tensor.name,
                tensor.len(),
                got.values.len(),
                got.written.len()
            );
            findings.push(contradiction(launches, message));
            continue;
        }
        // Another tensor is in its memory since.
        if launches.iter().any(|launch| launch.moves_in.iter().any(|pair| pair.1 == index)) {
            continue;
        }
        let launch = last_launch_with(launches, index);
        if let Some((wanted, expected)) = case_tensor.wanted() {
            compared += expected.len();
            if are_correct(expected, &got.values, &got.written) {
                continue;
            }
            diffs.extend(compare::diff(&wanted, expected, got));
        } else if matches!(role, Role::Result) {
            compared += got.written.len();
            findings.extend(require::unwritten(tensor, got, launch));
        } else if let Some(before) = case_tensor.start()
            && let Some(flat) = first_change(before, &got.values)
            && !has_write_finding(&findings, &tensor.name)
        {
            findings.push(changed(tensor, flat, launch));
        }
    }
    if compared == 0 && findings.is_empty() {
        findings.push(contradiction(launches, "there is no output element to compare".into()));
    }
    (findings, diffs)
}

/// An input of whole numbers with one element, or a few, for each of so many first coordinates: each of them by itself.
fn columns(given: &CaseTensor, rows: usize) -> Vec<(String, Vec<f64>)> {
    let Tensor { name, dtype, shape } = &given.tensor;
    let (Role::Input(values), false) = (&given.role, dtype.is_float()) else { return Vec::new() };
    let column = |at: usize, of: usize| values.iter().skip(at).step_by(of).copied().collect();
    match shape[..] {
        [first] if first == rows => vec![(format!("{name}[*]"), values.clone())],
        [first, of @ 1..=MOST_COLUMNS] if first == rows => {
            (0..of).map(|at| (format!("{name}[*, {at}]"), column(at, of))).collect()
        }
        _ => Vec::new(),
    }
}

/// Elements for a first coordinate of which each is looked at by itself.
const MOST_COLUMNS: usize = 4;

/// Name and values of an input with one axis.
fn vector(given: &CaseTensor) -> Option<(&str, &[f64])> {
    match &given.role {
        Role::Input(values) if given.tensor.shape == [values.len()] => {
            Some((&given.tensor.name, values))
        }
        _ => None,
    }
}

fn has_write_finding(findings: &[Finding], tensor: &str) -> bool {
    findings.iter().any(|finding| finding.problem.written_input() == Some(tensor))
}

fn changed(tensor: &Tensor, flat: usize, launch: Option<&CaseLaunch>) -> Finding {
    let place = Element::of(tensor, flat as i64);
    Finding::of_kernel(Problem::InputChanged { place }, launch.map_or("", |l| &l.kernel))
}

fn contradiction(launches: &[CaseLaunch], message: String) -> Finding {
    Finding::of_kernel(Problem::Grader { message }, launches.last().map_or("", |l| &l.kernel))
}

#[cfg(test)]
mod tests;
