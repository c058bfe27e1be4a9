//! The process in which the student's host code runs. It shuts itself in, then loads the code and calls it.

mod native;

pub(crate) use native::close_all_but;

use crate::checked::TensorCopy;
use crate::sandbox;

use super::job::{Arg, JOB, Job, Line, REPORT, SCRATCH};
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// First argument of the process in which host code runs.
pub const CHILD_COMMAND: &str = "__host-child";

/// How a read of the results is called, which host code must have ordered behind its work.
const READ_BY_CALLER: &str = "the caller's cudaMemcpy";

/// Exit code of a child that cannot even start.
const NOT_STARTED: u8 = 3;

/// The hidden command. Its argument is the child's folder, its standard input the device.
pub fn main() -> ExitCode {
    // Without a use the linker would leave out what only the student's code calls.
    cudart::exported();
    let Some(folder) = std::env::args_os().nth(2) else { return ExitCode::from(NOT_STARTED) };
    match run(Path::new(&folder)) {
        Ok(()) => native::leave(),
        Err(error) => {
            writeln!(io::stderr(), "the process for host code cannot start: {error}").ok();
            ExitCode::from(NOT_STARTED)
        }
    }
}

fn run(folder: &Path) -> io::Result<()> {
    let job: Job = serde_json::from_slice(&std::fs::read(folder.join(JOB))?)?;
    let mut report = Report(OpenOptions::new().append(true).open(folder.join(REPORT))?);
    let memory = match &job.memory {
        None => None,
        Some((path, _)) => Some(OpenOptions::new().read(true).write(true).open(path)?),
    };
    // Whoever reads from the standard input finds its end, not the device's words.
    let device = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    let mut keep = vec![native::number(&device), native::number(&report.0)];
    keep.extend(memory.as_ref().map(native::number));
    close_all_but(&keep)?;
    let scratch = folder.join(SCRATCH);
    std::env::set_current_dir(&scratch)?;
    cudart::client::connect(UnixStream::from(device), &job.tensors);
    let library_folder = job.library.parent().unwrap_or(folder);
    // Opened while the process still may: another user might not find the way to them.
    let open = |path: &PathBuf| OpenLibrary::open(path);
    let library = open(&job.library)?;
    let references = job.references.iter().map(open).collect::<io::Result<Vec<_>>>()?;
    let references: Vec<PathBuf> = references.iter().map(OpenLibrary::path).collect();
    for hole in sandbox::enter(&job.bounds, &[library_folder], &scratch) {
        report.say(&Line::Open(hole));
    }
    let memory = match (&memory, &job.memory) {
        (Some(file), Some((_, len))) => Some(native::Shared::map(file, *len)?),
        _ => None,
    };
    let library = match native::Library::load(&library.path(), &references) {
        Ok(library) => library,
        Err(words) => {
            report.say(&Line::NotLoaded(words));
            return Ok(());
        }
    };
    for (i, call) in job.calls.iter().enumerate() {
        report.say(&Line::Calling(i));
        for TensorCopy { to, from, bytes } in &call.copies {
            cudart::client::copy_given(*to, *from, *bytes);
        }
        let args: Vec<native::Pointer> = call
            .args
            .iter()
            .map(|arg| match arg {
                Arg::Device(address) => native::Pointer::device(*address),
                Arg::Host(offset) => {
                    memory.as_ref().map_or(native::Pointer::device(0), |memory| memory.at(*offset))
                }
                Arg::Value(bytes) => native::Pointer::value(bytes),
            })
            .collect();
        match library.call(&call.symbol, &args) {
            Ok(None) => report.say(&Line::Returned(i)),
            Ok(Some(words)) => {
                report.say(&Line::Threw(words));
                return Ok(());
            }
            Err(words) => {
                report.say(&Line::NotLoaded(words));
                return Ok(());
            }
        }
        cudart::client::read_given(READ_BY_CALLER);
        if let Some((name, words)) = native::synchronize() {
            report.say(&Line::CudaError(name, words));
        }
    }
    report.say(&Line::Done);
    Ok(())
}

/// A library that can be loaded whoever this process is.
struct OpenLibrary(File);

impl OpenLibrary {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        if rustix::process::geteuid().is_root() {
            file.set_permissions(Permissions::from_mode(0o444))?;
        }
        Ok(Self(file))
    }

    fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", native::number(&self.0)))
    }
}

/// Each line in one write, so that what the student's code writes there does not mix with it.
struct Report(File);

impl Report {
    fn say(&mut self, line: &Line) {
        let mut text = serde_json::to_string(line).unwrap_or_default();
        text.push('\n');
        // If the student's code has closed it, the grader sees that the last line is missing.
        self.0.write_all(text.as_bytes()).ok();
    }
}
