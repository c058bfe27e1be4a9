//! ARCHITECTURE.md names the crates, what they use and their modules as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

type Table = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The rows of the page's table with this head: the first cell, and the names in the second.
fn table(page: &str, head: &str) -> Table {
    let (_, rest) = page.split_once(head).unwrap_or_else(|| panic!("no table `{head}`"));
    let rows = rest.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let (name, list) = (cells.next().unwrap(), cells.next().unwrap());
        let names = list.split(", ").filter(|name| !name.is_empty()).map(str::to_owned);
        (name.to_owned(), names.collect())
    })
    .collect()
}

/// The folder of each crate of the workspace, by the crate's name. Packages of tests alone are none.
fn crates() -> BTreeMap<String, PathBuf> {
    let manifest: toml::Table = read(&root().join("Cargo.toml")).parse().unwrap();
    let members = manifest["workspace"]["members"].as_array().unwrap();
    let folders = members.iter().map(|member| root().join(member.as_str().unwrap()));
    let folders = folders.filter(|folder| !folder.ends_with("tests"));
    folders
        .map(|folder| {
            let manifest: toml::Table = read(&folder.join("Cargo.toml")).parse().unwrap();
            (manifest["package"]["name"].as_str().unwrap().to_owned(), folder)
        })
        .collect()
}

#[test]
fn the_crates_use_what_the_architecture_page_says() {
    let crates = crates();
    let uses = |folder: &PathBuf| -> BTreeSet<String> {
        let manifest: toml::Table = read(&folder.join("Cargo.toml")).parse().unwrap();
        let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
        let names = dependencies.into_iter().flat_map(|table| table.keys());
        names.filter(|name| crates.contains_key(*name)).cloned().collect()
    };
    let is: Table = crates.iter().map(|(name, folder)| (name.clone(), uses(folder))).collect();
    let page = read(&root().join("ARCHITECTURE.md"));
    assert_eq!(table(&page, "| crate | uses |"), is);
    let (_, drawing) = page.split_once("```text\n").unwrap();
    let drawing = drawing.split("```").next().unwrap();
    for name in crates.keys() {
        assert!(drawing.contains(name.as_str()), "the drawing lacks {name}");
    }
}

#[test]
fn the_modules_are_those_of_the_architecture_page() {
    let modules = |folder: PathBuf| -> BTreeSet<String> {
        let text = read(&folder.join("src/lib.rs"));
        let lines: Vec<&str> = text.lines().collect();
        let declared = lines.iter().enumerate().filter_map(|(i, line)| {
            let name = line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';')?;
            let for_tests = i > 0 && lines[i - 1] == "#[cfg(test)]";
            (!for_tests).then(|| name.to_owned())
        });
        declared.collect()
    };
    let is: Table = crates().into_iter().map(|(name, folder)| (name, modules(folder))).collect();
    assert_eq!(table(&read(&root().join("ARCHITECTURE.md")), "| crate | modules |"), is);
}
