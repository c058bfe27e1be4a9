//! The command `grader open N`: opens the chapter in the browser and the stub in the editor.

use super::args::NumberArgs;
use super::console;
use diagnostic::{Failure, FailureKind};
use puzzle::workbook::{Puzzle, Workbook};
use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use toolchain::env::Env;

pub(super) fn run(args: &NumberArgs, workbook: Option<&Path>) -> Result<(), Failure> {
    let workbook = console::workbook(workbook)?;
    let puzzle = workbook.puzzle(args.number)?;
    let env = Env::current();
    console::print(&chapter(&workbook, puzzle, &env));
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let Some(editor) = editor(&env).filter(|_| terminal) else {
        console::print(&without_editor(&workbook, puzzle, &env));
        return Ok(());
    };
    // Replaces the grader's process, so that Ctrl-C goes to the editor only. The variable may hold options, as in "code -w".
    let error = Command::new("/bin/sh")
        .args(["-c", &format!("exec {editor} \"$1\""), "sh"])
        .arg(&puzzle.stub)
        .exec();
    let title = format!("cannot start the editor: {error}");
    Err(Failure::new(FailureKind::Environment, title, "check the variables VISUAL and EDITOR"))
}

fn editor(env: &Env) -> Option<String> {
    let named = env.get("VISUAL").or_else(|| env.get("EDITOR"))?;
    named.to_str().map(str::to_owned)
}

fn without_editor(workbook: &Workbook, puzzle: &Puzzle, env: &Env) -> String {
    let stub = workbook.relative(&puzzle.stub).display();
    let why = match editor(env) {
        Some(_) => "there is no terminal to start the editor in",
        None => "no editor is set; to set one, run for example `export EDITOR=nano`",
    };
    format!("file:    {stub} ({why})\n")
}

/// Opens the chapter without waiting for the browser, and returns a line that says where it is.
fn chapter(workbook: &Workbook, puzzle: &Puzzle, env: &Env) -> String {
    let page = workbook.root().join("book/book").join(format!("{}.html", puzzle.stem));
    let source = workbook.relative(&puzzle.chapter).display();
    if !page.exists() {
        return format!(
            "chapter: {source} (`mdbook serve book --open` shows the book in the browser)\n"
        );
    }
    let shown = workbook.relative(&page).display();
    if show(env, &page) {
        format!("chapter: {shown}\n")
    } else {
        format!("chapter: {shown} (open it in a browser)\n")
    }
}

/// Opens a page in the browser, if there is one. False: the user must open it.
pub(super) fn show(env: &Env, page: &Path) -> bool {
    browser(env, |name| env.find_program(name)).is_some_and(|browser| start(env, &browser, page))
}

/// The program that opens a page: `BROWSER`, or the desktop's own program if there is a desktop.
fn browser(env: &Env, find: impl Fn(&str) -> Option<PathBuf>) -> Option<String> {
    if let Some(named) = env.get("BROWSER") {
        return named.to_str().map(str::to_owned);
    }
    let desktop = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| env.get(name).is_some());
    let names: &[&str] = match (env.get("WSL_DISTRO_NAME").is_some(), desktop) {
        (true, _) => &["wslview", "xdg-open"],
        (false, true) => &["xdg-open"],
        (false, false) if cfg!(target_os = "macos") => &["open"],
        (false, false) => &[],
    };
    names.iter().find(|name| find(name).is_some()).map(|name| (*name).to_owned())
}

/// Starts a program in the background, detached from the terminal.
fn start(env: &Env, program: &str, page: &Path) -> bool {
    let mut command = env.command("/bin/sh");
    command.args(["-c", &format!("exec {program} \"$1\""), "sh"]).arg(page);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.spawn().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_needs_a_desktop_or_a_name() {
        let all = |name: &str| Some(PathBuf::from(name));
        let env = Env::default();
        if !cfg!(target_os = "macos") {
            assert_eq!(browser(&env, all), None);
        }
        let desktop = env.clone().with("DISPLAY", ":0");
        assert_eq!(browser(&desktop, all).as_deref(), Some("xdg-open"));
        assert_eq!(browser(&desktop, |_| None), None);
        let named = desktop.with("BROWSER", "firefox -new-tab");
        assert_eq!(browser(&named, all).as_deref(), Some("firefox -new-tab"));
        let wsl = env.with("WSL_DISTRO_NAME", "Debian");
        assert_eq!(browser(&wsl, all).as_deref(), Some("wslview"));
    }

    #[test]
    fn visual_goes_before_editor() {
        let env = Env::default().with("EDITOR", "ed");
        assert_eq!(editor(&env).as_deref(), Some("ed"));
        assert_eq!(editor(&env.with("VISUAL", "code -w")).as_deref(), Some("code -w"));
        assert_eq!(editor(&Env::default()), None);
    }
}
