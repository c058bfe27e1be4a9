//! Child processes that cannot outlive their time-out, or the grader.
//!
//! A child runs in a process group of its own, because compilers have children too (nvcc starts gcc, cicc, ptxas):
//! the whole group is killed at a time-out, after the child's end (what it left behind), and when the grader itself
//! is interrupted. The terminal sends Ctrl-C to the grader's group only, so a thread here passes it on.

pub(crate) mod orphans;

use crate::confinement::{self, Confinement};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::panic::resume_unwind;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a child that was killed may take to disappear, and how long its pipes may stay open after its end.
/// A process stuck in a driver call may never go; the grader does not wait for it.
const GRACE: Duration = Duration::from_secs(3);

/// Time between two calls of the caller's `tick`.
const TICK: Duration = Duration::from_millis(80);

/// What a child may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Wall-clock time before its group is killed.
    pub timeout: Duration,
    /// Bytes kept of each of stdout and stderr; the rest is read and dropped, so that the child never blocks.
    pub output: usize,
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Termination {
    /// By itself, with this exit code.
    Code(i32),
    /// By a signal, sent by itself or by the system. A compiler that its limit of processor time ended has SIGXCPU, whichever of
    /// its programs met the limit.
    Signal(i32),
    /// By the grader, which killed its group at [`Limits::timeout`].
    TimedOut,
}

/// What a child left.
#[derive(Clone, Debug)]
pub struct Finished {
    /// By itself, by a signal or by the time limit.
    pub ending: Termination,
    /// At most [`Limits::output`] bytes.
    pub stdout: Vec<u8>,
    /// At most [`Limits::output`] bytes.
    pub stderr: Vec<u8>,
    /// True if bytes of stdout or stderr were dropped.
    pub truncated: bool,
    /// Wall-clock time from start to end.
    pub time: Duration,
}

impl Finished {
    /// Ended by itself with exit code 0.
    pub fn success(&self) -> bool {
        self.ending == Termination::Code(0)
    }

    /// Stderr as text, with anything that is not UTF-8 replaced.
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Stdout as text, with anything that is not UTF-8 replaced.
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// Runs a command to its end and collects what it prints. `input` becomes its stdin (empty: `/dev/null`).
///
/// # Errors
/// The command cannot be started. Everything after that is an [`Termination`].
pub fn run(command: Command, input: Vec<u8>, limits: &Limits) -> io::Result<Finished> {
    run_with_tick(command, input, limits, &mut |_| ())
}

/// As [`run`], and calls `tick` about twelve times a second with the time since the start.
///
/// # Errors
/// As [`run`].
pub fn run_with_tick(
    mut command: Command,
    input: Vec<u8>,
    limits: &Limits,
    tick: &mut dyn FnMut(Duration),
) -> io::Result<Finished> {
    command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
    let start = Instant::now();
    let done = supervise(command, &spawn, input, limits, &mut |_, _| {
        tick(start.elapsed());
        false
    });
    done.map(|(done, _)| done)
}

/// What compilers say of one of their programs that has used up its processor time (strsignal(3)).
const OUT_OF_TIME: &str = "CPU time limit exceeded";

/// What a shell says of a program that did not hear of its limit.
const KILLED: &str = "Killed";

/// As [`run`] without input, confined if there are bounds, with so many seconds of processor time for each of its processes, and
/// kills the command as soon as `in_vain` says so, which is asked about twelve times a second.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_until(
    mut command: Command,
    limits: &Limits,
    confinement: Option<&Confinement>,
    seconds: u64,
    in_vain: &dyn Fn() -> bool,
) -> io::Result<Finished> {
    command.stdin(Stdio::null());
    let start = |command: &mut Command| {
        let (child, group) = match confinement {
            Some(confinement) => spawn_confined(command, confinement),
            None => spawn(command),
        }?;
        // Not from the confined thread, which cannot see what the child has started.
        if confinement.is_some() {
            confinement::limit(group);
        }
        confinement::limit_time(group, seconds);
        Ok((child, group))
    };
    let (mut done, cpu) = supervise(command, &start, Vec::new(), limits, &mut |_, _| in_vain())?;
    let said = done.stderr_text();
    let by = |signal: Signal| match done.ending {
        Termination::Code(code) => code == 128 + signal.as_raw(),
        Termination::Signal(number) => number == signal.as_raw(),
        Termination::TimedOut => false,
    };
    // The second limit kills, as others may, too.
    let killed = (by(Signal::KILL) || said.contains(KILLED)) && cpu >= Duration::from_secs(seconds);
    if !done.success() && (killed || by(Signal::XCPU) || said.contains(OUT_OF_TIME)) {
        done.ending = Termination::Signal(Signal::XCPU.as_raw());
    }
    Ok(done)
}

