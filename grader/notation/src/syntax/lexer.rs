//! From text to tokens. Line ends at which the statement goes on are dropped here.

use crate::error::{Error, Result};
use crate::span::Span;
use crate::syntax::operators::Comparison;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TokenKind<'a> {
    /// Letters, digits and `_`; one prime may end it: `weights'`.
    Name(&'a str),
    /// Digits, with or without fraction and exponent. Whether it is an integer is for the parser to decide.
    Number(&'a str),
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Ampersand,
    Bar,
    Caret,
    Tilde,
    ShiftLeft,
    ShiftRight,
    Equals,
    /// The operator `+=` of an assignment that adds.
    Adds,
    Compare(Comparison),
    Comma,
    Question,
    Open,
    Close,
    OpenSquare,
    CloseSquare,
    /// The end of a statement: a line end, or `;`.
    End,
    /// The end of the text.
    Eof,
}

/// The symbols, but for those of comparisons and of [`TokenKind::End`].
const SYMBOLS: [(&str, TokenKind<'static>); 19] = [
    ("+", TokenKind::Plus),
    ("-", TokenKind::Minus),
    ("*", TokenKind::Star),
    ("/", TokenKind::Slash),
    ("%", TokenKind::Percent),
    ("&", TokenKind::Ampersand),
    ("|", TokenKind::Bar),
    ("^", TokenKind::Caret),
    ("~", TokenKind::Tilde),
    ("<<", TokenKind::ShiftLeft),
    (">>", TokenKind::ShiftRight),
    ("=", TokenKind::Equals),
    ("+=", TokenKind::Adds),
    (",", TokenKind::Comma),
    ("?", TokenKind::Question),
    ("(", TokenKind::Open),
    (")", TokenKind::Close),
    ("[", TokenKind::OpenSquare),
    ("]", TokenKind::CloseSquare),
];

impl TokenKind<'_> {
    /// The token as it is named in "expected …, found …".
    pub(crate) fn describe(self) -> String {
        let text = match self {
            TokenKind::Name(text) | TokenKind::Number(text) => text,
            TokenKind::Compare(comparison) => comparison.symbol(),
            TokenKind::End => return "the end of the statement".to_owned(),
            TokenKind::Eof => return "the end of the text".to_owned(),
            symbol => SYMBOLS.iter().find(|(_, kind)| *kind == symbol).map_or("", |(text, _)| text),
        };
        format!("`{text}`")
    }

    /// Whether the statement goes on in the next line after this token at the end of a line.
    fn continues_after(self) -> bool {
        self.continues_before()
            || matches!(self, TokenKind::Comma | TokenKind::Compare(Comparison::Less))
    }

    /// Whether this token at the start of a line goes on with the statement before: no statement starts with it.
    fn continues_before(self) -> bool {
        matches!(
            self,
            TokenKind::Plus
                | TokenKind::Minus
                | TokenKind::Star
                | TokenKind::Slash
                | TokenKind::Percent
                | TokenKind::Ampersand
                | TokenKind::Bar
                | TokenKind::Caret
                | TokenKind::ShiftLeft
                | TokenKind::ShiftRight
                | TokenKind::Equals
                | TokenKind::Adds
        )
    }
}

/// A token and its place in the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) kind: TokenKind<'a>,
    pub(crate) span: Span,
}

