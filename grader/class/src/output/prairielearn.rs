//! `results.json` as the external grader of `PrairieLearn` writes it: <https://docs.prairielearn.com/externalGrading/>.

use super::gradescope::{late, report};
use crate::grades::Grade;
use serde_json::{Value, json};

/// Bytes of a report. The platform takes no more than 1 MB for all of them, as JSON.
const REPORT: usize = 50_000;

/// A report of moderate length.
fn short(report: &str) -> String {
    match report.char_indices().find(|(at, _)| *at >= REPORT) {
        Some((end, _)) => format!("{}\n(the rest is left out)\n", &report[..end]),
        None => report.to_owned(),
    }
}

pub(super) fn results(grade: &Grade) -> String {
    let test = |puzzle: &crate::grades::PuzzleGrade| {
        json!({
            "name": format!("Puzzle {}", puzzle.number),
            "description": puzzle.status(),
            "points": puzzle.points,
            "max_points": puzzle.most,
            "output": short(&report(puzzle)),
        })
    };
    let tests: Vec<Value> = grade.puzzles.iter().map(test).collect();
    // Without a file, or where the grader broke down, nothing is counted as a try.
    let gradable = grade.puzzles.iter().any(|puzzle| puzzle.graded.is_some());
    let score = if grade.most() > 0.0 { grade.points() / grade.most() } else { 0.0 };
    let document = json!({
        "gradable": gradable,
        "score": score,
        "message": late(grade),
        "tests": tests,
    });
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}
