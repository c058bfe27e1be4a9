//! Shows that something long is going on. The only file that knows indicatif.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// A line on stderr while something long runs. On a terminal it moves; elsewhere there is one line at the start and
/// one at the end, so that a log shows what happened.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    start: Instant,
    done: bool,
}

impl Progress {
    /// A spinner with a message.
    pub fn spinner(message: &str) -> Self {
        Self::new(message, None)
    }

    /// A bar that counts bytes up to `total`.
    pub fn bytes(message: &str, total: u64) -> Self {
        Self::new(message, Some(total))
    }

    fn new(message: &str, total: Option<u64>) -> Self {
        let start = Instant::now();
        if !std::io::stderr().is_terminal() {
            line(message);
            return Self { bar: None, start, done: false };
        }
        let template = match total {
            Some(_) => "{spinner} {msg} [{bar:24}] {bytes}/{total_bytes}",
            None => "{spinner} {msg}",
        };
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
        // A template that does not parse leaves indicatif's own look.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(message.to_owned());
        bar.enable_steady_tick(Duration::from_millis(100));
        Self { bar: Some(bar), start, done: false }
    }

    /// Changes the message.
    pub fn message(&self, message: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(message.to_owned());
        }
    }

    /// Moves the bar.
    pub fn position(&self, bytes: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(bytes.min(bar.length().unwrap_or(bytes)));
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

fn line(message: &str) {
    // A closed stderr is no reason to stop.
    let _ = writeln!(std::io::stderr(), "{message}");
}
