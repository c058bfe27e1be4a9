//! `grader watch`, on pipes and on a terminal.

use super::bench::{Bench, RIGHT, STUB};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A machine that builds other things meanwhile is slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a watching grader prints, as it comes.
struct Seen {
    pieces: Receiver<Vec<u8>>,
    text: String,
}

impl Seen {
    fn of(mut output: impl Read + Send + 'static) -> Self {
        let (sender, pieces) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // A terminal whose other side is closed gives an error, which ends it.
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { pieces, text: String::new() }
    }

    /// Reads on until `wanted` is there, and forgets everything up to it.
    fn until(&mut self, wanted: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.text.find(wanted) {
                let rest = self.text.split_off(at + wanted.len());
                return std::mem::replace(&mut self.text, rest);
            }
            let left = end.saturating_duration_since(Instant::now());
            match self.pieces.recv_timeout(left) {
                Ok(piece) => self.text.push_str(&String::from_utf8_lossy(&piece)),
                Err(e) => panic!("no {wanted:?}: {e}: {}", self.text),
            }
        }
    }
}

/// Ends the child if the test does not.
struct Watching(Child);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

const WATCH: [&str; 4] = ["watch", "2", "--backend", "vm"];

#[test]
fn on_pipes_it_prints_plain_lines_at_every_save() {
    let bench = Bench::new();
    let mut command = bench.command(&WATCH);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut watching = Watching(child);
    let mut seen = Seen::of(watching.0.stdout.take().unwrap());
    let mut keys = watching.0.stdin.take().unwrap();

    let first = seen.until("graded in");
    assert!(first.starts_with("--- puzzle 2\nPuzzle 2: Doubling\n"), "{first}");
    assert!(first.contains("0 of 2 tests passed") && !first.contains('\u{1b}'), "{first}");
    // In place, as some editors write.
    bench.write("puzzles/02_double.cu", RIGHT);
    let second = seen.until("graded in");
    assert!(second.contains("2 of 2 tests passed"), "{second}");
    assert!(second.contains("Solved. Next: puzzle 5, Doubling again (n)"), "{second}");
    assert_eq!(bench.state(), "solved");
    // By a rename, as others do; a header that the kernel includes counts too.
    bench.write("puzzles/.new", &format!("#include \"help.cuh\"\n{RIGHT}"));
    std::fs::rename(bench.path("puzzles/.new"), bench.path("puzzles/02_double.cu")).unwrap();
    assert!(seen.until("graded in").contains("help.cuh"));
    bench.write("puzzles/help.cuh", "\n");
    assert!(seen.until("graded in").contains("2 of 2 tests passed"));

    keys.write_all(b"h\n").unwrap();
    seen.until("Hint 1 (mild)");
    keys.write_all(b"l\n").unwrap();
    seen.until("1 of 2 solved");
    keys.write_all(b"n\n").unwrap();
    assert!(seen.until("graded in").contains("Puzzle 5: Doubling again"));
    keys.write_all(b"q\n").unwrap();
    assert_eq!(watching.0.wait().unwrap().code(), Some(0));
}

#[test]
fn tests_keep_their_order() {
    let bench = Bench::new();
    let only_small = RIGHT.replace("i < n", "i < 32 && i < n");
    bench.write("puzzles/02_double.cu", &only_small);
    let mut command = bench.command(&WATCH);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut watching = Watching(child);
    let mut seen = Seen::of(watching.0.stdout.take().unwrap());
    let position = |text: &str, part: &str| text.find(part).unwrap_or_else(|| panic!("{text}"));
    for save in ["", "\n"] {
        bench.write("puzzles/02_double.cu", &format!("{save}{only_small}"));
        let page = seen.until("graded in");
        assert!(position(&page, "✔ small") < position(&page, "✘ large"), "{page}");
    }
}

#[test]
fn an_unsolved_puzzle_is_left_only_after_a_question() {
    let bench = Bench::new();
    let mut command = bench.command(&WATCH);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut watching = Watching(child);
    let mut seen = Seen::of(watching.0.stdout.take().unwrap());
    let mut keys = watching.0.stdin.take().unwrap();
    seen.until("graded in");
    keys.write_all(b"n\n").unwrap();
    seen.until("Puzzle 2 is not solved. Go on to puzzle 5, Doubling again? (y, n)");
    keys.write_all(b"y\n").unwrap();
    assert!(seen.until("graded in").contains("Puzzle 5: Doubling again"));
}

#[test]
fn a_stub_that_is_gone_for_a_moment_is_waited_for() {
    let bench = Bench::new();
    std::fs::remove_file(bench.path("puzzles/02_double.cu")).unwrap();
    let mut command = bench.command(&WATCH);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut watching = Watching(child);
    let mut seen = Seen::of(watching.0.stdout.take().unwrap());
    seen.until("puzzles/02_double.cu does not exist");
    seen.until("`grader reset 2` restores the original stub");
    bench.write("puzzles/02_double.cu", RIGHT);
    seen.until("2 of 2 tests passed");
}

