//! The command `grader editor-setup`.

use super::console;
use crate::editor;
use diagnostic::{Failure, FailureKind};
use std::path::Path;
use toolchain::Toolchain;
use toolchain::env::Env;

pub(super) fn run(workbook: Option<&Path>, nvcc: Option<&Path>) -> Result<(), Failure> {
    let workbook = console::workbook(workbook)?;
    let toolchain = Toolchain::locate(&Env::current(), nvcc)?;
    let files = editor::files(&workbook, toolchain.nvcc())?;
    for file in &files {
        std::fs::write(&file.path, &file.text).map_err(|e| {
            let title = format!("cannot write {}: {e}", file.path.display());
            Failure::new(FailureKind::Environment, title, "make the workbook's folder writable")
        })?;
    }
    let names = files.iter().map(|file| workbook.relative(&file.path).to_string_lossy());
    console::print(&format!(
        "Wrote {} into the workbook, for this machine.\n\
         They tell clangd, and the editors that use it, about {} ({}).\n\
         In VS Code, install the extension \"clangd\"; other editors need the program clangd. \
         If clangd is running, restart it.\n",
        names.collect::<Vec<_>>().join(", "),
        toolchain.describe(),
        toolchain.nvcc().path.display(),
    ));
    Ok(())
}
