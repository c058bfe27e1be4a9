//! Files that let clangd, and most editors through it, understand the workbook's CUDA on this machine.
//!
//! clangd knows CUDA's language, but clang's own support for NVIDIA's headers breaks with each new CUDA version. So
//! clang's wrapper headers are disabled (`-nocudainc`), NVIDIA's are read as the host compiler reads them, and a small
//! header before them fixes the rest. Tested with clangd 14, 19 and 22 and the headers of CUDA 13: no false errors.

use diagnostic::{Failure, FailureKind};
use puzzle::workbook::Workbook;
use serde::Serialize;
use std::path::{Path, PathBuf};
use toolchain::VirtualArch;
use toolchain::find::{Nvcc, Version};

/// The name of the compilation database.
pub const DATABASE: &str = "compile_commands.json";
/// The name of clangd's settings file.
pub const SETTINGS: &str = ".clangd";
/// The name of the header that is included before every file.
pub const PRELUDE: &str = ".clangd_cuda.h";

/// A text in each of the files, so that another tool's file with the same name is never overwritten.
const MARK: &str = "grader editor-setup";

/// A file to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupFile {
    /// Its path in the workbook's folder.
    pub path: PathBuf,
    /// What it will contain.
    pub text: String,
}

/// One entry of the compilation database (Clang's "JSON Compilation Database Format Specification").
#[derive(Serialize)]
struct CompileCommand<'a> {
    directory: &'a Path,
    file: PathBuf,
    arguments: Vec<String>,
}

/// The include folders that belong to an nvcc; the first one has `cuda_runtime.h`.
///
/// # Errors
/// No such folder is near the compiler.
pub fn include_folders(nvcc: &Nvcc) -> Result<Vec<PathBuf>, Failure> {
    let program = nvcc.path.canonicalize().unwrap_or_else(|_| nvcc.path.clone());
    let home = program.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    let platform = format!("targets/{}-linux/include", std::env::consts::ARCH);
    // The layouts of NVIDIA's installers and wheels, of NVIDIA's .deb and .rpm, and of Debian, which splits the toolkit.
    let candidates = [home.join("include"), home.join(platform), "/usr/include".into()];
    let Some(folder) = candidates.into_iter().find(|f| f.join("cuda_runtime.h").exists()) else {
        let title = format!("cuda_runtime.h was not found beside {}", program.display());
        let help = "install the complete CUDA toolkit, or choose another nvcc with --nvcc";
        return Err(Failure::new(FailureKind::Environment, title, help));
    };
    // CUDA 13 has a separate folder for libcu++, Thrust and CUB.
    let cccl = folder.join("cccl");
    Ok(if cccl.is_dir() { vec![folder, cccl] } else { vec![folder] })
}

/// The files to write for this compiler.
///
/// # Errors
/// The compiler's headers are not found, or a file with one of the names was written by another tool.
pub fn files(workbook: &Workbook, nvcc: &Nvcc) -> Result<Vec<SetupFile>, Failure> {
    let root = workbook.root();
    let folders = include_folders(nvcc)?;
    let flags = flags(workbook, nvcc.version, &folders);
    let commands: Vec<CompileCommand<'_>> = sources(root)
        .into_iter()
        .map(|file| {
            let mut arguments = flags.clone();
            arguments.push(file.display().to_string());
            CompileCommand { directory: root, file, arguments }
        })
        .collect();
    let database = serde_json::to_string_pretty(&commands).unwrap_or_default() + "\n";
    let file = |name: &str, text: String| SetupFile { path: root.join(name), text };
    let files = vec![
        file(PRELUDE, prelude(VirtualArch::default())),
        file(SETTINGS, settings()),
        file(DATABASE, database),
    ];
    match files.iter().find(|file| is_foreign(&file.path)) {
        None => Ok(files),
        Some(foreign) => {
            let name = workbook.relative(&foreign.path).display();
            let title = format!("`{name}` exists, and was not written by `grader editor-setup`");
            let help = format!("move it away if you do not need it: `mv {name} {name}.old`");
            Err(Failure::new(FailureKind::Usage, title, help))
        }
    }
}

/// Whether another tool wrote a file with this name.
fn is_foreign(path: &Path) -> bool {
    std::fs::read_to_string(path)
        .is_ok_and(|text| !text.is_empty() && !text.contains(MARK) && !text.contains(PRELUDE))
}

