//! A compilation, with the cache before it and its paths put right after it.

mod assembler;
pub(crate) mod library;
#[cfg(test)]
mod tests;

pub use assembler::Assembler;

use super::cache::{Cache, Key};
use super::confinement;
use super::env::Env;
use super::explain::{self, Sources};
use super::file_names::FileNames;
use super::find::{Finder, Nvcc, UnusableNvcc};
use super::front_end::{FrontEnd, Job, Output, VirtualArch};
use super::includes::{Headers, Inputs, SearchPath};
use super::messages::{Level, Message};
use super::nvcc::NvccFrontEnd;
use super::ptx::rename_files;
use super::source_file::{SourceFile, read_source, shown};
use super::usage::Usage;
use super::wheels;
use diagnostic::{Diagnostic, Severity};
use diagnostic::{Failure, FailureKind};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A kernel file to compile to PTX.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The path of the `.cu` file.
    pub source: &'a Path,
    /// Folders for `#include`, in order.
    pub include_dirs: &'a [PathBuf],
    /// What it may include.
    pub headers: Headers<'a>,
    /// Paths in messages and line information are relative to this folder where they are inside it.
    pub base: &'a Path,
    /// Architecture of the PTX.
    pub arch: VirtualArch,
    /// Take the first architecture on which copies that the source may wait for are asynchronous, if that is newer and the GPU runs it. On
    /// older ones a kernel that does not wait is correct.
    pub asynchronous: bool,
    /// Compile for a debugger: not optimised, with the names of variables.
    pub debugger: bool,
    /// Also make machine code for this GPU: 90 for `sm_90`.
    pub gpu: Option<u32>,
}

impl Request<'_> {
    /// The architecture for a source that uses this.
    fn arch(&self, usage: Usage) -> VirtualArch {
        let first = VirtualArch::FIRST_ASYNCHRONOUS;
        let runs = self.gpu.is_none_or(|gpu| gpu >= first.0);
        let is_raised = self.asynchronous && usage.asynchronous() && runs;
        if is_raised && self.arch.0 < first.0 { first } else { self.arch }
    }
}

/// What a compilation gave.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// PTX with line information, whose `.file` names are shown paths (see [`Request::base`]).
    pub ptx: String,
    /// Machine code for [`Request::gpu`].
    pub machine_code: Option<Vec<u8>>,
    /// Warnings that a student should see although the file compiles.
    pub warnings: Vec<Diagnostic>,
    /// The source as it was compiled.
    pub source: SourceFile,
    /// Files that it may include, but for the compilers' own: what to watch besides the source.
    pub headers: Vec<PathBuf>,
    /// True if no compiler ran.
    pub from_cache: bool,
    /// Time of the whole, in and around the compiler.
    pub time: Duration,
}

/// A compiler and the cache of its output.
#[derive(Debug)]
pub struct Toolchain {
    front_end: Arc<dyn FrontEnd>,
    nvcc: Nvcc,
    cache: Cache,
    /// Folders that the host compiler searches because of environment variables.
    host_folders: Vec<PathBuf>,
}

/// What the cache keeps of a compilation. Paths in it are relative to numbered folders, see [`Roots`].
#[derive(Serialize, Deserialize)]
struct CachedPtx {
    ptx: String,
    messages: Vec<Message>,
}

impl Toolchain {
    /// Finds nvcc as [`Finder::search`] does (`explicit` is `--nvcc`), else installs it.
    ///
    /// # Errors
    /// There is none, and it cannot be installed: an environment failure that says what to do.
    pub fn locate(env: &Env, explicit: Option<&Path>) -> Result<Self, Failure> {
        if let (Some(found), _) = Self::find(env, explicit)? {
            return Ok(found);
        }
        let folder = cache_folder(env)?;
        wheels::install(env, &folder)?;
        Self::find(env, explicit)?.0.ok_or_else(|| {
            let title =
                format!("the compiler that was installed in {} does not run", folder.display());
            let help = "`grader doctor` says more; remove that folder to install it again";
            Failure::new(FailureKind::Environment, title, help)
        })
    }

