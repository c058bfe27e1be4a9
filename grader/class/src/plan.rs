//! From settings and submissions to tasks, and who submitted what.

use crate::merged_spec::{self, MergedSpec};
use crate::secret;
use crate::settings::{Backend, Limits, Settings};
use crate::submissions::{Files, Found, Student};
use crate::task::Task;
use diagnostic::{Failure, FailureKind};
use puzzle::workbook::{Puzzle, Workbook};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Part of every key: raise it when results mean something else.
const FORMAT: &str = "gradient-puzzles class 1";

/// What a process on any machine needs to grade the tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The folder of the workbook.
    pub workbook: PathBuf,
    /// The compiler that was named.
    pub nvcc: Option<PathBuf>,
    /// Where kernels run.
    pub backend: Backend,
    /// The limits of each task.
    pub limits: Limits,
    /// The tasks, each once, in the order of the students.
    pub tasks: Vec<Task>,
}

/// Who submitted what.
#[derive(Clone, Debug)]
pub struct Roster {
    /// The students in the order of their names.
    pub students: Vec<Submitted>,
    /// The specs of the puzzles.
    pub specs: BTreeMap<u32, MergedSpec>,
    /// The stems of the puzzles.
    pub stems: BTreeMap<u32, String>,
    /// Entries of the folder that are nobody's, and why.
    pub ignored: Vec<String>,
}

/// The submissions of a student.
#[derive(Clone, Debug)]
pub struct Submitted {
    /// The name, in any characters.
    pub name: String,
    /// What the student handed in, in the order of the submissions.
    pub tries: Vec<TryKeys>,
}

/// A submission with the keys of its tasks.
#[derive(Clone, Debug)]
pub struct TryKeys {
    /// When it was made, in seconds since 1970.
    pub at: i64,
    /// The key of the task of each puzzle.
    pub keys: BTreeMap<u32, String>,
    /// What was strange about it.
    pub notes: Vec<String>,
}

/// What a plan is made for.
#[derive(Clone, Copy, Debug)]
pub struct Class<'a> {
    /// The settings of the class.
    pub settings: &'a Settings,
    /// The workbook of the instructor.
    pub workbook: &'a Workbook,
    /// The folder of the results.
    pub out: &'a Path,
}

