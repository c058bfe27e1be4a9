//! The autograder for Gradescope: <https://gradescope-autograders.readthedocs.io/en/latest/specs/>. It unpacks the package into
//! `source/`, runs `setup.sh` once, and `run_autograder` for each submission.

use super::archive::Archive;
use super::{Stub, read};
use crate::plan::Class;
use diagnostic::{Failure, FailureKind};
use puzzle::spec::Spec;
use std::collections::BTreeMap;
use std::path::Path;

pub(super) fn pack(class: &Class<'_>, stub: Stub<'_>, to: &Path) -> Result<Vec<String>, Failure> {
    let root = class.workbook.root();
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for of in &class.settings.puzzles {
        let puzzle = class.workbook.puzzle(of.number)?;
        let spec = Spec::load(&puzzle.spec, class.workbook.relative(&puzzle.spec))?;
        let stem = &puzzle.stem;
        files.insert(format!("workbook/puzzles/{stem}.cu"), stub(puzzle)?);
        files.insert(format!("workbook/puzzles/{stem}.toml"), spec.text.into_bytes());
        if let Some(hidden) = &of.hidden {
            files.insert(inside(class, hidden)?, read(hidden)?);
        }
    }
    // What references include of solutions is needed here: the package is not for students.
    for folder in ["kernels/include", "kernels/references", "solutions"] {
        let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.path().is_file()) {
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().extension().is_some_and(|end| end != "toml") {
                files.insert(format!("workbook/{folder}/{name}"), read(&entry.path())?);
            }
        }
    }
    files.insert("class.toml".to_owned(), read(&class.settings.path)?);
    let program = std::env::current_exe().map_err(|e| {
        let title = format!("cannot find the grader's own program: {e}");
        Failure::new(FailureKind::Environment, title, "install the grader with cargo install")
    })?;
    let programs = [
        ("grader", read(&program)?),
        ("setup.sh", include_bytes!("setup.sh").to_vec()),
        ("run_autograder", include_bytes!("run_autograder").to_vec()),
    ];
    let mut archive = Archive::create(to)?;
    for (name, bytes) in &programs {
        archive.add(name, bytes, true)?;
    }
    for (name, bytes) in &files {
        archive.add(name, bytes, false)?;
    }
    archive.finish()?;
    let programs = programs.map(|(name, _)| name.to_owned());
    Ok(programs.into_iter().chain(files.into_keys()).collect())
}

/// The path of a hidden file in the package: as in class.toml.
fn inside(class: &Class<'_>, file: &Path) -> Result<String, Failure> {
    let folder = class.settings.path.parent().unwrap_or(Path::new(""));
    let name = file.strip_prefix(folder).ok().and_then(Path::to_str);
    name.filter(|name| !name.contains("..")).map(str::to_owned).ok_or_else(|| {
        let title = format!("{} is not in the folder of class.toml", file.display());
        Failure::new(FailureKind::Usage, title, "move the file of hidden tests beside class.toml")
    })
}