    /// As [`Toolchain::locate`], but installs nothing; also gives what was passed over.
    ///
    /// # Errors
    /// What was named explicitly will not do, or there is no place for a cache.
    pub fn find(
        env: &Env,
        explicit: Option<&Path>,
    ) -> Result<(Option<Self>, Vec<UnusableNvcc>), Failure> {
        let cache = Cache::new(cache_folder(env)?.join("compiled"));
        let search = Finder { env, explicit, root: Path::new("/"), cache: &cache }.search()?;
        Ok((search.nvcc.map(|nvcc| Self::new(nvcc, env, cache)), search.unusable))
    }

    /// A toolchain around a known nvcc.
    pub fn new(nvcc: Nvcc, env: &Env, cache: Cache) -> Self {
        let host_folders = env.host_include_folders();
        let front_end = Arc::new(NvccFrontEnd::new(nvcc.clone(), env.clone(), cache.clone()));
        Self { front_end, nvcc, cache, host_folders }
    }

    /// The compiler that is used.
    pub fn nvcc(&self) -> &Nvcc {
        &self.nvcc
    }

    /// Name and version of the compiler, as in "nvcc 13.0.88".
    pub fn describe(&self) -> String {
        self.front_end.describe()
    }

    /// Compiles a file, or takes the result from the cache. A cache that cannot be written is a warning.
    ///
    /// # Errors
    /// A kernel failure with the compiler's messages, an environment failure where the compiler cannot work, a usage
    /// failure where the file cannot be read.
    pub fn compile(&self, request: &Request<'_>) -> Result<Compiled, Failure> {
        let start = Instant::now();
        let Submission { read, roots, folders, inputs, students } = self.submission(
            request.source,
            &[],
            request.base,
            request.include_dirs,
            request.headers,
        )?;
        let FileRead { mut source, bytes, path, folder, file } = read;
        let search = SearchPath { folders: &folders };
        let job = Job {
            include_dirs: &roots.folders[1..],
            students: &students,
            readable: request.headers.readable(&students),
            arch: request.arch(inputs.usage),
            debugger: request.debugger,
            library: inputs.usage.library(),
            inline_ptx: inputs.usage.inline_ptx(),
            supplied: inputs.usage.supplied(),
            ..Job::new(&folder, &file, &bytes)
        };
        source.inline_ptx = job.inline_ptx;
        let mut reader = Sources::new(&job, request.headers, request.base, &source);
        let main = file.to_string_lossy();
        let names = FileNames::new(&folder, &file, &roots.folders[1..]);
        let alias = folder.join(names.alias());

        let mut warnings = Vec::new();
        let key = self.key(&job, inputs.key);
        let kept = key
            .and_then(|key| self.cache.get(&key))
            .and_then(|entry| serde_json::from_slice(&entry).ok());
        let from_cache = kept.is_some();
        let mut kept: CachedPtx = if let Some(kept) = kept {
            kept
        } else {
            let Output { ptx, mut messages } = self.front_end.ptx(&job)?;
            let Some(ptx) = ptx else {
                return Err(explain::failure(&messages, &main, &mut reader));
            };
            roots.keep_warnings(&mut messages, &job);
            let kept = CachedPtx {
                ptx: rename_files(&ptx, |file| roots.hide(Path::new(&file))),
                messages,
            };
            // The compiler read the files again: what it made may not be kept under the name of what they were before.
            if let (Some(key), Ok(entry)) = (key, serde_json::to_vec(&kept))
                && inputs.are_unchanged(&path, &[], &folder, search, request.headers)
            {
                warnings.extend(self.keep(&key, &entry));
            }
            kept
        };
        roots.unhide_all(&mut kept.messages);
        let mut compiled = Compiled {
            ptx: rename_files(&kept.ptx, |file| match roots.unhide(file) {
                path if path == alias => source.path.display().to_string(),
                path => shown(&path, request.base).display().to_string(),
            }),
            machine_code: None,
            warnings: [explain::warnings(&kept.messages, &main, &mut reader), warnings].concat(),
            source,
            headers: inputs.headers,
            from_cache,
            time: start.elapsed(),
        };
        if request.headers != Headers::Any {
            compiled.warnings.extend(confinement::warning());
        }
        if let Some(sm) = request.gpu {
            let (code, cached) = self.machine_code(&kept.ptx, sm)?;
            compiled.machine_code = Some(code);
            compiled.from_cache &= cached;
            compiled.time = start.elapsed();
        }
        Ok(compiled)
    }

