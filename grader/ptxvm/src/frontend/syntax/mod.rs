//! PTX text to syntax tree. Total: any text gives a tree or a located error.

pub mod ast;
mod body;
pub mod lexer;
pub mod parser;
