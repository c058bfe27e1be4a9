//! How far is host code right? The steps of the formula are looked for in the memory that its launches are given and store. The first
//! step that is nowhere, though what it follows from is there, is where the code goes wrong.

use crate::call_args;
use crate::verdict::{HostSteps, StoringCall};
use device::host::{LaunchArg, TracedArg, TracedBuffer, TracedLaunch};
use indexmath::Approx;
use puzzle::case::{Case, CaseTensor};
use puzzle::comparison::is_within_bound;
use std::collections::BTreeSet;
use std::ops::Range;

/// A named step of the formula, or an input.
struct Step {
    name: String,
    /// What it is computed from, directly or not.
    sources: BTreeSet<String>,
    /// Elements for each first coordinate: samples come in batches.
    row: usize,
    values: Vec<Approx>,
    /// Which first coordinates were seen in memory.
    seen: Vec<bool>,
}

/// How far the launches of host code are right, on the way to the output `name`. `None` if nothing is known of it.
pub(crate) fn explain(case: &Case, launches: &[TracedLaunch], name: &str) -> Option<HostSteps> {
    let steps = steps(case, name)?;
    follow(&case.tensors, steps, launches, name)
}

/// The steps from which an output is computed, each behind its sources, with the inputs that have many values.
fn steps(case: &Case, name: &str) -> Option<Vec<Step>> {
    let known = case.known_for(name);
    let mut names: Vec<String> = case.formula.sources(name).into_iter().collect();
    names.push(name.to_owned());
    names.sort_by_key(|name| case.formula.sources(name).len());
    let computed: Vec<&str> =
        names.iter().filter(|name| !known.contains_key(*name)).map(String::as_str).collect();
    let mut computed = case.formula.evaluate(&known, &computed).ok()?;
    let exact = |&value: &f64| Approx { value, bound: 0.0, magnitude: value.abs(), terms: 1 };
    let step = |step: String| {
        let values = computed
            .remove(&step)
            .or_else(|| Some(known.get(&step)?.iter().map(exact).collect()))?;
        let rows = case.formula.shape(&step)?.first().copied().unwrap_or(1).max(1);
        let row = values.len() / rows;
        let sources = case.formula.sources(&step);
        let seen = vec![false; rows];
        is_telling(&values).then_some(Step { name: step, sources, row, values, seen })
    };
    Some(names.into_iter().filter_map(step).collect())
}

/// Different values that are not 0: of fewer, memory holds the same by chance.
const LEAST_DIFFERENT: usize = 3;

fn is_telling(values: &[Approx]) -> bool {
    let mut seen: Vec<u64> = Vec::new();
    for Approx { value, .. } in values {
        if *value != 0.0 && value.is_finite() && !seen.contains(&value.to_bits()) {
            seen.push(value.to_bits());
        }
        if seen.len() == LEAST_DIFFERENT {
            return true;
        }
    }
    false
}

impl Step {
    /// The first coordinates whose values a buffer begins with: the longest such run.
    fn rows_in(&self, buffer: &[f32]) -> Range<usize> {
        let is_row = |at: usize, row: usize| {
            let expected = &self.values[row * self.row..(row + 1) * self.row];
            let got = buffer.get(at * self.row..(at + 1) * self.row);
            // Memory is seen as floats, and the formula has whole numbers, such as indices, too.
            let of: [fn(f32) -> f64; 2] =
                [f64::from, |bits| f64::from(bits.to_bits().cast_signed())];
            got.is_some_and(|got| {
                let holds = |read: fn(f32) -> f64| {
                    got.iter().zip(expected).all(|(&got, e)| is_within_bound(read(got), e))
                };
                of.into_iter().any(holds)
            })
        };
        let run = |first: usize| {
            let rows = self.seen.len() - first;
            first..first + (0..rows).take_while(|&at| is_row(at, first + at)).count()
        };
        let telling = |rows: &Range<usize>| {
            is_telling(&self.values[rows.start * self.row..rows.end * self.row])
        };
        let runs = (0..self.seen.len()).map(run).filter(telling);
        runs.rev().max_by_key(Range::len).unwrap_or(0..0)
    }

    fn is_seen(&self) -> bool {
        !self.seen.contains(&false)
    }
}

