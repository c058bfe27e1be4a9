//! Splits a source into the lexemes that mutation operators work on.

use cpptext::directives::directive;
use cpptext::tokens::{Kind, tokens};
use std::ops::Range;

/// Operators of more than one character, longest first.
const LONG: [&str; 24] = [
    "<<=", ">>=", "...", "->*", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=",
    "/=", "%=", "&=", "|=", "^=", "++", "--", "->", "##",
];

/// Words that are not values.
const KEYWORDS: [&str; 33] = [
    "if",
    "else",
    "for",
    "while",
    "do",
    "return",
    "break",
    "continue",
    "switch",
    "case",
    "default",
    "goto",
    "sizeof",
    "true",
    "false",
    "const",
    "constexpr",
    "static",
    "extern",
    "volatile",
    "unsigned",
    "signed",
    "int",
    "long",
    "short",
    "char",
    "float",
    "double",
    "bool",
    "void",
    "auto",
    "struct",
    "using",
];

/// A token, with operators of several characters as one.
#[derive(Clone, Debug)]
pub struct Lexeme<'a> {
    pub kind: Kind,
    pub text: &'a str,
    pub span: Range<usize>,
    /// True if it is on a line that begins with `#`.
    pub directive: bool,
}

impl Lexeme<'_> {
    pub fn is(&self, text: &str) -> bool {
        self.kind != Kind::Text && self.text == text
    }

    pub fn is_any(&self, texts: &[&str]) -> bool {
        self.kind != Kind::Text && texts.contains(&self.text)
    }

    pub fn is_keyword(&self) -> bool {
        self.kind == Kind::Word && KEYWORDS.contains(&self.text)
    }

    /// Whether it is a name of a variable, a function or a type, not a keyword.
    pub fn is_name(&self) -> bool {
        self.kind == Kind::Word && !self.is_keyword()
    }

    /// Whether an operand may end here, so that a binary operator follows.
    pub fn ends_operand(&self) -> bool {
        self.is_name() || self.kind == Kind::Number || self.is(")") || self.is("]")
    }
}

/// The lexemes of a source.
pub fn lexemes(source: &str) -> Vec<Lexeme<'_>> {
    let mut found: Vec<Lexeme<'_>> = Vec::new();
    let tokens = tokens(source);
    let mut i = 0;
    while let Some(token) = tokens.get(i) {
        let start = token.span.start;
        let long = LONG
            .iter()
            .find(|long| token.kind == Kind::Sign && source[start..].starts_with(**long));
        let length = long.map_or(token.text.len(), |long| long.len());
        let span = start..start + length;
        while tokens.get(i).is_some_and(|t| t.span.start < span.end) {
            i += 1;
        }
        let line = source[..start].rfind('\n').map_or(0, |end| end + 1);
        let directive = directive(&source[line..]).is_some();
        found.push(Lexeme { kind: token.kind, text: &source[span.clone()], span, directive });
    }
    found
}

/// The head and the inside of each function that has a body. Braces that do not follow a bracket (namespaces, `extern
/// "C"`, structs) are searched too.
pub fn bodies(all: &[Lexeme<'_>]) -> Vec<(Range<usize>, Range<usize>)> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut i = 0;
    while i < all.len() {
        if all[i].is("{") && i > start && all[i - 1].is(")") {
            let end = closing(all, i).unwrap_or(all.len());
            found.push((start..i, i + 1..end));
            i = end;
            start = i + 1;
        } else if all[i].is_any(&["{", "}", ";"]) || all[i].directive {
            start = i + 1;
        }
        i += 1;
    }
    found
}

/// The index of the bracket that closes the one at `open`.
pub fn closing(all: &[Lexeme<'_>], open: usize) -> Option<usize> {
    let mut depth = 0;
    for (i, lexeme) in all.iter().enumerate().skip(open) {
        if lexeme.is_any(&["(", "[", "{"]) {
            depth += 1;
        } else if lexeme.is_any(&[")", "]", "}"]) {
            depth -= 1;
            if depth == 0 {
                return Some(i);
            }
        }
    }
    None
}

/// The index of the bracket that the one at `close` closes.
pub fn opening(all: &[Lexeme<'_>], close: usize) -> Option<usize> {
    let mut depth = 0;
    for i in (0..=close).rev() {
        if all[i].is_any(&[")", "]", "}"]) {
            depth += 1;
        } else if all[i].is_any(&["(", "[", "{"]) {
            depth -= 1;
            if depth == 0 {
                return Some(i);
            }
        }
    }
    None
}
