//! Restores the original stub and keeps what the student wrote.
//!
//! In a workbook that an instructor packed, the original lies beside it. Elsewhere it comes from git: it is the newest committed version that still has all the `TODO`s of the first one.
//! This skips work that the student committed, but not a stub that its author fixed.

use class::pack::ORIGINALS;
use diagnostic::{Failure, FailureKind};
use puzzle::workbook::{Puzzle, Workbook};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use toolchain::env::Env;
use toolchain::process::{Finished, Limits, run};

/// The number of versions of a stub that are examined, newest first.
const MAX_VERSIONS: usize = 200;

const LIMITS: Limits = Limits { timeout: Duration::from_secs(20), output: 8 << 20 };

/// A committed version of a stub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Where it is from, such as "commit 1f3a5c7, 2026-11-20: Add puzzle 10".
    pub origin: String,
    /// The contents of the stub.
    pub text: Vec<u8>,
}

/// The outcome of a reset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reset {
    /// The stub was the original already.
    Unchanged,
    /// The stub is restored; the backup holds its previous contents (`None` if the file was missing).
    Restored(Option<PathBuf>),
}

/// The original stub of `puzzle`.
///
/// # Errors
/// The workbook is not a git clone, git does not track the stub, or git is missing: an environment failure.
pub fn find(env: &Env, workbook: &Workbook, puzzle: &Puzzle) -> Result<Version, Failure> {
    let packed = workbook.root().join(ORIGINALS).join(format!("{}.cu", puzzle.stem));
    if let Ok(text) = fs::read(&packed) {
        return Ok(Version { origin: "the packed workbook".to_owned(), text });
    }
    let git = Git { env, root: workbook.root() };
    let path = workbook.relative(&puzzle.stub);
    let inside = git.run(&["rev-parse", "--is-inside-work-tree"])?;
    if !inside.success() {
        let said = inside.stderr_text();
        let said = said.lines().next().unwrap_or_default().trim_start_matches("fatal: ");
        let title = format!("cannot find the original of `{}`: {said}", path.display());
        let help = "the grader restores stubs from git: use a clone of the workbook's repository";
        return Err(Failure::new(FailureKind::Environment, title, help));
    }
    let name = path.to_string_lossy();
    let count = format!("--max-count={MAX_VERSIONS}");
    let format = "--format=%H %h, %cs: %s";
    let log = git.run(&["log", &count, format, "--diff-filter=AMR", "--", &name])?.stdout_text();
    let mut versions = Vec::new();
    for line in log.lines() {
        let Some((hash, commit)) = line.split_once(' ') else { continue };
        let shown = git.run(&["show", &format!("{hash}:./{name}")])?;
        if shown.success() {
            versions.push(Version { origin: format!("commit {commit}"), text: shown.stdout });
        }
    }
    choose(versions).ok_or_else(|| {
        let title =
            format!("cannot find the original of `{}`: git does not track it", path.display());
        let help = "the grader restores stubs from git: the workbook's author must commit it";
        Failure::new(FailureKind::Environment, title, help)
    })
}

/// The newest version that has all the `TODO`s of the oldest. `versions` start with the newest.
fn choose(versions: Vec<Version>) -> Option<Version> {
    let todos = |version: &Version| version.text.windows(4).filter(|w| w == b"TODO").count();
    let first = versions.last().map(todos)?;
    versions.into_iter().find(|version| todos(version) >= first)
}