/// All tokens of `text`, the last one [`TokenKind::Eof`].
pub(crate) fn lex(text: &str) -> Result<Vec<Token<'_>>> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    // Positions in `tokens` of line ends (not of `;`).
    let mut line_ends = Vec::new();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        let kind = match byte {
            b' ' | b'\t' | b'\r' => {
                at += 1;
                continue;
            }
            b'#' => {
                at += count(bytes, at, |b| b != b'\n');
                continue;
            }
            b'\n' => {
                at += 1;
                if depth == 0 {
                    line_ends.push(tokens.len());
                    tokens.push(Token { kind: TokenKind::End, span: Span::new(start, at) });
                }
                continue;
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                at += count(bytes, at, |b| b.is_ascii_alphanumeric() || b == b'_');
                at += usize::from(bytes.get(at) == Some(&b'\''));
                TokenKind::Name(&text[start..at])
            }
            b'0'..=b'9' | b'.' => {
                at = number_end(bytes, at);
                if &text[start..at] == "." {
                    let beside = [start.checked_sub(1), Some(at)];
                    let is_range = beside.iter().flatten().any(|at| bytes.get(*at) == Some(&b'.'));
                    let help = if is_range {
                        "write ranges as `j < n`, or `low <= j < high`"
                    } else {
                        "write products with `*`, and fractions with a digit: `0.5`"
                    };
                    return Err(
                        Error::new(Span::new(start, at), "a `.` outside a number").help(help)
                    );
                }
                TokenKind::Number(&text[start..at])
            }
            _ => {
                let (kind, len) =
                    symbol(&bytes[at..]).ok_or_else(|| unexpected_character(text, start))?;
                at += len;
                kind
            }
        };
        match kind {
            TokenKind::Open | TokenKind::OpenSquare => depth += 1,
            TokenKind::Close | TokenKind::CloseSquare => depth = depth.saturating_sub(1),
            _ => {}
        }
        tokens.push(Token { kind, span: Span::new(start, at) });
    }
    let end = Span::new(text.len(), text.len());
    tokens.push(Token { kind: TokenKind::Eof, span: end });
    Ok(drop_continued(&tokens, &line_ends))
}

/// The symbol at the start of `rest`, and its length in bytes; the longest one where several fit.
fn symbol(rest: &[u8]) -> Option<(TokenKind<'static>, usize)> {
    let comparisons = Comparison::ALL.map(|c| (c.symbol(), TokenKind::Compare(c)));
    let all = comparisons.into_iter().chain(SYMBOLS).chain([(";", TokenKind::End)]);
    let fitting = all.filter(|(text, _)| rest.starts_with(text.as_bytes()));
    fitting.max_by_key(|(text, _)| text.len()).map(|(text, kind)| (kind, text.len()))
}

fn unexpected_character(text: &str, at: usize) -> Error {
    // `at` is the start of a character: everything consumed before it was ASCII.
    let found = text[at..].chars().next().unwrap_or(' ');
    let help = match found {
        '·' | '×' | '⋅' => "write products with `*`",
        '−' | '–' => "use the minus sign of the keyboard, `-`",
        'Σ' | '∑' => "write sums as `sum[i] body`",
        '≤' | '≥' | '≠' => "write comparisons as `<=`, `>=` and `!=`",
        '!' => "conditions consist of comparisons, `and` and `or`",
        '\'' | '′' => "write one prime, after a name: `weights'`",
        '{' | '}' => "write subscripts in `[...]` and groups in `(...)`",
        _ => "formulas consist of names, numbers and + - * / % = < > ? ( ) [ ] , ; #",
    };
    Error::new(Span::new(at, at + found.len_utf8()), format!("unexpected character `{found}`"))
        .help(help)
}

/// How many bytes from `at` on satisfy `keep`.
fn count(bytes: &[u8], at: usize, keep: impl Fn(u8) -> bool) -> usize {
    bytes[at..].iter().take_while(|&&b| keep(b)).count()
}

/// One past the number that starts at `at`: digits, fraction, exponent; or hexadecimal digits after `0x`.
fn number_end(bytes: &[u8], mut at: usize) -> usize {
    if bytes[at..].starts_with(b"0x") {
        return at + 2 + count(bytes, at + 2, |b| b.is_ascii_hexdigit());
    }
    let digit = |b: u8| b.is_ascii_digit();
    at += count(bytes, at, digit);
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        at += count(bytes, at, digit);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let digits = count(bytes, (at + 1 + sign).min(bytes.len()), digit);
        if digits > 0 {
            at += 1 + sign + digits;
        }
    }
    at
}

/// Removes the line ends (at the positions `line_ends`) where the statement goes on.
fn drop_continued<'a>(tokens: &[Token<'a>], line_ends: &[usize]) -> Vec<Token<'a>> {
    let mut kept: Vec<Token<'a>> = Vec::with_capacity(tokens.len());
    for (position, token) in tokens.iter().enumerate() {
        if line_ends.binary_search(&position).is_ok() {
            let after = kept.last().is_some_and(|previous| previous.kind.continues_after());
            let next = tokens[position..].iter().find(|t| t.kind != TokenKind::End);
            let before = next.is_some_and(|next| next.kind.continues_before());
            if after || before {
                continue;
            }
        }
        kept.push(*token);
    }
    kept
}