fn flags(workbook: &Workbook, version: Version, folders: &[PathBuf]) -> Vec<String> {
    let path = |path: &Path| path.display().to_string();
    let mut flags: Vec<String> = vec![
        "clang++".into(),
        // Compiles the host's half of a CUDA file, which includes the kernels and needs no NVIDIA libraries.
        "-xcuda".into(),
        "--cuda-host-only".into(),
        format!("--cuda-gpu-arch=sm_{}", VirtualArch::default().0),
        "-nocudainc".into(),
        "-nocudalib".into(),
        "-std=c++17".into(),
        // What nvcc defines.
        "-D__NVCC__".into(),
        "-D__CUDACC__".into(),
        format!("-D__CUDACC_VER_MAJOR__={}", version.major),
        format!("-D__CUDACC_VER_MINOR__={}", version.minor),
        format!("-D__CUDACC_VER_BUILD__={}", version.patch),
        // NVIDIA's headers reject a clang that is newer than they are.
        "-D__NV_NO_HOST_COMPILER_CHECK=1".into(),
        // Makes `<<<...>>>` call the function that headers since CUDA 9.2 declare.
        "-Xclang".into(),
        "-target-sdk-version=11.0".into(),
        "-Xclang".into(),
        "-fcuda-allow-variadic-functions".into(),
        // Clang warns about some of NVIDIA's declarations that it accepts; these warnings do not concern the student.
        "-ferror-limit=0".into(),
    ];
    for folder in folders {
        flags.extend(["-isystem".into(), path(folder)]);
    }
    flags.extend(["-I".into(), path(&workbook.include_dir())]);
    flags.extend(["-include".into(), path(&workbook.root().join(PRELUDE))]);
    flags
}

fn prelude(arch: VirtualArch) -> String {
    format!(
        "// Written by `{MARK}` for clangd; no compiler reads it.
#pragma once
#include <cuda_runtime.h>
// Defined only here: with it, cuda_runtime.h would declare operators that clang declares itself.
#define __CUDA_ARCH__ {}0
extern \"C\" {{
__device__ int printf(const char*, ...);
__device__ void __assert_fail(const char*, const char*, unsigned, const char*);
}}
",
        arch.0
    )
}

fn settings() -> String {
    format!(
        "# Written by `{MARK}`.
CompileFlags:
  CompilationDatabase: .
Diagnostics:
  UnusedIncludes: None
"
    )
}

/// The `.cu` files of the workbook, relative to its folder.
fn sources(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = ["puzzles", "solutions", "kernels"].map(Into::into).into();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root.join(&folder)).into_iter().flatten().flatten() {
            let path = folder.join(entry.file_name());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "cu") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use toolchain::find::Origin;

    struct Bench {
        dir: tempfile::TempDir,
        workbook: Workbook,
        nvcc: Nvcc,
    }

    fn bench() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["puzzles", "solutions", "kernels/ladders", "cuda/bin", "cuda/include/cccl"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        for file in [
            "puzzles/01_a.toml",
            "puzzles/01_a.cu",
            "puzzles/01_a.cu.bak1",
            "solutions/01_a.cu",
            "kernels/ladders/b.cu",
            "cuda/bin/nvcc",
            "cuda/include/cuda_runtime.h",
        ] {
            fs::write(dir.path().join(file), "").unwrap();
        }
        let workbook = Workbook::open(dir.path()).unwrap();
        let path = workbook.root().join("cuda/bin/nvcc");
        let version = Version { major: 13, minor: 0, patch: 88 };
        Bench { dir, workbook, nvcc: Nvcc { path, version, origin: Origin::Path } }
    }

    #[test]
    fn every_kernel_file_has_an_entry_with_this_machine_s_folders() {
        let bench = bench();
        let files = files(&bench.workbook, &bench.nvcc).unwrap();
        let database = files.iter().find(|file| file.path.ends_with(DATABASE)).unwrap();
        let entries: Vec<serde_json::Value> = serde_json::from_str(&database.text).unwrap();
        let names: Vec<_> = entries.iter().map(|entry| entry["file"].as_str().unwrap()).collect();
        assert_eq!(names, ["kernels/ladders/b.cu", "puzzles/01_a.cu", "solutions/01_a.cu"]);
        let arguments = entries[1]["arguments"].to_string();
        let root = bench.workbook.root().display();
        for folder in ["cuda/include", "cuda/include/cccl", "kernels/include", ".clangd_cuda.h"] {
            assert!(arguments.contains(&format!("\"{root}/{folder}\"")), "{folder}: {arguments}");
        }
        assert!(arguments.contains("__CUDACC_VER_MAJOR__=13"));
    }

    #[test]
    fn its_own_files_are_replaced_and_others_are_not() {
        let bench = bench();
        let first = files(&bench.workbook, &bench.nvcc).unwrap();
        for file in &first {
            fs::write(&file.path, &file.text).unwrap();
        }
        assert_eq!(files(&bench.workbook, &bench.nvcc).unwrap(), first);
        fs::write(bench.dir.path().join(SETTINGS), "CompileFlags: {}\n").unwrap();
        let failure = files(&bench.workbook, &bench.nvcc).unwrap_err();
        assert!(failure.diagnostics[0].title.starts_with("`.clangd` exists"));
    }

    #[test]
    fn missing_headers_are_said_to_be_missing() {
        let bench = bench();
        let include = bench.dir.path().join("cuda/include");
        let target = format!("cuda/targets/{}-linux", std::env::consts::ARCH);
        fs::create_dir_all(bench.dir.path().join(&target)).unwrap();
        fs::rename(&include, bench.dir.path().join(&target).join("include")).unwrap();
        let found = include_folders(&bench.nvcc).unwrap();
        assert!(found[0].ends_with(format!("{target}/include")), "{found:?}");
        fs::remove_dir_all(bench.dir.path().join("cuda/targets")).unwrap();
        if !Path::new("/usr/include/cuda_runtime.h").exists() {
            assert!(include_folders(&bench.nvcc).is_err());
        }
    }
}
