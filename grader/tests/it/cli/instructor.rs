//! The instructor's commands: a new puzzle is in order, and what is not is named.

use super::{Output, command, output, root};
use std::fs;
use std::path::{Path, PathBuf};

/// A copy of one puzzle of the workbook, and what belongs to it.
struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { dir: tempfile::tempdir().unwrap() };
        for folder in ["puzzles", "solutions", "book/src/figures"] {
            fs::create_dir_all(bench.path(folder)).unwrap();
        }
        for file in
            ["puzzles/01_vector_add.cu", "puzzles/01_vector_add.toml", "solutions/01_vector_add.cu"]
                .into_iter()
                .chain([
                    "solutions/01_vector_add.toml",
                    "book/src/01_vector_add.md",
                    "book/src/figures/01_threads.svg",
                ])
        {
            fs::copy(root().join(file), bench.path(file)).unwrap();
        }
        let summary = "# Summary\n\n# Basics\n\n- [01](01_vector_add.md)\n\n# For instructors\n";
        fs::write(bench.path("book/src/SUMMARY.md"), summary).unwrap();
        bench
    }

    fn path(&self, file: &str) -> PathBuf {
        self.dir.path().join(file)
    }

    fn change(&self, file: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(file)).unwrap();
        assert_eq!(text.matches(from).count(), 1, "{from} in {file}");
        fs::write(self.path(file), text.replace(from, to)).unwrap();
    }

    fn grader(&self, args: &[&str]) -> Output {
        let dir: &Path = self.dir.path();
        output(
            command(args)
                .current_dir(dir)
                .env("LC_ALL", "C.UTF-8")
                .stdin(std::process::Stdio::null()),
        )
    }
}

#[test]
fn a_new_puzzle_is_in_order_and_its_tests_notice_every_mutant() {
    let bench = Bench::new();
    let made = bench.grader(&["new", "51_my_puzzle", "--title", "Scaled rows"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let summary = fs::read_to_string(bench.path("book/src/SUMMARY.md")).unwrap();
    assert!(
        summary.contains("(01_vector_add.md)\n- [51 Scaled rows](51_my_puzzle.md)\n"),
        "{summary}"
    );
    let checked = bench.grader(&["check", "51", "--mutants", "--backend", "vm"]);
    assert_eq!(checked.code, 0, "{}", checked.stdout);
    assert!(checked.stdout.starts_with("51 Scaled rows\n"), "{}", checked.stdout);
    assert!(checked.stdout.contains(", 0 survive"), "{}", checked.stdout);
    // A second time nothing is overwritten.
    let again = bench.grader(&["new", "51_other"]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("puzzle 51 is there already: 51_my_puzzle"), "{}", again.stderr);
    assert!(!bench.path("puzzles/51_other.cu").exists());
}

#[test]
fn a_check_names_what_is_not_in_order() {
    let bench = Bench::new();
    let solution = fs::read_to_string(bench.path("solutions/01_vector_add.cu")).unwrap();
    fs::write(
        bench.path("puzzles/01_vector_add.cu"),
        solution.replace("int N", "int  n").replace('N', "n"),
    )
    .unwrap();
    bench.change("book/src/01_vector_add.md", "Hint 2 (medium)", "Tip 2");
    bench.change("book/src/SUMMARY.md", "01_vector_add.md", "01.md");
    bench.change("solutions/01_vector_add.toml", "# Wrong", "[[wrong]]\nname = 'right'\ncaught_by = 'small_array'\nreplace = [{ from = '// ANCHOR: all', to = '//' }]\n# Wrong");
    let checked = bench.grader(&["check", "--backend", "vm"]);
    assert_eq!(checked.code, 1, "{}", checked.stderr);
    insta::assert_snapshot!(checked.stdout);
}

#[test]
fn survivors_are_shown_with_what_to_write_of_them() {
    let bench = Bench::new();
    // A second guard, which changes nothing.
    bench.change("solutions/01_vector_add.cu", "    C[i] =", "    if (i < 2 * N) C[i] =");
    let text = "[[wrong]]\nname = 'w'\ncaught_by = 'small_array'\nreplace = [{ from = ' + B', to = ' - B' }]\n\
                [[equivalent]]\nreason = 'no reason'\nmutants = [{ from = ' + B', to = ' - B' }]\n";
    fs::write(bench.path("solutions/01_vector_add.toml"), text).unwrap();
    let checked = bench.grader(&["check", "1", "--mutants", "--backend", "vm"]);
    assert_eq!(checked.code, 1, "{}", checked.stderr);
    insta::assert_snapshot!(checked.stdout);
    // What the page proposes explains them.
    let (_, entry) = checked.stdout.split_once("[[equivalent]]").unwrap();
    let entry = entry.replace("reason = \"\"", "reason = \"the first guard is stricter\"");
    let text = text.split("[[equivalent]]").next().unwrap().to_owned() + "[[equivalent]]" + &entry;
    fs::write(bench.path("solutions/01_vector_add.toml"), text).unwrap();
    let checked =
        bench.grader(&["check", "1", "--mutants", "--backend", "vm", "--format", "junit"]);
    assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
    assert!(checked.stdout.contains("<testcase name=\"mutants\""), "{}", checked.stdout);
}
