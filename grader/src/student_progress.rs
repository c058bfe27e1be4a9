//! The student's progress: the outcome of each puzzle's last grading, and whether it still holds.
//!
//! There is no list of solved puzzles that could get lost or out of date. A verdict is kept in the workbook, in
//! [`FOLDER`], under a hash of everything that it depends on: the stub, its headers, the spec and the grader's version. A
//! puzzle is solved if the verdict under the hash of its current stub says so; restoring an earlier text restores its
//! verdict. So each clone of a workbook has its own progress, and `grader clean` does not touch it.

use crate::chapter::LEVELS;
use puzzle::workbook::{Puzzle, Workbook, read};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::Path;
use toolchain::cache::{Cache, Key};
use toolchain::includes::{Headers, Inputs, SearchPath};

/// The name of the folder with the progress in the workbook. Git ignores it, because it holds a `.gitignore`.
pub const FOLDER: &str = ".grader";

/// The outcome of a grading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every test of the puzzle passed.
    Solved,
    /// All tests ran, and at least one failed.
    Fails {
        /// The number of tests that passed.
        passed: usize,
        /// The number of tests.
        total: usize,
    },
    /// Only some tests ran, and at least one of them failed.
    SomeFail,
    /// There is no kernel to run: the file does not compile, or the kernel has another name or signature.
    NoKernel,
}

/// The student's progress in one puzzle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It was never graded.
    NotTried,
    /// It was graded in its current form.
    Graded(Outcome),
    /// It was graded, with this outcome, before the stub, a header, the spec or the grader changed.
    ChangedSince(Outcome),
}

impl State {
    /// Whether the current stub passes every test.
    pub fn is_solved(self) -> bool {
        self == Self::Graded(Outcome::Solved)
    }

    /// The state in words: "solved", "fails", "not tried" or "changed since".
    pub fn name(self) -> &'static str {
        match self {
            Self::NotTried => "not tried",
            Self::Graded(Outcome::Solved) => "solved",
            Self::Graded(_) => "fails",
            Self::ChangedSince(_) => "changed since",
        }
    }

    /// Details to show after the name; may be empty.
    pub fn detail(self) -> String {
        match self {
            Self::NotTried | Self::Graded(Outcome::Solved) => String::new(),
            Self::ChangedSince(Outcome::Solved) => "it was solved".into(),
            Self::Graded(outcome) => outcome.words(),
            Self::ChangedSince(outcome) => format!("then: {}", outcome.words()),
        }
    }
}

impl Outcome {
    fn words(self) -> String {
        match self {
            Self::Solved => "solved".into(),
            Self::Fails { passed, total } => format!("{passed} of {total} tests passed"),
            Self::SomeFail => "a test fails".into(),
            Self::NoKernel => "does not compile".into(),
        }
    }
}

/// The verdicts of one workbook.
#[derive(Clone, Debug)]
pub struct StudentProgress<'a> {
    workbook: &'a Workbook,
    store: Cache,
}

impl<'a> StudentProgress<'a> {
    /// The progress that `workbook` records.
    pub fn of(workbook: &'a Workbook) -> Self {
        let store = Cache::new(workbook.root().join(FOLDER).join("progress"));
        Self { workbook, store }
    }

    /// Progress in `workbook` that a test keeps in a folder of its own.
    #[cfg(test)]
    pub fn kept_in(workbook: &'a Workbook, folder: &Path) -> Self {
        Self { workbook, store: Cache::new(folder.to_path_buf()) }
    }

    /// The hash of everything that a verdict on the stub depends on; `None` if the stub or the spec cannot be read.
    pub fn fingerprint(&self, puzzle: &Puzzle) -> Option<Key> {
        let text = read(&puzzle.stub).ok()?;
        let spec = read(&puzzle.spec).ok()?;
        let search = [self.workbook.include_dir()];
        let folder = puzzle.stub.parent()?;
        let inputs = Inputs::of(&text, folder, SearchPath { folders: &search }, Headers::Any);
        let mut parts =
            vec![env!("CARGO_PKG_VERSION").into(), puzzle.stem.clone().into(), spec, text];
        for header in inputs.headers {
            parts.push(read(&header).unwrap_or_default());
        }
        Some(Key::of("verdict", parts.iter().map(Vec::as_slice)))
    }

