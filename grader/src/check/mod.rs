//! Is a puzzle in order? What an instructor wants to know before students see it, and what the project's own tests ask.

mod chapter;
mod kernels;
mod mutation;
mod repeat;
pub mod report;
mod signatures;
mod sizes;

pub use mutation::{Mutation, Survivor, mutation};

use crate::wrong::{self, Wrongs};
use diagnostic::Failure;
use judge::grade;
use puzzle::case::Case;
use puzzle::oracle;
use puzzle::spec::{Spec, Test};
use puzzle::workbook::{Puzzle, Workbook};
use toolchain::Toolchain;

/// The seed of the data. Any seed must do; a fixed one makes a problem repeatable.
pub const SEED: u64 = 1;

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What: `stub`, `solution` ...
    pub name: &'static str,
    /// What was found to be right, in a few words.
    pub summary: String,
    /// What is not right, each a sentence or a rendered message.
    pub problems: Vec<String>,
}

impl Item {
    fn new(name: &'static str, summary: String, problems: Vec<String>) -> Self {
        Self { name, summary, problems }
    }

    /// Nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.problems.is_empty()
    }
}

/// What puzzles are checked with.
#[derive(Debug)]
pub struct Bench<'a> {
    /// Where they are.
    pub workbook: &'a Workbook,
    /// Compiles them.
    pub toolchain: &'a Toolchain,
    /// Solutions and stubs run on the GPU, too.
    pub on_gpu: bool,
}

/// A puzzle whose spec is in order, with the data of its tests.
#[derive(Debug)]
pub struct Loaded<'a> {
    /// Which.
    pub puzzle: &'a Puzzle,
    /// Its spec.
    pub spec: Spec,
    /// Its tests, those with little data first.
    pub cases: Vec<Case>,
    /// The text of its solution.
    pub solution: String,
    /// What is known to be wrong, or to change nothing.
    pub wrongs: Wrongs,
}

/// Reads the spec, the solution and the wrong kernels of a puzzle, and draws the data of its tests.
///
/// # Errors
/// One of these files cannot be read or is not in order: nothing else can be checked.
pub fn load<'a>(workbook: &Workbook, puzzle: &'a Puzzle) -> Result<Loaded<'a>, Failure> {
    let spec = oracle::load(&puzzle.spec, workbook.relative(&puzzle.spec))?;
    let tests: Vec<&Test> = spec.tests.iter().collect();
    let mut cases = grade::cases(&spec, &tests, SEED)?;
    cases.sort_by_key(|case| case.tensors.iter().map(|t| t.tensor.len()).sum::<usize>());
    kernels::read(workbook, &puzzle.stub)?;
    let solution = kernels::read(workbook, &puzzle.solution)?;
    let text = kernels::read(workbook, &puzzle.wrong)?;
    let wrongs = wrong::parse(&text, workbook.relative(&puzzle.wrong), &solution)?;
    Ok(Loaded { puzzle, spec, cases, solution, wrongs })
}

/// All that is looked at without mutation testing.
///
/// # Errors
/// The machine lacks what is needed for it: a compiler, room for temporary files.
pub fn all(bench: &Bench<'_>, loaded: &Loaded<'_>) -> Result<Vec<Item>, Failure> {
    let count = loaded.spec.tests.len();
    let spec = format!("in order, {count} test{}", if count == 1 { "" } else { "s" });
    Ok(vec![
        Item::new("spec", spec, needs(bench.workbook, loaded)),
        sizes::check(&loaded.spec),
        signatures::check(bench.workbook, loaded)?,
        kernels::stub(bench, loaded)?,
        repeat::stated(bench, loaded, kernels::solution(bench, loaded)?)?,
        kernels::wrong(bench, loaded)?,
        chapter::check(bench.workbook, loaded.puzzle),
    ])
}

/// Puzzles to be solved first that there are not, or that come later.
fn needs(workbook: &Workbook, loaded: &Loaded<'_>) -> Vec<String> {
    let own = loaded.puzzle.number;
    let known = |number: u32| workbook.puzzles().iter().any(|puzzle| puzzle.number == number);
    let problem = |&number: &u32| match number {
        later if later >= own => {
            Some(format!("needs {number}: only puzzles before {own} can be solved before it"))
        }
        missing if !known(missing) => Some(format!("needs {number}: there is no such puzzle")),
        _ => None,
    };
    loaded.spec.needs.iter().filter_map(problem).collect()
}
