//! Headers that a CUDA toolkit or NVIDIA's samples have and NVIDIA's compiler from `PyPI` lacks: calls that concern profilers alone, and
//! helpers of sample programs. Where the toolkit has them, its own are taken.

use std::fs;
use std::io;
use std::path::Path;

/// Their folder in that of the compiler.
pub const FOLDER: &str = "supplied";

/// What the samples have in several headers.
const HELPER_FUNCTIONS: &str = include_str!("supplied_headers/helper_functions.h");

/// Names and texts.
pub const SUPPLIED: [(&str, &str); 8] = [
    ("cuda_profiler_api.h", include_str!("supplied_headers/cuda_profiler_api.h")),
    ("nvToolsExt.h", include_str!("supplied_headers/nvToolsExt.h")),
    ("nvtx3/nvToolsExt.h", include_str!("supplied_headers/nvToolsExt.h")),
    ("helper_cuda.h", include_str!("supplied_headers/helper_cuda.h")),
    ("helper_functions.h", HELPER_FUNCTIONS),
    ("helper_image.h", HELPER_FUNCTIONS),
    ("helper_string.h", HELPER_FUNCTIONS),
    ("helper_timer.h", HELPER_FUNCTIONS),
];

/// Writes them into the compiler's folder.
pub fn write(folder: &Path) -> io::Result<()> {
    let folder = folder.join(FOLDER);
    fs::create_dir_all(folder.join("nvtx3"))?;
    SUPPLIED.iter().try_for_each(|(name, text)| fs::write(folder.join(name), text))
}
