//! `result.json` of Classroom 50, `classroom50/result/v1`. The runner gives what identifies the submission in variables of the
//! environment; elsewhere these fields are empty. Points there are whole numbers.

use crate::civil;
use crate::grades::Grade;
use serde_json::{Value, json};
use std::time::SystemTime;

pub(super) fn result(grade: &Grade) -> String {
    let test = |puzzle: &crate::grades::PuzzleGrade| {
        json!({
            "test-name": format!("puzzle {}", puzzle.number),
            "passed": puzzle.status() == "passed",
            "score": whole(puzzle.points * grade.factor),
            "max-score": whole(puzzle.most),
        })
    };
    let tests: Vec<Value> = grade.puzzles.iter().map(test).collect();
    let sum = |key: &str| tests.iter().filter_map(|test| test[key].as_i64()).sum::<i64>();
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    // Assignments without a pull request for feedback have no page of their own for a review.
    let review = Some(variable("REVIEW_URL")).filter(|url| !url.is_empty());
    let review = review.unwrap_or_else(|| variable("COMMIT_URL"));
    let document = json!({
        "schema": "classroom50/result/v1",
        "classroom": variable("CLASSROOM"),
        "assignment": variable("ASSIGNMENT"),
        "submission": variable("SUBMISSION_TAG"),
        "commit": variable("COMMIT_URL"),
        "release": variable("RELEASE_URL"),
        "review": review,
        "datetime": civil::timestamp(civil::of_system(SystemTime::now())),
        "score": sum("score"),
        "max-score": sum("max-score"),
        "tests": tests,
    });
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

fn whole(points: f64) -> i64 {
    points.round() as i64
}
