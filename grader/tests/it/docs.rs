//! The reference pages of the book say all that the code knows, and what they say works.

use indexmath::{Formula, TensorType};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join("book/src").join(name)).unwrap()
}

/// The code blocks of a page that are of this kind.
fn blocks<'a>(page: &'a str, kind: &str) -> Vec<&'a str> {
    let fence = format!("```{kind}\n");
    page.split(&fence).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

/// A block has a line `name: type` for each tensor, a blank line, and the formula.
fn formula(block: &str) -> Formula {
    let (declared, text) = block.split_once("\n\n").expect("declarations and a formula");
    let mut types = BTreeMap::new();
    for line in declared.lines() {
        let (name, ty) = line.split_once(": ").expect("a declaration");
        let ty = TensorType::parse(ty).unwrap();
        types.insert(format!("{name}'"), ty.clone());
        types.insert(name.to_owned(), ty);
    }
    types.retain(|name, _| text.contains(name.as_str()));
    Formula::parse(text, &types).unwrap_or_else(|e| panic!("{e:?} in\n{block}"))
}

#[test]
fn the_formulas_of_the_language_page_are_right_and_have_gradients() {
    let page = page("formula_language.md");
    let blocks = blocks(&page, "formula");
    assert!(blocks.len() >= 5);
    for block in blocks {
        formula(block).differentiate().unwrap_or_else(|e| panic!("{e:?} in\n{block}"));
    }
}

#[test]
fn the_gradients_of_the_language_page_are_those_of_its_first_formula() {
    let page = page("formula_language.md");
    let derived = formula(blocks(&page, "formula")[0]).differentiate().unwrap();
    for line in blocks(&page, "text").last().unwrap().lines() {
        let name = line.split('[').next().unwrap();
        assert_eq!(derived.text_of(name).as_deref(), Some(line));
    }
}

/// The names of public fields in a Rust source.
fn fields(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| {
        let (name, _) = line.trim().strip_prefix("pub ")?.split_once(':')?;
        name.chars().all(|c| c.is_ascii_lowercase()).then_some(name)
    })
}

#[test]
fn every_key_of_a_spec_has_a_place_on_its_page() {
    let page = page("spec_reference.md");
    let source = std::fs::read_to_string(root().join("grader/specfile/src/lib.rs")).unwrap();
    for key in fields(&source) {
        let known = ["`KEY`", "[KEY]", "[[KEY]]", "KEY =", "KEY  =", "KEY   ="];
        let shown = known.iter().any(|form| page.contains(&form.replace("KEY", key)));
        assert!(shown, "spec_reference.md does not speak of `{key}`");
    }
}

/// The words in the quotes of what follows each `start`, up to `end`.
fn words<'a>(source: &'a str, start: &str, end: &str) -> Vec<&'a str> {
    let parts = source.split(start).skip(1).filter_map(|rest| rest.split(end).next());
    parts.flat_map(|part| part.split('"').skip(1).step_by(2)).collect()
}

#[test]
fn every_finding_and_every_word_for_repeated_runs_has_a_place() {
    let reference = page("spec_reference.md");
    let read = |file| std::fs::read_to_string(root().join("grader").join(file)).unwrap();
    let repeat = read("spec/src/repeat.rs");
    for word in words(&repeat, "const WORDS", "];") {
        assert!(reference.contains(&format!("`\"{word}\"`")), "{word}");
    }
    let kinds = std::fs::read_dir(root().join("grader/ptxvm/src/finding/kind")).unwrap();
    let mut sources: Vec<String> =
        kinds.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    assert!(sources.len() >= 19, "{} kinds of findings", sources.len());
    sources.extend(["device/src/finding/mod.rs", "device/src/finding/host.rs"].map(read));
    let names: BTreeSet<&str> =
        sources.iter().flat_map(|source| words(source, "fn name(&self)", "\n    }")).collect();
    assert!(names.len() >= 25, "{names:?}");
    // A place in memory is named, too, by a format.
    let names = names.into_iter().filter(|name| !name.contains('{'));
    // These two are no mistake of a kernel.
    for name in names.filter(|name| !["driver-error", "grader-error"].contains(name)) {
        assert!(reference.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn every_counter_has_a_place() {
    let reference = page("spec_reference.md");
    for name in puzzle::counter::Counter::names() {
        assert!(reference.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn every_word_for_data_and_every_function_has_a_place() {
    let kinds = std::fs::read_to_string(root().join("grader/spec/src/kind.rs")).unwrap();
    let reference = page("spec_reference.md");
    let words = kinds.split("const WORDS").nth(1).unwrap().split("];").next().unwrap();
    let words: Vec<&str> = words.split('"').skip(1).step_by(2).collect();
    assert!(words.len() >= 7, "{words:?}");
    for word in words {
        assert!(reference.contains(&format!("`\"{word}\"`")), "{word}");
    }
    let ops =
        std::fs::read_to_string(root().join("grader/notation/src/syntax/operators.rs")).unwrap();
    let language = page("formula_language.md");
    let names: Vec<&str> =
        ops.split("=> \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(names.len() >= 15, "{names:?}");
    for name in names.iter().filter(|name| name.chars().all(char::is_alphabetic)) {
        assert!(language.contains(name), "formula_language.md does not speak of `{name}`");
    }
}

/// Anchor of a heading, as mdbook names it: letters, digits, `-` and `_`, with a `-` for each blank.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_link_of_the_book_leads_somewhere() {
    let mut links = 0;
    let mut linked = BTreeSet::new();
    let folder = root().join("book/src");
    let is_page = |name: &str| Path::new(name).extension().is_some_and(|e| e == "md");
    let chapters: BTreeSet<String> = std::fs::read_dir(&folder)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter(|name| is_page(name))
        .collect();
    for chapter in &chapters {
        let text = page(chapter);
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { chapter } else { file };
            if !is_page(file) {
                continue;
            }
            assert!(chapters.contains(file), "{chapter}: {target}");
            let there = page(file);
            let headings = || there.lines().filter(|line| line.starts_with('#')).map(anchor);
            assert!(
                fragment.is_empty() || headings().any(|a| a == fragment),
                "{chapter}: {target}"
            );
            links += 1;
            if chapter != file && chapter != "SUMMARY.md" {
                linked.insert(file.to_owned());
            }
        }
    }
    assert!(links > 100, "{links}");
    let puzzles = chapters.iter().filter(|name| name.starts_with(|c: char| c.is_ascii_digit()));
    let alone: Vec<_> = puzzles.filter(|name| !linked.contains(*name)).collect();
    assert!(alone.is_empty(), "no other chapter links to {alone:?}");
}
