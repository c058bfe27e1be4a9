//! The output of `grader check`.

use super::named_line::NamedLine;
use super::{Bench, Item, Mutation, Survivor};
use crate::contents;
use diagnostic::{Failure, FailureKind};
use puzzle::workbook::Puzzle;
use report::junit::document::{self, Case, Outcome, Reason, Suite};
use report::style::{Style, Tone};
use serde_json::{Value, json as value};
use std::path::Path;
use toolchain::spinner::DelayedSpinner;

/// The results of the checks of one puzzle.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The number of the puzzle.
    pub number: u32,
    /// The title of the puzzle.
    pub title: String,
    /// The results of the checks.
    pub items: Vec<Item>,
    /// The lines that the reports on its wrong kernels name.
    pub lines: Vec<NamedLine>,
    /// The path of the list of wrong kernels.
    pub wrong: String,
    /// The path of the solution.
    pub solution: String,
    /// The result of mutation testing, if it was requested.
    pub mutation: Option<Mutation>,
}

impl Checked {
    /// Checks a puzzle; with `mutants`, also by mutation testing.
    ///
    /// # Errors
    /// The machine lacks something: a compiler, space for temporary files.
    pub fn of(bench: &Bench<'_>, puzzle: &Puzzle, mutants: bool) -> Result<Self, Failure> {
        let shown = |path: &Path| bench.workbook.relative(path).display().to_string();
        let mut checked = Self {
            number: puzzle.number,
            title: contents::title(puzzle),
            items: Vec::new(),
            lines: Vec::new(),
            wrong: shown(&puzzle.wrong),
            solution: shown(&puzzle.solution),
            mutation: None,
        };
        match checked.fill(bench, puzzle, mutants) {
            Err(failure) if failure.kind == FailureKind::Environment => Err(failure),
            // The other puzzles are checked all the same.
            Err(failure) => {
                let problems = vec![failure.render(false)];
                checked.items.push(Item { name: "files", summary: String::new(), problems });
                Ok(checked)
            }
            Ok(()) => Ok(checked),
        }
    }

    fn fill(&mut self, bench: &Bench<'_>, puzzle: &Puzzle, mutants: bool) -> Result<(), Failure> {
        let mut loaded = super::load(bench, puzzle)?;
        let progress = DelayedSpinner::new(&format!("checking {}", puzzle.stem));
        (self.items, self.lines) = super::all(bench, &mut loaded)?;
        drop(progress);
        if mutants {
            self.mutation = Some(super::mutation(bench, &loaded)?);
        }
        Ok(())
    }

    /// Whether no check found a problem.
    pub fn is_good(&self) -> bool {
        let mutation = self.mutation.as_ref();
        self.items.iter().all(Item::is_good)
            && mutation.is_none_or(|m| m.survivors.is_empty() && m.stale.is_empty())
    }

    /// All problems, grouped by check.
    fn problems(&self) -> Vec<(&'static str, Vec<String>)> {
        let mut all: Vec<_> =
            self.items.iter().map(|item| (item.name, item.problems.clone())).collect();
        if let Some(mutation) = &self.mutation {
            let survivors =
                mutation.survivors.iter().map(|survivor| diff(survivor, &self.solution).join("\n"));
            let stale = mutation.stale.iter().map(|reason| stale(reason));
            all.push(("mutants", survivors.chain(stale).collect()));
        }
        all
    }
}

/// The output as text for people.
pub fn page(checked: &Checked, style: Style) -> String {
    let title = format!("{:02} {}", checked.number, checked.title);
    let mut lines = vec![style.paint(Tone::Strong, &title)];
    for item in &checked.items {
        lines.push(line(item.name, item.is_good().then_some(&item.summary), style));
        lines.extend(item.problems.iter().flat_map(|problem| indented(problem)));
    }
    if let Some(mutation) = &checked.mutation {
        let good = mutation.survivors.is_empty() && mutation.stale.is_empty();
        let summary = counts(mutation);
        lines.push(line("mutants", good.then_some(&summary), style));
        if !good {
            lines.push(format!("      {summary}"));
            lines.extend(mutation.stale.iter().flat_map(|reason| indented(&stale(reason))));
        }
        for survivor in &mutation.survivors {
            lines.push(String::new());
            for text in diff(survivor, &checked.solution) {
                let tone = match text.as_bytes().first() {
                    Some(b'-') => Tone::Bad,
                    Some(b'+') => Tone::Good,
                    _ => Tone::Faint,
                };
                lines.push(format!("      {}", style.paint(tone, &text)));
            }
        }
        if !mutation.survivors.is_empty() {
            lines.push(String::new());
            lines.extend(indented(&format!(
                "Kill each with a test that distinguishes it from the solution, or explain it in {}:\n\n{}",
                checked.wrong,
                entry(&mutation.survivors)
            )));
        }
    }
    lines.join("\n") + "\n\n"
}

