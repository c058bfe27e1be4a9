//! The screens of `grader watch` at 80 x 24 and 60 x 24, and what keys do.

use super::background::Graded;
use super::model::{Effect, Message, Model, Named, Panel, Status};
use super::update::update;
use super::view::view;
use crate::student_progress::{Outcome, State};
use crate::terminal::Size;
use crate::terminal::screen::Key;
use crate::terminal::text::width;
use insta::assert_snapshot;
use report::style::Style;
use std::ops::RangeInclusive;
use std::time::Duration;

const STYLE: Style = Style { colour: false, unicode: true };

fn model(columns: usize) -> Model {
    let named = |(number, title, part): (u32, &str, &str)| Named {
        number,
        title: title.into(),
        part: Some(part.into()),
    };
    let puzzles = [
        (1, "Vector addition", "First steps"),
        (2, "Matrix multiplication", "First steps"),
        (7, "Convolution with a title that is longer than all other ones", "Convolution"),
    ];
    Model::new(Size { rows: 24, columns }, STYLE, puzzles.map(named).into(), 1)
}

/// A report of 40 lines.
fn report() -> Message {
    let text = "Puzzle 2: Matrix multiplication\n\n1 of 3 tests passed\n\n\
        likely cause: the first index of B is that of A, so that each element takes a column of A in the place of a row\n\n\
        12 |     sum += A[row * K + k] * B[row * N + col] * a_name_that_is_long_enough_for_the_edge;\n\
        \x20  |                             ^^^^^^^^^^^^^^^^^ here\n";
    let graded = Graded {
        text: format!("{text}{}", lines("line", 9..=40)),
        tests: Some((3, 1)),
        seconds: 0.2,
    };
    Message::Graded { graded, solved: false, next: Some(2) }
}

fn graded(columns: usize) -> Model {
    let mut model = model(columns);
    assert_eq!(update(&mut model, report()), None);
    model
}

fn press(model: &mut Model, key: Key) -> Option<Effect> {
    update(model, Message::Key(key))
}

fn screen(model: &Model) -> String {
    let rows = view(model);
    assert_eq!(rows.len(), model.size.rows);
    assert!(rows.iter().all(|row| width(row) <= model.size.columns), "{rows:#?}");
    rows.join("\n")
}

fn hint(lines: usize) -> Message {
    Message::Hint {
        title: "Hint 1 (mild): one thread".into(),
        text: self::lines("hint", 1..=lines),
    }
}

fn lines(word: &str, numbers: RangeInclusive<usize>) -> String {
    numbers.fold(String::new(), |text, number| format!("{text}{word} {number}\n"))
}

fn states() -> Message {
    let fails = Outcome::Fails { passed: 1, total: 3 };
    Message::States(vec![
        State::Graded(Outcome::Solved),
        State::Graded(fails),
        State::ChangedSince(fails),
    ])
}

#[test]
fn a_report_at_80_columns() {
    assert_snapshot!(screen(&graded(80)));
}

#[test]
fn a_report_at_60_columns() {
    assert_snapshot!(screen(&graded(60)));
}

#[test]
fn a_hint_stands_under_the_report_and_closes_again() {
    let mut model = graded(80);
    assert_eq!(press(&mut model, Key::Char('h')), Some(Effect::LoadHint { stronger: false }));
    update(&mut model, hint(4));
    assert_snapshot!(screen(&model));
    assert_eq!(press(&mut model, Key::Char('h')), Some(Effect::LoadHint { stronger: true }));
    press(&mut model, Key::Down);
    assert_eq!(model.report.top, 1, "a hint that is seen whole leaves the keys to the report");
    press(&mut model, Key::Escape);
    assert_eq!(model.panel, Panel::Closed);
}

#[test]
fn a_long_hint_takes_half_of_the_screen_and_scrolls() {
    let mut model = graded(60);
    update(&mut model, hint(30));
    press(&mut model, Key::PageDown);
    assert_snapshot!(screen(&model));
    assert_eq!(model.report.top, 0);
}

#[test]
fn on_a_wide_screen_a_hint_stands_beside_the_report() {
    let mut model = graded(150);
    model.size.rows = 12;
    update(&mut model, hint(4));
    assert_snapshot!(screen(&model));
}

#[test]
fn puzzles_are_picked_from_a_list() {
    let mut model = graded(60);
    assert_eq!(press(&mut model, Key::Char('l')), Some(Effect::LoadStates));
    update(&mut model, states());
    press(&mut model, Key::Down);
    assert_snapshot!(screen(&model));
    assert_eq!(press(&mut model, Key::Enter), Some(Effect::Grade));
    assert_eq!((model.current, &model.panel), (2, &Panel::Closed));
    assert_eq!(press(&mut model, Key::Char('p')), Some(Effect::Grade), "p goes back");
    assert_eq!(model.current, 1);
    assert_eq!(press(&mut model, Key::Char('p')), Some(Effect::Grade), "then by number");
    assert_eq!(press(&mut model, Key::Char('p')), None);
    assert_eq!(model.status, Status::Notice("this is the first puzzle".into()));
}