    /// Reads a source, with `behind` after its text, and finds what it includes.
    fn submission(
        &self,
        source: &Path,
        behind: &[u8],
        base: &Path,
        include_dirs: &[PathBuf],
        headers: Headers<'_>,
    ) -> Result<Submission, Failure> {
        let mut read = FileRead::of(source, base, headers)?;
        read.bytes.extend_from_slice(behind);
        let roots = Roots::new(&read.folder, include_dirs);
        let folders = [&roots.folders[1..], &self.host_folders].concat();
        let search = SearchPath { folders: &folders };
        let inputs = Inputs::of(&read.bytes, &read.folder, search, headers);
        let students = [&inputs.headers[..], slice::from_ref(&read.path)].concat();
        Ok(Submission { read, roots, folders, inputs, students })
    }

    /// The lines of a file that the compiler rejects, all of them, from 1. None if it compiles.
    ///
    /// # Errors
    /// The file cannot be read, or the compiler cannot work.
    pub fn rejected_lines(&self, request: &Request<'_>) -> Result<Vec<u32>, Failure> {
        let FileRead { bytes, path, folder, file, .. } =
            FileRead::of(request.source, request.base, request.headers)?;
        let folders = [request.include_dirs, &self.host_folders].concat();
        let search = SearchPath { folders: &folders };
        let inputs = Inputs::of(&bytes, &folder, search, request.headers);
        let readable = [&inputs.headers[..], slice::from_ref(&path)].concat();
        let job = Job {
            include_dirs: request.include_dirs,
            students: slice::from_ref(&path),
            readable: request.headers.readable(&readable),
            arch: request.arch(inputs.usage),
            debugger: request.debugger,
            inline_ptx: inputs.usage.inline_ptx(),
            supplied: inputs.usage.supplied(),
            ..Job::new(&folder, &file, &bytes)
        };
        let messages = self.front_end.ptx(&job)?.messages;
        let errors =
            messages.iter().filter(|m| m.level == Level::Error && job.is_students(&m.file));
        Ok(errors.map(|m| m.line).collect())
    }

    /// The assembler of the compiler, with the same cache.
    pub fn assembler(&self) -> Assembler {
        Assembler::new(Arc::clone(&self.front_end), self.cache.clone())
    }

    /// Machine code from PTX, and whether it came from the cache.
    fn machine_code(&self, ptx: &str, sm: u32) -> Result<(Vec<u8>, bool), Failure> {
        let key = self.front_end.identity().map(|identity| {
            Key::of("machine code", [identity.as_slice(), &sm.to_le_bytes(), ptx.as_bytes()])
        });
        if let Some(code) = key.and_then(|key| self.cache.get(&key)) {
            return Ok((code, true));
        }
        let code = self.front_end.machine_code(ptx, sm)?;
        if let Some(key) = key {
            // A cache that cannot be written was reported with the PTX.
            let _ = self.keep(&key, &code);
        }
        Ok((code, false))
    }

    /// The cache key of a job, unless it must not be cached.
    fn key(&self, job: &Job<'_>, inputs: Option<Key>) -> Option<Key> {
        let identity = self.front_end.identity()?;
        let inputs = inputs?;
        let flags = self.front_end.flags(job);
        let parts = [identity.as_slice(), inputs.as_bytes(), job.file.as_bytes()];
        Some(Key::of("ptx", parts.into_iter().chain(flags.iter().map(|f| f.as_bytes()))))
    }

    fn keep(&self, key: &Key, entry: &[u8]) -> Option<Diagnostic> {
        let error = self.cache.put(key, entry).err()?;
        let folder = self.cache.folder().display();
        Some(Diagnostic {
            severity: Severity::Warning,
            title: format!("cannot keep the compiled kernel in {folder}: {error}"),
            source: None,
            help: vec![
                "it is compiled again at the next run; GRADER_CACHE names another folder".into(),
            ],
        })
    }
}

/// The cache folder of this environment.
///
/// # Errors
/// No variable says where it could be.
pub fn cache_folder(env: &Env) -> Result<PathBuf, Failure> {
    env.cache_folder().ok_or_else(|| {
        let title = "there is no place for the grader's cache: HOME is not set";
        Failure::new(FailureKind::Environment, title, "set GRADER_CACHE to a writable folder")
    })
}

