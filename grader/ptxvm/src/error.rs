//! Why a module cannot be loaded or a launch cannot start.

use crate::source_loc::SourceLoc;

/// Why a module cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {ptx_line} of the PTX: {message}")]
pub struct LoadError {
    /// 1-based line of the PTX text; 0 where no single line is to blame.
    pub ptx_line: usize,
    /// The line of the CUDA source that it came from.
    pub source_loc: Option<SourceLoc>,
    /// What is wrong with the PTX text, as one phrase without a full stop.
    pub message: String,
    /// True: valid PTX that this machine cannot run. False: not PTX.
    pub unsupported: bool,
    /// True: it has more instructions, or needs more memory, than this machine gives a program.
    pub too_large: bool,
}

impl LoadError {
    /// The text is not PTX.
    pub(crate) fn malformed(ptx_line: usize, message: impl Into<String>) -> Self {
        Self {
            ptx_line,
            source_loc: None,
            message: message.into(),
            unsupported: false,
            too_large: false,
        }
    }

    /// The text may be PTX, but this machine cannot run it.
    pub(crate) fn unsupported(ptx_line: usize, message: impl Into<String>) -> Self {
        Self { unsupported: true, ..Self::malformed(ptx_line, message) }
    }

    /// The text has more instructions, or needs more memory, than this machine gives a program.
    pub(crate) fn too_large(ptx_line: usize, message: impl Into<String>) -> Self {
        Self { too_large: true, ..Self::unsupported(ptx_line, message) }
    }
}

/// Why a launch could not start.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum LaunchError {
    /// Block too large, a zero in the grid, shared memory over the limit ...: what and which limit.
    #[error("{0}")]
    Configuration(String),
    /// The kernel has an instruction that this machine cannot run.
    #[error("{0}")]
    Refused(LoadError),
    /// Number or sizes of the parameters do not match the kernel.
    #[error("{0}")]
    Parameters(String),
}
