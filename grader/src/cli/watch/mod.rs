//! `grader watch [N]`: grades again at every save.

mod screen;

use super::args::{BackendChoice, WatchArgs};
use super::console;
use super::grading::{self, Job};
use super::{hint, list, next};
use crate::contents;
use crate::student_progress::StudentProgress;
use crate::terminal::SingleKeys;
use crate::watcher::Watcher;
use device::gpu::Gpu;
use diagnostic::{Failure, FailureKind};
use puzzle::oracle;
use puzzle::spec::Test;
use puzzle::workbook::{Puzzle, Workbook};
use report::{Reporter, Summary, TextReporter};
use screen::Screen;
use signal_hook::consts::SIGCONT;
use std::collections::VecDeque;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use toolchain::Toolchain;
use toolchain::cache::Key;
use toolchain::env::Env;

/// How often to look at the files where nothing tells of changes.
const POLL: Duration = Duration::from_millis(500);

/// A save is over when nothing has happened for so long.
const QUIET: Duration = Duration::from_millis(15);

/// After this a save is taken to be over although events still come.
const LONGEST_SAVE: Duration = Duration::from_millis(200);

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Key(u8),
    Files,
}

pub(super) fn run(
    args: &WatchArgs,
    workbook: Option<&Path>,
    nvcc: Option<&Path>,
) -> Result<(), Failure> {
    let workbook = console::workbook(workbook)?;
    let env = Env::current();
    let progress = StudentProgress::of(&workbook, &env);
    let puzzle = match args.number {
        Some(number) => workbook.puzzle(number)?,
        None => progress.current().unwrap_or(&workbook.puzzles()[0]),
    };
    let toolchain = Toolchain::locate(&env, nvcc)?;
    let gpu = Gpus::new(args.backend)?;

    let (sender, events) = channel();
    let puzzles = workbook.root().join("puzzles");
    let folders = [puzzles.as_path(), &workbook.include_dir()];
    let files = sender.clone();
    let _watcher = Watcher::start(&folders, move || {
        files.send(Event::Files).ok();
    });
    let keys = SingleKeys::start();
    read_keys(keys.is_some(), sender)?;
    let screen = Screen::new(keys.is_some(), console::style());
    let session = Session {
        workbook: &workbook,
        progress: &progress,
        toolchain: &toolchain,
        gpu,
        puzzle,
        graded: None,
        failed: None,
        screen,
    };
    session.run(&Events { source: events, keys: keys.as_ref() });
    Ok(())
}

/// Sends what is typed. A terminal without single keys may belong to a shell that this runs behind: it is left alone.
fn read_keys(single: bool, sender: Sender<Event>) -> Result<(), Failure> {
    if !single && std::io::stdin().is_terminal() {
        return Ok(());
    }
    let read = move || {
        for key in std::io::stdin().lock().bytes().map_while(Result::ok) {
            if sender.send(Event::Key(key)).is_err() {
                return;
            }
        }
    };
    let started = thread::Builder::new().name("keys".into()).spawn(read);
    started.map(drop).map_err(|e| {
        let title = format!("cannot start a thread: {e}");
        Failure::new(FailureKind::Environment, title, "close other programs")
    })
}

/// Makes GPUs ready: the process that holds one serves one program, and the next one starts while the student edits.
struct Gpus {
    choice: BackendChoice,
    next: Option<JoinHandle<Result<Option<Gpu>, Failure>>>,
    first: Option<Gpu>,
}

impl Gpus {
    fn new(choice: BackendChoice) -> Result<Self, Failure> {
        let first = grading::choose(choice)?;
        // Where there is none now, there will be none at the next save.
        let choice = if first.is_some() { choice } else { BackendChoice::Vm };
        Ok(Self { choice, next: None, first })
    }

    fn take(&mut self) -> Result<Option<Gpu>, Failure> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        match self.next.take().map(JoinHandle::join) {
            Some(Ok(gpu)) => gpu,
            _ => grading::choose(self.choice),
        }
    }

    fn prepare(&mut self) {
        let choice = self.choice;
        if choice != BackendChoice::Vm {
            let start = move || grading::choose(choice);
            self.next = thread::Builder::new().name("gpu".into()).spawn(start).ok();
        }
    }
}

/// The events, and the terminal that the keys come from.
struct Events<'a> {
    source: Receiver<Event>,
    keys: Option<&'a SingleKeys>,
}

struct Session<'a> {
    workbook: &'a Workbook,
    progress: &'a StudentProgress<'a>,
    toolchain: &'a Toolchain,
    gpu: Gpus,
    puzzle: &'a Puzzle,
    /// The fingerprint of what was graded last.
    graded: Option<Key>,
    /// The test that failed first: it goes first until it passes.
    failed: Option<String>,
    screen: Screen,
}

