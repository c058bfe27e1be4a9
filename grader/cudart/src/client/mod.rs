//! The program's end of the socket: what it has registered and allocated, and the connection to the server.

mod advice;
mod context;
mod guard;
mod images;
mod managed;
mod mapped;
mod pages;
mod registry;
mod stdio;
mod streams;
mod virtual_memory;

use crate::device::{Answer, Awaited, Device, Due};
use crate::error::{CudaError, SUCCESS};
use std::cell::Cell;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use advice::{Advice, DEVICE, HOST, Location, NOWHERE};
pub(crate) use context::{
    Choice, Client, Graph, Handle, HostFunction, Moment, Place, Work, host_function,
};
pub(crate) use images::{ArrayRecord, ObjectRecord, RESOURCE_WORDS};
pub(crate) use mapped::{AllocationProp, GRANULARITY};
pub(crate) use pages::{Kind as PagesKind, MAX_PIECE};
pub use registry::Function;
pub(crate) use registry::{Image, registry};
pub(crate) use stdio::complain;
pub(crate) use streams::PER_THREAD;

/// The connection and its state. A process has one, as it has one CUDA context.
static CLIENT: Mutex<Option<Client>> = Mutex::new(None);

thread_local! {
    static LAST_ERROR: Cell<u32> = const { Cell::new(SUCCESS) };
}

/// Connects the CUDA functions of this process to the server at the other end. `given` is device memory (addresses and
/// sizes in bytes) that the program may use but not free.
pub fn connect(stream: UnixStream, given: &[(u64, u64)]) {
    *client() = Some(Client::new(stream, given.iter().copied().collect()));
}

/// Waits for the device, and prints the output of its kernels.
///
/// # Errors
/// The error of a kernel, or another error of this thread that the program has not read.
pub fn synchronise() -> Answer<()> {
    enter(|client| client.synchronise(Awaited::Device));
    match take_last_error() {
        SUCCESS => Ok(()),
        code => Err(CudaError(code)),
    }
}

/// Notes that the memory which the program was given is read in the default stream, by an operation of this name: so does the caller of
/// its functions when they have returned. Work that nothing orders before that is a race.
pub fn read_given(operation: &str) {
    enter(|client| client.read_given(operation));
}

/// Copies within the device for the caller of the program's functions, which waits for it: into memory that the program was given, from
/// memory that it does not know.
pub fn copy_given(to: u64, from: u64, bytes: u64) {
    enter(|client| client.copy(to, from, bytes));
}

/// Prints the last output of the program's kernels when it ends.
pub fn finish() {
    if let Some(client) = client().as_mut() {
        client.open_pages();
        client.catch_up(Due::All).ok();
        client.free_conditions().ok();
        client.flush();
        client.tell_order().ok();
    }
}

/// Runs a host function of a stream. The stream orders what it touches, so it may touch all pages.
pub(crate) fn run_host_function(function: impl FnOnce()) {
    if let Some(client) = client().as_mut() {
        client.open_pages();
    }
    function();
    if let Some(client) = client().as_mut() {
        client.protect_pages();
    }
}

fn client() -> MutexGuard<'static, Option<Client>> {
    CLIENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the work of a CUDA function and returns its error code, which is also stored for `cudaGetLastError`.
pub(crate) fn enter(work: impl FnOnce(&mut Client) -> Answer<()>) -> u32 {
    let code = match client().as_mut() {
        None => CudaError::INITIALIZATION.0,
        Some(client) => {
            client.open_pages();
            let code = match client.sticky {
                Some(error) => error.0,
                None => work(client).err().map_or(SUCCESS, |error| error.0),
            };
            client.protect_pages();
            code
        }
    };
    if code != SUCCESS {
        LAST_ERROR.set(code);
    }
    code
}

/// Like [`enter`], but also runs if the context is in a sticky error, which successful work clears.
pub(crate) fn revive(work: impl FnOnce(&mut Client) -> Answer<()>) -> u32 {
    if let Some(client) = client().as_mut() {
        client.sticky = None;
    }
    enter(work)
}

/// Returns and clears the last error of this thread. A sticky error is not cleared.
pub(crate) fn take_last_error() -> u32 {
    LAST_ERROR.replace(SUCCESS)
}

/// The last error of this thread.
pub(crate) fn last_error() -> u32 {
    LAST_ERROR.get()
}
