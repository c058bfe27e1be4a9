//! What a source includes, found without a compiler, so that the key of the compile cache is known before compiling.
//!
//! nvcc can list dependencies (`-MD`), but that costs a quarter of a compile, and says nothing of a header that would
//! be found *earlier* had it existed. Here every file that a directive could mean is hashed: all folders of the search
//! path are tried, not only up to the first hit, and directives in comments or switched-off branches count as well.
//! What is not found there belongs to CUDA or to the host compiler, whose identities are part of the key. A source
//! whose includes cannot be known (`#include MACRO`) or that asks for the time is not cached.

use super::cache::Key;
use super::front_end::Readable;
use super::source_file::read_source;
use super::usage::Usage;
use cpptext::directives::{includes, splice};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// More files than any kernel includes: beyond it, compiling is cheaper than looking.
const MAX_FILES: usize = 500;

/// All that a compilation reads, apart from what comes with the compilers.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// Hash of the source, of the files it may include, and of where they were found. `None`: do not cache.
    pub key: Option<Key>,
    /// The files that it may include, in the order of their paths.
    pub headers: Vec<PathBuf>,
    /// What they use of CUDA and C++.
    pub usage: Usage,
}

/// What a source may include besides what comes with the compilers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headers<'a> {
    /// Every file; the compilers may read what their user may read.
    Any,
    /// What a submission may include. The compilers can read nothing else.
    Offered {
        /// Of the include folders, files of these names, with all that these include.
        names: &'a [String],
        /// The folder of the workbook. A submission may also include files in its own folder, links to other folders aside;
        /// where that folder holds the whole workbook, nothing of the workbook.
        workbook: &'a Path,
    },
}

impl Headers<'_> {
    /// May this file be included by a file that itself `is_offered`, or else is the submission's own? `path` lies in a real
    /// folder; `roots` are the source's folder and the include folders.
    fn allow(self, roots: &[PathBuf], is_offered: bool, path: &Path) -> bool {
        is_offered || self == Self::Any || self.offer(roots, path) || self.own(roots, path)
    }

    /// What the compilers may read of a submission whose files are these; `None` for everything.
    pub(crate) fn readable<'f>(self, files: &'f [PathBuf]) -> Option<Readable<'f>>
    where
        Self: 'f,
    {
        let Self::Offered { workbook: closed, .. } = self else { return None };
        Some(Readable { files, closed })
    }

    /// Is this one of the headers that are offered by name?
    fn offer(self, roots: &[PathBuf], path: &Path) -> bool {
        let Self::Offered { names, .. } = self else { return false };
        let named = |name: &Path| names.iter().any(|offered| Path::new(offered) == name);
        roots[1..].iter().any(|root| path.strip_prefix(root).is_ok_and(named))
    }

    /// Is this a file of the submission's own?
    fn own(self, roots: &[PathBuf], path: &Path) -> bool {
        let Self::Offered { workbook, .. } = self else { return false };
        let (Ok(path), folder) = (path.canonicalize(), &roots[0]) else { return false };
        let workbook = workbook.canonicalize().unwrap_or_else(|_| workbook.to_owned());
        path.starts_with(folder) && !(workbook.starts_with(folder) && path.starts_with(&workbook))
    }
}

/// Where headers are looked for.
#[derive(Clone, Copy, Debug)]
pub struct SearchPath<'a> {
    /// In the order of the `-I` options, then of the variables that the host compiler reads.
    pub folders: &'a [PathBuf],
}

