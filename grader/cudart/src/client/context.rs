//! The state of the program's only context, and its requests to the device.

use super::pages::Managed;
use super::registry::registry;
use super::stdio::{complain, print};
use crate::device::{Answer, Caller, Code, Device, Limit, Properties, Request};
use crate::error::CudaError;
use crate::fatbin;
use crate::frame::{self, Frame};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;

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
    pub sticky: Option<CudaError>,
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
    /// What the limits were that the program has set.
    limits: BTreeMap<Limit, u64>,
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
    /// The context of a program that is `given` device memory, by address and bytes.
    pub fn new(stream: UnixStream, given: BTreeMap<u64, u64>) -> Self {
        Self {
            stream,
            sticky: None,
            pending: None,
            printed: Vec::new(),
            clock: 0,
            time_noted: false,
            allocations: BTreeMap::new(),
            given,
            managed: Managed::default(),
            limits: BTreeMap::new(),
            properties: None,
            modules: BTreeMap::new(),
            handles: BTreeMap::new(),
            // No small number, so that a handle is never taken for one of CUDA's own (1 and 2 are streams).
            next_handle: 0x1000,
        }
    }

    /// Asks the device; what it answers comes in the frame.
    pub fn ask(&mut self, request: &Request<'_>) -> Answer<Frame> {
        let asked = frame::write(&mut self.stream, request);
        asked.and_then(|()| Frame::read(&mut self.stream)).map_err(|_| self.lost())
    }

    /// Asks for several things before it waits for the answers; `take` gets the number of each and the frame of its answer.
    /// The first error is returned; what was asked is asked all the same.
    pub fn ask_each(
        &mut self,
        asked: &[Request<'_>],
        mut take: impl FnMut(usize, &Frame) -> Answer<()>,
    ) -> Answer<()> {
        let mut first = Ok(());
        for (batch, start) in asked.chunks(BATCH).zip((0..).step_by(BATCH)) {
            for request in batch {
                frame::write(&mut self.stream, request).map_err(|_| self.lost())?;
            }
            for number in start..start + batch.len() {
                let answer = Frame::read(&mut self.stream).map_err(|_| self.lost())?;
                first = first.and(take(number, &answer));
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

    /// Which device it is, asked once.
    pub fn known_properties(&mut self) -> Answer<&Properties> {
        if self.properties.is_none() {
            self.properties = Some(self.properties()?);
        }
        self.properties.as_ref().ok_or(CudaError::UNKNOWN)
    }

    /// The device's number of a registered module, which it gets now if it has not yet.
    pub fn module(&mut self, index: usize) -> Answer<u64> {
        if let Some(&number) = self.modules.get(&index) {
            return Ok(number);
        }
        let image = registry().image(index).ok_or(CudaError::INVALID_KERNEL_IMAGE)?;
        let (major, minor) = self.known_properties()?.capability;
        let ptx = fatbin::ptx(&image, major * 10 + minor);
        let ptx = ptx.map_err(|_| CudaError::NO_KERNEL_IMAGE)?;
        let number = self.load(Code::ptx(&ptx))?;
        self.modules.insert(index, number);
        self.place_managed_variables(index, number)?;
        Ok(number)
    }

    /// Sets a limit until the device is reset.
    pub fn set_limit_until_reset(&mut self, limit: Limit, value: u64) -> Answer<()> {
        let before = self.limit(limit).ok();
        self.set_limit(limit, value)?;
        if let Some(before) = before {
            self.limits.entry(limit).or_insert(before);
        }
        Ok(())
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
    pub fn synchronise(&mut self) -> Answer<()> {
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
    pub fn reset(&mut self) -> Answer<()> {
        self.flush();
        for address in std::mem::take(&mut self.allocations).into_keys() {
            self.free(address).ok();
        }
        self.unmap_all()?;
        for module in std::mem::take(&mut self.modules).into_values() {
            self.unload(module).ok();
        }
        for (limit, value) in std::mem::take(&mut self.limits) {
            // Kernels may use the heap already, which then keeps its size.
            self.set_limit(limit, value).ok();
        }
        self.handles.clear();
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
            print(&std::mem::take(&mut self.printed));
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

impl Caller for Client {
    fn call<T: DeserializeOwned>(&mut self, request: &Request<'_>) -> Answer<T> {
        self.ask(request)?.value().map_err(|_| self.lost())?
    }
}
