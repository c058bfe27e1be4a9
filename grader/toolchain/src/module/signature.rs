//! Does a kernel take what the puzzle gives it?

use super::declaration::{KernelDecl, Param, without_arguments, without_namespaces};
use crate::SourceFile;
use cpptext::functions::{Function, functions};
use diagnostic::{Diagnostic, Mark, Severity, Source};
use diagnostic::{Failure, FailureKind};

/// An argument that a puzzle launches a kernel with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgDecl {
    /// As in the spec: `grad(output)`, `batch`.
    pub name: String,
    /// Whether it is an address or a number, and of which type.
    pub kind: ArgKind,
}

/// A number type of C++, as kernels take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// As it is written: `float`, `__half`.
    pub name: &'static str,
    /// Its size in bytes, as `sizeof` gives it.
    pub bytes: u64,
}

/// The type of a size.
const INT: Scalar = Scalar { name: "int", bytes: 4 };

/// The integers of 64 bits.
const WIDE: [&str; 5] = ["long", "unsigned long", "long long", "unsigned long long", "size_t"];

/// How an argument is passed to a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgKind {
    /// The address of a tensor.
    Pointer {
        /// The type of its elements.
        element: Scalar,
        /// The kernel only reads it; the expected signature shows `const`. Nothing depends on it.
        constant: bool,
    },
    /// A number of this type.
    Value(Scalar),
    /// An `int`, which a parameter of 64 bits gets widened.
    Size,
}

impl ArgKind {
    /// The type as C++ writes it: `const float*`.
    fn cpp(self) -> String {
        match self {
            Self::Pointer { element, constant } => {
                format!("{}{}*", if constant { "const " } else { "" }, element.name)
            }
            Self::Value(scalar) => scalar.name.into(),
            Self::Size => INT.name.into(),
        }
    }

    fn size(self) -> u64 {
        match self {
            Self::Pointer { .. } => 8,
            Self::Value(scalar) => scalar.bytes,
            Self::Size => INT.bytes,
        }
    }

    /// Why this type cannot take the argument; `None` if it can.
    fn objection(self, size: u64, cpp_type: Option<&str>) -> Option<String> {
        let bare = cpp_type.map(bare);
        let bare = bare.as_deref();
        let wanted = self.cpp();
        let article = if wanted.starts_with('i') { "an" } else { "a" };
        match (self, bare) {
            (Self::Pointer { .. }, Some(t)) if t.ends_with('&') => {
                Some(format!("a reference; the puzzle passes an address: `{wanted}`"))
            }
            (Self::Pointer { element: wanted_element, .. }, Some(t)) => match t.strip_suffix('*') {
                None => Some(format!("not a pointer; the puzzle passes `{wanted}`")),
                Some(element) if !may_point_to(element, wanted_element) => {
                    Some(format!("points to `{element}`; the puzzle passes `{wanted}`"))
                }
                Some(_) => None,
            },
            (Self::Value(scalar), Some(t)) if is_same(t, scalar) => None,
            (Self::Size, Some(t)) if is_same(t, INT) || WIDE.contains(&t) => None,
            (Self::Value(_) | Self::Size, Some(t)) if is_scalar(t) || t.ends_with(['*', '&']) => {
                Some(format!(
                    "`{t}` has {size} byte{}; the puzzle passes {article} `{wanted}` of {}",
                    if size == 1 { "" } else { "s" },
                    self.size()
                ))
            }
            _ if size != self.size() => {
                Some(format!("has {size} bytes; the puzzle passes `{wanted}` of {}", self.size()))
            }
            _ => None,
        }
    }
}

/// Types of one number, whose kind is certain. Others (vectors, structures, `void`) are left to the student.
pub(super) fn is_scalar(name: &str) -> bool {
    const SCALARS: [&str; 19] = [
        "float",
        "double",
        "int",
        "unsigned int",
        "unsigned",
        "long",
        "unsigned long",
        "long long",
        "unsigned long long",
        "short",
        "unsigned short",
        "char",
        "signed char",
        "unsigned char",
        "bool",
        "__half",
        "__nv_bfloat16",
        "half",
        "size_t",
    ];
    SCALARS.contains(&name)
}

fn may_point_to(name: &str, element: Scalar) -> bool {
    is_same(name, element) || !(is_scalar(name) || name.ends_with('*'))
}

/// Is this C++ type the scalar, signed or not?
pub(super) fn is_same(name: &str, scalar: Scalar) -> bool {
    match scalar.name {
        "int" => matches!(name, "int" | "unsigned int" | "unsigned"),
        "__half" => matches!(name, "__half" | "half"),
        "long long" => WIDE.contains(&name),
        "unsigned char" => matches!(name, "unsigned char" | "signed char" | "char"),
        wanted => name == wanted,
    }
}

