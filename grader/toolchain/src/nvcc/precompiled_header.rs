//! Headers that the host compiler has parsed before.
//!
//! What the front end makes of a source starts with all that comes from headers, and an edit of the source leaves that as it
//! was. When the same text comes a second time, the host compiler is asked for a precompiled header of it, which it then
//! takes instead. It is named by a hash of the text, the command and the compiler; g++ itself checks that its own version
//! and the options are those that it was made with. The text is already preprocessed, so that no macro and no order of
//! includes can make a difference. Any trouble costs time only: then the whole text is compiled, which is also what happens
//! when the compiler has something to say, so that its messages are those of the whole text.

use super::NvccFrontEnd;
use super::plan::{Files, options};
use crate::cache::Key;
use crate::front_end::FrontEnd;
use crate::process::{Finished, Termination};
use diagnostic::Failure;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::SystemTime;

/// The name of the folder in the cache.
pub const FOLDER: &str = "precompiled";

/// Files that are kept, those used last: a text and its precompiled header are two, of some 25 MB.
const MAX_FILES: usize = 12;

/// Bytes of text that are parsed as fast as they are looked up.
const SHORT: usize = 100_000;

/// Runs a command in a shell.
type Run<'r> = dyn Fn(&str) -> Result<Finished, Failure> + Sync + 'r;

/// Runs the host compiler's command on the front end's output, which is among `files`. There the source has this `name`.
pub fn compile(
    nvcc: &NvccFrontEnd,
    name: &str,
    command: &str,
    files: &Files,
    run: &Run<'_>,
) -> Result<Finished, Failure> {
    let text = fs::read_to_string(&files.source).unwrap_or_default();
    let (Some(own), Some(identity)) = (start_of_own_text(&text, name), nvcc.identity()) else {
        return run(command);
    };
    let (headers, own) = text.split_at(own);
    let header = header_name(headers, command, files, &identity);
    let header = nvcc.precompiled_headers().join(header);
    // The path stands in quotes, in a command and in an include.
    if header.to_str().is_none_or(|path| path.contains(['"', '$', '`', '\\', '\n'])) {
        return run(command);
    }
    let parsed = header.with_extension("h.gch");
    if parsed.exists() {
        if let Ok(command) = behind_header(command, files, &header, &text, own) {
            let done = run(&command)?;
            if done.success() && done.stderr.is_empty() {
                set_used(&header);
                set_used(&parsed);
                return Ok(done);
            }
        }
        return run(command);
    }
    if !header.exists() {
        // Where it cannot be written, the next time is another first time.
        let _ = keep(&header, headers);
        return run(command);
    }
    thread::scope(|scope| {
        let parsing = scope.spawn(|| parse(command, files, &header, &parsed, run));
        let done = run(command);
        // Of what fails there, only the time is lost.
        let _ = parsing.join().unwrap_or_else(|panic| resume_unwind(panic));
        done
    })
}

/// Where the source's own text begins in the front end's output, if much from headers stands before it.
fn start_of_own_text(text: &str, name: &str) -> Option<usize> {
    // `# 3 "x.cu"` stands where the source has its first word; the top names the file that was compiled.
    let (first, rest) = text.split_once('\n').filter(|(first, _)| first.starts_with("# 1 "))?;
    let name = format!("\"{name}\"");
    let start = rest.match_indices("\n# ").map(|(at, _)| at + 1).find(|&at| {
        let line = rest[at + 2..].trim_start_matches(|c: char| c.is_ascii_digit());
        line.strip_prefix(' ').is_some_and(|line| line.starts_with(&name))
    })?;
    let start = first.len() + 1 + start;
    (start > SHORT).then_some(start)
}

/// A name for all that the parsed headers depend on: their text, the compiler, and its options without its files.
fn header_name(text: &str, command: &str, files: &Files, compiler: &[u8]) -> String {
    let folder = files.source.parent().unwrap_or(Path::new("/"));
    let parts = [compiler, text.as_bytes()];
    let parts = parts.into_iter().chain(options(command, folder).map(str::as_bytes));
    format!("{}.h", Key::of("precompiled header", parts).hex())
}

/// Writes the source with an include in the place of its headers; the command that compiles that.
fn behind_header(
    command: &str,
    files: &Files,
    header: &Path,
    text: &str,
    own: &str,
) -> io::Result<String> {
    // Which warnings are on at the end of the headers, which a precompiled header does not remember.
    let headers = text[..text.len() - own.len()].lines();
    let pragmas = headers.filter(|line| line.starts_with("#pragma GCC diagnostic"));
    let pragmas: String = pragmas.flat_map(|line| [line, "\n"]).collect();
    let source = files.source.with_extension("own.cpp");
    fs::write(&source, format!("#include \"{}\"\n{pragmas}{own}", header.display()))?;
    Ok(files.replace(command, &Files { source, object: files.object.clone() }))
}

/// Keeps the text of headers, and removes what was used longest ago.
fn keep(header: &Path, text: &str) -> io::Result<()> {
    let folder = header.parent().unwrap_or(header);
    fs::create_dir_all(folder)?;
    let mut used: Vec<(SystemTime, PathBuf)> = fs::read_dir(folder)?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
        })
        .collect();
    used.sort();
    for (_, path) in used.iter().rev().skip(MAX_FILES - 2) {
        // Another grader may have removed it first.
        let _ = fs::remove_file(path);
    }
    let mut file = new_file(folder)?;
    file.write_all(text.as_bytes())?;
    file.persist(header)?;
    Ok(())
}

/// Has the headers parsed, unless another grader is about it.
fn parse(
    command: &str,
    files: &Files,
    header: &Path,
    parsed: &Path,
    run: &Run<'_>,
) -> io::Result<()> {
    let lock = File::open(header)?;
    if lock.try_lock().is_err() || parsed.exists() {
        return Ok(());
    }
    let object = new_file(header.parent().unwrap_or(header))?.into_temp_path();
    let other = Files { source: header.to_owned(), object: object.to_path_buf() };
    let command = files.replace(command, &other).replace(" -c -x c++ ", " -x c++-header ");
    let Ok(done) = run(&command) else { return Ok(()) };
    match done.ending {
        Termination::Code(0) => object.persist(parsed)?,
        // An empty file says not to try again: the compiler then reads the header's text.
        Termination::Code(_) => {
            fs::write(&object, "")?;
            object.persist(parsed)?;
        }
        Termination::Signal(_) | Termination::TimedOut => {}
    }
    Ok(())
}

fn new_file(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let readable = Permissions::from_mode(0o666);
    tempfile::Builder::new().prefix(".new-").permissions(readable).tempfile_in(folder)
}

/// Sets the time of last use. Where it cannot be set, the file goes a little early.
fn set_used(file: &Path) {
    let _ = File::open(file).and_then(|file| file.set_modified(SystemTime::now()));
}

#[cfg(test)]
mod tests;
