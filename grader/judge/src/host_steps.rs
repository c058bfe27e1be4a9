//! How far is host code right? The steps of the formula are looked for in the memory that its launches are given and store. The first
//! step that is nowhere, though what it follows from is there, is where the code goes wrong.

use crate::call_args;
use crate::verdict::{HostSteps, StoringCall};
use device::host::{LaunchArg, Stored, TracedArg, TracedBuffer, TracedLaunch};
use indexmath::Approx;
use puzzle::case::{Case, CaseTensor};
use puzzle::comparison::is_within_bound;
use std::collections::BTreeSet;
use std::ops::Range;

/// A named step of the formula, or an input.
struct Step {
    name: String,
    /// Whether it is on the way to the output; others have names, too, where a launch is given them by mistake.
    on_way: bool,
    /// What it is computed from, directly or not.
    sources: BTreeSet<String>,
    /// Elements for each first coordinate: samples come in batches.
    row: usize,
    values: Vec<Approx>,
    /// Which first coordinates were seen in memory.
    seen: Vec<bool>,
    /// Which of them host code was seen to copy.
    copied: Vec<bool>,
    /// Whether memory does not hold its values by chance.
    telling: bool,
}

/// What is known of the launches of host code.
pub(crate) struct Progress {
    pub steps: HostSteps,
    /// All steps that were seen in memory.
    pub seen: Vec<String>,
    /// Other values in the place of the missing step.
    pub suspects: Vec<Suspect>,
}

/// Memory that no step explains, as long as the missing one at least.
pub(crate) struct Suspect {
    /// The launch and its argument, by their positions.
    pub at: (usize, usize),
    /// Whether the launch stores it.
    pub stored: bool,
    pub call: StoringCall,
    pub values: Vec<f64>,
}

/// How far the launches of host code are right, on the way to the output `name`. `None` if nothing is known of it.
pub(crate) fn explain(case: &Case, stored: &Stored, name: &str) -> Option<Progress> {
    let steps = steps(case, name)?;
    follow((&case.tensors, case.output(name)), steps, stored, name)
}

/// The steps from which the outputs of a case are computed, each behind its sources, with the inputs that have many values.
fn steps(case: &Case, name: &str) -> Option<Vec<Step>> {
    let known = case.known_for(name);
    let on_way = case.formula.sources(name);
    let outputs = case.tensors.iter().filter_map(|tensor| tensor.wanted());
    let others = outputs.flat_map(|(tensor, _)| case.formula.sources(&tensor.name));
    let all: BTreeSet<String> = others.chain(on_way.iter().cloned()).collect();
    let mut names: Vec<String> = all.into_iter().filter(|other| other != name).collect();
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
        // The output is known to be wrong, whatever its values tell.
        let (copied, telling) = (seen.clone(), is_telling(&values) && step != name);
        let on_way = step == name || on_way.contains(&step);
        let is_known = telling || step == name;
        is_known.then_some(Step { name: step, on_way, sources, row, values, seen, copied, telling })
    };
    Some(names.into_iter().filter_map(step).collect())
}

/// Different values that are not 0: of fewer, memory holds the same by chance.
const LEAST_DIFFERENT: usize = 3;
/// A pattern of two values, such as labels as rows with a single 1, has so many elements, and so many of the rarer value.
const LEAST_ELEMENTS: usize = 24;
const LEAST_RARE: usize = 3;

fn is_telling(values: &[Approx]) -> bool {
    has_many_values(values) || is_pattern(values)
}

fn is_pattern(values: &[Approx]) -> bool {
    let Some(first) = values.first() else { return false };
    let same = values.iter().filter(|element| element.value == first.value).count();
    values.len() >= LEAST_ELEMENTS && same.min(values.len() - same) >= LEAST_RARE
}

