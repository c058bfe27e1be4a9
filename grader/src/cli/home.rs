//! The command `grader` without arguments: the student's progress and the next step.

use super::console;
use super::next;
use crate::contents;
use crate::student_progress::{self, StudentProgress};
use diagnostic::Failure;
use puzzle::workbook::Workbook;
use report::style::{Style, Tone};
use std::path::Path;
use toolchain::env::Env;

pub(super) fn run(workbook: Option<&Path>) -> Result<(), Failure> {
    let workbook = console::workbook(workbook)?;
    let env = Env::current();
    console::print(&page(&workbook, &env, console::style()));
    Ok(())
}

fn page(workbook: &Workbook, env: &Env, style: Style) -> String {
    let progress = StudentProgress::of(workbook);
    let puzzles = workbook.puzzles();
    let solved = puzzles.iter().filter(|puzzle| progress.state(puzzle).is_solved()).count();
    let title = style.paint(Tone::Strong, "Gradient Puzzles");
    let welcome = if progress.last().is_none() { welcome(env) } else { String::new() };
    let Some(here) = progress.current() else {
        return format!("{title}: all {} puzzles are solved\n", puzzles.len());
    };
    let after = progress.next_after(here).filter(|after| after.number != here.number);
    let after = after
        .map(|after| format!("After it: puzzle {}, {}.\n", after.number, contents::title(after)));
    format!(
        "{title}: {solved} of {} solved\n{welcome}\n{}{}\
         `grader list` shows all puzzles, `grader --help` all commands.\n",
        puzzles.len(),
        next::page(workbook, &progress, here, style),
        after.unwrap_or_default(),
    )
}

/// An introduction for a student who has not graded anything yet.
fn welcome(env: &Env) -> String {
    let folder = env.cache_folder().map_or_else(
        || "nowhere, because HOME is not set".to_owned(),
        |folder| folder.display().to_string(),
    );
    let progress = student_progress::FOLDER;
    format!(
        "
Each puzzle is a CUDA kernel to write: a file with TODOs, a chapter that derives the maths, and tests.
You need no GPU. The grader keeps two things on your machine:

  NVIDIA's CUDA compiler (271 MB, only if you have none) and compiled kernels: {folder}
  your progress: {progress} in this workbook

`grader clean` shows the first and removes it; `grader doctor` checks that nothing is missing.
"
    )
}
