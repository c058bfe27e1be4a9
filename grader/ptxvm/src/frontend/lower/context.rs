//! What the functions and variables of a module are, as every kernel of it sees them.

use std::collections::HashMap;

use crate::frontend::line_table::Files;
use crate::frontend::syntax::ast::{Function, Variable};

/// What every kernel of a module sees.
pub(crate) struct Context<'f, 'a> {
    pub files: Files,
    /// Whether the names of registers, labels and variables are kept.
    pub debug: bool,
    pub functions: HashMap<&'a str, &'f Function<'a>>,
    pub variables: HashMap<&'a str, ModuleSymbol<'f, 'a>>,
    /// What a pointer to each function is.
    pub addresses: HashMap<&'a str, u64>,
    /// Functions that pointers may lead to.
    pub taken: Vec<&'f Function<'a>>,
}

/// Where a variable of the module lies.
#[derive(Clone, Copy)]
pub(crate) enum ModuleSymbol<'f, 'a> {
    /// Index among the global variables.
    Global(u32),
    /// Address in the constant window.
    Const(u32),
    /// Each kernel places it anew.
    Shared(&'f Variable<'a>),
}
