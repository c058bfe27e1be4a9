//! The whole screen: pages that replace each other, and keys that are read as they are typed. The only file that knows
//! crossterm, and the only one that changes the terminal's mode.

use super::text::with_colours_alone;
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{
    DisableMouseCapture, EnableMouseCapture, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers,
    MouseEventKind, read,
};
use crossterm::style::Print;
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use rustix::process::{Signal, kill_current_process_group};
use std::io::{self, IsTerminal, Write, stdin, stdout};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use toolchain::process;

/// Makes the wheel send arrow keys while the alternate screen is shown, and leaves it again (xterm, "alternate scroll").
/// Unlike captured mouse events, this lets the user select and copy text.
const WHEEL_ON: &str = "\u{1b}[?1007h";
const WHEEL_OFF: &str = "\u{1b}[?1007l";

/// The hooks that leave the screen are set once.
static HOOKS: Once = Once::new();

/// True while the screen is ours.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// What the user did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A key was typed.
    Key(Key),
    /// The window has another size.
    Resized,
}

/// A key, or a turn of the mouse wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of keys say what they are")]
pub enum Key {
    Char(char),
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Escape,
    WheelUp,
    WheelDown,
    /// Ctrl-C, which ends the program.
    Interrupt,
    /// Ctrl-Z, which suspends the program.
    Suspend,
}

/// The terminal's alternate screen. However the grader ends, except by SIGKILL, the terminal is left as it was.
#[derive(Debug)]
pub struct Screen {
    /// The rows that the terminal shows.
    shown: Vec<String>,
}

impl Screen {
    /// Takes the screen. `None` if stdin or stdout is not a terminal, or the terminal cannot do this.
    pub fn start() -> Option<Self> {
        let dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
        if dumb || !stdin().is_terminal() || !stdout().is_terminal() {
            return None;
        }
        enter().ok()?;
        HOOKS.call_once(|| {
            process::before_interrupt(leave);
            // The message of a panic belongs to the user's own screen.
            let print = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                leave();
                print(panic);
            }));
        });
        Some(Self { shown: Vec::new() })
    }

    /// Shows these rows from the top, of whose control characters the terminal gets those that set colours alone; writes only what
    /// differs from what is shown.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn draw(&mut self, rows: Vec<String>) -> io::Result<()> {
        if rows == self.shown {
            return Ok(());
        }
        let mut out = stdout().lock();
        queue!(out, BeginSynchronizedUpdate)?;
        if self.shown.len() != rows.len() {
            self.shown.clear();
            queue!(out, Clear(ClearType::All))?;
        }
        for (number, row) in rows.iter().enumerate() {
            if self.shown.get(number) != Some(row) {
                let row = with_colours_alone(row);
                queue!(out, MoveTo(0, number as u16), Clear(ClearType::CurrentLine), Print(row))?;
            }
        }
        queue!(out, EndSynchronizedUpdate)?;
        self.shown = rows;
        out.flush()
    }

    /// Draws everything the next time: the window has another size, say.
    pub fn forget(&mut self) {
        self.shown.clear();
    }

    /// Takes the screen again, after a shell has set its own modes.
    pub fn resume(&mut self) {
        leave();
        // If the terminal refuses, keys need Enter, but nothing else breaks.
        enter().ok();
        self.forget();
    }

    /// Stops the grader as Ctrl-Z does, until the shell continues it.
    pub fn suspend(&mut self) {
        leave();
        kill_current_process_group(Signal::TSTP).ok();
        // The signal may reach another thread first; it stops this one too.
        thread::sleep(Duration::from_millis(50));
        self.resume();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    SHOWN.store(true, Ordering::Relaxed);
    let mut out = stdout().lock();
    execute!(out, EnterAlternateScreen, Hide, Print(WHEEL_ON))?;
    if inside_multiplexer() {
        execute!(out, EnableMouseCapture)?;
    }
    Ok(())
}

/// Gives the terminal back. If it is gone, there is nothing to do.
fn leave() {
    if SHOWN.swap(false, Ordering::Relaxed) {
        let mut out = stdout().lock();
        if inside_multiplexer() {
            execute!(out, DisableMouseCapture).ok();
        }
        execute!(out, Print(WHEEL_OFF), Show, LeaveAlternateScreen).ok();
        disable_raw_mode().ok();
    }
}

/// A terminal multiplexer that handles the mouse itself passes the wheel only to programs that capture the mouse.
fn inside_multiplexer() -> bool {
    std::env::var_os("TMUX").is_some() || std::env::var_os("STY").is_some()
}

/// Sends what the user does, from a thread of its own, until `send` says that nobody listens.
///
/// # Errors
/// The thread cannot be started.
pub fn listen(send: impl Fn(Input) -> bool + Send + 'static) -> io::Result<()> {
    let read_all = move || {
        while let Ok(event) = read() {
            if input(&event).is_some_and(|input| !send(input)) {
                return;
            }
        }
    };
    thread::Builder::new().name("keys".into()).spawn(read_all).map(drop)
}

fn input(event: &Event) -> Option<Input> {
    match event {
        Event::Key(event) if event.kind != KeyEventKind::Release => key(*event).map(Input::Key),
        Event::Mouse(mouse) => match mouse.kind {
            MouseEventKind::ScrollUp => Some(Input::Key(Key::WheelUp)),
            MouseEventKind::ScrollDown => Some(Input::Key(Key::WheelDown)),
            _ => None,
        },
        Event::Resize(..) => Some(Input::Resized),
        _ => None,
    }
}

fn key(event: KeyEvent) -> Option<Key> {
    if event.modifiers.contains(KeyModifiers::CONTROL) {
        return match event.code {
            KeyCode::Char('c') => Some(Key::Interrupt),
            KeyCode::Char('z') => Some(Key::Suspend),
            _ => None,
        };
    }
    match event.code {
        KeyCode::Char(c) => Some(Key::Char(c)),
        KeyCode::Up => Some(Key::Up),
        KeyCode::Down => Some(Key::Down),
        KeyCode::PageUp => Some(Key::PageUp),
        KeyCode::PageDown => Some(Key::PageDown),
        KeyCode::Home => Some(Key::Home),
        KeyCode::End => Some(Key::End),
        KeyCode::Enter => Some(Key::Enter),
        KeyCode::Esc => Some(Key::Escape),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_keys_are_no_letters() {
        let typed = |code, modifiers| input(&Event::Key(KeyEvent::new(code, modifiers)));
        let c = KeyCode::Char('c');
        assert_eq!(typed(c, KeyModifiers::CONTROL), Some(Input::Key(Key::Interrupt)));
        assert_eq!(typed(c, KeyModifiers::NONE), Some(Input::Key(Key::Char('c'))));
        assert_eq!(typed(KeyCode::Char('q'), KeyModifiers::CONTROL), None);
        assert_eq!(typed(KeyCode::Esc, KeyModifiers::NONE), Some(Input::Key(Key::Escape)));
    }
}
