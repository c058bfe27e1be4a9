//! Maps a place inside the value of a TOML string to its place in the file.

use std::ops::Range;

/// The range of the file for `inner`, a range of the decoded value of the string whose literal, with its quotes, is at
/// `value` in `text`. If the two cannot be matched, the whole literal.
pub(crate) fn inner_span(text: &str, value: &Range<usize>, inner: &Range<usize>) -> Range<usize> {
    let literal = text.get(value.clone()).unwrap_or_default();
    let Some(starts) = starts(literal) else { return value.clone() };
    let start = starts.get(inner.start).map(|s| value.start + s);
    // The end is that of the last character that is inside.
    let end = if inner.end <= inner.start {
        start
    } else {
        starts.get(inner.end).map(|s| value.start + s)
    };
    match (start, end) {
        (Some(start), Some(end)) if start <= end => start..end,
        _ => value.clone(),
    }
}

/// For each byte of the decoded value, and for its end, where it starts in the literal. `None` if `literal` is not a
/// string literal.
fn starts(literal: &str) -> Option<Vec<usize>> {
    for (quotes, escapes) in [("\"\"\"", true), ("'''", false), ("\"", true), ("'", false)] {
        let Some(body) = literal.strip_prefix(quotes).and_then(|b| b.strip_suffix(quotes)) else {
            continue;
        };
        let mut at = quotes.len();
        let mut body = body;
        if quotes.len() == 3 {
            // A line break right after the opening quotes is not part of the value.
            let rest = body.strip_prefix("\r\n").or_else(|| body.strip_prefix('\n'));
            if let Some(rest) = rest {
                at += body.len() - rest.len();
                body = rest;
            }
        }
        let mut starts = Vec::with_capacity(body.len() + 1);
        let mut rest = body;
        while let Some(c) = rest.chars().next() {
            let (taken, decoded) =
                if escapes && c == '\\' { escape(rest)? } else { (c.len_utf8(), c.len_utf8()) };
            // The bytes of a plain character map one by one, those of an escape to its backslash.
            starts.extend((0..decoded).map(|i| at + if taken == decoded { i } else { 0 }));
            at += taken;
            rest = rest.get(taken..)?;
        }
        starts.push(at);
        return Some(starts);
    }
    None
}

/// The length of the escape at the start of `text`, and the length of what it stands for, in bytes.
fn escape(text: &str) -> Option<(usize, usize)> {
    let code = |digits: usize| {
        let value = u32::from_str_radix(text.get(2..2 + digits)?, 16).ok()?;
        Some((2 + digits, char::from_u32(value)?.len_utf8()))
    };
    match text.as_bytes().get(1)? {
        b'x' => code(2),
        b'u' => code(4),
        b'U' => code(8),
        b' ' | b'\t' | b'\r' | b'\n' => {
            // A backslash at the end of a line takes all white space up to the next word.
            let word = text[1..].trim_start_matches([' ', '\t', '\r', '\n']);
            Some((text.len() - word.len(), 0))
        }
        _ => Some((2, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use toml::Spanned;

    /// The text of the file at the place of `word` in the value of `k`.
    fn shown(text: &str, word: &str) -> String {
        let table: std::collections::BTreeMap<String, Spanned<String>> =
            toml::from_str(text).unwrap();
        let value = &table["k"];
        let at = value.get_ref().find(word).unwrap();
        text[inner_span(text, &value.span(), &(at..at + word.len()))].to_owned()
    }

    #[test]
    fn every_kind_of_string_is_mapped() {
        assert_eq!(shown("a = 1\nk = \"x + yy\"".split_once('\n').unwrap().1, "yy"), "yy");
        assert_eq!(shown("k = 'x + yy'", "yy"), "yy");
        assert_eq!(shown("k = \"\"\"\nx +\n  yy\"\"\"", "yy"), "yy");
        assert_eq!(shown("k = \"\"\"\r\nx +\r\n  yy\"\"\"", "yy"), "yy");
        assert_eq!(shown("k = '''\nx\\ +\n  yy'''", "yy"), "yy");
        assert_eq!(shown("k = \"\"\"x \\\n   yy\"\"\"", "yy"), "yy");
        assert_eq!(shown("k = \"é\\u00e9\\n\\tx + yy\"", "yy"), "yy");
        assert_eq!(shown("k = \"x + y\\u0079z\"", "yyz"), "y\\u0079z");
        assert_eq!(shown("k = \"x + \\u0079\"", "y"), "\\u0079");
    }

    #[test]
    fn the_end_of_the_value_is_a_place() {
        assert_eq!(inner_span("k = 'ab'", &(4..8), &(2..2)), 7..7);
        assert_eq!(inner_span("k = 'ab'", &(4..8), &(0..2)), 5..7);
    }

    #[test]
    fn what_cannot_be_matched_is_the_whole_literal() {
        assert_eq!(inner_span("k = 'ab'", &(4..8), &(1..9)), 4..8);
        assert_eq!(inner_span("k = 17", &(4..6), &(0..1)), 4..6);
        assert_eq!(inner_span("k", &(4..6), &(0..1)), 4..6);
    }

    proptest! {
        #[test]
        fn plain_text_maps_to_itself(value in "[ -!#-\\[\\]-~é]{1,20}", from in 0_usize..20, to in 0_usize..20) {
            let text = format!("k = \"{value}\"");
            if let Some(part) = value.get(from..to) && from < to {
                prop_assert_eq!(&text[inner_span(&text, &(4..text.len()), &(from..to))], part);
            }
        }

        #[test]
        fn any_literal_is_mapped_without_panic(literal in ".{0,20}", from in 0_usize..30, to in 0_usize..30) {
            let place = inner_span(&literal, &(0..literal.len()), &(from..to));
            prop_assert!(place.end <= literal.len());
        }
    }
}
