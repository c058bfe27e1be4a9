//! `class.toml`: what a class is graded on, and how.

use crate::civil;
use diagnostic::{Diagnostic, Failure, FailureKind, Mark, Severity, Source};
use puzzle::{spec, workbook};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::value::Datetime;

/// A secret of fewer characters could be guessed.
const SHORTEST_SECRET: usize = 16;

/// The largest of each limit: eleven days, a terabyte of memory, a gigabyte of files.
const MOST: u64 = 1_000_000;

/// The settings of a class.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The file, which other paths are relative to.
    pub path: PathBuf,
    /// The title of the pages.
    pub title: String,
    /// What the seeds are made from.
    pub secret: String,
    /// Where kernels run.
    pub backend: Backend,
    /// The last moment for a submission that loses nothing, in seconds since 1970.
    pub deadline: Option<i64>,
    /// What a late submission loses; without it, late submissions get no points.
    pub late: Option<Late>,
    /// Which of several submissions of a student counts.
    pub tries: Tries,
    /// The limits of each task.
    pub limits: Limits,
    /// How Slurm runs the tasks.
    pub slurm: Slurm,
    /// Whether the students' workbook has the chapters.
    pub chapters: bool,
    /// The counters of kernels that pass become a leaderboard.
    pub leaderboard: bool,
    /// The puzzles, in the order of the file.
    pub puzzles: Vec<PuzzleSettings>,
}

/// What a puzzle is worth, and what its spec does not tell the students.
#[derive(Clone, Debug)]
pub struct PuzzleSettings {
    /// The number of the puzzle.
    pub number: u32,
    /// The points for passing all tests.
    pub points: f64,
    /// The points for passing single tests, besides.
    pub tests: BTreeMap<String, f64>,
    /// A file with `[[test]]` tables that are added to the spec.
    pub hidden: Option<PathBuf>,
    /// Sizes of further hidden tests.
    pub hidden_sizes: Vec<BTreeMap<String, i64>>,
    /// The place of the puzzle's table in the file.
    pub place: Range<usize>,
}

impl PuzzleSettings {
    /// The points for a submission that passes everything.
    pub fn most(&self) -> f64 {
        self.points + self.tests.values().sum::<f64>()
    }
}

/// Where kernels run, as `class.toml` names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// The GPU if there is one, else the virtual machine.
    Auto,
    /// An NVIDIA GPU.
    Gpu,
    /// The PTX virtual machine: the same verdict on every machine.
    #[default]
    Vm,
}

/// What a late submission loses.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Late {
    /// The part of the points that each day, also one that has only begun, costs.
    pub per_day: f64,
    /// After so many days there are no points.
    pub days: u32,
}

/// Which of several submissions of a student counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tries {
    /// Only the first so many are graded.
    pub count: u32,
    /// Which of those gives the points.
    pub keep: Keep,
}

impl Default for Tries {
    fn default() -> Self {
        Self { count: u32::MAX, keep: Keep::Last }
    }
}

/// The try that gives the points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// The one with the most points.
    Best,
    /// The latest one, whatever its points.
    Last,
}

/// The limits of each task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Wall-clock seconds for compiling and running all tests of a puzzle.
    pub seconds: u64,
    /// Megabytes of memory of the process that grades.
    pub memory_mb: u64,
    /// Kilobytes of all files of a submission to a puzzle.
    pub file_kb: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { seconds: 300, memory_mb: 8192, file_kb: 512 }
    }
}

/// How Slurm runs the tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Slurm {
    /// Options of `sbatch`, such as `--gres=gpu:1`.
    pub options: Vec<String>,
    /// Lines of the job script before the grader, such as `module load cuda`.
    pub setup: Vec<String>,
    /// What stands before the grader's command, such as `apptainer exec --nv grader.sif`.
    pub container: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    title: Spanned<String>,
    secret: Spanned<String>,
    #[serde(default)]
    backend: Backend,
    deadline: Option<Spanned<Datetime>>,
    late: Option<Spanned<Late>>,
    tries: Option<Spanned<Tries>>,
    limits: Option<Spanned<Limits>>,
    #[serde(default)]
    slurm: Slurm,
    #[serde(default)]
    chapters: bool,
    #[serde(default)]
    leaderboard: bool,
    puzzle: Vec<Spanned<RawPuzzle>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPuzzle {
    number: Spanned<u32>,
    #[serde(default)]
    points: Option<Spanned<f64>>,
    #[serde(default)]
    tests: BTreeMap<String, Spanned<f64>>,
    hidden: Option<PathBuf>,
    #[serde(default)]
    hidden_sizes: Vec<BTreeMap<String, i64>>,
}

impl Settings {
    /// Reads the settings in `path`.
    ///
    /// # Errors
    /// The file cannot be read, or has a mistake, which is shown with its line.
    pub fn load(path: &Path) -> Result<Self, Failure> {
        let text = workbook::read_text(path).map_err(|e| {
            let title = format!("cannot read {}: {e}", path.display());
            let help = "`grader class new` writes an example; --class FILE names another file";
            Failure::new(FailureKind::Usage, title, help)
        })?;
        Self::parse(&text, path)
    }

