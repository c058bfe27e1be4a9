//! The headers that specs offer, and the references that define what these only declare: kernels of other puzzles. In the students'
//! workbook they are the students' own files.

use super::read;
use diagnostic::Failure;
use puzzle::workbook::number_of;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Headers, and the puzzles whose kernels they take.
#[derive(Debug, Default)]
pub(super) struct Offered {
    /// By their paths in the workbook.
    pub(super) files: BTreeMap<String, Vec<u8>>,
    /// The numbers of the puzzles.
    pub(super) builds_on: BTreeSet<u32>,
}

pub(super) fn offered(root: &Path, names: &[String]) -> Result<Offered, Failure> {
    let mut all = Offered::default();
    let mut queue: Vec<String> = names.iter().flat_map(|name| both(name)).collect();
    while let Some(path) = queue.pop() {
        // Names such as <cstdio> are the compiler's.
        if all.files.contains_key(&path) || !root.join(&path).is_file() {
            continue;
        }
        let text = String::from_utf8_lossy(&read(&root.join(&path))?).into_owned();
        let (text, found) = of_students(&text);
        all.builds_on.extend(found.puzzles);
        queue.extend(found.headers.iter().flat_map(|name| both(name)));
        all.files.insert(path, text.into_bytes());
    }
    Ok(all)
}

/// Where a header may lie, and the reference that goes with it.
fn both(name: &str) -> [String; 2] {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    [format!("kernels/include/{name}"), format!("kernels/references/{stem}.cu")]
}

/// What a header includes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Included {
    puzzles: Vec<u32>,
    headers: Vec<String>,
}

/// The header with the students' files in the place of solutions.
fn of_students(text: &str) -> (String, Included) {
    let mut found = Included::default();
    let mut out = String::new();
    for line in text.lines() {
        let target = line.trim_start().strip_prefix("#include").map(str::trim);
        let target = target.and_then(|rest| rest.strip_prefix('"')?.split('"').next());
        match target {
            Some(target) if target.contains("solutions/") => {
                let file = target.rsplit('/').next().unwrap_or_default();
                found.puzzles.extend(number_of(file));
                out.push_str(&line.replace("solutions/", "puzzles/"));
            }
            Some(target) if number_of(target).is_some() => {
                found.puzzles.extend(number_of(target));
                out.push_str(line);
            }
            Some(target) => {
                found.headers.push(target.to_owned());
                out.push_str(line);
            }
            None => out.push_str(line),
        }
        out.push('\n');
    }
    (out, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solutions_become_the_students_files() {
        let text = "#pragma once\n#include \"../../solutions/03_fc.cu\"\n#include \"04_relu.cu\"\n#include \"lenet.h\"\n#include <cstdio>\n";
        let (students, found) = of_students(text);
        assert_eq!(students, text.replace("solutions", "puzzles"));
        assert_eq!(found, Included { puzzles: vec![3, 4], headers: vec!["lenet.h".into()] });
    }
}
