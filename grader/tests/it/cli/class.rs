//! The commands of a class: from packing to grades.

use super::{Output, command, output, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A class of puzzle 4 whose students hand in these files.
struct Class {
    dir: tempfile::TempDir,
}

impl Class {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let text = "title = \"Class\"\nsecret = \"0123456789abcdef\"\n[[puzzle]]\nnumber = 4\npoints = 2\n\
                    hidden_sizes = [{ n = 77 }]\n";
        fs::write(dir.path().join("class.toml"), text).unwrap();
        for (name, text) in files {
            let path = dir.path().join("submissions").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn grader(&self, args: &[&str]) -> Output {
        let root = root();
        let workbook = ["--workbook", root.to_str().unwrap()];
        output(command(&[&workbook[..], args].concat()).current_dir(self.dir.path()))
    }
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_class_is_graded_once_and_goes_on_where_it_was() {
    let solution = fs::read_to_string(root().join("solutions/04_relu.cu")).unwrap();
    let class = Class::new(&[
        ("ada/04_relu.cu", &solution),
        ("bob/04_relu.cu", &solution),
        ("=cmd<script>/04_relu.cu", "not C++"),
        ("nothing/readme.txt", ""),
    ]);
    let first = class.grader(&["class", "grade", "submissions", "--partly-confined"]);
    assert_eq!(first.code, 0, "{}{}", first.stdout, first.stderr);
    assert!(first.stdout.contains("4 students, 1.00 of 2 points"), "{}", first.stdout);
    let results = names(&class.path("grades/results"));
    assert_eq!(results.len(), 2, "equal files are graded once");
    let table = fs::read_to_string(class.path("grades/class.csv")).unwrap();
    assert!(table.contains("ada,2,2,") && table.contains("bob,2,2,"), "{table}");
    assert!(table.contains("'=cmd<script>") && table.contains("does not compile"), "{table}");
    assert!(table.contains("not submitted"), "{table}");
    let page = fs::read_to_string(class.path("grades/feedback/ada.html")).unwrap();
    assert!(page.contains("1 of 1 hidden tests") && !page.contains("hidden_sizes"), "{page}");
    let here = class.dir.path().to_str().unwrap();
    assert!(!page.contains(here), "the instructor's folders are not shown");

    // As if the grader had been killed before one of the two.
    let lost = results.iter().next().unwrap();
    let kept = results.iter().next_back().unwrap();
    let path = |name: &str| class.path("grades/results").join(name);
    let before = fs::metadata(path(kept)).unwrap().modified().unwrap();
    fs::remove_file(path(lost)).unwrap();
    let second = class.grader(&["class", "grade", "submissions", "--partly-confined"]);
    assert!(second.stderr.contains("graded 2 of 2 tasks, 1 of them before"), "{}", second.stderr);
    assert_eq!(fs::metadata(path(kept)).unwrap().modified().unwrap(), before);
    assert_eq!(fs::read_to_string(class.path("grades/class.csv")).unwrap().len(), table.len());
}

#[test]
fn a_packed_workbook_works_without_solutions() {
    let class = Class::new(&[]);
    let packed = class.grader(&["class", "pack"]);
    assert_eq!(packed.code, 0, "{}{}", packed.stdout, packed.stderr);
    let unpack = std::process::Command::new("python3")
        .args(["-m", "zipfile", "-e", "workbook.zip", "book"])
        .current_dir(class.dir.path())
        .status();
    assert!(unpack.unwrap().success());
    let book = class.path("book");
    assert!(!book.join("solutions").exists());
    let run = |args: &[&str]| output(command(args).current_dir(&book));
    assert!(run(&["list"]).stdout.contains("04"));
    assert_eq!(run(&["hint", "4"]).code, 2, "this class has no chapters");
    let stub = book.join("puzzles/04_relu.cu");
    let original = fs::read_to_string(&stub).unwrap();
    fs::write(&stub, "mine").unwrap();
    let reset = run(&["reset", "4"]);
    assert_eq!(reset.code, 0, "{}", reset.stderr);
    assert_eq!(fs::read_to_string(&stub).unwrap(), original);
    let graded = run(&["puzzle", "4", "--backend", "vm", "--seed", "7"]);
    assert_eq!(graded.code, 1, "{}{}", graded.stdout, graded.stderr);
}

#[test]
fn a_new_puzzle_can_be_the_first_of_a_workbook() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("puzzles")).unwrap();
    let made = output(command(&["new", "01_first", "--title", "First"]).current_dir(dir.path()));
    assert_eq!(made.code, 0, "{}", made.stderr);
    let summary = fs::read_to_string(dir.path().join("book/src/SUMMARY.md")).unwrap();
    assert!(summary.contains("- [01 First](01_first.md)"), "{summary}");
}

#[test]
fn what_breaks_the_grader_down_never_counts_as_passed() {
    let solution = fs::read_to_string(root().join("solutions/04_relu.cu")).unwrap();
    let class = Class::new(&[("ada/04_relu.cu", &solution)]);
    let text = fs::read_to_string(class.path("class.toml")).unwrap();
    let tight = text.replace("[[puzzle]]", "limits = { memory_mb = 1 }\n[[puzzle]]");
    fs::write(class.path("class.toml"), tight).unwrap();
    let grade = ["class", "grade", "submissions", "--partly-confined"];
    let broken = class.grader(&grade);
    assert_eq!(broken.code, 0, "{}{}", broken.stdout, broken.stderr);
    assert!(broken.stdout.contains("needs a look: ada, puzzle 4"), "{}", broken.stdout);
    let page = fs::read_to_string(class.path("grades/feedback/ada.html")).unwrap();
    assert!(page.contains("could not be graded"), "{page}");
    fs::write(class.path("class.toml"), text).unwrap();
    let again = class.grader(&[&grade[..], &["--again"]].concat());
    assert!(again.stdout.contains("1 student, 2.00 of 2 points"), "{}", again.stdout);
}
