//! Does the report name the line that is wrong? On the wrong kernels that the puzzles ship.

use cpptext::statements::statement;
use grader::check::{self, Bench};
use grader::wrong::WrongKernel;
use judge::batch_compile::{self, Variant};
use judge::expansion::RowKind;
use judge::grade::{self, Machine, Program};
use puzzle::case::Case;
use puzzle::oracle;
use puzzle::workbook::Workbook;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;
use toolchain::Toolchain;
use toolchain::env::Env;

/// Lines of `new` (1-based) that are not in `old`; where lines were taken out, the ones around.
fn changed(old: &str, new: &str) -> BTreeSet<u32> {
    let (a, b): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    // Lengths of the longest common subsequences of the ends.
    let mut common = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i][j] = if a[i] == b[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = BTreeSet::new();
    let mut hunk = (BTreeSet::new(), BTreeSet::new());
    loop {
        let same = i < a.len() && j < b.len() && a[i] == b[j];
        let end = i == a.len() && j == b.len();
        if same || end {
            let (new, around) = std::mem::take(&mut hunk);
            lines.extend(if new.is_empty() { around } else { new });
        }
        if end {
            break;
        } else if same {
            (i, j) = (i + 1, j + 1);
        } else if j < b.len() && (i == a.len() || common[i][j + 1] >= common[i + 1][j]) {
            hunk.0.insert(j as u32 + 1);
            j += 1;
        } else {
            hunk.1.extend([j as u32, j as u32 + 1]);
            i += 1;
        }
    }
    lines
}

/// Small enough to be followed: the others only cost time here.
fn is_small(case: &Case) -> bool {
    case.tensors.iter().map(|t| t.tensor.len()).sum::<usize>() < 3_000
}

/// How often the named statement holds a changed line, at least.
const RIGHT: usize = 240;

/// How many of those that fail by values have products that can be compared, at least.
const KNOWN: usize = 278;

enum Outcome {
    /// No wrong value, or of an element that the formula does not give as a sum of products.
    NotByValues,
    /// The products are not known.
    Unknown,
    Named {
        right: bool,
        line: u32,
        changed: Vec<u32>,
    },
}

/// What the report says of the first small test that `kernel` fails by its values.
fn outcome(
    cases: &[Case],
    solution: &str,
    kernel: &WrongKernel,
    program: &Program,
    namespace: &str,
) -> Outcome {
    // The kernel is one of many in a file, each behind the line that opens its namespace.
    let file = &program.compiled.source.text;
    let start = file.find(namespace).unwrap_or_else(|| panic!("no {namespace} in {file}"));
    let before = file[..start].matches('\n').count() as u32 + 1;
    let changed = changed(solution, &kernel.source);
    let machine = Machine::new(program, None).unwrap();
    let mut outcome = Outcome::NotByValues;
    for case in cases.iter().filter(|case| is_small(case)) {
        let (_, verdict) = grade::judge_case(&machine, program, case).unwrap();
        let Some(diff) = verdict.diffs.first() else { continue };
        if diff.terms.mismatch.got.is_none() || diff.terms.formula.is_none() {
            continue;
        }
        let Some(terms) = &diff.terms.compared else {
            outcome = Outcome::Unknown;
            continue;
        };
        let line = terms.line.as_ref().map_or(0, |line| line.line - before);
        let within = statement(&kernel.source, line);
        let right = changed.iter().any(|line| within.contains(line));
        assert!(terms.rows.iter().any(|row| row.kind != RowKind::Right));
        return Outcome::Named { right, line, changed: changed.into_iter().collect() };
    }
    outcome
}

#[test]
fn the_named_line_is_the_changed_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let workbook = Workbook::open(&root).unwrap_or_else(|f| panic!("{}", f.render(false)));
    let toolchain = Toolchain::locate(&Env::current(), None);
    let toolchain = toolchain.unwrap_or_else(|f| panic!("{}", f.render(false)));
    let bench = Bench { workbook: &workbook, toolchain: &toolchain, on_gpu: false, without: &[] };
    let (mut by_values, mut known, mut right) = (0, 0, 0);
    let mut page = Vec::new();
    for puzzle in workbook.puzzles() {
        let spec = oracle::load(&puzzle.spec, &puzzle.spec);
        if spec.is_ok_and(|spec| spec.is_host()) {
            continue; // has no kernel of its own to follow
        }
        let loaded = check::load(&bench, puzzle).unwrap_or_else(|f| panic!("{}", f.render(false)));
        let solution = &loaded.solution;
        let outcome = |(i, (kernel, variant)): (usize, (&WrongKernel, &Variant))| {
            let Variant::Compiled(program) = variant else {
                panic!("{}: {} does not compile", puzzle.stem, kernel.name)
            };
            (
                kernel.name.clone(),
                outcome(&loaded.cases, solution, kernel, program, &batch_compile::namespace(i)),
            )
        };
        let outcomes =
            loaded.wrong_kernels.kernels.par_chunks(batch_compile::SIZE).flat_map(|kernels| {
                let sources: Vec<&str> = kernels.iter().map(|kernel| &*kernel.source).collect();
                let variants =
                    batch_compile::compile(&toolchain, &workbook, &loaded.spec, &sources);
                let variants = variants.unwrap_or_else(|f| panic!("{}", f.render(false)));
                kernels.par_iter().zip(&variants).enumerate().map(outcome).collect::<Vec<_>>()
            });
        let outcomes: Vec<(String, Outcome)> = outcomes.collect();
        for (name, outcome) in outcomes {
            match outcome {
                Outcome::NotByValues => {}
                Outcome::Unknown => {
                    by_values += 1;
                    page.push(format!("{}: {name}: the products are not known", puzzle.number));
                }
                Outcome::Named { right: true, .. } => {
                    (by_values, known, right) = (by_values + 1, known + 1, right + 1);
                }
                Outcome::Named { line, changed, .. } => {
                    (by_values, known) = (by_values + 1, known + 1);
                    page.push(format!("{}: {name}: line {line}, not {changed:?}", puzzle.number));
                }
            }
        }
    }
    let sum =
        format!("{by_values} fail by values, {known} with products, {right} with the right line");
    let page = format!("{}\n{sum}", page.join("\n"));
    assert!(known >= KNOWN && right >= RIGHT, "{page}");
}
