//! Preprocessor lines: `#include`, `#define` and their like.

use std::path::Path;

/// What follows the `#` of a preprocessor line.
pub fn directive(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix('#').map(str::trim_start)
}

/// The name and the rest of what [`directive`] gives for `#define name rest`.
pub fn definition(directive: &str) -> Option<(&str, &str)> {
    let rest = directive.strip_prefix("define").filter(|rest| rest.starts_with([' ', '\t']))?;
    let rest = rest.trim_start();
    Some(rest.split_at(rest.find(|c| !super::tokens::is_word(c)).unwrap_or(rest.len())))
}

/// Joins lines that end in a backslash, as the compiler does before anything else.
pub fn splice(text: &[u8]) -> Vec<u8> {
    let mut joined = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        let line_end = after.strip_prefix(b"\r\n").or_else(|| after.strip_prefix(b"\n"));
        match line_end {
            Some(next_line) if byte == b'\\' => rest = next_line,
            _ => {
                joined.push(byte);
                rest = after;
            }
        }
    }
    joined
}

/// The names in everything that could be an include directive, also in comments and in branches that are switched off;
/// `None` for one whose name is not written out. The text is one that [`splice`] gave.
pub fn includes(text: &[u8]) -> Vec<Option<&Path>> {
    let mut names = Vec::new();
    for word in [&b"include"[..], b"import", b"embed"] {
        let mut from = 0;
        while let Some(at) = text[from..].windows(word.len()).position(|w| w == word) {
            let start = from + at;
            from = start + word.len();
            if is_directive(&text[..start]) {
                let after = &text[from..];
                names.push(name(after.strip_prefix(b"_next").unwrap_or(after)));
            }
        }
    }
    names
}

/// How far before a word the `#` of its directive is looked for. What is farther away is taken for one: a text of nothing but ends
/// of comments would be searched for ever.
const FAR: usize = 4096;

/// Is there a `#` (or `%:`) before this, with nothing but blanks and comments between?
fn is_directive(text: &[u8]) -> bool {
    let mut before = text[text.len().saturating_sub(FAR)..].trim_ascii_end();
    while let Some(comment) = before.strip_suffix(b"*/") {
        let Some(start) = comment.windows(2).rposition(|w| w == b"/*") else { break };
        before = comment[..start].trim_ascii_end();
    }
    let is_far = text.len() > FAR && (before.is_empty() || before.ends_with(b"*/"));
    is_far || before.ends_with(b"#") || before.ends_with(b"%:")
}

/// The `name` of `"name"` or `<name>`.
fn name(after: &[u8]) -> Option<&Path> {
    let mut after = after.trim_ascii_start();
    while let Some(comment) = after.strip_prefix(b"/*") {
        let end = comment.windows(2).position(|w| w == b"*/")?;
        after = comment[end + 2..].trim_ascii_start();
    }
    let (&open, rest) = after.split_first()?;
    let close = match open {
        b'"' => b'"',
        b'<' => b'>',
        _ => return None,
    };
    let end =
        rest.iter().position(|&b| b == close || b == b'\n').filter(|&end| rest[end] == close)?;
    Some(Path::new(std::str::from_utf8(&rest[..end]).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn includes_are_seen_in_all_their_forms() {
        let text = br#"
            #include "a.h"
            # include<b.h>
            #/* c */include /* d */ <c.h>
            %:include "d.h"
            // #include "e.h"
            #include_next "f.h"
            #import "g.h"
            int include = 1; include("x.h"); "include <y.h>"
        "#;
        let names: Vec<_> =
            includes(text).into_iter().map(|n| n.unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["a.h", "b.h", "c.h", "d.h", "e.h", "f.h", "g.h"]);
        assert_eq!(includes(b"#include TILE_HEADER\n"), [None]);
        assert_eq!(includes(b"#include \"open\n"), [None]);
        assert_eq!(includes(&splice(b"#inc\\\nlude \\\r\n\"a.h\"")), [Some(Path::new("a.h"))]);
    }

    #[test]
    fn a_text_of_comments_is_read_in_time() {
        let many = "*/include".repeat(100_000);
        assert!(includes(many.as_bytes()).len() > 90_000, "they may be directives");
        let far = format!("#{}include <x.h>", " ".repeat(10_000));
        assert_eq!(includes(far.as_bytes()), [Some(Path::new("x.h"))]);
        assert!(includes(format!("{}y include <x.h>", " ".repeat(10_000)).as_bytes()).is_empty());
    }

    #[test]
    fn definitions_have_a_name() {
        assert_eq!(directive("  # define N 4;").and_then(definition), Some(("N", " 4;")));
        assert_eq!(directive("#define F(x) x").and_then(definition), Some(("F", "(x) x")));
        assert_eq!(directive("#defined N").and_then(definition), None);
        assert_eq!(directive("x # define"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let joined = splice(&bytes);
            assert!(joined.len() <= bytes.len());
            includes(&joined);
        }

        #[test]
        fn any_include_is_found(before in "[ \\t\\n]*", name in "[a-z./]{1,9}", after in "\\PC*") {
            let text = format!("{before}#include \"{name}\"\n{after}");
            assert_eq!(includes(text.as_bytes())[0], Some(Path::new(&name)));
        }
    }
}