/// A type without `const`, `volatile`, `__restrict__` and needless blanks.
fn bare(cpp_type: &str) -> String {
    let spaced = cpp_type.replace('*', " * ").replace('&', " & ");
    let words = spaced.split_whitespace();
    let kept: Vec<&str> = words
        .filter(|w| {
            !matches!(*w, "const" | "volatile" | "__restrict__" | "__restrict" | "restrict")
        })
        .collect();
    kept.join(" ").replace(" *", "*").replace(" &", "&")
}

/// Compares a kernel's parameters with what the puzzle passes, by number, size and, where the symbol or the source
/// tells, by type. The order of two `int`s cannot be checked.
///
/// # Errors
/// A kernel failure that points at the parameters and shows both signatures.
pub fn check_signature(
    kernel: &KernelDecl,
    args: &[ArgDecl],
    source: &SourceFile,
) -> Result<(), Failure> {
    let found = functions(&source.text);
    let base = without_arguments(without_namespaces(&kernel.name));
    let written = found
        .iter()
        .filter(|f| f.name == base && f.has("__global__") && f.params.len() == kernel.params.len());
    let written = written.max_by_key(|f| f.has_body);
    let objections: Vec<(usize, String)> = kernel
        .params
        .iter()
        .zip(args)
        .enumerate()
        .filter_map(|(i, (param, arg))| {
            Some((i, arg.kind.objection(param.size, type_of(param, written, i).as_deref())?))
        })
        .collect();
    let (have, want) = (kernel.params.len(), args.len());
    if have == want && objections.is_empty() {
        return Ok(());
    }
    let title = if have == want {
        let (i, _) = objections[0];
        format!("parameter {} of `{base}`, for `{}`, has the wrong type", i + 1, args[i].name)
    } else {
        format!(
            "`{base}` has {have} parameter{}, but the puzzle passes {want}",
            if have == 1 { "" } else { "s" }
        )
    };
    let mut marks = Vec::new();
    if let Some(function) = written {
        for (i, objection) in &objections {
            marks.push(Mark { span: function.params[*i].span.clone(), label: objection.clone() });
        }
        for param in function.params.iter().skip(want) {
            marks.push(Mark {
                span: param.span.clone(),
                label: "the puzzle passes nothing here".into(),
            });
        }
        if have < want || marks.is_empty() {
            let missing: Vec<&str> = args.iter().skip(have).map(|a| a.name.as_str()).collect();
            marks.push(Mark {
                span: function.name_span.clone(),
                label: format!("no parameter for {}", missing.join(", ")),
            });
        }
    }
    let help = vec![
        format!("expected: {}", expected(base, args)),
        format!("found:    {}", actual(kernel, base, written)),
    ];
    let source = (!marks.is_empty()).then(|| Source {
        path: source.path.clone(),
        text: source.text.clone(),
        marks,
    });
    Err(Failure::at(
        FailureKind::Kernel,
        Diagnostic { severity: Severity::Error, title, source, help },
    ))
}

/// From the symbol, else from the source where it names no template parameter or alias that would need a compiler.
fn type_of(param: &Param, written: Option<&Function<'_>>, index: usize) -> Option<String> {
    if let Some(cpp_type) = &param.cpp_type {
        return Some(cpp_type.clone());
    }
    let parameter = written?.params.get(index)?;
    let cpp_type = match parameter.name {
        Some(name) => parameter.text.strip_suffix(name)?,
        None => parameter.text,
    };
    let bare = bare(cpp_type);
    let known = is_scalar(bare.trim_end_matches(['*', '&']));
    known.then_some(bare)
}

fn expected(name: &str, args: &[ArgDecl]) -> String {
    let params: Vec<String> =
        args.iter().map(|a| format!("{} {}", a.kind.cpp(), identifier(&a.name))).collect();
    format!("__global__ void {name}({})", params.join(", "))
}

/// As written, or from the symbol and the sizes.
fn actual(kernel: &KernelDecl, name: &str, written: Option<&Function<'_>>) -> String {
    let params: Vec<String> = if let Some(function) = written {
        function
            .params
            .iter()
            .map(|p| p.text.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    } else {
        let text = |p: &Param| p.cpp_type.clone().unwrap_or_else(|| format!("{} bytes", p.size));
        kernel.params.iter().map(text).collect()
    };
    format!("__global__ void {name}({})", params.join(", "))
}

/// A spec's name as a C++ identifier: `grad_output` for `grad(output)`.
fn identifier(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty());
    let words = words.collect::<Vec<_>>().join("_");
    if words.starts_with(|c: char| c.is_ascii_digit()) { format!("n_{words}") } else { words }
}
