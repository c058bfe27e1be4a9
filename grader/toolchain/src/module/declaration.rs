//! The kernels that a compiled file declares.

use crate::ptx::{Entry, entries};
use cpp_demangle::{DemangleOptions, Symbol};
use cpptext::tokens::{Token, split_at_commas, tokens};

/// A kernel of a compiled file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelDecl {
    /// Name in the PTX: what a backend launches.
    pub symbol: String,
    /// Name in the source, with namespaces and template arguments: `net::scale<float>`.
    pub name: String,
    /// Its parameters, in order.
    pub params: Vec<Param>,
    /// Static shared memory in bytes.
    pub shared: u64,
    /// The threads that its blocks may have at most (`__launch_bounds__`), if it says so.
    pub max_threads: Option<u32>,
    /// File and line of the source where it is defined, if the PTX says so.
    pub definition: Option<(String, u32)>,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// The size of its type in bytes.
    pub size: u64,
    /// The C++ type, `float const*`; `None` for `extern "C"` kernels, whose symbols do not tell.
    pub cpp_type: Option<String>,
}

/// The kernels of a PTX text, in its order.
pub fn kernels(ptx: &str) -> Vec<KernelDecl> {
    entries(ptx).into_iter().map(declared).collect()
}

/// The kernel with the name and the types that its symbol tells.
fn declared(entry: Entry) -> KernelDecl {
    let Entry { symbol, params, shared, max_threads, definition } = entry;
    let params = params.iter().map(|&size| Param { size, cpp_type: None }).collect();
    let name = symbol.clone();
    let mut kernel = KernelDecl { symbol, name, params, shared, max_threads, definition };
    name_types(&mut kernel);
    kernel
}

/// Fills in the source name and the types of the parameters from the symbol.
fn name_types(kernel: &mut KernelDecl) {
    let Ok(symbol) = Symbol::new(&kernel.symbol) else { return };
    let options = DemangleOptions::new().no_return_type();
    let (Ok(name), Ok(whole)) = (
        symbol.demangle_with_options(&options.no_params()),
        symbol.demangle_with_options(&options),
    ) else {
        return;
    };
    let params = whole
        .strip_prefix(&name)
        .and_then(|p| p.strip_prefix('('))
        .and_then(|p| p.strip_suffix(')'));
    let types = params.map(split_types).unwrap_or_default();
    if types.len() == kernel.params.len() {
        for (param, cpp_type) in kernel.params.iter_mut().zip(types) {
            param.cpp_type = Some(cpp_type);
        }
    }
    kernel.name = name;
}

/// The name in the source of a symbol that C++ has mangled.
pub(super) fn demangled(symbol: &str) -> Option<String> {
    let options = DemangleOptions::new().no_return_type().no_params();
    Symbol::new(symbol).ok()?.demangle_with_options(&options).ok()
}

/// Cuts a list of types at the commas outside brackets.
fn split_types(list: &str) -> Vec<String> {
    let all = tokens(list);
    let text = |ty: &[Token<'_>]| Some(&list[ty.first()?.span.start..ty.last()?.span.end]);
    let types = split_at_commas(&all).into_iter().filter_map(text);
    types.filter(|ty| *ty != "void").map(str::to_owned).collect()
}

/// A name without the namespaces around it: `scale<net::T>` of `net::scale<net::T>`.
pub(super) fn without_namespaces(name: &str) -> &str {
    let mut depth = 0;
    let mut start = 0;
    for (at, c) in name.char_indices() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            ':' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    &name[start..]
}

/// A name without its template arguments: `net::scale` of `net::scale<float>`.
pub(super) fn without_arguments(name: &str) -> &str {
    name.strip_suffix('>').and_then(|_| name.find('<')).map_or(name, |at| &name[..at])
}
