//! Why a command cannot continue, and the exit code that a script sees.

use crate::message::{Diagnostic, Severity};

/// Exit code: every test passed.
pub const EXIT_PASS: u8 = 0;
/// Exit code: a test failed, or the student's file does not compile.
pub const EXIT_FAIL: u8 = 1;
/// Exit code: bad usage or a bad spec.
pub const EXIT_USAGE: u8 = 2;
/// Exit code: the environment lacks something (compiler, network, disk, GPU).
pub const EXIT_ENVIRONMENT: u8 = 3;

/// A message that says what is wrong and what to do next, with the kind of failure.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The kind of failure, which determines the exit code.
    pub kind: FailureKind,
    /// The messages: what is wrong, where, and how to fix it.
    pub diagnostics: Vec<Diagnostic>,
}

/// The kind of a failure: who can fix it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The student: the kernel does not compile, or has the wrong name or signature.
    Kernel,
    /// Whoever wrote the spec or the command line.
    Usage,
    /// Whoever maintains the machine, which lacks something.
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

    /// All messages in the style of rustc, separated by empty lines.
    pub fn render(&self, color: bool) -> String {
        let shown: Vec<String> = self.diagnostics.iter().map(|d| d.render(color)).collect();
        shown.join("\n\n")
    }
}
