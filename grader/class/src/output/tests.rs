use super::*;
use crate::grades::tests::graded;
use crate::grades::{Grade, PuzzleGrade};
use crate::settings::Settings;
use serde_json::Value;
use std::collections::BTreeMap;

const HOSTILE: &str = "=cmd|'<script>alert(1)</script>\u{1b}[2J";

fn settings() -> Settings {
    let text = "title = \"Class & <b>\"\nsecret = \"0123456789abcdef\"\n[[puzzle]]\nnumber = 10\npoints = 4\n\
                tests = { a = 1, hidden_sizes_1 = 2 }\n";
    Settings::parse(text, Path::new("class.toml")).unwrap()
}

fn grade(tests: &[(&str, bool)]) -> Grade {
    let graded = graded("k", tests);
    let points = graded.tests.iter().filter(|test| test.passed).count() as f64;
    Grade {
        student: HOSTILE.into(),
        tries: 2,
        counts: 1,
        at: 100,
        late_days: 1,
        factor: 0.5,
        puzzles: vec![PuzzleGrade {
            number: 10,
            points,
            most: 7.0,
            graded: Some(graded),
            submitted: true,
        }],
        notes: vec!["<i>strange</i>".into()],
    }
}

#[test]
fn pages_show_names_as_text() {
    let (class, grade) = (settings(), grade(&[("a", false), ("hidden_sizes_1", false)]));
    let page = feedback::feedback_page(&class, &grade, &BTreeMap::new());
    assert!(!page.contains("<script") && !page.contains('\u{1b}') && !page.contains("<i>"));
    assert!(page.contains("Class &amp; &lt;b&gt;") && page.contains("0 of 1 hidden tests"));
    assert!(!page.contains("hidden_sizes_1"), "hidden tests have no names here");
}

#[test]
fn tables_hold_no_formula() {
    let (class, grades) = (settings(), [grade(&[("a", true)])]);
    for table in
        [csv::class(&class, &grades), csv::moodle(&class, &grades), csv::canvas(&class, &grades)]
    {
        for line in table.lines() {
            assert!(!line.starts_with('=') && !line.contains(",="), "{line}");
        }
        assert!(table.contains("\"'=cmd|'"), "{table}");
    }
}

/// What the importers of Moodle and Canvas look for.
#[test]
fn tables_have_the_columns_that_are_imported() {
    let (class, grades) = (settings(), [grade(&[("a", true)])]);
    let moodle = csv::moodle(&class, &grades);
    let mut lines = moodle.lines();
    assert_eq!(lines.next(), Some("username,Class & <b>,feedback"));
    assert!(lines.next().is_some_and(|line| line.contains(",0.5,") && line.contains("1 day late")));
    let canvas = csv::canvas(&class, &grades);
    let mut lines = canvas.lines();
    let columns = "Student,ID,SIS User ID,SIS Login ID,Section,Class & <b>";
    assert_eq!(lines.next(), Some(columns));
    assert_eq!(lines.next(), Some("    Points Possible,,,,,7"));
    assert!(lines.next().is_some_and(|line| line.ends_with(",,0.5")), "{canvas}");
}

/// Does a document have the keys and types of a sample, and no others? Of a list, each element is as its first.
fn fits(value: &Value, sample: &Value) -> bool {
    match (value, sample) {
        (Value::Object(value), Value::Object(sample)) => value
            .iter()
            .all(|(key, value)| sample.get(key).is_some_and(|sample| fits(value, sample))),
        (Value::Array(values), Value::Array(sample)) => {
            values.iter().all(|value| fits(value, &sample[0]))
        }
        _ => std::mem::discriminant(value) == std::mem::discriminant(sample),
    }
}

/// The keys that the documentation of each platform lists, with a value of their types.
#[test]
fn platforms_get_what_they_document() {
    let mut grade = grade(&[("a", true), ("hidden_sizes_1", false)]);
    grade.puzzles[0].graded.as_mut().unwrap().feedback = "é".repeat(1 << 20);
    let class = settings();
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let gradescope = parse(
        r#"{ "score": 1, "execution_time": 1, "output": "", "output_format": "", "test_output_format": "",
            "test_name_format": "", "visibility": "", "stdout_visibility": "", "extra_data": {},
            "tests": [{ "score": 1, "max_score": 1, "status": "", "name": "", "name_format": "", "number": "", "output": "",
                        "output_format": "", "tags": [""], "visibility": "", "extra_data": {} }],
            "leaderboard": [{ "name": "", "value": 1, "order": "" }] }"#,
    );
    assert!(fits(&parse(&gradescope::results(&class, &grade)), &gradescope));
    let prairie = parse(
        r#"{ "gradable": true, "score": 1, "message": "", "output": "", "format_errors": "",
            "tests": [{ "name": "", "description": "", "points": 1, "max_points": 1, "message": "", "output": "" }] }"#,
    );
    let results = prairielearn::results(&grade);
    assert!(fits(&parse(&results), &prairie) && results.len() < 1_000_000);
    let room = parse(
        r#"{ "schema": "", "classroom": "", "assignment": "", "submission": "", "commit": "", "release": "", "review": "",
            "datetime": "", "score": 1, "max-score": 1,
            "tests": [{ "test-name": "", "passed": true, "score": 1, "max-score": 1 }] }"#,
    );
    let result = parse(&classroom50::result(&grade));
    assert!(fits(&result, &room) && result.as_object().unwrap().len() == 11);
}

#[test]
fn platforms_get_their_formats() {
    let (class, grade) = (settings(), grade(&[("a", true), ("hidden_sizes_1", false)]));
    let parse = |text: String| serde_json::from_str::<Value>(&text).unwrap();
    let gradescope = parse(gradescope::results(&class, &grade));
    assert_eq!(gradescope["score"], 0.5);
    let sum: f64 = gradescope["tests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["max_score"].as_f64().unwrap())
        .sum();
    assert_eq!(sum, 7.0);
    let visibility: Vec<&str> = gradescope["tests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["visibility"].as_str().unwrap())
        .collect();
    assert_eq!(visibility, ["visible", "visible", "hidden"]);
    let prairie = parse(prairielearn::results(&grade));
    assert_eq!(
        (prairie["gradable"].as_bool(), prairie["score"].as_f64()),
        (Some(true), Some(0.5 / 7.0))
    );
    let room = parse(classroom50::result(&grade));
    assert_eq!((&room["schema"], &room["max-score"]), (&"classroom50/result/v1".into(), &7.into()));
    assert!(room["tests"][0]["score"].is_i64());
    let student = parse(summary::student(&class, &grade));
    assert_eq!(student["puzzles"][0]["tests"].as_array().unwrap().len(), 1);
    assert_eq!(student["puzzles"][0]["hidden_tests"]["total"], 1);
    let junit = String::from_utf8(junit::document(&class, &[grade]).unwrap()).unwrap();
    assert!(junit.contains("<failure") && !junit.contains('\u{1b}') && !junit.contains("<script"));
}

#[test]
fn what_was_being_written_when_a_grader_was_killed_goes() {
    let dir = tempfile::tempdir().unwrap();
    let hour_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
    for (name, old) in [(".new-a", true), (".new-b", false), ("ada.html", true)] {
        let file = fs::File::create(dir.path().join(name)).unwrap();
        if old {
            file.set_modified(hour_ago).unwrap();
        }
    }
    remove_left(dir.path());
    remove_left(&dir.path().join("nothing"));
    let left = |name| dir.path().join(name).exists();
    assert!(!left(".new-a") && left(".new-b") && left("ada.html"));
}
