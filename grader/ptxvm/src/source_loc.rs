//! Places in the CUDA source.

use std::sync::Arc;

/// A place in the CUDA source, from `.loc`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceLoc {
    /// As in the `.file` directive.
    pub file: Arc<str>,
    /// The line, counted from 1.
    pub line: u32,
    /// The column, from 1; 0 if it is unknown.
    pub column: u32,
}
