//! Splits PTX into tokens (PTX ISA section 4, "Syntax").

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Name, opcode with its modifiers (`ld.global.f32`) or register (`%tid.x`).
    Word,
    /// Word that starts with a dot (`.entry`).
    Directive,
    /// Integer constant, as 64 bits.
    Int(u64),
    /// `0f3F800000`: the bits of an `f32`.
    F32(u32),
    /// `0d3FF0000000000000` or `1.5`: the bits of an `f64`.
    F64(u64),
    /// A string: the text between double quotes.
    Str,
    /// A single character such as `{` or `,`.
    Punct(u8),
    /// A character or number that PTX does not have.
    Bad,
}

/// A piece of the text with its line.
#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    /// The line of the PTX text, counted from 1.
    pub line: usize,
}

fn starts_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | b'%')
}

fn continues_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%')
}

/// End of the word that starts at `at`. Dots and `::` join parts (`ld.shared::cta.u32`); a final `:` does not.
fn word_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        while bytes.get(at).copied().is_some_and(continues_word) {
            at += 1;
        }
        let next_continues =
            |offset: usize| bytes.get(at + offset).copied().is_some_and(continues_word);
        match bytes.get(at) {
            Some(b'.') if next_continues(1) => at += 1,
            Some(b':') if bytes.get(at + 1) == Some(&b':') && next_continues(2) => at += 2,
            _ => return at,
        }
    }
}

/// All tokens of a text, comments left out.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    // nvcc's output has about one token for every five bytes.
    let mut tokens = Vec::with_capacity(text.len() / 5);
    let (mut at, mut line) = (0, 1);
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        let first_line = line;
        let kind = match byte {
            b'\n' => {
                line += 1;
                at += 1;
                continue;
            }
            _ if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                while bytes.get(at).is_some_and(|&b| b != b'\n') {
                    at += 1;
                }
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                let end = text[at + 2..].find("*/").map_or(bytes.len(), |found| at + found + 4);
                line += text[at..end].matches('\n').count();
                at = end;
                continue;
            }
            b'"' => {
                at += 1;
                while bytes.get(at).is_some_and(|&b| b != b'"' && b != b'\n') {
                    at += 1;
                }
                let closed = bytes.get(at) == Some(&b'"');
                tokens.push(Token {
                    kind: if closed { Kind::Str } else { Kind::Bad },
                    text: &text[start + 1..at],
                    line,
                });
                at += usize::from(closed);
                continue;
            }
            _ if starts_word(byte) => {
                at = word_end(bytes, at);
                Kind::Word
            }
            b'.' if bytes.get(at + 1).copied().is_some_and(continues_word) => {
                // `.reg.b32` is two of them.
                at += 1;
                while bytes.get(at).copied().is_some_and(continues_word) {
                    at += 1;
                }
                Kind::Directive
            }
            _ if byte.is_ascii_digit() => {
                at = number_end(bytes, at);
                number(&text[start..at])
            }
            _ if byte.is_ascii_punctuation() => {
                at += 1;
                Kind::Punct(byte)
            }
            _ => {
                // Steps over a whole character, so that every slice ends on its boundary.
                at += text[at..].chars().next().map_or(1, char::len_utf8);
                Kind::Bad
            }
        };
        tokens.push(Token { kind, text: &text[start..at], line: first_line });
    }
    tokens
}

fn number_end(bytes: &[u8], mut at: usize) -> usize {
    let start = at;
    let hexadecimal =
        matches!(bytes.get(at + 1), Some(b'x' | b'X' | b'f' | b'F' | b'd' | b'D' | b'b' | b'B'));
    while let Some(&byte) = bytes.get(at) {
        let exponent_sign =
            matches!(byte, b'+' | b'-') && !hexadecimal && matches!(bytes[at - 1], b'e' | b'E');
        let fraction = byte == b'.' && !hexadecimal;
        if at > start && !(byte.is_ascii_alphanumeric() || exponent_sign || fraction) {
            break;
        }
        at += 1;
    }
    at
}

/// Reads a number (PTX ISA 4.5, "Constants").
fn number(text: &str) -> Kind {
    let lower = text.to_ascii_lowercase();
    let integer = lower.trim_end_matches('u');
    let parsed = if let Some(hex) = lower.strip_prefix("0f") {
        u32::from_str_radix(hex, 16).ok().filter(|_| hex.len() == 8).map(Kind::F32)
    } else if let Some(hex) = lower.strip_prefix("0d") {
        u64::from_str_radix(hex, 16).ok().filter(|_| hex.len() == 16).map(Kind::F64)
    } else if let Some(hex) = integer.strip_prefix("0x") {
        u64::from_str_radix(hex, 16).ok().map(Kind::Int)
    } else if let Some(binary) = integer.strip_prefix("0b") {
        u64::from_str_radix(binary, 2).ok().map(Kind::Int)
    } else if lower.contains(['.', 'e']) {
        lower.parse::<f64>().ok().map(|value| Kind::F64(value.to_bits()))
    } else if integer.len() > 1 && integer.starts_with('0') {
        u64::from_str_radix(integer, 8).ok().map(Kind::Int)
    } else {
        integer.parse().ok().map(Kind::Int)
    };
    parsed.unwrap_or(Kind::Bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(Kind, &str)> {
        tokens(text).into_iter().map(|token| (token.kind, token.text)).collect()
    }

    #[test]
    fn words_keep_their_modifiers_and_labels_lose_their_colon() {
        assert_eq!(
            kinds("$L_1: ld.shared::cta.u32 %tid.x;"),
            [
                (Kind::Word, "$L_1"),
                (Kind::Punct(b':'), ":"),
                (Kind::Word, "ld.shared::cta.u32"),
                (Kind::Word, "%tid.x"),
                (Kind::Punct(b';'), ";"),
            ]
        );
    }

    #[test]
    fn numbers_in_every_notation() {
        let all: Vec<Kind> =
            tokens("10 0x1F 017 0b11 0f3F800000 0d3FF0000000000000 1.5 2e-1 0x3f80U 0fZZ")
                .into_iter()
                .map(|token| token.kind)
                .collect();
        assert_eq!(
            all,
            [
                Kind::Int(10),
                Kind::Int(31),
                Kind::Int(15),
                Kind::Int(3),
                Kind::F32(0x3F80_0000),
                Kind::F64(1f64.to_bits()),
                Kind::F64(1.5f64.to_bits()),
                Kind::F64(0.2f64.to_bits()),
                Kind::Int(0x3f80),
                Kind::Bad,
            ]
        );
    }

    #[test]
    fn lines_count_through_comments() {
        let all = tokens("a // x\n/* \n\n */ b \"t\" ü");
        assert_eq!(all.iter().map(|token| token.line).collect::<Vec<_>>(), [1, 4, 4, 4]);
        assert_eq!(all[3].kind, Kind::Bad);
    }
}
