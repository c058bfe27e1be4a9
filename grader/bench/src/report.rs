//! A run in words, for people.

use crate::compare::Change;
use crate::gate::NOISY;
use crate::model::Work;
use crate::outcome::{
    Contestant, ContestantResult, Counted, GateOutcome, GateVerdict, GpuFacts, Machine, Outcome,
    SizeOutcome, Times,
};
use crate::roofline::{self, Point, rate};
use crate::statistics::Summary;
use ::report::style::{Style, Tone};
use hardware::Peaks;
use std::collections::BTreeSet;

/// Bytes of a sector.
const SECTOR: u64 = 32;

/// The page of a run.
pub fn page(outcome: &Outcome, style: Style) -> String {
    let mut lines = vec![
        style.paint(Tone::Strong, &format!("Bench of {}: {}", outcome.subject, outcome.title)),
    ];
    match &outcome.machine {
        Machine::Gpu(facts) => lines.extend(ceilings(facts)),
        Machine::Model { gpu } => lines.extend(model_heading(gpu)),
    }
    for size in &outcome.sizes {
        lines.push(String::new());
        lines.extend(heading(size, &outcome.machine, style));
        match &outcome.machine {
            Machine::Gpu(_) => lines.extend(times(size, style)),
            Machine::Model { .. } => lines.extend(counts(size, style)),
        }
        lines.extend(size.gates.iter().map(|gate| gate_line(gate, style)));
    }
    lines.extend(outcome.notes.iter().map(|note| format!("note: {note}")));
    lines.join("\n") + "\n"
}

fn ceilings(facts: &GpuFacts) -> Vec<String> {
    let cache = if facts.cold {
        "the L2 cache is overwritten before each run"
    } else {
        "the inputs are written just before each run, so the L2 cache may hold them"
    };
    let products: Vec<String> = facts
        .products
        .iter()
        .map(|(dtype, flops)| format!("{dtype} {:.1} TFLOP/s", flops / 1e12))
        .collect();
    let products = match &facts.library {
        Ok(library) => format!("products of {library}: {}", products.join(", ")),
        Err(why) => format!("no ceiling for operations: {why}"),
    };
    vec![
        format!("{}; {cache}", facts.description),
        format!(
            "measured first: a copy moves {:.0} GB/s, an empty kernel takes {}",
            facts.copy / 1e9,
            duration(facts.empty_launch)
        ),
        products,
    ]
}

fn model_heading(gpu: &str) -> Vec<String> {
    let Some(peaks) = Peaks::named(gpu) else { return Vec::new() };
    vec![
        "no GPU: the virtual machine counts, and a model bounds the time; nothing here is measured"
            .to_owned(),
        format!("model: {} ({}); --model NAME chooses another", peaks.title, peaks.source),
    ]
}

fn heading(size: &SizeOutcome, machine: &Machine, style: Style) -> Vec<String> {
    let by = match machine {
        Machine::Gpu(_) => "",
        Machine::Model { .. } => "by the model, ",
    };
    let SizeOutcome { name, dims, dtype, work, rates, .. } = size;
    let bound = rates.bound(*work);
    let dims = dims.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>();
    let peak = rates.flops.map_or(String::new(), |flops| format!(" and {}FLOP/s", rate(flops)));
    vec![
        format!("{}  {}; {dtype}", style.paint(Tone::Strong, name), dims.join(", ")),
        format!(
            "  {}FLOP, {}B, {:.2} FLOP per byte; {by}at {:.0} GB/s{peak} at least {}, by its {}",
            rate(work.flops as f64),
            rate(work.bytes as f64),
            work.intensity(),
            rates.bandwidth / 1e9,
            duration(bound.seconds),
            bound.by.name()
        ),
    ]
}

/// Rows of cells under a head, the first column to the left, the others to the right.
fn table(head: &[&str], rows: &[Vec<String>]) -> Vec<String> {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let cells = cells.map(|cell| cell.chars().count());
        cells.chain(head.get(column).map(|cell| cell.chars().count())).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut text = String::from(" ");
        for (column, cell) in cells.enumerate() {
            let gap = " ".repeat(widths[column].saturating_sub(cell.chars().count()));
            let padded = if column == 0 { format!("{cell}{gap}") } else { format!("{gap}{cell}") };
            text = format!("{text} {padded} ");
        }
        text.trim_end().to_owned()
    };
    let rows = rows.iter().map(|row| line(&mut row.iter().map(String::as_str)));
    std::iter::once(line(&mut head.iter().copied())).chain(rows).collect()
}

