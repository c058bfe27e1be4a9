//! The document for each student: what the page shows, for machines. Hidden tests are a number in it.

use crate::grades::{Grade, PuzzleGrade};
use crate::settings::Settings;
use serde_json::{Value, json};

pub(super) fn student(settings: &Settings, grade: &Grade) -> String {
    let puzzles: Vec<Value> = grade.puzzles.iter().map(puzzle).collect();
    let document = json!({
        "schema_version": 1,
        "class": settings.title,
        "student": grade.student,
        "points": grade.points(),
        "max_points": grade.most(),
        "late_days": grade.late_days,
        "factor": grade.factor,
        "try": grade.counts,
        "tries": grade.tries,
        "puzzles": puzzles,
    });
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

fn puzzle(grade: &PuzzleGrade) -> Value {
    let mut value = json!({
        "puzzle": grade.number,
        "status": grade.status(),
        "points": grade.points,
        "max_points": grade.most,
    });
    if let Some(graded) = &grade.graded {
        let seen = graded.tests.iter().filter(|test| !test.hidden);
        let tests = seen.map(|test| {
            json!({ "name": test.name, "passed": test.passed, "millis": test.millis, "cause": test.cause })
        });
        value["tests"] = tests.collect();
        let (passed, all) = hidden(grade);
        value["hidden_tests"] = json!({ "passed": passed, "total": all });
        value["seed"] = json!(graded.seed);
        value["report"] = json!(graded.feedback);
        value["counters"] = json!(graded.counters);
    }
    value
}

/// How many hidden tests passed, and how many there are.
pub(super) fn hidden(grade: &PuzzleGrade) -> (usize, usize) {
    let tests = grade.graded.iter().flat_map(|graded| &graded.tests);
    let hidden = tests.filter(|test| test.hidden);
    hidden.fold((0, 0), |(passed, all), test| (passed + usize::from(test.passed), all + 1))
}
