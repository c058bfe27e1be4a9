//! The report for people: the first failing test in full, and a line for each test.

use crate::number::time;
use crate::reporter::{Reporter, RunInfo, Summary};
use crate::style::{Style, Tone};
use crate::{
    calls, cause, circumstances, diff, drawn, expansion, findings, heatmap, inputs, terms,
};
use device::finding::SourceLoc;
use diagnostic::{CODE_WIDTH, Failure, visible};
use indexmath::Term;
use judge::verdict::{Cause, Largest, Mismatch, TensorDiff, TestVerdict, WrongReturn};
use std::io::{self, Write};
use std::time::Duration;

/// Tests that take longer than this together are shown as they end, as far as they pass.
const PATIENCE: Duration = Duration::from_secs(5);
/// Findings shown with their source line; of the others the title is shown.
const FULL_FINDINGS: usize = 1;
/// Titles of further findings.
const MORE_FINDINGS: usize = 3;
/// Lines shown of what a kernel prints.
const PRINTED_LINES: usize = 16;
/// Sentences are broken to lines of this many characters.
pub(crate) const WIDTH: usize = 96;
/// However narrow a terminal is: shorter lines are no longer sentences.
const NARROWEST: usize = 30;
/// Narrower than this a test's name is padded to.
const NAME_WIDTH: usize = 32;

/// Writes text as events come in.
#[derive(Debug)]
pub struct TextReporter<W> {
    out: W,
    style: Style,
    run: Option<RunInfo>,
    first_failure: Option<TestVerdict>,
    /// What the first test printed that printed anything.
    first_printed: String,
    /// What is worth knowing, each once.
    notes: Vec<String>,
    /// The lines of the tests that are not written yet: what is wrong comes before them.
    kept_back: Vec<String>,
    /// How long the tests took so far.
    time: Duration,
    /// Some of these lines are written.
    listed: bool,
    /// For a short screen: the summary before all, and how the kernel was compiled behind what is wrong.
    on_screen: bool,
    /// The width of sentences, in characters.
    width: usize,
}

impl<W: Write> TextReporter<W> {
    /// Writes to `out` what `style` can show.
    pub fn new(out: W, style: Style) -> Self {
        Self {
            out,
            style,
            run: None,
            first_failure: None,
            first_printed: String::new(),
            notes: Vec::new(),
            kept_back: Vec::new(),
            time: Duration::ZERO,
            listed: false,
            on_screen: false,
            width: WIDTH,
        }
    }

    /// Breaks sentences and quoted lines where a terminal of so many columns ends.
    #[must_use]
    pub fn within(mut self, columns: Option<usize>) -> Self {
        self.width = columns.map_or(WIDTH, |columns| columns.clamp(NARROWEST, WIDTH));
        self
    }

    /// Writes for a screen of `columns` characters: the summary first, then the failure, the compiler's warnings and the list of
    /// tests, so that a short screen shows what is wrong.
    #[must_use]
    pub fn for_screen(mut self, columns: usize) -> Self {
        self.on_screen = true;
        self.width = columns.min(WIDTH);
        self
    }

    /// How the kernel was compiled and run, and what the compiler warned of.
    fn facts(&mut self, run: &RunInfo) -> io::Result<()> {
        let compiled = if run.compile.cached {
            "compiled before".into()
        } else {
            format!("compiled in {}", time(run.compile.time))
        };
        let facts = format!(
            "{}, {compiled}; {}; seed {}",
            run.file.display(),
            run.backend_description,
            run.seed
        );
        writeln!(self.out, "{}\n", self.style.paint(Tone::Faint, &facts))?;
        for warning in &run.warnings {
            let text = warning.render_within(self.style.colour, code_width(self.width));
            writeln!(self.out, "{}\n", text.trim_end())?;
        }
        Ok(())
    }

    /// Keeps the line of a test back, unless the tests take long: then whoever waits sees how far they are.
    fn test_line(&mut self, line: String) -> io::Result<()> {
        self.kept_back.push(line);
        if self.first_failure.is_none() && !self.on_screen && self.time > PATIENCE {
            self.write_kept_back()?;
        }
        Ok(())
    }

