//! Host code and kernels: shared libraries without NVIDIA's runtime, and whole programs with it.

use super::stage::Stage;
use super::{NvccFrontEnd, no_scratch, scratch};
use crate::front_end::{FrontEnd, Glue, Job, LibraryOutput, Output, Target, VirtualArch};
use crate::messages::parse;
use diagnostic::Failure;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

/// The kernels are in it as PTX. With `-Og` the loops of a training are as fast as with `-O2`, and a program of many
/// functions compiles in half the time. The linker is asked to name what is missing, for a library may call what it lacks.
const LIBRARY: [&str; 13] = [
    "-shared",
    "-Xcompiler",
    "-Og",
    "-Xcompiler",
    "-fPIC",
    "-cudart",
    "none",
    "-Xlinker",
    "-z",
    "-Xlinker",
    "defs",
    "-Xlinker",
    "--warn-unresolved-symbols",
];

/// The options for a target.
pub fn flags(nvcc: &Path, target: Target) -> Vec<OsString> {
    match target {
        Target::Library { arch: VirtualArch(arch) } => {
            let ptx = format!("arch=compute_{arch},code=compute_{arch}");
            let ptx = ["-gencode".into(), ptx.into()];
            LIBRARY.map(OsString::from).into_iter().chain(ptx).collect()
        }
        Target::Program { sm } => {
            let mut flags = vec![
                "-O2".into(),
                "-gencode".into(),
                format!("arch=compute_{sm},code=sm_{sm}").into(),
            ];
            // NVIDIA's compiler from PyPI looks for its libraries in lib64, and has them in lib.
            let beside = nvcc.parent().and_then(Path::parent).map(|folder| folder.join("lib"));
            if let Some(folder) = beside.filter(|folder| folder.join("libcudart_static.a").exists())
            {
                flags.extend(["-L".into(), folder.into_os_string()]);
            }
            flags
        }
    }
}

pub fn compile(
    nvcc: &NvccFrontEnd,
    job: &Job<'_>,
    glue: &Glue<'_>,
    target: Target,
) -> Result<LibraryOutput, Failure> {
    let scratch = scratch()?;
    let stage = Stage::new(job, scratch.path()).map_err(|e| no_scratch(&e))?;
    let library = scratch.path().join("out");
    // Its object must not be that of the source.
    let glue_file = scratch.path().join("gradient_puzzles_glue.cpp");
    std::fs::write(&glue_file, glue.text).map_err(|e| no_scratch(&e))?;
    let mut arguments: Vec<OsString> = nvcc.host_flags(target);
    // The virtual architecture is among the flags.
    arguments.extend(nvcc.flags(job).into_iter().skip(1));
    arguments.extend(stage.options());
    arguments.extend([
        Stage::source(),
        glue_file.clone().into(),
        "-o".into(),
        library.clone().into(),
    ]);
    let done = nvcc.run_side_by_side(job, &stage, glue, &glue_file, &arguments)?;
    let stderr = done.stderr_text();
    let messages = stage.restore(parse(&stderr));
    if let Target::Library { arch } = target
        && (job.inline_ptx || stderr.contains("ptxas fatal"))
    {
        let Output { ptx, messages } = nvcc.ptx(&Job { arch, ..*job })?;
        if ptx.is_none() {
            return Ok(LibraryOutput { library: None, messages, undefined: Vec::new() });
        }
    }
    if done.success() {
        let library = Some(std::fs::read(&library).map_err(|e| no_scratch(&e))?);
        return Ok(LibraryOutput { library, messages, undefined: undefined(&stderr) });
    }
    nvcc.blame(&done, &messages, job, scratch.path())?;
    Ok(LibraryOutput { library: None, messages, undefined: Vec::new() })
}

/// The names in the linker's lines that speak of an undefined reference.
fn undefined(stderr: &str) -> Vec<String> {
    let names = stderr.lines().filter_map(|line| line.split_once("undefined reference to "));
    let names =
        names.map(|(_, name)| name.trim().trim_matches(['`', '\'', '"', '‘', '’']).to_owned());
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::undefined;

    #[test]
    fn what_the_linker_misses_is_listed_once() {
        let stderr = "/usr/bin/ld: /tmp/x.o: in function `f(P&, int)':\n\
            x.cpp:(.text+0xfe): warning: undefined reference to `__cudaPushCallConfiguration'\n\
            x.cpp:(.text+0xff): warning: undefined reference to `g(P&, int)'\n\
            ld: x.cpp:(.text+0xff): warning: undefined reference to `g(P&, int)'\n";
        assert_eq!(undefined(stderr), ["__cudaPushCallConfiguration", "g(P&, int)"]);
    }
}
