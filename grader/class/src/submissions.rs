//! Finds the submissions of a class in a folder. What lies there was made by strangers: links are not followed, only ordinary
//! files of moderate size are read, and no name of theirs becomes a path.

use crate::civil;
use diagnostic::{Failure, FailureKind};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, DirEntry, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How deep in a student's folder files are looked for: `puzzles/` of a workbook in a folder of a repository.
const DEPTH: usize = 4;
/// A folder with more entries is not read, and more entries of a student's folders are not looked at.
const MAX_ENTRIES: usize = 100_000;
/// The largest number of headers of a submission.
const MAX_HEADERS: usize = 32;
/// More notes on what was passed over are counted.
const MAX_NOTES: usize = 5;
/// The seconds of a day.
const DAY: i64 = 86_400;

/// A puzzle of the class: its number and stem.
pub type Known = (u32, String);

/// A student and what came from them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Student {
    /// The name, as the folder or file has it: any characters.
    pub name: String,
    /// In the order in which they were made; at least one.
    pub tries: Vec<Try>,
}

/// One submission of a student.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Try {
    /// When it was made, in seconds since 1970: the time of its newest file.
    pub at: i64,
    /// The files for each puzzle.
    pub files: BTreeMap<u32, Files>,
    /// What was strange about it, for the instructor.
    pub notes: Vec<String>,
}

/// The files of a submission to a puzzle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// The kernel file.
    pub source: Vec<u8>,
    /// Headers beside it, under names of letters, digits, `_`, `-` and `.`.
    pub headers: BTreeMap<String, Vec<u8>>,
}

/// What was found in a folder.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The students in the order of their names.
    pub students: Vec<Student>,
    /// Entries that are nobody's, and why.
    pub ignored: Vec<String>,
}

/// How a folder is read.
#[derive(Clone, Debug)]
pub struct Search<'a> {
    /// The puzzles of the class.
    pub puzzles: &'a [Known],
    /// The largest size of all files of a submission to a puzzle, in bytes.
    pub limit: u64,
}

