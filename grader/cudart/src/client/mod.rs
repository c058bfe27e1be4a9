//! The program's end: what it has registered and allocated, and the connection to the server.

mod managed;
mod registry;

use crate::error::{CudaError, SUCCESS};
use crate::protocol::{Properties, Reply, Request, read_frame, write_frame};
use managed::Managed;
use registry::Registry;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use managed::Kind as PagesKind;
pub use registry::Function;

/// The connection and all that belongs to it. One for the process, as CUDA has one context for it.
static CLIENT: Mutex<Option<Client>> = Mutex::new(None);

/// What a program registers before it has called anything: constructors run while its library is loaded.
static REGISTRY: Mutex<Registry> = Mutex::new(Registry::new());

thread_local! {
    static LAST_ERROR: Cell<u32> = const { Cell::new(SUCCESS) };
}

/// From now on the CUDA functions of this process ask the server at the other end. `given` is device memory, by address
/// and bytes, that the program gets without asking for it: it may use it, and not free it.
pub fn connect(stream: UnixStream, given: &[(u64, u64)]) {
    let given = given.iter().copied().collect();
    *lock(&CLIENT) = Some(Client { given, ..Client::new(stream) });
}

/// Waits for the device, and shows what its kernels have printed.
///
/// # Errors
/// What a kernel did wrong, or another error of this thread that the program has not looked at.
pub fn synchronise() -> Result<(), CudaError> {
    enter(Client::synchronise);
    match take_last_error() {
        SUCCESS => Ok(()),
        code => Err(CudaError(code)),
    }
}

