//! Specs with the hidden tests of a class.

use crate::settings::{PuzzleSettings, Settings};
use diagnostic::{Failure, FailureKind};
use puzzle::oracle;
use puzzle::spec::{self, DRAWN, Spec};
use puzzle::workbook::{self, Puzzle};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A spec and the tests that were added to it.
#[derive(Clone, Debug)]
pub struct MergedSpec {
    /// Where its text lies.
    pub path: PathBuf,
    /// The spec, which is valid.
    pub spec: Spec,
    /// The names of the tests that the students do not have.
    pub hidden: Vec<String>,
}

/// Adds the hidden tests of a puzzle to its spec, and writes the result into `folder`.
///
/// # Errors
/// A file cannot be read or written, the hidden file holds more than tests, or the result is not a valid spec.
pub fn merge(
    settings: &Settings,
    of: &PuzzleSettings,
    puzzle: &Puzzle,
    folder: &Path,
) -> Result<MergedSpec, Failure> {
    let mut text = read(&puzzle.spec)?;
    let mut hidden = Vec::new();
    if let Some(file) = &of.hidden {
        let more = read(file)?;
        hidden.extend(names(&more, file)?);
        text = text + "\n" + &more + "\n";
    }
    for (i, sizes) in of.hidden_sizes.iter().enumerate() {
        let name = format!("hidden_sizes_{}", i + 1);
        text += &test_of_sizes(&name, sizes);
        hidden.push(name);
    }
    let path = folder.join(format!("{}.toml", puzzle.stem));
    let unwritable = |e| {
        let title = format!("cannot write {}: {e}", path.display());
        Failure::new(FailureKind::Environment, title, "name another folder with --out")
    };
    std::fs::create_dir_all(folder).map_err(unwritable)?;
    // Slices that start at the same time read it: it is never half written.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(unwritable)?;
    std::io::Write::write_all(&mut file, text.as_bytes()).map_err(unwritable)?;
    file.persist(&path).map_err(|e| unwritable(e.error))?;
    let spec = oracle::load(&path, &path).map_err(|mut failure| {
        if let Some(first) = failure.diagnostics.first_mut().filter(|_| !hidden.is_empty()) {
            let help = "here the hidden tests of class.toml stand behind the puzzle's own";
            first.help.push(help.to_owned());
        }
        failure
    })?;
    let known = |name: &String| name == DRAWN || spec.tests.iter().any(|test| test.name == *name);
    if let Some(unknown) = of.tests.keys().find(|name| !known(name)) {
        let title = format!("puzzle {} has no test `{unknown}`", of.number);
        let names: Vec<&str> = spec.tests.iter().map(|test| test.name.as_str()).collect();
        let help = format!("its tests are {}, and {DRAWN}", names.join(", "));
        return Err(settings.failure(&of.place, title, help));
    }
    Ok(MergedSpec { path, spec, hidden })
}

fn read(path: &Path) -> Result<String, Failure> {
    workbook::read_text(path).map_err(|e| {
        let title = format!("cannot read {}: {e}", path.display());
        Failure::new(FailureKind::Usage, title, "paths in class.toml are relative to its folder")
    })
}

/// The names of the tests in a hidden file.
fn names(text: &str, path: &Path) -> Result<Vec<String>, Failure> {
    let table: toml::Table =
        toml::from_str(text).map_err(|e| spec::toml_failure(text, path, &e))?;
    if let Some(other) = table.keys().find(|key| *key != "test") {
        let title = format!("{} has the key `{other}`", path.display());
        let help = "a file of hidden tests holds [[test]] tables alone";
        return Err(Failure::new(FailureKind::Usage, title, help));
    }
    let tests = table.get("test").and_then(toml::Value::as_array).into_iter().flatten();
    let names = tests.filter_map(|test| test.get("name")?.as_str().map(str::to_owned));
    Ok(names.collect())
}

/// A test with these sizes, and the data that the spec draws by default.
fn test_of_sizes(name: &str, sizes: &BTreeMap<String, i64>) -> String {
    let mut text = format!("\n[[test]]\nname = \"{name}\"\ndims = {{");
    for (i, (size, value)) in sizes.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        // A key in quotes may hold any characters; these two need an escape.
        let size = size.replace('\\', "\\\\").replace('"', "\\\"");
        write!(text, "{comma} \"{size}\" = {value}").ok();
    }
    text + " }\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_file_holds_tests_alone() {
        let path = Path::new("hidden.toml");
        let two = "[[test]]\nname = \"a\"\n[[test]]\nname = \"b\"\n[test.data]\nx = 1\n";
        assert_eq!(names(two, path).unwrap(), ["a", "b"]);
        assert!(names("[draw]\n", path).unwrap_err().render(false).contains("`draw`"));
    }

    #[test]
    fn sizes_become_a_test() {
        let sizes = BTreeMap::from([("N".to_owned(), 3), ("C_in".to_owned(), 7)]);
        let expected = "\n[[test]]\nname = \"h\"\ndims = { \"C_in\" = 7, \"N\" = 3 }\n";
        assert_eq!(test_of_sizes("h", &sizes), expected);
    }
}
