//! Kernels to PTX without nvcc itself: its two programs, and only what is the source's own for the first of them.
//!
//! nvcc has a megabyte of headers preprocessed in front of every source, the same for all of them, before its compiler (cicc)
//! reads the result. Here the text of these headers and their macros are kept: the preprocessor reads the source behind the
//! macros alone, and what it makes of it stands behind the headers' text. That is the text which nvcc's way gives, but for the
//! lines that say where a header is included once more and left out, and so is the PTX. Whatever is not as expected is left to
//! nvcc: other commands, a header that a file of the user's could stand in for, any word of the preprocessor's.

use super::plan::{DryRun, after, only};
use super::stage::Stage;
use super::{NvccFrontEnd, Place, SIGNALLED, is_readable, no_scratch, scratch};
use crate::cache::Key;
use crate::confinement::installation;
use crate::file_names::SOURCE;
use crate::front_end::{FrontEnd, Job};
use crate::process::{Finished, Termination};
use crate::usage::StandardLibrary;
use diagnostic::Failure;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Stands for the folder in which a command runs.
const FOLDER: &str = "@folder@";

/// The files of macros: those of CUDA's headers, and those of system headers, which the preprocessor marks where it expands them.
const MACROS: [&str; 2] = ["macros.h", "system_macros.h"];

/// With one of these, a header means something else when it is included a second time, or in another order.
const STATEFUL: [&[u8]; 3] = [b"pragma once", b"push_macro", b"__COUNTER__"];

/// What nvcc runs with certain arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Commands {
    variables: Vec<(String, String)>,
    /// Preprocesses the source, without the headers that nvcc includes in front of it.
    preprocess: String,
    /// The options that include these headers.
    includes: String,
    /// Compiles what the preprocessor wrote.
    compile: String,
    /// The file that is written by the one and read by the other.
    preprocessed: String,
}

/// What does not change from source to source.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Recipe {
    commands: Commands,
    macros: [String; 2],
    /// The parts of the paths of the headers: a file of such a name beside the source might be taken for one of them.
    names: BTreeSet<String>,
}

/// What an attempt to make a recipe gave.
enum Attempt {
    /// The recipe, and the text of the headers.
    Made(Box<Recipe>, Vec<u8>),
    /// All programs did their work, and it is not this way: so it will be the next time.
    NotThisWay,
    /// Something failed, which may pass: a program was killed or had no memory, a disk was full.
    Failed,
}

/// Runs what nvcc would run with these arguments to make PTX. `None` if nvcc itself must do it.
pub fn run(
    nvcc: &NvccFrontEnd,
    job: &Job<'_>,
    stage: &Stage<'_>,
    arguments: &[OsString],
) -> Result<Option<Finished>, Failure> {
    let start = Instant::now();
    if job.debugger || job.library == StandardLibrary::Whole || !has_cicc(&nvcc.nvcc.path) {
        return Ok(None);
    }
    let Some((recipe, headers)) = kept(nvcc, stage.folder(), arguments)? else { return Ok(None) };
    if hides_one(&recipe.names, job) {
        return Ok(None);
    }
    let Ok(folder) = stage.folder().canonicalize() else { return Ok(None) };
    for (name, text) in MACROS.iter().zip(&recipe.macros) {
        fs::write(folder.join(name), text).map_err(|e| no_scratch(&e))?;
    }
    let place = Place::of(job, &folder);
    let Commands { variables, preprocess, compile, preprocessed, .. } = &recipe.commands;
    let shell = |command: &str| {
        let mut shell = nvcc.env.command("/bin/sh");
        // `exec` spares a process.
        shell.args([
            "-c",
            &format!("exec {}", command.replace(FOLDER, &folder.display().to_string())),
        ]);
        shell.envs(variables.iter().cloned());
        nvcc.run_command(shell, start, place, &|| false)
    };
    let done = shell(&format!("{preprocess} -imacros {} -imacros {}", MACROS[0], MACROS[1]))?;
    if !matches!(done.ending, Termination::Code(..SIGNALLED)) {
        // nvcc would only take the same time again.
        return Ok(Some(done));
    }
    if !done.success() || !done.stderr.is_empty() {
        return Ok(None);
    }
    let file = folder.join(preprocessed);
    let text = fs::read(&file).unwrap_or_default();
    let Some(own) = start_of_source(&text) else { return Ok(None) };
    fs::write(&file, [&headers, &text[own..]].concat()).map_err(|e| no_scratch(&e))?;
    let done = shell(compile)?;
    Ok(is_readable(&done).then_some(done))
}

/// Does nvcc's compiler lie where NVIDIA puts it?
fn has_cicc(nvcc: &Path) -> bool {
    installation(nvcc).is_some_and(|folder| folder.join("nvvm/bin/cicc").exists())
}