/// A child that runs.
#[derive(Clone, Copy, Debug)]
pub struct Running {
    process: Pid,
    /// Wall-clock time since its start.
    pub time: Duration,
}

impl Running {
    /// For each of its threads: how long it has run, or has waited for a processor. Nothing where the system does not say.
    pub fn scheduled(&self) -> Vec<(u32, Duration)> {
        let tasks = format!("/proc/{}/task", self.process.as_raw_nonzero());
        let of = |entry: std::fs::DirEntry| {
            let number = entry.file_name().to_str()?.parse().ok()?;
            // Nanoseconds on a processor, nanoseconds of waiting for one, and the number of turns (proc(5)).
            let text = std::fs::read_to_string(entry.path().join("schedstat")).ok()?;
            let times = text.split_whitespace().take(2).map(|field| field.parse::<u64>().ok());
            Some((number, Duration::from_nanos(times.sum::<Option<u64>>()?)))
        };
        let entries = std::fs::read_dir(tasks).into_iter().flatten().flatten();
        entries.filter_map(of).filter(|(_, time)| !time.is_zero()).collect()
    }

    /// Does one of its threads wait for a disk (state D of proc(5))? No other wait that a program can ask for is of that kind.
    pub fn waits_for_disk(&self) -> bool {
        let tasks = format!("/proc/{}/task", self.process.as_raw_nonzero());
        let waits = |entry: std::fs::DirEntry| {
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            // Behind the name in brackets, which may hold anything.
            stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('D'))
        };
        std::fs::read_dir(tasks).into_iter().flatten().flatten().any(waits)
    }

    /// Bytes of the files that it holds open and that have no name any more. Nothing where the system does not say.
    pub fn unnamed(&self) -> u64 {
        let open = format!("/proc/{}/fd", self.process.as_raw_nonzero());
        let entries = std::fs::read_dir(open).into_iter().flatten().flatten();
        let files = entries.filter_map(|entry| std::fs::metadata(entry.path()).ok());
        files
            .filter(|file| file.is_file() && file.nlink() == 0)
            .map(|file| file.blocks() * 512)
            .sum()
    }

    /// Processor time of all its threads so far; zero where the system does not say.
    pub fn cpu_time(&self) -> Duration {
        cpu_time(self.process, 2)
    }
}

