//! Tables: the class's own, and those that Moodle and Canvas import.

use super::escape;
use super::gradescope::late;
use crate::civil;
use crate::grades::Grade;
use crate::settings::Settings;

/// The table of the class: a row for each student, and for each puzzle its points, what happened and why.
pub(super) fn class(settings: &Settings, grades: &[Grade]) -> String {
    let mut head = ["student", "points", "max_points", "submitted", "late_days", "try", "tries"]
        .map(str::to_owned)
        .to_vec();
    for puzzle in &settings.puzzles {
        for column in ["points", "status", "cause", "seconds", "seed"] {
            head.push(format!("p{:02}_{column}", puzzle.number));
        }
    }
    head.push("notes".to_owned());
    let row = |grade: &Grade| {
        let mut cells = vec![
            grade.student.clone(),
            grade.points().to_string(),
            grade.most().to_string(),
            if grade.at == 0 { String::new() } else { civil::timestamp(grade.at) },
            grade.late_days.to_string(),
            grade.counts.to_string(),
            grade.tries.to_string(),
        ];
        for puzzle in &grade.puzzles {
            let seconds = puzzle.graded.as_ref().map(|graded| format!("{:.2}", graded.seconds));
            let seed = puzzle.graded.as_ref().map(|graded| graded.seed.to_string());
            cells.push(puzzle.points.to_string());
            cells.push(puzzle.status().to_owned());
            cells.push(puzzle.cause().unwrap_or_default());
            cells.push(seconds.unwrap_or_default());
            cells.push(seed.unwrap_or_default());
        }
        cells.push(grade.notes.join("; "));
        cells
    };
    table([head].into_iter().chain(grades.iter().map(row)))
}

/// A table for Moodle's "Import grades": map `username` to the user, and the two others to the item and its feedback.
pub(super) fn moodle(settings: &Settings, grades: &[Grade]) -> String {
    let head = vec!["username".to_owned(), settings.title.clone(), "feedback".to_owned()];
    let row = |grade: &Grade| {
        let words = grade.puzzles.iter().map(|p| format!("puzzle {}: {}", p.number, p.status()));
        let mut words: Vec<String> = words.collect();
        words.extend(Some(late(grade)).filter(|text| !text.is_empty()));
        vec![grade.student.clone(), grade.points().to_string(), words.join("; ")]
    };
    table([head].into_iter().chain(grades.iter().map(row)))
}

/// A table for the import of Canvas's gradebook: the second row gives the points that are possible.
pub(super) fn canvas(settings: &Settings, grades: &[Grade]) -> String {
    let head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"].map(str::to_owned);
    let mut head = head.to_vec();
    head.push(settings.title.clone());
    let most = settings.puzzles.iter().map(crate::settings::PuzzleSettings::most).sum::<f64>();
    let blank = String::new;
    let possible = vec![
        "    Points Possible".to_owned(),
        blank(),
        blank(),
        blank(),
        blank(),
        most.to_string(),
    ];
    let row = |grade: &Grade| {
        let login = grade.student.clone();
        vec![grade.student.clone(), blank(), blank(), login, blank(), grade.points().to_string()]
    };
    table([head, possible].into_iter().chain(grades.iter().map(row)))
}

fn table(rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: Vec<String>| {
        let cells: Vec<String> = cells.iter().map(|cell| escape::csv(cell)).collect();
        cells.join(",") + "\r\n"
    };
    rows.map(line).collect()
}
