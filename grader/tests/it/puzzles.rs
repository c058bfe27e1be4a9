//! Every puzzle proves that its verdicts are right: what `grader check` looks at, without its mutants.

use grader::check::Bench;
use grader::check::named_line::{NamedLine, Outcome};
use grader::check::report::{Checked, page};
use grader::wrong;
use puzzle::spec::Spec;
use puzzle::workbook::{Puzzle, Workbook};
use report::style::Style;
use std::cmp::Reverse;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::{fs, iter, thread};
use toolchain::Toolchain;
use toolchain::env::Env;

/// Wrong kernels that each puzzle of this workbook catches, at least.
const WRONG: usize = 10;

/// How many wrong kernels with a wrong value, which the formula gives as a sum of products, have products that are known, at least.
const KNOWN: usize = 520;

/// In how many of these the report says to look at a statement that differs from the solution, at least.
const NAMED: usize = 170;

/// In how many of these it says to look at another one, at most: a line that is named and is not wrong costs a student more than none.
const MISNAMED: usize = 15;

/// Tests of puzzles that train for a minute. `long_trainings_pass` runs them, `.ci/run trainings` when their files change.
const LONG: [(u32, &str); 5] = [
    (15, "training_overfit_100"),
    (15, "training_2000_digits"),
    (50, "mixed_overfit_10"),
    (50, "mixed_overfit_100"),
    (50, "mixed_and_fp32"),
];

#[test]
fn every_puzzle_is_in_order() {
    // The programs of 50 take as long as those of all other host puzzles together: `.ci/run trainings` looks at them when
    // one of their files changes.
    let Looked { problems, lines, known, named, misnamed } =
        look(|number| number != 50, &LONG.map(|(_, test)| test));
    assert!(problems.is_empty(), "\n{}", problems.concat());
    let all = lines.len() + named;
    let lines = lines.join("\n");
    let counts = format!(
        "{all} wrong values, {known} with products, {named} with the right line, {misnamed} with another"
    );
    assert!(known >= KNOWN && named >= NAMED && misnamed <= MISNAMED, "{counts}\n{lines}");
}

/// Every report on a wrong kernel should name the cause. `grader check` holds it to that where a finding is the cause, or where the
/// list of wrong kernels gives the words: nine of ten are the aim.
#[test]
fn five_of_six_reports_are_held_to_naming_the_cause() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let workbook = Workbook::open(&root).unwrap_or_else(|f| panic!("{}", f.render(false)));
    let (mut all, mut named) = (0, 0);
    for puzzle in workbook.puzzles() {
        let spec = Spec::load(&puzzle.spec, &puzzle.spec).unwrap();
        let [solution, list] =
            [&puzzle.solution, &puzzle.wrong].map(|path| fs::read_to_string(path).unwrap());
        let wrong = wrong::parse(&list, &puzzle.wrong, &solution).unwrap();
        all += wrong.kernels.len();
        named += wrong.kernels.iter().filter(|kernel| kernel.named_by(&spec).is_some()).count();
    }
    assert!(6 * named >= 5 * all, "{named} of {all}");
}

/// Who includes a header must not get the solution of another puzzle with it: the grader links those.
#[test]
fn no_header_brings_a_solution() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for header in fs::read_dir(root.join("kernels/include")).unwrap() {
        let path = header.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let mut includes = text.lines().filter(|line| line.trim_start().starts_with("#include \""));
        assert!(!includes.any(|line| line.contains(".cu\"")), "{}", path.display());
    }
}

/// What `every_puzzle_is_in_order` leaves to the trainings still compiles, with all that it builds on, and takes a step.
#[test]
fn the_solution_of_puzzle_50_takes_a_step() {
    let test = ["--test", "mixed_one_step", "--backend", "vm", "--seed", "7"];
    let mut grader = Command::new(env!("CARGO_BIN_EXE_grader"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let done = grader.args(["puzzle", "50", "--solution"]).args(test).current_dir(root).output();
    let done = done.unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
}

#[test]
#[ignore = "trains for minutes: .ci/run trainings"]
fn long_trainings_pass() {
    let looked = look(|number| LONG.iter().any(|&(puzzle, _)| puzzle == number), &[]);
    assert!(looked.problems.is_empty(), "\n{}", looked.problems.concat());
}

/// What the checks of puzzles found.
#[derive(Default)]
struct Looked {
    /// What is not in order.
    problems: Vec<String>,
    /// The reports on wrong values that name no line, or another one.
    lines: Vec<String>,
    /// The wrong values whose products are known.
    known: usize,
    /// Those of them whose report names a statement that differs from the solution.
    named: usize,
    /// Those whose report names another one.
    misnamed: usize,
}

/// Checks the puzzles whose numbers are `chosen`, on all cores, without the tests of these names.
fn look(chosen: impl Fn(u32) -> bool, without: &[&str]) -> Looked {
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
    let looked = Mutex::new(Looked::default());
    let work = || {
        for (puzzle, list) in iter::from_fn(next) {
            look_at(&bench, puzzle, &list, &looked);
        }
    };
    // One more than there are cores: it works while another waits for the slowest part of its puzzle.
    let workers = thread::available_parallelism().unwrap().get() + 1;
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    looked.into_inner().unwrap()
}

/// Checks a puzzle whose list of wrong kernels is `list`.
fn look_at(bench: &Bench<'_>, puzzle: &Puzzle, list: &str, looked: &Mutex<Looked>) {
    let wrong = list.matches("[[wrong]]").count();
    let checked = Checked::of(bench, puzzle, false);
    let mut looked = looked.lock().unwrap();
    if wrong < WRONG {
        looked.problems.push(format!("{} has only {wrong} wrong kernels\n", puzzle.stem));
    }
    let checked = match checked {
        Ok(checked) => checked,
        Err(failure) => {
            looked.problems.push(failure.render(false));
            return;
        }
    };
    if !checked.is_good() {
        looked.problems.push(page(&checked, Style::PLAIN));
    }
    for NamedLine { kernel, outcome } in &checked.lines {
        let said = match outcome {
            Outcome::Changed => None,
            Outcome::Uncertain => Some("no line follows from the products".to_owned()),
            Outcome::Unknown => Some("the products are not known".to_owned()),
            Outcome::Other { named, changed } => Some(format!("line {named}, not {changed:?}")),
        };
        looked.known += usize::from(*outcome != Outcome::Unknown);
        looked.named += usize::from(said.is_none());
        looked.misnamed += usize::from(matches!(outcome, Outcome::Other { .. }));
        looked.lines.extend(said.map(|said| format!("{}: {kernel}: {said}", puzzle.number)));
    }
}
