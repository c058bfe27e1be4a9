//! From where the compiler says something to bytes of the student's text.
//!
//! nvcc's front end reads preprocessed text, so the line that it prints above its caret differs from the student's:
//! `__global__` has become `__attribute__((global))`, macros are expanded, comments and tabs are one blank. The token
//! under the caret is looked for in the student's line by its neighbours.

use super::messages::{Message, SourceExcerpt};
use cpptext::tokens::{Kind, Token, tokens};
use std::ops::Range;

/// The bytes that a message speaks of; never empty unless the text is.
pub fn place(text: &str, message: &Message) -> Range<usize> {
    let Some(line) = line_span(text, message.line) else { return last_token(text) };
    let source = &text[line.clone()];
    let found = match (&message.shown, message.column) {
        (Some(shown), _) => under_caret(source, shown),
        (None, 1..) => at_column(source, message.column),
        (None, 0) => quoted(&message.text).find_map(|name| word(source, name)),
    };
    let within = found.unwrap_or_else(|| trimmed(source));
    line.start + within.start..line.start + within.end
}

/// The bytes of a line (1-based) without its end; `None` outside the text.
pub fn line_span(text: &str, line: u32) -> Option<Range<usize>> {
    let mut start = 0;
    for (number, whole) in (1..).zip(text.split_inclusive('\n')) {
        if number == line {
            return Some(start..start + whole.trim_end_matches(['\n', '\r']).len());
        }
        start += whole.len();
    }
    None
}

/// The quoted parts of a message: `k` and `float` of `"k" has type "float"`; of a function only its name.
pub fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('"')
        .skip(1)
        .step_by(2)
        .map(|name| name.split_once('(').map_or(name, |(name, _)| name))
}

fn under_caret(source: &str, shown: &SourceExcerpt) -> Option<Range<usize>> {
    let (line, caret) = restore_specifiers(&shown.line, shown.caret);
    let (printed, written) = (tokens(&line), tokens(source));
    // The token at the caret, or the first after it; past the last one the end of the line is meant.
    let caret = line.char_indices().nth(caret).map_or(line.len(), |(byte, _)| byte);
    let Some(index) = printed.iter().position(|t| t.span.end > caret) else {
        return written.last().map(|t| t.span.clone());
    };
    let same = |a: &Token<'_>, b: &Token<'_>| a.kind == b.kind && a.text == b.text;
    let wanted = &printed[index];
    let before = printed.iter().zip(&written).take_while(|(a, b)| same(a, b)).count();
    if index < before {
        return Some(written[index].span.clone());
    }
    let from_end = printed.len() - 1 - index;
    let after =
        printed.iter().rev().zip(written.iter().rev()).take_while(|(a, b)| same(a, b)).count();
    if from_end < after {
        return Some(written[written.len() - 1 - from_end].span.clone());
    }
    let earlier = printed[..index].iter().filter(|t| same(t, wanted)).count();
    let total = printed.iter().filter(|t| same(t, wanted)).count();
    let places: Vec<&Token<'_>> = written.iter().filter(|t| same(t, wanted)).collect();
    if places.len() == total {
        return Some(places[earlier].span.clone());
    }
    // Inside an expanded macro: the macro's name is the token behind the common beginning.
    written.get(before).map(|t| t.span.clone())
}

/// `__global__` for `__attribute__((global))`, with the caret (counted in characters) moved along.
fn restore_specifiers(line: &str, caret: usize) -> (String, usize) {
    let mut restored = line.to_owned();
    let mut caret = caret;
    for name in ["global", "device", "host", "shared", "constant", "managed", "grid_constant"] {
        let long = format!("__attribute__(({name}))");
        let short = format!("__{name}__");
        while let Some(byte) = restored.find(&long) {
            let at = restored[..byte].chars().count();
            restored.replace_range(byte..byte + long.len(), &short);
            if caret >= at + long.len() {
                caret -= long.len() - short.len();
            } else if caret > at {
                caret = at;
            }
        }
    }
    (restored, caret)
}