/// The processor time of a process that runs or was not yet waited for: of itself in the first two `fields`, and of those below it
/// that were waited for in two more. Zero where the system does not say.
fn cpu_time(process: Pid, fields: usize) -> Duration {
    let stat = format!("/proc/{}/stat", process.as_raw_nonzero());
    let stat = std::fs::read_to_string(stat).unwrap_or_default();
    // Behind the name in brackets, from the third field on: the 14th to 17th are ticks in user code and in the system (proc(5)).
    let all = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = all.skip(11).take(fields).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// Runs a command whose stdin is set, and kills it as soon as it prints more than [`Limits::output`] to one of its
/// streams, or `enough` says so, which is asked about twelve times a second.
///
/// # Errors
/// As [`run`].
pub fn run_guarded(
    command: Command,
    limits: &Limits,
    enough: &mut dyn FnMut(Running) -> bool,
) -> io::Result<Finished> {
    let start = Instant::now();
    let done = supervise(command, &spawn, Vec::new(), limits, &mut |process, seen| {
        seen.flooded || enough(Running { process, time: start.elapsed() })
    });
    done.map(|(done, _)| done)
}

/// How a command ended, and the processor time of its process and of all below it that were waited for.
fn supervise(
    mut command: Command,
    start_child: &dyn Fn(&mut Command) -> io::Result<(Child, Pid)>,
    input: Vec<u8>,
    limits: &Limits,
    enough: &mut dyn FnMut(Pid, &Observed) -> bool,
) -> io::Result<(Finished, Duration)> {
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    orphans::start();
    let start = Instant::now();
    let (mut child, group) = start_child(&mut command)?;
    // The command holds ends of pipes and sockets, which only the child shall have now.
    drop(command);
    let events = listen(&mut child, group, input, limits.output)?;
    let mut seen = Observed::default();

    let in_time = seen
        .until(&events, start + limits.timeout, Observed::ended, &mut |seen| enough(group, seen));
    // Sent before the child is reaped, so the group's number cannot belong to anyone else yet. When the child has
    // ended by itself, this removes what it left running, which would keep the pipes open.
    kill(group);
    let gone =
        in_time || seen.until(&events, Instant::now() + GRACE, Observed::ended, &mut |_| false);
    let time = start.elapsed();
    seen.until(&events, Instant::now() + GRACE, Observed::complete, &mut |_| false);
    let cpu = cpu_time(group, 4);
    let status = if gone { Some(child.wait()?) } else { None };
    registry().groups.retain(|&g| g != group);
    orphans::ended(group);

    let ending = match status {
        Some(status) if in_time => match (status.code(), status.signal()) {
            (Some(code), _) => Termination::Code(code),
            (None, signal) => Termination::Signal(signal.unwrap_or_default()),
        },
        _ => Termination::TimedOut,
    };
    let (stdout, more_out) = seen.stdout.unwrap_or_default();
    let (stderr, more_err) = seen.stderr.unwrap_or_default();
    Ok((Finished { ending, stdout, stderr, truncated: more_out || more_err, time }, cpu))
}

/// Starts the child and enters its group in the registry, in one step as seen by the signal thread.
fn spawn(command: &mut Command) -> io::Result<(Child, Pid)> {
    pass_signals_on();
    let mut registry = registry();
    let mut attempts = 0;
    let child = loop {
        match command.spawn() {
            // A program that was just written is "busy" while another thread's fork still holds the file open.
            Err(e) if e.kind() == io::ErrorKind::ExecutableFileBusy && attempts < 20 => {
                attempts += 1;
                thread::sleep(Duration::from_millis(5));
            }
            other => break other?,
        }
    };
    let group = Pid::from_child(&child);
    registry.groups.push(group);
    orphans::started(group);
    Ok((child, group))
}

/// Starts the child from a thread that is confined first: threads are confined one by one, and a child is as its parent's thread.
fn spawn_confined(command: &mut Command, confinement: &Confinement) -> io::Result<(Child, Pid)> {
    let confined = || {
        confinement.enter()?;
        spawn(command)
    };
    thread::scope(|scope| scope.spawn(confined).join().unwrap_or_else(|panic| resume_unwind(panic)))
}

fn kill(group: Pid) {
    // Fails only if nobody is left in the group, which is what is wanted.
    let _ = kill_process_group(group, Signal::KILL);
}

/// What the threads around a child report.
enum Event {
    Stdout(Vec<u8>, bool),
    Stderr(Vec<u8>, bool),
    /// One of the two is over its limit.
    Flood,
    Ended,
}

/// The reports so far.
#[derive(Default)]
struct Observed {
    stdout: Option<(Vec<u8>, bool)>,
    stderr: Option<(Vec<u8>, bool)>,
    flooded: bool,
    ended: bool,
}

impl Observed {
    fn ended(&self) -> bool {
        self.ended
    }

    fn complete(&self) -> bool {
        self.stdout.is_some() && self.stderr.is_some()
    }

    /// Takes events until `done`, the deadline, or `enough`; says whether `done` came true.
    fn until(
        &mut self,
        events: &Receiver<Event>,
        deadline: Instant,
        done: fn(&Self) -> bool,
        enough: &mut dyn FnMut(&Self) -> bool,
    ) -> bool {
        while !done(self) {
            let left = deadline.saturating_duration_since(Instant::now());
            match events.recv_timeout(left.min(TICK)) {
                Ok(Event::Stdout(bytes, more)) => self.stdout = Some((bytes, more)),
                Ok(Event::Stderr(bytes, more)) => self.stderr = Some((bytes, more)),
                Ok(Event::Flood) => self.flooded = true,
                Ok(Event::Ended) => self.ended = true,
                Err(RecvTimeoutError::Timeout) if left.is_zero() => return false,
                Err(RecvTimeoutError::Timeout) if enough(self) => return false,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return done(self),
            }
        }
        true
    }
}

/// Starts the threads that feed the child, drain it and wait for it.
fn listen(
    child: &mut Child,
    group: Pid,
    input: Vec<u8>,
    limit: usize,
) -> io::Result<Receiver<Event>> {
    let (sender, events) = channel();
    if let Some(mut stdin) = child.stdin.take() {
        // A child that ends early breaks this pipe; its exit code tells the story.
        start_thread("stdin", move || drop(stdin.write_all(&input)))?;
    }
    if let Some(stdout) = child.stdout.take() {
        drain("stdout", stdout, limit, sender.clone(), Event::Stdout)?;
    }
    if let Some(stderr) = child.stderr.take() {
        drain("stderr", stderr, limit, sender.clone(), Event::Stderr)?;
    }
    start_thread("wait", move || {
        // Leaves the zombie, so that its number stays taken until the group has been killed.
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(group), ended), Err(Errno::INTR)) {}
        let _ = sender.send(Event::Ended);
    })?;
    Ok(events)
}