impl Inputs {
    /// Follows the includes of `text`, which stands in `folder`.
    pub fn of(text: &[u8], folder: &Path, search: SearchPath<'_>, allowed: Headers<'_>) -> Self {
        // Real folders, so that `a/../a/x.cuh` is not a new file each time it includes itself.
        let real = |folder: &Path| folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let roots: Vec<PathBuf> = [folder]
            .into_iter()
            .chain(search.folders.iter().map(PathBuf::as_path))
            .map(real)
            .collect();
        let mut found = BTreeMap::new();
        let mut known = true;
        let mut usage = Usage::default();
        let mut queue = vec![(roots[0].clone(), false, text.to_vec())];
        while let Some((folder, is_offered, text)) = queue.pop() {
            let text = splice(&text);
            usage.read(&text);
            known &= ![&b"__DATE__"[..], b"__TIME__", b"__TIMESTAMP__", b"incbin"]
                .iter()
                .any(|word| contains(&text, word));
            // A header that is asked for is as if it were included: what it is, and whether it is there, is part of the key.
            let questions = has_includes(&text);
            for (directive, is_question) in includes(&text)
                .into_iter()
                .map(|directive| (directive, false))
                .chain(questions.into_iter().map(|question| (question, true)))
            {
                let Some(name) = directive else {
                    known = false;
                    usage.include_unknown();
                    continue;
                };
                let mut local = false;
                for place in [&folder].into_iter().chain(&roots[1..]) {
                    let path = place.join(name);
                    let (Some(parent), Some(file)) = (path.parent(), path.file_name()) else {
                        continue;
                    };
                    let Ok(parent) = parent.canonicalize() else { continue };
                    let path = parent.join(file);
                    if !allowed.allow(&roots, is_offered, &path) {
                        continue;
                    }
                    let is_offered = is_offered || allowed.offer(&roots, &path);
                    let Entry::Vacant(entry) = found.entry(path) else {
                        local = true;
                        continue;
                    };
                    if let Ok(bytes) = read_source(entry.key()) {
                        local = true;
                        entry.insert(blake3::hash(&bytes));
                        queue.push((parent, is_offered, bytes));
                    }
                }
                if !local && !is_question {
                    usage.include(name);
                }
            }
            if found.len() > MAX_FILES {
                known = false;
                usage.include_unknown();
                break;
            }
        }
        let headers: Vec<PathBuf> = found.keys().cloned().collect();
        let key = known.then(|| {
            // Folders by number, not by name: a copy of the workbook elsewhere has the same key.
            let places: Vec<String> = headers.iter().map(|h| relative(h, &roots)).collect();
            let hashes = found.values().map(|hash| hash.as_bytes().as_slice());
            let parts = places
                .iter()
                .map(String::as_bytes)
                .zip(hashes)
                .flat_map(|(name, hash)| [name, hash]);
            Key::of("inputs", [text].into_iter().chain(parts))
        });
        Self { key, headers, usage }
    }

    /// Are the files still those that were hashed? `source` stands in `folder`, and its text has `behind` after it; the rest as for
    /// [`Inputs::of`].
    pub(crate) fn are_unchanged(
        &self,
        source: &Path,
        behind: &[u8],
        folder: &Path,
        search: SearchPath<'_>,
        allowed: Headers<'_>,
    ) -> bool {
        read_source(source).is_ok_and(|text| {
            Self::of(&[&text, behind].concat(), folder, search, allowed).key == self.key
        })
    }
}

/// `#1/tile.cuh` for `tile.cuh` in the second root; the path itself outside all roots.
fn relative(path: &Path, roots: &[PathBuf]) -> String {
    for (number, root) in roots.iter().enumerate() {
        if let Ok(rest) = path.strip_prefix(root) {
            return format!("#{number}/{}", rest.display());
        }
    }
    path.display().to_string()
}

