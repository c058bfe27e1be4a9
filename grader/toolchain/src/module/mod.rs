//! The kernels of a compiled file: which there are, under which source names, with which parameters.

mod missing;
mod signature;
#[cfg(test)]
mod tests;

pub use signature::{ArgDecl, ArgKind, Scalar, check_signature};

use crate::SourceFile;
use cpp_demangle::{DemangleOptions, Symbol};
use diagnostic::Failure;

/// Bytes of static shared memory that a block can have on every GPU (CUDA C++ Programming Guide, "Compute
/// Capabilities": 48 KB, also where dynamic shared memory may be larger).
const MAX_STATIC_SHARED: u64 = 48 << 10;

/// A kernel of a compiled file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelDecl {
    /// Name in the PTX: what a backend launches.
    pub symbol: String,
    /// Name in the source, with namespaces and template arguments: `net::scale<float>`.
    pub name: String,
    /// In order.
    pub params: Vec<Param>,
    /// Static shared memory in bytes.
    pub shared: u64,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Bytes.
    pub size: u64,
    /// The C++ type, `float const*`; `None` for `extern "C"` kernels, whose symbols do not tell.
    pub cpp_type: Option<String>,
}

/// The kernels of a PTX text in its order (PTX ISA 5.3.1 and 11.2.1: `.entry name ( .param ... )`).
pub fn kernels(ptx: &str) -> Vec<KernelDecl> {
    let mut kernels: Vec<KernelDecl> = Vec::new();
    let mut rest = ptx;
    while let Some((before, after)) = rest.split_once(".entry") {
        // Static shared memory stands inside the body of its kernel, or before all of them if several use it.
        if let Some(kernel) = kernels.last_mut() {
            kernel.shared += shared_bytes(before);
        }
        rest = after;
        let end = after.find('{').unwrap_or(after.len());
        let head = &after[..end];
        let (symbol, list) = head.split_once('(').unwrap_or((head, ""));
        let symbol = symbol.split_whitespace().next().unwrap_or_default();
        let list = list.split_once(')').map_or("", |(list, _)| list);
        let sizes = list.split(',').filter_map(param_size);
        let mut kernel = KernelDecl {
            symbol: symbol.into(),
            name: symbol.into(),
            params: Vec::new(),
            shared: 0,
        };
        kernel.params = sizes.map(|size| Param { size, cpp_type: None }).collect();
        name_types(&mut kernel);
        kernels.push(kernel);
    }
    if let Some(kernel) = kernels.last_mut() {
        kernel.shared += shared_bytes(rest);
    }
    kernels
}

/// The kernel that is called `wanted` in the source: plain or `extern "C"`, in any namespace, and an instantiation of
/// a template under its full name (`scale<float>`) or, if there is only one, under the template's.
///
/// # Errors
/// There is none, or there are several: a kernel failure that lists what there is. Or its static shared memory is more
/// than a block can have.
pub fn find_kernel<'a>(
    kernels: &'a [KernelDecl],
    wanted: &str,
    source: &SourceFile,
) -> Result<&'a KernelDecl, Failure> {
    let rules: [fn(&str) -> String; 4] = [
        |name| squeeze(name),
        |name| squeeze(without_namespaces(name)),
        |name| squeeze(without_arguments(name)),
        |name| squeeze(without_arguments(without_namespaces(name))),
    ];
    for rule in rules {
        let found: Vec<&KernelDecl> =
            kernels.iter().filter(|k| rule(&k.name) == squeeze(wanted)).collect();
        match found[..] {
            [] => {}
            [kernel] if kernel.shared > MAX_STATIC_SHARED => {
                return Err(missing::too_much_shared(kernel, source));
            }
            [kernel] => return Ok(kernel),
            _ => return Err(missing::several(&found, wanted, source)),
        }
    }
    Err(missing::none(kernels, wanted, source))
}

fn squeeze(name: &str) -> String {
    name.replace(' ', "")
}

/// `scale<net::T>` of `net::scale<net::T>`.
fn without_namespaces(name: &str) -> &str {
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

/// `net::scale` of `net::scale<float>`.
fn without_arguments(name: &str) -> &str {
    name.strip_suffix('>').and_then(|_| name.find('<')).map_or(name, |at| &name[..at])
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

/// Cuts a list of types at the commas outside brackets.
fn split_types(list: &str) -> Vec<String> {
    let mut types = Vec::new();
    let mut depth = 0;
    let mut start = 0;
    for (at, c) in list.char_indices() {
        match c {
            '(' | '<' | '[' => depth += 1,
            ')' | '>' | ']' => depth -= 1,
            ',' if depth == 0 => {
                types.push(list[start..at].trim().to_owned());
                start = at + 1;
            }
            _ => {}
        }
    }
    types.push(list[start..].trim().to_owned());
    types.retain(|t| !t.is_empty() && t != "void");
    types
}

/// Bytes of `.param .u64 name` or `.param .align 4 .b8 name[12]`.
fn param_size(param: &str) -> Option<u64> {
    let mut words = param.split_whitespace();
    if words.next()? != ".param" {
        return None;
    }
    let size = words.clone().find_map(type_size)?;
    Some(size * words.next_back().and_then(length).unwrap_or(1))
}

/// 12 of `name[12]`.
fn length(declarator: &str) -> Option<u64> {
    declarator.split_once('[')?.1.split_once(']')?.0.parse().ok()
}

/// Bytes of `.u64`, `.b8`, `.f32`.
fn type_size(word: &str) -> Option<u64> {
    let bits: u64 = word.strip_prefix('.')?.strip_prefix(['u', 's', 'b', 'f'])?.parse().ok()?;
    Some(bits / 8)
}

/// Bytes of all static `.shared` declarations in a text.
fn shared_bytes(text: &str) -> u64 {
    let declarations = text.lines().map(str::trim).filter_map(|l| l.strip_prefix(".shared"));
    declarations
        .filter_map(|line| {
            let mut words = line.trim_end_matches(';').split_whitespace();
            let size = words.clone().find_map(type_size)?;
            Some(size * words.next_back().and_then(length).unwrap_or(1))
        })
        .sum()
}
