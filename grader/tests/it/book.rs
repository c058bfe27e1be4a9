//! What the book shows beside its text: programs and what they print, the tests of each puzzle, figures.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The files of a folder that end like this, in the order of their names.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == extension));
    files.sort();
    files
}

/// All that a command of the book prints, run in the workbook's folder.
fn output(arguments: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_grader"));
    command.args(arguments.split_whitespace()).current_dir(root()).env("NO_COLOR", "1");
    let out = command.output().unwrap();
    String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned()
}

/// Whether a line of the output is `shown`, or begins with what stands before its dots.
fn is_printed(shown: &str, output: &str) -> bool {
    let shown = shown.trim();
    let mut lines = output.lines().map(str::trim);
    match shown.strip_suffix("...") {
        Some(start) => lines.any(|line| line.starts_with(start.trim_end())),
        None => lines.any(|line| line == shown),
    }
}

#[test]
fn example_programs_print_what_their_pages_show() {
    let mut shown = 0;
    let mut wrong = Vec::new();
    for page in files("book/src", "md") {
        let text = read(&page);
        for part in text.split("\n$ grader ").skip(1) {
            let part = part.split("\n```").next().unwrap();
            let (arguments, lines) = part.split_once('\n').unwrap_or((part, ""));
            // The stub of puzzle 49 has kernels, which are broken on purpose.
            let known = ["book/examples/", "--solution", " 49 "];
            if !known.iter().any(|file| arguments.contains(file)) {
                continue;
            }
            shown += 1;
            let output = output(arguments);
            for line in lines.lines().filter(|line| !is_printed(line, &output)) {
                wrong.push(format!("{}: grader {arguments}: {line}", page.display()));
            }
        }
    }
    assert!(shown >= 14, "{shown}");
    assert!(wrong.is_empty(), "not printed:\n{}", wrong.join("\n"));
}

/// Names of a specification's tests.
fn tests(spec: &str) -> impl Iterator<Item = &str> {
    spec.split("[[test]]").skip(1).map(|test| {
        let (_, rest) = test.split_once("name").expect("a name");
        rest.split('"').nth(1).expect("a name in quotes")
    })
}

#[test]
fn every_test_of_a_puzzle_is_explained_in_its_chapter() {
    let mut missing = Vec::new();
    for spec in files("puzzles", "toml") {
        let stem = spec.file_stem().unwrap().to_str().unwrap();
        let chapter = read(root().join(format!("book/src/{stem}.md")));
        let (_, section) = chapter.split_once("## What the tests check").expect(stem);
        let section = section.split("\n## ").next().unwrap();
        let names: Vec<&str> = section.split('`').skip(1).step_by(2).collect();
        let names_it = |test: &str| {
            // "_two_rows" and "..._two_rows" stand for the end of a name.
            let ends = |name: &str| name.starts_with('_') && test.ends_with(name);
            names.iter().any(|name| *name == test || ends(name.trim_start_matches('.')))
        };
        missing.extend(tests(&read(&spec)).filter(|test| !names_it(test)).map(str::to_owned));
    }
    assert!(missing.is_empty(), "{missing:?}");
}

/// What chapters quote of reports, the report on a wrong kernel must say: `every_puzzle_is_in_order` looks at that.
#[test]
fn wrong_kernels_get_the_reports_that_chapters_quote() {
    let mut quoted = 0;
    let mut unsaid = Vec::new();
    for list in files("solutions", "toml") {
        let stem = list.file_stem().unwrap().to_str().unwrap();
        let wrong = read(&list);
        let says: Vec<&str> =
            wrong.lines().filter_map(|line| line.strip_prefix("says = ")).collect();
        let chapter = read(root().join(format!("book/src/{stem}.md")));
        let (_, mistakes) = chapter.split_once("## Common mistakes").expect(stem);
        let mistakes = mistakes.split("\n## ").next().unwrap();
        // What is bold names the mistake, in the chapter's words.
        let words = mistakes.split("**").step_by(2).flat_map(str::split_whitespace);
        let words = words.collect::<Vec<_>>().join(" ");
        for quote in words.split('"').skip(1).step_by(2) {
            quoted += 1;
            if !says.iter().any(|said| said.contains(quote)) {
                unsaid.push(format!("{stem}: {quote}"));
            }
        }
    }
    assert!(quoted >= 50, "{quoted}");
    assert!(unsaid.is_empty(), "no wrong kernel says:\n{}", unsaid.join("\n"));
}

