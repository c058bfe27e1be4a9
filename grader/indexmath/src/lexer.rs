//! Text to tokens. Line ends that cannot end a statement are dropped here.

use crate::error::{Error, Result};
use crate::span::Span;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tok<'a> {
    /// Letters, digits and `_`; one prime may end it: `weights'`.
    Name(&'a str),
    /// Digits, with or without fraction and exponent; its reader decides what it may be.
    Number(&'a str),
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Equals,
    Less,
    Comma,
    Question,
    Open,
    Close,
    OpenSquare,
    CloseSquare,
    /// Line end or `;`.
    End,
    /// End of the text.
    Eof,
}

impl Tok<'_> {
    /// As it is named in "expected …, found …".
    pub(crate) fn describe(self) -> String {
        let symbol = match self {
            Tok::Name(text) | Tok::Number(text) => text,
            Tok::Plus => "+",
            Tok::Minus => "-",
            Tok::Star => "*",
            Tok::Slash => "/",
            Tok::Percent => "%",
            Tok::Equals => "=",
            Tok::Less => "<",
            Tok::Comma => ",",
            Tok::Question => "?",
            Tok::Open => "(",
            Tok::Close => ")",
            Tok::OpenSquare => "[",
            Tok::CloseSquare => "]",
            Tok::End => return "the end of the statement".to_owned(),
            Tok::Eof => return "the end of the text".to_owned(),
        };
        format!("`{symbol}`")
    }

    /// After such a token the statement goes on in the next line.
    fn continues_after(self) -> bool {
        self.continues_before() || matches!(self, Tok::Comma | Tok::Less)
    }

    /// No statement starts with such a token, so the statement before goes on.
    fn continues_before(self) -> bool {
        matches!(self, Tok::Plus | Tok::Minus | Tok::Star | Tok::Slash | Tok::Percent | Tok::Equals)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub tok: Tok<'a>,
    pub span: Span,
}

/// All tokens of `text`, the last one [`Tok::Eof`].
pub(crate) fn lex(text: &str) -> Result<Vec<Token<'_>>> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    // Places of line ends (not of `;`) in `tokens`.
    let mut soft = Vec::new();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        let tok = match byte {
            b' ' | b'\t' | b'\r' => {
                at += 1;
                continue;
            }
            b'#' => {
                at += bytes[at..].iter().take_while(|&&b| b != b'\n').count();
                continue;
            }
            b'\n' => {
                at += 1;
                if depth == 0 {
                    soft.push(tokens.len());
                    tokens.push(Token { tok: Tok::End, span: Span::new(start, at) });
                }
                continue;
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                at += count(bytes, at, |b| b.is_ascii_alphanumeric() || b == b'_');
                at += usize::from(bytes.get(at) == Some(&b'\''));
                Tok::Name(&text[start..at])
            }
            b'0'..=b'9' | b'.' => {
                at = number_end(bytes, at);
                if &text[start..at] == "." {
                    return Err(Error::new(Span::new(start, at), "a `.` that is in no number")
                        .help("write products with `*`, and fractions with a digit: `0.5`"));
                }
                Tok::Number(&text[start..at])
            }
            _ => {
                let tok = symbol(byte).ok_or_else(|| unexpected(text, start))?;
                at += 1;
                tok
            }
        };
        match tok {
            Tok::Open | Tok::OpenSquare => depth += 1,
            Tok::Close | Tok::CloseSquare => depth = depth.saturating_sub(1),
            _ => {}
        }
        tokens.push(Token { tok, span: Span::new(start, at) });
    }
    let end = Span::new(text.len(), text.len());
    tokens.push(Token { tok: Tok::Eof, span: end });
    Ok(drop_continued(&tokens, &soft))
}

fn symbol(byte: u8) -> Option<Tok<'static>> {
    Some(match byte {
        b'+' => Tok::Plus,
        b'-' => Tok::Minus,
        b'*' => Tok::Star,
        b'/' => Tok::Slash,
        b'%' => Tok::Percent,
        b'=' => Tok::Equals,
        b'<' => Tok::Less,
        b',' => Tok::Comma,
        b'?' => Tok::Question,
        b'(' => Tok::Open,
        b')' => Tok::Close,
        b'[' => Tok::OpenSquare,
        b']' => Tok::CloseSquare,
        b';' => Tok::End,
        _ => return None,
    })
}

fn unexpected(text: &str, at: usize) -> Error {
    // `at` is the start of a character: everything consumed before it was ASCII.
    let found = text[at..].chars().next().unwrap_or(' ');
    let help = match found {
        '·' | '×' | '⋅' => "write products with `*`",
        '−' | '–' => "write the minus sign of the keyboard, `-`",
        'Σ' | '∑' => "write sums as `sum[i] body`",
        '^' => "there are no powers; write the product out",
        '{' | '}' => "subscripts stand in `[...]`, groups in `(...)`",
        _ => "formulas are made of names, numbers and + - * / % = < ? ( ) [ ] , ; #",
    };
    Error::new(Span::new(at, at + found.len_utf8()), format!("unexpected character `{found}`"))
        .help(help)
}

fn count(bytes: &[u8], at: usize, keep: impl Fn(u8) -> bool) -> usize {
    bytes[at..].iter().take_while(|&&b| keep(b)).count()
}

/// One past the number that starts at `at`: digits, fraction, exponent.
fn number_end(bytes: &[u8], mut at: usize) -> usize {
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

/// Removes the line ends (at the places `soft`) where the statement goes on.
fn drop_continued<'a>(tokens: &[Token<'a>], soft: &[usize]) -> Vec<Token<'a>> {
    let mut kept: Vec<Token<'a>> = Vec::with_capacity(tokens.len());
    for (place, token) in tokens.iter().enumerate() {
        if soft.binary_search(&place).is_ok() {
            let after = kept.last().is_some_and(|previous| previous.tok.continues_after());
            let next = tokens[place..].iter().find(|t| t.tok != Tok::End);
            let before = next.is_some_and(|next| next.tok.continues_before());
            if after || before {
                continue;
            }
        }
        kept.push(*token);
    }
    kept
}
