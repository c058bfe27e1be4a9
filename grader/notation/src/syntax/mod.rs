//! The text of formulas, and the trees that it is parsed into.
//!
//! ```text
//! lexer ──► parser ──► ast ──► printer        ast is made of integer expressions and operators
//! ```
//!
//! Names are as written here: whether `i` is an index or a size, and over which range it runs, is found in
//! [`program`](crate::program).

pub mod ast;
pub mod int_expr;
pub(crate) mod lexer;
pub mod operators;
pub mod parser;
pub mod printer;
