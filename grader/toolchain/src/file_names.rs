//! The names that a compiler knows files by, and what they are outside of its folder.

use super::scratch;
use super::source_file::printable;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// The copy of a source that is compiled.
pub(crate) const SOURCE: &str = "gradient_puzzles.cu";

/// The link to the source's own folder.
pub(crate) const OWN: &str = "submission";

/// The links to the include folders, with their numbers.
pub(crate) const INCLUDED: &str = "include";

/// What the names in a compilation's messages, line information and `__FILE__` stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileNames {
    source: PathBuf,
    alias: String,
    include_dirs: Vec<PathBuf>,
}

impl FileNames {
    pub(crate) fn new(folder: &Path, file: &OsStr, include_dirs: &[PathBuf]) -> Self {
        let include_dirs = include_dirs.to_owned();
        let alias = printable(&file.to_string_lossy());
        Self { source: folder.join(file), alias, include_dirs }
    }

    /// The names for a source of a program whose first source lies in this folder: by its path where it lies elsewhere.
    pub(crate) fn of_program_in(mut self, folder: &Path) -> Self {
        if self.source.parent() != Some(folder) {
            self.alias = printable(&self.source.to_string_lossy());
        }
        self
    }

    /// The name of the source, as it can stand in quotes.
    pub(crate) fn alias(&self) -> &str {
        &self.alias
    }

    pub(crate) fn include_dirs(&self) -> &[PathBuf] {
        &self.include_dirs
    }

    /// The path of the file that the compiler named.
    pub fn restore(&self, name: &str) -> PathBuf {
        let folder = self.source.parent().unwrap_or(Path::new("/"));
        if name == self.alias {
            return self.source.clone();
        }
        let Some(inside) = inside(Path::new(name)) else { return name.into() };
        if inside == Path::new(&self.alias) || inside.ends_with(SOURCE) {
            return self.source.clone();
        }
        let mut parts = inside.components();
        let first = parts.next().map(Component::as_os_str).and_then(OsStr::to_str);
        let linked = first.and_then(|first| {
            if first == OWN {
                return Some(folder);
            }
            let number: usize = first.strip_prefix(INCLUDED)?.parse().ok()?;
            self.include_dirs.get(number).map(PathBuf::as_path)
        });
        match linked {
            Some(linked) => linked.join(parts.as_path()),
            // What a `#line` says, to which line information adds the compiler's folder.
            None if Path::new(name).is_absolute() => folder.join(inside),
            None => name.into(),
        }
    }

    /// As [`FileNames::restore`], with the alias as the source's name.
    pub(crate) fn restore_to_alias(&self, name: &str) -> PathBuf {
        let path = self.restore(name);
        if path == self.source { path.with_file_name(&self.alias) } else { path }
    }
}

/// The part of a path behind the compiler's folder; `None` if it leads elsewhere.
fn inside(name: &Path) -> Option<&Path> {
    if name.is_relative() {
        return Some(name);
    }
    let mut parts = name.components();
    parts.find(|part| scratch::is_compilers(part.as_os_str()))?;
    Some(parts.as_path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_the_files_outside() {
        let names = FileNames::new(Path::new("/w/a b"), "$(id)\\\".cu".as_ref(), &["/inc".into()]);
        assert_eq!(names.alias(), "$(id)__.cu");
        for (name, path) in [
            ("$(id)__.cu", "/w/a b/$(id)\\\".cu"),
            ("/tmp/gradient-puzzles-compiler-x1/$(id)__.cu", "/w/a b/$(id)\\\".cu"),
            ("source/gradient_puzzles.cu", "/w/a b/$(id)\\\".cu"),
            ("submission/x/t.cuh", "/w/a b/x/t.cuh"),
            ("/tmp/gradient-puzzles-compiler-x1/include0/t.cuh", "/inc/t.cuh"),
            ("/usr/include/x.h", "/usr/include/x.h"),
            ("puzzles/01.toml", "puzzles/01.toml"),
            ("/tmp/gradient-puzzles-compiler-x1/other.cuh", "/w/a b/other.cuh"),
        ] {
            assert_eq!(names.restore(name), Path::new(path), "{name}");
        }
        let other = names.clone().of_program_in(Path::new("/w/a b"));
        assert_eq!(other, names);
        let other = other.of_program_in(Path::new("/w"));
        assert_eq!(other.alias(), "/w/a b/$(id)__.cu");
        assert_eq!(other.restore(other.alias()), Path::new("/w/a b/$(id)\\\".cu"));
        let aliased = names.restore_to_alias("$(id)__.cu");
        assert_eq!(aliased, Path::new("/w/a b/$(id)__.cu"));
        assert_eq!(printable("a\n(1) ü.cu"), "a_(1) ü.cu");
    }
}
