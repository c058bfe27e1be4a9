//! The page of feedback for a student.

use super::escape::html;
use super::gradescope::late;
use super::page::{page, tag};
use super::summary;
use crate::civil;
use crate::grades::{Grade, PuzzleGrade};
use crate::settings::Settings;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The page; `stems` are those of the puzzles.
fn page_body(settings: &Settings, grade: &Grade, stems: &BTreeMap<u32, String>) -> String {
    let mut body = String::new();
    let out = &mut body;
    // Writing to a string cannot fail.
    write!(
        out,
        "<p class=\"faint\">{}</p>\n<div class=\"head\"><h1>{}</h1><span class=\"points\">{} of {} points</span></div>\n",
        html(&settings.title),
        html(&grade.student),
        grade.points(),
        grade.most()
    )
    .ok();
    let mut facts = Vec::new();
    if grade.at != 0 {
        facts.push(format!("submitted {}", civil::timestamp(grade.at)));
    }
    if grade.tries > 1 {
        facts.push(format!("try {} of {} counts", grade.counts, grade.tries));
    }
    facts.extend(Some(late(grade)).filter(|text| !text.is_empty()));
    writeln!(out, "<p class=\"faint\">{}</p>", html(&facts.join("; "))).ok();
    for note in &grade.notes {
        writeln!(out, "<p class=\"tag warn\">{}</p>", html(note)).ok();
    }
    for puzzle in &grade.puzzles {
        out.push_str(&card(puzzle, stems.get(&puzzle.number).map_or("", String::as_str)));
    }
    body
}

pub(super) fn feedback_page(
    settings: &Settings,
    grade: &Grade,
    stems: &BTreeMap<u32, String>,
) -> String {
    page(&format!("{}: {}", settings.title, grade.student), &page_body(settings, grade, stems))
}

fn card(puzzle: &PuzzleGrade, stem: &str) -> String {
    let mut out = format!(
        "<section class=\"card\">\n<div class=\"head\"><h2>Puzzle {} {}</h2><span class=\"points\">{} of {}</span></div>\n",
        puzzle.number,
        tag(puzzle.status()),
        puzzle.points,
        puzzle.most
    );
    let Some(graded) = &puzzle.graded else {
        let what = if puzzle.submitted {
            "Your file is not graded yet.".to_owned()
        } else {
            format!("No file was found for this puzzle. Hand in <code>{}.cu</code>.", html(stem))
        };
        writeln!(out, "<p>{what}</p>\n</section>").ok();
        return out;
    };
    if let Some(cause) = puzzle.cause().filter(|_| !graded.tests.is_empty()) {
        let seen = graded.tests.iter().find(|test| !test.passed).is_some_and(|test| !test.hidden);
        if seen {
            writeln!(out, "<p>First failing test: <strong>{}</strong></p>", html(&cause)).ok();
        }
    }
    out.push_str("<ul class=\"tests\">\n");
    for test in graded.tests.iter().filter(|test| !test.hidden) {
        let word = if test.passed { "passed" } else { "failed" };
        let cause = test.cause.as_deref().unwrap_or_default();
        let (name, cause) = (html(&test.name), html(cause));
        writeln!(
            out,
            "<li>{} <span><code>{name}</code> <span class=\"faint\">{cause}</span></span></li>",
            tag(word)
        )
        .ok();
    }
    if let (passed, all @ 1..) = summary::hidden(puzzle) {
        let word = if passed == all { "passed" } else { "failed" };
        writeln!(out, "<li>{} <span>{passed} of {all} hidden tests</span></li>", tag(word)).ok();
    }
    out.push_str("</ul>\n");
    if let Some(counters) = graded.counters {
        let (instructions, sectors) = (counters.instructions, counters.sectors);
        writeln!(
            out,
            "<p>Largest test: {instructions} instructions of warps, {sectors} memory sectors.</p>"
        )
        .ok();
    }
    let open = if graded.passed() { "" } else { " open" };
    let report = html(&graded.feedback);
    writeln!(
        out,
        "<details{open}><summary>The report</summary>\n<pre>{report}</pre></details>\n</section>"
    )
    .ok();
    out
}
