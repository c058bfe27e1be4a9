//! The commands of a class: from packing to grades.

use super::{Output, command, output, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use toolchain::Toolchain;
use toolchain::env::Env;

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

    // What checkers of similarity read: a folder for each puzzle, a file for each student.
    let similarity = class.path("grades/similarity/04_relu");
    let files = names(&similarity);
    assert!(files.len() == 4 && files.contains("ada.cu") && files.contains("bob.cu"), "{files:?}");
    assert_eq!(fs::read_to_string(similarity.join("bob.cu")).unwrap(), solution);
    let info = fs::read_to_string(similarity.join("info.csv")).unwrap();
    assert!(info.starts_with("filename,label,full_name,created_at\n"), "{info}");

    // As if the grader had been killed before one of the two, and its machine had lost the copy of the files.
    let path = |name: &str| class.path("grades/results").join(name);
    let is_adas = |name: &&String| fs::read_to_string(path(name)).unwrap().contains("\"judged\"");
    let lost = results.iter().find(is_adas).unwrap();
    let kept = results.iter().find(|name| *name != lost).unwrap();
    let copies = class.path("grades/sources").join(lost.trim_end_matches(".json"));
    fs::write(copies.join("04_relu.cu"), "").unwrap();
    let before = fs::metadata(path(kept)).unwrap().modified().unwrap();
    fs::remove_file(path(lost)).unwrap();
    let second = class.grader(&["class", "grade", "submissions", "--partly-confined"]);
    assert!(second.stderr.contains("graded 2 of 2 tasks, 1 of them before"), "{}", second.stderr);
    assert_eq!(fs::metadata(path(kept)).unwrap().modified().unwrap(), before);
    assert_eq!(fs::read_to_string(class.path("grades/class.csv")).unwrap().len(), table.len());
}

#[test]
fn results_are_no_submissions() {
    let class = Class::new(&[]);
    let refused = class.grader(&["class", "grade", ".", "--partly-confined"]);
    assert_eq!(refused.code, 2, "{}", refused.stdout);
    assert!(
        refused.stderr.contains("grades would lie among the submissions"),
        "{}",
        refused.stderr
    );
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
    let unchanged = run(&["reset", "4"]).stdout;
    assert!(unchanged.ends_with("has not changed since the packed workbook\n"), "{unchanged}");
    fs::write(&stub, "mine").unwrap();
    let reset = run(&["reset", "4"]);
    assert_eq!(reset.code, 0, "{}", reset.stderr);
    assert_eq!(fs::read_to_string(&stub).unwrap(), original);
    let graded = run(&["puzzle", "4", "--backend", "vm", "--seed", "7"]);
    assert_eq!(graded.code, 1, "{}{}", graded.stdout, graded.stderr);
}

/// As Gradescope runs it: the package lies in `source`, `setup.sh` runs once, and `run_autograder` for each submission.
#[test]
fn the_autograder_works_in_its_platforms_layout() {
    let class = Class::new(&[]);
    let packed = class.grader(&["class", "pack", "--gradescope", "--out", "autograder.zip"]);
    assert_eq!(packed.code, 0, "{}{}", packed.stdout, packed.stderr);
    let solution = fs::read_to_string(root().join("solutions/04_relu.cu")).unwrap();
    let place = class.path("autograder");
    fs::create_dir_all(place.join("submission")).unwrap();
    fs::write(place.join("submission/04_relu.cu"), solution).unwrap();
    let data = r#"{"created_at": "2026-11-01T12:00:00.000000-08:00", "users": [{"email": "ada@school.edu"}]}"#;
    fs::write(place.join("submission_metadata.json"), data).unwrap();
    let nvcc = Toolchain::locate(&Env::current(), None).map(|found| found.nvcc().path.clone());
    let nvcc = nvcc.unwrap_or_else(|failure| panic!("{}", failure.render(false)));
    let run = |program: &str, args: &[&str]| {
        let mut command = std::process::Command::new(program);
        let command = command.args(args).current_dir(class.dir.path());
        output(command.env("AUTOGRADER", &place).env("NVCC", &nvcc))
    };
    let unpacked = run("python3", &["-m", "zipfile", "-e", "autograder.zip", "autograder/source"]);
    assert_eq!(unpacked.code, 0, "{}", unpacked.stderr);
    // What the headers of puzzles with host code only declare.
    assert!(place.join("source/workbook/kernels/references/lenet_kernels.cu").is_file());
    for script in ["autograder/source/setup.sh", "autograder/source/run_autograder"] {
        let done = run("bash", &[script]);
        assert_eq!(done.code, 0, "{script}: {}{}", done.stdout, done.stderr);
    }
    let results = fs::read(place.join("results/results.json")).unwrap();
    let results: serde_json::Value = serde_json::from_slice(&results).unwrap();
    assert_eq!(results["score"], 2.0, "{results}");
    let tests = results["tests"].as_array().unwrap();
    let hidden = tests.iter().filter(|test| test["visibility"] == "hidden").count();
    assert!(hidden == 1 && tests.len() > 8, "{results}");
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

/// Names and texts of students in every file that comes out: no markup, no formula, no control character, no file elsewhere.
#[test]
fn what_students_write_stays_text_in_every_export() {
    let solution = fs::read_to_string(root().join("solutions/04_relu.cu")).unwrap();
    let markup = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>";
    let prints = format!("printf(\"{markup}\\033[2J=cmd|' /C calc'!A0\\n\"); int i =");
    let printing =
        format!("#include <cstdio>\n// {markup}\n{}", solution.replacen("int i =", &prints, 1));
    let wrong = printing.replace("? 0.0f : input[i]", "? 1.0f : input[i]");
    assert_ne!(wrong, printing);
    let long = "n".repeat(250);
    let names = [
        "=cmd|' \u{2028}C calc'!A0",
        "<script>alert(3)<\u{2215}script>",
        "\"><img src=x onerror=alert(4)>",
        "a\nb,9,9\r\nc",
        "\u{1b}]0;title\u{7}\u{1b}[2J",
        "\u{202e}drawkcab",
        "ada",
        "ada\u{200b}",
        "ada\u{2060}",
        "..",
        "-rf",
        "$(touch OWNED)`touch OWNED`",
        "%s%n{}\\",
        &long,
    ];
    let files = names.iter().filter(|name| **name != "..").enumerate();
    let file = |(i, name): (usize, &&str)| {
        (
            format!("{name}/04_relu.cu"),
            format!("// {i}\n{}", if i % 2 == 0 { &wrong } else { &printing }),
        )
    };
    let files: Vec<(String, String)> = files.map(file).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let class = Class::new(&files);
    let done = class.grader(&["class", "grade", "submissions", "--partly-confined"]);
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    let out = class.path("grades");
    let mut folders = vec![out.clone()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = entry.file_name().unwrap().to_str().unwrap();
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)), "{name}");
            if entry.is_dir() {
                folders.push(entry);
                continue;
            }
            let text = fs::read_to_string(&entry).unwrap();
            let Some(end) = entry.extension().and_then(|end| end.to_str()) else { continue };
            seen += 1;
            let control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
            assert!(end == "cu" || !text.contains(control), "{name}");
            let unseen = ['\u{200b}', '\u{2028}', '\u{202e}', '\u{2060}'];
            assert!(!["html", "csv", "xml"].contains(&end) || !text.contains(unseen), "{name}");
            match end {
                "html" => {
                    let lower = text.to_lowercase();
                    assert!(
                        !lower.contains("<script") && !lower.contains("<img"),
                        "{name}: {text}"
                    );
                }
                "csv" => {
                    for cell in text.split(['\n', ',']) {
                        assert!(
                            !cell.trim_start_matches('"').starts_with(['=', '@', '+']),
                            "{name}: {cell}"
                        );
                    }
                }
                "xml" => assert!(!text.contains("<script"), "{name}"),
                "json" => {
                    assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{name}");
                }
                _ => {}
            }
        }
    }
    assert!(seen > 60, "{seen}");
    assert!(!class.path("OWNED").exists() && !root().join("OWNED").exists());
    assert!(done.stdout.lines().count() < 10, "{}", done.stdout);
}

