//! The class as a `JUnit` document: a suite for each student, a case for each puzzle.

use crate::grades::{Grade, PuzzleGrade};
use crate::settings::Settings;
use report::junit::document::{self, Case, Outcome, Reason, Suite};
use std::io;
use std::time::Duration;

pub(super) fn document(settings: &Settings, grades: &[Grade]) -> io::Result<Vec<u8>> {
    let suite = |grade: &Grade| Suite {
        name: grade.student.clone(),
        properties: vec![("points", grade.points().to_string())],
        cases: grade.puzzles.iter().map(case).collect(),
    };
    let suites: Vec<Suite> = grades.iter().map(suite).collect();
    let mut text = Vec::new();
    document::write(&mut text, &settings.title, &suites)?;
    Ok(text)
}

fn case(puzzle: &PuzzleGrade) -> Case {
    let reason = || Reason {
        message: puzzle.cause().unwrap_or_else(|| puzzle.status().to_owned()),
        description: puzzle.graded.as_ref().map(|graded| graded.report.clone()),
    };
    let outcome = match puzzle.status() {
        "passed" => Outcome::Passed,
        "needs a look" | "not graded yet" => Outcome::Error(reason()),
        _ => Outcome::Failed(reason()),
    };
    Case {
        name: format!("puzzle {}", puzzle.number),
        classname: Some(format!("puzzle_{:02}", puzzle.number)),
        time: puzzle.graded.as_ref().map(|graded| Duration::from_secs_f64(graded.seconds)),
        outcome,
        output: String::new(),
    }
}
