//! The program's end: what it has registered and allocated, and the connection to the server.

mod context;
mod managed;
mod pages;
mod registry;
mod stdio;

use crate::device::Answer;
use crate::error::{CudaError, SUCCESS};
use std::cell::Cell;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use context::{Client, Handle, Place};
pub(crate) use pages::{Kind as PagesKind, MAX_PIECE};
pub use registry::Function;
pub(crate) use registry::registry;
pub(crate) use stdio::complain;

/// The connection and all that belongs to it. One for the process, as CUDA has one context for it.
static CLIENT: Mutex<Option<Client>> = Mutex::new(None);

thread_local! {
    static LAST_ERROR: Cell<u32> = const { Cell::new(SUCCESS) };
}

/// From now on the CUDA functions of this process ask the server at the other end. `given` is device memory, by address
/// and bytes, that the program gets without asking for it: it may use it, and not free it.
pub fn connect(stream: UnixStream, given: &[(u64, u64)]) {
    *client() = Some(Client::new(stream, given.iter().copied().collect()));
}

/// Waits for the device, and shows what its kernels have printed.
///
/// # Errors
/// What a kernel did wrong, or another error of this thread that the program has not looked at.
pub fn synchronise() -> Answer<()> {
    enter(Client::synchronise);
    match take_last_error() {
        SUCCESS => Ok(()),
        code => Err(CudaError(code)),
    }
}

/// Shows what the program's kernels printed last: it has come to its end.
pub fn finish() {
    if let Some(client) = client().as_mut() {
        client.flush();
    }
}

fn client() -> MutexGuard<'static, Option<Client>> {
    CLIENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the work of a CUDA function: its error code, which is also remembered for `cudaGetLastError`.
pub(crate) fn enter(work: impl FnOnce(&mut Client) -> Answer<()>) -> u32 {
    let code = match client().as_mut() {
        None => CudaError::INITIALIZATION.0,
        Some(client) => match client.sticky {
            Some(error) => error.0,
            None => work(client).err().map_or(SUCCESS, |error| error.0),
        },
    };
    if code != SUCCESS {
        LAST_ERROR.set(code);
    }
    code
}

/// As [`enter`], but also when the device is beyond help, which it is not any more if the work succeeds.
pub(crate) fn revive(work: impl FnOnce(&mut Client) -> Answer<()>) -> u32 {
    if let Some(client) = client().as_mut() {
        client.sticky = None;
    }
    enter(work)
}

/// The last error of this thread; it is forgotten, though every further call fails where the device is beyond help.
pub(crate) fn take_last_error() -> u32 {
    LAST_ERROR.replace(SUCCESS)
}

/// The last error of this thread.
pub(crate) fn last_error() -> u32 {
    LAST_ERROR.get()
}
