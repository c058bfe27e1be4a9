//! Folders for temporary files, removed with their value, and also when a signal ends the grader.

use super::process::before_interrupt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use tempfile::TempDir;

/// A folder that goes with this value.
#[derive(Debug)]
pub struct Scratch(TempDir);

/// The folders that there are.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn folders() -> MutexGuard<'static, Vec<PathBuf>> {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Scratch {
    /// A new folder among the system's temporary files, whose name begins like this.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new(prefix: &str) -> io::Result<Self> {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| before_interrupt(remove_all));
        let folder = tempfile::Builder::new().prefix(prefix).tempdir()?;
        folders().push(folder.path().to_owned());
        Ok(Self(folder))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        folders().retain(|folder| folder != self.0.path());
    }
}

fn remove_all() {
    for folder in folders().drain(..) {
        // What cannot be removed now stays.
        let _ = std::fs::remove_dir_all(folder);
    }
}

#[cfg(test)]
mod tests {
    use super::Scratch;

    #[test]
    fn a_folder_goes_with_its_value() {
        let scratch = Scratch::new("gradient-puzzles-").unwrap();
        let path = scratch.path().to_owned();
        std::fs::write(path.join("file"), "").unwrap();
        assert!(path.exists() && super::folders().contains(&path));
        drop(scratch);
        assert!(!path.exists() && !super::folders().contains(&path));
    }
}
