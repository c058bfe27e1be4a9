//! Resolves `{{#include FILE}}` as mdBook does: a whole file, a range of lines, or the text between two anchors.

use std::path::Path;

/// `text` with its includes replaced by the contents of the files. An include that cannot be read stays as it is.
pub fn resolve(text: &str, folder: &Path) -> String {
    let mut resolved = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{#include ") {
        resolved.push_str(before);
        let Some((target, after)) = after.split_once("}}") else {
            resolved.push_str("{{#include ");
            rest = after;
            continue;
        };
        match included(target.trim(), folder) {
            Some(content) => resolved.push_str(&content),
            None => resolved.push_str(target),
        }
        rest = after;
    }
    resolved.push_str(rest);
    resolved
}

/// The targets of the includes in a text.
pub fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.split("{{#include ").skip(1).filter_map(|rest| Some(rest.split_once("}}")?.0.trim()))
}

/// The part of a file that `FILE`, `FILE:3`, `FILE:3:5`, `FILE::5` or `FILE:anchor` names.
pub fn included(target: &str, folder: &Path) -> Option<String> {
    let mut parts = target.split(':');
    let file = std::fs::read_to_string(folder.join(parts.next()?)).ok()?;
    let lines: Vec<&str> = file.lines().collect();
    let number = |part: Option<&str>, other| match part {
        None | Some("") => Some(other),
        Some(part) => part.parse::<usize>().ok(),
    };
    let (first, second) = (parts.next(), parts.next());
    let chosen = match first {
        None => &lines[..],
        Some(part) => match number(Some(part), 1) {
            Some(start) => {
                // A single number means one line.
                let end = if second.is_none() { start } else { number(second, lines.len())? };
                lines.get(start.saturating_sub(1)..end.min(lines.len()))?
            }
            None => between(&lines, part)?,
        },
    };
    let chosen = chosen.iter().filter(|line| !line.contains("ANCHOR"));
    Some(chosen.copied().collect::<Vec<_>>().join("\n"))
}

fn between<'a, 'b>(lines: &'a [&'b str], anchor: &str) -> Option<&'a [&'b str]> {
    let is = |line: &str, mark: &str| {
        line.split_once(mark).is_some_and(|(_, name)| name.trim() == anchor)
    };
    let start = lines.iter().position(|line| is(line, "ANCHOR:"))? + 1;
    let length = lines[start..].iter().position(|line| is(line, "ANCHOR_END:"));
    Some(&lines[start..length.map_or(lines.len(), |length| start + length)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_lines_and_anchors() {
        let dir = tempfile::tempdir().unwrap();
        let code = "one\n// ANCHOR: a\ntwo\n// ANCHOR: b\nthree\n// ANCHOR_END: b\nfour\n// ANCHOR_END: a\nfive\n";
        std::fs::write(dir.path().join("x.cu"), code).unwrap();
        for (target, expected) in [
            ("x.cu", "one\ntwo\nthree\nfour\nfive"),
            ("x.cu:a", "two\nthree\nfour"),
            ("x.cu:b", "three"),
            ("x.cu:3", "two"),
            ("x.cu:3:5", "two\nthree"),
            ("x.cu::1", "one"),
            ("x.cu:9:", "five"),
            ("x.cu:nothing", "x.cu:nothing"),
            ("y.cu", "y.cu"),
            ("x.cu:40:", "x.cu:40:"),
        ] {
            let text = format!("<{{{{#include {target}}}}}>");
            assert_eq!(resolve(&text, dir.path()), format!("<{expected}>"), "{target}");
        }
        assert_eq!(resolve("a {{#include b", dir.path()), "a {{#include b");
    }
}
