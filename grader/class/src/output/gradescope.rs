//! `results.json` as Gradescope reads it: <https://gradescope-autograders.readthedocs.io/en/latest/specs/>.

use super::summary;
use crate::grades::{Grade, PuzzleGrade};
use crate::settings::Settings;
use serde_json::{Value, json};

pub(super) fn results(settings: &Settings, grade: &Grade) -> String {
    let mut tests: Vec<Value> = Vec::new();
    let mut leaderboard: Vec<Value> = Vec::new();
    for (puzzle, of) in grade.puzzles.iter().zip(&settings.puzzles) {
        tests.push(json!({
            "name": format!("Puzzle {}: {}", puzzle.number, puzzle.status()),
            "score": puzzle.points - named_points(puzzle, &of.tests),
            "max_score": of.points,
            "status": if puzzle.status() == "passed" { "passed" } else { "failed" },
            "output": report(puzzle),
            "output_format": "text",
            "visibility": "visible",
        }));
        for test in puzzle.graded.iter().flat_map(|graded| &graded.tests) {
            let worth = of.tests.get(&test.name).copied().unwrap_or(0.0);
            tests.push(json!({
                "name": format!("Puzzle {}: {}", puzzle.number, test.name),
                "score": if test.passed { worth } else { 0.0 },
                "max_score": worth,
                "status": if test.passed { "passed" } else { "failed" },
                "output": test.cause.clone().unwrap_or_default(),
                "output_format": "text",
                "visibility": if test.hidden { "hidden" } else { "visible" },
            }));
        }
        if let Some(counters) = puzzle.graded.as_ref().and_then(|graded| graded.counters) {
            let row = |name: &str, value: u64| json!({ "name": format!("{} {name}", puzzle.number), "value": value, "order": "asc" });
            leaderboard.push(row("instructions", counters.instructions));
            leaderboard.push(row("sectors", counters.sectors));
        }
    }
    let mut document = json!({
        "score": grade.points(),
        "output": late(grade),
        "output_format": "text",
        "stdout_visibility": "hidden",
        "tests": tests,
    });
    if !leaderboard.is_empty() {
        document["leaderboard"] = Value::Array(leaderboard);
    }
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

/// The points that single tests gave.
fn named_points(puzzle: &PuzzleGrade, worth: &std::collections::BTreeMap<String, f64>) -> f64 {
    let tests = puzzle.graded.iter().flat_map(|graded| &graded.tests);
    tests.filter(|test| test.passed).filter_map(|test| worth.get(&test.name)).sum()
}

/// The report that the student may see.
pub(super) fn report(puzzle: &PuzzleGrade) -> String {
    let Some(graded) = &puzzle.graded else { return puzzle.status().to_owned() };
    match summary::hidden(puzzle) {
        (_, 0) => graded.feedback.clone(),
        (passed, all) => format!("{}\n{passed} of {all} hidden tests passed\n", graded.feedback),
    }
}

/// What lateness takes, in words.
pub(super) fn late(grade: &Grade) -> String {
    match grade.late_days {
        0 => String::new(),
        1 => format!("1 day late: {} of the points count", grade.factor),
        days => format!("{days} days late: {} of the points count", grade.factor),
    }
}