    /// Reads the settings `text` of the file `path`.
    ///
    /// # Errors
    /// The text has a mistake, which is shown with its line.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Failure> {
        let raw: Raw = toml::from_str(text).map_err(|e| spec::toml_failure(text, path, &e))?;
        checked(raw, path).map_err(|mistake| mistake.failure(text, path))
    }

    /// The settings of a puzzle.
    pub fn puzzle(&self, number: u32) -> Option<&PuzzleSettings> {
        self.puzzles.iter().find(|puzzle| puzzle.number == number)
    }

    /// A failure that points at a place of the file.
    pub fn failure(&self, place: &Range<usize>, title: String, help: String) -> Failure {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        Mistake(place.clone(), title, help).failure(&text, &self.path)
    }
}

/// A mistake with its place, what is wrong, and what would be right.
struct Mistake(Range<usize>, String, String);

impl Mistake {
    fn failure(self, text: &str, path: &Path) -> Failure {
        let Self(mut span, title, help) = self;
        // Of a whole table, its first line.
        let shown = text.get(span.clone()).unwrap_or_default();
        span.end = span.start + shown.find('\n').unwrap_or(shown.len());
        let marks = vec![Mark { span, label: String::new() }];
        let source = Source { path: path.to_owned(), text: text.to_owned(), marks };
        let severity = Severity::Error;
        let source = Some(source);
        Failure::at(FailureKind::Usage, Diagnostic { severity, title, source, help: vec![help] })
    }
}

fn checked(raw: Raw, path: &Path) -> Result<Settings, Mistake> {
    let mistake = |place, title: &str, help: &str| Mistake(place, title.into(), help.into());
    if raw.secret.get_ref().chars().count() < SHORTEST_SECRET {
        let help = "use at least 16 characters, such as those that `openssl rand -hex 16` prints";
        return Err(mistake(raw.secret.span(), "this secret could be guessed", help));
    }
    let deadline = raw.deadline.map(|at| {
        let help = "write it as 2026-12-01T23:59:00+01:00, with the distance from Greenwich";
        let title = "the deadline needs a date, a time and a time zone";
        civil::seconds(at.get_ref()).ok_or_else(|| mistake(at.span(), title, help))
    });
    let deadline = deadline.transpose()?;
    if let Some(late) = &raw.late {
        if !(0.0..=1.0).contains(&late.get_ref().per_day) {
            let help = "per_day = 0.1 takes a tenth of the points for each day";
            return Err(mistake(late.span(), "per_day is a part of the points, 0 to 1", help));
        }
        if deadline.is_none() {
            let help = "add deadline = 2026-12-01T23:59:00+01:00 above the tables";
            return Err(mistake(late.span(), "nothing is late without a deadline", help));
        }
    }
    if let Some(tries) = raw.tries.as_ref().filter(|tries| tries.get_ref().count == 0) {
        return Err(mistake(tries.span(), "no try is left to grade", "use 1 or more"));
    }
    if let Some(limits) = &raw.limits {
        let Limits { seconds, memory_mb, file_kb } = *limits.get_ref();
        let all = [("seconds", seconds), ("memory_mb", memory_mb), ("file_kb", file_kb)];
        if let Some((key, _)) = all.iter().find(|(_, value)| !(1..=MOST).contains(value)) {
            let title = format!("the limit {key} is out of range");
            return Err(mistake(limits.span(), &title, &format!("limits are 1 to {MOST}")));
        }
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut numbers = BTreeSet::new();
    let mut puzzles: Vec<PuzzleSettings> = Vec::new();
    for table in raw.puzzle {
        let place = table.span();
        let puzzle = puzzle(table.into_inner(), place, folder)?;
        if !numbers.insert(puzzle.number) {
            let title = format!("puzzle {} is listed twice", puzzle.number);
            return Err(mistake(puzzle.place, &title, "remove one of the two"));
        }
        puzzles.push(puzzle);
    }
    if puzzles.is_empty() {
        let help = "add [[puzzle]] with number = 10 and points = 10";
        return Err(mistake(raw.title.span(), "this class has no puzzle", help));
    }
    Ok(Settings {
        path: path.to_owned(),
        title: raw.title.into_inner(),
        secret: raw.secret.into_inner(),
        backend: raw.backend,
        deadline,
        late: raw.late.map(Spanned::into_inner),
        tries: raw.tries.map(Spanned::into_inner).unwrap_or_default(),
        limits: raw.limits.map(Spanned::into_inner).unwrap_or_default(),
        slurm: raw.slurm,
        chapters: raw.chapters,
        leaderboard: raw.leaderboard,
        puzzles,
    })
}

fn puzzle(raw: RawPuzzle, place: Range<usize>, folder: &Path) -> Result<PuzzleSettings, Mistake> {
    let given = raw.points.iter().chain(raw.tests.values());
    for points in given {
        if !(0.0..=1e6).contains(points.get_ref()) {
            let help = "points are 0 to 1000000".into();
            return Err(Mistake(points.span(), "these points are out of range".into(), help));
        }
    }
    let points = raw.points.map(Spanned::into_inner);
    // A puzzle with points for its tests needs no others.
    let points = points.unwrap_or(if raw.tests.is_empty() { 1.0 } else { 0.0 });
    Ok(PuzzleSettings {
        number: *raw.number.get_ref(),
        points,
        tests: raw.tests.into_iter().map(|(name, points)| (name, points.into_inner())).collect(),
        hidden: raw.hidden.map(|file| folder.join(file)),
        hidden_sizes: raw.hidden_sizes,
        place,
    })
}

#[cfg(test)]
mod tests;