fn has_many_values(values: &[Approx]) -> bool {
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
        self.telling && !self.seen.contains(&false)
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
    (tensors, output): (&[CaseTensor], Option<usize>),
    mut steps: Vec<Step>,
    Stored { launches, reads, .. }: &Stored,
    name: &str,
) -> Option<Progress> {
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
    for read in reads {
        if let Some((at, rows)) = held(&steps, read) {
            steps[at].copied[rows].fill(true);
        }
    }
    // What is computed from a step that is seen nowhere shows that it was right, too.
    let is_right = |step: &Step| {
        let shows = |other: &Step| other.is_seen() && other.sources.contains(&step.name);
        step.is_seen() || steps.iter().any(shows)
    };
    let is_computed = |step: &Step| !step.sources.is_empty();
    let on_way = || steps.iter().filter(|step| step.on_way);
    let missing = on_way().find(|step| is_computed(step) && !is_right(step))?;
    let is_source = |step: &&Step| is_computed(step) && missing.sources.contains(&step.name);
    let sources: Vec<&Step> = steps.iter().filter(is_source).collect();
    if !sources.iter().all(|step| is_right(step)) {
        return None;
    }
    // Those that stand in memory, without those that come before others of them.
    let seen: Vec<&Step> = sources.into_iter().filter(|step| step.is_seen()).collect();
    let comes_before = |step: &Step| seen.iter().any(|other| other.sources.contains(&step.name));
    let last: Vec<&Step> = seen.iter().copied().filter(|step| !comes_before(step)).collect();
    let holds = |label: Option<usize>| {
        label.is_some_and(|at| last.iter().any(|step| step.name == steps[at].name))
    };
    let stores_output = |all: &Labelled<'_>| {
        let is_output = |arg: &TracedArg| match arg {
            TracedArg::Other(LaunchArg::Tensor(at, _)) => Some(*at) == output,
            _ => false,
        };
        missing.name == name && all.launch.args.iter().any(is_output)
    };
    let stores_more = |all: &&Labelled<'_>| {
        let is_other = |labels: Labels<'_>| labels.buffer.is_changed() && labels.after.is_none();
        stores_output(all) || all.buffers().any(is_other)
    };
    let is_given = |all: &&Labelled<'_>| all.buffers().any(|labels| holds(labels.before));
    // Where all of what it follows from is there.
    let stores_last = |all: &Labelled<'_>| {
        all.buffers().any(|labels| labels.before != labels.after && holds(labels.after))
    };
    let there = labelled.iter().rposition(stores_last).map_or(0, |at| at + 1);
    let later = || labelled[there..].iter().filter(stores_more);
    let storing = later().rfind(|all| stores_output(all));
    let stores_output = storing.is_some();
    // Whether a launch is the first that can be wrong is known only where no other one stores something else before it.
    let next = storing.or_else(|| later().next().filter(is_given));
    let more = later().next().is_some();
    let next = next.map(|next| call(tensors, &steps, next));
    let rows = missing.seen.iter().filter(|seen| **seen).count();
    let follows = |step: &&Step| {
        is_computed(step) && (step.sources.contains(&missing.name) || step.name == missing.name)
    };
    let after = on_way().filter(follows).map(|step| step.name.clone()).collect();
    let right = last.iter().map(|step| step.name.clone()).collect();
    let suspects = suspects(tensors, &steps, &labelled, missing.values.len());
    let steps = HostSteps {
        right,
        missing: missing.name.clone(),
        part: (rows > 0).then_some((rows, missing.seen.len())),
        after,
        more,
        stores_output,
        next,
        copied: !last.is_empty() && last.iter().all(|step| !step.copied.contains(&false)),
        wrong: None,
    };
    let seen = seen.iter().map(|step| step.name.clone()).collect();
    Some(Progress { steps, seen, suspects })
}

/// Buffers of which so many are looked at.
const MOST_SUSPECTS: usize = 32;

