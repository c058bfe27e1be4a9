//! Where the parts of the screen stand.

use super::model::{Model, Page, Panel};
use crate::terminal::Size;
use crate::terminal::text::wrap;

/// The rows below the report: the status and the keys.
const FOOTER: usize = 2;

/// From this width on, a hint stands beside the report.
const WIDE: usize = 140;

/// The width of a report with a hint beside it: reports break their sentences here.
pub const REPORT_WIDTH: usize = 96;

/// The columns between report and hint.
const GAP: usize = " | ".len();

/// The sizes of the two parts of the screen; that of the hint is zero if there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub report: Size,
    pub hint: Size,
    /// True if the hint stands beside the report.
    pub beside: bool,
}

impl Layout {
    pub fn of(model: &Model) -> Self {
        let Size { rows, columns } = model.size;
        let body = rows.saturating_sub(FOOTER);
        let Panel::Hint(hint) = &model.panel else {
            let hint = Size { rows: 0, columns: 0 };
            return Self { report: Size { rows: body, columns }, hint, beside: false };
        };
        if columns >= WIDE {
            let report = Size { rows: body, columns: REPORT_WIDTH };
            let hint = Size { rows: body, columns: columns - REPORT_WIDTH - GAP };
            return Self { report, hint, beside: true };
        }
        // The title is a row of its own.
        let rows = (1 + hint.page.height(columns)).min(body / 2);
        let report = Size { rows: body - rows, columns };
        Self { report, hint: Size { rows, columns }, beside: false }
    }

    /// The rows for the text of the hint, below its title.
    pub fn hint_text(&self) -> usize {
        self.hint.rows.saturating_sub(1)
    }
}

impl Page {
    /// The number of rows that the text takes.
    pub fn height(&self, columns: usize) -> usize {
        wrap(&self.text, columns).len()
    }

    /// The first row to show, so that the last rows fill the room.
    pub fn first(&self, height: usize, room: usize) -> usize {
        self.top.min(height.saturating_sub(room))
    }
}
