//! Parts of NVIDIA's libraries for programs without a GPU: headers with the names of the original, and sources that are compiled and
//! linked with a program that uses them. The book's page on programs says what they have.

use diagnostic::{Failure, FailureKind};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How the name of their folder in the cache folder begins; a hash of the files follows.
pub const FOLDER: &str = "libraries-";

/// A library.
#[derive(Clone, Copy, Debug)]
pub struct NvidiaLibrary {
    /// Its headers.
    pub headers: &'static [(&'static str, &'static str)],
    /// The source of its host functions.
    source: (&'static str, &'static str),
    /// The function with which a program begins to use them.
    first: &'static str,
    /// The linker's option for NVIDIA's own.
    pub option: &'static str,
}

/// The libraries of which there is a part.
pub const LIBRARIES: [NvidiaLibrary; 3] = [
    NvidiaLibrary {
        headers: &[("cublas_v2.h", include_str!("libraries/cublas_v2.h"))],
        source: ("cublas.cu", include_str!("libraries/cublas.cu")),
        first: "cublasCreate",
        option: "-lcublas",
    },
    NvidiaLibrary {
        headers: &[
            ("curand.h", include_str!("libraries/curand.h")),
            ("curand_kernel.h", include_str!("libraries/curand_kernel.h")),
        ],
        source: ("curand.cu", include_str!("libraries/curand.cu")),
        first: "curandCreateGenerator",
        option: "-lcurand",
    },
    NvidiaLibrary {
        headers: &[("nvrtc.h", include_str!("libraries/nvrtc.h"))],
        source: ("nvrtc.cu", include_str!("libraries/nvrtc.cu")),
        first: "nvrtcCreateProgram",
        option: "-lnvrtc",
    },
];

impl NvidiaLibrary {
    /// Does a source that has this word call its host functions?
    pub fn begins_with(self, word: &str) -> bool {
        word.starts_with(self.first)
    }

    /// The path of its source in the folder of the libraries.
    pub fn source_in(self, folder: &Path) -> PathBuf {
        folder.join(self.source.0)
    }
}

/// The folder of all headers and sources in the cache folder, which is written unless it is there.
///
/// # Errors
/// It cannot be written.
pub fn folder(cache: &Path) -> Result<PathBuf, Failure> {
    let files = LIBRARIES.iter().flat_map(|of| of.headers.iter().chain([&of.source]));
    let mut hash = blake3::Hasher::new();
    for (name, text) in files.clone() {
        hash.update(name.as_bytes()).update(text.as_bytes());
    }
    let folder = cache.join(format!("{FOLDER}{}", &hash.finalize().to_hex()[..16]));
    let written = || -> io::Result<()> {
        fs::create_dir_all(cache)?;
        let new = tempfile::tempdir_in(cache)?;
        for (name, text) in files {
            fs::write(new.path().join(name), text)?;
        }
        // Who comes second finds it there.
        fs::rename(new.path(), &folder).or_else(|e| if folder.is_dir() { Ok(()) } else { Err(e) })
    };
    if !folder.is_dir() {
        written().map_err(|e| {
            let title =
                format!("cannot write the headers of libraries to {}: {e}", cache.display());
            let help = "free some space there, or set GRADER_CACHE to another folder";
            Failure::new(FailureKind::Environment, title, help)
        })?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_holds_every_file_and_is_written_once() {
        let cache = tempfile::tempdir().unwrap();
        let first = folder(cache.path()).unwrap();
        for library in LIBRARIES {
            for (name, text) in library.headers.iter().chain([&library.source]) {
                assert_eq!(fs::read_to_string(first.join(name)).unwrap(), *text);
            }
            assert!(library.source_in(&first).is_file());
        }
        fs::write(first.join("mark"), "").unwrap();
        assert_eq!(folder(cache.path()).unwrap(), first);
        assert!(first.join("mark").is_file());
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1);
    }
}