fn times(size: &SizeOutcome, style: Style) -> Vec<String> {
    let SizeOutcome { work, rates, contestants, .. } = size;
    let least = rates.bound(*work).seconds;
    let mut rows = Vec::new();
    let mut notes = Vec::new();
    let mut points = Vec::new();
    for Contestant { label, result, .. } in contestants {
        match result {
            ContestantResult::Timed(times) => {
                let Some(all) = Summary::of(&times.samples) else { continue };
                let per_second = |amount: u64| amount as f64 / all.median;
                rows.push(vec![
                    label.clone(),
                    duration(all.median),
                    format!("{:.1} %", all.spread() * 100.0),
                    format!("{:.2}", per_second(work.flops) / 1e12),
                    format!("{:.0}", per_second(work.bytes) / 1e9),
                    format!("{:.1} %", least / all.median * 100.0),
                    all.count.to_string(),
                ]);
                let (intensity, rate) = (work.intensity(), per_second(work.flops));
                points.push(Point { label: label.clone(), intensity, rate });
                notes.extend(doubts(label, &all, times));
            }
            ContestantResult::Refused(why) => {
                let why = format!("{label} is not timed: {why}");
                notes.push(style.paint(Tone::Bad, &why));
            }
            ContestantResult::Counted(_) => {}
        }
    }
    let head = ["", "median", "spread", "TFLOP/s", "GB/s", "of ceiling", "runs"];
    let mut lines = if rows.is_empty() { Vec::new() } else { table(&head, &rows) };
    lines.extend(clocks(contestants).map(|line| format!("  {line}")));
    lines.extend(notes.into_iter().map(|note| format!("  {note}")));
    lines.extend(roofline::text(*rates, &points));
    lines
}

/// What came of a bound on the time.
fn gate_line(GateOutcome { bound, about, verdict }: &GateOutcome, style: Style) -> String {
    match verdict {
        GateVerdict::Kept(ratio) => style.paint(
            Tone::Good,
            &format!("  gate `{bound}` is kept: it takes {ratio:.2} times as long"),
        ),
        GateVerdict::Missed(ratio) => {
            let about = about.as_ref().map_or(String::new(), |about| format!("; {about}"));
            style.paint(
                Tone::Bad,
                &format!("  gate `{bound}` is not kept: it takes {ratio:.2} times as long{about}"),
            )
        }
        GateVerdict::NotJudged(why) => format!("  gate `{bound}` is not judged: {why}"),
    }
}

/// What makes a time less certain, or a check less complete.
fn doubts(label: &str, all: &Summary, times: &Times) -> Vec<String> {
    let mut doubts = Vec::new();
    if all.spread() > NOISY {
        let spread = all.spread() * 100.0;
        doubts.push(format!("{label}: noisy, half of the runs lie {spread:.0} % apart"));
    }
    if all.error > crate::statistics::StoppingRule::USUAL.error {
        let error = all.error * 100.0;
        doubts.push(format!("{label}: the mean is known to {error:.1} % only"));
    }
    if !times.graph {
        doubts.push(format!("{label}: started launch by launch, since they form no graph"));
    }
    if !times.all_elements {
        doubts.push(format!("{label}: {} sampled elements are right", times.compared));
    }
    doubts
}

/// The clocks of all kernels together.
fn clocks(contestants: &[Contestant]) -> Option<String> {
    let timed = || {
        contestants.iter().filter_map(|contestant| match &contestant.result {
            ContestantResult::Timed(times) => Some(&times.clocks),
            ContestantResult::Counted(_) | ContestantResult::Refused(_) => None,
        })
    };
    let known: Vec<_> = timed().flatten().collect();
    let (Some(low), Some(high)) =
        (known.iter().map(|c| c.sm.0).min(), known.iter().map(|c| c.sm.1).max())
    else {
        let why = timed().find_map(|clocks| clocks.as_ref().err())?;
        return Some(format!("clocks are not known: {why}"));
    };
    let most = known.iter().map(|c| c.most).max().unwrap_or_default();
    let reasons: BTreeSet<&str> =
        known.iter().flat_map(|c| c.throttled.iter().map(String::as_str)).collect();
    let reasons: Vec<&str> = reasons.into_iter().collect();
    let throttled = if reasons.is_empty() {
        "not throttled".to_owned()
    } else {
        format!("throttled by {}", reasons.join(", "))
    };
    Some(format!("clock {low} to {high} MHz of {most}; {throttled}"))
}

fn counts(size: &SizeOutcome, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    let mut columns: Vec<(&str, &Counted)> = Vec::new();
    for Contestant { label, result, .. } in &size.contestants {
        match result {
            ContestantResult::Counted(counted) => columns.push((label, counted)),
            ContestantResult::Refused(why) => {
                let why = format!("  {label} is not counted: {why}");
                lines.push(style.paint(Tone::Bad, &why));
            }
            ContestantResult::Timed(_) => {}
        }
    }
    let (false, Some((test, work))) = (columns.is_empty(), &size.counted) else { return lines };
    lines.push(format!(
        "  counted in the test `{test}`, whose work is {} FLOP and {} bytes",
        work.flops, work.bytes
    ));
    let head: Vec<&str> = std::iter::once("").chain(columns.iter().map(|(l, _)| *l)).collect();
    let mut rows = Vec::new();
    for (name, value) in counters(*work) {
        let values: Vec<Option<String>> = columns.iter().map(|(_, of)| value(of)).collect();
        if values.iter().any(Option::is_some) {
            let cells = values.into_iter().map(|value| value.unwrap_or_else(|| "0".to_owned()));
            rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
        }
    }
    lines.extend(table(&head, &rows));
    lines
}

