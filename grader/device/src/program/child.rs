//! The process in which a program runs.
#![allow(unsafe_code)]

mod stack_end;

use crate::host::close_all_but;
use crate::sandbox::{self, Bounds};
use std::ffi::{CString, OsString, c_char, c_int};
use std::fs::{File, Permissions};
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Exit code of a program that cannot be loaded.
const NOT_LOADED: u8 = 3;

/// The name of the folder that a confined program may use, beside its library.
pub const SCRATCH: &str = "scratch";

/// What a confined program may use.
pub const BOUNDS: Bounds =
    Bounds { cpu_seconds: 60, memory: 4 << 30, file_size: 256 << 20, open_files: 64 };

/// The number by which the child knows a descriptor.
pub fn number(of: &impl AsRawFd) -> String {
    of.as_raw_fd().to_string()
}

unsafe extern "C" {
    /// C's own stream.
    static stdout: *mut libc::FILE;
}

/// `int main(int, char**)`, or without the arguments.
type Main = unsafe extern "C" fn(c_int, *mut *mut c_char) -> c_int;

/// The hidden command. Its arguments are the number of the device's descriptor, the library, and the program's own from its
/// name on.
pub fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(2);
    let device = args.next().and_then(|text| text.to_str()?.parse::<RawFd>().ok());
    let (Some(device), Some(library)) = (device, args.next()) else {
        return ExitCode::from(NOT_LOADED);
    };
    // SAFETY: the grader opened it for this process and names it once.
    let device = unsafe { OwnedFd::from_raw_fd(device) };
    // What the program starts itself has nothing to say to the device.
    rustix::io::fcntl_setfd(&device, rustix::io::FdFlags::CLOEXEC).ok();
    // Keeps CUDA's functions in this executable: the program asks for them by name.
    cudart::exported();
    let mut library = PathBuf::from(library);
    // Only the grader makes this folder, and only for a program that is to be shut in.
    let scratch = library.with_file_name(SCRATCH);
    if scratch.exists() {
        library = match shut_in(&library, &scratch, &device) {
            Ok(library) => library,
            Err(error) => {
                writeln!(std::io::stderr(), "error: the program cannot be confined: {error}").ok();
                return ExitCode::from(NOT_LOADED);
            }
        };
    }
    // Rust ignores the signal of a pipe that nobody reads; a C program whose output goes there would run without end.
    // SAFETY: no handler is involved.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    cudart::client::connect(device.into(), &[]);
    let args: Vec<OsString> = args.collect();
    let mut ran = Err(String::new());
    stack_end::call(&mut || ran = run(&library, &args));
    let status = match ran {
        Ok(status) => status,
        Err(words) => {
            writeln!(std::io::stderr(), "error: the program cannot be loaded: {words}").ok();
            return ExitCode::from(NOT_LOADED);
        }
    };
    // SAFETY: runs what the program left for its end (`atexit`, destructors), writes its buffers, and ends the process.
    unsafe { libc::exit(status) }
}

/// Shuts this process in. Returns the path by which it finds the library from then on.
fn shut_in(library: &Path, scratch: &Path, device: &OwnedFd) -> std::io::Result<PathBuf> {
    let file = File::open(library)?;
    file.set_permissions(Permissions::from_mode(0o444))?;
    close_all_but(&[device.as_raw_fd(), file.as_raw_fd()])?;
    std::env::set_current_dir(scratch)?;
    let folder = library.parent().unwrap_or(library);
    // Output that goes through a pipe shall come as it comes on a terminal: a line at a time, also before a crash.
    // SAFETY: the stream is open, nothing was written to it, and it gets a buffer of its own.
    unsafe { libc::setvbuf(stdout, std::ptr::null_mut(), libc::_IOLBF, 0) };
    for hole in sandbox::enter(&BOUNDS, &[folder], scratch) {
        writeln!(std::io::stderr(), "warning: on this machine, the program can {hole}").ok();
    }
    // It stays open to the end of the process.
    Ok(PathBuf::from(format!("/proc/self/fd/{}", file.into_raw_fd())))
}

fn run(library: &Path, args: &[OsString]) -> Result<c_int, String> {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW, Symbol};
    let texts: Result<Vec<CString>, _> =
        args.iter().map(|arg| CString::new(arg.as_bytes())).collect();
    let texts = texts.map_err(|e| e.to_string())?;
    let mut pointers: Vec<*mut c_char> =
        texts.into_iter().map(CString::into_raw).chain([std::ptr::null_mut()]).collect();
    // SAFETY: the user asked for this program to be run; its constructors run here, its `main` below. The library is never
    // closed and the arguments are never freed, as for any process.
    unsafe {
        let library =
            Library::open(Some(library), RTLD_NOW | RTLD_GLOBAL).map_err(|e| e.to_string())?;
        let library = std::mem::ManuallyDrop::new(library);
        let main: Symbol<Main> = library.get("main").map_err(|_| {
            "it has no function `main`: `grader run` runs whole programs, `grader puzzle` grades kernels"
        })?;
        let status = main(pointers.len() as c_int - 1, pointers.as_mut_ptr());
        std::mem::forget(pointers);
        cudart::client::finish();
        Ok(status)
    }
}
