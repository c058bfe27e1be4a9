//! PTX text to syntax tree. Total: any text gives a tree or a located error.

pub mod ast;
mod body;
pub mod lexer;
pub mod parser;

use self::lexer::Token;

/// Reads the tokens of a file, one after the other.
struct Parser<'t, 'a> {
    tokens: &'t [Token<'a>],
    at: usize,
}
