//! C++ text cut into words and signs: enough to find a function, a parameter or a neighbour of an error.

use std::ops::Range;

/// Kinds of pieces of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Spaces and line ends; not a token.
    Blank,
    /// A comment without the line end after it; not a token.
    Comment,
    /// A name or a keyword.
    Word,
    /// A number with its suffix.
    Number,
    /// A string or a character, quotes included.
    Text,
    /// One sign; operators of several signs are several tokens, but `::` is one.
    Sign,
}

/// A token, or what stands between tokens, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// Which of the kinds of pieces it is.
    pub kind: Kind,
    /// The part of the text, as written.
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

/// The tokens of a text, without blanks and comments. Every text has tokens.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    pieces(text).filter(|piece| !matches!(piece.kind, Kind::Blank | Kind::Comment)).collect()
}

/// The names and keywords of a text, wherever they stand: also in comments and strings.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_word(c)).filter(|word| !word.is_empty())
}

/// A text cut into pieces, one behind the other, none of them empty.
pub fn pieces(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        let (kind, length) = piece(rest)?;
        let start = at;
        at += length;
        Some(Token { kind, text: &rest[..length], span: start..at })
    })
}

/// Kind and length of the piece that a text starts with.
fn piece(rest: &str) -> Option<(Kind, usize)> {
    let first = rest.chars().next()?;
    let until = |end: Option<usize>| end.unwrap_or(rest.len());
    Some(if first.is_whitespace() {
        (Kind::Blank, until(rest.find(|c: char| !c.is_whitespace())))
    } else if rest.starts_with("//") {
        (Kind::Comment, line_comment(rest))
    } else if let Some(comment) = rest.strip_prefix("/*") {
        (Kind::Comment, until(comment.find("*/").map(|end| end + 4)))
    } else if let Some(length) = raw_string(rest) {
        (Kind::Text, length)
    } else if first.is_ascii_digit() {
        (Kind::Number, number(rest))
    } else if is_word(first) {
        (Kind::Word, until(rest.find(|c| !is_word(c))))
    } else if first == '"' || first == '\'' {
        (Kind::Text, quoted(rest, first))
    } else if rest.starts_with("::") {
        (Kind::Sign, 2)
    } else {
        (Kind::Sign, first.len_utf8())
    })
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

/// Can it stand in a name?
pub fn is_word(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphanumeric()
}

/// To the end of the line, or of the last line where lines end in a backslash.
fn line_comment(rest: &str) -> usize {
    let ends = |at: &usize| !rest[..*at].trim_end_matches('\r').ends_with('\\');
    rest.match_indices('\n').map(|(at, _)| at).find(ends).unwrap_or(rest.len())
}

/// Length of `R"x(...)x"`, if the text starts with one that is closed.
fn raw_string(rest: &str) -> Option<usize> {
    let prefix = ["R", "LR", "uR", "UR", "u8R"]
        .into_iter()
        .find(|prefix| rest.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('"')))?;
    let (delimiter, inside) = rest[prefix.len() + 1..].split_once('(')?;
    if delimiter.len() > 16 || delimiter.contains([' ', ')', '\\', '\n', '"']) {
        return None;
    }
    let close = format!("){delimiter}\"");
    let end = inside.find(&close)?;
    Some(rest.len() - inside.len() + end + close.len())
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

    fn words_of(text: &str) -> Vec<&str> {
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
        assert_eq!(words_of(text), expected);
        assert_eq!(words_of("\"open\nx"), ["\"open", "x"]);
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

    #[test]
    fn raw_strings_and_long_comments_are_one_piece() {
        assert_eq!(words_of("R\"x(a \" )\" )x\" b"), ["R\"x(a \" )\" )x\"", "b"]);
        assert_eq!(words_of("u8R\"(\n)\" R\"open R"), ["u8R\"(\n)\"", "R", "\"open R"]);
        assert_eq!(words_of("// a \\\n b\nc"), ["c"]);
        assert_eq!(words("a+b2 // c").collect::<Vec<_>>(), ["a", "b2", "c"]);
    }

    proptest::proptest! {
        #[test]
        fn pieces_are_the_whole_text(text in "(\\PC|[\\n\\\\\"'/*R()#])*") {
            let mut end = 0;
            for piece in pieces(&text) {
                assert!(piece.span.start == end && !piece.text.is_empty());
                assert_eq!(piece.text, &text[piece.span.clone()]);
                end = piece.span.end;
            }
            assert_eq!(end, text.len());
        }

        #[test]
        fn blanks_between_tokens_change_nothing(text in "(\\PC|[\"'/*()])*") {
            let apart = |text: &str| tokens(text).iter().map(|t| t.text.to_owned()).collect::<Vec<_>>();
            let spaced = format!("\n {text}\n");
            assert_eq!(apart(&text), apart(&spaced));
        }
    }
}