    fn write_kept_back(&mut self) -> io::Result<()> {
        let lines = std::mem::take(&mut self.kept_back);
        self.listed |= !lines.is_empty();
        lines.iter().try_for_each(|line| writeln!(self.out, "{line}"))
    }

    fn sum(&mut self, summary: &Summary) -> io::Result<()> {
        let tone = if summary.passed == summary.total { Tone::Good } else { Tone::Bad };
        let line = format!("{} of {} tests passed", summary.passed, summary.total);
        writeln!(self.out, "{}", self.style.paint(tone, &line))
    }

    fn name_width(&self) -> usize {
        let names = self.run.iter().flat_map(|run| &run.tests).map(|name| name.chars().count());
        names.max().unwrap_or(0).max(NAME_WIDTH)
    }
}

impl<W: Write> Reporter for TextReporter<W> {
    fn start(&mut self, run: &RunInfo) -> io::Result<()> {
        let title = format!("Puzzle {}: {}", run.puzzle, run.title);
        writeln!(self.out, "{}", self.style.paint(Tone::Strong, &title))?;
        if !self.on_screen {
            self.facts(run)?;
        }
        self.run = Some(run.clone());
        self.out.flush()
    }

    fn explains(&self, _test: &str) -> bool {
        self.first_failure.is_none()
    }