/// A launch with the steps that its buffers hold.
struct Labelled<'a> {
    launch: &'a TracedLaunch,
    /// By argument; `None` for one that is no buffer.
    buffers: Vec<Option<Labels<'a>>>,
}

/// The steps that a buffer holds before and after a launch, by their places among all.
#[derive(Clone, Copy)]
struct Labels<'a> {
    buffer: &'a TracedBuffer,
    before: Option<usize>,
    after: Option<usize>,
}

impl Labelled<'_> {
    /// The buffers among the arguments.
    fn buffers(&self) -> impl Iterator<Item = Labels<'_>> {
        self.buffers.iter().flatten().copied()
    }
}

fn follow(
    tensors: &[CaseTensor],
    mut steps: Vec<Step>,
    launches: &[TracedLaunch],
    name: &str,
) -> Option<HostSteps> {
    let mut labelled = Vec::new();
    for launch in launches {
        let labels = launch.args.iter().map(|arg| {
            let TracedArg::Buffer(buffer) = arg else { return None };
            let before = label(&mut steps, &buffer.before);
            let after = if buffer.is_changed() { label(&mut steps, &buffer.after) } else { before };
            Some(Labels { buffer, before, after })
        });
        let buffers = labels.collect();
        labelled.push(Labelled { launch, buffers });
    }
    // What is computed from a step that is seen nowhere shows that it was right, too.
    let is_right = |step: &Step| {
        let shows = |other: &Step| other.is_seen() && other.sources.contains(&step.name);
        step.is_seen() || steps.iter().any(shows)
    };
    let is_computed = |step: &Step| !step.sources.is_empty();
    let missing = steps.iter().find(|step| is_computed(step) && !is_right(step))?;
    let is_source = |step: &&Step| is_computed(step) && missing.sources.contains(&step.name);
    let sources: Vec<&Step> = steps.iter().filter(is_source).collect();
    if !sources.iter().all(|step| is_right(step)) {
        return None;
    }
    // Those that stand in memory, without those that come before others of them.
    let seen: Vec<&Step> = sources.into_iter().filter(|step| step.is_seen()).collect();
    let comes_before = |step: &Step| seen.iter().any(|other| other.sources.contains(&step.name));
    let last: Vec<&Step> = seen.iter().copied().filter(|step| !comes_before(step)).collect();
    if last.is_empty() {
        return None;
    }
    let holds = |label: Option<usize>| {
        label.is_some_and(|at| last.iter().any(|step| step.name == steps[at].name))
    };
    let stores_more = |all: &&Labelled<'_>| {
        all.buffers().any(|labels| labels.buffer.is_changed() && labels.after.is_none())
    };
    let is_given = |all: &&Labelled<'_>| all.buffers().any(|labels| holds(labels.before));
    // Where all of what it follows from is there.
    let stores_last = |all: &Labelled<'_>| {
        all.buffers().any(|labels| labels.before != labels.after && holds(labels.after))
    };
    let there = labelled.iter().rposition(stores_last).map_or(0, |at| at + 1);
    let later = || labelled[there..].iter().filter(stores_more);
    let next = later().find(is_given).or_else(|| later().next());
    let call = next.map(|next| call(tensors, &steps, next));
    let rows = missing.seen.iter().filter(|seen| **seen).count();
    Some(HostSteps {
        right: last.iter().map(|step| step.name.clone()).collect(),
        missing: missing.name.clone(),
        is_output: missing.name == name,
        part: (rows > 0).then_some((rows, missing.seen.len())),
        next: call,
    })
}

/// The step that a buffer holds, which is seen from now on.
fn label(steps: &mut [Step], buffer: &[f32]) -> Option<usize> {
    let rows = steps.iter().map(|step| step.rows_in(buffer));
    let elements = |(at, rows): &(usize, Range<usize>)| rows.len() * steps[*at].row;
    let found = rows.enumerate().filter(|(_, rows)| !rows.is_empty());
    let (at, rows) = found.max_by_key(elements)?;
    steps[at].seen[rows].fill(true);
    Some(at)
}

