//! A source file as messages show it.

use crate::usage::Usage;
use cpptext::directives::splice;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Bytes of the largest source that is read: no file that a person wrote comes near it, and compilers and reports take minutes
/// for lines of many megabytes.
const LARGEST: u64 = 1 << 20;

/// A text that messages can point into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// As shown: relative to [`crate::Request::base`] where it is inside.
    pub path: PathBuf,
    /// The whole text; bytes that are not UTF-8 are replaced.
    pub text: String,
    /// Whether the file, or a header that it may include, may hold PTX, which the compiler copies without a look.
    pub inline_ptx: bool,
}

impl SourceFile {
    /// A file without headers of its own.
    pub fn new(path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        let text = text.into();
        let mut usage = Usage::default();
        usage.read(&splice(text.as_bytes()));
        Self { path: path.into(), inline_ptx: usage.inline_ptx(), text }
    }
}

/// The bytes of a source. A pipe is not waited for, and a device or a file without end is not read.
///
/// # Errors
/// It cannot be read, it is no file, or it is too large to be a source.
pub(crate) fn read_source(path: &Path) -> io::Result<Vec<u8>> {
    // Whatever the name leads to is opened first and looked at then, since it may be replaced at any time.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        return Err(io::Error::other("it is no ordinary file"));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        let title = format!("it has more than {} MB", LARGEST >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, title));
    }
    Ok(bytes)
}

/// A path as it is shown: relative to `base` where it is inside, else as it is, without what cannot stand in the quotes of
/// PTX.
pub(crate) fn shown(path: &Path, base: &Path) -> PathBuf {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let shown =
        real(path).strip_prefix(real(base)).map_or_else(|_| path.to_owned(), Path::to_owned);
    printable(&shown.to_string_lossy()).into()
}

/// A name with `_` in the place of what cannot stand in quotes.
pub(crate) fn printable(name: &str) -> String {
    let special = |c: char| c.is_control() || "\"\\\u{FFFD}".contains(c);
    name.chars().map(|c| if special(c) { '_' } else { c }).collect()
}