#[test]
fn figures_fit_a_phone_and_describe_themselves() {
    for path in files("book/src/figures", "svg") {
        let figure = read(&path);
        let after =
            |start: &str| figure.split_once(start).and_then(|(_, rest)| rest.split('"').next());
        let width = after("style=\"--w:").and_then(|width| width.parse::<u32>().ok());
        // At 440 the smallest letters, of 11.5, are drawn at 9.2 pixels on a phone.
        assert!(width.is_some_and(|width| width <= 440), "{}: {width:?}", path.display());
        let description = after("aria-label=\"").unwrap_or_default();
        assert!(description.len() > 80, "{}: {description:?}", path.display());
        assert!(!figure.contains("\n\n"), "{}: a blank line ends the HTML", path.display());
        assert!(
            !figure.contains("\"></"),
            "{}: python3 book/scripts/compact.py it",
            path.display()
        );
    }
}

/// The scripts with recorded kernels say in their first line how they were made.
#[test]
fn recorded_figures_are_what_the_grader_records() {
    let folder = tempfile::tempdir().unwrap();
    let traces = files("book/src/traces", "js");
    assert!(traces.len() >= 6, "{}", traces.len());
    for path in traces {
        let known = read(&path);
        let (command, rest) = known.split_once('\n').unwrap();
        let (arguments, output_file) =
            command.strip_prefix("// grader ").unwrap().split_once(" --output ").unwrap();
        assert!(path.ends_with(output_file), "{output_file}");
        let again = folder.path().join(path.file_name().unwrap());
        let printed = output(&format!("{arguments} --output {}", again.display()));
        assert!(again.exists(), "{arguments}: {printed}");
        let same = read(&again).split_once('\n').unwrap().1 == rest;
        assert!(same, "run it again: {}", command.trim_start_matches("// "));
    }
}

/// The page on the sources says how each claim can be checked: by a test, by what the checks find, or by a wrong kernel,
/// which it names by its puzzle and its first words, as in `16: tiles rounded down`.
#[test]
fn the_sources_are_checked_by_tests_that_exist() {
    let specs = files("puzzles", "toml").iter().map(read).collect::<Vec<_>>();
    let known: Vec<&str> = specs.iter().flat_map(|spec| tests(spec)).collect();
    let wrong: Vec<(PathBuf, String)> =
        files("solutions", "toml").into_iter().map(|list| (list.clone(), read(list))).collect();
    let caught = wrong.iter().map(|(_, list)| list.as_str()).collect::<String>();
    let has_wrong_kernel = |puzzle: &str, words: &str| {
        wrong.iter().any(|(path, list)| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(puzzle))
                && list.contains(&format!("name = \"{words}"))
        })
    };
    let page = read(root().join("book/src/sources.md"));
    let (mut rows, mut unknown) = (0, Vec::new());
    for row in page.lines().filter(|row| row.matches(" | ").count() == 3) {
        let check = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        rows += 1;
        for name in check.split('`').skip(1).step_by(2) {
            let is_test = known.contains(&name);
            let is_finding = caught.contains(&format!("caught_by = \"{name}\""));
            if let Some((puzzle, words)) = name.split_once(": ") {
                if !has_wrong_kernel(&format!("{puzzle}_"), words) {
                    unknown.push(name.to_owned());
                }
                continue;
            }
            // A command, a file, a formula and a column's heading have other characters.
            let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
            if is_name && !is_test && !is_finding {
                unknown.push(name.to_owned());
            }
        }
    }
    assert!(rows >= 36, "{rows}");
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// The numbers in "01–03, 07": ranges and single ones.
fn numbers(list: &str) -> Vec<u32> {
    let number = |text: &str| text.trim().parse::<u32>().unwrap_or_else(|e| panic!("{text}: {e}"));
    let ranges = list.split(',').map(|part| part.split_once('–').unwrap_or((part, part)));
    ranges.flat_map(|(first, last)| number(first)..=number(last)).collect()
}

#[test]
fn each_path_of_the_map_has_what_its_puzzles_need() {
    let needs = |number: u32| -> Vec<u32> {
        let stem = format!("{number:02}_");
        let specs = files("puzzles", "toml");
        let spec = specs
            .iter()
            .find(|spec| spec.file_name().unwrap().to_str().unwrap().starts_with(&stem));
        let spec = read(spec.unwrap_or_else(|| panic!("no puzzle {number}")));
        let list = spec.lines().find_map(|line| line.strip_prefix("needs = ["));
        let list = list.map_or("", |rest| rest.trim_end_matches(']'));
        if list.is_empty() { Vec::new() } else { numbers(list) }
    };
    let map = read(root().join("book/src/map.md"));
    let paths = map.split("*Puzzles:* ").skip(1).map(|rest| rest.split('.').next().unwrap());
    let mut count = 0;
    for path in paths {
        count += 1;
        let path = numbers(path);
        for (place, &puzzle) in path.iter().enumerate() {
            let missing: Vec<u32> =
                needs(puzzle).into_iter().filter(|need| !path[..place].contains(need)).collect();
            assert!(missing.is_empty(), "path {count}: {puzzle} needs {missing:?} before it");
        }
    }
    assert_eq!(count, 3);
}