/// The token at a column as the preprocessor counts it: characters from 1, and a tab goes to the next multiple of 8.
fn at_column(source: &str, column: u32) -> Option<Range<usize>> {
    let mut width = 0;
    let mut byte = source.len();
    for (at, c) in source.char_indices() {
        if width + 1 >= column {
            byte = at;
            break;
        }
        width = if c == '\t' { width / 8 * 8 + 8 } else { width + 1 };
    }
    let end = source[byte..].chars().next().map_or(0, char::len_utf8);
    // Strings and signs are marked whole; a quote that is never closed makes the rest of the line a string.
    let token = tokens(source).into_iter().find(|t| t.span.contains(&byte));
    token.map(|t| t.span).or((end > 0).then_some(byte..byte + end))
}

fn word(source: &str, name: &str) -> Option<Range<usize>> {
    tokens(source).into_iter().find(|t| t.kind == Kind::Word && t.text == name).map(|t| t.span)
}

/// A line without the blanks around it.
fn trimmed(line: &str) -> Range<usize> {
    let start = line.len() - line.trim_start().len();
    start..(start + line.trim().len())
}

/// For messages about the end of the text.
fn last_token(text: &str) -> Range<usize> {
    tokens(text).last().map_or(0..0, |t| t.span.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places the caret of `shown` (marked by `^` in front of a character) in `source`; returns the text there.
    fn find<'a>(source: &'a str, shown: &str) -> &'a str {
        let caret = shown.chars().position(|c| c == '^').unwrap();
        let shown = SourceExcerpt { line: shown.replace('^', ""), caret };
        let message = Message { line: 1, shown: Some(shown), ..Message::default() };
        &source[place(source, &message)]
    }

    #[test]
    fn the_caret_finds_its_token() {
        assert_eq!(find("    x[ix] = 1;", "    x[^ix] = 1;"), "ix");
        assert_eq!(find("\tint i = jj", " int i = ^jj"), "jj");
        assert_eq!(find("o[0] = 3; /* c */ int q = xyz;", "o[0] = 3; int q = ^xyz;"), "xyz");
        assert_eq!(find("f(\"größe\"); o = undefd;", "f(\"größe\"); o = ^undefd;"), "undefd");
        assert_eq!(
            find(
                "__global__ void k(float* o) { o[0] = a1; }",
                "__attribute__((global)) void k(float* o) { o[0] = ^a1; }"
            ),
            "a1"
        );
        assert_eq!(find("__global__ int k()", "__attribute__((global)) int ^k()"), "k");
    }

    #[test]
    fn a_caret_inside_an_expanded_macro_finds_the_macro() {
        assert_eq!(find("float t[TILE];", "float t[16^;];"), "TILE");
        assert_eq!(find("o[0] = SQ(a) + b;", "o[0] = ((a)*(a)) + ^b;"), "b");
    }

    #[test]
    fn a_caret_behind_the_line_finds_its_last_token() {
        assert_eq!(find("int x = 1 // one", "int x = 1 ^"), "1");
    }

    #[test]
    fn without_a_caret_the_quoted_name_or_the_line_is_marked() {
        let source = "a;\n    x[0] = helper(3);\n";
        let message = Message {
            line: 2,
            text: "calling a __host__ function(\"helper(int)\")".into(),
            ..Message::default()
        };
        assert_eq!(&source[place(source, &message)], "helper");
        let message = Message { line: 2, ..Message::default() };
        assert_eq!(&source[place(source, &message)], "x[0] = helper(3);");
        let message = Message::default();
        assert_eq!(&source[place(source, &message)], ";");
    }

    #[test]
    fn columns_count_tabs_as_the_preprocessor_does() {
        let message = |column| Message { line: 1, column, ..Message::default() };
        let source = "\to[0] = 1 – 2;";
        assert_eq!(&source[place(source, &message(9 + 9))], "–");
        assert_eq!(&source[place(source, &message(400))], source.trim());
    }

    proptest::proptest! {
        #[test]
        fn any_place_lies_in_the_text(text in "\\PC*", line in 0..4_u32, column in 0..30_u32, caret in 0..30_usize, printed in "\\PC*") {
            let shown = (column % 2 == 0).then_some(SourceExcerpt { line: printed, caret });
            let message = Message { line, column, shown, ..Message::default() };
            let _ = &text[place(&text, &message)];
        }
    }
}
