//! Every puzzle proves that its verdicts are right: what `grader check` looks at, without its mutants.

use grader::check::Bench;
use grader::check::report::{Checked, page};
use puzzle::workbook::{Puzzle, Workbook};
use report::style::Style;
use std::cmp::Reverse;
use std::path::Path;
use std::sync::Mutex;
use std::{fs, iter, thread};
use toolchain::Toolchain;
use toolchain::env::Env;

/// Wrong kernels that each puzzle of this workbook catches, at least.
const WRONG: usize = 10;

/// Tests of puzzles that train for a minute. `long_trainings_pass` runs them, `.ci/run trainings` when their files change.
const LONG: [(u32, &str); 2] = [(15, "training_overfit_100"), (15, "training_2000_digits")];

#[test]
fn every_puzzle_is_in_order() {
    let bad = out_of_order(|_| true, &LONG.map(|(_, test)| test));
    assert!(bad.is_empty(), "\n{bad}");
}

#[test]
#[ignore = "trains for minutes: .ci/run trainings"]
fn long_trainings_pass() {
    let bad = out_of_order(|number| LONG.iter().any(|&(puzzle, _)| puzzle == number), &[]);
    assert!(bad.is_empty(), "\n{bad}");
}

/// What is not in order in the puzzles whose numbers are `chosen`, looked at by all cores, without the tests of these names.
fn out_of_order(chosen: impl Fn(u32) -> bool, without: &[&str]) -> String {
    // Not this program, which has no hidden commands.
    device::own_program::set(env!("CARGO_BIN_EXE_grader"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let workbook = Workbook::open(&root).unwrap_or_else(|f| panic!("{}", f.render(false)));
    let toolchain = Toolchain::locate(&Env::current(), None);
    let toolchain = toolchain.unwrap_or_else(|f| panic!("{}", f.render(false)));
    let bench = Bench { workbook: &workbook, toolchain: &toolchain, on_gpu: false, without };
    let read = |puzzle: &Puzzle| fs::read_to_string(&puzzle.wrong).unwrap();
    let puzzles = workbook.puzzles().iter().filter(|puzzle| chosen(puzzle.number));
    let mut puzzles: Vec<(&Puzzle, String)> =
        puzzles.map(|puzzle| (puzzle, read(puzzle))).collect();
    // Those with most to do first, so that no core is idle at the end.
    puzzles.sort_by_key(|(_, list)| Reverse(list.len()));
    let queue = Mutex::new(puzzles.into_iter());
    let next = || queue.lock().unwrap().next();
    let work = || {
        let problems =
            iter::from_fn(next).filter_map(|(puzzle, list)| problem(&bench, puzzle, &list));
        problems.collect::<String>()
    };
    let workers = thread::available_parallelism().unwrap().get();
    thread::scope(|scope| {
        let running: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        running.into_iter().map(|worker| worker.join().unwrap()).collect::<String>()
    })
}

/// What is not in order in a puzzle whose list of wrong kernels is `list`.
fn problem(bench: &Bench<'_>, puzzle: &Puzzle, list: &str) -> Option<String> {
    let wrong = list.matches("[[wrong]]").count();
    if wrong < WRONG {
        return Some(format!("{} has only {wrong} wrong kernels\n", puzzle.stem));
    }
    match Checked::of(bench, puzzle, false) {
        Ok(checked) => (!checked.is_good()).then(|| page(&checked, Style::PLAIN)),
        Err(failure) => Some(failure.render(false)),
    }
}
