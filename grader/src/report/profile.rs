//! The words of `grader profile`.

use super::explain::Subject;
use super::style::{Style, Tone};
use crate::case::Case;
use crate::occupancy::{Limit, Needs, Occupancy};
use crate::tensor::size_of;
use ptxvm::{Class, Counters, Counts};
use serde_json::{Value, json};
use std::fmt::Write;

/// Lines that are listed.
const MOST_LINES: usize = 12;
/// Columns of a source line that are shown: 80 in all.
const SOURCE_WIDTH: usize = 32;

/// A line of the student's file.
struct Line<'a> {
    number: u32,
    counts: &'a Counts,
    /// Its loads, stores and branches, one by one.
    sites: Vec<&'a Counts>,
}

impl Line<'_> {
    /// What makes it slow, each cause once.
    fn causes(&self, case: &Case, total: &Counts) -> Vec<String> {
        let mut all = Vec::new();
        for cause in self.sites.iter().flat_map(|counts| causes(counts, case, total)) {
            if !all.contains(&cause) {
                all.push(cause);
            }
        }
        all
    }
}

/// The lines of the file, those with most instructions first.
fn hot_lines<'a>(subject: Subject, counters: &'a Counters) -> Vec<Line<'a>> {
    let name = subject.file.file_name();
    let mine = |file: &str| std::path::Path::new(file).file_name() == name;
    let mut lines: Vec<Line> = counters
        .lines
        .iter()
        .filter(|(place, _)| mine(&place.file))
        .map(|(place, counts)| {
            let sites = counters.sites.iter().filter(|(at, _)| at == place);
            Line { number: place.line, counts, sites: sites.map(|(_, counts)| counts).collect() }
        })
        .collect();
    lines.sort_by_key(|line| (std::cmp::Reverse(line.counts.instructions()), line.number));
    lines
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn cell(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.1}"))
}

/// How a kernel fits on a multiprocessor of an architecture.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Source name.
    pub kernel: String,
    /// 90 for `sm_90`.
    pub sm: u32,
    /// What it needs there.
    pub needs: Needs,
    /// Bytes of a thread's registers that had to go to memory.
    pub spilled: u32,
    /// What comes of it.
    pub occupancy: Occupancy,
}

impl Fit {
    fn limit(&self) -> &'static str {
        match self.occupancy.limit {
            Limit::Warps => "warps",
            Limit::Blocks => "blocks",
            Limit::Registers => "registers",
            Limit::SharedMemory => "shared memory",
            Limit::Barriers => "barriers",
        }
    }

    fn line(&self) -> String {
        let Self { sm, needs, occupancy, .. } = self;
        let spilled = match self.spilled {
            0 => String::new(),
            bytes => format!("; {bytes} bytes spilled"),
        };
        let full = if occupancy.warps == occupancy.most {
            String::new()
        } else {
            format!(", limited by {}", self.limit())
        };
        format!(
            "    sm_{sm}  {:3.0} %  {} registers: {} of {} warps{full}{spilled}",
            occupancy.percent(),
            needs.registers,
            occupancy.warps,
            occupancy.most
        )
    }
}

/// Theoretical occupancy, kernel by kernel.
fn occupancies(fits: &[Fit]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut last = None;
    for fit in fits {
        let head = (&fit.kernel, fit.needs.threads, fit.needs.shared);
        if last != Some(head) {
            let shared = match head.2 {
                0 => String::new(),
                bytes => format!(", {bytes} bytes of shared memory"),
            };
            lines.push(format!("occupancy of {}, {} threads a block{shared}", head.0, head.1));
            last = Some(head);
        }
        lines.push(fit.line());
    }
    lines
}