    fn test_finished(&mut self, verdict: &TestVerdict) -> io::Result<()> {
        let (tone, mark) = if verdict.passed() {
            (Tone::Good, self.style.either("✔", "pass"))
        } else {
            (Tone::Bad, self.style.either("✘", "FAIL"))
        };
        let mark = self.style.paint(tone, mark);
        let width = self.name_width();
        let took = time(verdict.time);
        let why = reason_in_short(verdict)
            .or_else(|| drawn::passed(verdict))
            .map(|why| format!("   {why}"))
            .unwrap_or_default();
        if !verdict.passed() && self.first_failure.is_none() {
            self.first_failure = Some(verdict.clone());
        }
        self.time += verdict.time;
        self.test_line(format!("  {mark} {:<width$} {took:>8}{why}", verdict.test))?;
        let differences = if verdict.passed() { Vec::new() } else { largest(verdict) };
        for line in differences {
            self.test_line(self.style.paint(Tone::Faint, &line))?;
        }
        if self.first_printed.is_empty() {
            self.first_printed.clone_from(&verdict.printed);
        }
        for note in &verdict.notes {
            let note = visible(note);
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        self.out.flush()
    }

    fn not_run(&mut self, test: &str, why: &str) -> io::Result<()> {
        let mark = self.style.paint(Tone::Faint, self.style.either("–", "    "));
        let width = self.name_width();
        self.test_line(format!("  {mark} {test:<width$} {:>8}   not run: {why}", ""))
    }

    fn finish(&mut self, summary: &Summary) -> io::Result<()> {
        let style = self.style;
        if self.on_screen {
            self.sum(summary)?;
        } else if self.first_failure.is_none() {
            self.write_kept_back()?;
        }
        if let (Some(run), Some(verdict)) = (&self.run, &self.first_failure) {
            // Behind the facts stands an empty line already.
            let skipped = usize::from(!self.on_screen && !self.listed);
            for line in full(run, verdict, style, self.width).iter().skip(skipped) {
                writeln!(self.out, "{line}")?;
            }
        } else {
            let source = self.run.as_ref().map_or("", |run| run.source.as_str());
            for line in printed_lines(&self.first_printed, source, style) {
                writeln!(self.out, "{line}")?;
            }
        }
        writeln!(self.out)?;
        if self.on_screen
            && let Some(run) = self.run.clone()
        {
            self.facts(&run)?;
        }
        for note in &self.notes {
            let word = style.paint(Tone::Warn, "note:");
            wrap(&format!("note: {note}"), self.width).iter().enumerate().try_for_each(
                |(i, line)| {
                    let line = if i == 0 { line.replacen("note:", &word, 1) } else { line.clone() };
                    writeln!(self.out, "{line}")
                },
            )?;
        }
        if !self.kept_back.is_empty() {
            self.write_kept_back()?;
            if !self.on_screen {
                writeln!(self.out)?;
            }
        }
        if !self.on_screen {
            self.sum(summary)?;
        }
        if let (Some(run), Some(verdict)) = (&self.run, &self.first_failure) {
            writeln!(
                self.out,
                "to repeat:  {} --test {} --seed {}",
                run.command, verdict.test, run.seed
            )?;
            if let Some(replay) = &run.replay {
                let (test, seed) = (&verdict.test, run.seed);
                writeln!(self.out, "to watch:   {replay} --test {test} --seed {seed}")?;
            }
            writeln!(self.out, "to read:    {}", run.chapter.display())?;
        }
        self.out.flush()
    }

    fn failed(&mut self, failure: &Failure) -> io::Result<()> {
        for diagnostic in &failure.diagnostics {
            let text = diagnostic.render_within(self.style.colour, code_width(self.width));
            writeln!(self.out, "{text}")?;
        }
        self.out.flush()
    }
}

/// Why a test failed, in a few words.
fn reason_in_short(verdict: &TestVerdict) -> Option<String> {
    let finding = verdict.findings.first().map(|f| f.problem.name().to_owned());
    finding.or_else(|| verdict.diffs.first().map(diff::in_short))
}

/// Everything known about a failing test, with sentences in lines of at most `width` characters.
pub(crate) fn full(
    run: &RunInfo,
    verdict: &TestVerdict,
    style: Style,
    width: usize,
) -> Vec<String> {
    let rule = style.either("──", "--");
    let mut lines = vec![String::new()];
    lines.push(style.paint(Tone::Strong, &format!("{rule} {} {rule}", verdict.test)));
    lines.extend(verdict.about.clone());
    if let Some(smallest) = drawn::smallest(verdict) {
        lines.extend(wrap(&smallest, width));
    } else if !verdict.used_dims.is_empty() {
        lines.push(style.paint(Tone::Faint, &drawn::sizes(verdict, " ")));
    }
    lines.extend(printed_lines(&verdict.printed, &run.source, style));
    lines.extend(finding_lines(run, verdict, style, width));
    let Some((first, others)) = verdict.diffs.split_first() else {
        return lines;
    };
    lines.push(String::new());
    lines.push(style.paint(Tone::Strong, &diff::headline(first)));
    // A finding is the mistake itself; what follows from it, and what its pattern suggests, can wait.
    let puzzling = verdict.findings.is_empty();
    if puzzling {
        let explained = explained(verdict).unwrap_or(first);
        lines.extend(reason_lines(run, explained, style, width));
        lines.extend(place_lines(run, first, explained, style));
    } else {
        let found = calls(first).into_iter().flat_map(|found| [written(run, first), Some(found)]);
        lines.extend(found.flatten().flat_map(|found| reason(found, style, width)));
    }
    let mut terms = terms::lines(&first.tensor, &first.terms, &run.source, style);
    // What the kernel added wrongly is the cause, as far as no other is known.
    if puzzling && first.terms.compared.is_some() {
        lines.append(&mut terms);
        lines.push(String::new());
    }
    lines.extend(diff::table(first, style));
    if puzzling {
        lines.extend(block(heatmap::lines(first, style)));
    }
    lines.extend(block(terms));
    let others = diff::others(others).map(|text| wrap(&text, width));
    lines.extend(block(others.unwrap_or_default()));
    lines
}

/// The line of the source to look at; else the one that adds the products of the element that is shown, or stores it. Where the
/// formula chooses a single element, what was chosen tells nothing of the line that chose wrongly.
fn place_lines(
    run: &RunInfo,
    diff: &TensorDiff,
    explained: &TensorDiff,
    style: Style,
) -> Vec<String> {
    let quote = |what: &str, line: &SourceLoc| expansion::quote(what, line, &run.source, style);
    // The line that computes the part which is wrong is known better than that of any product.
    if let Some(line) = explained.part.as_ref().and_then(|part| part.line.as_ref()) {
        return quote("look at", line);
    }
    if let Some(WrongReturn { function, line }) = &explained.returned {
        let line = SourceLoc { file: "".into(), line: *line, column: 0 };
        return quote(&format!("in every wrong element {function} returns at"), &line);
    }
    if let Some(line) = &diff.guard {
        let element = diff.tensor.element_name(diff.terms.mismatch.flat);
        return quote(&format!("the thread that would store {element} stops at"), line);
    }
    let chosen = |terms: &Vec<Term>| terms.len() <= 1 && terms.iter().all(|t| t.factors.len() <= 1);
    let compared = diff.terms.compared.as_ref();
    let compared = compared.filter(|_| !diff.terms.formula.as_ref().is_some_and(chosen));
    let lines = compared.map(|all| expansion::place(all, &run.source, style)).unwrap_or_default();
    // A formula that explains all elements says more.
    let missing = compared.filter(|_| explained.variant.is_none());
    let element = diff.tensor.element_name(diff.terms.mismatch.flat);
    let belongs =
        missing.and_then(|compared| expansion::belongs(compared, &diff.tensor, &element, style));
    let missing = missing.and_then(|compared| expansion::missing(compared, &element, style));
    let missing = belongs.into_iter().chain(missing);
    let thread = diff.terms.thread.as_ref();
    let Some(line) = thread.and_then(|thread| thread.line.as_ref()).filter(|_| lines.is_empty())
    else {
        return missing.chain(lines).collect();
    };
    let absent = diff.terms.compared.as_ref().and_then(|terms| expansion::absent(terms, style));
    // A thread that reads nothing sets the start of a sum: the line that should have added to it is another.
    if thread.is_some_and(|thread| thread.total == 0) && run.source.contains("atomicAdd") {
        return quote(&format!("nothing is added to {element} after"), line);
    }
    let stored = quote(&format!("{element} is stored at"), line);
    missing.chain(absent).chain(stored).collect()
}

/// Why an output is wrong: the formula that explains it, or else the pattern of its errors.
fn reason_lines(run: &RunInfo, diff: &TensorDiff, style: Style, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let found = explanation(run, diff).into_iter().chain(condition(diff)).chain(half_step(diff));
    let found = found.chain(choice(diff)).chain(wrong_inputs(diff)).chain(threads(diff));
    let found =
        found.chain(always(diff)).chain(places(diff)).chain(size_limit(diff)).chain(origins(diff));
    for found in found.chain(step(diff)).chain(host_steps(diff)).chain(calls(diff)) {
        lines.extend(reason(found, style, width));
    }
    lines
}

/// A sentence, and the word before it, in lines.
fn reason((title, sentence): (&str, String), style: Style, width: usize) -> Vec<String> {
    let painted = style.paint(Tone::Warn, title);
    let text = wrap(&format!("{title} {sentence}"), width);
    text.iter().map(|line| line.replacen(title, &painted, 1)).collect()
}

/// The condition that the kernel does not ask, or asks otherwise.
fn condition(diff: &TensorDiff) -> Option<(&'static str, String)> {
    let branch = diff.branch.as_ref().filter(|_| diff.part.is_none())?;
    Some(("condition:", cause::of_branch(branch)))
}

/// The line that keeps fewer digits than the output has.
fn half_step(diff: &TensorDiff) -> Option<(&'static str, String)> {
    Some(("rounding:", cause::of_half_step(diff.half_step.as_ref()?, &diff.tensor)))
}

/// What the first wrong element is computed from by mistake.
fn wrong_inputs(diff: &TensorDiff) -> Option<(&'static str, String)> {
    diff.inputs.as_ref().map(|all| ("inputs:", inputs::sentence(all, &diff.tensor)))
}

/// Which other element of a search the wrong positions name.
fn choice(diff: &TensorDiff) -> Option<(&'static str, String)> {
    diff.choice.as_ref().map(|choice| ("positions:", circumstances::of_choice(choice)))
}

/// Which threads store the wrong elements.
fn threads(diff: &TensorDiff) -> Option<(&'static str, String)> {
    diff.threads.map(|threads| ("threads:", circumstances::of_threads(threads)))
}

/// The number that comes out always.
fn always(diff: &TensorDiff) -> Option<(&'static str, String)> {
    diff.always.as_ref().map(|always| ("always:", circumstances::of_always(always, &diff.tensor)))
}

/// Where the wrong elements lie, in other cases too.
fn places(diff: &TensorDiff) -> Option<(&'static str, String)> {
    diff.places.as_ref().map(|places| ("places:", circumstances::of_places(places)))
}

/// For which sizes the output is correct.
fn size_limit(diff: &TensorDiff) -> Option<(&'static str, String)> {
    let limit = diff.size_limit.as_ref()?;
    Some(("sizes:", circumstances::of_size_limit(limit, &diff.tensor)))
}

/// What the first wrong element is computed from.
fn origins(diff: &TensorDiff) -> Option<(&'static str, String)> {
    let flat = diff.terms.mismatch.flat;
    let sentence = || circumstances::of_origins(&diff.origins, &diff.tensor, flat);
    (!diff.origins.is_empty()).then(|| ("computed from:", sentence()))
}

/// The step of several that went wrong, where no formula tells more.
fn step(diff: &TensorDiff) -> Option<(&'static str, String)> {
    let unexplained = diff.variant.is_none() && diff.part.is_none();
    let sources = Some(&diff.correct_sources).filter(|all| unexplained && !all.is_empty())?;
    Some(("step:", cause::of_step(&diff.tensor, sources)))
}

/// How far the launches of host code are right.
fn host_steps(diff: &TensorDiff) -> Option<(&'static str, String)> {
    diff.host_steps.as_ref().map(|steps| ("launches:", calls::of_steps(steps)))
}

/// Which part of an output is written, if that is a part.
fn written(run: &RunInfo, diff: &TensorDiff) -> Option<(&'static str, String)> {
    let is_part = matches!(
        diff.cause,
        Some(
            Cause::OnlyStartWritten { .. }
                | Cause::PartWritten { .. }
                | Cause::DiagonalWritten { .. }
                | Cause::EveryNthWritten { .. }
        )
    );
    explanation(run, diff).filter(|_| is_part)
}

/// The calls of host code that store it.
fn calls(diff: &TensorDiff) -> Option<(&'static str, String)> {
    diff.calls.as_ref().map(|all| ("calls:", calls::sentence(all, &diff.tensor)))
}

/// The sentence of the formula that explains an output, or of the pattern of its errors, and the word before it.
fn explanation(run: &RunInfo, diff: &TensorDiff) -> Option<(&'static str, String)> {
    let flat = diff.terms.mismatch.flat;
    match (&diff.variant, &diff.part, &diff.cause) {
        (Some(variant), ..) => Some(("cause:", cause::of_variant(variant, &diff.tensor))),
        (None, Some(part), _) => Some(("cause:", cause::of_part(part, &diff.tensor, flat))),
        (None, None, Some(cause)) => {
            Some(("pattern:", cause::sentence(cause, &diff.tensor, &run.source)))
        }
        (None, None, None) => None,
    }
}

/// Why a test failed, in one line: a finding's title, or what is wrong in an output and its explanation.
pub(crate) fn in_one_line(run: &RunInfo, verdict: &TestVerdict) -> String {
    if let Some(finding) = verdict.findings.first() {
        let title = findings::diagnostic(finding, &run.file, &run.source).title;
        return format!("{}: {title}", finding.problem.name());
    }
    let Some(first) = verdict.diffs.first() else { return String::new() };
    let explained = explained(verdict).unwrap_or(first);
    let why = explanation(run, explained).map(|(title, sentence)| format!("; {title} {sentence}"));
    diff::in_short(first) + &why.unwrap_or_default()
}

/// The first output for which a formula explains what was computed.
fn explained(verdict: &TestVerdict) -> Option<&TensorDiff> {
    let found = verdict.diffs.iter().find(|diff| diff.variant.is_some());
    let found = found.or_else(|| verdict.diffs.iter().find(|diff| diff.part.is_some()));
    // Few elements show no rounding; those that are computed from them may.
    let unexplained = verdict.diffs.first().is_some_and(|first| first.cause.is_none());
    let unexplained = unexplained && verdict.diffs.first().is_some_and(is_slightly_off);
    let rounded = |diff: &&TensorDiff| matches!(diff.cause, Some(Cause::Rounding { .. }));
    found.or_else(|| verdict.diffs.iter().find(rounded).filter(|_| unexplained))
}

/// The errors of an output may be those of rounding: they are small beside its values.
fn is_slightly_off(diff: &TensorDiff) -> bool {
    let largest = |of: fn(&Mismatch) -> f64| diff.mismatches.iter().map(of).fold(0.0, f64::max);
    let errors = largest(|m| {
        let got = m.got.filter(|got| !got.is_nan());
        got.map_or(f64::INFINITY, |got| (got - m.expected).abs())
    });
    errors <= 1e-2 * largest(|m| m.expected.abs())
}

/// The width of quoted lines of code beside sentences of `width` characters: on a narrow screen nothing is wider.
fn code_width(width: usize) -> usize {
    if width < WIDTH { width } else { CODE_WIDTH }
}

/// Lines of at most `width` characters, broken between words.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(line);
            line = format!("    {word}");
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.push(line);
    lines
}

