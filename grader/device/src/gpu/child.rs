//! The process that drives the GPU, from the grader's side: starts it, asks it, and ends it when it does not answer.

use cudart::frame::{self, Frame};
use serde::Serialize;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long an ended or killed child may take to leave. A driver tidies up after a killed kernel for a while.
const LEAVE: Duration = Duration::from_secs(5);

/// Bytes of the child's standard error that are worth showing.
const LOG: u64 = 4096;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// The child ended before it answered.
    Ended {
        /// How, in words: `exit status: 101`, `ended by SIGSEGV`.
        status: String,
        /// The end of its standard error, which may be empty.
        log: String,
    },
    /// It did not answer within this time.
    TimedOut(Duration),
    /// It wrote something that is not an answer; what is wrong with it.
    Invalid(String),
}

/// Why a device does not answer any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Why there was no answer.
    pub why: NoAnswer,
    /// A kernel was running.
    pub in_launch: bool,
}

/// A running child. It is ended on drop.
#[derive(Debug)]
pub struct Child {
    process: std::process::Child,
    stream: UnixStream,
    log: File,
}

impl Child {
    /// Starts `command` in a process group of its own. Its standard input becomes the socket, its standard error a
    /// file that [`NoAnswer::Ended`] quotes.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let log = tempfile::tempfile()?;
        let process = command
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stderr(Stdio::from(log.try_clone()?))
            .process_group(0)
            .spawn()?;
        // The command keeps its end of the socket open until it gets another.
        command.stdin(Stdio::null());
        Ok(Self { process, stream: ours, log })
    }

    /// Sends a request and waits for the answer.
    ///
    /// # Errors
    /// There is none. The child is of no use afterwards.
    pub fn ask(&mut self, request: &impl Serialize, within: Duration) -> Result<Frame, NoAnswer> {
        self.talk(within, |stream| {
            frame::write(stream, request)?;
            Frame::read(stream)
        })
    }

    /// Waits for what the child says by itself.
    ///
    /// # Errors
    /// It says nothing. It is of no use afterwards.
    pub fn listen(&mut self, within: Duration) -> Result<Frame, NoAnswer> {
        self.talk(within, |stream| Frame::read(stream))
    }

    fn talk(
        &mut self,
        within: Duration,
        talk: impl FnOnce(&mut Timed<'_>) -> io::Result<Frame>,
    ) -> Result<Frame, NoAnswer> {
        let mut stream = Timed { stream: &self.stream, deadline: Instant::now() + within };
        talk(&mut stream).map_err(|error| match error.kind() {
            ErrorKind::TimedOut | ErrorKind::WouldBlock => {
                self.kill();
                NoAnswer::TimedOut(within)
            }
            ErrorKind::InvalidData => self.invalid(error.to_string()),
            // The socket is closed, so the child has ended or is about to.
            _ => NoAnswer::Ended { status: self.leave(), log: self.log() },
        })
    }

    /// Ends a child whose answer is invalid.
    pub fn invalid(&mut self, what: String) -> NoAnswer {
        self.kill();
        NoAnswer::Invalid(what)
    }

    /// The end of what the child wrote on standard error.
    pub fn log(&mut self) -> String {
        let mut text = Vec::new();
        let length = self.log.seek(SeekFrom::End(0)).unwrap_or(0);
        let from = SeekFrom::Start(length.saturating_sub(LOG));
        // A log that cannot be read is no reason to hide what it would explain.
        if self.log.seek(from).is_ok() {
            self.log.read_to_end(&mut text).ok();
        }
        String::from_utf8_lossy(&text).trim().to_owned()
    }

    /// Waits for the child's end for a while, then kills it and all that it started. Returns how it ended, in words.
    pub fn leave(&mut self) -> String {
        self.stream.shutdown(std::net::Shutdown::Both).ok();
        let status = self.wait(Duration::from_secs(1)).or_else(|| {
            self.kill();
            self.wait(LEAVE)
        });
        match status {
            Some(status) => in_words(status),
            None => "it does not end, even when killed".to_owned(),
        }
    }

    fn kill(&mut self) {
        let group = i32::try_from(self.process.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(group) = group {
            rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
        }
    }

    /// Polls, since a wait with a time-out needs a thread that could hang instead.
    fn wait(&mut self, at_most: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + at_most;
        loop {
            if let Ok(Some(status)) = self.process.try_wait() {
                return Some(status);
            }
            if Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.leave();
    }
}

fn in_words(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => format!("ended by {}", signal_name(signal)),
        None => status.to_string(),
    }
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}

/// A socket that gives up at a point in time, however slowly the other side writes.
struct Timed<'a> {
    stream: &'a UnixStream,
    deadline: Instant,
}