/// The headers that `__has_include(<x.h>)` asks for; `None` for one that a macro names. Where nothing stands in parentheses behind the word,
/// as in `#ifdef __has_include`, it asks for none.
fn has_includes(text: &[u8]) -> Vec<Option<&Path>> {
    const WORD: &[u8] = b"__has_include";
    let starts = (0..text.len()).filter(|&at| text[at..].starts_with(WORD));
    let question = |at: usize| {
        let rest = text[at + WORD.len()..].trim_ascii_start().strip_prefix(b"(")?;
        let rest = rest.trim_ascii_start();
        let name = match rest.first() {
            Some(b'<') => rest[1..].split(|&byte| byte == b'>').next(),
            Some(b'"') => rest[1..].split(|&byte| byte == b'"').next(),
            _ => None,
        };
        Some(name.map(|name| Path::new(OsStr::from_bytes(name))))
    };
    starts.filter_map(question).collect()
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|w| w == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::StandardLibrary;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// A folder with these files.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    fn scan(dir: &Path, text: &str) -> Inputs {
        let folders = [dir.join("first"), dir.join("second")];
        Inputs::of(
            text.as_bytes(),
            &dir.join("src"),
            SearchPath { folders: &folders },
            Headers::Any,
        )
    }

    fn key(dir: &Path, text: &str) -> Key {
        scan(dir, text).key.expect("its includes are known")
    }

    #[test]
    fn a_changed_header_of_a_header_changes_the_key() {
        let dir = folder(&[("src/a.cuh", "#include <b.cuh>"), ("second/b.cuh", "1")]);
        let before = scan(dir.path(), "#include \"a.cuh\"");
        let real = dir.path().canonicalize().unwrap();
        assert_eq!(before.headers, [real.join("second/b.cuh"), real.join("src/a.cuh")]);
        fs::write(dir.path().join("second/b.cuh"), "2").unwrap();
        assert_ne!(before.key.unwrap(), key(dir.path(), "#include \"a.cuh\""));
    }

    #[test]
    fn a_new_header_earlier_on_the_path_changes_the_key() {
        let dir = folder(&[("second/a.cuh", "1"), ("first/other.cuh", ""), ("src/k.cu", "")]);
        let before = key(dir.path(), "#include <a.cuh>");
        assert_eq!(before, key(dir.path(), "#include <a.cuh>"));
        fs::write(dir.path().join("first/a.cuh"), "1").unwrap();
        assert_ne!(before, key(dir.path(), "#include <a.cuh>"));
    }

    #[test]
    fn the_same_files_elsewhere_have_the_same_key() {
        let files = [("src/a.cuh", "#include <b.cuh>"), ("first/b.cuh", "1")];
        let (one, two) = (folder(&files), folder(&files));
        assert_eq!(key(one.path(), "#include \"a.cuh\""), key(two.path(), "#include \"a.cuh\""));
        assert_ne!(key(one.path(), "#include \"a.cuh\""), key(one.path(), "#include \"a.cuh\" "));
    }

    #[test]
    fn a_header_that_is_asked_for_is_part_of_the_key() {
        let dir = folder(&[("src/k.cu", "")]);
        let text = "#if defined(__has_include) && __has_include ( <a.cuh>)\n#endif\n#ifdef __has_include\n#endif";
        let without = key(dir.path(), text);
        assert_eq!(scan(dir.path(), text).usage.library(), StandardLibrary::Unnamed);
        fs::create_dir_all(dir.path().join("second")).unwrap();
        fs::write(dir.path().join("second/a.cuh"), "1").unwrap();
        assert_ne!(without, key(dir.path(), text));
    }

    #[test]
    fn headers_that_include_themselves_end() {
        let dir = folder(&[("src/a.cuh", "#include \"../src/a.cuh\"\n#include \"a.cuh\"")]);
        assert_eq!(scan(dir.path(), "#include \"a.cuh\"").headers.len(), 1);
        assert!(scan(dir.path(), "#include \"a.cuh\"").key.is_some());
    }

    #[test]
    fn a_submission_includes_its_own_files_and_what_is_offered() {
        let dir = folder(&[
            ("src/mine.cuh", ""),
            ("first/offered.cuh", "#include \"hidden.cuh\"\n#include \"../second/deep.cuh\""),
            ("first/hidden.cuh", ""),
            ("second/deep.cuh", ""),
            ("solution.cu", ""),
        ]);
        let real = dir.path().canonicalize().unwrap();
        let folders = [dir.path().join("first")];
        let headers = |folder: &str, text: &str| {
            let offered = ["offered.cuh".to_owned()];
            let search = SearchPath { folders: &folders };
            let allowed = Headers::Offered { names: &offered, workbook: dir.path() };
            Inputs::of(text.as_bytes(), &dir.path().join(folder), search, allowed).headers
        };
        let include = |name: &str| headers("src", &format!("#include \"{name}\""));
        assert_eq!(include("mine.cuh"), [real.join("src/mine.cuh")]);
        assert_eq!(
            include("offered.cuh"),
            ["first/hidden.cuh", "first/offered.cuh", "second/deep.cuh"].map(|f| real.join(f))
        );
        let absolute = real.join("solution.cu").display().to_string();
        symlink(real.join("solution.cu"), real.join("src/link.cuh")).unwrap();
        symlink(&real, real.join("src/up")).unwrap();
        let links = ["link.cuh", "up/solution.cu", "up/src/../solution.cu"];
        for refused in
            ["hidden.cuh", "../solution.cu", "../first/hidden.cuh", &absolute].iter().chain(&links)
        {
            assert!(include(refused).is_empty(), "{refused}");
        }
        // At the top of the workbook, all of it would be its own.
        for (name, count) in [("solution.cu", 0), ("src/mine.cuh", 0), ("offered.cuh", 3)] {
            let found = headers(".", &format!("#include \"{name}\""));
            assert_eq!(found.len(), count, "{name}: {found:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_not_waited_for() {
        let dir = folder(&[("src/k.cu", "")]);
        let pipe = dir.path().join("src/pipe.cuh");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        assert!(scan(dir.path(), "// #include \"pipe.cuh\"").headers.is_empty());
        assert!(read_source(&pipe).is_err());
        assert!(read_source(Path::new("/dev/zero")).is_err());
    }

    #[test]
    fn what_cannot_be_known_is_not_cached() {
        let dir = folder(&[("src/a.cuh", "int t = __TIME__;")]);
        for text in [
            "#include HEADER",
            "asm(\".incbin \\\"x\\\"\");",
            "#if __has_include(HEADER)",
            "#include \"a.cuh\"",
        ] {
            assert_eq!(scan(dir.path(), text).key, None, "{text}");
        }
    }

    #[test]
    fn headers_of_the_workbook_count_as_text_and_others_by_name() {
        let dir =
            folder(&[("first/help.cuh", "int stdev;"), ("first/std.cuh", "using namespace std;")]);
        for (text, library) in [
            ("#include <cuda_fp16.h>\n#include <help.cuh>", StandardLibrary::Unnamed),
            ("#include <std.cuh>", StandardLibrary::WithoutSpecialFunctions),
            ("#include <vector>", StandardLibrary::WithoutSpecialFunctions),
            ("#include <cub/cub.cuh>", StandardLibrary::Whole),
            ("#include HEADER", StandardLibrary::Whole),
        ] {
            assert_eq!(scan(dir.path(), text).usage.library(), library, "{text}");
        }
    }
}