/// After an empty line, if there is anything.
fn block(lines: Vec<String>) -> Vec<String> {
    if lines.is_empty() { lines } else { [vec![String::new()], lines].concat() }
}

/// The first lines that a test printed.
fn printed_lines(printed: &str, source: &str, style: Style) -> Vec<String> {
    if printed.is_empty() {
        return Vec::new();
    }
    let title = format!("printed by {}:", terms::author(source));
    let mut lines = vec![String::new(), style.paint(Tone::Strong, &title)];
    // The frame keeps what a program prints from looking like the report.
    let frame = style.either("│", "|");
    let shown = printed.lines().take(PRINTED_LINES).map(|line| {
        let line: String = line.chars().take(WIDTH).collect();
        format!("  {frame} {}", visible(&line))
    });
    lines.extend(shown);
    let more = printed.lines().count().saturating_sub(PRINTED_LINES);
    if more > 0 {
        lines.push(format!("    and {more} more lines"));
    }
    lines
}

fn finding_lines(run: &RunInfo, verdict: &TestVerdict, style: Style, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, finding) in verdict.findings.iter().enumerate() {
        let diagnostic = findings::diagnostic(finding, &run.file, &run.source);
        if index < FULL_FINDINGS {
            lines.push(String::new());
            let text = diagnostic.render_within(style.colour, code_width(width));
            lines.extend(text.lines().map(String::from));
        } else if index < FULL_FINDINGS + MORE_FINDINGS {
            let line =
                finding.line.as_ref().map(|l| format!(" (line {})", l.line)).unwrap_or_default();
            lines.push(format!("{} {}{line}", style.paint(Tone::Bad, "also:"), diagnostic.title));
        }
    }
    let more = verdict.findings.len().saturating_sub(FULL_FINDINGS + MORE_FINDINGS);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
}
/// A line for each output, if the spec asks for it: how far off the farthest element is.
fn largest(verdict: &TestVerdict) -> Vec<String> {
    let width = verdict.largest.iter().map(|l| l.tensor.name.chars().count()).max().unwrap_or(0);
    let line = |Largest { tensor, flat, off, allowed }: &Largest| {
        let at = tensor.element_name(*flat);
        let name = &tensor.name;
        format!("      {name:<width$}  largest difference {off:.2e} at {at}, allowed {allowed:.2e}")
    };
    verdict.largest.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::diff;
    use judge::verdict::{Deviation, FormulaVariant};

    #[test]
    fn the_rounding_of_one_output_does_not_explain_a_large_error_of_another() {
        let explained_is = |first: Deviation| {
            let mut rounded = diff(&[4], &[Deviation::Off(1e-4); 4]);
            rounded.tensor.name = "rounded".into();
            rounded.cause = Some(Cause::Rounding { largest: 1e-4 });
            let mut verdict = TestVerdict::of_nothing("t", 1);
            verdict.diffs = vec![diff(&[2], &[first]), rounded];
            explained(&verdict).map(|diff| diff.tensor.name.clone())
        };
        assert_eq!(explained_is(Deviation::Off(1e-4)), Some("rounded".into()));
        assert_eq!(explained_is(Deviation::Off(2.0)), None);
        assert_eq!(explained_is(Deviation::Nan), None);
        assert_eq!(explained_is(Deviation::Unwritten), None);
    }

    #[test]
    fn a_step_is_named_where_no_formula_explains_the_output() {
        let mut wrong = diff(&[2], &[Deviation::Off(1.0)]);
        assert_eq!(step(&wrong), None);
        wrong.correct_sources = vec!["a".into(), "b".into()];
        let (_, sentence) = step(&wrong).unwrap();
        assert_eq!(
            sentence,
            "t is the first wrong output: a and b, from which it is computed, are correct."
        );
        wrong.variant = Some(FormulaVariant { says: "x".into(), confirmed: 1, other_sizes: false });
        assert_eq!(step(&wrong), None);
    }
}
