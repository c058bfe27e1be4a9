//! Statements of a kernel file: the compiler names one of their lines.

use crate::directives::directive;
use crate::tokens::{Kind, is_word, pieces};
use std::ops::RangeInclusive;

/// Lines of a statement at most.
const MAX_LINES: usize = 12;

/// First and last line (1-based) of the statement, or the head of a loop or condition, that a line belongs to.
pub fn statement(source: &str, line: u32) -> RangeInclusive<u32> {
    let Some(index) = (line as usize).checked_sub(1) else { return line..=line };
    // The lines around it alone: a file can hold many kernels.
    let before = index.min(MAX_LINES);
    let lines: Vec<&str> =
        source.lines().skip(index - before).take(before + 1 + MAX_LINES).map(code).collect();
    if lines.len() <= before {
        return line..=line;
    }
    let mut first = before;
    while first > 0 && !ends(lines[first - 1]) {
        first -= 1;
    }
    let mut last = before;
    while last + 1 < lines.len() && !ends(lines[last]) {
        last += 1;
    }
    line - (before - first) as u32..=line + (last - before) as u32
}

/// Whether a line is part of the head of a loop or condition, without what it governs.
pub fn is_head(source: &str, line: u32) -> bool {
    let lines = statement(source, line);
    let (first, last) = (*lines.start() as usize, *lines.end() as usize);
    let text = |line: usize| source.lines().nth(line - 1).map_or("", code);
    let word = text(first).split(|c| !is_word(c)).next().unwrap_or_default();
    ["for", "while", "if"].contains(&word) && text(last).ends_with([')', '{'])
}

/// A line without its `//` comment and the blanks around.
pub fn code(line: &str) -> &str {
    without_comment(line).trim()
}

/// A line without its `//` comment.
pub fn without_comment(line: &str) -> &str {
    if !line.contains("//") {
        return line;
    }
    let comment = pieces(line).find(|p| p.kind == Kind::Comment && p.text.starts_with("//"));
    comment.map_or(line, |comment| &line[..comment.span.start])
}

/// The name at the end of a text.
pub fn last_word(text: &str) -> Option<&str> {
    let start = text
        .rfind(|c| !is_word(c))
        .map_or(0, |at| at + text[at..].chars().next().map_or(0, char::len_utf8));
    Some(&text[start..]).filter(|word| !word.is_empty())
}

/// The next line begins something else: after a statement, a brace, a label, a directive, the head of a loop.
fn ends(line: &str) -> bool {
    let head =
        ["for ", "for(", "if ", "if(", "while ", "while("].iter().any(|w| line.starts_with(w));
    let closed = line.matches('(').count() == line.matches(')').count();
    line.is_empty()
        || line.ends_with([';', '{', '}', ':'])
        || directive(line).is_some()
        || (head && closed && line.ends_with(')'))
        || line == "else"
}

/// Length of a name and the brackets after it; of a statement, all of it.
pub fn expression(code: &str) -> usize {
    let name = code.find(|c| !is_word(c)).unwrap_or(code.len());
    let mut depth = 0usize;
    for (at, c) in code[name..].char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' if depth > 0 => depth -= 1,
            _ if depth == 0 => break,
            _ => continue,
        }
        if depth == 0 {
            return name + at + 1;
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "float sum = 0;\nfor (int k = 0; k < K; k++)\n    sum += a[k] // first\n         \
                          * b[k];\n// done\nif (i < n &&\n    j < n) out[i] = sum;\nelse\n    out[j] = 0;";

    #[test]
    fn statements_reach_over_lines() {
        let ranges: Vec<_> = (1..=9).map(|line| statement(SOURCE, line)).collect();
        assert_eq!(ranges, [1..=1, 2..=2, 3..=4, 3..=4, 5..=5, 6..=7, 6..=7, 8..=8, 9..=9]);
        assert_eq!(statement(SOURCE, 40), 40..=40);
        let heads: Vec<u32> = (1..=9).filter(|&line| is_head(SOURCE, line)).collect();
        assert_eq!(heads, [2], "line 7 governs what stands behind it");
    }

    #[test]
    fn comments_are_left_out_but_not_strings() {
        assert_eq!(code("  f(\"a // b\"); // c"), "f(\"a // b\");");
        assert_eq!(without_comment(" x /* y */ + 1 // z"), " x /* y */ + 1 ");
        assert_eq!(last_word("float größe"), Some("größe"));
        assert_eq!(last_word("→x"), Some("x"));
        assert_eq!(last_word("x[1]"), None);
    }

    #[test]
    fn an_expression_is_a_name_with_its_brackets() {
        for (code, expected) in [
            ("g[(a + b[i]) * 2] * w[0];", "g[(a + b[i]) * 2]"),
            ("m[i][j] = 1;", "m[i]"),
            ("f(a, (b)) * 2", "f(a, (b))"),
            ("x += y[i] * 2", "x += y[i] * 2"),
            ("= y", "= y"),
            ("f[i", "f[i"),
            ("é", "é"),
        ] {
            assert_eq!(&code[..expression(code)], expected);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_statements(text in "(\\PC|\\n)*", line in 0..9_u32) {
            assert!(statement(&text, line).contains(&line));
            code(&text);
            last_word(&text);
            assert!(expression(&text) <= text.len());
        }
    }
}