/// Checks that there is something in `source` to grade, if it is the stub of `puzzle`: a stub that was deleted or emptied
/// by mistake can be restored.
///
/// # Errors
/// The stub does not exist, or holds nothing but white space.
pub fn check_present(workbook: &Workbook, puzzle: &Puzzle, source: &Path) -> Result<(), Failure> {
    let what = match fs::read(source) {
        _ if source != puzzle.stub => return Ok(()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => "does not exist",
        Ok(text) if text.iter().all(u8::is_ascii_whitespace) => "is empty",
        _ => return Ok(()),
    };
    let title = format!("{} {what}", workbook.relative(source).display());
    let help = format!("`grader reset {}` restores the original stub", puzzle.number);
    Err(Failure::new(FailureKind::Kernel, title, help))
}

/// Writes `original` into the stub, after copying its previous contents to `NN_name.cu.bak1` (or the next free number).
///
/// # Errors
/// A file cannot be read or written; the stub is untouched unless its backup is complete.
pub fn reset(workbook: &Workbook, puzzle: &Puzzle, original: &[u8]) -> Result<Reset, Failure> {
    let stub = &puzzle.stub;
    let cannot = |what: &str, path: &Path, e: &io::Error| {
        let title = format!("cannot {what} `{}`: {e}", workbook.relative(path).display());
        Failure::new(FailureKind::Environment, title, "nothing was changed; fix this and try again")
    };
    let backup = match fs::read(stub) {
        Ok(text) if text == original => return Ok(Reset::Unchanged),
        Ok(text) => Some(back_up(stub, &text).map_err(|e| cannot("back up", stub, &e))?),
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        Err(e) => return Err(cannot("read", stub, &e)),
    };
    fs::write(stub, original).map_err(|e| cannot("write", stub, &e))?;
    Ok(Reset::Restored(backup))
}

/// Copies `text` into the first file `STUB.bakN` that does not exist yet.
fn back_up(stub: &Path, text: &[u8]) -> io::Result<PathBuf> {
    for number in 1_u32.. {
        let mut name = stub.as_os_str().to_owned();
        name.push(format!(".bak{number}"));
        let path = PathBuf::from(name);
        let mut file = match File::options().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(e) => return Err(e),
        };
        file.write_all(text)?;
        file.sync_all()?;
        // A full disk may cause an error only now.
        let mut kept = Vec::new();
        File::open(&path)?.read_to_end(&mut kept)?;
        if kept != text {
            return Err(io::ErrorKind::WriteZero.into());
        }
        return Ok(path);
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

struct Git<'a> {
    env: &'a Env,
    root: &'a Path,
}

impl Git<'_> {
    fn run(&self, arguments: &[&str]) -> Result<Finished, Failure> {
        let mut command = self.env.command("git");
        command.arg("-C").arg(self.root).args(arguments).env("LC_ALL", "C");
        // A literal path, whatever characters it has; and no prompt, which nobody would answer.
        command.env("GIT_LITERAL_PATHSPECS", "1").env("GIT_TERMINAL_PROMPT", "0");
        run(command, Vec::new(), &LIMITS).map_err(|e| {
            let title = format!("cannot start git, which holds the original stubs: {e}");
            Failure::new(FailureKind::Environment, title, "install git")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bench {
        dir: tempfile::TempDir,
        workbook: Workbook,
        env: Env,
    }

    const STUB: &str = "// TODO 1\n// TODO 2\n";

    impl Bench {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            for folder in ["puzzles", "solutions"] {
                fs::create_dir(dir.path().join(folder)).unwrap();
            }
            fs::write(dir.path().join("puzzles/01_a.toml"), "").unwrap();
            fs::write(dir.path().join("puzzles/01_a.cu"), STUB).unwrap();
            let workbook = Workbook::open(dir.path()).unwrap();
            let env = Env::current()
                .with("GIT_CONFIG_GLOBAL", "/dev/null")
                .with("GIT_CONFIG_SYSTEM", "/dev/null")
                .with("GIT_CEILING_DIRECTORIES", dir.path().parent().unwrap());
            Self { dir, workbook, env }
        }

        fn git(&self, arguments: &[&str]) {
            let git = Git { env: &self.env, root: self.dir.path() };
            let done = git.run(arguments).unwrap();
            assert!(done.success(), "{}", done.stderr_text());
        }

        fn commit(&self, text: &str, message: &str) {
            fs::write(self.stub(), text).unwrap();
            let who = ["-c", "user.name=x", "-c", "user.email=x@y"];
            self.git(&["add", "."]);
            self.git(&[&who[..], &["commit", "-q", "-m", message]].concat());
        }

        fn puzzle(&self) -> &Puzzle {
            self.workbook.puzzle(1).unwrap()
        }

        fn stub(&self) -> PathBuf {
            self.puzzle().stub.clone()
        }

        fn find(&self) -> Result<Version, Failure> {
            find(&self.env, &self.workbook, self.puzzle())
        }
    }

    #[test]
    fn the_original_stub_is_the_newest_with_all_todos() {
        let bench = Bench::new();
        bench.git(&["init", "-q"]);
        bench.commit(STUB, "first");
        let mended = "// better\n// TODO 1\n// TODO 2\n";
        bench.commit(mended, "mended");
        bench.commit("// TODO 2\nint x;\n", "the student's");
        fs::write(bench.stub(), "int y;\n").unwrap();
        let found = bench.find().unwrap();
        assert_eq!(String::from_utf8(found.text).unwrap(), mended);
        assert!(found.origin.ends_with(": mended"), "{}", found.origin);
    }

    #[test]
    fn without_git_s_help_it_says_why() {
        let bench = Bench::new();
        let failure = bench.find().unwrap_err();
        assert_eq!(failure.kind, FailureKind::Environment);
        assert!(failure.diagnostics[0].title.contains("not a git repository"));
        bench.git(&["init", "-q"]);
        assert!(bench.find().unwrap_err().diagnostics[0].title.contains("git does not track it"));
        let mut no_git = Bench::new();
        no_git.env = Env::default().with("PATH", "/nonexistent");
        assert!(no_git.find().unwrap_err().diagnostics[0].title.contains("cannot start git"));
    }

    #[test]
    fn every_version_of_the_student_s_is_kept() {
        let bench = Bench::new();
        let reset = || reset(&bench.workbook, bench.puzzle(), STUB.as_bytes()).unwrap();
        assert_eq!(reset(), Reset::Unchanged);
        for number in 1..=3 {
            let text = format!("version {number}\n");
            fs::write(bench.stub(), &text).unwrap();
            let backup = bench.stub().with_extension(format!("cu.bak{number}"));
            assert_eq!(reset(), Reset::Restored(Some(backup.clone())));
            assert_eq!(fs::read_to_string(backup).unwrap(), text);
            assert_eq!(fs::read_to_string(bench.stub()).unwrap(), STUB);
        }
        assert_eq!(
            fs::read_to_string(bench.stub().with_extension("cu.bak1")).unwrap(),
            "version 1\n"
        );
        fs::remove_file(bench.stub()).unwrap();
        assert_eq!(reset(), Reset::Restored(None));
        assert_eq!(fs::read_to_string(bench.stub()).unwrap(), STUB);
    }

    #[test]
    fn what_cannot_be_backed_up_is_not_overwritten() {
        let bench = Bench::new();
        fs::remove_file(bench.stub()).unwrap();
        fs::create_dir(bench.stub()).unwrap();
        assert!(reset(&bench.workbook, bench.puzzle(), STUB.as_bytes()).is_err());
        assert!(bench.stub().is_dir());
    }
}