impl Session<'_> {
    fn run(mut self, events: &Events<'_>) {
        let resumed = Arc::new(AtomicBool::new(false));
        // Without it, keys need Enter after Ctrl-Z and `fg`.
        signal_hook::flag::register(SIGCONT, Arc::clone(&resumed)).ok();
        let mut waiting = VecDeque::new();
        self.grade();
        loop {
            match waiting.pop_front().or_else(|| events.source.recv_timeout(POLL).ok()) {
                Some(Event::Key(b'q' | b'Q')) => return,
                Some(Event::Key(key)) => self.key(key),
                Some(Event::Files) => settle(&events.source, &mut waiting),
                None => {}
            }
            if resumed.swap(false, Ordering::Relaxed)
                && let Some(keys) = events.keys
            {
                keys.set_again();
                self.screen.again();
            }
            let now = self.progress.fingerprint(self.puzzle);
            if now.is_some() && now != self.graded {
                self.grade();
            }
        }
    }

    fn key(&mut self, key: u8) {
        match key.to_ascii_lowercase() {
            b'h' => {
                let style = self.screen.style;
                let page = hint::page(self.workbook, self.puzzle, self.progress, None, style);
                self.screen.show(&page.unwrap_or_else(|f| f.render(style.colour)), "");
            }
            b'l' => {
                let entries = contents::entries(self.workbook);
                let page = list::page(self.progress, &entries, self.screen.style);
                self.screen.show(&page, "");
            }
            b'n' => match self.progress.next_after(self.puzzle) {
                Some(puzzle) => {
                    self.puzzle = puzzle;
                    self.failed = None;
                    self.grade();
                }
                None => self.screen.show(&next::all_solved(self.workbook), ""),
            },
            b'r' => self.grade(),
            _ => {}
        }
    }

    fn grade(&mut self) {
        self.screen.grading(self.puzzle);
        let start = Instant::now();
        self.graded = self.progress.fingerprint(self.puzzle);
        let mut text = Vec::new();
        let mut reporter = TextReporter::new(&mut text, self.screen.style).failure_first();
        let result = self.judge(&mut reporter);
        // Writing into memory cannot fail.
        match &result {
            Ok(summary) => reporter.finish(summary).ok(),
            Err(failure) => reporter.failed(failure).ok(),
        };
        self.failed = reporter.first_failure().map(str::to_owned);
        let took = format!("graded in {:.2} s", start.elapsed().as_secs_f64());
        self.screen.show(&self.with_next(&String::from_utf8_lossy(&text)), &took);
        self.gpu.prepare();
    }

    fn judge(&mut self, reporter: &mut dyn Reporter) -> Result<Summary, Failure> {
        let path = &self.puzzle.spec;
        let spec = oracle::load(path, self.workbook.relative(path))?;
        let mut tests: Vec<&Test> = spec.tests.iter().collect();
        tests.sort_by_key(|test| Some(&test.name) != self.failed.as_ref());
        let job = Job {
            workbook: self.workbook,
            puzzle: self.puzzle,
            spec: &spec,
            tests: &tests,
            source: &self.puzzle.stub,
            seed: grading::fresh_seed(),
            dump: None,
            command: &format!("grader puzzle {}", self.puzzle.number),
        };
        let gpu = self.gpu.take()?;
        grading::grade_and_record(&job, self.toolchain, gpu, reporter, self.progress)
    }

    /// The report, and where to go on if the puzzle is solved.
    fn with_next(&self, report: &str) -> String {
        if !self.progress.state(self.puzzle).is_solved() {
            return report.to_owned();
        }
        match self.progress.next_after(self.puzzle) {
            Some(puzzle) => {
                let title = contents::title(puzzle);
                format!("{report}Solved. Next: puzzle {}, {title} (n)\n", puzzle.number)
            }
            None => format!("{report}{}", next::all_solved(self.workbook)),
        }
    }
}

/// Waits until a save is over: editors write in several steps. Keys that are typed meanwhile go to `waiting`.
fn settle(events: &Receiver<Event>, waiting: &mut VecDeque<Event>) {
    let start = Instant::now();
    while start.elapsed() < LONGEST_SAVE
        && let Ok(event) = events.recv_timeout(QUIET)
    {
        if event != Event::Files {
            waiting.push_back(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_save_in_many_steps_is_one_and_keys_are_kept() {
        let (sender, events) = channel();
        for event in [Event::Files, Event::Key(b'h'), Event::Files, Event::Key(b'q')] {
            sender.send(event).unwrap();
        }
        let mut waiting = VecDeque::new();
        settle(&events, &mut waiting);
        assert_eq!(waiting, [Event::Key(b'h'), Event::Key(b'q')]);
        assert!(events.try_recv().is_err());
    }

    #[test]
    fn a_file_that_never_rests_is_graded_all_the_same() {
        let (sender, events) = channel();
        let busy = thread::spawn(move || {
            while sender.send(Event::Files).is_ok() {
                thread::sleep(Duration::from_millis(2));
            }
        });
        settle(&events, &mut VecDeque::new());
        drop(events);
        busy.join().unwrap();
    }
}