impl Search<'_> {
    /// The submissions in `folder`, which has one file or folder for each student.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn class(&self, folder: &Path) -> Result<Found, Failure> {
        let mut students: BTreeMap<Owner, Vec<Try>> = BTreeMap::new();
        let mut ignored = Vec::new();
        for entry in entries(&real(folder)).map_err(|e| unreadable(folder, &e))? {
            let shown = readable(&entry.file_name());
            let Ok(kind) = entry.file_type() else { continue };
            if shown.starts_with('.') || shown == "__MACOSX" {
            } else if kind.is_dir() {
                let tries = self.tries(&entry.path());
                students.entry(Owner::of_folder(&shown)).or_default().extend(tries);
            } else if !kind.is_file() {
                ignored.push(format!("{shown}: a link or a device, which is not followed"));
            } else if let Some((student, puzzle)) = self.owner(&shown) {
                let all = students.entry(student).or_insert_with(|| vec![Try::default()]);
                if let Some(last) = all.last_mut() {
                    // What lies beside it came from other students.
                    self.add(last, puzzle, &entry.path(), &[]);
                }
            } else if is_header(&shown) {
                ignored.push(format!("{shown}: a header belongs into its student's folder"));
            } else if is_archive(&shown) {
                ignored.push(format!("{shown}: an archive, which is not unpacked"));
            } else {
                ignored.push(format!("{shown}: its name fits no puzzle of the class"));
            }
        }
        Ok(Found { students: named(students), ignored })
    }

    /// The submissions of the one student whose folder this is.
    pub fn student(&self, name: &str, folder: &Path) -> Student {
        Student { name: name.to_owned(), tries: self.tries(&real(folder)) }
    }

    /// Folders `1`, `2` ... are the tries of a student; without them the folder is the only one.
    fn tries(&self, folder: &Path) -> Vec<Try> {
        let number = |entry: &DirEntry| -> Option<u32> {
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            entry.file_name().to_str().filter(|_| is_dir)?.parse().ok()
        };
        let all = entries(folder).unwrap_or_default();
        let mut numbered: Vec<(u32, PathBuf)> =
            all.iter().filter_map(|entry| Some((number(entry)?, entry.path()))).collect();
        numbered.sort();
        match numbered.len() {
            0 => vec![self.one_try(folder)],
            _ => numbered.iter().map(|(_, path)| self.one_try(path)).collect(),
        }
    }

    fn one_try(&self, folder: &Path) -> Try {
        let mut result = Try::default();
        let mut found = Walk::default();
        found.walk(folder, DEPTH);
        found.sources.sort_by_key(|path| (path.components().count(), path.clone()));
        let stem = |path: PathBuf| (path.file_stem().map(readable).unwrap_or_default(), path);
        let sources: Vec<(String, PathBuf)> = found.sources.drain(..).map(stem).collect();
        for (puzzle, stem) in self.puzzles {
            let first = |fits: &dyn Fn(&str) -> bool| sources.iter().find(|(name, _)| fits(name));
            let exact = || first(&|name| name == stem);
            let inside = || first(&|name| name.contains(stem.as_str()));
            let numbered = || first(&|name| number_of(name) == Some(*puzzle));
            let only = || sources.first().filter(|_| self.puzzles.len() == 1 && sources.len() == 1);
            if let Some((_, path)) = exact().or_else(inside).or_else(numbered).or_else(only) {
                let beside = path.parent().and_then(|dir| entries(dir).ok()).unwrap_or_default();
                self.add(&mut result, *puzzle, path, &beside);
            }
        }
        if let ([(name, _), ..], true) = (&*sources, result.files.is_empty()) {
            found.notes.push(format!("{name}.cu: its name fits no puzzle of the class"));
        }
        result.notes.append(&mut found.notes());
        result
    }

    /// Adds the file for a puzzle, and the headers `beside` it.
    fn add(&self, to: &mut Try, puzzle: u32, path: &Path, beside: &[DirEntry]) {
        let (source, mut at) = match read(path, self.limit) {
            Ok(read) => read,
            Err(e) => return to.notes.push(format!("puzzle {puzzle}: {e}")),
        };
        let mut files = Files { source, headers: BTreeMap::new() };
        let mut left = self.limit.saturating_sub(files.source.len() as u64);
        for entry in beside {
            let name = readable(&entry.file_name());
            if !is_header(&name) {
                continue;
            }
            if !is_plain(&name) {
                to.notes.push(format!("puzzle {puzzle}: the name of {name} is none of a header"));
                continue;
            }
            if files.headers.len() == MAX_HEADERS {
                to.notes.push(format!("puzzle {puzzle}: only {MAX_HEADERS} headers were read"));
                break;
            }
            match read(&entry.path(), left) {
                Ok((bytes, of_header)) => {
                    left -= bytes.len() as u64;
                    at = at.max(of_header);
                    files.headers.insert(name, bytes);
                }
                Err(e) => to.notes.push(format!("puzzle {puzzle}, {name}: {e}")),
            }
        }
        if at > civil::of_system(SystemTime::now()).saturating_add(DAY) {
            to.notes.push(format!("puzzle {puzzle}: the time of its files is in the future"));
        }
        to.at = to.at.max(at);
        if to.files.insert(puzzle, files).is_some() {
            let name = readable(path.file_name().unwrap_or_default());
            to.notes.push(format!("puzzle {puzzle}: there are several files; {name} counts"));
        }
    }

    /// The student and the puzzle of a file beside those of other students.
    fn owner(&self, file: &str) -> Option<(Owner, u32)> {
        let end = file.len().checked_sub(".cu".len())?;
        let stem = file.get(..end).filter(|_| file[end..].eq_ignore_ascii_case(".cu"))?;
        for (number, puzzle) in self.puzzles {
            if let Some((before, _)) = stem.split_once(puzzle.as_str()) {
                let owner = Owner::of_prefix(before.trim_end_matches(['_', '-', ' ']));
                return (!owner.name.is_empty()).then_some((owner, *number));
            }
        }
        let [(number, _)] = self.puzzles else { return None };
        (!stem.is_empty()).then(|| (Owner { name: stem.to_owned(), id: String::new() }, *number))
    }
}

