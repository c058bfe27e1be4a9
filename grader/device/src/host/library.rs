//! Compiles the host functions of a puzzle to a library.

use super::glue;
use crate::arch;
use cpptext::functions::functions;
use cudart::is_driver_function;
use cudart::order::has_streams;
use cudart::vm::SharedModules;
use diagnostic::{Diagnostic, Mark, Severity, Source};
use diagnostic::{Failure, FailureKind};
use puzzle::spec::{Launch, Spec};
use puzzle::workbook::Workbook;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toolchain::scratch::Scratch;
use toolchain::{FileNames, Headers, Library, LibraryRequest, SourceFile, Target, Toolchain};

/// Host code that is compiled and has the functions of its spec.
#[derive(Clone, Debug)]
pub struct HostProgram {
    /// The library in its folder, which goes with the last program that needs it.
    pub(super) file: Arc<(Scratch, PathBuf)>,
    /// Libraries in the same folder with what the workbook's headers only declare.
    pub(super) references: Vec<PathBuf>,
    /// The entry points, by the name of the function.
    pub(super) calls: BTreeMap<String, Entry>,
    /// That all calls together may take, without the device.
    pub(super) seconds: u64,
    /// The compute capability that the virtual machine reports to it; `None`: its own.
    pub(super) capability: Option<(u32, u32)>,
    /// Whether it creates streams.
    pub(super) has_streams: bool,
    /// The device code, which each run would load anew.
    pub(super) modules: SharedModules,
    /// What the compiler's names of files stand for, and what paths are shown relative to.
    pub(super) names: Arc<(FileNames, PathBuf)>,
}

/// How a function is called.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The symbol of the glue.
    pub(super) symbol: String,
    /// For each argument: is it a tensor in the host's memory?
    pub(super) on_host: Vec<bool>,
}

/// Compiles `source` and checks that it has the functions of `spec`.
///
/// # Errors
/// It does not compile, a function is missing or has other parameters, or the compiler cannot work.
pub fn compile(
    toolchain: &Toolchain,
    workbook: &Workbook,
    spec: &Spec,
    source: &Path,
) -> Result<(Library, HostProgram), Failure> {
    let library = library(toolchain, workbook, spec, source, &[None], workbook.root())?;
    let written = functions(&library.source.text);
    for launch in &spec.launches {
        // To the linker a kernel is a host function, too: one that launches it.
        let is_kernel = written.iter().any(|f| f.name == launch.kernel && f.has("__global__"));
        if is_kernel || is_undefined(&library.undefined, None, &launch.kernel) {
            return Err(missing(launch, &library.source));
        }
    }
    let references = References::compile(toolchain, workbook, spec)?;
    let provided = |name: &&String| is_provided(name) || references.define(name);
    if let Some(name) = library.undefined.iter().find(|name| !provided(name)) {
        return Err(unknown(name));
    }
    let (file, references) = write(&library.bytes, &references)?;
    let program = HostProgram {
        calls: entries(spec, None),
        file,
        references,
        seconds: seconds(spec),
        capability: capability(spec),
        has_streams: has_streams(&library.undefined),
        modules: SharedModules::default(),
        names: Arc::new((library.names.clone(), workbook.root().to_owned())),
    };
    Ok((library, program))
}

/// The library of the functions in each of `namespaces`; `None` is the outermost. Paths in messages are relative to `base`.
fn library(
    toolchain: &Toolchain,
    workbook: &Workbook,
    spec: &Spec,
    source: &Path,
    namespaces: &[Option<String>],
    base: &Path,
) -> Result<Library, Failure> {
    toolchain.library(&LibraryRequest {
        source,
        glue: &glue::text(spec, namespaces),
        include_dirs: &[workbook.include_dir()],
        headers: Headers::Offered { names: &spec.headers, workbook: workbook.root() },
        target: Target::Library { arch: arch::of(spec) },
        flags: &[],
        others: &[],
        joined: &[],
        libraries: false,
        base,
    })
}

fn capability(spec: &Spec) -> Option<(u32, u32)> {
    spec.arch.map(|arch| arch.capability)
}

/// The programs of variants that were compiled together, each in its namespace; `None` for one that lacks a function.
///
/// # Errors
/// As [`compile`], if none of them can be compiled.
pub fn compile_variants(
    toolchain: &Toolchain,
    workbook: &Workbook,
    spec: &Spec,
    source: &Path,
    namespaces: &[String],
) -> Result<(Library, Vec<Option<HostProgram>>), Failure> {
    let spaces: Vec<Option<String>> = namespaces.iter().cloned().map(Some).collect();
    let folder = source.parent().unwrap_or(Path::new("/")).to_owned();
    let library = library(toolchain, workbook, spec, source, &spaces, &folder)?;
    let (file, references) =
        write(&library.bytes, &References::compile(toolchain, workbook, spec)?)?;
    let names = Arc::new((library.names.clone(), folder));
    let modules = SharedModules::default();
    let program = |name: &String| {
        let complete =
            |launch: &Launch| !is_undefined(&library.undefined, Some(name), &launch.kernel);
        spec.launches.iter().all(complete).then(|| HostProgram {
            file: Arc::clone(&file),
            references: references.clone(),
            calls: entries(spec, Some(name)),
            seconds: seconds(spec),
            capability: capability(spec),
            has_streams: has_streams(&library.undefined),
            modules: modules.clone(),
            names: Arc::clone(&names),
        })
    };
    let programs = namespaces.iter().map(program).collect();
    Ok((library, programs))
}

