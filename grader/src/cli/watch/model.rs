//! What `grader watch` knows and shows, as data.

use super::background::Graded;
use crate::student_progress::State;
use crate::terminal::Size;
use crate::terminal::screen::Key;
use report::style::Style;
use std::time::Duration;

/// A puzzle as it is named to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    pub number: u32,
    pub title: String,
    /// The part of the book, if it has one.
    pub part: Option<String>,
}

/// A text that scrolls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    pub text: String,
    /// The first row that is shown.
    pub top: usize,
}

/// A hint of the puzzle's chapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HintPage {
    pub title: String,
    pub page: Page,
}

/// What is open beside the report, or in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Panel {
    /// Nothing is open: the report stands alone.
    Closed,
    /// A hint under the report, or beside it.
    Hint(HintPage),
    /// The list of puzzles in place of the report, with the student's progress in each.
    List { states: Vec<State>, selected: usize },
    /// The question whether to leave an unsolved puzzle for this one.
    Leave { next: usize },
}

/// What the line below the report says.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// A grading is under way: what it does, and for how long.
    Grading { doing: String, time: Duration },
    /// The report is complete; the text says so in short.
    Graded(String),
    /// The puzzle is solved. There may be another one.
    Solved { next: Option<usize> },
    /// The answer to a key.
    Notice(String),
}

/// Everything that the screen shows.
#[derive(Clone, Debug)]
pub struct Model {
    pub size: Size,
    pub style: Style,
    /// All puzzles of the workbook, sorted by number; others name them by their index in it.
    pub puzzles: Vec<Named>,
    /// The puzzle that is watched.
    pub current: usize,
    /// The puzzles that were watched before, the last one at the end.
    pub before: Vec<usize>,
    pub report: Page,
    pub panel: Panel,
    pub status: Status,
}

/// What happened: the user did something, or the grading goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    Key(Key),
    Resized(Size),
    /// The grading of the current puzzle begins.
    Started,
    /// The grading does this now.
    Doing(String),
    /// The grading has taken so long by now.
    Time(Duration),
    /// The grading has ended. If the puzzle is solved now, it is followed by `next`.
    Graded {
        graded: Graded,
        solved: bool,
        next: Option<usize>,
    },
    /// The hint that was asked for.
    Hint {
        title: String,
        text: String,
    },
    /// What came of the replay that was asked for.
    Replayed(String),
    /// The progress in all puzzles.
    States(Vec<State>),
    /// The next unsolved puzzle, if there is one, and whether the current one is solved.
    Next {
        next: Option<usize>,
        solved: bool,
    },
}

/// What is to be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Quit,
    /// Stop until the shell continues this program.
    Suspend,
    /// Grade the current puzzle.
    Grade,
    /// Show a hint: the strongest one that was shown before, or a stronger one.
    LoadHint {
        stronger: bool,
    },
    LoadStates,
    FindNext,
    /// Record the kernel, and open the page.
    Replay,
}

impl Model {
    /// Before anything has happened.
    pub fn new(size: Size, style: Style, puzzles: Vec<Named>, current: usize) -> Self {
        Self {
            size,
            style,
            puzzles,
            current,
            before: Vec::new(),
            report: Page::default(),
            panel: Panel::Closed,
            status: Status::Notice(String::new()),
        }
    }

    /// The puzzle that is watched.
    pub fn puzzle(&self) -> &Named {
        &self.puzzles[self.current]
    }
}
