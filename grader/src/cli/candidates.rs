//! What the workbook has to offer for an argument: the puzzles' numbers and the tests' names.

use super::console;
use crate::contents;
use bench::ladders;
use clap_complete::engine::CompletionCandidate;
use puzzle::draw;
use puzzle::oracle;
use puzzle::spec::DRAWN;
use std::env;
use std::path::Path;

/// The numbers of all puzzles, with their titles.
pub(super) fn puzzles() -> Vec<CompletionCandidate> {
    let words = words();
    let Ok(workbook) = console::workbook(named_workbook(&words)) else { return Vec::new() };
    let candidate = |entry: contents::Entry<'_>| {
        let title = entry.title;
        CompletionCandidate::new(entry.puzzle.number.to_string()).help(Some(title.into()))
    };
    contents::entries(&workbook).into_iter().map(candidate).collect()
}

/// The numbers of all puzzles, and the names of all ladders.
pub(super) fn benches() -> Vec<CompletionCandidate> {
    let words = words();
    let Ok(workbook) = console::workbook(named_workbook(&words)) else { return Vec::new() };
    puzzles()
        .into_iter()
        .chain(ladders(&workbook).into_iter().map(CompletionCandidate::new))
        .collect()
}

/// The names of the tests of the puzzle whose number was typed.
pub(super) fn tests() -> Vec<CompletionCandidate> {
    let words = words();
    let spec = || {
        let workbook = console::workbook(named_workbook(&words)).ok()?;
        let puzzle = workbook.puzzle(typed_number(&words)?).ok()?;
        oracle::load(&puzzle.spec, workbook.relative(&puzzle.spec)).ok()
    };
    let Some(spec) = spec() else { return Vec::new() };
    let drawn = draw::drawn(&spec).map(|_| CompletionCandidate::new(DRAWN));
    let candidate = |test: puzzle::spec::Test| {
        CompletionCandidate::new(test.name).help(test.about.map(Into::into))
    };
    spec.tests.into_iter().map(candidate).chain(drawn).collect()
}

/// The words of the command line to complete, behind the program's name.
fn words() -> Vec<String> {
    let words = env::args_os().skip_while(|word| word != "--").skip(2);
    words.map(|word| word.to_string_lossy().into_owned()).collect()
}

/// The folder behind `--workbook`.
fn named_workbook(words: &[String]) -> Option<&Path> {
    let mut words = words.iter();
    words.find(|word| *word == "--workbook")?;
    words.next().map(Path::new)
}

/// The number behind the command: the first word after it that is a number and not a seed.
fn typed_number(words: &[String]) -> Option<u32> {
    let mut before = "";
    words.iter().find_map(|word| {
        let number = word.parse().ok().filter(|_| before != "--seed");
        before = word.as_str();
        number
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_puzzle_is_the_number_that_is_not_the_seed() {
        let number =
            |line: &str| typed_number(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(number("puzzle 10 --test"), Some(10));
        assert_eq!(number("puzzle --seed 7 10 --test"), Some(10));
        assert_eq!(number("puzzle --solution 10 --test co"), Some(10));
        assert_eq!(number("puzzle --test"), None);
    }
}
