//! Host code and kernels: shared libraries without NVIDIA's runtime, and whole programs with it.

use super::stage::Stage;
use super::{NvccFrontEnd, Place, no_scratch, scratch};
use crate::front_end::{FrontEnd, HostOutput, Job, Linked, Output, Target};
use crate::messages::{Message, parse};
use diagnostic::Failure;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Asks for a shared library.
const SHARED: &str = "-shared";

/// The kernels are in it as PTX. With `-Og` the loops of a training are as fast as with `-O2`, and a program of many
/// functions compiles in half the time. The linker is asked to name what is missing, for a library may call what it lacks.
const LIBRARY: [&str; 13] = [
    SHARED,
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

/// What stands around a name in the linker's lines.
const QUOTES: [char; 5] = ['`', '\'', '"', '‘', '’'];

/// The options for a target.
pub fn flags(nvcc: &Path, target: Target) -> Vec<OsString> {
    match target {
        Target::Library { arch } => {
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
    target: Target,
    linked: Option<&Linked<'_>>,
) -> Result<HostOutput, Failure> {
    let scratch = scratch()?;
    let stage = Stage::new(job, scratch.path()).map_err(|e| no_scratch(&e))?;
    let output = scratch.path().join("out");
    let mut arguments: Vec<OsString> = nvcc.host_flags(target);
    // The virtual architecture is among the flags.
    arguments.extend(nvcc.flags(job).into_iter().skip(1));
    arguments.extend(stage.options());
    let out = ["-o".into(), output.clone().into()];
    let done = if let Some(Linked { glue, objects }) = linked {
        // Its object must not be that of the source.
        let glue_file = scratch.path().join("gradient_puzzles_glue.cpp");
        std::fs::write(&glue_file, glue.text).map_err(|e| no_scratch(&e))?;
        arguments.extend([Stage::source(), glue_file.clone().into()]);
        for (i, object) in objects.iter().enumerate() {
            let file = scratch.path().join(format!("other{i}.o"));
            std::fs::write(&file, object).map_err(|e| no_scratch(&e))?;
            arguments.push(file.into());
        }
        arguments.extend(out);
        nvcc.run_side_by_side(job, &stage, glue, &glue_file, &arguments)?
    } else {
        let language = language(job.file);
        let is_c = language == "c";
        let unfit = |argument: &OsString| {
            argument == SHARED || is_c && argument.to_string_lossy().starts_with("-std=c++")
        };
        arguments.retain(|argument| !unfit(argument));
        arguments.extend(["-c".into(), "-x".into(), language.into(), Stage::source()]);
        arguments.extend(out);
        nvcc.run(Place::of(job, scratch.path()), &arguments)?
    };
    let stderr = done.stderr_text();
    let mut messages = stage.restore(parse(&stderr));
    let refused = refused_by_linker(&stderr);
    if !refused.is_empty() {
        messages = refused;
    }
    if let Target::Library { arch } = target
        && (job.inline_ptx || stderr.contains("ptxas fatal"))
    {
        let Output { ptx, messages } = nvcc.ptx(&Job { arch, ..*job })?;
        if ptx.is_none() {
            return Ok(HostOutput { binary: None, messages, undefined: Vec::new() });
        }
    }
    if done.success() {
        let binary = Some(std::fs::read(&output).map_err(|e| no_scratch(&e))?);
        return Ok(HostOutput { binary, messages, undefined: undefined(&stderr) });
    }
    nvcc.blame(&done, &messages, job, scratch.path())?;
    Ok(HostOutput { binary: None, messages, undefined: Vec::new() })
}

/// What nvcc calls the language of a file with this name.
fn language(file: &OsStr) -> &'static str {
    match Path::new(file).extension().and_then(OsStr::to_str) {
        Some("cpp" | "cc" | "cxx" | "C") => "c++",
        Some("c") => "c",
        _ => "cu",
    }
}

/// What the linker says of names that are defined twice, and of libraries that are not there.
fn refused_by_linker(stderr: &str) -> Vec<Message> {
    let texts: BTreeSet<String> = stderr
        .lines()
        .filter_map(|line| {
            if let Some((_, rest)) = line.split_once("multiple definition of ") {
                let name = rest.split([';', ':']).next().unwrap_or(rest).trim_matches(QUOTES);
                return Some(format!("`{name}` is defined more than once"));
            }
            let (_, rest) = line.split_once("cannot find -l")?;
            let name = rest.split(':').next().unwrap_or(rest);
            Some(format!("there is no library `{name}` on this machine"))
        })
        .collect();
    texts.into_iter().map(|text| Message { text, ..Message::default() }).collect()
}

/// The names in the linker's lines that speak of an undefined reference.
fn undefined(stderr: &str) -> Vec<String> {
    let names = stderr.lines().filter_map(|line| line.split_once("undefined reference to "));
    let names = names.map(|(_, name)| name.trim().trim_matches(QUOTES).to_owned());
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::{refused_by_linker, undefined};

    #[test]
    fn what_the_linker_refuses_is_said_without_its_files() {
        let stderr = "/usr/bin/ld: /tmp/r.o: in function `main':\n\
            r.cpp:(.text+0x2e): multiple definition of `main'; /tmp/q.o:q.cpp:(.text+0x2e): first defined here\n\
            /usr/bin/ld: cannot find -lcublas: No such file or directory\n";
        let texts: Vec<String> = refused_by_linker(stderr).into_iter().map(|m| m.text).collect();
        assert_eq!(
            texts,
            ["`main` is defined more than once", "there is no library `cublas` on this machine"]
        );
    }

    #[test]
    fn what_the_linker_misses_is_listed_once() {
        let stderr = "/usr/bin/ld: /tmp/x.o: in function `f(P&, int)':\n\
            x.cpp:(.text+0xfe): warning: undefined reference to `__cudaPushCallConfiguration'\n\
            x.cpp:(.text+0xff): warning: undefined reference to `g(P&, int)'\n\
            ld: x.cpp:(.text+0xff): warning: undefined reference to `g(P&, int)'\n";
        assert_eq!(undefined(stderr), ["__cudaPushCallConfiguration", "g(P&, int)"]);
    }
}