/// Whose an entry of the folder is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Owner {
    name: String,
    /// What the platform writes beside the name, which two students may share; else nothing.
    id: String,
}

impl Owner {
    /// `Ada L` and `1234` for `Ada L_1234_assignsubmission_file_`, as Moodle names the folders of students.
    fn of_folder(folder: &str) -> Self {
        let moodle = folder.split_once("_assignsubmission_").map(|(before, _)| before);
        let (name, id) = match moodle {
            Some(before) => before.rsplit_once('_').unwrap_or((before, "")),
            None => (folder, ""),
        };
        Self { name: name.to_owned(), id: id.to_owned() }
    }

    /// `lovelaceada` and `12` for `lovelaceada_LATE_12_345`, which Canvas writes before the name of a student's file.
    fn of_prefix(prefix: &str) -> Self {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let numbers = prefix.rsplit_once('_').filter(|(_, last)| digits(last));
        let numbers = numbers.and_then(|(rest, _)| rest.rsplit_once('_'));
        let (name, id) = match numbers.filter(|(_, id)| digits(id)) {
            Some((name, id)) => (name.strip_suffix("_LATE").unwrap_or(name), id),
            None => (prefix, ""),
        };
        Self { name: name.to_owned(), id: id.to_owned() }
    }
}

/// The students by their names; those who share one have the platform's number behind it.
fn named(owners: BTreeMap<Owner, Vec<Try>>) -> Vec<Student> {
    let mut shared: BTreeMap<String, usize> = BTreeMap::new();
    for owner in owners.keys() {
        *shared.entry(owner.name.clone()).or_default() += 1;
    }
    let mut taken = BTreeSet::new();
    let student = |(Owner { name, id }, tries)| {
        let mut name =
            if shared[&name] > 1 && !id.is_empty() { format!("{name} ({id})") } else { name };
        // A folder may have the very name that was made for another.
        while !taken.insert(name.clone()) {
            name.push_str(" (another)");
        }
        Student { name, tries }
    };
    let mut students: Vec<Student> = owners.into_iter().map(student).collect();
    students.sort_by(|a, b| a.name.cmp(&b.name));
    students
}

/// A name as text. Bytes that are none stay told from each other, and from a name with such a text: `M\xFCller`.
fn readable(name: &OsStr) -> String {
    let mut text = String::new();
    for chunk in name.as_bytes().utf8_chunks() {
        text.push_str(&chunk.valid().replace("\\x", "\\x5Cx"));
        for byte in chunk.invalid() {
            write!(text, "\\x{byte:02X}").ok();
        }
    }
    text
}

/// The number that a file's name starts with: 10 for `10`, `10_mine` and `10-conv`.
fn number_of(stem: &str) -> Option<u32> {
    let end = stem.find(|c: char| !c.is_ascii_digit()).unwrap_or(stem.len());
    stem[..end].parse().ok()
}

/// A name that is no path, no option and no hidden file, whoever reads it.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    name.chars().all(plain) && !name.starts_with(['.', '-'])
}

/// What lies below a student's folder.
#[derive(Default)]
struct Walk {
    /// The kernel files.
    sources: Vec<PathBuf>,
    /// The entries that were looked at.
    seen: usize,
    links: usize,
    /// What was passed over, but for links.
    notes: Vec<String>,
}

impl Walk {
    fn walk(&mut self, folder: &Path, depth: usize) {
        let entries = entries(folder).unwrap_or_else(|e| {
            let name = readable(folder.file_name().unwrap_or_default());
            self.notes.push(format!("the folder {name} cannot be read: {e}"));
            Vec::new()
        });
        for entry in entries {
            let name = readable(&entry.file_name());
            let Ok(kind) = entry.file_type() else { continue };
            self.seen += 1;
            if self.seen > MAX_ENTRIES {
                return;
            }
            if kind.is_symlink() {
                self.links += 1;
            } else if name.starts_with(['.', '_']) {
            } else if kind.is_dir() && depth > 0 {
                self.walk(&entry.path(), depth - 1);
            } else if kind.is_dir() {
                self.notes.push(format!("the folder {name} lies too deep to be looked into"));
            } else if is_archive(&name) {
                self.notes.push(format!("{name} is an archive, which is not unpacked"));
            } else if entry.path().extension().is_some_and(|e| e.eq_ignore_ascii_case("cu")) {
                if kind.is_file() {
                    self.sources.push(entry.path());
                } else {
                    self.notes.push(format!("{name} is not an ordinary file"));
                }
            }
        }
    }

