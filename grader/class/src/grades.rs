//! The points of each student: what each puzzle gave, late submissions, and which try counts.

use crate::plan::{Roster, Submitted, TryKeys};
use crate::settings::{Keep, PuzzleSettings, Settings};
use crate::store::Store;
use crate::task::{Ending, Graded};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::collections::{BTreeMap, BTreeSet};

/// The seconds of a day.
const DAY: i64 = 86_400;

/// The grade of a student.
#[derive(Clone, Debug)]
pub struct Grade {
    /// The student's name, in any characters.
    pub student: String,
    /// The number of tries that were graded.
    pub tries: usize,
    /// The number of the try that counts, from 1.
    pub counts: usize,
    /// When that was made, in seconds since 1970; 0 if there is no file.
    pub at: i64,
    /// The days that it is late, begun ones too.
    pub late_days: i64,
    /// The part of the points that lateness leaves, 0 to 1.
    pub factor: f64,
    /// Each puzzle of the class, in its order.
    pub puzzles: Vec<PuzzleGrade>,
    /// What was strange about the submission.
    pub notes: Vec<String>,
}

/// The grade of a puzzle.
#[derive(Clone, Debug)]
pub struct PuzzleGrade {
    /// The number of the puzzle.
    pub number: u32,
    /// The points, before lateness.
    pub points: f64,
    /// The points for everything.
    pub most: f64,
    /// What happened; `None` if nothing was submitted, or nothing is graded yet.
    pub graded: Option<Graded>,
    /// Whether a file was submitted.
    pub submitted: bool,
}

impl Grade {
    /// The points, with lateness.
    pub fn points(&self) -> f64 {
        rounded(self.factor * self.puzzles.iter().map(|p| p.points).sum::<f64>())
    }

    /// The points for everything.
    pub fn most(&self) -> f64 {
        rounded(self.puzzles.iter().map(|p| p.most).sum::<f64>())
    }
}

impl PuzzleGrade {
    /// What happened in a word or two.
    pub fn status(&self) -> &'static str {
        match &self.graded {
            None if self.submitted => "not graded yet",
            None => "not submitted",
            Some(graded) if graded.passed() => "passed",
            Some(graded) => match graded.ending {
                Ending::Judged => "failed",
                Ending::NotCompiled => "does not compile",
                Ending::TimeLimit => "time limit",
                Ending::Crashed => "needs a look",
            },
        }
    }

    /// What is wrong in a few words, if something is: that of the first test that fails.
    pub fn cause(&self) -> Option<String> {
        let graded = self.graded.as_ref()?;
        match graded.ending {
            Ending::Judged => graded.tests.iter().find_map(|test| test.cause.clone()),
            _ => Some(self.status().to_owned()),
        }
    }
}

/// The grades of all students, in the order of their names.
pub fn all(settings: &Settings, roster: &Roster, store: &Store) -> Vec<Grade> {
    let tries = roster.students.iter().flat_map(|student| &student.tries);
    let keys: BTreeSet<&str> =
        tries.flat_map(|one| one.keys.values().map(String::as_str)).collect();
    let results: BTreeMap<&str, Option<Graded>> =
        keys.into_par_iter().map(|key| (key, store.get(key))).collect();
    let get = |key: &str| results.get(key).cloned().flatten();
    roster.students.iter().map(|student| one(settings, student, &get)).collect()
}

fn one(settings: &Settings, student: &Submitted, get: &dyn Fn(&str) -> Option<Graded>) -> Grade {
    let tries = student.tries.iter().enumerate();
    let grades = tries.map(|(i, of)| grade(settings, student, (i, of), get));
    let better = |best: Grade, next: Grade| match settings.tries.keep {
        Keep::Last => next,
        Keep::Best if next.points() > best.points() => next,
        Keep::Best => best,
    };
    let none = TryKeys { at: 0, keys: BTreeMap::new(), notes: Vec::new() };
    grades.reduce(better).unwrap_or_else(|| grade(settings, student, (0, &none), get))
}

fn grade(
    settings: &Settings,
    student: &Submitted,
    (number, of): (usize, &TryKeys),
    get: &dyn Fn(&str) -> Option<Graded>,
) -> Grade {
    let (late_days, factor) = lateness(settings, of.at);
    let puzzle = |settings: &PuzzleSettings| {
        let key = of.keys.get(&settings.number);
        let graded = key.and_then(|key| get(key));
        PuzzleGrade {
            number: settings.number,
            points: graded.as_ref().map_or(0.0, |graded| points(settings, graded)),
            most: settings.most(),
            graded,
            submitted: key.is_some(),
        }
    };
    Grade {
        student: student.name.clone(),
        tries: student.tries.len(),
        counts: number + 1,
        at: of.at,
        late_days,
        factor,
        puzzles: settings.puzzles.iter().map(puzzle).collect(),
        notes: of.notes.clone(),
    }
}