/// What launches store and are given that is no step, and has so many elements: those of that size first.
fn suspects(
    tensors: &[CaseTensor],
    steps: &[Step],
    labelled: &[Labelled<'_>],
    elements: usize,
) -> Vec<Suspect> {
    let mut found: Vec<(bool, Suspect)> = Vec::new();
    for (nth, all) in labelled.iter().enumerate() {
        for (position, labels) in all.buffers.iter().enumerate() {
            let Some(Labels { buffer, before, after }) = labels else { continue };
            let (label, words) =
                if buffer.is_changed() { (after, &buffer.after) } else { (before, &buffer.before) };
            if label.is_some() || words.len() < elements {
                continue;
            }
            let values: Vec<f64> = words[..elements].iter().map(|&word| word.into()).collect();
            let is_new = found.iter().all(|(_, other)| other.values != values);
            if is_new && values.iter().all(|value| value.is_finite()) {
                let (call, stored) = (call(tensors, steps, all), buffer.is_changed());
                let suspect = Suspect { at: (nth, position), stored, call, values };
                found.push((words.len() != elements, suspect));
            }
        }
    }
    found.sort_by_key(|suspect| suspect.0);
    found.into_iter().map(|(_, suspect)| suspect).take(MOST_SUSPECTS).collect()
}

/// The step that a buffer holds, which is seen from now on.
fn label(steps: &mut [Step], buffer: &[f32]) -> Option<usize> {
    let (at, rows) = held(steps, buffer)?;
    steps[at].seen[rows].fill(true);
    Some(at)
}

/// The step that a buffer holds, and which first coordinates of it.
fn held(steps: &[Step], buffer: &[f32]) -> Option<(usize, Range<usize>)> {
    let telling = steps.iter().enumerate().filter(|(_, step)| step.telling);
    let rows = telling.map(|(at, step)| (at, step.rows_in(buffer)));
    let found = rows.filter(|(_, rows)| !rows.is_empty());
    found.max_by_key(|(at, rows)| rows.len() * steps[*at].row)
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
            on_way: true,
            sources: sources.iter().map(|&source| source.into()).collect(),
            row: values.len() / rows,
            values: values.iter().map(approx).collect(),
            seen: vec![false; rows],
            copied: vec![false; rows],
            telling: name != "c",
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
        let stored = Stored { launches: launches.to_vec(), ..Stored::default() };
        follow((&[], None), steps(), &stored, "c").map(|found| found.steps)
    }

    const X: [f32; 4] = [1.0, 2.0, 3.0, 4.0];
    const A: [f32; 6] = [5.0, 6.0, 7.0, 9.0, 10.0, 11.0];

    #[test]
    fn the_first_step_that_is_nowhere_and_the_launch_that_is_given_its_source() {
        let other = launch("other", &[8.0; 3], &[9.0; 4]);
        let launches = [
            launch("first", &X, &A),
            launch("second", &A, &[12.0, 13.0, 14.0, 16.0]),
            other.clone(),
        ];
        let steps = found(&launches).unwrap();
        assert_eq!((&steps.right[..], &steps.missing[..]), (&["a".to_owned()][..], "b"));
        let Some(StoringCall::Kernel(kernel, args)) = steps.next else { panic!() };
        assert_eq!(kernel, "second");
        let a = CallArg::Tensor { name: "a".into(), element: None };
        assert_eq!(args, [a, CallArg::Other, CallArg::Number(2.0)]);
        // Another one that comes before may store the step wrongly, given something else.
        let [first, second, other] = launches;
        let steps = found(&[first, other, second]).unwrap();
        assert_eq!((&steps.missing[..], steps.next, steps.more), ("b", None, true));
    }

    #[test]
    fn what_is_copied_to_the_host_is_seen() {
        let launches = vec![launch("first", &X, &A)];
        let of = |reads: &[&[f32]]| {
            let reads = reads.iter().map(|read| read.to_vec()).collect();
            let stored = Stored { launches: launches.clone(), reads, ..Stored::default() };
            follow((&[], None), steps(), &stored, "c").map(|found| found.steps.copied)
        };
        assert_eq!(of(&[&A[..3], &A[3..]]), Some(true));
        assert_eq!(of(&[&A[..3]]), Some(false), "a part of it");
    }

    #[test]
    fn memory_that_no_step_explains_is_suspected() {
        let launches = [launch("first", &X, &A), launch("second", &A, &[12.0, 13.0, 14.0, 16.0])];
        let stored = Stored { launches: launches.to_vec(), ..Stored::default() };
        let found = follow((&[], None), steps(), &stored, "c").unwrap();
        let suspects: Vec<_> = found.suspects.iter().map(|s| (s.at, s.stored)).collect();
        assert_eq!(suspects, [((1, 1), true)]);
        assert_eq!(found.suspects[0].values, [12.0, 13.0, 14.0, 16.0]);
    }

    #[test]
    fn labels_as_rows_with_a_single_1_are_told_from_zeros() {
        let labels = |of: [usize; 3]| -> Vec<Approx> {
            let element = |at: usize| f64::from(u8::from(of[at / 10] == at % 10));
            let exact = |value| Approx { value, bound: 0.0, magnitude: value, terms: 1 };
            (0..30).map(|at| exact(element(at))).collect()
        };
        assert!(is_telling(&labels([7, 2, 1])));
        assert!(!is_telling(&labels([7, 2, 1])[..10]), "a single row");
        assert!(!is_telling(&labels([20, 20, 20])));
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
    fn where_the_first_step_is_nowhere_nothing_is_right() {
        let of = |stored: &[f32]| {
            let steps = found(&[launch("first", &X, stored)]).unwrap();
            (steps.right.len(), steps.part)
        };
        assert_eq!(of(&[5.0, 6.0, 8.0, 9.0, 10.0, 12.0]), (0, None));
        assert_eq!(of(&[5.0, 6.0, 7.0, 9.0, 10.0, 12.0]), (0, Some((1, 2))));
    }
}
