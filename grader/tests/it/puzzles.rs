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

#[test]
fn every_puzzle_is_in_order() {
    // Not this program, which has no hidden commands.
    device::own_program::set(env!("CARGO_BIN_EXE_grader"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let workbook = Workbook::open(&root).unwrap_or_else(|f| panic!("{}", f.render(false)));
    let toolchain = Toolchain::locate(&Env::current(), None);
    let toolchain = toolchain.unwrap_or_else(|f| panic!("{}", f.render(false)));
    let bench = Bench { workbook: &workbook, toolchain: &toolchain, on_gpu: false };
    let read = |puzzle: &Puzzle| fs::read_to_string(&puzzle.wrong).unwrap();
    let lists = workbook.puzzles().iter().map(read);
    let mut puzzles: Vec<(&Puzzle, String)> = workbook.puzzles().iter().zip(lists).collect();
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
    let bad = thread::scope(|scope| {
        let running: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        running.into_iter().map(|worker| worker.join().unwrap()).collect::<String>()
    });
    assert!(bad.is_empty(), "\n{bad}");
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
