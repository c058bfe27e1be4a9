//! Folders for temporary files, removed with their value, also when a signal ends the grader, and at the latest when another
//! grader starts: if not even the shell outlived this one that removes the folders of a grader that was killed.
//!
//! Whoever made a folder holds its lock (flock(2)), which the system releases however a process ends. So a folder without an
//! owner is one that nobody uses: a grader that was killed left it.

use super::process::{before_interrupt, orphans};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, chmodat, flock, open, openat, statat,
};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::OsStr;
use std::fs::Permissions;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;
use tempfile::TempDir;

/// A folder that goes with this value.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    _lock: Option<OwnedFd>,
}

/// How the names of all of them begin.
const PREFIX: &str = "gradient-puzzles-";

/// The purpose of a compiler's folder.
pub(crate) const COMPILER: &str = "compiler";

/// Between the making of a folder and its lock lies a moment; only what is older than this is nobody's.
const YOUNG: Duration = Duration::from_secs(60);

/// The unit in which the system counts the blocks of a file (stat(2)).
const BLOCK: u64 = 512;

/// What an empty file counts.
const SMALL: u64 = 4096;

/// The folders that there are.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn folders() -> MutexGuard<'static, Vec<PathBuf>> {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Scratch {
    /// A new folder among the system's temporary files, whose name says what it is for.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new(purpose: &str) -> io::Result<Self> {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            before_interrupt(remove_all);
            remove_left(&std::env::temp_dir(), YOUNG);
        });
        let folder = tempfile::Builder::new().prefix(&format!("{PREFIX}{purpose}-")).tempdir()?;
        folders().push(folder.path().to_owned());
        orphans::made(folder.path());
        // Where the system has no locks, the folder only stays behind when it should not.
        let lock = lock(folder.path()).ok();
        Ok(Self { folder, _lock: lock })
    }

    /// The folder, which is there as long as this value.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove(self.folder.path());
        orphans::removed(self.folder.path());
        folders().retain(|folder| folder != self.folder.path());
    }
}

/// Is this the name of a compiler's folder?
pub(crate) fn is_compilers(name: &OsStr) -> bool {
    let rest = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_prefix(COMPILER));
    rest.is_some_and(|rest| rest.starts_with('-'))
}

/// Do the files in a folder take more than so many bytes on disk? An empty file counts as a small one. A folder that cannot be
/// looked into counts as too much: what a program hides there could have any size.
pub fn exceeds(folder: &Path, bytes: u64) -> bool {
    let mut left = bytes;
    let mut places = vec![Place { base: None, path: folder.to_owned() }];
    while let Some(place) = places.pop() {
        let (base, entries) = match place.entries() {
            Ok(opened) => opened,
            // Removed meanwhile, or replaced by a file or a link.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
            Err(_) => return true,
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let path = place.below(base.as_ref(), OsStr::from_bytes(name.to_bytes()));
            // The entry itself, not what it may lead to.
            let Ok(meta) = statat(path.at(), &path.path, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            let blocks = u64::try_from(meta.st_blocks).unwrap_or_default();
            let Some(rest) = left.checked_sub((blocks * BLOCK).max(SMALL)) else {
                return true;
            };
            left = rest;
            if FileType::from_raw_mode(meta.st_mode).is_dir() {
                places.push(path);
            }
        }
    }
    false
}

/// Longer paths of folders inside each other are not looked into, in bytes and in parts of [`PART`] bytes.
const PARTS: usize = 64;

/// The system follows paths of 4 kB and no longer ones, so a path is followed in parts.
const PART: usize = 1024;

/// A file or folder: a path from the current folder, or from one that is open.
struct Place {
    base: Option<Rc<Base>>,
    path: PathBuf,
}

/// An open folder, at the end of so many parts of a path.
struct Base {
    folder: OwnedFd,
    parts: usize,
}

impl Place {
    fn at(&self) -> BorrowedFd<'_> {
        self.base.as_ref().map_or(CWD, |base| base.folder.as_fd())
    }

    /// The entries of this folder, and the folder itself if their paths shall start there.
    fn entries(&self) -> rustix::io::Result<(Option<Rc<Base>>, Dir)> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = || openat(self.at(), &self.path, flags, Mode::empty());
        let folder = open().or_else(|error| {
            if error != Errno::ACCESS {
                return Err(error);
            }
            // A program may have taken its owner's right to look into it.
            chmodat(self.at(), &self.path, Mode::RWXU, AtFlags::empty())?;
            open()
        })?;
        let entries = Dir::read_from(&folder)?;
        if self.path.as_os_str().len() < PART {
            return Ok((None, entries));
        }
        let parts = self.base.as_ref().map_or(1, |base| base.parts + 1);
        if parts > PARTS {
            return Err(Errno::NAMETOOLONG);
        }
        Ok((Some(Rc::new(Base { folder, parts })), entries))
    }

    /// An entry of this folder, from `base` if the folder is open as that.
    fn below(&self, base: Option<&Rc<Base>>, name: &OsStr) -> Self {
        match base {
            Some(base) => Self { base: Some(Rc::clone(base)), path: name.into() },
            None => Self { base: self.base.clone(), path: self.path.join(name) },
        }
    }
}

fn remove_all() {
    for folder in folders().drain(..) {
        remove(&folder);
    }
}

