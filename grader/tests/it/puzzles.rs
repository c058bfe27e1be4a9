//! Every puzzle proves that its verdicts are right: the stub fails, the solution passes, each wrong kernel is caught.

use grader::case::Case;
use grader::failure::Failure;
use grader::grade::{self, Machine};
use grader::spec::{Spec, Test};
use grader::toolchain::Toolchain;
use grader::toolchain::env::Env;
use grader::verdict::TestVerdict;
use grader::workbook::{Puzzle, Workbook};
use grader::{oracle, wrong};
use rayon::prelude::*;
use std::path::Path;

/// The seed of the data. Any seed must do; a fixed one makes a failure repeatable.
const SEED: u64 = 1;

struct Bench {
    workbook: Workbook,
    toolchain: Toolchain,
}

impl Bench {
    fn new() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let workbook = Workbook::open(&root).unwrap_or_else(|f| panic!("{}", f.render(false)));
        let toolchain = Toolchain::locate(&Env::current(), None);
        Self { workbook, toolchain: toolchain.unwrap_or_else(|f| panic!("{}", f.render(false))) }
    }

    fn judge(
        &self,
        spec: &Spec,
        cases: &[Case],
        source: &Path,
    ) -> Result<Vec<TestVerdict>, Failure> {
        let program = grade::compile(&self.toolchain, &self.workbook, spec, source, None)?;
        let machine = Machine::new(&program, None)?;
        cases
            .iter()
            .map(|case| grade::judge_case(&machine, &program, case).map(|(_, verdict)| verdict))
            .collect()
    }

    fn spec(&self, puzzle: &Puzzle) -> (Spec, Vec<Case>) {
        let loaded =
            oracle::load(&puzzle.spec, self.workbook.relative(&puzzle.spec)).and_then(|spec| {
                let tests: Vec<&Test> = spec.tests.iter().collect();
                let cases = grade::cases(&spec, &tests, SEED)?;
                Ok((spec, cases))
            });
        loaded.unwrap_or_else(|f| panic!("{}", f.render(false)))
    }
}

#[test]
fn every_stub_compiles_and_fails_every_test() {
    let bench = Bench::new();
    for puzzle in bench.workbook.puzzles() {
        let (spec, cases) = bench.spec(puzzle);
        let verdicts = bench
            .judge(&spec, &cases, &puzzle.stub)
            .unwrap_or_else(|f| panic!("{}", f.render(false)));
        for verdict in verdicts {
            assert!(!verdict.passed(), "the stub of {} passes {}", puzzle.stem, verdict.test);
        }
    }
}

#[test]
fn every_solution_passes_every_test() {
    let bench = Bench::new();
    for puzzle in bench.workbook.puzzles() {
        let (spec, cases) = bench.spec(puzzle);
        let verdicts = bench
            .judge(&spec, &cases, &puzzle.solution)
            .unwrap_or_else(|f| panic!("{}", f.render(false)));
        assert_eq!(verdicts.len(), spec.tests.len());
        for verdict in verdicts {
            assert!(verdict.passed(), "the solution of {} fails: {verdict:#?}", puzzle.stem);
        }
    }
}

#[test]
fn every_wrong_kernel_is_caught_by_what_it_names() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().unwrap();
    let mut missed = Vec::new();
    for puzzle in bench.workbook.puzzles() {
        let (spec, cases) = bench.spec(puzzle);
        let solution = std::fs::read_to_string(&puzzle.solution).unwrap();
        let text = std::fs::read_to_string(&puzzle.wrong).unwrap();
        let kernels = wrong::parse(&text, bench.workbook.relative(&puzzle.wrong), &solution)
            .unwrap_or_else(|f| panic!("{}", f.render(false)));
        assert!(kernels.len() >= 10, "{} has only {} wrong kernels", puzzle.stem, kernels.len());
        let results: Vec<Option<String>> = kernels
            .par_iter()
            .enumerate()
            .map(|(i, kernel)| {
                let file = folder.path().join(format!("{}_{i}.cu", puzzle.stem));
                std::fs::write(&file, &kernel.source).unwrap();
                match bench.judge(&spec, &cases, &file) {
                    Ok(verdicts) if kernel.is_caught(&verdicts) => None,
                    Ok(verdicts) => {
                        let failed: Vec<_> =
                            verdicts.iter().filter(|v| !v.passed()).map(|v| &v.test).collect();
                        Some(format!(
                            "{}: {:?} fails {failed:?}, not {}",
                            puzzle.stem, kernel.name, kernel.caught_by
                        ))
                    }
                    Err(f) => {
                        Some(format!("{}: {:?}: {}", puzzle.stem, kernel.name, f.render(false)))
                    }
                }
            })
            .collect();
        missed.extend(results.into_iter().flatten());
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn every_puzzle_has_a_chapter_with_three_hints() {
    let bench = Bench::new();
    let summary =
        std::fs::read_to_string(bench.workbook.root().join("book/src/SUMMARY.md")).unwrap();
    for puzzle in bench.workbook.puzzles() {
        let chapter = std::fs::read_to_string(&puzzle.chapter)
            .unwrap_or_else(|e| panic!("{}: {e}", puzzle.chapter.display()));
        for hint in ["Hint 1", "Hint 2", "Hint 3"] {
            assert!(chapter.contains(hint), "{} has no {hint}", puzzle.stem);
        }
        assert!(
            summary.contains(&format!("{}.md", puzzle.stem)),
            "SUMMARY.md lacks {}",
            puzzle.stem
        );
        for include in chapter.split("{{#include ").skip(1) {
            let target = include.split("}}").next().unwrap_or_default();
            let file = target.split(':').next().unwrap_or_default();
            let path = bench.workbook.root().join("book/src").join(file);
            let text = std::fs::read_to_string(&path)
                .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            if let Some(anchor) =
                target.split(':').nth(1).filter(|a| !a.is_empty() && a.parse::<u32>().is_err())
            {
                assert!(text.contains(&format!("ANCHOR: {anchor}")), "{target} has no such anchor");
            }
        }
    }
}