/// Where the source begins in what the preprocessor wrote.
fn start_of_source(text: &[u8]) -> Option<usize> {
    let start = format!("\n# 1 \"{}\"\n", Stage::source().display());
    let found = text.windows(start.len()).position(|window| window == start.as_bytes());
    found.map(|at| at + 1)
}

/// Might a file that the compilers can see be taken for one of the headers?
fn hides_one(names: &BTreeSet<String>, job: &Job<'_>) -> bool {
    let folders = job.include_dirs.iter().map(PathBuf::as_path).chain([job.folder]);
    let mut entries = folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
    entries.any(|entry| {
        entry.is_ok_and(|entry| entry.file_name().to_str().is_some_and(|name| names.contains(name)))
    })
}

/// The recipe for these arguments, and the text of the headers: as they were made before, else made now. `None` where this way
/// is none.
fn kept(
    nvcc: &NvccFrontEnd,
    folder: &Path,
    arguments: &[OsString],
) -> Result<Option<(Recipe, Vec<u8>)>, Failure> {
    // Headers in such folders may change.
    let (Some(identity), true) = (nvcc.identity(), nvcc.env.host_include_folders().is_empty())
    else {
        return Ok(None);
    };
    let here = folder.as_os_str().as_bytes();
    let arguments_anywhere =
        arguments.iter().map(|word| match word.as_bytes().strip_prefix(here) {
            Some(rest) => [FOLDER.as_bytes(), rest].concat(),
            None => word.as_bytes().to_vec(),
        });
    let path = ["PATH", "LD_LIBRARY_PATH"].map(|name| nvcc.env.get(name).unwrap_or_default());
    let parts: Vec<Vec<u8>> = [identity]
        .into_iter()
        .chain(path.map(|value| value.as_bytes().to_vec()))
        .chain(arguments_anywhere)
        .collect();
    let key = |kind| Key::of(kind, parts.iter().map(Vec::as_slice));
    let (recipe_key, headers_key) = (key("recipe of commands"), key("preprocessed headers"));
    let recipe = nvcc.cache.get(&recipe_key);
    match recipe.and_then(|recipe| serde_json::from_slice::<Option<Recipe>>(&recipe).ok()) {
        Some(None) => return Ok(None),
        Some(Some(recipe)) => {
            if let Some(headers) = nvcc.cache.get(&headers_key) {
                return Ok(Some((recipe, headers)));
            }
        }
        None => {}
    }
    // A cache that cannot be written costs time only.
    let keep = |recipe: Option<&Recipe>| {
        let _ = nvcc.cache.put(&recipe_key, &serde_json::to_vec(&recipe).unwrap_or_default());
    };
    match make(nvcc, arguments)? {
        Attempt::Made(recipe, headers) => {
            let _ = nvcc.cache.put(&headers_key, &headers);
            keep(Some(&recipe));
            Ok(Some((*recipe, headers)))
        }
        Attempt::NotThisWay => {
            keep(None);
            Ok(None)
        }
        Attempt::Failed => Ok(None),
    }
}

/// Asks nvcc for its commands, and the preprocessor for the headers, in a folder without any file of the user's.
fn make(nvcc: &NvccFrontEnd, arguments: &[OsString]) -> Result<Attempt, Failure> {
    let scratch = scratch()?;
    let Ok(folder) = scratch.path().canonicalize() else { return Ok(Attempt::Failed) };
    let source = folder.join(Stage::source());
    let write_source = || {
        fs::create_dir_all(source.parent().unwrap_or(&folder))?;
        fs::write(&source, "")
    };
    write_source().map_err(|e| no_scratch(&e))?;
    let place = Place { scratch: &folder, readable: None };
    let dry = ["--dryrun", "--keep"].map(OsString::from);
    let answer = nvcc.run(place, &[&dry, arguments].concat())?;
    if !answer.success() {
        return Ok(Attempt::Failed);
    }
    let there = arguments.last().and_then(|output| Path::new(output).parent());
    let commands = there.and_then(|there| Commands::read(&answer.stderr_text(), &folder, there));
    let Some(commands) = commands else { return Ok(Attempt::NotThisWay) };
    let mut silent = true;
    // `None` if the preprocessor failed.
    let mut run = |options: &str| -> Result<Option<Vec<u8>>, Failure> {
        let mut shell = nvcc.env.command("/bin/sh");
        shell.args(["-c", &format!("exec {} {options}", commands.preprocess)]);
        shell.envs(commands.variables.iter().cloned());
        let done = nvcc.run_command(shell, Instant::now(), place, &|| false)?;
        silent &= done.stderr.is_empty();
        Ok(fs::read(folder.join(&commands.preprocessed)).ok().filter(|_| done.success()))
    };
    let includes = &commands.includes;
    let (Some(mut headers), Some(definitions), Some(before)) =
        (run(includes)?, run(&format!("{includes} -dD"))?, run("-dM")?)
    else {
        return Ok(Attempt::Failed);
    };
    if !silent {
        return Ok(Attempt::NotThisWay);
    }
    let Some(end) = start_of_source(&headers) else { return Ok(Attempt::NotThisWay) };
    headers.truncate(end);
    let files = files(&String::from_utf8_lossy(&headers));
    for file in &files {
        let text = match fs::read(file) {
            Ok(text) => text,
            Err(e) if e.kind() == ErrorKind::IsADirectory => continue,
            Err(_) => return Ok(Attempt::Failed),
        };
        let has = |word: &[u8]| text.windows(word.len()).any(|window| window == word);
        if STATEFUL.iter().any(|word| has(word)) {
            return Ok(Attempt::NotThisWay);
        }
    }
    let parts = files.iter().flat_map(|file| file.iter().filter_map(OsStr::to_str));
    let names = parts.map(str::to_owned).collect();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let macros = macros(&text(&before), &text(&definitions));
    Ok(Attempt::Made(Box::new(Recipe { commands, macros, names }), headers))
}

