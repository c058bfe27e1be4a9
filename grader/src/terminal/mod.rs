//! The terminal: its size, the breaking of text into rows, and the whole screen with its keys.

pub mod screen;
pub mod text;

use rustix::termios::tcgetwinsize;
use std::io::{IsTerminal, stdout};

/// The size of a terminal in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
}

/// The size of the terminal at stdout; `None` if stdout is not a terminal, or the terminal does not know.
pub fn size() -> Option<Size> {
    if !stdout().is_terminal() {
        return None;
    }
    let size = tcgetwinsize(stdout()).ok()?;
    let known = size.ws_row > 0 && size.ws_col > 0;
    known.then(|| Size { rows: size.ws_row.into(), columns: size.ws_col.into() })
}
