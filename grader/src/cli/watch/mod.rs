//! The command `grader watch [N]`: grades again at every save.

mod screen;

use super::args::{BackendChoice, WatchArgs};
use super::console;
use super::grading::{self, Job};
use super::{hint, list, next};
use crate::contents;
use crate::student_progress::StudentProgress;
use crate::terminal::SingleKeys;
use device::gpu::RemoteGpu;
use diagnostic::{Failure, FailureKind};
use puzzle::oracle;
use puzzle::spec::Test;
use puzzle::workbook::{Puzzle, Workbook};
use report::{Reporter, Summary, TextReporter};
use screen::Screen;
use signal_hook::consts::SIGCONT;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use toolchain::Toolchain;
use toolchain::cache::Key;
use toolchain::env::Env;

/// The interval between two looks at the files. Polling also works on network file systems and those of virtual
/// machines, which often send no events; a look takes about 1 ms of processor time.
const POLL: Duration = Duration::from_millis(50);

/// A save is complete when nothing has changed for this long, because editors write in several steps.
const QUIET: Duration = Duration::from_millis(15);

/// After this time a save counts as complete, even if the files still change.
const LONGEST_SAVE: Duration = Duration::from_millis(200);

pub(super) fn run(
    args: &WatchArgs,
    workbook: Option<&Path>,
    nvcc: Option<&Path>,
) -> Result<(), Failure> {
    let workbook = console::workbook(workbook)?;
    let env = Env::current();
    let progress = StudentProgress::of(&workbook);
    let puzzle = match args.number {
        Some(number) => workbook.puzzle(number)?,
        None => progress.current().unwrap_or(&workbook.puzzles()[0]),
    };
    let toolchain = Toolchain::locate(&env, nvcc)?;
    let gpu = Gpus::new(args.backend)?;

    let (sender, typed) = channel();
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
    session.run(&Keyboard { typed, keys: keys.as_ref() });
    Ok(())
}