/// The files that the preprocessor's lines name.
fn files(text: &str) -> BTreeSet<PathBuf> {
    let marked = text.lines().filter_map(|line| line.strip_prefix("# ")?.split('"').nth(1));
    marked.map(PathBuf::from).filter(|path| path.is_absolute()).collect()
}

/// Texts that define the macros of headers, given those `before` them (`-dM`) and the preprocessor's output with all
/// `definitions` (`-dD`).
fn macros(before: &str, definitions: &str) -> [String; 2] {
    let name = |definition: &str| -> String {
        definition.chars().take_while(|c| c.is_ascii_alphanumeric() || "_$".contains(*c)).collect()
    };
    let before: BTreeMap<String, &str> = before
        .lines()
        .filter_map(|line| line.strip_prefix("#define "))
        .map(|definition| (name(definition), definition))
        .collect();
    let mut after: BTreeMap<String, (&str, bool)> = BTreeMap::new();
    let mut in_system = false;
    for line in definitions.lines() {
        if let Some(definition) = line.strip_prefix("#define ") {
            after.insert(name(definition), (definition, in_system));
        } else if let Some(gone) = line.strip_prefix("#undef ") {
            after.remove(&name(gone));
        } else if let Some((_, flags)) = line.strip_prefix("# ").and_then(|l| l.rsplit_once('"')) {
            in_system = flags.split(' ').any(|flag| flag == "3");
        }
    }
    let mut texts = [String::new(), "#pragma GCC system_header\n".to_owned()];
    for gone in before.keys().filter(|name| !after.contains_key(*name)) {
        writeln!(texts[0], "#undef {gone}").ok();
    }
    for (name, (definition, in_system)) in after {
        let text = &mut texts[usize::from(in_system)];
        match before.get(&name) {
            Some(same) if *same == definition => continue,
            Some(_) => writeln!(text, "#undef {name}").ok(),
            None => None,
        };
        writeln!(text, "#define {definition}").ok();
    }
    texts
}

impl Commands {
    /// Reads what nvcc printed when it was asked from `folder`, with an output in the folder `there`. `None` if these are not
    /// the two commands that make PTX.
    fn read(text: &str, folder: &Path, there: &Path) -> Option<Self> {
        let DryRun { variables, commands } = DryRun::read(text)?;
        let [preprocess, compile] = &commands[..] else { return None };
        only(&commands, |command| command.contains("/cicc\" "))?;
        let (mut left, mut includes) = (preprocess.as_str(), String::new());
        let mut rest = String::new();
        while let Some((before, header)) = left.split_once(" -include \"") {
            let (header, after) = header.split_once('"')?;
            rest += before;
            write!(includes, " -include \"{header}\"").ok()?;
            left = after;
        }
        let preprocess = rest + left;
        let preprocessed = after(&preprocess, " -o ")?.to_owned();
        let anywhere = |command: &str| {
            let command = command.replace(&folder.display().to_string(), FOLDER);
            command.replace(&there.display().to_string(), FOLDER)
        };
        let reads = format!(" \"{preprocessed}\" -o \"");
        let expected = preprocess.contains(" -E ")
            && preprocess.contains(SOURCE)
            && includes.contains("\"cuda_runtime.h\"")
            && Path::new(&preprocessed).is_relative()
            && compile.contains(&reads);
        expected.then(|| Self {
            variables,
            compile: anywhere(compile),
            preprocess: anywhere(&preprocess),
            includes,
            preprocessed,
        })
    }
}

#[cfg(test)]
mod tests;
