//! Compiles for a program that calls NVRTC: `toolchain/src/libraries/nvrtc.cu` starts the grader again with this command.

use super::args;
use super::console;
use diagnostic::{Failure, FailureKind};
use std::path::PathBuf;
use std::process::ExitCode;
use toolchain::env::Env;
use toolchain::{Headers, Request, Toolchain};

/// First argument of the process that compiles; the source, its architecture and folders of headers follow.
pub(super) const CHILD_COMMAND: &str = "__nvrtc-child";

/// Prints the PTX of the source, or on stderr why there is none.
pub(super) fn child_main() -> ExitCode {
    console::code(run().map(|ptx| {
        console::print(&ptx);
        0
    }))
}

fn run() -> Result<String, Failure> {
    let mut arguments = std::env::args_os().skip(2);
    let usage = |title: String| Failure::new(FailureKind::Usage, title, "NVRTC gives them");
    let (Some(source), Some(arch)) = (arguments.next(), arguments.next()) else {
        return Err(usage("the source and its architecture are missing".to_owned()));
    };
    let (source, include_dirs) = (PathBuf::from(source), arguments.map(PathBuf::from));
    let compiled = Toolchain::locate(&Env::current(), None)?.compile(&Request {
        source: &source,
        include_dirs: &include_dirs.collect::<Vec<_>>(),
        headers: Headers::Any,
        base: source.parent().unwrap_or(&source),
        arch: args::arch(&arch.to_string_lossy()).map_err(usage)?,
        asynchronous: false,
        debugger: false,
        gpu: None,
    })?;
    Ok(compiled.ptx)
}
