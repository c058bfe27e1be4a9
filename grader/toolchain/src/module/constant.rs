//! The `__constant__` variables of a compiled file.

use super::declaration::{demangled, without_namespaces};
use super::signature::{Scalar, is_same, is_scalar};
use crate::SourceFile;
use crate::ptx;
use crate::similar::nearest;
use cpptext::tokens::{Kind, Token, tokens};
use diagnostic::{Diagnostic, Mark, Severity, Source};
use diagnostic::{Failure, FailureKind};
use std::ops::Range;

/// A variable of a compiled file that lies in constant or global memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableDecl {
    /// Its name in the PTX.
    pub symbol: String,
    /// Its name in the source, with namespaces.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// True for `__constant__`, false for `__device__`.
    pub constant: bool,
}

/// What a puzzle copies into a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstantUse {
    /// The name of the variable in the source.
    pub symbol: String,
    /// The name of the tensor, as in the spec.
    pub tensor: String,
    /// The type of its elements.
    pub element: Scalar,
    /// The most elements that it has in a test.
    pub elements: u64,
}

impl ConstantUse {
    fn declaration(&self) -> String {
        format!("__constant__ {} {}[{}];", self.element.name, self.symbol, self.elements)
    }
}

/// The variables of a PTX text, in its order.
pub fn variables(ptx: &str) -> Vec<VariableDecl> {
    let declared = |v: ptx::Variable| VariableDecl {
        name: demangled(&v.symbol).unwrap_or_else(|| v.symbol.clone()),
        symbol: v.symbol,
        bytes: v.bytes,
        constant: v.constant,
    };
    ptx::variables(ptx).into_iter().map(declared).collect()
}

/// The constant into which a puzzle copies a tensor: of this name, in any namespace, in constant memory, of elements of the
/// tensor's type, and large enough.
///
/// # Errors
/// There is none: a kernel failure that says what to write.
pub fn find_constant<'a>(
    variables: &'a [VariableDecl],
    wanted: &ConstantUse,
    source: &SourceFile,
) -> Result<&'a VariableDecl, Failure> {
    let named = |v: &&VariableDecl| without_namespaces(&v.name) == wanted.symbol;
    let written = Written::find(source, &wanted.symbol);
    let ConstantUse { symbol, tensor, element, elements } = wanted;
    let Some(found) = variables.iter().find(named) else {
        let mut help =
            vec![format!("declare it outside of all functions: {}", wanted.declaration())];
        let constants =
            variables.iter().filter(|v| v.constant).map(|v| without_namespaces(&v.name));
        if let Some(name) = nearest(symbol, constants) {
            help.insert(0, format!("`{name}` looks similar: rename it to `{symbol}`"));
        }
        let title = format!(
            "there is no constant `{symbol}`, into which the puzzle copies `{tensor}`, in {}",
            source.path.display()
        );
        return Err(failure(title, None, help));
    };
    let place = written.as_ref().map(|w| w.place(source, String::new()));
    let help = vec![format!("write: {}", wanted.declaration())];
    if !found.constant {
        let title = format!("`{symbol}` is not in constant memory");
        return Err(failure(title, place, help));
    }
    if let Some(written) = &written
        && let Some(ty) = written.scalar().filter(|ty| !is_same(ty, *element))
    {
        let title = format!("the constant `{symbol}` has the wrong type");
        let label = format!("`{ty}`; the puzzle copies `{}` elements of `{tensor}`", element.name);
        return Err(failure(title, Some(written.place(source, label)), help));
    }
    let needed = elements * element.bytes;
    if found.bytes < needed {
        let title = format!(
            "the constant `{symbol}` has {} bytes, but the puzzle copies {needed}: {elements} elements of `{tensor}`",
            found.bytes
        );
        return Err(failure(title, place, help));
    }
    Ok(found)
}

fn failure(title: String, source: Option<Source>, help: Vec<String>) -> Failure {
    let diagnostic = Diagnostic { severity: Severity::Error, title, source, help };
    Failure::at(FailureKind::Kernel, diagnostic)
}

/// A declaration in the source.
struct Written {
    name: Range<usize>,
    /// What stands between `__constant__` and the name.
    words: Vec<String>,
}

impl Written {
    /// The first declaration of a variable of this name in constant or global memory.
    fn find(source: &SourceFile, name: &str) -> Option<Self> {
        let all = tokens(&source.text);
        let starts = |t: &Token<'_>| t.is("__constant__") || t.is("__device__");
        all.iter().enumerate().filter(|(_, t)| starts(t)).find_map(|(i, _)| {
            let declaration = &all[i + 1..];
            let end =
                declaration.iter().position(|t| [";", "{", "(", "="].iter().any(|e| t.is(e)))?;
            let declaration = &declaration[..end];
            let at = declaration.iter().position(|t| t.kind == Kind::Word && t.text == name)?;
            let words = declaration[..at].iter().map(|t| t.text.to_owned()).collect();
            Some(Self { name: declaration[at].span.clone(), words })
        })
    }

    /// Its type, if that is a number's.
    fn scalar(&self) -> Option<String> {
        let other = ["static", "const", "extern"];
        let words = self.words.iter().map(String::as_str).filter(|word| !other.contains(word));
        let ty = words.collect::<Vec<_>>().join(" ");
        is_scalar(&ty).then_some(ty)
    }

    fn place(&self, source: &SourceFile, label: String) -> Source {
        Source {
            path: source.path.clone(),
            text: source.text.clone(),
            marks: vec![Mark { span: self.name.clone(), label }],
        }
    }
}
