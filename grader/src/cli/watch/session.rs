//! Does what the model asks for: grades, reads hints and progress, and looks for saves.

use super::background::{self, Cancel, Graded, Grader, Job, Setup};
use super::files::settled;
use super::model::{Effect, Message, Model};
use super::plain;
use super::update::update;
use super::view::view;
use crate::cli::console;
use crate::cli::hint;
use crate::contents::Entry;
use crate::student_progress::StudentProgress;
use crate::terminal;
use crate::terminal::screen::{Input, Screen};
use diagnostic::Failure;
use puzzle::workbook::{Puzzle, Workbook};
use signal_hook::consts::SIGCONT;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};
use toolchain::cache::Key;

/// The interval between two looks at the files. Polling also works on network file systems and those of virtual
/// machines, which often send no events; a look takes about 1 ms of processor time.
const POLL: Duration = Duration::from_millis(50);

/// What the session waits for.
pub enum Event {
    Input(Input),
    /// An event of the grading with this number.
    Grading(u64, background::Event),
    /// What came of a replay.
    Replayed(String),
}

/// A grading under way.
struct Running {
    start: Instant,
    /// Ends the grading when it is dropped.
    _cancel: Cancel,
}

/// What `grader watch` works with, and what it shows.
pub struct Session<'a> {
    pub workbook: &'a Workbook,
    /// The puzzles, in the order of the model.
    pub entries: &'a [Entry<'a>],
    pub progress: StudentProgress<'a>,
    pub model: Model,
    /// `None` without a terminal.
    pub screen: Option<Screen>,
    pub work: Work,
}

/// The gradings, and what comes from them and from the keyboard.
pub struct Work {
    setup: Setup,
    sender: Sender<Event>,
    events: Receiver<Event>,
    /// A child that is ready for the next grading.
    spare: Option<Grader>,
    running: Option<Running>,
    /// The number of the last grading.
    number: u64,
    /// The fingerprint of the files that were graded last.
    graded: Option<Key>,
}

impl Work {
    pub fn new(setup: Setup, sender: Sender<Event>, events: Receiver<Event>) -> Self {
        Self { setup, sender, events, spare: None, running: None, number: 0, graded: None }
    }

    /// Ends a grading that is under way, and starts one of the files with this fingerprint.
    fn grade(&mut self, files: Option<Key>, job: Job) -> Result<(), Failure> {
        self.running = None;
        self.graded = files;
        self.number += 1;
        let grader = self.spare.take().map_or_else(|| Grader::start(&self.setup), Ok)?;
        let (sender, number) = (self.sender.clone(), self.number);
        let send = move |event| sender.send(Event::Grading(number, event)).is_ok();
        let start = Instant::now();
        self.running = Some(Running { start, _cancel: grader.grade(job, send)? });
        Ok(())
    }

    /// Starts a replay of the puzzle, and returns what to say meanwhile.
    fn replay(&self, puzzle: u32) -> String {
        let sender = self.sender.clone();
        let send = move |text| {
            // Nobody listens any more once the session has ended.
            sender.send(Event::Replayed(text)).ok();
        };
        match background::replay(&self.setup, puzzle, send) {
            Ok(()) => "recording a replay".into(),
            Err(failure) => failure.render(false),
        }
    }

    fn ended(&mut self) {
        self.running = None;
        // If it cannot start now, the next save says why.
        self.spare = Grader::start(&self.setup).ok();
    }
}