    /// The student's progress in `puzzle`.
    pub fn state(&self, puzzle: &Puzzle) -> State {
        let now = self.fingerprint(puzzle).and_then(|key| self.read(&key));
        match (now, self.read(&key("tried", puzzle))) {
            (Some(outcome), _) => State::Graded(outcome),
            (None, Some(outcome)) => State::ChangedSince(outcome),
            (None, None) => State::NotTried,
        }
    }

    /// Records the outcome of grading the stub with this fingerprint.
    pub fn record(&self, puzzle: &Puzzle, fingerprint: &Key, outcome: Outcome) {
        self.write(fingerprint, &outcome);
        self.write(&key("tried", puzzle), &outcome);
        self.write(&last_key(), &puzzle.stem);
    }

    /// The puzzle that was graded last.
    pub fn last(&self) -> Option<&'a Puzzle> {
        let stem: String = self.read(&last_key())?;
        self.workbook.puzzles().iter().find(|puzzle| puzzle.stem == stem)
    }

    /// The puzzle to continue with: the one that was graded last, else the next one.
    pub fn current(&self) -> Option<&'a Puzzle> {
        self.last().filter(|puzzle| !self.state(puzzle).is_solved()).or_else(|| self.next())
    }

    /// The first puzzle that is not solved.
    pub fn next(&self) -> Option<&'a Puzzle> {
        self.workbook.puzzles().iter().find(|puzzle| !self.state(puzzle).is_solved())
    }

    /// The first puzzle after `puzzle` that is not solved, else the first unsolved one of all.
    pub fn next_after(&self, puzzle: &Puzzle) -> Option<&'a Puzzle> {
        let behind = |other: &&Puzzle| other.number > puzzle.number;
        let unsolved = |other: &&Puzzle| !self.state(other).is_solved();
        self.workbook.puzzles().iter().filter(behind).find(unsolved).or_else(|| self.next())
    }

    /// The strongest hint that was shown: 0 to 3.
    pub fn hint_level(&self, puzzle: &Puzzle) -> u8 {
        self.read(&key("hint", puzzle)).unwrap_or(0).min(LEVELS)
    }

    /// Remembers the strongest hint that was shown.
    pub fn set_hint_level(&self, puzzle: &Puzzle, level: u8) {
        self.write(&key("hint", puzzle), &level);
    }

    fn read<T: DeserializeOwned>(&self, key: &Key) -> Option<T> {
        serde_json::from_slice(&self.store.get(key)?).ok()
    }

    /// Writes an entry. If that fails, the student only has to grade again.
    fn write<T: Serialize>(&self, key: &Key, value: &T) {
        hide_from_git(&self.workbook.root().join(FOLDER));
        if let Ok(entry) = serde_json::to_vec(value) {
            self.store.put(key, &entry).ok();
        }
    }
}

fn key(kind: &'static str, puzzle: &Puzzle) -> Key {
    Key::of(kind, [puzzle.stem.as_bytes()])
}

fn last_key() -> Key {
    Key::of("last", [])
}