fn line(name: &str, good: Option<&String>, style: Style) -> String {
    match good {
        Some(summary) => {
            format!("  {} {name:<15}{summary}", style.paint(Tone::Good, style.either("✔", "ok")))
        }
        None => format!("  {} {name}", style.paint(Tone::Bad, style.either("✘", "FAIL"))),
    }
}

fn indented(text: &str) -> Vec<String> {
    text.lines().map(|line| format!("      {line}").trim_end().to_owned()).collect()
}

fn counts(mutation: &Mutation) -> String {
    let Mutation { total, rejected, same_code, killed, endless, explained, survivors, .. } =
        mutation;
    let endless = match endless {
        0 => String::new(),
        n => format!(" ({n} endless)"),
    };
    format!(
        "{total}: {killed} killed{endless}, {same_code} the same code, {rejected} do not compile, {explained} explained, {} survive",
        survivors.len()
    )
}

fn stale(reason: &str) -> String {
    format!(
        "explained, but a test kills it, or it is not a mutant: {reason:?}; remove the explanation"
    )
}

/// The changed lines, as in a patch.
fn diff(survivor: &Survivor, solution: &str) -> Vec<String> {
    let (from, to): (Vec<&str>, Vec<&str>) =
        (survivor.from.lines().collect(), survivor.to.lines().collect());
    let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let same_after =
        from[same..].iter().rev().zip(to[same..].iter().rev()).take_while(|(a, b)| a == b).count();
    let mut lines = vec![format!("{solution}:{}", survivor.line)];
    lines.extend(
        from[same..from.len() - same_after].iter().map(|line| format!("- {}", line.trim())),
    );
    lines.extend(to[same..to.len() - same_after].iter().map(|line| format!("+ {}", line.trim())));
    lines
}

/// The text to paste into the list of wrong kernels.
fn entry(survivors: &[Survivor]) -> String {
    let quoted = |text: &str| {
        if text.contains('\'') || text.contains('\n') {
            value!(text).to_string()
        } else {
            format!("'{text}'")
        }
    };
    let mutant =
        |s: &Survivor| format!("  {{ from = {}, to = {} }},\n", quoted(&s.from), quoted(&s.to));
    let mutants: String = survivors.iter().map(mutant).collect();
    format!("[[equivalent]]\nreason = \"\"\nmutants = [\n{mutants}]")
}

/// The output as one JSON document.
pub fn json(all: &[Checked]) -> String {
    let puzzle = |checked: &Checked| {
        let items: Vec<Value> = checked
            .problems()
            .into_iter()
            .map(|(name, problems)| value!({ "name": name, "good": problems.is_empty(), "problems": problems }))
            .collect();
        let mutation = checked.mutation.as_ref().map(|m| {
            value!({
                "total": m.total, "killed": m.killed, "endless": m.endless, "same_code": m.same_code, "rejected": m.rejected,
                "explained": m.explained, "survive": m.survivors.len(),
            })
        });
        value!({ "puzzle": checked.number, "title": checked.title, "good": checked.is_good(), "items": items, "mutants": mutation })
    };
    let document =
        value!({ "schema_version": 1, "puzzles": all.iter().map(puzzle).collect::<Vec<_>>() });
    format!("{document:#}\n")
}

/// The output as `JUnit` XML for CI systems: a suite for each puzzle, a case for each check.
pub fn junit(all: &[Checked]) -> String {
    let case = |(name, problems): (&str, Vec<String>)| Case {
        name: name.to_owned(),
        classname: None,
        time: None,
        outcome: match problems.first() {
            None => Outcome::Passed,
            Some(first) => Outcome::Failed(Reason {
                message: first.lines().next().unwrap_or_default().to_owned(),
                description: Some(problems.join("\n\n")),
            }),
        },
        output: String::new(),
    };
    let suite = |checked: &Checked| Suite {
        name: format!("puzzle {}: {}", checked.number, checked.title),
        properties: Vec::new(),
        cases: checked.problems().into_iter().map(case).collect(),
    };
    let suites: Vec<Suite> = all.iter().map(suite).collect();
    let mut document = Vec::new();
    // Writing to memory cannot fail.
    document::write(&mut document, "grader check", &suites).ok();
    String::from_utf8_lossy(&document).into_owned()
}
