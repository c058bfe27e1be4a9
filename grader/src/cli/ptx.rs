//! The command `grader ptx check FILE...`: checks whether the virtual machine can run PTX files.

use super::args::{PageFormat, PtxCheckArgs};
use super::console;
use diagnostic::{EXIT_FAIL, EXIT_PASS, Failure, FailureKind};
use ptxvm::Module;
use report::style::{Style, Tone};
use serde_json::{Value, json};
use std::path::Path;
use toolchain::module;

/// An entry point of a module, and why it cannot run, if it cannot.
struct Entry {
    name: String,
    refusal: Option<String>,
}

/// Checks the files and returns the exit code.
pub(super) fn run(args: &PtxCheckArgs) -> Result<u8, Failure> {
    let mut files = Vec::new();
    for path in &args.files {
        files.push((path.as_path(), entries(path)?));
    }
    console::print(&match args.format {
        PageFormat::Text => page(&files, console::style()),
        PageFormat::Json => document(&files),
    });
    let all = files.iter().flat_map(|(_, entries)| entries).all(|entry| entry.refusal.is_none());
    Ok(if all { EXIT_PASS } else { EXIT_FAIL })
}

fn entries(path: &Path) -> Result<Vec<Entry>, Failure> {
    let usage = |title: String, help: &str| Failure::new(FailureKind::Usage, title, help);
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|e| {
        usage(
            format!("cannot read {shown}: {e}"),
            "check the path; PTX is text, as nvcc -ptx writes it",
        )
    })?;
    let module = Module::load(&text).map_err(|e| {
        usage(
            format!("cannot parse {shown} as PTX: {e}"),
            "make it with nvcc -ptx -lineinfo FILE.cu",
        )
    })?;
    let names = module::kernels(&text);
    let entry = |kernel: &ptxvm::Kernel| Entry {
        name: names
            .iter()
            .find(|declared| declared.symbol == kernel.name())
            .map_or_else(|| kernel.name().to_owned(), |declared| declared.name.clone()),
        refusal: kernel.refusal().map(|error| {
            let from = error.source_loc.as_ref();
            let from =
                from.map_or_else(String::new, |loc| format!(", from {}:{}", loc.file, loc.line));
            format!("line {}{from}: {}", error.ptx_line, error.message)
        }),
    };
    Ok(module.kernels().map(entry).collect())
}

fn page(files: &[(&Path, Vec<Entry>)], style: Style) -> String {
    let mut page = String::new();
    let (mut total, mut good) = (0, 0);
    for (path, entries) in files {
        page.push_str(&style.paint(Tone::Strong, &path.display().to_string()));
        page.push('\n');
        for entry in entries {
            total += 1;
            let line = match &entry.refusal {
                None => {
                    good += 1;
                    format!(
                        "  {} {}\n",
                        style.paint(Tone::Good, style.either("✔", "ok  ")),
                        entry.name
                    )
                }
                Some(why) => {
                    let mark = style.paint(Tone::Bad, style.either("✘", "FAIL"));
                    format!("  {mark} {}\n      {why}\n", entry.name)
                }
            };
            page.push_str(&line);
        }
    }
    format!("{page}\nthe virtual machine can run {good} of {total} entries\n")
}

fn document(files: &[(&Path, Vec<Entry>)]) -> String {
    let entry = |entry: &Entry| json!({ "entry": entry.name, "runs": entry.refusal.is_none(), "why_not": entry.refusal });
    let file = |(path, entries): &(&Path, Vec<Entry>)| -> Value {
        json!({ "file": path.display().to_string(), "entries": entries.iter().map(entry).collect::<Vec<_>>() })
    };
    let document =
        json!({ "schema_version": 1, "files": files.iter().map(file).collect::<Vec<_>>() });
    format!("{document:#}\n")
}