    /// What a person should know, in a moderate number of words.
    fn notes(mut self) -> Vec<String> {
        if let Some(more) = self.notes.len().checked_sub(MAX_NOTES).filter(|more| *more > 0) {
            self.notes.truncate(MAX_NOTES);
            self.notes.push(format!("and {more} more like these"));
        }
        match self.links {
            0 => {}
            1 => self.notes.push("a link was not followed".to_owned()),
            links => self.notes.push(format!("{links} links were not followed")),
        }
        if self.seen > MAX_ENTRIES {
            self.notes.push(format!("only {MAX_ENTRIES} files and folders were looked at"));
        }
        self.notes
    }
}

fn is_header(name: &str) -> bool {
    [".cuh", ".h", ".hpp"].iter().any(|end| name.ends_with(end))
}

fn is_archive(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// The entries of a folder in the order of their names.
fn entries(folder: &Path) -> io::Result<Vec<DirEntry>> {
    let mut entries: Vec<DirEntry> =
        fs::read_dir(folder)?.take(MAX_ENTRIES + 1).collect::<io::Result<_>>()?;
    if entries.len() > MAX_ENTRIES {
        return Err(io::Error::other(format!("it has more than {MAX_ENTRIES} entries")));
    }
    entries.sort_by_key(DirEntry::file_name);
    Ok(entries)
}

/// The bytes of an ordinary file, and when it was written.
fn read(path: &Path, limit: u64) -> io::Result<(Vec<u8>, i64)> {
    let file = open(path).map_err(|e| match e {
        Errno::LOOP => io::Error::other("it is a link, or lies behind one"),
        _ => e.into(),
    })?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("it is not an ordinary file"));
    }
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::other(format!("its files have more than {} kB", limit / 1024)));
    }
    Ok((bytes, meta.modified().map_or(0, civil::of_system)))
}

/// Opens a file, and follows no link on the way, into which its student may have turned a folder since that was looked at.
fn open(path: &Path) -> Result<File, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // A system, or a container, that does not know this call.
        Err(Errno::NOSYS | Errno::PERM) => openat(CWD, path, flags, Mode::empty()),
        opened => opened,
    };
    opened.map(File::from)
}

