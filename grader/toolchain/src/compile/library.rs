//! Host code as a shared library.

use super::{FileRead, Submission, Toolchain};
use crate::cache::Key;
use crate::explain::{self, Sources};
use crate::file_names::FileNames;
use crate::front_end::{Glue, HostOutput, Job, Linked, Target, VirtualArch};
use crate::includes::{Headers, Inputs, SearchPath};
use crate::libraries::{self, LIBRARIES};
use crate::messages::{Level, Message};
use crate::source_file::SourceFile;
use crate::usage::StandardLibrary;
use diagnostic::Diagnostic;
use diagnostic::{Failure, FailureKind};
use serde::{Deserialize, Serialize};
use std::os::unix::ffi::OsStrExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Host code to compile.
#[derive(Clone, Copy, Debug)]
pub struct LibraryRequest<'a> {
    /// The path of the `.cu` file.
    pub source: &'a Path,
    /// C++ that calls its functions, linked with it.
    pub glue: &'a str,
    /// Folders for `#include`, in order.
    pub include_dirs: &'a [PathBuf],
    /// What it may include.
    pub headers: Headers<'a>,
    /// Whether to make a shared library or a program.
    pub target: Target,
    /// Options for nvcc that stand behind its others.
    pub flags: &'a [String],
    /// Further sources, each compiled by itself, with the same options and include folders, and linked.
    pub others: &'a [PathBuf],
    /// Further CUDA sources, compiled with the first as if it included them at its end: so its kernels can call their functions, and
    /// theirs its own.
    pub joined: &'a [PathBuf],
    /// Whether it may use the grader's parts of NVIDIA's libraries.
    pub libraries: bool,
    /// Paths in messages and line information are relative to this folder where they are inside it.
    pub base: &'a Path,
}

/// Host code as a shared library or program, with what the compiler said of it.
#[derive(Clone, Debug)]
pub struct Library {
    /// The shared library or program (ELF).
    pub bytes: Vec<u8>,
    /// What it calls and does not have, as C++ writes it: `f(int)`, `cudaMalloc`.
    pub undefined: Vec<String>,
    /// Warnings that a student should see although the file compiles.
    pub warnings: Vec<Diagnostic>,
    /// The source as it was compiled.
    pub source: SourceFile,
    /// The real path of the source.
    pub path: PathBuf,
    /// Files that it may include, but for the compilers' own.
    pub headers: Vec<PathBuf>,
    /// What the names of files in its line information stand for.
    pub names: FileNames,
    /// True if no compiler ran.
    pub from_cache: bool,
    /// Time of the whole.
    pub time: Duration,
}

/// What the cache holds beside the library itself.
#[derive(Serialize, Deserialize)]
struct LibraryNotes {
    undefined: Vec<String>,
    messages: Vec<Message>,
}

/// What a program needs of NVIDIA's libraries.
#[derive(Default)]
struct Libraries {
    /// The folder of headers.
    folder: Option<PathBuf>,
    /// The sources to link.
    sources: Vec<PathBuf>,
    /// The options of the linker.
    options: Vec<String>,
}

impl Libraries {
    /// The names of the headers, if there is a folder of them.
    fn headers(&self) -> impl Iterator<Item = String> {
        let headers = LIBRARIES.iter().flat_map(|library| library.headers);
        headers.filter(|_| self.folder.is_some()).map(|(name, _)| (*name).to_owned())
    }
}