/// Two graders on one folder grade each task once between them; what was killed goes on.
#[test]
fn two_graders_on_one_folder_share_the_work() {
    let solution = fs::read_to_string(root().join("solutions/04_relu.cu")).unwrap();
    let texts: Vec<(String, String)> =
        (0..6).map(|i| (format!("s{i}/04_relu.cu"), format!("// {i}\n{solution}"))).collect();
    let files: Vec<(&str, &str)> = texts.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let class = Class::new(&files);
    let root = root();
    let args = [
        "--workbook",
        root.to_str().unwrap(),
        "class",
        "grade",
        "submissions",
        "--partly-confined",
        "--jobs",
        "2",
    ];
    let start = || {
        command(&args)
            .current_dir(class.dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut killed = start();
    let deadline = Instant::now() + Duration::from_secs(120);
    // A file that was being written as the grader died stays for a minute beside the results.
    let results = || {
        let entries = fs::read_dir(class.path("grades/results")).into_iter().flatten().flatten();
        entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "json")).count()
    };
    while results() == 0 {
        assert!(Instant::now() < deadline && killed.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(5));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    for mut grader in [start(), start()] {
        assert!(grader.wait().unwrap().success());
    }
    let log = fs::read_to_string(class.path("grades/graded.log")).unwrap();
    let tasks: BTreeSet<&str> = log.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(tasks.len(), log.lines().count(), "a task was graded twice: {log}");
    // The one that was killed may have had its results written, and not yet their lines.
    assert!(tasks.len() >= 4 && results() == 6, "{log}");
    let table = fs::read_to_string(class.path("grades/class.csv")).unwrap();
    assert_eq!(table.matches(",passed,").count(), 6, "{table}");
}

/// Whoever stops a job may end the workers before the grader that would write down that they broke down.
#[test]
fn a_worker_that_is_killed_is_not_what_a_submission_did() {
    let solution = fs::read_to_string(root().join("solutions/04_relu.cu")).unwrap();
    let class = Class::new(&[("ada/04_relu.cu", &format!("// A text of its own.\n{solution}"))]);
    let root = root();
    let workbook = ["--workbook", root.to_str().unwrap()];
    let args = [&workbook[..], &["class", "grade", "submissions", "--partly-confined"]].concat();
    let start = || {
        let grader = command(&args).current_dir(class.dir.path()).stdout(Stdio::null()).spawn();
        grader.unwrap()
    };
    let worker = |grader: &mut std::process::Child| loop {
        if let Some(worker) = super::children(grader).first() {
            return rustix::process::Pid::from_raw(worker.parse().unwrap()).unwrap();
        }
        assert!(grader.try_wait().unwrap().is_none(), "there was no worker");
        std::thread::sleep(Duration::from_millis(2));
    };
    let kill = |process| {
        rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
    };
    let mut stopped = start();
    kill(worker(&mut stopped));
    std::thread::sleep(Duration::from_millis(500));
    stopped.kill().unwrap();
    stopped.wait().unwrap();
    assert!(names(&class.path("grades/results")).is_empty(), "nothing is known of it");

    let mut goes_on = start();
    kill(worker(&mut goes_on));
    assert!(goes_on.wait().unwrap().success());
    let table = fs::read_to_string(class.path("grades/class.csv")).unwrap();
    assert!(table.contains("ada,2,2,"), "{table}");
}
