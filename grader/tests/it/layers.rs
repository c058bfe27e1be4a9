//! Data flows one way: a module uses only what stands left of it.

use std::path::{Path, PathBuf};

/// Low to high. Modules of one group may use each other only downwards in the list.
const ORDER: [&str; 42] = [
    "tensor",
    "diagnostic",
    "failure",
    "counter",
    "requirement",
    "finding",
    "case",
    "expansion",
    "verdict",
    "picture",
    "rng",
    "progress",
    "process",
    "occupancy",
    "workbook",
    "spec",
    "oracle",
    "toolchain",
    "mutants",
    "module",
    "backend",
    "host",
    "program",
    "npy",
    "judge",
    "wrong",
    "grade",
    "unit",
    "doctor",
    "explain",
    "report",
    "contents",
    "standing",
    "chapter",
    "check",
    "pristine",
    "editor",
    "storage",
    "template",
    "terminal",
    "watcher",
    "cli",
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files
}

fn rank(module: &str) -> Option<usize> {
    ORDER.iter().position(|&m| m == module)
}

/// Does the module above declare this file as `#[cfg(test)] mod name;`?
fn is_for_tests_only(file: &Path) -> bool {
    let name = file.file_stem().unwrap().to_string_lossy();
    let above = std::fs::read_to_string(file.with_file_name("mod.rs")).unwrap_or_default();
    above.contains(&format!("#[cfg(test)]\nmod {name};"))
}

#[test]
fn no_module_reaches_back() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for file in sources(&root) {
        let inside = file.strip_prefix(&root).unwrap();
        let first = inside.components().next().unwrap().as_os_str().to_string_lossy();
        let module = first.trim_end_matches(".rs").to_owned();
        if module == "lib" || module == "main" || is_for_tests_only(&file) {
            continue;
        }
        let own = rank(&module).unwrap_or_else(|| panic!("add `{module}` to ORDER"));
        let text = std::fs::read_to_string(&file).unwrap();
        // Tests and links in docs may look anywhere.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let code: String =
            code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        for used in code.split("crate::").skip(1) {
            let name: String =
                used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if rank(&name).is_some_and(|other| other > own) {
                wrong.push(format!("{} uses crate::{name}", inside.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