impl Toolchain {
    /// Compiles host code and its kernels, or takes the result from the cache.
    ///
    /// # Errors
    /// As [`Toolchain::compile`]. What is wrong in the glue is a usage failure: the spec's author wrote it.
    pub fn library(&self, request: &LibraryRequest<'_>) -> Result<Library, Failure> {
        let start = Instant::now();
        let used = self.libraries(request)?;
        let include_dirs = [request.include_dirs, used.folder.as_slice()].concat();
        let names: Vec<String> = match request.headers {
            Headers::Offered { names, .. } => names.iter().cloned().chain(used.headers()).collect(),
            Headers::Any => Vec::new(),
        };
        let headers = match request.headers {
            Headers::Offered { workbook, .. } => Headers::Offered { names: &names, workbook },
            Headers::Any => Headers::Any,
        };
        let mut flags = [request.flags, &used.options].concat();
        if matches!(request.target, Target::Library { .. }) {
            // The grader brings the runtime and these libraries.
            let own = |flag: &String| {
                matches!(flag.as_str(), "-lcudart" | "-lcuda")
                    || LIBRARIES.iter().any(|of| flag == of.option)
            };
            flags.retain(|flag| !own(flag));
        }
        let own =
            LibraryRequest { include_dirs: &include_dirs, headers, flags: &flags, ..*request };
        // Options are for the program, whose macros no library knows.
        let of_library = LibraryRequest {
            include_dirs: used.folder.as_slice(),
            headers: Headers::Any,
            flags: &[],
            joined: &[],
            libraries: false,
            ..*request
        };
        let request = &own;
        let others = thread::scope(|scope| {
            let others = request.others.iter().map(|source| (request, source));
            let others = others.chain(used.sources.iter().map(|source| (&of_library, source)));
            let all: Vec<_> = others
                .map(|(request, source)| scope.spawn(move || self.host_code(request, source, None)))
                .collect();
            let joined = all.into_iter().map(|one| one.join().unwrap_or_else(|e| resume_unwind(e)));
            joined.collect::<Result<Vec<Library>, Failure>>()
        })?;
        let objects: Vec<Vec<u8>> = others.iter().map(|object| object.bytes.clone()).collect();
        let mut library = self.host_code(request, request.source, Some(&objects))?;
        for object in others {
            library.warnings.extend(object.warnings);
            library.headers.extend(object.headers);
            library.headers.push(object.path);
            library.from_cache &= object.from_cache;
        }
        library.time = start.elapsed();
        Ok(library)
    }

    /// What a program needs of NVIDIA's libraries: for a GPU, its own; for the virtual machine, the grader's parts of them.
    fn libraries(&self, request: &LibraryRequest<'_>) -> Result<Libraries, Failure> {
        let mut libraries = Libraries::default();
        if !request.libraries {
            return Ok(libraries);
        }
        let mut called = [false; LIBRARIES.len()];
        let mut includes = false;
        let others = request.others.iter().chain(request.joined).map(PathBuf::as_path);
        for source in [request.source].into_iter().chain(others) {
            let Submission { inputs, .. } =
                self.submission(source, &[], request.base, request.include_dirs, request.headers)?;
            includes |= inputs.usage.library_headers();
            for (called, here) in called.iter_mut().zip(inputs.usage.libraries()) {
                *called |= here;
            }
        }
        if !includes {
            return Ok(libraries);
        }
        let called =
            LIBRARIES.into_iter().zip(called).filter_map(|(of, called)| called.then_some(of));
        match request.target {
            Target::Program { .. } => {
                libraries.options = called.map(|library| library.option.to_owned()).collect();
            }
            Target::Library { .. } => {
                let folder =
                    libraries::folder(self.cache.folder().parent().unwrap_or(Path::new(".")))?;
                libraries.sources = called.map(|library| library.source_in(&folder)).collect();
                libraries.folder = Some(folder);
            }
        }
        Ok(libraries)
    }

