//! The grader's end of the process that drives the GPU: starts it, asks it, and ends it when it does not answer.

use super::protocol::{Answer, Request, read_frame, write_frame};
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

/// Time-outs of a request.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Until the first launch starts, or the answer comes: start of the driver, memory, copies.
    pub set_up: Duration,
    /// From the start of the first launch to the answer.
    pub run: Duration,
}

/// Why there is no answer.
#[derive(Debug)]
pub struct Broken {
    /// What happened.
    pub kind: BrokenKind,
    /// The launch that was running, if one had started.
    pub launch: Option<usize>,
}

/// Ways for a child to fail.
#[derive(Debug)]
pub enum BrokenKind {
    /// It cannot be started.
    Start(io::Error),
    /// It ended before it answered; its exit status and the end of its standard error.
    Ended {
        /// In words: `exit status: 101`, `signal: 11 (SIGSEGV)`.
        status: String,
        /// May be empty.
        log: String,
    },
    /// It did not answer within this time.
    TimedOut(Duration),
    /// It wrote something that is no answer.
    InvalidData(String),
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
    /// file that [`BrokenKind::Ended`] quotes.
    ///
    /// # Errors
    /// [`BrokenKind::Start`].
    pub fn spawn(command: &mut Command) -> Result<Self, Broken> {
        let mut start = || -> io::Result<Self> {
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
        };
        start().map_err(|e| Broken { kind: BrokenKind::Start(e), launch: None })
    }

    /// Sends a request and waits for its last answer, whose body has at most `max_body` bytes.
    ///
    /// # Errors
    /// Any but [`BrokenKind::Start`]. The child is of no use afterwards.
    pub fn ask(
        &mut self,
        request: &Request,
        body: &[&[u8]],
        max_body: u64,
        limits: Limits,
    ) -> Result<(Answer, Vec<u8>), Broken> {
        let mut launch = None;
        let mut timed = Timed { stream: &self.stream, deadline: Instant::now() + limits.set_up };
        let mut limit = limits.set_up;
        let mut answer = || -> io::Result<(Answer, Vec<u8>)> {
            write_frame(&mut timed, request, body)?;
            loop {
                match read_frame(&mut timed, max_body)? {
                    (Answer::Launching(n), _) => {
                        if launch.is_none() {
                            timed.deadline = Instant::now() + limits.run;
                            limit = limits.run;
                        }
                        launch = Some(n);
                    }
                    last => return Ok(last),
                }
            }
        };
        answer().map_err(|error| {
            let kind = match error.kind() {
                ErrorKind::TimedOut | ErrorKind::WouldBlock => {
                    self.kill();
                    BrokenKind::TimedOut(limit)
                }
                ErrorKind::InvalidData => {
                    self.kill();
                    BrokenKind::InvalidData(error.to_string())
                }
                // The socket is closed, so the child has ended or is about to.
                _ => BrokenKind::Ended { status: self.leave(), log: self.log() },
            };
            Broken { kind, launch }
        })
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
    const LONG: Limits = Limits { set_up: Duration::from_secs(30), run: Duration::from_secs(30) };

    /// For children that hang before a launch.
    const SHORT: Limits = Limits { set_up: Duration::from_millis(400), ..LONG };

    /// For children that hang in a launch.
    const SHORT_RUN: Limits = Limits { run: Duration::from_millis(200), ..LONG };

    /// A child that is a shell script. Its standard input is the socket, so it answers with `>&0`.
    fn script(text: &str) -> Child {
        Child::spawn(Command::new("sh").args(["-c", text]).stdout(Stdio::null())).unwrap()
    }

    /// A shell command that sends an answer.
    fn send(answer: &Answer, body: &[u8]) -> String {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, answer, &[body]).unwrap();
        let octal: Vec<String> = bytes.iter().map(|b| format!("{b:03o}")).collect();
        format!("printf '\\{}' >&0", octal.join("\\"))
    }

    fn ask(child: &mut Child, limits: Limits) -> Result<(Answer, Vec<u8>), Broken> {
        child.ask(&Request::Probe, &[], 8, limits)
    }

