//! The overview of a class: pass rates, the most frequent causes by puzzle, what took long, what needs a look.

use super::escape::html;
use super::page::{page as framed, tag};
use super::student_file::stem;
use crate::grades::{Grade, PuzzleGrade};
use crate::plan::Roster;
use crate::settings::Settings;
use crate::task::Ending;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Causes listed of a puzzle.
const CAUSES: usize = 8;

/// A grading that takes this many times the median is an outlier.
const SLOW: f64 = 4.0;

/// Seconds below which nobody minds.
const FAST: f64 = 2.0;

/// The page with the whole class, as HTML.
pub(super) fn page(settings: &Settings, roster: &Roster, grades: &[Grade]) -> String {
    let mut body = format!("<h1>{}</h1>\n", html(&settings.title));
    let most = grades.first().map_or(0.0, Grade::most);
    let mean = grades.iter().map(Grade::points).sum::<f64>() / grades.len().max(1) as f64;
    let late = grades.iter().filter(|grade| grade.late_days > 0).count();
    let students = grades.len();
    writeln!(body, "<p class=\"faint\">{students} students, {mean:.2} of {most} points on average, {late} late</p>").ok();
    for number in settings.puzzles.iter().map(|puzzle| puzzle.number) {
        body.push_str(&puzzle(number, roster, grades));
    }
    body.push_str(&needs_a_look(roster, grades));
    body.push_str(&students_table(grades));
    framed(&settings.title, &body)
}

fn puzzle(number: u32, roster: &Roster, grades: &[Grade]) -> String {
    let all = || grades.iter().flat_map(|g| &g.puzzles).filter(|p| p.number == number);
    let submitted = all().filter(|puzzle| puzzle.submitted).count();
    let passed = all().filter(|puzzle| puzzle.status() == "passed").count();
    let percent = (passed * 100).checked_div(submitted).unwrap_or(0);
    let name = roster.stems.get(&number).map_or("", String::as_str);
    let mut out = format!(
        "<section class=\"card\">\n<div class=\"head\"><h2>{}</h2><span class=\"points\">{percent} % pass</span></div>\n\
         <div class=\"bar\"><i style=\"width:{percent}%\"></i></div>\n\
         <p class=\"faint\">{passed} of {submitted} submissions pass{}</p>\n",
        html(name),
        match grades.len() - submitted {
            0 => String::new(),
            1 => "; 1 student handed in no file".to_owned(),
            none => format!("; {none} students handed in no file"),
        },
    );
    let mut causes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for grade in grades {
        let of = grade.puzzles.iter().find(|puzzle| puzzle.number == number);
        if let Some(cause) = of.and_then(PuzzleGrade::cause) {
            causes.entry(cause).or_default().push(&grade.student);
        }
    }
    let mut causes: Vec<(String, Vec<&str>)> = causes.into_iter().collect();
    causes.sort_by_key(|(cause, who)| (std::cmp::Reverse(who.len()), cause.clone()));
    if !causes.is_empty() {
        out.push_str(
            "<table>\n<tr><th>most frequent causes</th><th class=\"number\">students</th></tr>\n",
        );
        for (cause, who) in causes.iter().take(CAUSES) {
            let (cause, count) = (html(cause), who.len());
            writeln!(out, "<tr><td>{cause}</td><td class=\"number\">{count}</td></tr>").ok();
        }
        out.push_str("</table>\n");
        if let Some(more) = causes.len().checked_sub(CAUSES).filter(|more| *more > 0) {
            writeln!(out, "<p class=\"faint\">and {more} further causes: see class.csv</p>").ok();
        }
    }
    out.push_str(&slow(all(), grades, number));
    out + "</section>\n"
}

/// The submissions whose tests take much longer than those of others. The compiler's time is not counted.
fn slow<'a>(all: impl Iterator<Item = &'a PuzzleGrade>, grades: &[Grade], number: u32) -> String {
    let mut times: Vec<f64> =
        all.filter_map(|puzzle| Some(puzzle.graded.as_ref()?.test_seconds())).collect();
    times.sort_by(f64::total_cmp);
    let Some(median) = times.get(times.len() / 2).copied() else { return String::new() };
    let seconds = |grade: &Grade| {
        let of = grade.puzzles.iter().find(|puzzle| puzzle.number == number)?;
        Some(of.graded.as_ref()?.test_seconds())
    };
    let slow = grades.iter().filter_map(|grade| Some((seconds(grade)?, grade)));
    let mut slow: Vec<(f64, &Grade)> = slow.filter(|(s, _)| *s > FAST.max(median * SLOW)).collect();
    slow.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut out = format!("<p class=\"faint\">tests run for {median:.2} s (median)");
    for (seconds, grade) in slow.iter().take(5) {
        write!(out, "; {} {seconds:.1} s", link(grade)).ok();
    }
    out + "</p>\n"
}

/// What a person must look at.
fn needs_a_look(roster: &Roster, grades: &[Grade]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for grade in grades {
        for puzzle in &grade.puzzles {
            let ending = puzzle.graded.as_ref().map(|graded| &graded.ending);
            if matches!(ending, Some(Ending::Crashed | Ending::TimeLimit)) {
                let (who, number) = (link(grade), puzzle.number);
                lines.push(format!("{who}, puzzle {number}: {}", tag(puzzle.status())));
            }
        }
        lines.extend(grade.notes.iter().map(|note| format!("{}: {}", link(grade), html(note))));
    }
    lines.extend(roster.ignored.iter().map(|entry| html(entry)));
    if lines.is_empty() {
        return String::new();
    }
    let items = lines.join("</li>\n<li>");
    format!(
        "<section class=\"card\">\n<h2>Needs a look</h2>\n<ul>\n<li>{items}</li>\n</ul>\n</section>\n"
    )
}

fn students_table(grades: &[Grade]) -> String {
    let mut out =
        "<section class=\"card scroll\">\n<h2>Students</h2>\n<table>\n<tr><th>student</th>\
                   <th class=\"number\">points</th>"
            .to_owned();
    for puzzle in grades.first().iter().flat_map(|grade| &grade.puzzles) {
        write!(out, "<th>{}</th>", puzzle.number).ok();
    }
    out.push_str("</tr>\n");
    for grade in grades {
        let (who, points) = (link(grade), grade.points());
        write!(out, "<tr><td>{who}</td><td class=\"number\">{points}</td>").ok();
        for puzzle in &grade.puzzles {
            write!(out, "<td>{}</td>", tag(puzzle.status())).ok();
        }
        out.push_str("</tr>\n");
    }
    out + "</table>\n</section>\n"
}

/// The student's name, which leads to the page of feedback.
fn link(grade: &Grade) -> String {
    format!("<a href=\"feedback/{}.html\">{}</a>", stem(&grade.student), html(&grade.student))
}