/// A terminal: what the grader gets, and what a person sees and types.
fn terminal() -> (File, File) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap();
    let mut options = File::options();
    let grader = options.read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let size = Winsize { ws_row: 20, ws_col: 90, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&grader, size).unwrap();
    (grader, person.into())
}

fn on_terminal(command: &mut Command) -> (Watching, Seen, File, File) {
    let (grader, person) = terminal();
    let end = || grader.try_clone().unwrap();
    let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
    let seen = Seen::of(person.try_clone().unwrap());
    (Watching(child), seen, person, grader)
}

fn waits_for_enter(terminal: &File) -> bool {
    tcgetattr(terminal).unwrap().local_modes.contains(LocalModes::ICANON | LocalModes::ECHO)
}

#[test]
fn on_a_terminal_single_keys_count_and_it_is_left_as_it_was() {
    let bench = Bench::new();
    let (mut watching, mut seen, mut person, terminal) = on_terminal(&mut bench.command(&WATCH));
    let page = seen.until("graded in");
    assert!(
        page.contains("\u{1b}[?1049h") && page.contains("running test 1 of 2, small"),
        "{page}"
    );
    assert!(!waits_for_enter(&terminal));
    bench.write("puzzles/02_double.cu", RIGHT);
    seen.until("Solved. n goes on to puzzle 5, Doubling again");
    person.write_all(b"h").unwrap();
    seen.until("Hint 1 (mild)");
    person.write_all(b"q").unwrap();
    seen.until("\u{1b}[?1049l");
    assert_eq!(watching.0.wait().unwrap().code(), Some(0));
    assert!(waits_for_enter(&terminal));
}

const ENDLESS: &str = "\
__global__ void double_all(const float* x, float* y, int n)
{
    volatile int wait = 1;
    while (wait) {}
}
";

#[test]
fn a_save_ends_the_grading_of_a_kernel_without_end() {
    let bench = Bench::new();
    bench.write("puzzles/02_double.cu", ENDLESS);
    let (watching, mut seen, _person, _terminal) = on_terminal(&mut bench.command(&WATCH));
    seen.until("running test 1 of 2");
    let endless = super::children(&watching.0);
    bench.write("puzzles/02_double.cu", RIGHT);
    let page = seen.until("Solved");
    assert!(!page.contains("graded in"), "the first grading has no report: {page}");
    assert_eq!(endless.len(), 1);
    assert!(!super::children(&watching.0).contains(&endless[0]));
}

#[test]
fn a_watch_that_is_killed_leaves_no_kernel_running() {
    let bench = Bench::new();
    bench.write("puzzles/02_double.cu", ENDLESS);
    std::fs::create_dir(bench.path("tmp")).unwrap();
    let mut command = bench.command(&WATCH);
    let command = command.env("TMPDIR", bench.path("tmp"));
    let (mut watching, mut seen, _person, _terminal) = on_terminal(command);
    seen.until("running test 1 of 2");
    let endless = super::children(&watching.0);
    assert_ne!(std::fs::read_dir(bench.path("tmp")).unwrap().count(), 0);
    watching.0.kill().unwrap();
    let end = Instant::now() + PATIENCE;
    let runs = |pid: &String| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
    };
    while endless.iter().any(runs) {
        assert!(Instant::now() < end, "{endless:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(std::fs::read_dir(bench.path("tmp")).unwrap().count(), 0, "temporary files");
}

#[test]
fn an_interrupted_watch_leaves_the_terminal_as_it_was() {
    use rustix::process::Signal;
    // What a background job of a shell ignores, its children ignore as well: there Ctrl-C must not end them.
    let ignored = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = u64::from_str_radix(ignored.unwrap_or("0").trim(), 16).unwrap_or(0);
    let heard = |signal: &Signal| ignored & (1 << (signal.as_raw() - 1)) == 0;
    for signal in [Signal::INT, Signal::TERM].into_iter().filter(heard) {
        let bench = Bench::new();
        let (mut watching, mut seen, _person, terminal) = on_terminal(&mut bench.command(&WATCH));
        seen.until("graded in");
        assert!(!waits_for_enter(&terminal));
        let child = rustix::process::Pid::from_child(&watching.0);
        rustix::process::kill_process(child, signal).unwrap();
        assert_eq!(watching.0.wait().unwrap().code(), None, "ended by the signal");
        assert!(waits_for_enter(&terminal));
    }
}

#[test]
fn the_stub_is_not_touched() {
    let bench = Bench::new();
    let (_watching, mut seen, _person, _terminal) = on_terminal(&mut bench.command(&WATCH));
    seen.until("graded in");
    assert_eq!(bench.read("puzzles/02_double.cu"), STUB);
}
