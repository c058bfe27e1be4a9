//! What is timed: the kernels of a puzzle, or the steps of a ladder.

use diagnostic::{Failure, FailureKind};
use puzzle::oracle;
use puzzle::spec::{Bench, Spec, ladder};
use puzzle::workbook::{Puzzle, Workbook};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The folder of the ladders in a workbook.
const LADDERS: &str = "kernels/ladders";

/// Kernels to time side by side.
#[derive(Debug)]
pub struct Subject {
    /// `puzzle 46`, or `ladder maxpool2d_backward`.
    pub name: String,
    /// The title of the puzzle or the ladder.
    pub title: String,
    /// The kernels, the student's first, or the steps in their order.
    pub entries: Vec<Entry>,
}

/// A kernel file and the spec that says how it is launched.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What it is called in the report.
    pub label: String,
    /// The path of the kernel file.
    pub file: PathBuf,
    /// The spec that launches it.
    pub spec: Rc<Spec>,
    /// The command that grades it, for a kernel that is wrong.
    pub grading: String,
}

impl Subject {
    /// The puzzle's kernels: the student's file, or `file`, and the solution.
    ///
    /// # Errors
    /// The spec is invalid, or has no `[[bench]]`.
    pub fn puzzle(workbook: &Workbook, number: u32, file: Option<&Path>) -> Result<Self, Failure> {
        let puzzle = workbook.puzzle(number)?;
        let spec = Rc::new(oracle::load(&puzzle.spec, workbook.relative(&puzzle.spec))?);
        if spec.benches.is_empty() {
            let title = format!("puzzle {number} has no [[bench]]");
            let help = "its spec names no sizes that are worth timing; the page \"The specification\" of the book shows how to add some";
            return Err(Failure::new(FailureKind::Usage, title, help));
        }
        let own = file.unwrap_or(&puzzle.stub);
        let mut grading = format!("grader puzzle {number}");
        if let Some(file) = file {
            grading = format!("{grading} --file {}", file.display());
        }
        let entry = |label: &str, file: &Path, grading: String| Entry {
            label: label.to_owned(),
            file: file.to_path_buf(),
            spec: Rc::clone(&spec),
            grading,
        };
        let mut entries = vec![entry("your kernel", own, grading)];
        if puzzle.solution.is_file() && own != puzzle.solution {
            let grading = format!("grader puzzle {number} --solution");
            entries.push(entry("solution", &puzzle.solution, grading));
        }
        Ok(Self { name: format!("puzzle {number}"), title: spec.title.clone(), entries })
    }

    /// The steps of a ladder.
    ///
    /// # Errors
    /// There is no such ladder, its file is invalid, or it has no `[[bench]]`.
    pub fn ladder(workbook: &Workbook, name: &str) -> Result<Self, Failure> {
        let folder = workbook.root().join(LADDERS).join(name);
        let path = folder.join("ladder.toml");
        if !path.is_file() {
            let title = format!("`{name}` is neither the number of a puzzle nor a ladder");
            let known = ladders(workbook).join(", ");
            let help = format!("the ladders are: {known}; `grader list` shows the puzzles");
            return Err(Failure::new(FailureKind::Usage, title, help));
        }
        let mut entries = Vec::new();
        let mut title = String::new();
        for step in ladder(&path, workbook.relative(&path))? {
            oracle::verify(&step.spec)?;
            title.clone_from(&step.spec.title);
            let file = folder.join(format!("{}.cu", step.file));
            entries.push(Entry {
                grading: format!("grader bench {name} --backend vm"),
                label: step.file,
                file,
                spec: Rc::new(step.spec),
            });
        }
        if entries.iter().any(|entry| entry.spec.benches.is_empty()) {
            let title = format!("the ladder `{name}` has no [[bench]]");
            return Err(Failure::new(FailureKind::Usage, title, "add the sizes of its goal"));
        }
        Ok(Self { name: format!("ladder {name}"), title, entries })
    }
}

/// The names of the ladders of a workbook, sorted.
pub fn ladders(workbook: &Workbook) -> Vec<String> {
    let folders = std::fs::read_dir(workbook.root().join(LADDERS));
    let folders = folders.into_iter().flatten().flatten();
    let of_ladders = folders.filter(|folder| folder.path().join("ladder.toml").is_file());
    let mut names: Vec<String> =
        of_ladders.map(|folder| folder.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// What another puzzle's kernel is called beside this one's.
pub fn label_of(number: u32) -> String {
    format!("puzzle {number}")
}

/// The solution of another puzzle that is timed beside a bench, or the student's file where a workbook has no solutions.
///
/// # Errors
/// That puzzle does not exist, or has no bench of the same name.
pub fn beside(workbook: &Workbook, number: u32, bench: &Bench) -> Result<Entry, Failure> {
    let puzzle = workbook.puzzle(number)?;
    let spec = oracle::load(&puzzle.spec, workbook.relative(&puzzle.spec))?;
    if !spec.benches.iter().any(|other| other.name() == bench.name()) {
        let title = format!("puzzle {number} has no [[bench]] named `{}`", bench.name());
        let help = "a bench is timed beside one of the same name";
        return Err(Failure::new(FailureKind::Usage, title, help));
    }
    let Puzzle { stub, solution, .. } = puzzle;
    let file = if solution.is_file() { solution } else { stub };
    Ok(Entry {
        label: label_of(number),
        file: file.clone(),
        spec: Rc::new(spec),
        grading: format!("grader puzzle {number} --file {}", workbook.relative(file).display()),
    })
}