impl Class<'_> {
    /// The puzzles of the class, by their numbers.
    ///
    /// # Errors
    /// The workbook lacks one of them.
    pub fn puzzles(&self) -> Result<Vec<&Puzzle>, Failure> {
        let one = |of: &crate::settings::PuzzleSettings| {
            self.workbook.puzzle(of.number).map_err(|_| {
                let title = format!("there is no puzzle {}", of.number);
                let help = format!("the workbook is {}", self.workbook.root().display());
                self.settings.failure(&of.place, title, help)
            })
        };
        self.settings.puzzles.iter().map(one).collect()
    }

    /// Copies the submissions into the class's folder, and lists the tasks.
    ///
    /// # Errors
    /// The settings do not fit the workbook, or the folder cannot be written.
    pub fn plan(&self, found: Found, nvcc: Option<&Path>) -> Result<(Plan, Roster), Failure> {
        let (mut specs, mut stems) = (BTreeMap::new(), BTreeMap::new());
        for (puzzle, of) in self.puzzles()?.into_iter().zip(&self.settings.puzzles) {
            let spec = merged_spec::merge(self.settings, of, puzzle, &self.out.join("specs"))?;
            specs.insert(of.number, spec);
            stems.insert(of.number, puzzle.stem.clone());
        }
        let mut tasks: BTreeMap<String, Task> = BTreeMap::new();
        let mut order = Vec::new();
        let mut students = Vec::new();
        for Student { name, tries } in found.students {
            let mut kept = Vec::new();
            for one in tries.into_iter().take(self.settings.tries.count as usize) {
                let mut keys = BTreeMap::new();
                for (number, files) in one.files {
                    let key = self.key(&specs[&number], &files);
                    if !tasks.contains_key(&key) {
                        let source = self.copy(&key, &stems[&number], &files)?;
                        let seed = secret::seed(&self.settings.secret, &name, number);
                        let of = &specs[&number];
                        let task = Task {
                            key: key.clone(),
                            puzzle: number,
                            source,
                            spec: of.path.clone(),
                            hidden: of.hidden.clone(),
                            seed,
                            leaderboard: self.settings.leaderboard,
                        };
                        tasks.insert(key.clone(), task);
                        order.push(key.clone());
                    }
                    keys.insert(number, key);
                }
                kept.push(TryKeys { at: one.at, keys, notes: one.notes });
            }
            students.push(Submitted { name, tries: kept });
        }
        let tasks = order.iter().filter_map(|key| tasks.remove(key)).collect();
        let plan = Plan {
            workbook: self.workbook.root().to_owned(),
            nvcc: nvcc.map(Path::to_owned),
            backend: self.settings.backend,
            limits: self.settings.limits,
            tasks,
        };
        Ok((plan, Roster { students, specs, stems, ignored: found.ignored }))
    }

    /// A hash of everything that a verdict depends on, but for the seed: equal files are graded once, with the seed of the first
    /// who submitted them.
    fn key(&self, of: &MergedSpec, files: &Files) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut add = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        };
        add(FORMAT.as_bytes());
        add(format!("{:?} {}", self.settings.backend, self.settings.leaderboard).as_bytes());
        add(of.spec.text.as_bytes());
        add(of.hidden.join("\n").as_bytes());
        for header in &of.spec.headers {
            // A header that cannot be read is an error of each compilation.
            add(&fs::read(self.workbook.include_dir().join(header)).unwrap_or_default());
        }
        add(&files.source);
        for (name, bytes) in &files.headers {
            add(name.as_bytes());
            add(bytes);
        }
        hasher.finalize().to_hex()[..32].to_owned()
    }

    /// Copies the files of a submission under names of the grader's own.
    fn copy(&self, key: &str, stem: &str, files: &Files) -> Result<PathBuf, Failure> {
        let folder = self.out.join("sources").join(key);
        let source = folder.join(format!("{stem}.cu"));
        // What is there is the same, since the folder is named by its contents, unless it was changed or its machine lost power.
        let write = |path: &Path, bytes: &[u8]| {
            let is_there = path.is_file() && fs::read(path).is_ok_and(|there| there == bytes);
            if is_there { Ok(()) } else { write_whole(path, bytes) }
        };
        let write_all = || -> io::Result<()> {
            fs::create_dir_all(&folder)?;
            for (name, bytes) in &files.headers {
                write(&folder.join(name), bytes)?;
            }
            write(&source, &files.source)
        };
        write_all().map_err(|e| unwritable(&folder, &e))?;
        Ok(source)
    }
}

impl Plan {
    /// Writes the plan for processes on other machines.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn save(&self, out: &Path) -> Result<PathBuf, Failure> {
        let path = out.join("plan.json");
        let text = serde_json::to_vec(self).unwrap_or_default();
        write_whole(&path, &text).map_err(|e| unwritable(&path, &e))?;
        Ok(path)
    }

    /// Reads what [`Plan::save`] wrote.
    ///
    /// # Errors
    /// There is no plan in the folder.
    pub fn load(out: &Path) -> Result<Self, Failure> {
        let path = out.join("plan.json");
        let read = fs::read(&path).and_then(|text| Ok(serde_json::from_slice(&text)?));
        read.map_err(|e| {
            let title = format!("cannot read {}: {e}", path.display());
            let help = "`grader class grade SUBMISSIONS --slurm N` writes it and starts the slices";
            Failure::new(FailureKind::Usage, title, help)
        })
    }
}

/// How the names of files begin that are being written.
pub(crate) const NEW: &str = ".new-";

/// Writes a file so that nobody sees a part of it.
///
/// # Errors
/// The folder cannot be written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(NEW).tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let title = format!("cannot write {}: {error}", path.display());
    Failure::new(FailureKind::Environment, title, "name another folder with --out")
}
