//! Compares a run with an earlier one.

use crate::outcome::{ContestantResult, Machine, Outcome};
use crate::statistics::Summary;

/// Differences of medians below this part are not told from noise.
const LEAST_CHANGE: f64 = 0.01;

/// How a kernel's median differs from that of an earlier run.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The name of the `[[bench]]`.
    pub size: String,
    /// The kernel's name in the report.
    pub label: String,
    /// The medians in seconds, earlier and now.
    pub medians: [f64; 2],
    /// Whether the difference is more than the spread of the samples.
    pub is_clear: bool,
}

/// The changes of all kernels that both runs timed at the same sizes, and what makes the runs differ besides.
pub fn compare(before: &Outcome, now: &Outcome) -> (Vec<Change>, Vec<String>) {
    let mut notes = Vec::new();
    let (Machine::Gpu(a), Machine::Gpu(b)) = (&before.machine, &now.machine) else {
        let why = "there is nothing to compare: only runs on a GPU have times";
        return (Vec::new(), vec![why.to_owned()]);
    };
    if a.description != b.description {
        notes.push(format!("the earlier run was on another GPU: {}", a.description));
    }
    if a.cold != b.cold {
        notes.push("one run overwrote the L2 cache before each sample".to_owned());
    }
    let mut changes = Vec::new();
    for size in &now.sizes {
        let same = |other: &&_| same_size(other, size);
        let Some(earlier) = before.sizes.iter().find(same) else { continue };
        for contestant in &size.contestants {
            let same = earlier.contestants.iter().find(|c| c.label == contestant.label);
            let summaries = [same.map(|c| &c.result), Some(&contestant.result)].map(summary);
            if let [Some(before), Some(now)] = summaries {
                changes.push(change(&size.name, &contestant.label, before, now));
            }
        }
    }
    if changes.is_empty() {
        notes.push("the earlier run timed none of these kernels at these sizes".to_owned());
    }
    (changes, notes)
}

fn same_size(a: &crate::outcome::SizeOutcome, b: &crate::outcome::SizeOutcome) -> bool {
    a.name == b.name && a.dims == b.dims
}

fn summary(result: Option<&ContestantResult>) -> Option<Summary> {
    match result? {
        ContestantResult::Timed(times) => Summary::of(&times.samples),
        ContestantResult::Counted(_) | ContestantResult::Refused(_) => None,
    }
}

fn change(size: &str, label: &str, before: Summary, now: Summary) -> Change {
    let apart = now.quartiles[0] > before.quartiles[1] || now.quartiles[1] < before.quartiles[0];
    let part = (now.median / before.median - 1.0).abs();
    Change {
        size: size.to_owned(),
        label: label.to_owned(),
        medians: [before.median, now.median],
        is_clear: apart && part >= LEAST_CHANGE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::{counted, timed};
    use crate::subject::{Subject, ladders};
    use puzzle::workbook::Workbook;
    use std::path::Path;

    #[test]
    fn medians_beyond_the_spread_are_clear_changes() {
        let (before, mut now) = (timed(), timed());
        let ContestantResult::Timed(times) = &mut now.sizes[0].contestants[1].result else {
            panic!("the solution is timed");
        };
        times.samples.iter_mut().for_each(|sample| *sample *= 0.9);
        let (changes, notes) = compare(&before, &now);
        let said: Vec<(&str, bool)> =
            changes.iter().map(|change| (change.label.as_str(), change.is_clear)).collect();
        assert_eq!(said, [("your kernel", false), ("solution", true), ("cuBLAS 13.1", false)]);
        assert!(notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn every_ladder_keeps_times_of_all_its_steps() {
        let workbook = Workbook::find(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        for name in ladders(&workbook) {
            let subject = Subject::ladder(&workbook, &name).unwrap();
            let file = workbook.root().join("kernels/ladders").join(&name).join("h100.json");
            let kept: Outcome = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
            let changes = compare(&kept, &kept).0;
            let steps = subject.entries.iter().flat_map(|entry| {
                let sizes = entry.spec.benches.iter().map(|bench| bench.name().to_owned());
                sizes.map(|size| (size, entry.label.clone()))
            });
            for step in steps {
                let is_kept = |change: &Change| (&change.size, &change.label) == (&step.0, &step.1);
                assert!(changes.iter().any(is_kept), "{name}: {step:?}");
            }
        }
    }

    #[test]
    fn runs_that_differ_otherwise_are_noted() {
        let (_, notes) = compare(&counted(), &timed());
        assert_eq!(notes, ["there is nothing to compare: only runs on a GPU have times"]);
        let mut other = timed();
        other.sizes[0].dims[0].1 += 1;
        assert_eq!(compare(&other, &timed()).0, []);
    }
}
