//! The numbers of a kernel or of several, in total and line by line.

use super::advice::causes;
use super::fit::{Fit, occupancies};
use crate::number::{cell, ratio};
use crate::style::{Style, Tone};
use ptxvm::{Class, Counters, Counts};
use puzzle::case::Case;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Lines that are listed.
const MOST_LINES: usize = 12;
/// Columns of a source line that are shown: 80 in all.
const SOURCE_WIDTH: usize = 32;

/// What the columns mean.
pub fn legend(style: Style) -> Vec<String> {
    let legend = [
        "share: of the PTX instructions; lanes: active, of 32; sect: sectors of 32",
        "bytes for each global load or store of a warp; passes: through the banks",
        "of shared memory, for each load or store of a warp",
    ];
    legend.map(|text| style.paint(Tone::Faint, text)).to_vec()
}

/// What is said of them.
#[derive(Clone, Copy, Debug)]
pub struct AnnotatedSource<'a> {
    /// The student's file, as the compiler knows it.
    pub file: &'a Path,
    /// The contents of the file.
    pub source: &'a str,
    /// What each line cost.
    pub counters: &'a Counters,
    /// How the kernels fit.
    pub fits: &'a [Fit],
    /// What distances are measured by, if that is known.
    pub case: Option<&'a Case>,
}

/// A line of the student's file.
struct Line<'a> {
    number: u32,
    counts: &'a Counts,
    /// Its loads, stores and branches, one by one.
    sites: Vec<&'a Counts>,
}

impl<'a> AnnotatedSource<'a> {
    /// The table for people.
    pub fn lines(&self, style: Style) -> Vec<String> {
        let total = &self.counters.total;
        let mut lines = totals(total);
        lines.extend(occupancies(self.fits));
        let hot = self.hot_lines();
        if !hot.is_empty() {
            lines.push(String::new());
            let head = " line   share  lanes  ld sect  st sect  passes  source";
            lines.push(style.paint(Tone::Faint, head));
        }
        for line in hot.iter().take(MOST_LINES) {
            let counts = line.counts;
            let source = self.source.lines().nth(line.number as usize - 1).unwrap_or("").trim();
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
            for cause in self.causes(line) {
                advice.push(format!("line {}: {cause}", line.number));
            }
        }
        if !advice.is_empty() {
            lines.push(String::new());
            lines.extend(advice);
        }
        lines
    }

    /// What stands below everything, if a loop did not end.
    pub fn end(&self, style: Style) -> Option<String> {
        let text = "a loop or a recursion did not end: the numbers stop there";
        self.counters.endless.then(|| style.paint(Tone::Bad, text))
    }

    /// The same for programs.
    pub fn document(&self) -> Map<String, Value> {
        let line = |line: &Line| {
            let (number, counts) = (line.number, numbers(line.counts));
            json!({ "line": number, "counts": counts, "causes": self.causes(line) })
        };
        let lines: Vec<Value> = self.hot_lines().iter().map(line).collect();
        let fits: Vec<Value> = self.fits.iter().map(Fit::document).collect();
        Map::from_iter([
            ("endless".to_owned(), self.counters.endless.into()),
            ("total".to_owned(), numbers(&self.counters.total)),
            ("occupancy".to_owned(), fits.into()),
            ("lines".to_owned(), lines.into()),
        ])
    }

    /// The lines of the file, those with most instructions first.
    fn hot_lines(&self) -> Vec<Line<'a>> {
        let name = self.file.file_name();
        let mine = |file: &str| Path::new(file).file_name() == name;
        let sites = self.counters.sites.values();
        let mut lines: Vec<Line> = self
            .counters
            .lines
            .iter()
            .filter(|(place, _)| mine(&place.file))
            .map(|(place, counts)| {
                let sites = sites.clone().filter(|(at, _)| at == place);
                let sites = sites.map(|(_, counts)| counts).collect();
                Line { number: place.line, counts, sites }
            })
            .collect();
        lines.sort_by_key(|line| (std::cmp::Reverse(line.counts.instructions()), line.number));
        lines
    }

    /// What makes a line slow, each cause once.
    fn causes(&self, line: &Line) -> Vec<String> {
        let mut all = Vec::new();
        let total = &self.counters.total;
        for cause in line.sites.iter().flat_map(|counts| causes(counts, self.case, total)) {
            if !all.contains(&cause) {
                all.push(cause);
            }
        }
        all
    }
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
    let multiplications = format!("   {} multiplications", total.matrix_multiplications);
    add("matrix products", total.of(Class::Matrix), multiplications);
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

fn numbers(counts: &Counts) -> Value {
    let classes: Map<String, Value> = Class::ALL
        .into_iter()
        .map(|class| (class.name().into(), counts.of(class).into()))
        .collect();
    json!({
        "ptx_instructions": counts.instructions(),
        "classes": classes,
        "lane_instructions": counts.lane_instructions,
        "matrix": { "instructions": counts.of(Class::Matrix), "multiplications": counts.matrix_multiplications },
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
