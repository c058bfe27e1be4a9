//! The workbook's folder and the puzzles that it holds.

use diagnostic::{Failure, FailureKind};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The workbook: a folder with `puzzles/`. That of students has no `solutions/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workbook {
    root: PathBuf,
    puzzles: Vec<Puzzle>,
}

/// A puzzle and the files that share its stem. Only the spec is known to exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Puzzle {
    /// The number of the puzzle, which starts the stem.
    pub number: u32,
    /// The name that its files share, such as `07_conv_forward`.
    pub stem: String,
    /// The file that the student edits.
    pub stub: PathBuf,
    /// The spec: what the kernel must compute.
    pub spec: PathBuf,
    /// A correct kernel.
    pub solution: PathBuf,
    /// The wrong kernels that the tests must catch.
    pub wrong: PathBuf,
    /// The chapter of the book.
    pub chapter: PathBuf,
}

impl Workbook {
    /// The workbook that contains `start`: the folder itself or the nearest one above it.
    ///
    /// # Errors
    /// `start` is not inside a workbook, or the workbook is invalid (see [`Workbook::open`]).
    pub fn find(start: &Path) -> Result<Self, Failure> {
        let start = start.canonicalize().map_err(|e| unreadable(start, &e))?;
        for root in start.ancestors() {
            if is_workbook(root) {
                return Self::read(root);
            }
        }
        Err(Failure::new(
            FailureKind::Usage,
            format!("`{}` is not inside a workbook", start.display()),
            "change to the workbook's folder, or pass it with --workbook DIR; it holds \
             puzzles/NN_name.toml",
        ))
    }

    /// The workbook whose folder is `root`.
    ///
    /// # Errors
    /// `root` is not a workbook, cannot be read, or has two puzzles with the same number.
    pub fn open(root: &Path) -> Result<Self, Failure> {
        let root = root.canonicalize().map_err(|e| unreadable(root, &e))?;
        if is_workbook(&root) {
            return Self::read(&root);
        }
        Err(Failure::new(
            FailureKind::Usage,
            format!("`{}` is not a workbook", root.display()),
            "a workbook holds the folder puzzles/, with specs named NN_name.toml",
        ))
    }

    fn read(root: &Path) -> Result<Self, Failure> {
        let mut by_number: BTreeMap<u32, Puzzle> = BTreeMap::new();
        for (number, stem) in stems(root).map_err(|e| unreadable(&root.join("puzzles"), &e))? {
            let puzzle = Puzzle {
                number,
                stub: root.join("puzzles").join(format!("{stem}.cu")),
                spec: root.join("puzzles").join(format!("{stem}.toml")),
                solution: root.join("solutions").join(format!("{stem}.cu")),
                wrong: root.join("solutions").join(format!("{stem}.toml")),
                chapter: root.join("book").join("src").join(format!("{stem}.md")),
                stem,
            };
            if let Some(other) = by_number.insert(number, puzzle.clone()) {
                let title = format!(
                    "puzzle {number} exists twice: `puzzles/{}.toml` and `puzzles/{}.toml`",
                    other.stem, puzzle.stem
                );
                let help = "give one of them another number";
                return Err(Failure::new(FailureKind::Usage, title, help));
            }
        }
        Ok(Self { root: root.to_path_buf(), puzzles: by_number.into_values().collect() })
    }

    /// The workbook's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// All puzzles, sorted by number.
    pub fn puzzles(&self) -> &[Puzzle] {
        &self.puzzles
    }

    /// The puzzle with this number.
    ///
    /// # Errors
    /// The workbook has no puzzle with this number.
    pub fn puzzle(&self, number: u32) -> Result<&Puzzle, Failure> {
        self.puzzles.iter().find(|p| p.number == number).ok_or_else(|| {
            Failure::new(
                FailureKind::Usage,
                format!("there is no puzzle {number}"),
                format!("there are {}; `grader list` shows them", runs(&self.puzzles)),
            )
        })
    }

    /// The folder of the headers that a kernel may include.
    pub fn include_dir(&self) -> PathBuf {
        self.root.join("kernels").join("include")
    }

    /// The file that defines what a header of [`Workbook::include_dir`] only declares, from solutions of other puzzles; `None` if
    /// the header is complete.
    pub fn reference(&self, header: &str) -> Option<PathBuf> {
        let folder = self.root.join("kernels").join("references");
        let path = folder.join(Path::new(header).with_extension("cu").file_name()?);
        path.is_file().then_some(path)
    }

    /// The folders for the includes of a [reference](Workbook::reference), in order. A workbook without solutions has the
    /// student's own files in their place.
    pub fn reference_dirs(&self) -> [PathBuf; 3] {
        [self.include_dir(), self.root.join("solutions"), self.root.join("puzzles")]
    }

    /// `path` as messages show it: relative to the workbook's folder if it is inside.
    pub fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }
}

/// Bytes of the largest file of a workbook.
const LARGEST: u64 = 64 << 20;

/// The bytes of a file of a workbook. A pipe is not waited for, and a device or a file without end is not read.
///
/// # Errors
/// It cannot be read, it is no file, or it is too large.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let kind = std::fs::metadata(path)?.file_type();
    if !kind.is_file() {
        return Err(io::Error::other("it is not an ordinary file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("it has more than {} MB", LARGEST >> 20)));
    }
    Ok(bytes)
}

/// The text of an ordinary file, as [`read`].
///
/// # Errors
/// As [`read`], or it is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let title = format!("cannot read `{}`: {error}", path.display());
    Failure::new(FailureKind::Usage, title, "the workbook's folder must exist and be readable")
}

/// A folder with specs, or with an empty folder for them.
fn is_workbook(root: &Path) -> bool {
    let is_empty =
        || std::fs::read_dir(root.join("puzzles")).is_ok_and(|mut dir| dir.next().is_none());
    stems(root).is_ok_and(|stems| !stems.is_empty()) || is_empty()
}

/// The numbers and stems of the specs in `puzzles/`, sorted.
fn stems(root: &Path) -> io::Result<Vec<(u32, String)>> {
    let mut stems = Vec::new();
    for entry in std::fs::read_dir(root.join("puzzles"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "toml")
            && let Some(stem) = path.file_stem().and_then(|s| s.to_str())
            && let Some(number) = number_of(stem)
        {
            stems.push((number, stem.to_owned()));
        }
    }
    stems.sort();
    Ok(stems)
}

/// The number in a stem: 7 for `07_conv_forward`; `None` if the stem does not have this form.
pub fn number_of(stem: &str) -> Option<u32> {
    let (digits, name) = stem.split_once('_')?;
    let all_digits = digits.len() >= 2 && digits.bytes().all(|b| b.is_ascii_digit());
    if all_digits && !name.is_empty() { digits.parse().ok() } else { None }
}

/// The numbers of the puzzles in words, such as `1 to 19, 23 to 25, 29`.
fn runs(puzzles: &[Puzzle]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for puzzle in puzzles {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == puzzle.number => *last = puzzle.number,
            _ => runs.push((puzzle.number, puzzle.number)),
        }
    }
    let words = runs.into_iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workbook(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("puzzles/deep/er")).unwrap();
        std::fs::create_dir(dir.path().join("solutions")).unwrap();
        for file in files {
            std::fs::write(dir.path().join(file), "").unwrap();
        }
        dir
    }

    #[test]
    fn is_found_from_inside_and_lists_its_puzzles_in_order() {
        let dir = workbook(&["puzzles/10_b.toml", "puzzles/07_a.toml", "puzzles/notes.toml"]);
        let book = Workbook::find(&dir.path().join("puzzles/deep/er")).unwrap();
        assert_eq!(book, Workbook::open(dir.path()).unwrap());
        let stems: Vec<_> = book.puzzles().iter().map(|p| p.stem.as_str()).collect();
        assert_eq!(stems, ["07_a", "10_b"]);
        let ten = book.puzzle(10).unwrap();
        assert_eq!(book.relative(&ten.stub), Path::new("puzzles/10_b.cu"));
        assert_eq!(book.relative(&ten.spec), Path::new("puzzles/10_b.toml"));
        assert_eq!(book.relative(&ten.solution), Path::new("solutions/10_b.cu"));
        assert_eq!(book.relative(&ten.wrong), Path::new("solutions/10_b.toml"));
        assert_eq!(book.relative(&ten.chapter), Path::new("book/src/10_b.md"));
        assert_eq!(book.relative(Path::new("/elsewhere")), Path::new("/elsewhere"));
    }

    #[test]
    fn a_missing_number_lists_those_that_exist() {
        let names =
            ["03_a", "04_a", "07_a", "10_b", "11_b", "12_b"].map(|n| format!("puzzles/{n}.toml"));
        let dir = workbook(&names.each_ref().map(String::as_str));
        let failure = Workbook::open(dir.path()).unwrap().puzzle(8).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Usage);
        insta::assert_snapshot!(failure.render(false), @r"
        error: there is no puzzle 8
         |
         = help: there are 3, 4, 7, 10 to 12; `grader list` shows them
        ");
    }

    #[test]
    fn a_number_must_be_unique() {
        let dir = workbook(&["puzzles/10_b.toml", "puzzles/010_a.toml"]);
        let failure = Workbook::open(dir.path()).unwrap_err();
        assert!(failure.diagnostics[0].title.starts_with("puzzle 10 exists twice"));
    }

    #[test]
    fn an_empty_one_and_one_without_solutions_are_workbooks() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("puzzles")).unwrap();
        assert_eq!(Workbook::open(dir.path()).unwrap().puzzles(), []);
        std::fs::write(dir.path().join("puzzles/10_b.toml"), "").unwrap();
        assert_eq!(Workbook::open(dir.path()).unwrap().puzzles().len(), 1);
    }

    #[test]
    fn a_folder_without_specs_is_no_workbook() {
        let dir = workbook(&["puzzles/notes.toml", "puzzles/7_a.toml", "puzzles/07_.toml"]);
        assert!(Workbook::open(dir.path()).is_err());
        assert!(Workbook::open(&dir.path().join("nothing")).is_err());
    }
}
