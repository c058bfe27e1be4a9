//! Shows that something long is going on. The only file that knows indicatif.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{LazyLock, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What takes less time than this shows no line.
const DELAY: Duration = Duration::from_secs(1);

/// Who gets the lines of progress in the place of stderr.
static LISTENER: OnceLock<fn(&str)> = OnceLock::new();

/// All moving lines on stderr, one below the other.
static LINES: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// The number of the next [`Progress`].
static NEXT: AtomicUsize = AtomicUsize::new(1);

/// The number of the [`Progress`] that the listener hears of, which has room for one line; 0 if there is none.
static HEARD: AtomicUsize = AtomicUsize::new(0);

/// From now on, [`Progress`] calls `listener` with each change: a program with a screen of its own shows it there.
pub fn tell(listener: fn(&str)) {
    // The first one counts.
    let _ = LISTENER.set(listener);
}

/// Whether somebody sees how far something has come.
pub fn is_visible() -> bool {
    LISTENER.get().is_some() || std::io::stderr().is_terminal()
}

/// Runs `print`, which prints on the terminal, above all moving lines.
pub fn above<R>(print: impl FnOnce() -> R) -> R {
    LINES.suspend(print)
}

/// A line on stderr while something long runs. On a terminal it moves; elsewhere there is one line at the start and
/// one at the end, so that a log shows what happened.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    number: usize,
    start: Instant,
    done: bool,
}

impl Progress {
    /// A spinner with a message.
    pub fn spinner(message: &str) -> Self {
        Self::new(message, None, "{spinner} {msg}")
    }

    /// A bar that counts bytes up to `total`.
    pub fn bytes(message: &str, total: u64) -> Self {
        Self::new(message, Some(total), "{spinner} {msg} [{bar:24}] {bytes}/{total_bytes}")
    }

    /// A bar that counts steps up to `total`.
    pub fn steps(message: &str, total: u64) -> Self {
        Self::new(message, Some(total), "{spinner} {msg} [{bar:24}] {pos}/{len}")
    }

    /// A bar that counts steps up to `total`, and estimates the time that is left.
    pub fn estimated(message: &str, total: u64) -> Self {
        Self::new(message, Some(total), "{spinner} {msg} [{bar:24}] {pos}/{len}, {eta} left")
    }

    fn new(message: &str, total: Option<u64>, template: &str) -> Self {
        let (number, start) = (NEXT.fetch_add(1, Relaxed), Instant::now());
        if !is_visible() {
            line(message);
            return Self { bar: None, number, start, done: false };
        }
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        let bar = if LISTENER.get().is_none() { LINES.add(bar) } else { bar };
        // A template that does not parse leaves indicatif's own look.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(message.to_owned());
        bar.enable_steady_tick(Duration::from_millis(100));
        Self { bar: Some(bar), number, start, done: false }
    }

    /// Replaces the message on a terminal; elsewhere the first line stays.
    pub fn message(&self, message: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(message.to_owned());
        }
        self.tell();
    }

    /// Moves the bar to here.
    pub fn position(&self, position: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(position.min(bar.length().unwrap_or(position)));
        }
        self.tell();
    }

    /// Moves the bar on.
    pub fn advance(&self, steps: u64) {
        if let Some(bar) = &self.bar {
            bar.inc(steps);
        }
        self.tell();
    }

    fn tell(&self) {
        let (Some(tell), Some(bar)) = (LISTENER.get(), &self.bar) else { return };
        let heard = HEARD.compare_exchange(0, self.number, Relaxed, Relaxed);
        if heard.is_ok() || heard == Err(self.number) {
            let count = bar.length().map(|all| format!(", {} of {all}", bar.position()));
            tell(&format!("{}{}", bar.message(), count.unwrap_or_default()));
        }
    }

    /// Replaces the moving line by a last one, with the time it took.
    pub fn finish(mut self, message: &str) {
        self.clear();
        line(&format!("{message} ({:.1} s)", self.start.elapsed().as_secs_f64()));
    }

    fn clear(&mut self) {
        self.done = true;
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        // The next one to change is heard.
        HEARD.compare_exchange(self.number, 0, Relaxed, Relaxed).ok();
    }
}

/// An error takes the moving line away; what happened is told elsewhere.
impl Drop for Progress {
    fn drop(&mut self) {
        if !self.done {
            self.clear();
        }
    }
}

/// A moving line that appears only if something takes long, and only on a terminal: most of the time there is none.
/// It is gone when this is dropped.
#[derive(Debug)]
pub struct DelayedSpinner {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl DelayedSpinner {
    /// Shows `message` after [`DELAY`].
    pub fn new(message: &str) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { thread: None };
        }
        let (stop, stopped) = channel();
        let message = message.to_owned();
        let wait = move || {
            if stopped.recv_timeout(DELAY) == Err(RecvTimeoutError::Timeout) {
                let _progress = Progress::spinner(&message);
                // Until the sender is dropped.
                stopped.recv().ok();
            }
        };
        let thread = std::thread::Builder::new().name("progress".into()).spawn(wait);
        Self { thread: thread.ok().map(|thread| (stop, thread)) }
    }
}

impl Drop for DelayedSpinner {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.thread.take() {
            drop(stop);
            thread.join().ok();
        }
    }
}

fn line(message: &str) {
    // A closed stderr is no reason to stop.
    let _ = writeln!(std::io::stderr(), "{message}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn a_listener_hears_of_one_line_at_a_time() {
        static HEARD_WORDS: Mutex<Vec<String>> = Mutex::new(Vec::new());
        tell(|words| HEARD_WORDS.lock().unwrap().push(words.to_owned()));
        let (first, second) = (Progress::steps("first", 8), Progress::steps("second", 9));
        first.position(1);
        second.position(2);
        first.position(3);
        drop(first);
        second.position(4);
        let heard = ["first, 1 of 8", "first, 3 of 8", "second, 4 of 9"];
        assert_eq!(*HEARD_WORDS.lock().unwrap(), heard);
    }
}