impl Timed<'_> {
    fn left(&self) -> io::Result<Option<Duration>> {
        match self.deadline.checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => Ok(Some(left)),
            _ => Err(ErrorKind::TimedOut.into()),
        }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(into)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For children that do not hang, on however busy a machine.
    const LONG: Duration = Duration::from_secs(30);

    /// For children that hang.
    const SHORT: Duration = Duration::from_millis(400);

    /// A child that is a shell script. Its standard input is the socket, so it answers with `>&0`.
    fn script(text: &str) -> Child {
        Child::spawn(Command::new("sh").args(["-c", text]).stdout(Stdio::null())).unwrap()
    }

    /// A shell command that sends an answer.
    fn send(answer: &impl Serialize) -> String {
        let mut bytes = Vec::new();
        frame::write(&mut bytes, answer).unwrap();
        let octal: Vec<String> = bytes.iter().map(|b| format!("{b:03o}")).collect();
        format!("printf '\\{}' >&0", octal.join("\\"))
    }

    fn ask(child: &mut Child, within: Duration) -> Result<String, NoAnswer> {
        let answer = child.ask(&"who is there?", within)?;
        answer.value().map_err(|e| child.invalid(e.to_string()))
    }

    #[test]
    fn an_answer_comes_through() {
        let mut child = script(&format!("{}; read x", send(&"nobody")));
        assert_eq!(ask(&mut child, LONG).unwrap(), "nobody");
    }

    #[test]
    fn a_child_that_hangs_is_stopped() {
        let begin = Instant::now();
        let silent = ask(&mut script("sleep 100"), SHORT);
        assert_eq!(silent, Err(NoAnswer::TimedOut(SHORT)));
        let start = r"printf '\100\000\000\000\000\000\000\000' >&0";
        let text = format!("{start}; while sleep 0.05; do printf G >&0; done");
        let trickling = ask(&mut script(&text), SHORT);
        assert_eq!(trickling, Err(NoAnswer::TimedOut(SHORT)));
        let big = "x".repeat(8 << 20);
        let deaf = script("sleep 100").ask(&big, SHORT).unwrap_err();
        assert_eq!(deaf, NoAnswer::TimedOut(SHORT));
        assert!(begin.elapsed() < Duration::from_secs(50), "killed, not waited for");
    }

    #[test]
    fn the_whole_group_is_killed() {
        let mut child = script(&format!("sleep 100 & echo $! >&2; {}; wait", send(&"ready")));
        assert_eq!(child.listen(LONG).unwrap().value::<&str>().unwrap(), "ready");
        ask(&mut child, SHORT).unwrap_err();
        let grandchild = child.log();
        child.leave();
        assert!(!grandchild.is_empty());
        // What is killed is not gone at once, and stays a zombie until init has seen it.
        let stat = format!("/proc/{}/stat", grandchild.trim());
        let runs = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z"));
        let deadline = Instant::now() + Duration::from_secs(20);
        while runs() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!runs());
    }

    #[test]
    fn a_crash_is_reported_with_its_signal_and_its_last_words() {
        let ended = ask(&mut script("echo no symbol cuInit >&2; kill -SEGV $$"), LONG);
        let (status, log) = ("ended by SIGSEGV".to_owned(), "no symbol cuInit".to_owned());
        assert_eq!(ended, Err(NoAnswer::Ended { status, log }));
    }

    #[test]
    fn a_quiet_exit_and_a_truncated_answer_are_no_answers() {
        let ended = ask(&mut script("exit 0"), LONG);
        let (status, log) = ("exit status: 0".to_owned(), String::new());
        assert_eq!(ended, Err(NoAnswer::Ended { status, log }));
        let whole = send(&"nobody");
        let cut = whole.replace("\\171' >", "' >");
        assert_ne!(whole, cut);
        let truncated = ask(&mut script(&cut), LONG);
        assert!(matches!(truncated, Err(NoAnswer::Ended { .. })), "{truncated:?}");
    }

    #[test]
    fn what_is_not_an_answer_is_none() {
        let html = "echo '<html>a kernel wrote this</html>' >&0; read x";
        for text in [html.to_owned(), format!("{}; read x", send(&7))] {
            let invalid = ask(&mut script(&text), LONG);
            assert!(matches!(invalid, Err(NoAnswer::Invalid(_))), "{invalid:?}");
        }
    }

    #[test]
    fn a_program_that_is_missing_is_reported() {
        assert!(Child::spawn(&mut Command::new("/no/such/program")).is_err());
    }
}
