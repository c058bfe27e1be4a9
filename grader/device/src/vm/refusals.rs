//! What the machine cannot load or launch, and whose turn it is then.

use diagnostic::{Diagnostic, Mark, Severity, Source};
use diagnostic::{Failure, FailureKind};
use ptxvm::{LaunchError, LoadError, SourceLoc};
use puzzle::case::CaseLaunch;
use std::path::Path;
use toolchain::SourceFile;

/// A gap of the machine is never the student's mistake, and says so. Of `source`, the file that was compiled, the line is shown.
pub fn cannot_load(error: &LoadError, source: Option<&SourceFile>) -> Failure {
    let LoadError { ptx_line, source_loc, message, unsupported, too_large } = error;
    let (title, mut help) = if *too_large {
        (
            format!("the file asks for too much: {message}"),
            vec!["is the size of an array wrong, or a loop unrolled too far?".to_owned()],
        )
    } else if *unsupported {
        (
            format!("the virtual machine cannot run this kernel yet: {message}"),
            vec![
                "this is a gap in the virtual machine, most likely not a mistake in your kernel"
                    .to_owned(),
                "if you have an NVIDIA GPU, run with --backend gpu; otherwise rewrite the line"
                    .to_owned(),
            ],
        )
    } else {
        (
            format!("the virtual machine does not understand the compiler's output: {message}"),
            vec![
                "this is most likely not a mistake in your kernel".to_owned(),
                "check with `grader doctor` that this is the compiler you expect; if you have an \
                 NVIDIA GPU, run with --backend gpu"
                    .to_owned(),
            ],
        )
    };
    let mut shown = None;
    // Where no line is to blame, it is 0.
    if *ptx_line != 0 {
        let mut at = format!("line {ptx_line} of the PTX");
        if let Some(loc) = source_loc {
            at = format!("{at}, from {}:{}", loc.file, loc.line);
            shown = source.and_then(|source| quote(loc, source));
        }
        help.push(at);
    }
    // The compiler copies inline PTX without a look, so that any text can stand there.
    let is_inline = source.is_some_and(|source| source.inline_ptx);
    if is_inline && !*too_large {
        help[0] =
            "inline PTX (`asm`) in this file, or in a header of its own, may be the cause".into();
    }
    let kind = if *too_large || is_inline { FailureKind::Kernel } else { FailureKind::Environment };
    Failure::at(kind, Diagnostic { severity: Severity::Error, title, source: shown, help })
}

/// The line, if it is one of `source`. Other files are not read: the PTX may name any.
fn quote(loc: &SourceLoc, source: &SourceFile) -> Option<Source> {
    if *source.path != *Path::new(&*loc.file) {
        return None;
    }
    let text = source.text.clone();
    let mut start = 0;
    let line = text.split_inclusive('\n').enumerate().find_map(|(i, line)| {
        let here = start;
        start += line.len();
        (i + 1 == loc.line as usize).then_some((here, line))
    });
    let (start, line) = line?;
    let code = line.trim();
    let indent = line.len() - line.trim_start().len();
    let span = start + indent..start + indent + code.len();
    Some(Source {
        path: source.path.clone(),
        text,
        marks: vec![Mark { span, label: String::new() }],
    })
}

pub fn cannot_launch(launch: &CaseLaunch, error: &LaunchError) -> Failure {
    let title = format!("`{}` cannot be launched: {error}", launch.kernel);
    match error {
        LaunchError::Configuration(_) => Failure::new(
            FailureKind::Usage,
            title,
            "change block, grid or shared in the spec's [[launch]]; a kernel's own __shared__ arrays count too",
        ),
        LaunchError::Refused(error) => cannot_load(error, None),
        LaunchError::Parameters(_) => Failure::new(
            FailureKind::Kernel,
            title,
            "keep the signature of the stub: the spec's [[launch]] passes its arguments in that order",
        ),
    }
}