#[test]
fn a_list_that_is_left_changes_nothing() {
    for key in [Key::Escape, Key::Char('l'), Key::Enter] {
        let mut model = graded(80);
        update(&mut model, states());
        assert_eq!(press(&mut model, key), None);
        assert_eq!((model.current, &model.panel), (1, &Panel::Closed), "{key:?}");
    }
}

#[test]
fn an_unsolved_puzzle_is_left_only_after_a_question() {
    let ask = |key| {
        let mut model = graded(60);
        assert_eq!(press(&mut model, Key::Char('n')), Some(Effect::FindNext));
        update(&mut model, Message::Next { next: Some(2), solved: false });
        let shown = screen(&model);
        (press(&mut model, key), model.current, shown)
    };
    let (effect, current, shown) = ask(Key::Char('y'));
    assert_eq!((effect, current), (Some(Effect::Grade), 2));
    assert_snapshot!(shown.lines().skip(22).collect::<Vec<_>>().join("\n"), @"
    ── Puzzle 2 is not solved. Go on to puzzle 7, Convolution w…
    y yes   n no
    ");
    assert_eq!(ask(Key::Char('n')).1, 1);
    assert_eq!(ask(Key::Escape).1, 1);
    assert_eq!(ask(Key::Char('q')).0, Some(Effect::Quit));
    let mut model = graded(80);
    let next = Message::Next { next: Some(2), solved: true };
    assert_eq!(update(&mut model, next), Some(Effect::Grade), "a solved one is left at once");
}

#[test]
fn every_line_of_a_report_can_be_reached() {
    for keys in [&[Key::End][..], &[Key::PageDown; 3], &[Key::Char('j'); 40], &[Key::WheelDown; 9]]
    {
        let mut model = graded(80);
        for &key in keys {
            assert_eq!(press(&mut model, key), None);
        }
        let shown = screen(&model);
        assert!(shown.contains("line 40\n") && shown.contains(" of 41 "), "{shown}");
        for key in [Key::Home, Key::Char('k'), Key::PageUp] {
            press(&mut model, key);
        }
        assert_eq!(model.report.top, 0);
    }
}

#[test]
fn a_grading_says_what_it_does_and_for_how_long() {
    let mut model = model(60);
    let status = |model: &Model| screen(model).lines().nth(22).unwrap().to_owned();
    update(&mut model, Message::Started);
    update(&mut model, Message::Doing("running test 2 of 9, large".into()));
    update(&mut model, Message::Time(Duration::from_millis(150)));
    assert_snapshot!(status(&model), @"── ⠙ running test 2 of 9, large ────────────────────────────");
    update(&mut model, report());
    update(&mut model, Message::Started);
    update(&mut model, Message::Time(Duration::from_millis(3100)));
    assert_snapshot!(status(&model), @"── ⠹ grading, 3 s; the report above is older ─ 1-22 of 41 ──");
    let graded = Graded { text: "all good\n".into(), tests: Some((3, 3)), seconds: 0.1 };
    update(&mut model, Message::Graded { graded, solved: true, next: Some(2) });
    assert_snapshot!(status(&model), @"── Solved. n goes on to puzzle 7, Convolution with a title …");
    update(&mut model, Message::Doing("late".into()));
    assert_eq!(model.status, Status::Solved { next: Some(2) });
}

#[test]
fn a_new_report_starts_at_its_top_and_a_hint_stays() {
    let mut model = graded(80);
    update(&mut model, hint(3));
    press(&mut model, Key::End);
    assert_ne!(model.report.top, 0);
    update(&mut model, report());
    assert_eq!(model.report.top, 0);
    assert!(matches!(model.panel, Panel::Hint(_)));
}

#[test]
fn the_smallest_of_windows_breaks_nothing() {
    for (rows, columns) in [(1, 1), (2, 10), (3, 3), (24, 1)] {
        let mut model = graded(80);
        model.size = Size { rows, columns };
        for message in [hint(9), states(), Message::Next { next: Some(2), solved: false }] {
            update(&mut model, message);
            screen(&model);
            press(&mut model, Key::PageDown);
        }
    }
}

#[test]
fn v_replays_and_says_where_the_page_is() {
    let mut model = graded(80);
    assert_eq!(press(&mut model, Key::Char('v')), Some(Effect::Replay));
    let page = "replay: replays/02.html (open it in a browser)";
    update(&mut model, Message::Replayed(page.into()));
    assert!(screen(&model).contains(page));
    update(&mut model, Message::Started);
    update(&mut model, Message::Replayed(page.into()));
    assert!(matches!(model.status, Status::Grading { .. }), "a grading goes on being shown");
}
