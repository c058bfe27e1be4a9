//! The screen of `grader watch`, as rows of text.

use super::layout::{Layout, REPORT_WIDTH};
use super::model::{HintPage, Model, Named, Page, Panel, Status};
use crate::cli::list;
use crate::student_progress::State;
use crate::terminal::Size;
use crate::terminal::text::{cut, pad, width, wrap};
use report::style::Tone;
use std::time::Duration;

/// The time for which a picture of the spinner is shown.
const FRAME: Duration = Duration::from_millis(100);

/// A grading that takes longer than this says for how long it has run.
const LONG: Duration = Duration::from_secs(1);

/// What a row of the list of puzzles has beside the title: number and state.
const STATE_WIDTH: usize = 36;

/// All rows of the screen, each at most as wide as it.
pub fn view(model: &Model) -> Vec<String> {
    let layout = Layout::of(model);
    let (mut rows, shown) = match &model.panel {
        Panel::List { states, selected } => list_rows(model, states, *selected, layout.report),
        _ => report_rows(model, layout.report),
    };
    rows.resize(layout.report.rows, String::new());
    if let Panel::Hint(hint) = &model.panel {
        let hint = hint_rows(model, hint, layout);
        if layout.beside {
            let bar = model.style.paint(Tone::Faint, model.style.either("│", "|"));
            for (row, hint) in rows.iter_mut().zip(hint) {
                *row = format!("{} {bar} {hint}", pad(row, REPORT_WIDTH));
            }
        } else {
            rows.extend(hint);
        }
    }
    let (tone, status) = status(model);
    // A question needs the room.
    let shown = if matches!(model.panel, Panel::Leave { .. }) { "" } else { shown.as_str() };
    rows.push(rule(model, tone, &status, shown, model.size.columns));
    rows.push(model.style.paint(Tone::Faint, &cut(&keys(model), model.size.columns)));
    rows.truncate(model.size.rows);
    rows
}

/// The part of the report that is scrolled into sight, and which part that is.
fn report_rows(model: &Model, room: Size) -> (Vec<String>, String) {
    if model.report.text.is_empty() {
        let Named { number, title, .. } = model.puzzle();
        let title = format!("Puzzle {number}: {title}");
        return (vec![model.style.paint(Tone::Strong, &cut(&title, room.columns))], String::new());
    }
    part_of(&model.report, room)
}

/// The rows of a page that are in sight, and which ones they are, such as "1-22 of 40".
fn part_of(page: &Page, room: Size) -> (Vec<String>, String) {
    let rows = wrap(&page.text, room.columns);
    let all = rows.len();
    let first = page.first(all, room.rows);
    let shown: Vec<String> = rows.into_iter().skip(first).take(room.rows).collect();
    if shown.len() == all {
        return (shown, String::new());
    }
    let part = format!("{}-{} of {all}", first + 1, first + shown.len());
    (shown, part)
}

fn hint_rows(model: &Model, hint: &HintPage, layout: Layout) -> Vec<String> {
    let room = Size { rows: layout.hint_text(), columns: layout.hint.columns };
    let (text, part) = part_of(&hint.page, room);
    let mut rows = vec![rule(model, Tone::Strong, &hint.title, &part, room.columns)];
    rows.extend(text);
    rows.resize(layout.hint.rows, String::new());
    rows
}