/// The table for people.
pub fn page(
    subject: Subject,
    case: &Case,
    counters: &Counters,
    fits: &[Fit],
    style: Style,
) -> String {
    let total = &counters.total;
    let title = format!("Puzzle {}: {}", subject.puzzle, subject.title);
    let facts = format!("{}; test {}", subject.file.display(), case.test);
    let mut lines =
        vec![style.paint(Tone::Strong, &title), style.paint(Tone::Faint, &facts), String::new()];
    lines.extend(totals(total));
    lines.extend(occupancies(fits));
    lines.push(String::new());
    let head = " line   share  lanes  ld sect  st sect  passes  source";
    lines.push(style.paint(Tone::Faint, head));
    let hot = hot_lines(subject, counters);
    for line in hot.iter().take(MOST_LINES) {
        let counts = line.counts;
        let source = subject.source.lines().nth(line.number as usize - 1).unwrap_or("").trim();
        let shown: String = source.chars().take(SOURCE_WIDTH).collect();
        let shown = shown.trim_end();
        let share = ratio(counts.instructions() * 100, total.instructions()).unwrap_or(0.0);
        lines.push(format!(
            "{:5}  {share:4.1} %  {:>5}  {:>7}  {:>7}  {:>6}  {shown}",
            line.number,
            cell(counts.active_lanes()),
            cell(ratio(counts.load_sectors, counts.load_requests)),
            cell(ratio(counts.store_sectors, counts.store_requests)),
            cell(ratio(counts.shared_wavefronts, counts.shared_requests)),
        ));
    }
    let mut advice = Vec::new();
    for line in hot.iter().take(MOST_LINES) {
        for cause in line.causes(case, total) {
            advice.push(format!("line {}: {cause}", line.number));
        }
    }
    if !advice.is_empty() {
        lines.push(String::new());
        lines.extend(advice);
    }
    lines.push(String::new());
    let legend = [
        "share: of the PTX instructions; lanes: active, of 32; sect: sectors of 32",
        "bytes for each global load or store of a warp; passes: through the banks",
        "of shared memory, for each load or store of a warp",
    ];
    lines.extend(legend.map(|text| style.paint(Tone::Faint, text)));
    if counters.endless {
        lines.push(style.paint(Tone::Bad, "a loop did not end: the numbers stop there"));
    }
    lines.join("\n") + "\n"
}

fn totals(total: &Counts) -> Vec<String> {
    let classes: Vec<String> = Class::ALL
        .into_iter()
        .filter(|&class| total.of(class) > 0)
        .map(|class| format!("{} {}", class.name(), total.of(class)))
        .collect();
    let mut lines = vec![format!(
        "PTX instructions of warps  {:>12}   {} of 32 lanes active",
        total.instructions(),
        cell(total.active_lanes())
    )];
    lines.extend(classes.chunks(4).map(|some| format!("    {}", some.join(", "))));
    let mut add = |name: &str, count: u64, more: String| {
        if count > 0 {
            lines.push(format!("{name:25}  {count:>12}{more}"));
        }
    };
    let sectors = |count: u64, bytes: u64| format!("   {count} sectors for {bytes} bytes");
    add("global loads", total.load_requests, sectors(total.load_sectors, total.load_bytes));
    add("global stores", total.store_requests, sectors(total.store_sectors, total.store_bytes));
    let conflicts = format!("   {} bank conflicts", total.bank_conflicts);
    add("shared loads and stores", total.shared_requests, conflicts);
    add("local loads and stores", total.local_requests, format!("   {} bytes", total.local_bytes));
    add("atomics", total.atomic_requests, format!("   {} of lanes", total.atomic_lanes));
    add("branches", total.branches, format!("   {} divergent", total.divergent_branches));
    add("barriers", total.barriers, String::new());
    lines
}

