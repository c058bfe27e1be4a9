//! `results.json` as the external grader of `PrairieLearn` writes it: <https://docs.prairielearn.com/externalGrading/>.

use super::gradescope::{late, report};
use crate::grades::Grade;
use serde_json::{Value, json};

pub(super) fn results(grade: &Grade) -> String {
    let test = |puzzle: &crate::grades::PuzzleGrade| {
        json!({
            "name": format!("Puzzle {}", puzzle.number),
            "description": puzzle.status(),
            "points": puzzle.points,
            "max_points": puzzle.most,
            "output": report(puzzle),
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
