//! PTX text to syntax tree. Total: any text gives a tree or a located error.

pub mod ast;
pub mod lexer;
pub mod parser;
