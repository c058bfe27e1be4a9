//! What a compiler may touch while it reads a file that somebody else wrote.
//!
//! `#include "/etc/passwd"`, `#line 1 "/etc/passwd"` with an error behind it, or `.incbin` in inline assembly would show files of
//! the grader's user in a report, and the file of a solution would pass its own puzzle. So the compilers run under Landlock
//! (landlock(7)): they read their own files and those that the compilation is about, and write into its scratch folder. None of them
//! opens a socket (seccomp(2)), since Landlock knows TCP alone. A file that makes a compiler take all memory, or fill the disk, meets
//! a limit (setrlimit(2)).

use diagnostic::{Diagnostic, Severity};
use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, Scope, path_beneath_rules,
};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;

/// Where systems keep programs, libraries and headers, and what compilers read besides: the loader's tables, the size of the
/// machine.
const SYSTEM: [&str; 17] = [
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/usr",
    "/opt",
    "/nix",
    "/gnu",
    "/snap",
    "/cvmfs",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/dev/urandom",
    "/proc/cpuinfo",
    "/proc/meminfo",
];

/// Bytes of address space of each compiler. nvcc's largest front end takes one GiB for the headers of CUB; templates without end take
/// all that there is, at 150 MB a second.
const MEMORY: u64 = 4 << 30;

/// Bytes of each file that a compiler writes.
const FILE_SIZE: u64 = 1 << 30;

/// The files and folders of a compilation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Confinement {
    /// What may be read, and run, besides the system's programs and libraries.
    pub(crate) read: Vec<PathBuf>,
    /// A folder that is closed even where it lies in one of those.
    pub(crate) closed: Option<PathBuf>,
    /// What may be read wherever it lies.
    pub(crate) files: Vec<PathBuf>,
    /// The folders that may be written.
    pub(crate) write: Vec<PathBuf>,
}

impl Confinement {
    /// Confines this thread, and every process that it starts from now on. Where the kernel knows less of Landlock, less is
    /// taken away.
    ///
    /// # Errors
    /// The rules cannot be made, or the kernel has Landlock and cannot refuse system calls.
    pub(crate) fn enter(&self) -> io::Result<LandlockStatus> {
        let status = self.restrict().map_err(io::Error::other)?;
        match refuse_sockets() {
            // Where there is no Landlock, the warning says that nothing is promised.
            Err(error) if matches!(status, LandlockStatus::Available { .. }) => Err(error),
            _ => Ok(status),
        }
    }

    fn restrict(&self) -> Result<LandlockStatus, RulesetError> {
        let abi = ABI::V6;
        let read = AccessFs::from_read(abi);
        let all = AccessFs::from_all(abi);
        let status = Ruleset::default()
            .handle_access(all)?
            .handle_access(AccessNet::from_all(abi))?
            .scope(Scope::from_all(abi))?
            .create()?
            .add_rules(path_beneath_rules(self.open(), read))?
            .add_rules(path_beneath_rules(&self.files, read))?
            .add_rules(path_beneath_rules(&self.write, all))?
            .add_rules(path_beneath_rules(["/dev/null"], AccessFs::from_file(abi)))?
            .restrict_self()?;
        Ok(status.landlock)
    }

    /// The system's folders and those of [`Confinement::read`], without the closed one.
    fn open(&self) -> Vec<PathBuf> {
        let folders = SYSTEM.iter().map(PathBuf::from).chain(self.read.iter().cloned());
        let Some(closed) = self.closed.as_ref().and_then(|path| path.canonicalize().ok()) else {
            return folders.collect();
        };
        let real = folders.filter_map(|folder| folder.canonicalize().ok());
        real.flat_map(|folder| without(folder, &closed)).collect()
    }
}

/// Refuses this thread, and every process that it starts from now on, all sockets: "permission denied".
fn refuse_sockets() -> io::Result<()> {
    let calls = [libc::SYS_socket, libc::SYS_io_uring_setup].map(|call| (call, Vec::new()));
    let refuse = SeccompAction::Errno(libc::EACCES as u32);
    let arch = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let filter = SeccompFilter::new(calls.into(), SeccompAction::Allow, refuse, arch);
    let program: BpfProgram = filter.and_then(TryInto::try_into).map_err(io::Error::other)?;
    apply_filter(&program).map_err(io::Error::other)
}

