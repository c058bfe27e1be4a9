//! The page of `grader doctor`.

use super::check::{Check, State};
use report::style::{Style, Tone};

/// One line for each check, followed by help if it can be fixed.
pub fn page(checks: &[Check], style: Style) -> String {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let mut lines: Vec<String> = Vec::new();
    for check in checks {
        let (tone, mark) = match check.state {
            State::Good => (Tone::Good, style.either("✔", "ok     ")),
            State::Optional => (Tone::Faint, style.either("–", "none   ")),
            State::Missing => (Tone::Bad, style.either("✘", "MISSING")),
        };
        let Check { name, found, help, .. } = check;
        lines.push(format!("{} {name:width$}  {found}\n", style.paint(tone, mark)));
        if !help.is_empty() {
            let indent = style.either(1, 7) + width + 3;
            lines.push(format!("{:indent$}{help}\n", ""));
        }
    }
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page() {
        let check = |name, state, found: &str, help: &str| Check {
            name,
            state,
            found: found.into(),
            help: help.into(),
        };
        let checks = [
            check("compiler", State::Good, "nvcc 13.0.88", ""),
            check("host compiler", State::Missing, "there is no g++ in PATH", "install one"),
            check("GPU", State::Optional, "none: no driver", "not needed"),
        ];
        insta::assert_snapshot!(page(&checks, Style::PLAIN), @r"
        ok      compiler       nvcc 13.0.88
        MISSING host compiler  there is no g++ in PATH
                               install one
        none    GPU            none: no driver
                               not needed
        ");
    }
}