/// Is this file a link, and not to a file in the folder that holds the link? `folder` is that of the file itself.
fn leads_away(source: &Path, folder: &Path) -> bool {
    let is_link = source.symlink_metadata().is_ok_and(|file| file.is_symlink());
    let held = std::path::absolute(source).ok().and_then(|path| path.parent()?.canonicalize().ok());
    is_link && held.as_deref() != Some(folder)
}

/// A source file with what it may include.
struct Submission {
    read: FileRead,
    roots: Roots,
    /// Where headers are searched.
    folders: Vec<PathBuf>,
    inputs: Inputs,
    /// The source and the headers: what the compiler says of others is not shown.
    students: Vec<PathBuf>,
}

/// A source file as it was read.
struct FileRead {
    /// Its path in messages, and its text.
    source: SourceFile,
    bytes: Vec<u8>,
    /// Its real path: a link is compiled where it leads to.
    path: PathBuf,
    /// The folder of that path.
    folder: PathBuf,
    /// The last part of that path.
    file: OsString,
}

impl FileRead {
    /// Reads a file. Its path is shown relative to `base` where it is inside it.
    ///
    /// # Errors
    /// It cannot be read, or is a submission that links to another folder: a usage failure.
    fn of(source: &Path, base: &Path, headers: Headers<'_>) -> Result<Self, Failure> {
        let shown_path = shown(source, base);
        let unreadable = |e: std::io::Error| {
            let title = format!("cannot read {}: {e}", shown_path.display());
            if e.kind() == std::io::ErrorKind::FileTooLarge {
                let help = "a kernel has a few kilobytes: is this the file that you mean?";
                return Failure::new(FailureKind::Kernel, title, help);
            }
            Failure::new(FailureKind::Usage, title, "check the path")
        };
        let bytes = read_source(source).map_err(unreadable)?;
        let path = source.canonicalize().map_err(unreadable)?;
        let (Some(folder), Some(file)) = (path.parent(), path.file_name()) else {
            return Err(unreadable(std::io::ErrorKind::IsADirectory.into()));
        };
        if headers != Headers::Any && leads_away(source, folder) {
            let title = format!("{} is a link to a file in another folder", shown_path.display());
            let help =
                "a link would show a file of yours to whoever submits it: name the file itself";
            return Err(Failure::new(FailureKind::Usage, title, help));
        }
        let (folder, file) = (folder.to_owned(), file.to_owned());
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Self { source: SourceFile::new(shown_path, text), bytes, path, folder, file })
    }
}

/// The folders that a compilation names, by number, so that what is kept of it does not depend on where they are.
struct Roots {
    /// The source's folder, then the include folders; real paths.
    folders: Vec<PathBuf>,
}

impl Roots {
    fn new(folder: &Path, include_dirs: &[PathBuf]) -> Self {
        let real = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
        let folders = [folder].into_iter().chain(include_dirs.iter().map(PathBuf::as_path));
        Self { folders: folders.map(|f| real(f).unwrap_or_else(|_| f.to_owned())).collect() }
    }

    /// `#0/x.cu` for a file in the first folder; other paths as they are.
    fn hide(&self, file: &Path) -> String {
        let path = self.folders[0].join(file);
        let path = path.canonicalize().unwrap_or(path);
        for (number, folder) in self.folders.iter().enumerate() {
            if let Ok(rest) = path.strip_prefix(folder) {
                return format!("#{number}/{}", rest.display());
            }
        }
        path.display().to_string()
    }

    /// Keeps the warnings about the student's files, and hides the folders of these.
    fn keep_warnings(&self, messages: &mut Vec<Message>, job: &Job<'_>) {
        messages.retain(|m| m.level == Level::Warning && job.is_students(&m.file));
        for message in messages {
            message.file = self.hide(Path::new(&message.file));
        }
    }

    /// Names the files of kept messages by their paths again.
    fn unhide_all(&self, messages: &mut [Message]) {
        for message in messages {
            message.file = self.unhide(&message.file).display().to_string();
        }
    }

    fn unhide(&self, name: &str) -> PathBuf {
        let hidden = name.strip_prefix('#').and_then(|rest| rest.split_once('/'));
        let folder = hidden.and_then(|(number, rest)| {
            Some((self.folders.get(number.parse::<usize>().ok()?)?, rest))
        });
        folder.map_or_else(|| name.into(), |(folder, rest)| folder.join(rest))
    }
}
