//! Makes a page of what one block of a kernel did, which a reader plays forwards and backwards in a browser.
//!
//! ```text
//! PTX for a debugger ─► debug_info: variables and where they lie ─┐
//! case ─► device: recording of a block, tensors ──────────────────┼─► document (JSON) ─► page (one HTML file)
//! case ─► judge: terms of an element ─────────────────────────────┘
//! ```
//!
//! The page is a single file that needs no network: `assets` holds its frame, its style and its script. The script knows nothing of
//! PTX or of formulas; all names and values come from the [`Document`]. A [`Trace`] is the small part of it that figures of the book play.

mod debug_info;
mod document;
mod page;
mod sections;
mod values;

pub use document::{Document, Subject, Trace};
pub use page::page;
