//! C++ text cut into words and signs: enough to find a function, a parameter or a neighbour of an error.

use std::ops::Range;

/// Kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name or a keyword.
    Word,
    /// A number with its suffix.
    Number,
    /// A string or a character, quotes included.
    Text,
    /// One sign; operators of several signs are several tokens, but `::` is one.
    Sign,
}

/// A token and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// What it is.
    pub kind: Kind,
    /// As written.
    pub text: &'a str,
    /// Bytes of the whole text.
    pub span: Range<usize>,
}

impl Token<'_> {
    /// Is it this word or sign?
    pub fn is(&self, text: &str) -> bool {
        self.kind != Kind::Text && self.text == text
    }
}

/// The tokens of a text, without blanks and comments. Total: any text has tokens.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        if let Some(comment) = rest.strip_prefix("/*") {
            at += comment.find("*/").map_or(rest.len(), |end| end + 4);
            continue;
        }
        let (kind, length) = if first.is_ascii_digit() {
            (Kind::Number, number(rest))
        } else if is_word(first) {
            (Kind::Word, rest.find(|c| !is_word(c)).unwrap_or(rest.len()))
        } else if first == '"' || first == '\'' {
            (Kind::Text, quoted(rest, first))
        } else if rest.starts_with("::") {
            (Kind::Sign, 2)
        } else {
            (Kind::Sign, first.len_utf8())
        };
        tokens.push(Token { kind, text: &rest[..length], span: at..at + length });
        at += length;
    }
    tokens
}

/// Index of the bracket that closes the one at `open`; `None` if it is never closed.
pub fn closing(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth -= 1;
                if depth == 0 {
                    return Some(i);
                }
            }
            _ => {}
        }
    }
    None
}

/// Cuts what stands between two brackets at the commas that stand in no inner bracket.
pub fn split_at_commas<'t, 'a>(inner: &'t [Token<'a>]) -> Vec<&'t [Token<'a>]> {
    let mut parts = Vec::new();
    let mut depth = 0;
    let mut start = 0;
    for (i, token) in inner.iter().enumerate() {
        match token.text {
            "(" | "[" | "{" | "<" => depth += 1,
            ")" | "]" | "}" | ">" => depth -= 1,
            "," if depth == 0 => {
                parts.push(&inner[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    if !inner.is_empty() {
        parts.push(&inner[start..]);
    }
    parts
}

fn is_word(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphanumeric()
}

fn number(rest: &str) -> usize {
    let mut previous = ' ';
    let hexadecimal = rest.starts_with("0x") || rest.starts_with("0X");
    let end = rest.find(|c: char| {
        let exponent =
            matches!(previous, 'p' | 'P') || (!hexadecimal && matches!(previous, 'e' | 'E'));
        let inside = is_word(c) || c == '.' || c == '\'' || (exponent && matches!(c, '+' | '-'));
        previous = c;
        !inside
    });
    end.unwrap_or(rest.len())
}

/// To the closing quote, or to the end of the line where it is missing.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        if c == '\n' {
            return at;
        }
        if c == quote && !escaped {
            return at + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        tokens(text).into_iter().map(|t| t.text).collect()
    }

    #[test]
    fn cuts_cpp_and_skips_comments() {
        let text = "a::b(x[1.5e-3f], 0xE+1) // c\n/* d\n e */ \"f\\\"g\" 'h' größe; /* open";
        let expected = [
            "a",
            "::",
            "b",
            "(",
            "x",
            "[",
            "1.5e-3f",
            "]",
            ",",
            "0xE",
            "+",
            "1",
            ")",
            "\"f\\\"g\"",
            "'h'",
            "größe",
            ";",
        ];
        assert_eq!(words(text), expected);
        assert_eq!(words("\"open\nx"), ["\"open", "x"]);
    }

    #[test]
    fn brackets_and_commas() {
        let list = tokens("f(a<b, c>, g(1, 2), {3, 4})");
        assert_eq!(closing(&list, 1), Some(list.len() - 1));
        let parts = split_at_commas(&list[2..list.len() - 1]);
        let starts: Vec<_> = parts.iter().map(|p| p[0].text).collect();
        assert_eq!(starts, ["a", "g", "{"]);
        assert!(split_at_commas(&[]).is_empty());
        assert_eq!(closing(&tokens("f(("), 1), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_tokens_in_order(text in "\\PC*") {
            let mut end = 0;
            for token in tokens(&text) {
                assert!(token.span.start >= end && token.text == &text[token.span.clone()]);
                end = token.span.end;
            }
        }
    }
}
