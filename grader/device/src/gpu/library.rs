//! Is there a driver library at all? Answered from the file system, without loading anything, so that machines without
//! a GPU lose no time.

use std::path::{Path, PathBuf};

/// The dynamic linker's list of libraries.
const LINKER_CACHE: &str = "/etc/ld.so.cache";

/// The linker's own folders, and where drivers are put on systems without a cache entry.
const FOLDERS: [&str; 9] = [
    "/lib",
    "/usr/lib",
    "/lib64",
    "/usr/lib64",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/wsl/lib",
];

/// File names under which the driver is loaded.
const NAMES: [&str; 2] = ["libcuda.so", "libcuda.so.1"];

/// True if loading the driver can succeed. It may still fail.
pub fn may_exist() -> bool {
    let from_variable = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let folders = std::env::split_paths(&from_variable).chain(FOLDERS.iter().map(PathBuf::from));
    exists_in(folders) || lists(&std::fs::read(LINKER_CACHE).unwrap_or_default())
}

fn exists_in(mut folders: impl Iterator<Item = PathBuf>) -> bool {
    folders.any(|folder| NAMES.iter().any(|name| Path::new(&folder).join(name).exists()))
}

/// Does a linker cache, a binary file with names as texts, list the driver?
fn lists(cache: &[u8]) -> bool {
    let name = b"/libcuda.so";
    cache.windows(name.len() + 1).any(|w| w.starts_with(name) && matches!(w[name.len()], 0 | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_the_library_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let folders = || [PathBuf::from("/no/such/folder"), dir.path().to_owned()].into_iter();
        assert!(!exists_in(folders()));
        std::fs::write(dir.path().join("libcuda.so.1"), "").unwrap();
        assert!(exists_in(folders()));
    }

    #[test]
    fn a_linker_cache_is_read() {
        assert!(lists(b"x\0/opt/driver/libcuda.so.1\0y"));
        assert!(lists(b"/opt/driver/libcuda.so\0"));
        assert!(!lists(b"/opt/libcudart.so.13\0libcuda\0/opt/libcuda.sox\0"));
        assert!(!lists(b""));
    }
}