/// What of a folder is not in the `closed` one; both are real paths. A rule of Landlock opens all that lies beneath a folder.
fn without(folder: PathBuf, closed: &Path) -> Vec<PathBuf> {
    if folder.starts_with(closed) {
        // The compiler itself may have been installed into the workbook.
        return if folder == closed { Vec::new() } else { vec![folder] };
    }
    if !closed.starts_with(&folder) {
        return vec![folder];
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    // What a link leads to has a rule of its own, or none.
    let here = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    here.map(|entry| entry.path())
        .filter(|path| path != closed)
        .flat_map(|path| without(path, closed))
        .collect()
}

/// How much of Landlock the running kernel has: its version, up to the newest that the grader asks for; 0 for nothing.
pub fn landlock() -> i32 {
    // A thread of its own is confined, to nothing at all.
    let status = thread::spawn(|| Confinement::default().enter()).join();
    match status {
        Ok(Ok(LandlockStatus::Available { effective_abi, .. })) => effective_abi as i32,
        _ => 0,
    }
}

/// The version of Landlock with all that the grader asks for (Linux 6.12).
pub const LANDLOCK: i32 = ABI::V6 as i32;

/// What a kernel lacks whose Landlock has this version, in words; nothing if all is there.
pub fn gap(version: i32) -> Option<String> {
    match version {
        ..=0 => Some("it has no Landlock".to_owned()),
        version if version < LANDLOCK => {
            Some(format!("its Landlock has version {version} of {LANDLOCK} (Linux 6.12)"))
        }
        _ => None,
    }
}

/// What to say of a compilation of a stranger's file on this machine.
pub(crate) fn warning() -> Option<Diagnostic> {
    static GAP: OnceLock<Option<String>> = OnceLock::new();
    let gap = GAP.get_or_init(|| gap(landlock())).as_ref()?;
    Some(Diagnostic {
        severity: Severity::Warning,
        title: format!("this machine's kernel confines compilers only in part: {gap}"),
        source: None,
        help: vec![
            "that is no matter for files of your own; grade those of strangers elsewhere".into(),
        ],
    })
}

/// Limits the memory and the files of a process that was just started, and of what it has started or will start.
pub(crate) fn limit(process: Pid) {
    limit_each(process, Resource::As, MEMORY, MEMORY);
    limit_each(process, Resource::Fsize, FILE_SIZE, FILE_SIZE);
}

/// Limits the processor time of a process that was just started, and of each that it has started or will start.
pub(crate) fn limit_time(process: Pid, seconds: u64) {
    // The first limit sends a signal that tells why, the second one that cannot be ignored.
    limit_each(process, Resource::Cpu, seconds, seconds + 1);
}

/// Sets a limit of a process, and then of its children: those that it starts later inherit it, and those that it has started by now are
/// listed (proc(5)).
fn limit_each(process: Pid, resource: Resource, current: u64, maximum: u64) {
    // Where a lower limit holds already, or the process is gone, there is nothing to do.
    let limit = Rlimit { current: Some(current), maximum: Some(maximum) };
    let _ = prlimit(Some(process), resource, limit);
    let tasks = format!("/proc/{}/task", process.as_raw_nonzero());
    for task in fs::read_dir(tasks).into_iter().flatten().flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        let numbers = children.split_whitespace().filter_map(|number| number.parse().ok());
        for child in numbers.filter_map(Pid::from_raw) {
            limit_each(child, resource, current, maximum);
        }
    }
}

/// The folder that a program was installed in, as `/x/cuda-13` for `/x/cuda-13/bin/nvcc`, wherever links lead.
pub(crate) fn installation(program: &Path) -> Option<PathBuf> {
    let real = program.canonicalize().ok()?;
    let folder = real.parent()?;
    // The folder around `/bin` and `~/bin` holds more than an installation.
    let around = folder.parent().filter(|around| {
        around.parent().is_some() && std::env::home_dir().is_none_or(|home| home != *around)
    });
    Some(around.unwrap_or(folder).to_owned())
}

#[cfg(test)]
mod tests;
