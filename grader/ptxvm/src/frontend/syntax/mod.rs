//! PTX text to syntax tree. Total: any text gives a tree or a located error.

pub mod ast;
mod body;
mod branch_table;
pub mod lexer;
pub mod parser;

use self::branch_table::BranchTables;
use self::lexer::Token;

/// Reads the tokens of a file, one after the other.
struct Parser<'t, 'a> {
    tokens: &'t [Token<'a>],
    at: usize,
    /// Of the function that is being read.
    tables: BranchTables<'a>,
}
