//! What to say when a kernel cannot be found, or not be launched.

use super::declaration::{KernelDecl, without_arguments, without_namespaces};
use crate::SourceFile;
use crate::similar::nearest;
use cpptext::functions::{Function, functions};
use diagnostic::{Diagnostic, Mark, Severity, Source};
use diagnostic::{Failure, FailureKind};

/// No kernel of this name was compiled.
pub fn none(kernels: &[KernelDecl], wanted: &str, source: &SourceFile) -> Failure {
    let base = without_arguments(without_namespaces(wanted));
    let found = functions(&source.text);
    let written = found.iter().filter(|f| f.name == base).max_by_key(|f| f.has_body);
    if let Some(function) = written {
        let (title, label, help) = not_a_kernel(function, wanted);
        return at(source, function, title, label, vec![help]);
    }
    let mut help = vec![match kernels {
        [] => "the file has no __global__ function".to_owned(),
        _ => format!("the file has {}", list(kernels)),
    }];
    let meant = nearest(base, found.iter().map(|f| f.name));
    if let Some(name) = meant {
        let advice = format!(
            "`{name}` looks similar: rename it to `{base}`, the name by which the puzzle launches it"
        );
        help.insert(0, advice);
    }
    let title = format!("there is no kernel `{wanted}` in {}", source.path.display());
    if let Some(function) = meant.and_then(|name| found.iter().find(|f| f.name == name)) {
        at(source, function, title, String::new(), help)
    } else {
        let diagnostic = Diagnostic { severity: Severity::Error, title, source: None, help };
        Failure::at(FailureKind::Kernel, diagnostic)
    }
}

/// Several kernels answer to the name.
pub fn several(kernels: &[&KernelDecl], wanted: &str, source: &SourceFile) -> Failure {
    let kernels: Vec<KernelDecl> = kernels.iter().map(|&k| k.clone()).collect();
    let title = format!("several kernels are called `{wanted}`: {}", list(&kernels));
    let help = format!(
        "keep one of them, so that the puzzle knows which to launch, in {}",
        source.path.display()
    );
    Failure::new(FailureKind::Kernel, title, help)
}

/// Its `__shared__` arrays take more than the `most` bytes that a block can have.
pub fn too_much_shared(kernel: &KernelDecl, most: u64, source: &SourceFile) -> Failure {
    let title = format!(
        "the __shared__ arrays of `{}` take {} bytes: a block can have at most {most}",
        kernel.name, kernel.shared
    );
    let base = without_arguments(without_namespaces(&kernel.name));
    let start = functions(&source.text)
        .into_iter()
        .find(|f| f.name == base && f.has_body)
        .map(|f| f.name_span.end);
    let declared = start.and_then(|start| Some(start + source.text[start..].find("__shared__")?));
    let marks = declared.map(|at| Mark { span: at..at + "__shared__".len(), label: String::new() });
    let place = marks.map(|mark| Source {
        path: source.path.clone(),
        text: source.text.clone(),
        marks: vec![mark],
    });
    let help = vec!["make the tile smaller: a float has 4 bytes, so 12,288 of them fit".to_owned()];
    Failure::at(
        FailureKind::Kernel,
        Diagnostic { severity: Severity::Error, title, source: place, help },
    )
}

/// Title, label and help for a function of the right name that was not compiled as a kernel.
fn not_a_kernel(function: &Function<'_>, wanted: &str) -> (String, String, String) {
    let name = function.name;
    if function.is_template && function.has("__global__") {
        return (
            format!(
                "the template `{name}` was never instantiated, so there is no kernel `{wanted}`"
            ),
            "a template makes no kernel by itself".into(),
            format!(
                "instantiate it below its definition: `template __global__ void {name}<float>(...);`"
            ),
        );
    }
    if !function.has_body {
        return (
            format!("`{name}` is declared, but has no body"),
            String::new(),
            "write its body between { and } instead of the semicolon".into(),
        );
    }
    if function.has("__global__") {
        return (
            format!("the compiler left `{name}` out"),
            "this function is not in the compiled file".into(),
            "is it inside a disabled #if, or a member of a class?".into(),
        );
    }
    let (kind, help) = if function.has("__device__") {
        (
            "a __device__ function, which only other GPU code can call",
            "a kernel is declared with `__global__ void`, not with `__device__`",
        )
    } else {
        (
            "an ordinary function, which runs on the CPU",
            "write `__global__` in front of it: `__global__ void`",
        )
    };
    (format!("`{name}` is not a kernel"), format!("this is {kind}"), help.into())
}

fn at(
    source: &SourceFile,
    function: &Function<'_>,
    title: String,
    label: String,
    help: Vec<String>,
) -> Failure {
    let diagnostic = Diagnostic {
        severity: Severity::Error,
        title,
        source: Some(Source {
            path: source.path.clone(),
            text: source.text.clone(),
            marks: vec![Mark { span: function.name_span.clone(), label }],
        }),
        help,
    };
    Failure::at(FailureKind::Kernel, diagnostic)
}

fn list(kernels: &[KernelDecl]) -> String {
    let names: Vec<String> = kernels.iter().map(|k| format!("`{}`", k.name)).collect();
    match &names[..] {
        [one] => format!("the kernel {one}"),
        names => format!("the kernels {}", names.join(", ")),
    }
}