/// The list of puzzles, with the selected one in sight.
fn list_rows(
    model: &Model,
    states: &[State],
    selected: usize,
    room: Size,
) -> (Vec<String>, String) {
    let style = model.style;
    let longest = model.puzzles.iter().map(|puzzle| width(&puzzle.title)).max().unwrap_or(0);
    let title_width = longest.min(room.columns.saturating_sub(STATE_WIDTH));
    let mut rows = Vec::new();
    let mut part = None;
    let mut selected_row = 0;
    for (index, (puzzle, &state)) in model.puzzles.iter().zip(states).enumerate() {
        if part != puzzle.part.as_ref() {
            part = puzzle.part.as_ref();
            let heading = part.map_or("Other puzzles", String::as_str);
            rows.push(style.paint(Tone::Strong, &cut(heading, room.columns)));
        }
        let title = cut(&puzzle.title, title_width);
        let line = list::line(puzzle.number, &title, title_width, state, style);
        let line = if index == selected {
            selected_row = rows.len();
            format!("{} {}", style.paint(Tone::Strong, style.either("▸", ">")), line.trim_start())
        } else {
            line
        };
        rows.push(cut(&line, room.columns));
    }
    let top = selected_row.saturating_sub(room.rows / 2).min(rows.len().saturating_sub(room.rows));
    (rows.into_iter().skip(top).take(room.rows).collect(), String::new())
}

fn status(model: &Model) -> (Tone, String) {
    let name = |index: usize| {
        let Named { number, title, .. } = &model.puzzles[index];
        format!("puzzle {number}, {title}")
    };
    if let Panel::Leave { next } = model.panel {
        let number = model.puzzle().number;
        let question = format!("Puzzle {number} is not solved. Go on to {}?", name(next));
        return (Tone::Warn, question);
    }
    if let Panel::List { states, .. } = &model.panel {
        let solved = states.iter().filter(|state| state.is_solved()).count();
        return (Tone::Faint, format!("{solved} of {} puzzles solved", states.len()));
    }
    match &model.status {
        Status::Grading { doing, time } => (Tone::Faint, grading(model, doing, *time)),
        Status::Graded(text) => (Tone::Faint, text.clone()),
        Status::Solved { next: Some(next) } => {
            (Tone::Good, format!("Solved. n goes on to {}", name(*next)))
        }
        Status::Solved { next: None } => {
            (Tone::Good, format!("All {} puzzles are solved", model.puzzles.len()))
        }
        Status::Notice(text) => (Tone::Warn, text.clone()),
    }
}

fn grading(model: &Model, doing: &str, time: Duration) -> String {
    const BRAILLE: [&str; 8] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠇", "⠏", "⠹"];
    const ASCII: [&str; 4] = ["|", "/", "-", "\\"];
    let frames = model.style.either(&BRAILLE[..], &ASCII[..]);
    let frame = frames[(time.as_millis() / FRAME.as_millis()) as usize % frames.len()];
    let doing = if doing.is_empty() { "grading" } else { doing };
    // Without a report from before, nothing above can be out of date.
    let above = if model.report.text.is_empty() { "" } else { "; the report above is older" };
    let took = if time < LONG { String::new() } else { format!(", {} s{above}", time.as_secs()) };
    format!("{frame} {doing}{took}")
}

/// A line across the screen with a text at each end.
fn rule(model: &Model, tone: Tone, left: &str, right: &str, columns: usize) -> String {
    let dash = model.style.either("─", "-");
    let right = if right.is_empty() { String::new() } else { format!(" {right} {dash}{dash}") };
    let left = if left.is_empty() { String::new() } else { format!(" {left} ") };
    let left = cut(&left, columns.saturating_sub(2 + width(&right)));
    let between = columns.saturating_sub(2 + width(&left) + width(&right));
    let faint = |text: &str| model.style.paint(Tone::Faint, text);
    let right = format!("{}{right}", dash.repeat(between));
    let row =
        format!("{}{}{}", faint(&dash.repeat(2)), model.style.paint(tone, &left), faint(&right));
    cut(&row, columns)
}

fn keys(model: &Model) -> String {
    let arrows = model.style.either("↑↓", "arrows");
    match &model.panel {
        Panel::Leave { .. } => "y yes   n no".into(),
        Panel::List { .. } => format!("{arrows} choose   Enter open   Esc close   q quit"),
        Panel::Hint(_) => {
            format!("h stronger hint   Esc close   {arrows} scroll   n next   q quit")
        }
        Panel::Closed => {
            format!("h hint  v replay  n next  p back  l list  r again  q quit  {arrows} scroll")
        }
    }
}