/// Reads the keys that are typed and sends them. A terminal without single keys may belong to a shell that runs this in
/// the background, so it is not read.
fn read_keys(single: bool, sender: Sender<u8>) -> Result<(), Failure> {
    if !single && std::io::stdin().is_terminal() {
        return Ok(());
    }
    let read = move || {
        for key in std::io::stdin().lock().bytes().map_while(Result::ok) {
            if sender.send(key).is_err() {
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

/// Prepares GPUs: the process that holds one serves one program, and the next process starts while the student edits.
struct Gpus {
    choice: BackendChoice,
    next: Option<JoinHandle<Result<Option<RemoteGpu>, Failure>>>,
    first: Option<RemoteGpu>,
}

impl Gpus {
    fn new(choice: BackendChoice) -> Result<Self, Failure> {
        let first = grading::choose(choice)?;
        // If there is no GPU now, there will be none at the next save.
        let choice = if first.is_some() { choice } else { BackendChoice::Vm };
        Ok(Self { choice, next: None, first })
    }

    fn take(&mut self) -> Result<Option<RemoteGpu>, Failure> {
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

/// The keys that are typed, and the terminal that they come from.
struct Keyboard<'a> {
    typed: Receiver<u8>,
    keys: Option<&'a SingleKeys>,
}

struct Session<'a> {
    workbook: &'a Workbook,
    progress: &'a StudentProgress<'a>,
    toolchain: &'a Toolchain,
    gpu: Gpus,
    puzzle: &'a Puzzle,
    /// The fingerprint of the files that were graded last.
    graded: Option<Key>,
    /// The test that failed first. It runs first until it passes.
    failed: Option<String>,
    screen: Screen,
}

impl Session<'_> {
    fn run(mut self, keyboard: &Keyboard<'_>) {
        let resumed = Arc::new(AtomicBool::new(false));
        // Without this, keys need Enter after Ctrl-Z and `fg`.
        signal_hook::flag::register(SIGCONT, Arc::clone(&resumed)).ok();
        self.grade();
        loop {
            match keyboard.typed.recv_timeout(POLL) {
                Ok(b'q' | b'Q') => return,
                Ok(key) => self.key(key),
                Err(RecvTimeoutError::Timeout) => {}
                // Without a keyboard, the receiver does not wait.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(POLL),
            }
            if resumed.swap(false, Ordering::Relaxed)
                && let Some(keys) = keyboard.keys
            {
                keys.set_again();
                self.screen.again();
            }
            let look = || self.progress.fingerprint(self.puzzle);
            let now = look();
            if now.is_some() && now != self.graded && settled(now, look).is_some() {
                self.grade();
            }
        }
    }

    fn key(&mut self, key: u8) {
        match key.to_ascii_lowercase() {
            b'h' => {
                let style = self.screen.style;
                let page = hint::page(self.workbook, self.puzzle, self.progress, None, style);
                let level = self.progress.hint_level(self.puzzle);
                let command = format!("grader hint {} --level {level}", self.puzzle.number);
                self.screen.show(&page.unwrap_or_else(|f| f.render(style.colour)), &command, "");
            }
            b'l' => {
                let entries = contents::entries(self.workbook);
                let page = list::page(self.progress, &entries, self.screen.style);
                self.screen.show(&page, "grader list", "");
            }
            b'n' => match self.progress.next_after(self.puzzle) {
                Some(puzzle) => {
                    self.puzzle = puzzle;
                    self.failed = None;
                    self.grade();
                }
                None => self.screen.show(&next::all_solved(self.workbook), "grader next", ""),
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
        let mut reporter =
            TextReporter::new(&mut text, self.screen.style).for_screen(self.screen.columns());
        let result = self.judge(&mut reporter);
        // Writing to memory cannot fail.
        match &result {
            Ok(summary) => reporter.finish(summary).ok(),
            Err(failure) => reporter.failed(failure).ok(),
        };
        self.failed = reporter.first_failure().map(str::to_owned);
        let took = format!("graded in {:.2} s", start.elapsed().as_secs_f64());
        let page = self.with_next(&String::from_utf8_lossy(&text));
        self.screen.show(&page, &self.command(), &took);
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
            drawn: true,
            source: &self.puzzle.stub,
            seed: grading::fresh_seed(),
            dump: None,
            command: &self.command(),
        };
        let gpu = self.gpu.take()?;
        grading::grade_and_record(&job, self.toolchain, gpu, reporter, self.progress)
    }

    /// The command that grades the puzzle once.
    fn command(&self) -> String {
        format!("grader puzzle {}", self.puzzle.number)
    }

    /// The report and, if the puzzle is solved, what to do next.
    fn with_next(&self, report: &str) -> String {
        if !self.progress.state(self.puzzle).is_solved() {
            return report.to_owned();
        }
        match self.progress.next_after(self.puzzle) {
            Some(puzzle) => {
                let title = contents::title(puzzle);
                format!("{report}\nSolved. Next: puzzle {}, {title} (n)\n", puzzle.number)
            }
            None => format!("{report}\n{}", next::all_solved(self.workbook)),
        }
    }
}

/// Waits until what `look` sees has not changed for [`QUIET`], at most for [`LONGEST_SAVE`]. Returns what it saw last.
fn settled<T: PartialEq>(first: T, mut look: impl FnMut() -> T) -> T {
    let start = Instant::now();
    let mut seen = first;
    while start.elapsed() < LONGEST_SAVE {
        thread::sleep(QUIET);
        let now = look();
        if now == seen {
            break;
        }
        seen = now;
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_save_in_many_steps_is_one() {
        let mut steps = [2, 3, 3, 4].into_iter();
        assert_eq!(settled(1, || steps.next().unwrap()), 3);
        assert_eq!(steps.next(), Some(4));
    }

    #[test]
    fn files_that_never_rest_are_graded_all_the_same() {
        let mut steps = 0..;
        settled(-1, || steps.next().unwrap());
    }
}