    /// Compiles a source and links it with the glue and these objects; without any, to an object file.
    fn host_code(
        &self,
        request: &LibraryRequest<'_>,
        source: &Path,
        objects: Option<&[Vec<u8>]>,
    ) -> Result<Library, Failure> {
        let start = Instant::now();
        let joined = if objects.is_some() { included(request.joined) } else { Vec::new() };
        let Submission { read, roots, folders, inputs, students } =
            self.submission(source, &joined, request.base, request.include_dirs, request.headers)?;
        let FileRead { source, bytes, path, folder, file } = read;
        let search = SearchPath { folders: &folders };
        let glue_inputs = Inputs::of(request.glue.as_bytes(), &folder, search, Headers::Any);
        let readable = [&students[..], &glue_inputs.headers].concat();
        let glue = Glue { text: request.glue, inputs: glue_inputs.key };
        let linked = objects.map(|objects| Linked { glue, objects });
        let first = request.source.canonicalize().unwrap_or_else(|_| request.source.to_owned());
        let program = first.parent().unwrap_or(Path::new("/"));
        // An option can define a name as any text.
        let usage_is_known = request.flags.is_empty();
        let job = Job {
            folder: &folder,
            file: &file,
            text: &bytes,
            include_dirs: &roots.folders[1..],
            students: &students,
            readable: request.headers.readable(&readable),
            arch: match request.target {
                Target::Library { arch } => arch,
                Target::Program { .. } => VirtualArch::default(),
            },
            debugger: false,
            library: match glue_inputs.usage.library() {
                // Brings what it names itself.
                StandardLibrary::Unnamed | StandardLibrary::WithoutSpecialFunctions
                    if usage_is_known =>
                {
                    inputs.usage.library()
                }
                _ => StandardLibrary::Whole,
            },
            inline_ptx: inputs.usage.inline_ptx(),
            device_code: inputs.usage.device_code() || !usage_is_known,
            supplied: inputs.usage.supplied(),
            flags: request.flags,
            program,
        };
        let mut reader = Sources::new(&job, request.headers, request.base, &source);
        let main = file.to_string_lossy();
        let target = request.target;
        let key = self.library_key(&job, inputs.key, linked.as_ref(), target);
        let cached = key.and_then(|(code, notes)| {
            let notes: LibraryNotes = serde_json::from_slice(&self.cache.get(&notes)?).ok()?;
            Some((self.cache.get(&code)?, notes))
        });
        let from_cache = cached.is_some();
        let mut warnings = Vec::new();
        let (binary, mut kept) = if let Some(cached) = cached {
            cached
        } else {
            let HostOutput { binary, mut messages, undefined } =
                self.front_end.host(&job, target, linked.as_ref())?;
            let Some(binary) = binary else {
                // The glue's lines are those of the spec. What names no file is said of the student's kernels, and so is what
                // lies in CUDA's `crt`: of its headers the glue includes none.
                let in_crt =
                    |file: &str| Path::new(file).parent().is_some_and(|dir| dir.ends_with("crt"));
                let students = messages.iter().any(|m| {
                    let of_theirs =
                        || m.file.is_empty() || job.is_students(&m.file) || in_crt(&m.file);
                    m.level == Level::Error && of_theirs()
                });
                return Err(if students {
                    explain::failure(&messages, &main, &mut reader)
                } else {
                    bad_glue(&messages)
                });
            };
            roots.keep_warnings(&mut messages, &job);
            let kept = LibraryNotes { undefined, messages };
            if let (Some((code, notes)), Ok(entry)) = (key, serde_json::to_vec(&kept))
                && inputs.are_unchanged(&path, &joined, &folder, search, request.headers)
            {
                warnings.extend(self.keep(&code, &binary).or_else(|| self.keep(&notes, &entry)));
            }
            (binary, kept)
        };
        roots.unhide_all(&mut kept.messages);
        Ok(Library {
            bytes: binary,
            undefined: kept.undefined,
            warnings: [explain::warnings(&kept.messages, &main, &mut reader), warnings].concat(),
            source,
            path,
            headers: inputs.headers,
            names: FileNames::new(&folder, &file, &roots.folders[1..]),
            from_cache,
            time: start.elapsed(),
        })
    }

    /// Keys of the library and of what is kept beside it, unless it must not be cached. The folders are part of them:
    /// the library's line information holds absolute paths.
    fn library_key(
        &self,
        job: &Job<'_>,
        inputs: Option<Key>,
        linked: Option<&Linked<'_>>,
        target: Target,
    ) -> Option<(Key, Key)> {
        let identity = self.front_end.identity()?;
        let inputs = inputs?;
        let objects: Vec<&[u8]> = match linked {
            Some(Linked { glue, objects }) => {
                let glue = glue.inputs.as_ref()?.as_bytes();
                [glue].into_iter().chain(objects.iter().map(Vec::as_slice)).collect()
            }
            None => vec![b"object"],
        };
        let flags = [self.front_end.flags(job), self.front_end.host_flags(target)].concat();
        let fixed = [
            identity.as_slice(),
            inputs.as_bytes(),
            job.file.as_bytes(),
            job.folder.as_os_str().as_bytes(),
        ];
        let folders = job.include_dirs.iter().map(|folder| folder.as_os_str().as_bytes());
        let parts: Vec<&[u8]> = fixed
            .into_iter()
            .chain(folders)
            .chain(objects)
            .chain(flags.iter().map(|flag| flag.as_bytes()))
            .collect();
        Some((
            Key::of("library", parts.iter().copied()),
            Key::of("library notes", parts.iter().copied()),
        ))
    }
}

/// The text that includes these files.
fn included(files: &[PathBuf]) -> Vec<u8> {
    let line = |file: &PathBuf| {
        let path = file.canonicalize().unwrap_or_else(|_| file.clone());
        [b"\n#include \"", path.as_os_str().as_bytes(), b"\"\n"].concat()
    };
    files.iter().flat_map(line).collect()
}

/// The code of a call, or the declaration of its function, is not C++.
fn bad_glue(messages: &[Message]) -> Failure {
    let error = messages.iter().find(|m| m.level == Level::Error);
    let title = match error {
        Some(error) => format!("{}, line {}: {}", error.file, error.line, error.text),
        None => "the code that calls the functions does not compile".to_owned(),
    };
    let help =
        "the host compiler reports this for `function` or `code` of a [[call]]; fix the spec";
    Failure::new(FailureKind::Usage, title, help)
}
