//! Packages: the students' workbook, and the autograder for Gradescope.

mod archive;
mod gradescope;
mod headers;
mod strip;

use crate::plan::Class;
use archive::Archive;
use diagnostic::{Failure, FailureKind};
use puzzle::spec::Spec;
use puzzle::workbook::Puzzle;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

/// The folder of a packed workbook that holds the original stubs, from which `grader reset` restores them.
pub const ORIGINALS: &str = "puzzles/.original";

/// Gives the original stub of a puzzle: the file in the instructor's workbook may hold a solution.
pub type Stub<'a> = &'a dyn Fn(&Puzzle) -> Result<Vec<u8>, Failure>;

/// An example of class.toml, with a fresh secret.
///
/// # Errors
/// The system gives no random bytes.
pub fn example() -> io::Result<String> {
    let mut bytes = [0; 16];
    io::Read::read_exact(&mut fs::File::open("/dev/urandom")?, &mut bytes)?;
    let secret = format!("{:032x}", u128::from_le_bytes(bytes));
    Ok(include_str!("pack/class.toml").replace("@SECRET@", &secret))
}

/// Packs the students' workbook: stubs, specs, the headers that specs offer, and chapters. No solution, no wrong kernel and no
/// hidden test is in it. Returns the names of the files.
///
/// # Errors
/// A file cannot be read, or the package cannot be written.
pub fn workbook(class: &Class<'_>, stub: Stub<'_>, to: &Path) -> Result<Vec<String>, Failure> {
    let files = students_files(class, stub)?;
    let mut archive = Archive::create(to)?;
    for (name, bytes) in &files {
        archive.add(name, bytes, false)?;
    }
    archive.finish()?;
    Ok(files.into_keys().collect())
}

/// Packs the autograder for Gradescope, with this grader, the hidden tests and the secret: not for students.
///
/// # Errors
/// A file cannot be read, or the package cannot be written.
pub fn gradescope(class: &Class<'_>, stub: Stub<'_>, to: &Path) -> Result<Vec<String>, Failure> {
    gradescope::pack(class, stub, to)
}

/// The files of the students' workbook by their paths in it.
fn students_files(class: &Class<'_>, stub: Stub<'_>) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
    let root = class.workbook.root();
    let mut files = BTreeMap::new();
    let mut wanted: BTreeSet<u32> = class.settings.puzzles.iter().map(|of| of.number).collect();
    let own = wanted.clone();
    let mut done = BTreeSet::new();
    // A puzzle may build on kernels of others, for which the students write their own.
    while let Some(number) = wanted.pop_first() {
        if !done.insert(number) {
            continue;
        }
        let puzzle = class.workbook.puzzle(number)?;
        let spec = Spec::load(&puzzle.spec, class.workbook.relative(&puzzle.spec))?;
        let original = stub(puzzle)?;
        let stem = &puzzle.stem;
        files.insert(format!("{ORIGINALS}/{stem}.cu"), original.clone());
        files.insert(format!("puzzles/{stem}.cu"), original);
        files.insert(format!("puzzles/{stem}.toml"), spec.text.clone().into_bytes());
        let offered = headers::offered(root, &spec.headers)?;
        wanted.extend(offered.builds_on);
        files.extend(offered.files);
    }
    if class.settings.chapters {
        let stems =
            own.iter().filter_map(|number| Some(&class.workbook.puzzle(*number).ok()?.stem));
        files.extend(strip::chapters(&root.join("book").join("src"), stems)?);
    }
    files.insert("README.md".to_owned(), readme(class, &own));
    Ok(files)
}

fn readme(class: &Class<'_>, puzzles: &BTreeSet<u32>) -> Vec<u8> {
    let puzzle = |number: &u32| {
        let stem = class.workbook.puzzle(*number).map_or("", |puzzle| puzzle.stem.as_str());
        format!("- `puzzles/{stem}.cu`: `grader watch {number}`\n")
    };
    let list: String = puzzles.iter().map(puzzle).collect();
    let title = &class.settings.title;
    let text = format!(
        "# {title}\n\nYou need the program `grader`; `grader doctor` checks what it needs.\n\
         Edit these files, and grade them as often as you like:\n\n{list}\n\
         `grader hint N` gives a hint, `grader reset N` restores a file, `grader list` shows your progress.\n\
         Hand in the files of `puzzles/` that you edited, under their names.\n"
    );
    text.into_bytes()
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|e| {
        let title = format!("cannot read {}: {e}", path.display());
        Failure::new(FailureKind::Usage, title, "the workbook lacks a file")
    })
}

#[cfg(test)]
mod tests;
