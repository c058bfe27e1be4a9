//! Headers that a CUDA toolkit has and NVIDIA's compiler from `PyPI` lacks, for programs with calls that concern profilers alone.
//! Where the toolkit has them, its own are taken.

use std::fs;
use std::io;
use std::path::Path;

/// Their folder in that of the compiler.
pub const FOLDER: &str = "supplied";

/// Names and texts.
const HEADERS: [(&str, &str); 3] = [
    ("cuda_profiler_api.h", include_str!("headers/cuda_profiler_api.h")),
    ("nvToolsExt.h", include_str!("headers/nvToolsExt.h")),
    ("nvtx3/nvToolsExt.h", include_str!("headers/nvToolsExt.h")),
];

/// Writes them into the compiler's folder.
pub fn write(folder: &Path) -> io::Result<()> {
    let folder = folder.join(FOLDER);
    fs::create_dir_all(folder.join("nvtx3"))?;
    HEADERS.iter().try_for_each(|(name, text)| fs::write(folder.join(name), text))
}