fn entries(spec: &Spec, namespace: Option<&str>) -> BTreeMap<String, Entry> {
    let prefix = glue::prefix(namespace);
    let entry = |(i, launch): (usize, &Launch)| {
        let entry = Entry { symbol: glue::symbol(&prefix, i), on_host: glue::on_host(launch) };
        (launch.kernel.clone(), entry)
    };
    spec.launches.iter().enumerate().map(entry).collect()
}

fn seconds(spec: &Spec) -> u64 {
    spec.launches.iter().filter_map(|launch| launch.host.as_ref()).map(|call| call.seconds).sum()
}

/// What the headers of a spec declare and do not define, compiled: a submission gets kernels of other puzzles, not their sources.
struct References(Vec<Library>);

impl References {
    fn compile(toolchain: &Toolchain, workbook: &Workbook, spec: &Spec) -> Result<Self, Failure> {
        let compile = |source: PathBuf| {
            toolchain.library(&LibraryRequest {
                source: &source,
                glue: "",
                include_dirs: &workbook.reference_dirs(),
                headers: Headers::Any,
                target: Target::Library { arch: arch::of(spec) },
                flags: &[],
                others: &[],
                joined: &[],
                libraries: false,
                base: workbook.root(),
            })
        };
        let sources = spec.headers.iter().filter_map(|header| workbook.reference(header));
        sources.map(compile).collect::<Result<_, _>>().map(Self)
    }

    /// Is there a function of this name, written with its parameters?
    fn define(&self, name: &str) -> bool {
        let name = name.split('(').next().unwrap_or(name);
        let defines = |text: &str| functions(text).iter().any(|f| f.has_body && f.name == name);
        let in_header =
            |header: &PathBuf| std::fs::read_to_string(header).is_ok_and(|text| defines(&text));
        self.0
            .iter()
            .any(|library| defines(&library.source.text) || library.headers.iter().any(in_header))
    }
}

/// A file in its folder, which goes with it.
type InFolder = Arc<(Scratch, PathBuf)>;

/// Writes the student's library, and those that it needs, into a folder.
fn write(library: &[u8], references: &References) -> Result<(InFolder, Vec<PathBuf>), Failure> {
    let written = || {
        let folder = Scratch::new("library")?;
        let path = folder.path().join("student.so");
        std::fs::write(&path, library)?;
        let mut others = Vec::new();
        for (i, reference) in references.0.iter().enumerate() {
            others.push(folder.path().join(format!("reference{i}.so")));
            std::fs::write(&others[i], &reference.bytes)?;
        }
        Ok((Arc::new((folder, path)), others))
    };
    written().map_err(|e: std::io::Error| no_room(&e))
}

/// The folder for temporary files cannot be written.
pub(super) fn no_room(error: &std::io::Error) -> Failure {
    let title = format!("cannot write to the folder for temporary files: {error}");
    let help = "free some space there, or set TMPDIR to another folder";
    Failure::new(FailureKind::Environment, title, help)
}

/// Does the linker miss this function?
fn is_undefined(undefined: &[String], namespace: Option<&str>, function: &str) -> bool {
    let name = namespace.map_or(format!("{function}("), |n| format!("{n}::{function}("));
    undefined.iter().any(|missing| missing.starts_with(&name) || *missing == name[..name.len() - 1])
}

/// Is it one of CUDA's functions, which the child brings?
fn is_provided(name: &str) -> bool {
    let of_the_runtime = ["cuda", "__cuda"].iter().any(|start| name.starts_with(start));
    (of_the_runtime || is_driver_function(name)) && !name.contains('(')
}

fn missing(launch: &Launch, source: &SourceFile) -> Failure {
    let signature = launch.host.as_ref().map_or("", |call| call.signature.as_str());
    let name = &launch.kernel;
    let all = functions(&source.text);
    let help = format!("the spec calls `{signature}`");
    let Some(found) = all.iter().find(|f| f.name == name && f.has_body) else {
        let title = format!("there is no function `{name}`");
        let path = source.path.display();
        let mut failure = Failure::new(FailureKind::Kernel, title, format!("define it in {path}"));
        failure.diagnostics[0].help.push(help);
        return failure;
    };
    let (title, label) = if found.has("static") {
        (format!("`{name}` is `static`: code outside this file cannot call it"), "remove `static`")
    } else if found.has("__global__") {
        (format!("`{name}` is a kernel, but must be a host function"), "remove `__global__`")
    } else if found.is_template {
        (format!("`{name}` is a template"), "make it a plain function")
    } else {
        (
            format!("`{name}` has other parameters than those it is called with"),
            "here it is defined",
        )
    };
    let mark = Mark { span: found.name_span.clone(), label: label.to_owned() };
    let shown = Source { path: source.path.clone(), text: source.text.clone(), marks: vec![mark] };
    let help = vec![
        help,
        "types, `const`, `&` and a namespace around it must match; names need not".into(),
    ];
    Failure::at(
        FailureKind::Kernel,
        Diagnostic { severity: Severity::Error, title, source: Some(shown), help },
    )
}

fn unknown(name: &str) -> Failure {
    let title = format!("`{name}` is declared and called, but never defined");
    let help = "define it in your file: the grader links only CUDA's runtime and the C++ library";
    Failure::new(FailureKind::Kernel, title, help)
}