/// Makes git ignore everything in `folder`. If that fails, `git status` shows the folder, and nothing else breaks.
fn hide_from_git(folder: &Path) {
    let ignore = folder.join(".gitignore");
    if !ignore.exists() {
        std::fs::create_dir_all(folder).and_then(|()| std::fs::write(ignore, "*\n")).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::OnceLock;

    struct Bench {
        dir: tempfile::TempDir,
        workbook: Workbook,
    }

    impl Bench {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            for folder in ["puzzles", "solutions", "kernels/include"] {
                std::fs::create_dir_all(dir.path().join(folder)).unwrap();
            }
            for stem in ["01_a", "03_b", "07_c"] {
                write(dir.path(), &format!("puzzles/{stem}.toml"), "title = \"T\"\n");
                write(dir.path(), &format!("puzzles/{stem}.cu"), "#include \"help.cuh\"\n");
            }
            let workbook = Workbook::open(dir.path()).unwrap();
            Self { dir, workbook }
        }

        fn progress(&self) -> StudentProgress<'_> {
            StudentProgress::of(&self.workbook)
        }

        fn puzzle(&self, number: u32) -> &Puzzle {
            self.workbook.puzzle(number).unwrap()
        }

        fn grade(&self, number: u32, outcome: Outcome) {
            let progress = self.progress();
            let key = progress.fingerprint(self.puzzle(number)).unwrap();
            progress.record(self.puzzle(number), &key, outcome);
        }

        fn state(&self, number: u32) -> State {
            self.progress().state(self.puzzle(number))
        }
    }

    fn write(root: &Path, file: &str, text: &str) {
        std::fs::write(root.join(file), text).unwrap();
    }

    /// What is not understood is as if it were not there.
    #[test]
    fn mutated_progress_is_read() {
        let bench = Bench::new();
        bench.grade(1, Outcome::Solved);
        bench.progress().set_hint_level(bench.puzzle(1), 2);
        let cache = bench.progress().store;
        let puzzle = bench.puzzle(1);
        let keys = [
            key("tried", puzzle),
            key("hint", puzzle),
            last_key(),
            bench.progress().fingerprint(puzzle).unwrap(),
        ];
        for key in keys {
            let whole = cache.get(&key).unwrap();
            for place in 0..whole.len() {
                for byte in *b"\"{9-\xFF" {
                    let mutant = [&whole[..place], &[byte], &whole[place + 1..]].concat();
                    cache.put(&key, &mutant).unwrap();
                    let progress = bench.progress();
                    let _ = (progress.state(puzzle), progress.hint_level(puzzle), progress.last());
                    let _ = (progress.current(), progress.next());
                }
            }
            cache.put(&key, &whole).unwrap();
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2000))]

        /// Several bytes of one of the files at once, and its beginning alone: no panic, and no number beyond what there is.
        #[test]
        fn much_mutated_progress_is_read(
            which in 0..4_usize,
            edits in proptest::collection::vec((0..999_usize, proptest::sample::select(&b"\"{}[]:,019-.eE\\ \0\xFF"[..])), 1..6),
            cut in 0..999_usize,
        ) {
            type Files = [(Key, Vec<u8>); 4];
            static BENCH: OnceLock<(Bench, Files)> = OnceLock::new();
            let (bench, files) = BENCH.get_or_init(|| {
                let bench = Bench::new();
                bench.grade(1, FAILS);
                let (progress, puzzle) = (bench.progress(), bench.puzzle(1));
                progress.set_hint_level(puzzle, 2);
                let verdict = progress.fingerprint(puzzle).unwrap();
                let keys = [key("tried", puzzle), key("hint", puzzle), last_key(), verdict];
                let files = keys.map(|key| (key, progress.store.get(&key).unwrap()));
                (bench, files)
            });
            let (progress, puzzle) = (bench.progress(), bench.puzzle(1));
            let (key, whole) = &files[which];
            let mut mutant = whole.clone();
            for (place, byte) in edits {
                let at = place % mutant.len();
                mutant[at] = byte;
            }
            for mutant in [&mutant[..], &mutant[..cut % mutant.len()]] {
                progress.store.put(key, mutant).unwrap();
                let _ = (progress.state(puzzle), progress.last(), progress.current(), progress.next());
                assert!(progress.hint_level(puzzle) <= LEVELS);
            }
        }
    }

    const FAILS: Outcome = Outcome::Fails { passed: 2, total: 9 };

    #[test]
    fn a_verdict_holds_until_the_stub_a_header_or_the_spec_changes() {
        let changes = [
            ("puzzles/01_a.cu", "// other\n"),
            ("puzzles/01_a.toml", "title = \"U\"\n"),
            ("puzzles/help.cuh", "int x;\n"),
            ("kernels/include/help.cuh", "int x;\n"),
        ];
        for (file, text) in changes {
            let bench = Bench::new();
            assert_eq!(bench.state(1), State::NotTried);
            bench.grade(1, Outcome::Solved);
            assert_eq!(bench.state(1), State::Graded(Outcome::Solved));
            assert_eq!(bench.state(3), State::NotTried);
            write(bench.dir.path(), file, text);
            assert_eq!(bench.state(1), State::ChangedSince(Outcome::Solved), "{file}");
        }
    }

    #[test]
    fn going_back_to_an_earlier_text_brings_its_verdict_back() {
        let bench = Bench::new();
        bench.grade(1, Outcome::Solved);
        let solved = std::fs::read_to_string(&bench.puzzle(1).stub).unwrap();
        write(bench.dir.path(), "puzzles/01_a.cu", "// other\n");
        bench.grade(1, FAILS);
        assert_eq!(bench.state(1), State::Graded(FAILS));
        write(bench.dir.path(), "puzzles/01_a.cu", &solved);
        assert!(bench.state(1).is_solved());
    }

    #[test]
    fn the_next_puzzle_is_the_first_unsolved_one_and_numbers_may_have_gaps() {
        let bench = Bench::new();
        let number = |puzzle: Option<&Puzzle>| puzzle.map(|p| p.number);
        let progress = bench.progress();
        bench.grade(7, FAILS);
        assert_eq!((number(progress.current()), number(progress.next())), (Some(7), Some(1)));
        let bench = Bench::new();
        let progress = bench.progress();
        assert_eq!((number(progress.next()), number(progress.last())), (Some(1), None));
        bench.grade(1, Outcome::Solved);
        bench.grade(3, FAILS);
        assert_eq!((number(progress.next()), number(progress.last())), (Some(3), Some(3)));
        assert_eq!(number(progress.next_after(bench.puzzle(3))), Some(7));
        assert_eq!(number(progress.next_after(bench.puzzle(7))), Some(3));
        bench.grade(3, Outcome::Solved);
        bench.grade(7, Outcome::Solved);
        assert_eq!((number(progress.current()), number(progress.next())), (None, None));
        assert_eq!(number(progress.next_after(bench.puzzle(3))), None);
    }

    #[test]
    fn without_a_place_to_keep_them_nothing_is_remembered_and_nothing_fails() {
        let bench = Bench::new();
        write(bench.dir.path(), FOLDER, "in the way");
        bench.grade(1, Outcome::Solved);
        bench.progress().set_hint_level(bench.puzzle(1), 2);
        assert_eq!(bench.state(1), State::NotTried);
        assert_eq!(bench.progress().hint_level(bench.puzzle(1)), 0);
    }

    #[test]
    fn the_progress_moves_with_the_workbook_and_git_does_not_see_it() {
        let bench = Bench::new();
        bench.grade(1, FAILS);
        assert_eq!(
            std::fs::read_to_string(bench.dir.path().join(".grader/.gitignore")).unwrap(),
            "*\n"
        );
        let elsewhere = tempfile::tempdir().unwrap();
        let moved = elsewhere.path().join("workbook");
        std::fs::rename(bench.dir.path(), &moved).unwrap();
        let workbook = Workbook::open(&moved).unwrap();
        let progress = StudentProgress::of(&workbook);
        assert_eq!(progress.state(workbook.puzzle(1).unwrap()), State::Graded(FAILS));
        assert_eq!(progress.last().map(|puzzle| puzzle.number), Some(1));
    }

    #[test]
    fn a_missing_stub_is_no_verdict() {
        let bench = Bench::new();
        bench.grade(1, FAILS);
        std::fs::remove_file(&bench.puzzle(1).stub).unwrap();
        assert_eq!(bench.state(1), State::ChangedSince(FAILS));
    }

    #[test]
    fn hint_levels_are_kept_for_each_puzzle() {
        let bench = Bench::new();
        assert_eq!(bench.progress().hint_level(bench.puzzle(1)), 0);
        bench.progress().set_hint_level(bench.puzzle(1), 2);
        assert_eq!(bench.progress().hint_level(bench.puzzle(1)), 2);
        assert_eq!(bench.progress().hint_level(bench.puzzle(3)), 0);
    }

    #[test]
    fn states_in_words() {
        let words = |state: State| format!("{} | {}", state.name(), state.detail());
        assert_eq!(words(State::NotTried), "not tried | ");
        assert_eq!(words(State::Graded(Outcome::Solved)), "solved | ");
        assert_eq!(words(State::Graded(FAILS)), "fails | 2 of 9 tests passed");
        assert_eq!(words(State::Graded(Outcome::NoKernel)), "fails | does not compile");
        assert_eq!(words(State::ChangedSince(Outcome::Solved)), "changed since | it was solved");
        let then = "changed since | then: a test fails";
        assert_eq!(words(State::ChangedSince(Outcome::SomeFail)), then);
    }
}
