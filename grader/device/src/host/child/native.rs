//! The calls that Rust cannot check: closing descriptors by number, mapping shared memory, loading a library and
//! jumping into it. The process has nothing to protect but itself; the sandbox protects the rest.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Longest text of an exception.
const MESSAGE: usize = 512;

/// An entry point of the glue: arguments, and room for the text of an exception. 0: it returned.
type Entry = unsafe extern "C" fn(*const *const c_void, *mut c_char, usize) -> c_int;

/// The number of an open descriptor.
pub fn number(of: &impl AsRawFd) -> i32 {
    of.as_raw_fd()
}

/// Closes all descriptors but the standard ones and these.
pub fn close_all_but(keep: &[i32]) -> io::Result<()> {
    let mut open = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        open.extend(entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    for fd in open.into_iter().filter(|fd| *fd > 2 && !keep.contains(fd)) {
        // SAFETY: what the process inherited belongs to nobody here, and what this loop opened itself (the folder's
        // descriptor) is closed already: then closing fails, which is not looked at.
        unsafe { libc::close(fd) };
    }
    Ok(())
}

/// The memory of tensors that lie on the host, shared with the grader.
pub struct Shared {
    start: *mut c_void,
}

impl Shared {
    /// Maps `len` bytes of the file, shared with the grader.
    pub fn map(file: &File, len: usize) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at a place that the kernel chooses; it stays to the end of the process.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), len, protection, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Self { start }) }
    }

    /// The address of a byte.
    pub fn at(&self, offset: usize) -> Pointer {
        Pointer(self.start.cast::<u8>().wrapping_add(offset).cast())
    }
}

/// An argument of the glue.
#[derive(Clone, Copy, Debug)]
pub struct Pointer(*const c_void);

impl Pointer {
    /// A device address: only a number to the host.
    pub fn device(address: u64) -> Self {
        Self(std::ptr::without_provenance(address as usize))
    }

    /// The address of a number. The glue copies it; the memory stays, in case it does not.
    pub fn value(bytes: &[u8]) -> Self {
        // Eight bytes, aligned for any number.
        let mut word = [0; 8];
        word[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
        Self(std::ptr::from_ref(Box::leak(Box::new(u64::from_ne_bytes(word)))).cast())
    }
}

/// The student's code.
///
/// Never closed: that would run what the code left for its end.
pub struct Library(std::mem::ManuallyDrop<libloading::os::unix::Library>);

impl Library {
    /// Loads it behind those that it needs, which runs the constructors of its global objects.
    pub fn load(path: &Path, needed: &[PathBuf]) -> Result<Self, String> {
        use libloading::os::unix::{RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};
        // At once, so that what is missing is told here and not in the middle of a call.
        for path in needed {
            Self::open(path, RTLD_NOW | RTLD_GLOBAL)?;
        }
        // A function of the student's own goes before one of the same name in a library.
        let own_first = if needed.is_empty() { 0 } else { libc::RTLD_DEEPBIND };
        Self::open(path, RTLD_NOW | RTLD_LOCAL | own_first)
    }

    fn open(path: &Path, flags: c_int) -> Result<Self, String> {
        // SAFETY: foreign code runs; the sandbox is shut.
        unsafe { libloading::os::unix::Library::open(Some(path), flags) }
            .map(|library| Self(std::mem::ManuallyDrop::new(library)))
            .map_err(|e| e.to_string())
    }

    /// Calls an entry point; the text of the exception that it threw, if it did.
    pub fn call(&self, symbol: &str, args: &[Pointer]) -> Result<Option<String>, String> {
        let mut message = [0 as c_char; MESSAGE];
        let args: Vec<*const c_void> = args.iter().map(|arg| arg.0).collect();
        // SAFETY: the glue was generated with this signature, and reads as many arguments as the spec's call has.
        // What the student's code does is its own affair.
        let code = unsafe {
            let entry: libloading::os::unix::Symbol<Entry> =
                self.0.get(symbol).map_err(|e| e.to_string())?;
            entry(args.as_ptr(), message.as_mut_ptr(), MESSAGE)
        };
        if code == 0 {
            return Ok(None);
        }
        message[MESSAGE - 1] = 0;
        // SAFETY: the text ends, at the latest with the byte above.
        let words = unsafe { CStr::from_ptr(message.as_ptr()) };
        Ok(Some(words.to_string_lossy().into_owned()))
    }
}

unsafe extern "C" {
    // Of `cudart`: the functions that the student's code calls, too.
    fn cudaDeviceSynchronize() -> u32;
    fn cudaGetLastError() -> u32;
    fn cudaGetErrorName(code: u32) -> *const c_char;
    fn cudaGetErrorString(code: u32) -> *const c_char;
}

/// Waits for the device; its error, or one that the student's code has not asked for: name and words.
pub fn synchronize() -> Option<(String, String)> {
    // SAFETY: these take and give numbers, and texts that live for ever.
    unsafe {
        let waited = cudaDeviceSynchronize();
        let last = cudaGetLastError();
        let code = if waited == 0 { last } else { waited };
        let text = |text: *const c_char| CStr::from_ptr(text).to_string_lossy().into_owned();
        (code != 0).then(|| (text(cudaGetErrorName(code)), text(cudaGetErrorString(code))))
    }
}

/// Ends the process without what the student's code left for its end.
pub fn leave() -> ! {
    // SAFETY: writes what the C library holds back of the code's prints, and ends the process.
    unsafe {
        libc::fflush(std::ptr::null_mut());
        libc::_exit(0)
    }
}