/// Tells the server that the program has come to its end by itself, and shows what its kernels printed last.
pub fn finish(status: i32) {
    if let Some(client) = lock(&CLIENT).as_mut() {
        client.flush();
        write_frame(&mut client.stream, &Request::Finished { status }, &[]).ok();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the program has registered.
pub(crate) fn registry() -> MutexGuard<'static, Registry> {
    lock(&REGISTRY)
}

/// Runs the work of a CUDA function: its error code, which is also remembered for `cudaGetLastError`.
pub(crate) fn enter(work: impl FnOnce(&mut Client) -> Result<(), CudaError>) -> u32 {
    let code = match lock(&CLIENT).as_mut() {
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
pub(crate) fn revive(work: impl FnOnce(&mut Client) -> Result<(), CudaError>) -> u32 {
    if let Some(client) = lock(&CLIENT).as_mut() {
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

/// Requests that are under way at once: so few that either all of them or all answers fit into a socket's buffer, if they
/// are short, and then nobody waits for the other for ever.
const BATCH: usize = 64;

/// Where a pointer of the program points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Ordinary memory of the program.
    Host,
    /// Pages that the program and its kernels both use.
    Managed,
    /// Device memory.
    Device,
}

/// The state of the program's only context.
pub(crate) struct Client {
    stream: UnixStream,
    /// From now on every call fails with it.
    sticky: Option<CudaError>,
    /// What a kernel did wrong, which the program learns when it next waits for the device.
    pending: Option<CudaError>,
    /// What kernels printed since the program last waited for the device.
    printed: Vec<u8>,
    /// The device's clock, in nanoseconds.
    pub clock: u64,
    /// The note that times are simulated has been shown.
    pub time_noted: bool,
    /// Device memory: address and bytes.
    pub allocations: BTreeMap<u64, u64>,
    /// More of it, that is not the program's to free.
    given: BTreeMap<u64, u64>,
    pub managed: Managed,
    /// `cudaLimit`s that the program has set.
    pub limits: BTreeMap<i32, usize>,
    properties: Option<Properties>,
    /// Modules that the server has, by number in the registry.
    modules: BTreeMap<usize, u64>,
    /// Handles given out: streams, events.
    pub handles: BTreeMap<u64, Handle>,
    next_handle: u64,
}

/// What a handle stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Handle {
    Stream {
        flags: u32,
        priority: i32,
    },
    /// With the device's time at which it was recorded.
    Event {
        recorded: Option<u64>,
        timed: bool,
    },
}

impl Client {
    fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            sticky: None,
            pending: None,
            printed: Vec::new(),
            clock: 0,
            time_noted: false,
            allocations: BTreeMap::new(),
            given: BTreeMap::new(),
            managed: Managed::default(),
            limits: BTreeMap::new(),
            properties: None,
            modules: BTreeMap::new(),
            handles: BTreeMap::new(),
            // No small number, so that a handle is never taken for one of CUDA's own (1 and 2 are streams).
            next_handle: 0x1000,
        }
    }

    /// Asks the server; its answer and the bytes that came with it.
    pub fn ask(&mut self, request: &Request, body: &[u8]) -> Result<(Reply, Vec<u8>), CudaError> {
        let asked = write_frame(&mut self.stream, request, &[body])
            .and_then(|()| read_frame::<Result<Reply, CudaError>>(&mut self.stream));
        match asked {
            Ok((Ok(reply), body)) => Ok((reply, body)),
            Ok((Err(error), _)) => Err(error),
            Err(_) => Err(self.lost()),
        }
    }

    /// Asks for several things before it waits for the answers; `take` gets the number of each and the bytes that came with
    /// it. The first error is returned; what was asked is asked all the same.
    pub fn ask_each(
        &mut self,
        asked: &[(Request, &[u8])],
        mut take: impl FnMut(usize, &[u8]) -> Result<(), CudaError>,
    ) -> Result<(), CudaError> {
        let mut first = Ok(());
        for (batch, start) in asked.chunks(BATCH).zip((0..).step_by(BATCH)) {
            for (request, body) in batch {
                let written = write_frame(&mut self.stream, request, &[body]);
                written.map_err(|_| self.lost())?;
            }
            for number in start..start + batch.len() {
                let answer = read_frame::<Result<Reply, CudaError>>(&mut self.stream);
                let (reply, body) = answer.map_err(|_| self.lost())?;
                let taken = reply.and_then(|_| take(number, &body));
                first = first.and(taken);
            }
        }
        first
    }

    /// Without a device no call can do anything any more.
    fn lost(&mut self) -> CudaError {
        self.sticky = Some(CudaError::UNKNOWN);
        complain("the virtual device has ended; all further CUDA calls fail");
        CudaError::UNKNOWN
    }

    /// For a request that is answered by nothing.
    pub fn tell(&mut self, request: &Request, body: &[u8]) -> Result<(), CudaError> {
        self.ask(request, body).map(|_| ())
    }

    /// For a request that is answered by a number.
    pub fn number(&mut self, request: &Request, body: &[u8]) -> Result<u64, CudaError> {
        match self.ask(request, body)? {
            (Reply::Number(number), _) => Ok(number),
            _ => Err(CudaError::UNKNOWN),
        }
    }

    /// Which device is it?
    pub fn properties(&mut self) -> Result<Properties, CudaError> {
        if let Some(known) = &self.properties {
            return Ok(known.clone());
        }
        match self.ask(&Request::Properties, &[])? {
            (Reply::Properties(properties), _) => Ok(self.properties.insert(properties).clone()),
            _ => Err(CudaError::UNKNOWN),
        }
    }

    /// The server's number of a registered module, which it gets now if it has not yet.
    pub fn module(&mut self, index: usize) -> Result<u64, CudaError> {
        if let Some(&number) = self.modules.get(&index) {
            return Ok(number);
        }
        let image = registry().image(index).ok_or(CudaError::INVALID_KERNEL_IMAGE)?;
        let number = self.number(&Request::Load, &image)?;
        self.modules.insert(index, number);
        self.place_managed_variables(index, number)?;
        Ok(number)
    }

    /// A kernel did what ends a context on a GPU. The program learns it when it next waits for the device; launches until
    /// then do nothing.
    pub fn fail_later(&mut self, error: CudaError) {
        self.pending = Some(error);
    }

    /// Has a kernel done so?
    pub fn has_failed(&self) -> bool {
        self.pending.is_some()
    }

    /// The program waits for the device: shows what its kernels have printed, and says what they did wrong.
    pub fn synchronise(&mut self) -> Result<(), CudaError> {
        self.flush();
        match self.pending {
            Some(error) => {
                self.sticky = Some(error);
                Err(error)
            }
            None => Ok(()),
        }
    }

    /// Gives everything back and begins anew, as `cudaDeviceReset` does.
    pub fn reset(&mut self) -> Result<(), CudaError> {
        self.flush();
        for (address, _) in std::mem::take(&mut self.allocations) {
            self.tell(&Request::Free { address }, &[]).ok();
        }
        self.unmap_all()?;
        self.modules.clear();
        self.handles.clear();
        self.limits.clear();
        self.pending = None;
        Ok(())
    }

    /// Keeps what a kernel printed until the program waits for the device.
    pub fn print_later(&mut self, text: &[u8]) {
        self.printed.extend_from_slice(text);
    }

    /// Shows what kernels have printed.
    pub fn flush(&mut self) {
        if !self.printed.is_empty() {
            crate::api::print(&std::mem::take(&mut self.printed));
        }
    }

    /// A new handle.
    pub fn new_handle(&mut self, handle: Handle) -> u64 {
        self.next_handle += 16;
        self.handles.insert(self.next_handle, handle);
        self.next_handle
    }

    /// Where a pointer points.
    pub fn place(&self, address: u64) -> Place {
        let holds = |all: &BTreeMap<u64, u64>| {
            let below = all.range(..=address).next_back();
            below.is_some_and(|(&start, &bytes)| address - start <= bytes)
        };
        if self.managed.kind(address).is_some() {
            Place::Managed
        } else if holds(&self.allocations) || holds(&self.given) {
            Place::Device
        } else {
            Place::Host
        }
    }
}

/// A line on standard error.
pub(crate) fn complain(message: &str) {
    writeln!(std::io::stderr(), "cudart: {message}").ok();
}
