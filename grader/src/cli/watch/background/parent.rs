//! The process that grades, from the side of `watch`.

use super::{CHILD_COMMAND, Graded, Job, Said, Setup, Start};
use device::own_program;
use diagnostic::{Failure, FailureKind};
use serde::Serialize;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// How long a grading that is not wanted any more may take to end. A process that is stuck in a driver may never end.
const GRACE: Duration = Duration::from_secs(1);

/// What happens in a grading.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// It does something else now.
    Doing(String),
    /// A line that some program printed on stderr.
    Log(String),
    /// The child has graded the kernel, and ends.
    Graded(Graded),
}

/// A child that prepares itself and waits for its job. It is ended on drop.
#[derive(Debug)]
pub struct Grader {
    child: Child,
    stdin: ChildStdin,
    /// The child's folder for temporary files, for a child that crashes.
    scratch: tempfile::TempDir,
}

/// A grading under way. It is ended on drop.
#[derive(Debug)]
pub struct Cancel {
    stdin: Option<ChildStdin>,
    /// Closed when the child has ended and its temporary files are removed.
    ended: Receiver<()>,
}

impl Grader {
    /// Starts a child.
    ///
    /// # Errors
    /// The machine has no room for it: an environment failure.
    pub fn start(setup: &Setup) -> Result<Self, Failure> {
        let scratch = tempfile::Builder::new().prefix("grader-watch-").tempdir();
        let scratch = scratch.map_err(|e| not_started(&e))?;
        let mut child = Command::new(own_program::path()?)
            .arg(CHILD_COMMAND)
            .env("TMPDIR", scratch.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for the parent.
            .process_group(0)
            .spawn()
            .map_err(|e| not_started(&e))?;
        let stdin =
            child.stdin.take().ok_or_else(|| not_started(&io::ErrorKind::BrokenPipe.into()))?;
        let start = Start { setup: setup.clone(), scratch: scratch.path().to_owned() };
        let mut grader = Self { child, stdin, scratch };
        grader.write(&start);
        Ok(grader)
    }

    /// Gives the child its job. `send` gets the events, and says whether somebody listens.
    ///
    /// # Errors
    /// The machine has no room for a thread: an environment failure.
    pub fn grade(
        mut self,
        job: Job,
        send: impl Fn(Event) -> bool + Clone + Send + 'static,
    ) -> Result<Cancel, Failure> {
        self.write(&job);
        let Self { mut child, stdin, scratch } = self;
        let (ending, ended) = channel();
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let also = send.clone();
        let log = spawn("log", move || read_log(stderr, &also))?;
        let listen = move || {
            let graded = read_events(stdout, &send);
            // What it printed at last may be in the log.
            let log = log.join().unwrap_or_default();
            let status = child.wait();
            drop((scratch, ending));
            if !graded {
                let status = status.map_or_else(|e| e.to_string(), |status| status.to_string());
                send(Event::Graded(broken(&status, &log)));
            }
        };
        spawn("grading", listen)?;
        Ok(Cancel { stdin: Some(stdin), ended })
    }

    /// A child that has ended does not read, which shows when its events are read.
    fn write(&mut self, message: &impl Serialize) {
        if let Ok(line) = serde_json::to_string(message) {
            writeln!(self.stdin, "{line}").ok();
        }
    }
}

impl Drop for Cancel {
    fn drop(&mut self) {
        self.stdin.take();
        // It never gets anything.
        self.ended.recv_timeout(GRACE).ok();
    }
}

/// Passes the events on; says whether the last one came.
fn read_events(stdout: Option<impl Read>, send: &impl Fn(Event) -> bool) -> bool {
    for line in stdout.into_iter().flat_map(|pipe| BufReader::new(pipe).lines()) {
        let Ok(said) = line.and_then(|line| Ok(serde_json::from_str(&line)?)) else { return false };
        match said {
            Said::Doing(what) => send(Event::Doing(what)),
            Said::Graded(graded) => {
                send(Event::Graded(graded));
                return true;
            }
        };
    }
    false
}

/// Passes lines of stderr on, and returns the last ones.
fn read_log(stderr: Option<impl Read>, send: &impl Fn(Event) -> bool) -> Vec<String> {
    const LAST: usize = 10;
    let mut last = Vec::new();
    for line in stderr.into_iter().flat_map(|pipe| BufReader::new(pipe).lines()) {
        let Ok(line) = line else { break };
        if last.len() == LAST {
            last.remove(0);
        }
        last.push(line.clone());
        send(Event::Log(line));
    }
    last
}

/// The report of a child that ended without one.
fn broken(status: &str, log: &[String]) -> Graded {
    let title = format!("the process that grades ended early: {status}");
    let help =
        "this is a bug in the grader, not in your kernel; please report it with the text above";
    let failure = Failure::new(FailureKind::Environment, title, help).render(false);
    let log: String = log.iter().flat_map(|line| [line, "\n"]).collect();
    Graded { text: format!("{log}{failure}\n"), ..Graded::default() }
}

fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<thread::JoinHandle<T>, Failure> {
    thread::Builder::new().name(name.into()).spawn(body).map_err(|e| not_started(&e))
}

fn not_started(error: &io::Error) -> Failure {
    let title = format!("cannot start a process that grades: {error}");
    Failure::new(FailureKind::Environment, title, "close other programs")
}