fn drain(
    name: &str,
    mut pipe: impl Read + Send + 'static,
    limit: usize,
    sender: Sender<Event>,
    event: fn(Vec<u8>, bool) -> Event,
) -> io::Result<()> {
    start_thread(name, move || {
        let mut kept = Vec::new();
        // An error of the pipe ends it like its end does.
        let _ = pipe.by_ref().take(limit as u64).read_to_end(&mut kept);
        let mut next = [0];
        let more = pipe.read(&mut next).is_ok_and(|n| n > 0);
        if more {
            let _ = sender.send(Event::Flood);
        }
        let dropped = u64::from(more) + io::copy(&mut pipe, &mut io::sink()).unwrap_or(0);
        let _ = sender.send(event(kept, dropped > 0));
    })
}

fn start_thread(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(format!("child {name}")).spawn(body).map(drop)
}

/// Adds something to do before a signal ends the grader, such as putting the terminal right.
pub fn before_interrupt(action: fn()) {
    registry().actions.push(action);
    pass_signals_on();
}

/// The groups of the children that run now, and what else to do before a signal ends the grader.
#[derive(Default)]
struct Registry {
    groups: Vec<Pid>,
    actions: Vec<fn()>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { groups: Vec::new(), actions: Vec::new() });

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts, once, the thread that kills the children when the grader is told to stop.
fn pass_signals_on() {
    static STARTED: OnceLock<()> = OnceLock::new();
    STARTED.get_or_init(|| {
        // A signal that the grader was started to ignore (nohup) stays ignored.
        let ignored = ignored_signals();
        let wanted = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
            .into_iter()
            .filter(|s| ignored & (1 << (s - 1)) == 0);
        // Without the thread the grader works all the same; only an interrupted child would run to its end.
        if let Ok(mut signals) = signal_hook::iterator::Signals::new(wanted) {
            let _ = start_thread("signals", move || {
                for signal in signals.forever() {
                    // Held to the end: no child can start from here on.
                    let registry = registry();
                    registry.groups.iter().copied().for_each(kill);
                    registry.actions.iter().for_each(|action| action());
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                    drop(registry);
                }
            });
        }
    });
}