    #[test]
    fn an_answer_comes_through() {
        let done = Answer::Done { nanoseconds: 5 };
        let launching = send(&Answer::Launching(0), &[]);
        let mut child = script(&format!("{launching}; {}; read x", send(&done, &[1, 2])));
        assert_eq!(ask(&mut child, LONG).unwrap(), (done, vec![1, 2]));
    }

    #[test]
    fn a_hang_before_a_launch_is_told_from_one_in_it() {
        let begin = Instant::now();
        let broken = ask(&mut script("sleep 100"), SHORT).unwrap_err();
        assert!(
            matches!(broken, Broken { kind: BrokenKind::TimedOut(t), launch: None } if t == SHORT.set_up),
            "{broken:?}"
        );
        let text = format!("{}; sleep 100", send(&Answer::Launching(3), &[]));
        let broken = ask(&mut script(&text), SHORT_RUN).unwrap_err();
        assert!(
            matches!(broken, Broken { kind: BrokenKind::TimedOut(t), launch: Some(3) } if t == SHORT_RUN.run),
            "{broken:?}"
        );
        assert!(
            begin.elapsed() < Duration::from_secs(50),
            "the children are killed, not waited for"
        );
    }

    #[test]
    fn a_child_that_trickles_is_stopped() {
        let begin = r"printf 'GPU1\000\000\001\000\000\000\000\000\000\000\000\000' >&0";
        let text = format!("{begin}; while sleep 0.05; do printf G >&0; done");
        let broken = ask(&mut script(&text), SHORT).unwrap_err();
        assert!(matches!(broken.kind, BrokenKind::TimedOut(_)), "{broken:?}");
    }

    #[test]
    fn a_child_that_does_not_read_is_stopped() {
        let big = vec![0; 8 << 20];
        let broken = script("sleep 100").ask(&Request::Probe, &[&big], 8, SHORT).unwrap_err();
        assert!(matches!(broken.kind, BrokenKind::TimedOut(_)), "{broken:?}");
    }

    #[test]
    fn the_whole_group_is_killed() {
        let launching = send(&Answer::Launching(0), &[]);
        let mut child = script(&format!("sleep 100 & echo $! >&2; {launching}; wait"));
        ask(&mut child, SHORT_RUN).unwrap_err();
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
        let broken =
            ask(&mut script("echo no symbol cuInit >&2; kill -SEGV $$"), LONG).unwrap_err();
        let BrokenKind::Ended { status, log } = broken.kind else { panic!("{broken:?}") };
        assert_eq!((status.as_str(), log.as_str()), ("ended by SIGSEGV", "no symbol cuInit"));
    }

    #[test]
    fn a_quiet_exit_and_a_truncated_answer_are_no_answers() {
        let broken = ask(&mut script("exit 0"), LONG).unwrap_err();
        assert!(
            matches!(&broken.kind, BrokenKind::Ended { status, .. } if status == "exit status: 0"),
            "{broken:?}"
        );
        let whole = send(&Answer::Done { nanoseconds: 1 }, &[1; 8]);
        let cut = whole.replace("\\001\\001' >", "\\001' >");
        assert_ne!(whole, cut);
        let broken = ask(&mut script(&cut), LONG).unwrap_err();
        assert!(matches!(broken.kind, BrokenKind::Ended { .. }), "{broken:?}");
    }

    #[test]
    fn invalid_and_oversized_answers_are_no_answers() {
        let broken = ask(&mut script("echo '<html>a kernel wrote this</html>' >&0; read x"), LONG)
            .unwrap_err();
        assert!(matches!(broken.kind, BrokenKind::InvalidData(_)), "{broken:?}");
        let large = send(&Answer::Done { nanoseconds: 1 }, &[0; 9]);
        let broken = ask(&mut script(&format!("{large}; read x")), LONG).unwrap_err();
        assert!(matches!(broken.kind, BrokenKind::InvalidData(_)), "{broken:?}");
    }

    #[test]
    fn a_program_that_is_missing_is_reported() {
        let broken = Child::spawn(&mut Command::new("/no/such/program")).unwrap_err();
        assert!(matches!(broken.kind, BrokenKind::Start(_)), "{broken:?}");
    }
}
