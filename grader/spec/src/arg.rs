//! Arguments of a launch: what each entry of `args` means.

use super::fault::{Checked, Fault};
use super::sizes::Sizes;
use super::tensors::{Tensors, grad_of, prime};
use indexmath::DimExpr;
use toml::Spanned;

/// The words that stand around the name of a tensor of the formula.
const WRAPPERS: [&str; 4] = ["inplace", "given", "result", "grad"];

/// An argument of a kernel or of a host function.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// `X`: a pointer to an input, or to what the kernel computes.
    Tensor(String),
    /// `inplace(X)`: a pointer to a buffer that starts as X and must end as X'.
    InPlace(String),
    /// `given(X)`: a pointer to the formula's values of a computed X, to be read only.
    Given(String),
    /// `result(X)`: a pointer to an input of the formula that the function itself writes.
    Result(String),
    /// A pointer to a workspace, which the formula does not know.
    Workspace(String),
    /// An input without axes, by value.
    Scalar(String),
    /// An expression of sizes, passed by value as an `int`.
    Size(DimExpr),
}

/// How a launch uses a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It reads an input of the formula.
    Input,
    /// It reads a tensor that the formula computes.
    Given,
    /// It computes a tensor of the formula.
    Output,
    /// It changes a tensor X in place to X'.
    InPlace,
    /// It writes an input of the formula, which only [`super::Requirement`]s judge.
    Result,
    /// It writes and reads it as it likes; no value in it is ever compared.
    Workspace,
}

impl Arg {
    /// The tensor whose address is passed, and how the launch uses it.
    pub fn buffer(&self, tensors: &Tensors) -> Option<(&str, Purpose)> {
        match self {
            Self::Tensor(name) if tensors.is_computed(name) => Some((name, Purpose::Output)),
            Self::Tensor(name) => Some((name, Purpose::Input)),
            Self::InPlace(name) => Some((name, Purpose::InPlace)),
            Self::Given(name) => Some((name, Purpose::Given)),
            Self::Result(name) => Some((name, Purpose::Result)),
            Self::Workspace(name) => Some((name, Purpose::Workspace)),
            Self::Scalar(_) | Self::Size(_) => None,
        }
    }

    pub(crate) fn read(
        text: &str,
        arg: &Spanned<String>,
        sizes: &Sizes,
        tensors: &Tensors,
    ) -> Checked<Self> {
        let name = arg.get_ref().trim();
        if tensors.is_workspace(name) {
            return Ok(Self::Workspace(name.to_owned()));
        }
        if let Some(of) = WRAPPERS.iter().find_map(|word| inside(name, word))
            && tensors.is_workspace(of)
        {
            let title = format!("`{of}` is a workspace: the formula has no values for it");
            return Err(Fault::at(arg.span(), title).help(format!("write \"{of}\"")));
        }
        if let Some(of) = inside(name, "inplace") {
            return in_place(of, arg, tensors);
        }
        if let Some(of) = inside(name, "given") {
            return given(of, arg, tensors);
        }
        if let Some(of) = inside(name, "result") {
            return result(of, arg, tensors);
        }
        if tensors.names().any(|n| n == name) {
            let scalar = tensors.type_of(name).is_some_and(|ty| ty.shape.is_empty());
            let name = name.to_owned();
            let by_value = scalar && !tensors.is_computed(&name);
            return Ok(if by_value { Self::Scalar(name) } else { Self::Tensor(name) });
        }
        if let Some(of) = grad_of(name)
            && tensors.types.contains_key(of)
        {
            return Err(Fault::at(arg.span(), format!("`{of}` has no gradient"))
                .help("only real-valued tensors that the result depends on have a gradient"));
        }
        if let Some(of) = name.strip_suffix('\'')
            && tensors.types.contains_key(of)
        {
            return Err(never_changes(of, arg));
        }
        // It is an expression of sizes only if it is more than one unknown word: `H_out * W_out`.
        match DimExpr::parse(name) {
            Ok(expr) if expr.names().iter().all(|(n, _)| sizes.contains(n)) => Ok(Self::Size(expr)),
            Ok(expr) if !is_word(name) => {
                sizes.check_names(text, &expr, &arg.span())?;
                Ok(Self::Size(expr))
            }
            _ => Err(Fault::at(arg.span(), format!("`{name}` is neither a tensor nor a size"))
                .suggest(name, tensors.argument_names().chain(sizes.names()), "name")),
        }
    }
}

fn in_place(name: &str, arg: &Spanned<String>, tensors: &Tensors) -> Checked<Arg> {
    if !tensors.types.contains_key(name) {
        return Err(Fault::at(arg.span(), format!("there is no tensor `{name}` in [tensors]"))
            .suggest(name, tensors.types.keys().map(String::as_str), "tensor"));
    }
    if !tensors.is_computed(&prime(name)) {
        return Err(never_changes(name, arg));
    }
    Ok(Arg::InPlace(name.to_owned()))
}

fn never_changes(name: &str, arg: &Spanned<String>) -> Fault {
    Fault::at(arg.span(), format!("the formula does not say what `{name}` becomes"))
        .help(format!("add a statement for its value after the launch: {name}'[...] = ..."))
}

fn given(name: &str, arg: &Spanned<String>, tensors: &Tensors) -> Checked<Arg> {
    if tensors.is_computed(name) {
        return Ok(Arg::Given(name.to_owned()));
    }
    if tensors.inputs.iter().any(|input| input == name) {
        return Err(Fault::at(arg.span(), format!("`{name}` is an input, so it is always given"))
            .help(format!("write \"{name}\"")));
    }
    Err(Fault::at(arg.span(), format!("the formula does not compute `{name}`")).suggest(
        name,
        tensors.computed.iter().map(String::as_str),
        "computed tensor",
    ))
}

fn result(name: &str, arg: &Spanned<String>, tensors: &Tensors) -> Checked<Arg> {
    if tensors.inputs.iter().any(|input| input == name) {
        return Ok(Arg::Result(name.to_owned()));
    }
    if tensors.is_computed(name) {
        return Err(Fault::at(arg.span(), format!("the formula computes `{name}`"))
            .help(format!("write \"{name}\": it is compared with the formula's values")));
    }
    let inputs = tensors.inputs.iter().map(String::as_str);
    Err(Fault::at(arg.span(), format!("`{name}` is not an input of the formula"))
        .suggest(name, inputs, "input"))
}

/// The `X` in `word(X)`.
fn inside<'a>(name: &'a str, word: &str) -> Option<&'a str> {
    let inner = name.strip_prefix(word)?.trim_start().strip_prefix('(')?;
    inner.strip_suffix(')').map(str::trim)
}

fn is_word(text: &str) -> bool {
    text.trim().bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
