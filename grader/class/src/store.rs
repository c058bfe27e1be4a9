//! The results of tasks, one file each, which appear whole or not at all.
//!
//! A task that is being graded is locked with the lock of a file, which the system releases however its owner ends, so that two
//! graders on one folder, also on two machines (over NFS 4), never grade a task at the same time.

use crate::plan::write_whole;
use crate::task::{Graded, Outcome};
use rustix::fs::OFlags;
use serde::Serialize;
use serde_json::value::RawValue;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The folder of the results of a class.
#[derive(Clone, Debug)]
pub struct Store {
    results: PathBuf,
    locks: PathBuf,
    log: PathBuf,
}

/// The right to do what one grader alone may do at a time, while it exists.
#[derive(Debug)]
pub struct Claim {
    _lock: File,
}

/// A result as it is kept: readers of what came of a task pass over the document.
#[derive(Serialize)]
struct Kept<'a> {
    #[serde(flatten)]
    graded: &'a Graded,
    document: &'a RawValue,
}

impl Store {
    /// The store in the folder of a class, which is made.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let store = Self {
            results: folder.join("results"),
            locks: folder.join("locks"),
            log: folder.join("graded.log"),
        };
        fs::create_dir_all(&store.results)?;
        fs::create_dir_all(&store.locks)?;
        Ok(store)
    }

    /// The result of a task, if there is one. A file that is damaged is none.
    pub fn get(&self, key: &str) -> Option<Graded> {
        // A pipe would be waited for.
        if !self.has(key) {
            return None;
        }
        let graded: Graded = serde_json::from_slice(&fs::read(self.path(key)).ok()?).ok()?;
        (graded.key == key).then_some(graded)
    }

    /// Whether there is a result.
    pub fn has(&self, key: &str) -> bool {
        self.path(key).is_file()
    }

    /// Keeps a result.
    ///
    /// # Errors
    /// The folder cannot be written; then there is no result.
    pub fn put(&self, Outcome { graded, document }: &Outcome) -> io::Result<()> {
        // A machine that loses its power may leave a part of it, which is no result.
        let path = self.path(&graded.key);
        let text = serde_json::to_vec(&Kept { graded, document })?;
        write_whole(&path, &text).map_err(|e| naming(&path, &e))?;
        // One line for each task that was graded, by whom and how long: for people. A short line is written in one piece.
        let mut log = appended(&self.log)?;
        let Graded { key, puzzle, host, seconds, .. } = graded;
        let line = format!("{key} puzzle {puzzle} {seconds:.2} s, {host}\n");
        log.write_all(line.as_bytes())
    }

    /// Removes a result, so that its task is graded again.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn forget(&self, key: &str) -> io::Result<()> {
        fs::remove_file(self.path(key))
    }

    /// Takes a task, unless another grader has it or it is done.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn claim(&self, key: &str) -> io::Result<Option<Claim>> {
        if self.has(key) {
            return Ok(None);
        }
        let lock = appended(&self.locks.join(key))?;
        match lock.try_lock() {
            // Another grader may have finished it between the two questions.
            Ok(()) if self.has(key) => Ok(None),
            Ok(()) => Ok(Some(Claim { _lock: lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(e),
        }
    }

    /// Waits until no other grader writes the pages and tables of the class, and keeps others from it.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn turn_to_write(&self) -> io::Result<Claim> {
        let lock = appended(&self.locks.join("pages"))?;
        lock.lock()?;
        Ok(Claim { _lock: lock })
    }

    fn path(&self, key: &str) -> PathBuf {
        self.results.join(format!("{key}.json"))
    }
}

/// A file to append to. A pipe in its place is not waited for.
fn appended(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.create(true).append(true).custom_flags(OFlags::NONBLOCK.bits() as i32);
    options.open(path).map_err(|e| naming(path, &e))
}

/// The error with the file that it is about.
fn naming(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Ending;

    fn outcome() -> Outcome {
        let document = RawValue::from_string("{\"tests\":[{}]}".to_owned()).unwrap();
        Outcome { graded: graded(), document }
    }

    fn graded() -> Graded {
        Graded {
            key: "ab".into(),
            puzzle: 1,
            seed: 2,
            ending: Ending::Judged,
            tests: Vec::new(),
            feedback: String::new(),
            report: String::new(),
            seconds: 0.5,
            counters: None,
            host: String::new(),
        }
    }

    /// A result that is no result is none: never one that passed, and never a panic.
    #[test]
    fn mutated_results_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        store.put(&outcome()).unwrap();
        let whole = fs::read(store.path("ab")).unwrap();
        assert!(whole.ends_with(b"\"document\":{\"tests\":[{}]}}"));
        for place in 0..whole.len() {
            for byte in *b"\"{9,\xFF" {
                let mutant = [&whole[..place], &[byte], &whole[place + 1..]].concat();
                fs::write(store.path("ab"), mutant).unwrap();
                assert!(store.get("ab").is_none_or(|graded| !graded.passed()));
            }
            fs::write(store.path("ab"), &whole[..place]).unwrap();
            assert_eq!(store.get("ab"), None);
        }
    }

    #[test]
    fn a_task_has_one_owner_and_then_a_result() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let claim = store.claim("ab").unwrap();
        assert!(claim.is_some());
        assert!(store.claim("ab").unwrap().is_none(), "it is taken");
        drop(claim);
        assert!(store.claim("ab").unwrap().is_some(), "its owner ended without a result");
        store.put(&outcome()).unwrap();
        assert_eq!(store.get("ab"), Some(graded()));
        assert!(store.claim("ab").unwrap().is_none(), "it is done");
        fs::write(store.path("cd"), "{ half").unwrap();
        assert_eq!(store.get("cd"), None);
        let (mode, kind) = (rustix::fs::Mode::RWXU, rustix::fs::FileType::Fifo);
        rustix::fs::mknodat(rustix::fs::CWD, store.path("ef"), kind, mode, 0).unwrap();
        assert_eq!(store.get("ef"), None, "a pipe is not waited for");
        rustix::fs::mknodat(rustix::fs::CWD, store.locks.join("ef"), kind, mode, 0).unwrap();
        let error = store.claim("ef").unwrap_err().to_string();
        assert!(error.contains("locks/ef"), "{error}");
        store.forget("ab").unwrap();
        assert!(store.claim("ab").unwrap().is_some());
    }
}