/// Signals whose disposition is "ignore": bit n - 1 for signal n. Zero where the system does not say.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    fn limits(seconds: f64, output: usize) -> Limits {
        Limits { timeout: Duration::from_secs_f64(seconds), output }
    }

    #[test]
    fn collects_output_and_exit_code() {
        let done =
            run(shell("echo out; echo err >&2; exit 7"), Vec::new(), &limits(60.0, 1000)).unwrap();
        assert_eq!(done.ending, Termination::Code(7));
        assert_eq!((done.stdout_text().as_str(), done.stderr_text().as_str()), ("out\n", "err\n"));
        assert!(!done.truncated && !done.success());
    }

    #[test]
    fn a_signal_is_told_from_an_exit_code() {
        let done = run(shell("kill -SEGV $$"), Vec::new(), &limits(60.0, 1000)).unwrap();
        assert_eq!(done.ending, Termination::Signal(11));
    }

    #[test]
    fn megabytes_go_through_both_ways() {
        let input: Vec<u8> = (0..3_000_000_u32).map(|i| (i * 7 + i / 251) as u8).collect();
        let done = run(shell("cat"), input.clone(), &limits(60.0, 4_000_000)).unwrap();
        assert!(done.success() && done.stdout == input);
    }

    #[test]
    fn a_child_that_does_not_read_its_input_ends_normally() {
        let done = run(shell("exit 0"), vec![0; 3_000_000], &limits(60.0, 1000)).unwrap();
        assert!(done.success());
    }

    #[test]
    fn output_is_cut_but_never_blocks() {
        let done =
            run(shell("head -c 2000000 /dev/zero"), Vec::new(), &limits(60.0, 1000)).unwrap();
        assert!(done.success() && done.truncated);
        assert_eq!(done.stdout.len(), 1000);
    }

    #[test]
    fn a_time_out_kills_grandchildren_too() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pid");
        let script = waits_and_writes_its_number(&file);
        // On a busy machine the grandchild may not have started when a short time is out.
        let started = [0.5, 2.0, 8.0, 30.0].into_iter().any(|seconds| {
            let done = run(shell(&script), Vec::new(), &limits(seconds, 1000)).unwrap();
            assert_eq!(done.ending, Termination::TimedOut);
            file.exists()
        });
        assert!(started, "the grandchild never started");
        let pid: i32 = std::fs::read_to_string(file).unwrap().trim().parse().unwrap();
        assert!(ends(pid), "the grandchild was left behind");
    }

    #[test]
    fn what_a_child_leaves_in_the_background_does_not_hold_the_grader_up() {
        let start = Instant::now();
        let done = run(shell("sleep 60 & echo done"), Vec::new(), &limits(60.0, 1000)).unwrap();
        assert!(done.success() && done.stdout == b"done\n");
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    /// The grader of the next test: a process that runs a child, which writes its number and waits.
    #[test]
    #[ignore = "runs only inside `an_interrupted_grader_leaves_no_child`"]
    fn grader_that_waits() {
        let file = std::env::var("GRADER_TEST_PID_FILE").unwrap();
        let script = waits_and_writes_its_number(Path::new(&file));
        run(shell(&script), Vec::new(), &limits(60.0, 10)).unwrap();
    }

    #[test]
    fn an_interrupted_grader_leaves_no_child() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pid");
        let mut grader = Command::new(std::env::current_exe().unwrap())
            .args(["process::tests::grader_that_waits", "--exact", "--ignored"])
            .env("GRADER_TEST_PID_FILE", &file)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while !file.exists() {
            assert!(Instant::now() < deadline, "the child never started");
            thread::sleep(Duration::from_millis(10));
        }
        let pid: i32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        assert!(runs(pid));
        rustix::process::kill_process(Pid::from_child(&grader), Signal::TERM).unwrap();
        assert_eq!(
            grader.wait().unwrap().signal(),
            Some(SIGTERM),
            "it ends as if by the signal itself"
        );
        assert!(ends(pid), "the grandchild was left behind");
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let error = run(Command::new("/nowhere/nvcc"), Vec::new(), &limits(1.0, 10)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn ticks_come_while_the_child_runs() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("second");
        let script = format!("until [ -e {} ]; do sleep 0.01; done", file.display());
        let mut ticks = 0;
        let done = run_with_tick(shell(&script), Vec::new(), &limits(60.0, 10), &mut |_| {
            ticks += 1;
            if ticks == 2 {
                std::fs::write(&file, "").unwrap();
            }
        });
        assert!(done.unwrap().success(), "{ticks}");
    }

    #[test]
    fn a_guarded_flood_and_a_guarded_wait_end_at_once() {
        let flood = run_guarded(shell("yes"), &limits(60.0, 1000), &mut |_| false).unwrap();
        assert_eq!(flood.ending, Termination::TimedOut);
        assert!(flood.truncated && flood.stdout.len() == 1000);
        let wait =
            run_guarded(shell("sleep 60"), &limits(60.0, 10), &mut |child| child.time > TICK)
                .unwrap();
        assert!(wait.ending == Termination::TimedOut && !wait.truncated);
        assert!(flood.time + wait.time < Duration::from_secs(50));
    }

    #[test]
    fn computing_takes_processor_time_and_waiting_does_not() {
        let one = Duration::from_millis(100);
        let limits = limits(60.0, 10);
        let busy = run_guarded(shell("while :; do :; done"), &limits, &mut |child| {
            child.cpu_time() >= one
        });
        assert!(busy.unwrap().time < limits.timeout);
        let mut used = Duration::MAX;
        run_guarded(shell("exec sleep 60"), &limits, &mut |child| {
            used = child.cpu_time();
            child.time > 2 * one
        })
        .unwrap();
        assert!(used < one, "{used:?}");
    }

    /// A shell script whose child writes its number into `file`, at once and whole, and waits.
    fn waits_and_writes_its_number(file: &Path) -> String {
        let file = file.display();
        format!("sh -c 'echo $$ > {file}.new; mv {file}.new {file}; sleep 60' & wait")
    }

    /// Whether a process ends soon: what is killed is not gone at once.
    fn ends(pid: i32) -> bool {
        let deadline = Instant::now() + Duration::from_secs(20);
        while runs(pid) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
        }
        !runs(pid)
    }

    /// Neither gone nor a zombie that waits for init.
    fn runs(pid: i32) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')')
            .next()
            .is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'))
    }
}
