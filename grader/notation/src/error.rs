//! The crate's one error type: where the mistake is, what is wrong, and how to fix it.

use std::fmt;

use crate::span::Span;

/// A mistake in a formula, a shape, a size expression, or the data that a formula is evaluated with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The place in the text that was parsed; the empty range at 0 if no text is at fault, as for a missing value.
    pub span: Span,
    /// What is wrong: a lower-case fragment of a sentence.
    pub message: String,
    /// How to fix it, if known.
    pub help: Option<String>,
    /// Whether rounding decides the result.
    pub ambiguous: bool,
}

impl Error {
    /// An error at `span`, without help.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), help: None, ambiguous: false }
    }

    /// An error without a place in the text.
    pub fn unplaced(message: impl Into<String>) -> Self {
        Self::new(Span::default(), message)
    }

    /// The error of data for which rounding decides the result; `detail` says where.
    pub fn ambiguous(detail: impl fmt::Display) -> Self {
        let message = format!("the result is ambiguous for these data: {detail}");
        Self { ambiguous: true, ..Self::unplaced(message) }
    }

    /// Whether rounding decides the result for these data, for example because the two greatest of computed values
    /// are nearly equal. Other data may then give an answer.
    pub fn is_ambiguous(&self) -> bool {
        self.ambiguous
    }

    /// Adds how to fix it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Quotes the names for a help text: `` `a`, `b` and `c` ``.
pub fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => "none".to_owned(),
        [only] => only.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}
