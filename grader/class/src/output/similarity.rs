//! A folder for similarity checkers: for each puzzle a folder of its own with one file for each student, which is what `dolos run
//! -l c FOLDER/*.cu` and `java -jar jplag.jar -l cpp FOLDER` read, and Dolos's `info.csv`.

use super::escape;
use super::student_file::stem;
use crate::civil;
use crate::plan::{Roster, write_whole};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

pub(super) fn write(to: &Path, sources: &Path, roster: &Roster) -> io::Result<()> {
    // What was withdrawn must not stay.
    match fs::remove_dir_all(to) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    for (number, puzzle) in &roster.stems {
        let folder = to.join(puzzle);
        fs::create_dir_all(&folder)?;
        let mut info = "filename,label,full_name,created_at\n".to_owned();
        for student in &roster.students {
            let Some(last) = student.tries.iter().rev().find(|one| one.keys.contains_key(number))
            else {
                continue;
            };
            let name = format!("{}.cu", stem(&student.name));
            let key = &last.keys[number];
            fs::copy(sources.join(key).join(format!("{puzzle}.cu")), folder.join(&name))?;
            let (who, when) = (escape::csv(&student.name), civil::timestamp(last.at));
            writeln!(info, "{name},,{who},{when}").ok();
        }
        write_whole(&folder.join("info.csv"), info.as_bytes())?;
    }
    Ok(())
}