impl Session<'_> {
    /// Grades, and follows the keys and the saves until the user quits.
    pub fn run(mut self) {
        let resumed = Arc::new(AtomicBool::new(false));
        // A shell that continues the grader has set the terminal to its own mode.
        signal_hook::flag::register(SIGCONT, Arc::clone(&resumed)).ok();
        let mut flow = self.perform(Effect::Grade);
        // A terminal that is gone ends the session too.
        while flow.is_continue() && self.draw().is_ok() {
            flow = self.wait();
            if resumed.swap(false, Ordering::Relaxed) {
                self.screen.iter_mut().for_each(Screen::resume);
            }
            if flow.is_continue() && self.is_saved() {
                flow = self.perform(Effect::Grade);
            }
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        self.screen.as_mut().map_or(Ok(()), |screen| screen.draw(view(&self.model)))
    }

    /// Waits for something to happen, and reacts.
    fn wait(&mut self) -> ControlFlow<()> {
        let message = match self.work.events.recv_timeout(POLL) {
            Ok(Event::Input(Input::Key(key))) => Message::Key(key),
            Ok(Event::Input(Input::Resized)) => {
                self.screen.iter_mut().for_each(Screen::forget);
                Message::Resized(terminal::size().unwrap_or(self.model.size))
            }
            Ok(Event::Grading(number, event)) if number == self.work.number => {
                match self.graded(event) {
                    Some(message) => message,
                    None => return ControlFlow::Continue(()),
                }
            }
            Ok(Event::Replayed(text)) => Message::Replayed(text),
            // What a cancelled grading still said.
            Ok(Event::Grading(..)) => return ControlFlow::Continue(()),
            Err(_) => match &self.work.running {
                Some(running) => Message::Time(running.start.elapsed()),
                None => return ControlFlow::Continue(()),
            },
        };
        self.apply(message)
    }

    /// What an event of the grading means for the model.
    fn graded(&mut self, event: background::Event) -> Option<Message> {
        match event {
            background::Event::Doing(doing) => Some(Message::Doing(doing)),
            background::Event::Log(line) if self.screen.is_some() => {
                Some(Message::Doing(line.chars().filter(|c| !c.is_control()).collect()))
            }
            background::Event::Log(line) => {
                writeln!(io::stderr(), "{line}").ok();
                None
            }
            background::Event::Graded(graded) => {
                self.work.ended();
                Some(self.outcome(graded))
            }
        }
    }

    fn outcome(&self, graded: Graded) -> Message {
        let puzzle = self.puzzle();
        let solved = self.progress.state(puzzle).is_solved();
        Message::Graded { graded, solved, next: self.next() }
    }

    /// The index of the next unsolved puzzle.
    fn next(&self) -> Option<usize> {
        let next = self.progress.next_after(self.puzzle())?;
        self.entries.iter().position(|entry| entry.puzzle.number == next.number)
    }

    fn puzzle(&self) -> &Puzzle {
        self.entries[self.model.current].puzzle
    }

    /// Whether the student has saved something else than what was graded.
    fn is_saved(&self) -> bool {
        let look = || self.progress.fingerprint(self.puzzle());
        let now = look();
        now.is_some() && now != self.work.graded && settled(now, look).is_some()
    }

    /// Changes the model, and does what follows.
    fn apply(&mut self, message: Message) -> ControlFlow<()> {
        let printed = self.screen.is_none().then(|| message.clone());
        let effect = update(&mut self.model, message);
        if let Some(message) = printed {
            let text = plain::text(&self.model, &message, &self.progress, self.entries);
            console::print(&text);
        }
        effect.map_or(ControlFlow::Continue(()), |effect| self.perform(effect))
    }

    fn perform(&mut self, effect: Effect) -> ControlFlow<()> {
        let message = match effect {
            Effect::Quit => return ControlFlow::Break(()),
            Effect::Suspend => {
                self.screen.iter_mut().for_each(Screen::suspend);
                return ControlFlow::Continue(());
            }
            Effect::Grade => return self.grade(),
            Effect::Replay => Message::Replayed(self.work.replay(self.puzzle().number)),
            Effect::LoadHint { stronger } => self.hint(stronger),
            Effect::LoadStates => {
                let state = |entry: &Entry<'_>| self.progress.state(entry.puzzle);
                Message::States(self.entries.iter().map(state).collect())
            }
            Effect::FindNext => {
                let solved = self.progress.state(self.puzzle()).is_solved();
                Message::Next { next: self.next(), solved }
            }
        };
        self.apply(message)
    }

    fn grade(&mut self) -> ControlFlow<()> {
        self.apply(Message::Started)?;
        let style = self.model.style;
        let job = Job {
            puzzle: self.puzzle().number,
            columns: self.model.size.columns,
            colour: style.colour,
            unicode: style.unicode,
        };
        let files = self.progress.fingerprint(self.puzzle());
        match self.work.grade(files, job) {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => {
                let text = format!("{}\n", failure.render(style.colour));
                self.apply(self.outcome(Graded { text, ..Graded::default() }))
            }
        }
    }

    /// The strongest hint that was shown before, or a stronger one.
    fn hint(&self, stronger: bool) -> Message {
        let (puzzle, style) = (self.puzzle(), self.model.style);
        let level = (!stronger).then(|| self.progress.hint_level(puzzle).max(1));
        let width = self.model.size.columns;
        let hint = hint::shown(self.workbook, puzzle, &self.progress, level, style, width);
        match hint {
            Ok((title, text)) => Message::Hint { title, text },
            Err(failure) => {
                let text = format!("{}\n", failure.render(style.colour));
                Message::Hint { title: "Hints".into(), text }
            }
        }
    }
}
