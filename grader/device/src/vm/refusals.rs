//! What the machine cannot load or launch, and whose turn it is then.

use diagnostic::{Diagnostic, Mark, Severity, Source};
use diagnostic::{Failure, FailureKind};
use ptxvm::{LaunchError, LoadError, SourceLoc};
use puzzle::case::CaseLaunch;

/// A gap of the machine is never the student's mistake, and says so.
pub fn cannot_load(error: &LoadError) -> Failure {
    let LoadError { ptx_line, source_loc, message, unsupported } = error;
    let (title, mut help) = if *unsupported {
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
    let mut at = format!("line {ptx_line} of the PTX");
    let mut source = None;
    if let Some(loc) = source_loc {
        at = format!("{at}, from {}:{}", loc.file, loc.line);
        source = quote(loc);
    }
    help.push(at);
    Failure::at(
        FailureKind::Environment,
        Diagnostic { severity: Severity::Error, title, source, help },
    )
}

/// The line in its file; `None` if the file cannot be read (any more).
fn quote(loc: &SourceLoc) -> Option<Source> {
    let text = std::fs::read_to_string(&*loc.file).ok()?;
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
        path: loc.file.as_ref().into(),
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
        LaunchError::Refused(error) => cannot_load(error),
        LaunchError::Parameters(_) => Failure::new(
            FailureKind::Kernel,
            title,
            "keep the signature of the stub: the spec's [[launch]] passes its arguments in that order",
        ),
    }
}
