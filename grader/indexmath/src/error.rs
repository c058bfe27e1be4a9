//! The one error type: where, what is wrong, what would be right.

use std::fmt;

use crate::exec::AMBIGUOUS;
use crate::span::Span;

/// What is wrong with a formula, a shape or a size expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Where, in the text given to the parser. The empty range at 0 where no text is to blame
    /// (a missing value, for example).
    pub span: Span,
    /// What is wrong, a lower-case fragment.
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
}

impl Error {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), help: None }
    }

    /// Do the data lie so that rounding decides the result, for example because the two greatest of computed
    /// values are nearly equal? Then other data may do.
    pub fn is_ambiguous(&self) -> bool {
        self.message.starts_with(AMBIGUOUS)
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
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

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// `` `a`, `b` and `c` ``, for help texts.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => "none".to_owned(),
        [only] => only.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}