/// The launch with the names of what it is given.
fn call(tensors: &[CaseTensor], steps: &[Step], all: &Labelled<'_>) -> StoringCall {
    let arg = |(arg, labels): (&TracedArg, &Option<Labels<'_>>)| match (arg, labels) {
        (_, Some(Labels { before: Some(before), .. })) => call_args::named(&steps[*before].name),
        (TracedArg::Buffer(buffer), _) if !buffer.is_changed() => call_args::begins(&buffer.before),
        (TracedArg::Buffer(_), _) => call_args::arg(tensors, &LaunchArg::Other),
        (TracedArg::Other(arg), _) => call_args::arg(tensors, arg),
    };
    let args = all.launch.args.iter().zip(&all.buffers).map(arg).collect();
    StoringCall::Kernel(all.launch.kernel.clone(), args)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::CallArg;
    use std::rc::Rc;

    fn step(name: &str, sources: &[&str], values: &[f64], rows: usize) -> Step {
        let approx = |&value: &f64| Approx { value, bound: 0.0, magnitude: value, terms: 1 };
        Step {
            name: name.into(),
            sources: sources.iter().map(|&source| source.into()).collect(),
            row: values.len() / rows,
            values: values.iter().map(approx).collect(),
            seen: vec![false; rows],
        }
    }

    fn steps() -> Vec<Step> {
        vec![
            step("x", &[], &[1.0, 2.0, 3.0, 4.0], 2),
            step("a", &["x"], &[5.0, 6.0, 7.0, 9.0, 10.0, 11.0], 2),
            step("b", &["a", "x"], &[12.0, 13.0, 14.0, 15.0], 2),
            step("c", &["a", "b", "x"], &[17.0], 1),
        ]
    }

    /// A launch that reads a buffer, and changes another.
    fn launch(kernel: &str, read: &[f32], stored: &[f32]) -> TracedLaunch {
        let read: Rc<[f32]> = read.into();
        let of = |before: &Rc<[f32]>, after: Rc<[f32]>| {
            TracedArg::Buffer(TracedBuffer { address: 64, before: Rc::clone(before), after })
        };
        let args = vec![
            of(&read, Rc::clone(&read)),
            of(&vec![0.0; stored.len()].into(), stored.into()),
            TracedArg::Other(LaunchArg::Number(2.0)),
        ];
        TracedLaunch { kernel: kernel.into(), args }
    }

    fn found(launches: &[TracedLaunch]) -> Option<HostSteps> {
        follow(&[], steps(), launches, "c")
    }

    const X: [f32; 4] = [1.0, 2.0, 3.0, 4.0];
    const A: [f32; 6] = [5.0, 6.0, 7.0, 9.0, 10.0, 11.0];

    #[test]
    fn the_first_step_that_is_nowhere_and_the_launch_that_is_given_its_source() {
        let launches = [
            launch("first", &X, &A),
            launch("other", &[8.0; 3], &[9.0; 4]),
            launch("second", &A, &[12.0, 13.0, 14.0, 16.0]),
        ];
        let steps = found(&launches).unwrap();
        assert_eq!((&steps.right[..], &steps.missing[..]), (&["a".to_owned()][..], "b"));
        let Some(StoringCall::Kernel(kernel, args)) = steps.next else { panic!() };
        assert_eq!(kernel, "second");
        let a = CallArg::Tensor { name: "a".into(), element: None };
        assert_eq!(args, [a, CallArg::Other, CallArg::Number(2.0)]);
    }

    #[test]
    fn whole_numbers_are_seen_in_memory_too() {
        let b = [12, 13, 14, 15].map(f32::from_bits);
        let steps = found(&[launch("first", &X, &A), launch("second", &A, &b)]).unwrap();
        assert_eq!((&steps.missing[..], steps.next), ("c", None));
    }

    #[test]
    fn batches_make_a_whole() {
        let launches = [launch("first", &X, &A[..3]), launch("first", &X, &A[3..])];
        let steps = found(&launches).unwrap();
        assert_eq!((&steps.missing[..], steps.next, steps.part), ("b", None, None));
    }

    #[test]
    fn nothing_is_said_where_the_first_step_is_nowhere() {
        assert_eq!(found(&[launch("first", &X, &[5.0, 6.0, 7.0, 9.0, 10.0, 12.0])]), None);
        assert_eq!(found(&[]), None);
    }
}