/// Removes a folder, whatever a program made in it: also folders inside each other, deeper than any path or stack is long. What
/// cannot be removed stays.
fn remove(top: &Path) {
    let mut free = 0_u64;
    while let Some(folder) = folders_in(top).next() {
        // A program may have taken its own right to look into it.
        let _ = std::fs::set_permissions(&folder, Permissions::from_mode(0o700));
        for inner in folders_in(&folder) {
            // Moved up, its path is short. A name that is taken is tried again with the next number.
            while top.join(free.to_string()).symlink_metadata().is_ok() {
                free += 1;
            }
            let _ = std::fs::rename(inner, top.join(free.to_string()));
        }
        for file in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let _ = std::fs::remove_file(file.path());
        }
        if std::fs::remove_dir(&folder).is_err() {
            break;
        }
    }
    let _ = std::fs::remove_dir_all(top);
}

/// The folders in a folder, without links.
fn folders_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path())
}

/// Takes the lock of a folder, if nobody has it. A link is not followed.
fn lock(folder: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = open(folder, flags, Mode::empty())?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}

/// Removes the folders in `among` that graders of this user left behind, and that are older than `young`.
fn remove_left(among: &Path, young: Duration) {
    for entry in std::fs::read_dir(among).into_iter().flatten().flatten() {
        if !entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        // The entry itself, not what it may lead to.
        let Ok(meta) = entry.metadata() else { continue };
        let age = meta.modified().ok().and_then(|time| time.elapsed().ok());
        let is_old = age.is_some_and(|age| age >= young);
        if meta.is_dir() && meta.uid() == geteuid().as_raw() && is_old {
            // Held until the folder is gone.
            if let Ok(_lock) = lock(&entry.path()) {
                remove(&entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::io::Write as _;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_folder_goes_with_its_value() {
        let scratch = Scratch::new("test").unwrap();
        let path = scratch.path().to_owned();
        fs::write(path.join("file"), "").unwrap();
        assert!(path.exists() && folders().contains(&path));
        drop(scratch);
        assert!(!path.exists() && !folders().contains(&path));
    }

    #[test]
    fn only_what_nobody_uses_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in ["gradient-puzzles-run-left", "gradient-puzzles-run-used", "other"] {
            fs::create_dir_all(path(name).join("folder")).unwrap();
        }
        fs::write(path("gradient-puzzles-file"), "").unwrap();
        symlink(path("other"), path("gradient-puzzles-link")).unwrap();
        let used = lock(&path("gradient-puzzles-run-used")).unwrap();
        remove_left(dir.path(), YOUNG);
        assert!(path("gradient-puzzles-run-left").exists(), "its lock may be about to come");
        remove_left(dir.path(), Duration::ZERO);
        assert!(!path("gradient-puzzles-run-left").exists());
        for name in ["run-used/folder", "file", "link"] {
            assert!(path(&format!("gradient-puzzles-{name}")).exists(), "{name}");
        }
        assert!(path("other/folder").exists());
        drop(used);
        remove_left(dir.path(), Duration::ZERO);
        assert!(!path("gradient-puzzles-run-used").exists());
    }

    #[test]
    fn folders_without_end_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("top");
        fs::create_dir(&top).unwrap();
        let mut inner = open(&top, OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty()).unwrap();
        for _ in 0..3000 {
            rustix::fs::mkdirat(&inner, "a long name of a folder", Mode::RWXU).unwrap();
            rustix::fs::symlinkat("/", &inner, "0").unwrap();
            let flags = OFlags::DIRECTORY | OFlags::RDONLY;
            inner = openat(&inner, "a long name of a folder", flags, Mode::empty()).unwrap();
        }
        rustix::fs::fchmod(&inner, Mode::empty()).unwrap();
        fs::create_dir_all(top.join("1/0/1")).unwrap();
        fs::write(top.join("1/0/file"), "").unwrap();
        remove(&top);
        assert!(!top.exists() && Path::new("/etc").exists());
    }

    #[test]
    fn many_files_take_room_too() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("folder");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("a"), vec![1; 100_000]).unwrap();
        symlink("/", folder.join("root")).unwrap();
        assert!(!exceeds(dir.path(), 200_000) && exceeds(dir.path(), 90_000));
        for i in 0..40 {
            fs::write(folder.join(i.to_string()), "").unwrap();
        }
        assert!(exceeds(dir.path(), 200_000));
    }

    /// Below the longest path that the system follows, and in folders that may not be listed.
    #[test]
    fn what_is_hidden_takes_room_too() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("top");
        fs::create_dir(&top).unwrap();
        let flags = OFlags::DIRECTORY | OFlags::RDONLY;
        let mut inner = open(&top, flags, Mode::empty()).unwrap();
        let deeper = |inner: &OwnedFd, name: &str| {
            rustix::fs::mkdirat(inner, name, Mode::RWXU).unwrap();
            openat(inner, name, flags, Mode::empty()).unwrap()
        };
        for _ in 0..100 {
            inner = deeper(&inner, &"n".repeat(200));
        }
        let create = OFlags::CREATE | OFlags::WRONLY;
        let file = openat(&inner, "file", create, Mode::RWXU).unwrap();
        File::from(file).write_all(&vec![1; 1 << 20]).unwrap();
        assert!(!exceeds(dir.path(), 2 << 20) && exceeds(dir.path(), 1 << 20));
        for _ in 0..300 {
            inner = deeper(&inner, &"n".repeat(200));
        }
        assert!(exceeds(dir.path(), 1 << 40), "nobody looks so deep");
        remove(&top);

        fs::create_dir(&top).unwrap();
        fs::write(top.join("file"), vec![1; 100_000]).unwrap();
        fs::set_permissions(&top, Permissions::from_mode(0o300)).unwrap();
        assert!(!exceeds(dir.path(), 200_000) && exceeds(dir.path(), 90_000));
    }

    #[test]
    fn a_compilers_folder_is_known_by_its_name() {
        assert!(is_compilers("gradient-puzzles-compiler-x".as_ref()));
        assert!(!is_compilers("gradient-puzzles-main".as_ref()));
    }
}
