//! What comes out of a class: a page and a document for each student, tables and an overview for the class, and what other
//! platforms read. Names of students and of files are hostile: each writer escapes them for its format.

mod classroom50;
mod csv;
mod escape;
mod feedback;
mod gradescope;
mod junit;
mod overview;
mod page;
mod prairielearn;
mod similarity;
mod student_file;
mod summary;

pub use escape::terminal;
pub use student_file::stem;

use crate::grades::Grade;
use crate::plan::{Class, NEW, Roster, write_whole};
use diagnostic::{Failure, FailureKind};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Writes everything into the folder of the class.
///
/// # Errors
/// The folder cannot be written.
pub fn write(class: &Class<'_>, roster: &Roster, grades: &[Grade]) -> Result<(), Failure> {
    files(class, roster, grades).map_err(|e| {
        let title = format!("cannot write into {}: {e}", class.out.display());
        Failure::new(FailureKind::Environment, title, "name another folder with --out")
    })
}

fn files(class: &Class<'_>, roster: &Roster, grades: &[Grade]) -> io::Result<()> {
    let (out, settings) = (class.out, class.settings);
    for folder in ["", "feedback", "gradescope", "prairielearn", "classroom50", "results"] {
        remove_left(&out.join(folder));
    }
    grades.par_iter().try_for_each(|grade| {
        let name = stem(&grade.student);
        let write = |folder: &str, end: &str, text: String| {
            put(&out.join(folder).join(format!("{name}{end}")), text.as_bytes())
        };
        write("feedback", ".html", feedback::feedback_page(settings, grade, &roster.stems))?;
        write("feedback", ".json", summary::student(settings, grade))?;
        write("gradescope", ".json", gradescope::results(settings, grade))?;
        write("prairielearn", ".json", prairielearn::results(grade))?;
        write("classroom50", ".json", classroom50::result(grade))
    })?;
    put(&out.join("class.csv"), csv::class(settings, grades).as_bytes())?;
    put(&out.join("moodle.csv"), csv::moodle(settings, grades).as_bytes())?;
    put(&out.join("canvas.csv"), csv::canvas(settings, grades).as_bytes())?;
    put(&out.join("overview.html"), overview::page(settings, roster, grades).as_bytes())?;
    put(&out.join("junit.xml"), &junit::document(settings, grades)?)?;
    similarity::write(&out.join("similarity"), &out.join("sources"), roster)
}

/// Removes what a grader left that was killed while it wrote a file: another one writes it in less than this.
fn remove_left(folder: &Path) {
    const YOUNG: Duration = Duration::from_secs(60);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|meta| meta.modified()).map(|at| at.elapsed());
        let is_old = age.is_ok_and(|age| age.is_ok_and(|age| age >= YOUNG));
        if is_old && entry.file_name().as_encoded_bytes().starts_with(NEW.as_bytes()) {
            // What cannot be removed stays.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Writes a file whole, and its folder if it is missing.
fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    write_whole(path, bytes)
}

#[cfg(test)]
mod tests;
