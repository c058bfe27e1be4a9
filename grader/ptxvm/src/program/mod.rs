//! A kernel ready to run: the decoded code, the module that it belongs to, and the module's variables.

pub(crate) mod code;
pub(crate) mod module;
pub(crate) mod symbols;
