//! The command `grader man`.

use super::args::{Cli, ManArgs};
use super::console;
use clap::CommandFactory;
use clap_mangen::Man;
use diagnostic::{Failure, FailureKind};

pub(super) fn run(args: &ManArgs) -> Result<(), Failure> {
    let Some(dir) = &args.dir else {
        let mut page = Vec::new();
        // Writing to memory cannot fail.
        Man::new(Cli::command()).render(&mut page).ok();
        console::print(&String::from_utf8_lossy(&page));
        return Ok(());
    };
    let written =
        std::fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(Cli::command(), dir));
    written.map_err(|e| {
        let title = format!("cannot write the manual pages to {}: {e}", dir.display());
        Failure::new(FailureKind::Environment, title, "choose a writable folder")
    })?;
    console::print(&format!(
        "The pages are in {}; `man {}` shows the first.\n",
        dir.display(),
        dir.join("grader.1").display()
    ));
    Ok(())
}
