//! The files that the grader keeps on this machine: their purpose, their size, and their removal.

use diagnostic::{Failure, FailureKind};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use toolchain::wheels::folder_size;

/// A folder or file in the cache folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredItem {
    /// The path of the folder or file.
    pub path: PathBuf,
    /// Its purpose, for the student.
    pub what: &'static str,
    /// Its size on disk in bytes.
    pub bytes: u64,
}

/// The grader's own folders and files in `cache`, largest first. Other files are ignored: the user may share the folder
/// with other programs (`GRADER_CACHE`).
pub fn stored_items(cache: &Path) -> Vec<StoredItem> {
    let mut found = Vec::new();
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(what) = name.to_str().and_then(meaning) else { continue };
        found.push(StoredItem { path: entry.path(), what, bytes: size(&entry.path()) });
    }
    found.sort_by(|a, b| (b.bytes, &a.path).cmp(&(a.bytes, &b.path)));
    found
}

fn meaning(name: &str) -> Option<&'static str> {
    match name {
        "compiled" => Some("compiled kernels, so that nothing compiles twice"),
        "precompiled" => Some("headers of host code that the C++ compiler has parsed"),
        LOCK => Some("a lock, so that two graders do not install at once"),
        name if name.starts_with("nvcc-") && name.ends_with(".partial") => {
            Some("an installation that was interrupted")
        }
        name if name.starts_with(toolchain::libraries::FOLDER) => {
            Some("headers and sources of cuBLAS and cuRAND, for programs")
        }
        name if name.starts_with("nvcc-") => Some("NVIDIA's CUDA compiler, installed with pip"),
        _ => None,
    }
}

/// The lock file of a grader that installs the compiler.
const LOCK: &str = "install.lock";

/// Removes what [`stored_items`] found in `cache`, and the folder itself if nothing else is in it.
///
/// # Errors
/// Another grader is installing the compiler there, or something cannot be removed.
pub fn remove(cache: &Path, kept: &[StoredItem]) -> Result<(), Failure> {
    let lock = File::open(cache.join(LOCK));
    if let Ok(lock) = &lock
        && let Err(TryLockError::WouldBlock) = lock.try_lock()
    {
        let title = "another grader is installing the compiler";
        return Err(Failure::new(FailureKind::Environment, title, "wait until it has finished"));
    }
    for item in kept {
        let removed = match fs::remove_dir_all(&item.path) {
            Err(e) if e.kind() == io::ErrorKind::NotADirectory => fs::remove_file(&item.path),
            other => other,
        };
        match removed {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                let title = format!("cannot remove {}: {e}", item.path.display());
                return Err(Failure::new(FailureKind::Environment, title, "remove it by hand"));
            }
            _ => {}
        }
    }
    // The folder stays if it holds other files.
    fs::remove_dir(cache).ok();
    Ok(())
}

/// The size in bytes of a file, or of all files in a folder.
fn size(path: &Path) -> u64 {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => folder_size(path),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    }
}

/// A size for people, such as "271 MB"; in powers of 1000, as file managers show it.
pub fn in_words(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        _ => format!("{} MB", (bytes + 500_000) / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (file, bytes) in
            [("compiled/ab/c", 30), ("nvcc-13.0.88/bin/nvcc", 70), ("precompiled/x/y", 5)]
        {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, vec![0; bytes]).unwrap();
        }
        fs::write(dir.path().join(LOCK), "").unwrap();
        dir
    }

    #[test]
    fn all_of_its_own_is_found_and_removed_and_nothing_else() {
        let dir = cache();
        let mine = dir.path().join("thesis.txt");
        fs::write(&mine, "mine").unwrap();
        let found = stored_items(dir.path());
        let sizes: Vec<_> = found.iter().map(|item| item.bytes).collect();
        assert_eq!(sizes, [70, 30, 5, 0]);
        remove(dir.path(), &found).unwrap();
        assert_eq!(stored_items(dir.path()), []);
        assert!(mine.exists());
        fs::remove_file(mine).unwrap();
        remove(dir.path(), &[]).unwrap();
        assert!(!dir.path().exists());
    }

    #[test]
    fn an_installation_under_way_is_left_alone() {
        let dir = cache();
        let lock = File::open(dir.path().join(LOCK)).unwrap();
        lock.lock().unwrap();
        assert!(remove(dir.path(), &stored_items(dir.path())).is_err());
        assert_eq!(stored_items(dir.path()).len(), 4);
        drop(lock);
        remove(dir.path(), &stored_items(dir.path())).unwrap();
        assert_eq!(stored_items(dir.path()).len(), 0);
    }

    #[test]
    fn sizes_in_words() {
        let words = [999, 1_000, 1_001, 999_999, 1_000_000, 271_400_000].map(in_words);
        assert_eq!(words, ["999 bytes", "1 kB", "2 kB", "1000 kB", "1 MB", "271 MB"]);
    }
}
