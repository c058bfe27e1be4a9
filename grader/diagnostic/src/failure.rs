//! Why a command could not go on, and the exit code that tells a script.

use crate::message::{Diagnostic, Severity};

/// Exit code: every test passed.
pub const EXIT_PASS: u8 = 0;
/// Exit code: a test failed, or the student's file does not compile.
pub const EXIT_FAIL: u8 = 1;
/// Exit code: bad usage or a bad spec.
pub const EXIT_USAGE: u8 = 2;
/// Exit code: the environment lacks something (compiler, network, disk, GPU).
pub const EXIT_ENVIRONMENT: u8 = 3;

/// One clear message with what to do next, and who has to do it.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Whose turn it is.
    pub kind: FailureKind,
    /// What happened, where and what would be right.
    pub diagnostics: Vec<Diagnostic>,
}

/// Whose turn it is after a [`Failure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The student's: the kernel does not compile, or has the wrong name or signature.
    Kernel,
    /// The author's of the spec or of the command line.
    Usage,
    /// The machine's.
    Environment,
}

impl FailureKind {
    /// The exit code of the process.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Kernel => EXIT_FAIL,
            Self::Usage => EXIT_USAGE,
            Self::Environment => EXIT_ENVIRONMENT,
        }
    }
}

impl Failure {
    /// A message without a place in a file.
    pub fn new(kind: FailureKind, title: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            kind,
            diagnostics: vec![Diagnostic {
                severity: Severity::Error,
                title: title.into(),
                source: None,
                help: vec![help.into()],
            }],
        }
    }

    /// A message that points into a file.
    pub fn at(kind: FailureKind, diagnostic: Diagnostic) -> Self {
        Self { kind, diagnostics: vec![diagnostic] }
    }

    /// All messages in the look of rustc, with an empty line between two.
    pub fn render(&self, color: bool) -> String {
        let shown: Vec<String> = self.diagnostics.iter().map(|d| d.render(color)).collect();
        shown.join("\n\n")
    }
}
