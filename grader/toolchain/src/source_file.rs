//! A source file as messages show it.

use std::path::{Path, PathBuf};

/// A text that messages can point into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// As shown: relative to [`crate::Request::base`] where it is inside.
    pub path: PathBuf,
    /// The whole text; bytes that are not UTF-8 are replaced.
    pub text: String,
}

/// A path as it is shown: relative to `base` where it is inside, else as it is.
pub(crate) fn shown(path: &Path, base: &Path) -> PathBuf {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(path).strip_prefix(real(base)).map_or_else(|_| path.to_owned(), Path::to_owned)
}