/// A row of the table of counters: its name, and its cell for a kernel; a row without any is left out.
type CounterRow = (&'static str, Box<dyn Fn(&Counted) -> Option<String>>);

fn counters(work: Work) -> Vec<CounterRow> {
    fn row(name: &'static str, value: fn(&Counted) -> u64) -> CounterRow {
        (name, Box::new(move |of| Some(value(of)).filter(|v| *v > 0).map(|v| v.to_string())))
    }
    let traffic = move |of: &Counted| {
        let bytes = SECTOR * (of.load_sectors + of.store_sectors);
        Some(format!("{:.2}", bytes as f64 / work.bytes as f64))
    };
    vec![
        row("PTX instructions of warps", |of| of.instructions),
        row("matrix instructions", |of| of.matrix_instructions),
        row("sectors loaded", |of| of.load_sectors),
        row("sectors stored", |of| of.store_sectors),
        ("their bytes, per byte of work", Box::new(traffic)),
        row("atomic operations", |of| of.atomic_operations),
        row("bytes that they read and write", |of| of.atomic_bytes),
        row("passes through shared memory", |of| of.shared_wavefronts),
        row("bank conflicts", |of| of.bank_conflicts),
        row("barriers of warps", |of| of.barriers),
        row("bytes of local memory", |of| of.local_bytes),
    ]
}

/// What changed since an earlier run.
pub fn changes(changes: &[Change], notes: &[String], style: Style) -> String {
    let mut lines = vec![style.paint(Tone::Strong, "Compared with the earlier run")];
    let row = |change: &Change| {
        let [before, now] = change.medians;
        let part = (now / before - 1.0) * 100.0;
        let verdict = match (change.is_clear, part < 0.0) {
            (false, _) => "no clear change",
            (true, true) => "faster",
            (true, false) => "slower",
        };
        vec![
            format!("{} {}", change.size, change.label),
            duration(before),
            duration(now),
            format!("{part:+.1} %"),
            verdict.to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = changes.iter().map(row).collect();
    if !rows.is_empty() {
        lines.extend(table(&["", "before", "now", "change", ""], &rows));
    }
    lines.extend(notes.iter().map(|note| format!("  note: {note}")));
    lines.join("\n") + "\n"
}

/// `73.1 us`, `1.25 ms`.
fn duration(seconds: f64) -> String {
    match seconds * 1e6 {
        us @ ..1000.0 => format!("{us:.1} us"),
        us => format!("{:.3} ms", us / 1e3),
    }
}

/// The points of a size in its roofline.
pub fn points(size: &SizeOutcome) -> Vec<Point> {
    let timed = size.contestants.iter().filter_map(|contestant| match &contestant.result {
        ContestantResult::Timed(times) => Some((contestant, Summary::of(&times.samples)?)),
        ContestantResult::Counted(_) | ContestantResult::Refused(_) => None,
    });
    timed
        .map(|(contestant, all)| Point {
            label: contestant.label.clone(),
            intensity: size.work.intensity(),
            rate: size.work.flops as f64 / all.median,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::compare;
    use crate::examples::{counted, timed};

    #[test]
    fn a_run_on_a_gpu_shows_times_ceilings_and_doubts() {
        insta::assert_snapshot!(page(&timed(), Style::PLAIN));
    }

    #[test]
    fn a_run_without_a_gpu_shows_counters_and_says_that_its_bound_is_a_model() {
        insta::assert_snapshot!(page(&counted(), Style::PLAIN));
    }

    #[test]
    fn a_comparison_shows_both_medians() {
        let mut now = timed();
        let ContestantResult::Timed(times) = &mut now.sizes[0].contestants[1].result else {
            panic!("the solution is timed");
        };
        times.samples.iter_mut().for_each(|sample| *sample *= 0.9);
        let (all, notes) = compare(&timed(), &now);
        insta::assert_snapshot!(changes(&all, &notes, Style::PLAIN));
    }

    /// A run with whole picoseconds as samples: JSON may change the last bit of others.
    fn rounded(mut outcome: Outcome) -> Outcome {
        for contestant in outcome.sizes.iter_mut().flat_map(|size| &mut size.contestants) {
            if let ContestantResult::Timed(times) = &mut contestant.result {
                times.samples.iter_mut().for_each(|sample| *sample = (*sample * 1e12).round());
            }
        }
        outcome
    }

    #[test]
    fn json_keeps_everything() {
        for outcome in [timed(), counted()] {
            let read = Outcome::from_json(&outcome.json()).unwrap();
            assert_eq!(rounded(read), rounded(outcome));
        }
        let why = |text: &str| Outcome::from_json(text).unwrap_err();
        assert_eq!(why("{ \"schema_version\": 9 }"), "it has version 9, not 1");
        assert_eq!(why("{ \"schema_version\": 1 }"), "it is another document");
        assert_eq!(why("[]"), "it is another document");
        let cut = &timed().json()[..40];
        assert!(why(cut).starts_with("it is no JSON: EOF while parsing"), "{}", why(cut));
    }
}