/// What makes an instruction slow.
fn causes(counts: &Counts, case: &Case, total: &Counts) -> Vec<String> {
    let mut causes = Vec::new();
    let accesses = [
        (counts.load_requests, counts.load_sectors, counts.load_sectors_packed),
        (counts.store_requests, counts.store_sectors, counts.store_sectors_packed),
    ];
    for (requests, sectors, packed) in accesses {
        // A misaligned row costs one sector more: not worth a word.
        if requests == 0 || sectors < packed * 2 || sectors < packed + 2 * requests {
            continue;
        }
        let [is, least] = [sectors, packed].map(|count| cell(ratio(count, requests)));
        let mut text = format!("each warp touches {is} sectors where {least} would do");
        let most = counts.global_strides.most_frequent();
        if let Some((bytes, seen)) = most
            && bytes != 0
            && seen * 2 > counts.load_requests + counts.store_requests
        {
            write!(text, ":\n    neighbouring threads are {} apart", apart(bytes, case)).ok();
        }
        causes.push(text);
    }
    if counts.bank_conflicts >= counts.shared_requests && counts.shared_requests > 0 {
        let ways = cell(ratio(counts.shared_wavefronts, counts.shared_requests));
        let mut text = format!("bank conflicts, {ways} passes for each access");
        let most = counts.shared_strides.most_frequent();
        if let Some((bytes, seen)) = most
            && bytes % 4 == 0
            && seen * 2 > counts.shared_requests
        {
            let words = (bytes / 4).abs();
            write!(text, ":\n    neighbouring threads are {words} words apart").ok();
            if words % 32 == 0 {
                write!(text, "; pad the row to {}", words + 1).ok();
            }
        }
        causes.push(text);
    }
    // A guard parts a warp once; a branch in a loop does it over and over.
    if counts.divergent_branches * 4 > counts.branches
        && counts.divergent_branches * 50 > total.instructions()
    {
        let idle = 100 * counts.divergent_minority / counts.divergent_lanes.max(1);
        let (some, all) = (counts.divergent_branches, counts.branches);
        causes.push(format!(
            "{some} of {all} branches part a warp,\n    with {idle} % of its lanes on the smaller side"
        ));
    }
    causes
}

/// A distance in elements, by the name of the dimension that alone has this size.
fn apart(bytes: i64, case: &Case) -> String {
    let size = case.tensors.first().map_or(1, |t| size_of(t.tensor.dtype) as i64);
    let alike = case.tensors.iter().all(|t| size_of(t.tensor.dtype) as i64 == size);
    if !alike || bytes % size != 0 {
        return format!("{} bytes", bytes.abs());
    }
    let elements = (bytes / size).abs();
    let mut equal = case.dims.iter().filter(|&(_, &dim)| i128::from(dim) == i128::from(elements));
    match (equal.next(), equal.next()) {
        (Some((name, _)), None) if elements > 1 => format!("{name} = {elements} elements"),
        _ => format!("{elements} elements"),
    }
}

fn numbers(counts: &Counts) -> Value {
    let classes: serde_json::Map<String, Value> = Class::ALL
        .into_iter()
        .map(|class| (class.name().into(), counts.of(class).into()))
        .collect();
    json!({
        "ptx_instructions": counts.instructions(),
        "classes": classes,
        "lane_instructions": counts.lane_instructions,
        "branches": counts.branches,
        "divergent_branches": counts.divergent_branches,
        "global_load": { "requests": counts.load_requests, "sectors": counts.load_sectors, "bytes": counts.load_bytes },
        "global_store": { "requests": counts.store_requests, "sectors": counts.store_sectors, "bytes": counts.store_bytes },
        "shared": { "requests": counts.shared_requests, "wavefronts": counts.shared_wavefronts, "bank_conflicts": counts.bank_conflicts },
        "local": { "requests": counts.local_requests, "bytes": counts.local_bytes },
        "atomics": { "requests": counts.atomic_requests, "lanes": counts.atomic_lanes },
        "barriers": counts.barriers,
    })
}

fn fit(fit: &Fit) -> Value {
    json!({
        "kernel": fit.kernel,
        "architecture": format!("sm_{}", fit.sm),
        "block_threads": fit.needs.threads,
        "registers": fit.needs.registers,
        "shared_bytes": fit.needs.shared,
        "spilled_bytes": fit.spilled,
        "blocks": fit.occupancy.blocks,
        "warps": fit.occupancy.warps,
        "most_warps": fit.occupancy.most,
        "limit": fit.limit(),
    })
}

/// The JSON document.
pub fn document(subject: Subject, case: &Case, counters: &Counters, fits: &[Fit]) -> String {
    let lines: Vec<Value> = hot_lines(subject, counters)
        .iter()
        .map(|line| {
            json!({ "line": line.number, "counts": numbers(line.counts), "causes": line.causes(case, &counters.total) })
        })
        .collect();
    let document = json!({
        "schema_version": super::json::SCHEMA_VERSION,
        "puzzle": subject.puzzle,
        "test": case.test,
        "endless": counters.endless,
        "total": numbers(&counters.total),
        "occupancy": fits.iter().map(fit).collect::<Vec<Value>>(),
        "lines": lines,
    });
    format!("{document:#}\n")
}
