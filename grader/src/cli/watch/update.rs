//! How keys and events change what `grader watch` shows.

use super::background::Graded;
use super::layout::Layout;
use super::model::{Effect, HintPage, Message, Model, Page, Panel, Status};
use crate::terminal::screen::Key;

/// The rows that a turn of the wheel scrolls.
const WHEEL: isize = 3;

/// Further than any page is long.
const FAR: isize = isize::MAX / 2;

/// Changes the model, and returns what is to be done.
pub fn update(model: &mut Model, message: Message) -> Option<Effect> {
    match message {
        Message::Key(key) => return typed(model, key),
        Message::Resized(size) => model.size = size,
        Message::Started => model.status = grading(String::new()),
        Message::Doing(doing) => {
            if let Status::Grading { doing: now, .. } = &mut model.status {
                *now = doing;
            }
        }
        Message::Time(passed) => {
            if let Status::Grading { time, .. } = &mut model.status {
                *time = passed;
            }
        }
        Message::Graded { graded, solved, next } => graded_now(model, graded, solved, next),
        Message::Hint { title, text } => {
            model.panel = Panel::Hint(HintPage { title, page: Page { text, top: 0 } });
        }
        Message::States(states) => {
            model.panel = Panel::List { states, selected: model.current };
        }
        // The report that is to come says more.
        Message::Replayed(_) if matches!(model.status, Status::Grading { .. }) => {}
        Message::Replayed(text) => model.status = Status::Notice(text),
        Message::Next { next, solved } => return leave(model, next, solved),
    }
    None
}

fn grading(doing: String) -> Status {
    Status::Grading { doing, time: std::time::Duration::ZERO }
}

fn graded_now(model: &mut Model, graded: Graded, solved: bool, next: Option<usize>) {
    model.status = if solved { Status::Solved { next } } else { Status::Graded(graded.in_short()) };
    model.report = Page { text: graded.text, top: 0 };
}

fn typed(model: &mut Model, key: Key) -> Option<Effect> {
    match key {
        Key::Interrupt => return Some(Effect::Quit),
        Key::Suspend => return Some(Effect::Suspend),
        _ => {}
    }
    match &mut model.panel {
        Panel::Leave { next } => {
            let next = *next;
            model.panel = Panel::Closed;
            match key {
                Key::Char('y' | 'Y') | Key::Enter => Some(open(model, next)),
                Key::Char('q' | 'Q') => Some(Effect::Quit),
                _ => None,
            }
        }
        Panel::List { selected, .. } => {
            if let Some(rows) = distance(key, model.size.rows) {
                *selected = moved(*selected, rows, model.puzzles.len().saturating_sub(1));
                return None;
            }
            let selected = *selected;
            model.panel = Panel::Closed;
            match key {
                Key::Enter if selected == model.current => None,
                Key::Enter => Some(open(model, selected)),
                Key::Char('l' | 'L') => None,
                _ => command(model, key),
            }
        }
        _ => command(model, key),
    }
}

/// The keys that mean the same whatever is open.
fn command(model: &mut Model, key: Key) -> Option<Effect> {
    match key {
        Key::Char('q' | 'Q') => Some(Effect::Quit),
        Key::Char('h' | 'H') => {
            Some(Effect::LoadHint { stronger: matches!(model.panel, Panel::Hint(_)) })
        }
        Key::Char('l' | 'L') => Some(Effect::LoadStates),
        Key::Char('n' | 'N') => Some(Effect::FindNext),
        Key::Char('p' | 'P') => back(model),
        Key::Char('r' | 'R') => Some(Effect::Grade),
        Key::Char('v' | 'V') => Some(Effect::Replay),
        Key::Escape => {
            model.panel = Panel::Closed;
            None
        }
        _ => {
            scroll(model, key);
            None
        }
    }
}

/// Goes to the puzzle that was watched before, else to the one before this in the workbook.
fn back(model: &mut Model) -> Option<Effect> {
    let Some(number) = model.before.pop().or(model.current.checked_sub(1)) else {
        model.status = Status::Notice("this is the first puzzle".into());
        return None;
    };
    let before = std::mem::take(&mut model.before);
    let effect = open(model, number);
    model.before = before;
    Some(effect)
}

/// Goes on, but asks before it leaves an unsolved puzzle.
fn leave(model: &mut Model, next: Option<usize>, solved: bool) -> Option<Effect> {
    match next {
        None => {
            let all = model.puzzles.len();
            model.status = Status::Notice(format!("all {all} puzzles are solved"));
            None
        }
        Some(next) if next == model.current => {
            model.status = Status::Notice("this is the last puzzle that is not solved".into());
            None
        }
        Some(next) if solved => Some(open(model, next)),
        Some(next) => {
            model.panel = Panel::Leave { next };
            None
        }
    }
}

fn open(model: &mut Model, index: usize) -> Effect {
    model.before.push(model.current);
    model.current = index;
    model.report = Page::default();
    model.panel = Panel::Closed;
    Effect::Grade
}

/// Scrolls the hint if it is longer than its room, else the report.
fn scroll(model: &mut Model, key: Key) {
    let layout = Layout::of(model);
    let mut page = &mut model.report;
    let mut room = layout.report;
    if let Panel::Hint(hint) = &mut model.panel
        && hint.page.height(layout.hint.columns) > layout.hint_text()
    {
        page = &mut hint.page;
        room = layout.hint;
        room.rows = layout.hint_text();
    }
    if let Some(rows) = distance(key, room.rows) {
        let last = page.height(room.columns).saturating_sub(room.rows);
        page.top = moved(page.top, rows, last);
    }
}

/// How far a key moves on a page of `rows` rows; `None` for other keys.
fn distance(key: Key, rows: usize) -> Option<isize> {
    // One row of the last page stays in sight.
    let page = rows.saturating_sub(1).max(1) as isize;
    Some(match key {
        Key::Up | Key::Char('k') => -1,
        Key::Down | Key::Char('j') => 1,
        Key::PageUp => -page,
        Key::PageDown | Key::Char(' ') => page,
        Key::Home | Key::Char('g') => -FAR,
        Key::End | Key::Char('G') => FAR,
        Key::WheelUp => -WHEEL,
        Key::WheelDown => WHEEL,
        _ => return None,
    })
}

fn moved(from: usize, by: isize, last: usize) -> usize {
    from.min(last).saturating_add_signed(by).min(last)
}