/// The points of a puzzle, before lateness.
fn points(settings: &PuzzleSettings, graded: &Graded) -> f64 {
    let all = if graded.passed() { settings.points } else { 0.0 };
    let passed = graded.tests.iter().filter(|test| test.passed);
    let each = passed.filter_map(|test| settings.tests.get(&test.name));
    rounded(all + each.sum::<f64>())
}

/// The days that a submission is late, and the part of the points that are left.
fn lateness(settings: &Settings, at: i64) -> (i64, f64) {
    let Some(deadline) = settings.deadline.filter(|deadline| at > *deadline) else {
        return (0, 1.0);
    };
    // Files may have any time, and so may the deadline.
    let days = at.saturating_sub(deadline).saturating_add(DAY - 1) / DAY;
    match settings.late {
        Some(late) if days <= i64::from(late.days) => {
            (days, rounded((1.0 - late.per_day * days as f64).max(0.0)))
        }
        _ => (days, 0.0),
    }
}

/// Two decimals more than anybody gives, so that sums of tenths look as they should.
fn rounded(points: f64) -> f64 {
    (points * 1e4).round() / 1e4
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::task::TestRow;
    use std::path::Path;

    /// A result with these tests.
    pub(crate) fn graded(key: &str, tests: &[(&str, bool)]) -> Graded {
        let row = |(name, passed): &(&str, bool)| TestRow {
            name: (*name).to_owned(),
            passed: *passed,
            hidden: name.starts_with("hidden"),
            millis: 1.5,
            cause: (!passed).then(|| "wrong values in y".to_owned()),
        };
        Graded {
            key: key.to_owned(),
            puzzle: 10,
            seed: 7,
            ending: Ending::Judged,
            tests: tests.iter().map(row).collect(),
            feedback: "Puzzle 10: Title\nall of it <script>alert(1)</script>\n".to_owned(),
            report: "the whole report\n".to_owned(),
            seconds: 1.25,
            counters: None,
            host: "node1".to_owned(),
        }
    }

    fn settings(more: &str) -> Settings {
        let text = format!(
            "title = \"C\"\nsecret = \"0123456789abcdef\"\ndeadline = 1970-01-02T00:00:00Z\n{more}\n\
             [[puzzle]]\nnumber = 10\npoints = 4\ntests = {{ a = 1, b = 2 }}\n"
        );
        Settings::parse(&text, Path::new("class.toml")).unwrap()
    }

    fn student(at: &[(i64, &str)]) -> Submitted {
        let one = |(at, key): &(i64, &str)| TryKeys {
            at: *at,
            keys: BTreeMap::from([(10, (*key).to_owned())]),
            notes: Vec::new(),
        };
        Submitted { name: "ada".into(), tries: at.iter().map(one).collect() }
    }

    fn get(key: &str) -> Option<Graded> {
        match key {
            "all" => Some(graded(key, &[("a", true), ("b", true)])),
            "half" => Some(graded(key, &[("a", true), ("b", false)])),
            _ => None,
        }
    }

    #[test]
    fn points_come_from_tests_and_from_passing_all() {
        let of = |key| one(&settings(""), &student(&[(0, key)]), &get).points();
        assert_eq!([of("all"), of("half"), of("missing")], [7.0, 1.0, 0.0]);
    }

    #[test]
    fn each_day_that_begins_costs_its_part() {
        let with = "late = { per_day = 0.1, days = 2 }";
        let of = |at, more| one(&settings(more), &student(&[(at, "all")]), &get).points();
        assert_eq!(of(DAY, with), 7.0);
        assert_eq!(of(DAY + 1, with), 6.3);
        assert_eq!(of(3 * DAY, with), 5.6);
        assert_eq!(of(3 * DAY + 1, with), 0.0);
        assert_eq!(of(DAY + 1, ""), 0.0);
        let mut ancient = settings(with);
        ancient.deadline = Some(-DAY);
        assert_eq!(one(&ancient, &student(&[(i64::MAX, "all")]), &get).points(), 0.0);
    }

    #[test]
    fn the_best_try_or_the_last_counts() {
        let tries = student(&[(0, "half"), (1, "all"), (2, "half")]);
        let of = |keep: &str| {
            let grade = one(&settings(&format!("tries = {{ keep = \"{keep}\" }}")), &tries, &get);
            (grade.points(), grade.counts)
        };
        assert_eq!(of("best"), (7.0, 2));
        assert_eq!(of("last"), (1.0, 3));
    }
}