/// A folder of the instructor's, which links may lead to.
fn real(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

fn unreadable(folder: &Path, error: &io::Error) -> Failure {
    let title = format!("cannot read {}: {error}", folder.display());
    Failure::new(FailureKind::Usage, title, "name the folder that has the submissions")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::time::{Duration, SystemTime};

    fn puzzles() -> Vec<Known> {
        vec![(10, "10_conv".into()), (12, "12_lenet".into())]
    }

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        dir
    }

    fn found(dir: &Path) -> Vec<(String, Vec<u32>)> {
        let search = Search { puzzles: &puzzles(), limit: 1000 };
        let numbers = |student: Student| {
            let all = student.tries.iter().flat_map(|one| one.files.keys().copied());
            (student.name.clone(), all.collect())
        };
        search.class(dir).unwrap().students.into_iter().map(numbers).collect()
    }

    #[test]
    fn the_layouts_of_platforms_are_understood() {
        let dir = folder(&[
            "ada/10_conv.cu",
            "ada/mine.cuh",
            "bob/repo/puzzles/12_lenet.cu",
            "Eve E_77_assignsubmission_file_/10.cu",
            "lovelace_LATE_12_345_10_conv-1.cu",
            "zoe_12_lenet.cu",
            "zoe_10_conv.cu",
            "10_conv.cu",
            "cid/1/10_conv.cu",
            "cid/2/10_conv.cu",
            "empty/readme.txt",
        ]);
        let expected = [
            ("Eve E", vec![10]),
            ("ada", vec![10]),
            ("bob", vec![12]),
            ("cid", vec![10, 10]),
            ("empty", vec![]),
            ("lovelace", vec![10]),
            ("zoe", vec![10, 12]),
        ];
        let expected = expected.map(|(name, puzzles)| (name.to_owned(), puzzles));
        assert_eq!(found(dir.path()), expected);
    }

    #[test]
    fn links_large_files_and_strange_names_are_not_taken() {
        let dir = folder(&["ada/-x.cuh", "ada/$(id).cuh", "secret/10_conv.cu"]);
        symlink(dir.path().join("secret/10_conv.cu"), dir.path().join("ada/10_conv.cu")).unwrap();
        symlink("/etc", dir.path().join("mallory")).unwrap();
        fs::create_dir(dir.path().join("big")).unwrap();
        fs::write(dir.path().join("big/10_conv.cu"), vec![b' '; 1001]).unwrap();
        fs::remove_dir_all(dir.path().join("secret")).unwrap();
        let expected = [("ada".to_owned(), vec![]), ("big".to_owned(), vec![])];
        assert_eq!(found(dir.path()), expected);
        let search = Search { puzzles: &puzzles(), limit: 1000 };
        let found = search.class(dir.path()).unwrap();
        let note = |student: usize| found.students[student].tries[0].notes[0].as_str();
        assert_eq!(note(0), "a link was not followed");
        assert!(note(1).contains("more than"));
        assert_eq!(found.ignored.len(), 1);
    }

    /// A folder may become a link after it was looked at. The instructor's own folder may be one.
    #[test]
    fn a_folder_that_became_a_link_is_not_followed() {
        let dir = folder(&["class/ada/10_conv.cu", "class/eve/x"]);
        let (ada, swapped) = (dir.path().join("class/ada"), dir.path().join("class/eve/repo"));
        symlink(&ada, &swapped).unwrap();
        let error =
            read(&real(ada.parent().unwrap()).join("eve/repo/10_conv.cu"), 1000).unwrap_err();
        assert_eq!(error.to_string(), "it is a link, or lies behind one");
        symlink("class", dir.path().join("link")).unwrap();
        let expected = [("ada".to_owned(), vec![10]), ("eve".to_owned(), vec![])];
        assert_eq!(found(&dir.path().join("link")), expected);
    }

    /// No student's files become another's, whatever their names have in common.
    #[test]
    fn students_who_share_a_name_stay_two() {
        let dir = folder(&[
            "Eve E_77_assignsubmission_file_/10.cu",
            "Eve E_78_assignsubmission_file_/12.cu",
            "Eve E (78)/10.cu",
            "M\\xFCl/12_lenet.cu",
            "lovelace_12_345_10_conv.cu",
            "lovelace_LATE_12_346_12_lenet.cu",
            "lovelace_13_347_10_conv.cu",
            "zoe_10_conv.cu",
            "zoe_10_conv-1.cu",
        ]);
        for byte in [b'\xFC', b'\xFD'] {
            let name = [b'M', byte, b'l'];
            let student = dir.path().join(OsStr::from_bytes(&name));
            fs::create_dir(&student).unwrap();
            fs::write(student.join("10_conv.cu"), name).unwrap();
        }
        let expected = [
            ("Eve E (77)", vec![10]),
            ("Eve E (78)", vec![12]),
            ("Eve E (78) (another)", vec![10]),
            ("M\\x5CxFCl", vec![12]),
            ("M\\xFCl", vec![10]),
            ("M\\xFDl", vec![10]),
            ("lovelace (12)", vec![10, 12]),
            ("lovelace (13)", vec![10]),
            ("zoe", vec![10]),
        ];
        assert_eq!(found(dir.path()), expected.map(|(name, all)| (name.to_owned(), all)));
        let search = Search { puzzles: &puzzles(), limit: 1000 };
        let zoe = search.class(dir.path()).unwrap().students.pop().unwrap();
        assert_eq!(
            zoe.tries[0].notes,
            ["puzzle 10: there are several files; zoe_10_conv.cu counts"]
        );
    }

    /// What lies beside the files of several students is nobody's: it could make others late, or be read by them.
    #[test]
    fn a_file_takes_no_header_of_another_student() {
        let dir = folder(&["ada_10_conv.cu", "eve_10_conv.cu", "eve_tile.cuh", "all.zip"]);
        let search = Search { puzzles: &puzzles(), limit: 1000 };
        let found = search.class(dir.path()).unwrap();
        let files = |student: &Student| student.tries[0].files[&10].headers.len();
        assert_eq!(found.students.iter().map(files).collect::<Vec<_>>(), [0, 0]);
        assert_eq!(
            found.ignored,
            [
                "all.zip: an archive, which is not unpacked",
                "eve_tile.cuh: a header belongs into its student's folder"
            ]
        );
    }

    #[test]
    fn a_kernel_is_found_among_very_many_files() {
        let dir = folder(&["ada/z/y/10_conv.cu"]);
        for i in 0..1500 {
            fs::write(dir.path().join(format!("ada/{i}x.cu")), "").unwrap();
        }
        let search = Search { puzzles: &puzzles(), limit: 1000 };
        let found = search.class(dir.path()).unwrap();
        assert_eq!(found.students[0].tries[0].files[&10].source, b"ada/z/y/10_conv.cu");
    }

    #[test]
    fn what_is_passed_over_is_said() {
        let dir = folder(&[
            "a/hw.tar.gz",
            "b/p/q/r/s/5/10_conv.cu",
            "c/conv.cu",
            "d/10_conv.CU",
            "d/my header.cuh",
            "f/10_conv.cu",
        ]);
        fs::create_dir(dir.path().join("e")).unwrap();
        let mode = Mode::RWXU;
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(CWD, dir.path().join("e/10_conv.cu"), kind, mode, 0).unwrap();
        for i in 0..33 {
            fs::write(dir.path().join(format!("f/{i}.cuh")), "").unwrap();
        }
        let file = File::options().write(true).open(dir.path().join("f/10_conv.cu")).unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(1 << 32)).unwrap();
        let search = Search { puzzles: &puzzles(), limit: 1000 };
        let notes = |student: Student| student.tries[0].notes.join("; ");
        let students = search.class(dir.path()).unwrap().students;
        assert_eq!(
            students.into_iter().map(notes).collect::<Vec<_>>(),
            [
                "hw.tar.gz is an archive, which is not unpacked",
                "the folder 5 lies too deep to be looked into",
                "conv.cu: its name fits no puzzle of the class",
                "puzzle 10: the name of my header.cuh is none of a header",
                "10_conv.cu is not an ordinary file",
                "puzzle 10: only 32 headers were read; puzzle 10: the time of its files is in the future",
            ]
        );
    }

    #[test]
    fn a_header_counts_for_the_time_of_a_submission() {
        let dir = folder(&["ada/10_conv.cu", "ada/late.cuh"]);
        let at = |name: &str, seconds| {
            let file = File::options().write(true).open(dir.path().join(name)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
        };
        at("ada/10_conv.cu", 1000);
        at("ada/late.cuh", 2000);
        let search = Search { puzzles: &puzzles(), limit: 1000 };
        assert_eq!(search.class(dir.path()).unwrap().students[0].tries[0].at, 2000);
    }

    #[test]
    fn a_file_alone_is_that_of_the_only_puzzle() {
        let dir = folder(&["$(touch x).cu", "ada/whatever.cu"]);
        let puzzles = [(10, "10_conv".to_owned())];
        let search = Search { puzzles: &puzzles, limit: 1000 };
        let found = search.class(dir.path()).unwrap();
        let names: Vec<&str> = found.students.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["$(touch x)", "ada"]);
        assert!(found.students.iter().all(|s| s.tries[0].files.contains_key(&10)));
    }
}
