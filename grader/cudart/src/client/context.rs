//! The state of the program's only context, and its requests to the device.

mod deferred;
mod graph;
mod graphs;
mod pools;

use super::advice::AdviceMap;
use super::images::Images;
use super::mapped::VirtualMemory;
use super::pages::Managed;
use super::registry::{Image, registry};
use super::stdio::{complain, print};
use crate::device::{
    Answer, Awaited, Caller, Code, Device, Due, Launch, Limit, OrderStep, Properties, Request,
};
use crate::device_runtime::with_device_runtime;
use crate::error::CudaError;
use crate::fatbin;
use crate::frame::{self, Frame};
use deferred::Deferred;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::CString;
use std::os::unix::net::UnixStream;
use std::thread::ThreadId;

pub(crate) use graph::{Choice, Graph, HostFunction, Work};
use graphs::Graphs;
pub(crate) use graphs::host_function;
use pools::Pools;

/// The largest number of requests in flight. If they are short, either all requests or all answers fit into a socket's
/// buffer, so that the two sides cannot deadlock.
const BATCH: usize = 64;

/// The kind of memory that a pointer of the program points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Ordinary memory of the program.
    Host,
    /// Pages that host and device share.
    Managed,
    /// Memory of the device.
    Device,
}

/// The state of the program's only context.
pub(crate) struct Client {
    stream: UnixStream,
    /// The error that every further call returns, if there is one.
    pub sticky: Option<CudaError>,
    /// The error of a kernel, which the program gets when it next waits for the device.
    pending: Option<CudaError>,
    /// The output of kernels since the program last waited for the device.
    printed: Vec<u8>,
    /// The device's clock, in nanoseconds.
    pub clock: u64,
    /// What copies have taken, in nanoseconds of a simulated device.
    pub copied: u64,
    /// True if the note that times are simulated has been printed.
    pub time_noted: bool,
    /// Device memory: addresses and sizes in bytes.
    pub allocations: BTreeMap<u64, u64>,
    /// Device memory that the program must not free: addresses and sizes in bytes.
    pub given: BTreeMap<u64, u64>,
    pub managed: Managed,
    /// Memory of the program that it has registered: addresses and sizes in bytes.
    pub(super) registered: BTreeMap<u64, u64>,
    /// The previous values of the limits that the program has set.
    limits: BTreeMap<Limit, u64>,
    /// Whether a kernel that calls `printf` has been launched.
    has_printing_kernels: bool,
    properties: Option<Properties>,
    /// The server's numbers of modules, by their index in the registry.
    modules: BTreeMap<usize, u64>,
    /// The streams, events and graphs that exist, by handle.
    pub handles: BTreeMap<u64, Handle>,
    next_handle: u64,
    pub graphs: Graphs,
    deferred: Deferred,
    pub images: Images,
    /// The default streams of host threads.
    pub of_threads: HashMap<ThreadId, u64>,
    /// The names of kernels that the program has asked for, by the addresses of their host sides.
    pub names: BTreeMap<usize, CString>,
    pub pools: Pools,
    /// Memory that the program maps itself.
    pub mapped: VirtualMemory,
    pub advice: AdviceMap,
    /// The attributes that streams were given, by stream and code.
    pub stream_attributes: BTreeMap<(u64, u32), [u64; 8]>,
    /// What the device has not been told yet of the order of the program's work.
    pub steps: Vec<OrderStep>,
    /// The pinned memory that asynchronous copies and fills have accessed, which the host may not have waited for.
    pub in_use: BTreeSet<u64>,
}

/// The object that a handle refers to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Handle {
    Stream {
        flags: u32,
        priority: i32,
    },
    /// An event, with the time at which it was recorded.
    Event {
        recorded: Option<Moment>,
        timed: bool,
    },
    /// A graph, or an executable one.
    Graph,
}

/// A time of the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moment {
    /// The device's clock, in nanoseconds.
    pub clock: u64,
    /// What copies had taken by then, in nanoseconds, as [`Client::copied`] sums it up.
    pub copied: u64,
}

impl Client {
    /// The context of a program that is `given` device memory (addresses and sizes in bytes).
    pub fn new(stream: UnixStream, given: BTreeMap<u64, u64>) -> Self {
        Self {
            stream,
            sticky: None,
            pending: None,
            printed: Vec::new(),
            clock: 0,
            copied: 0,
            time_noted: false,
            allocations: BTreeMap::new(),
            given,
            managed: Managed::default(),
            registered: BTreeMap::new(),
            limits: BTreeMap::new(),
            has_printing_kernels: false,
            properties: None,
            modules: BTreeMap::new(),
            handles: BTreeMap::new(),
            // Not a small number, so that no handle equals one of CUDA's own (1 and 2 are streams).
            next_handle: 0x1000,
            graphs: Graphs::default(),
            deferred: Deferred::default(),
            images: Images::default(),
            of_threads: HashMap::new(),
            names: BTreeMap::new(),
            pools: Pools::default(),
            mapped: VirtualMemory::default(),
            advice: AdviceMap::default(),
            stream_attributes: BTreeMap::new(),
            steps: Vec::new(),
            in_use: BTreeSet::new(),
        }
    }

    /// Sends a request to the device; the frame holds the answer.
    pub fn ask(&mut self, request: &Request<'_>) -> Answer<Frame> {
        if request.needs_memory() {
            self.catch_up(Due::All)?;
        }
        self.tell_order()?;
        let asked = frame::write(&mut self.stream, request);
        asked.and_then(|()| Frame::read(&mut self.stream)).map_err(|_| self.lost())
    }

    /// Tells the device how the program has ordered its work since the last request.
    pub fn tell_order(&mut self) -> Answer<()> {
        if self.steps.is_empty() {
            return Ok(());
        }
        let steps = std::mem::take(&mut self.steps);
        let told = frame::write(&mut self.stream, &Request::Order { steps });
        told.and_then(|()| Frame::read(&mut self.stream)).map(|_| ()).map_err(|_| self.lost())
    }

    /// Sends several requests before it waits for the answers; `take` gets the number of each and the frame of its
    /// answer. Returns the first error, but all requests are executed.
    pub fn ask_each(
        &mut self,
        asked: &[Request<'_>],
        mut take: impl FnMut(usize, &Frame) -> Answer<()>,
    ) -> Answer<()> {
        self.tell_order()?;
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

    /// Records that the device has ended, so that no call can succeed any more.
    fn lost(&mut self) -> CudaError {
        self.sticky = Some(CudaError::UNKNOWN);
        complain("the virtual device has ended; all further CUDA calls fail");
        CudaError::UNKNOWN
    }

    /// The device's properties, requested once.
    pub fn known_properties(&mut self) -> Answer<&Properties> {
        if self.properties.is_none() {
            self.properties = Some(self.properties()?);
        }
        self.properties.as_ref().ok_or(CudaError::UNKNOWN)
    }

    /// The device's number of a registered module, which is loaded if necessary.
    pub fn module(&mut self, index: usize) -> Answer<u64> {
        if let Some(&number) = self.modules.get(&index) {
            return Ok(number);
        }
        let image = registry().image(index).ok_or(CudaError::INVALID_KERNEL_IMAGE)?;
        let (major, minor) = self.known_properties()?.capability;
        let ptx = match image {
            Image::Container(bytes) => {
                fatbin::ptx(&bytes, major * 10 + minor).map_err(|_| CudaError::NO_KERNEL_IMAGE)?
            }
            Image::Ptx(text) => text,
        };
        let number = self.load(Code::ptx(&with_device_runtime(ptx)))?;
        self.modules.insert(index, number);
        self.place_managed_variables(index, number)?;
        Ok(number)
    }

    /// Removes a module that the program has loaded itself.
    pub fn forget_module(&mut self, index: usize) -> Answer<()> {
        match self.modules.remove(&index) {
            Some(number) => self.unload(number),
            None => Ok(()),
        }
    }

    /// Sets a limit until the device is reset. The buffer of `printf` keeps its size once a kernel may have written into it (CUDA C++
    /// Programming Guide, "Formatted Output", as on an H100).
    pub fn set_limit_until_reset(&mut self, limit: Limit, value: u64) -> Answer<()> {
        if limit == Limit::PrintfFifoSize && self.has_printing_kernels {
            return Err(CudaError::INVALID_VALUE);
        }
        let before = self.limit(limit).ok();
        self.set_limit(limit, value)?;
        if let Some(before) = before {
            self.limits.entry(limit).or_insert(before);
        }
        Ok(())
    }

    /// Records an error that ends a context on a GPU. The program gets it when it next waits for the device; launches
    /// until then do nothing.
    pub fn fail_later(&mut self, error: CudaError) {
        self.pending = Some(error);
    }

    /// Whether a kernel has caused such an error.
    pub fn has_failed(&self) -> bool {
        self.pending.is_some()
    }

    /// Prints the output of kernels, and returns their error, as calls do that wait for the device.
    pub fn wait(&mut self) -> Answer<()> {
        self.flush();
        match self.pending {
            Some(error) => {
                self.sticky = Some(error);
                Err(error)
            }
            None => Ok(()),
        }
    }

    /// Frees everything and starts again, as `cudaDeviceReset` does.
    pub fn reset(&mut self) -> Answer<()> {
        self.catch_up(Due::All).ok();
        self.free_conditions().ok();
        self.flush();
        let reserved = std::mem::take(&mut self.mapped).into_addresses();
        for &address in &reserved {
            self.allocations.remove(&address);
        }
        let allocated = std::mem::take(&mut self.allocations).into_keys();
        for address in allocated.chain(reserved) {
            self.free(address).ok();
        }
        let images = std::mem::take(&mut self.images);
        for (handle, object) in images.objects {
            self.destroy_image_object(handle, object.texture.is_some()).ok();
        }
        let arrays = images.arrays.into_iter().filter(|(_, record)| record.parent.is_none());
        for (array, _) in arrays {
            self.free_array(array).ok();
        }
        self.unmap_all()?;
        for module in std::mem::take(&mut self.modules).into_values() {
            self.unload(module).ok();
        }
        for (limit, value) in std::mem::take(&mut self.limits) {
            // Kernels may already use the heap, which then keeps its size.
            self.set_limit(limit, value).ok();
        }
        self.handles.clear();
        self.graphs = Graphs::default();
        self.of_threads.clear();
        self.pools = Pools::default();
        self.note(OrderStep::Synchronise(Awaited::Device));
        self.pending = None;
        self.has_printing_kernels = false;
        Ok(())
    }

    /// Keeps the output of a kernel until the program waits for the device.
    pub fn print_later(&mut self, text: &[u8]) {
        self.printed.extend_from_slice(text);
    }

    /// Prints the output of kernels.
    pub fn flush(&mut self) {
        if !self.printed.is_empty() {
            print(&std::mem::take(&mut self.printed));
        }
    }

    /// Starts a launch whose arguments have been checked.
    pub fn start(&mut self, launch: Launch) -> Answer<()> {
        if self.has_failed() {
            return Ok(());
        }
        self.send_managed()?;
        let launched = Device::launch(self, launch)?;
        self.clock = launched.clock;
        self.print_later(launched.printed.as_bytes());
        self.has_printing_kernels |= launched.prints;
        if let Some(fault) = launched.fault {
            // A GPU reports it at the next call that waits for it, and at every call after that.
            self.fail_later(fault);
            return Ok(());
        }
        self.fetch_managed()?;
        if launched.followed {
            self.use_shared_pages();
        }
        Ok(())
    }

    /// The present time of the device.
    pub fn now(&self) -> Moment {
        Moment { clock: self.clock, copied: self.copied }
    }

    /// A number that no handle has.
    pub fn fresh_number(&mut self) -> u64 {
        self.next_handle += 16;
        self.next_handle
    }

    /// Creates a handle and returns its address, by which the program names it.
    pub fn new_handle(&mut self, handle: Handle) -> u64 {
        let number = self.fresh_number();
        self.handles.insert(number, handle);
        number
    }

    /// The kind of memory that a pointer points to.
    pub fn place(&self, address: u64) -> Place {
        if self.managed.kind(address).is_some() {
            Place::Managed
        } else if self.is_on_device(address) {
            Place::Device
        } else {
            Place::Host
        }
    }

    /// Whether an address is in memory of the device alone.
    pub fn is_on_device(&self, address: u64) -> bool {
        self.allocation(address).is_some()
    }

    /// Whether so many bytes from an address on lie within one allocation. Memory of the program's own may go on to the last address.
    pub fn has_room(&self, address: u64, bytes: u64) -> bool {
        let shared = self.managed.holding(address).map(|(start, pages)| (start, pages.bytes));
        let allocation = shared.or_else(|| self.allocation(address));
        match allocation {
            Some((start, size)) => bytes <= size - (address - start),
            None => address.checked_add(bytes).is_some(),
        }
    }

    /// The start and the size of the device memory that holds an address, or ends there.
    pub fn allocation(&self, address: u64) -> Option<(u64, u64)> {
        let holding = |all: &BTreeMap<u64, u64>| {
            let (&start, &bytes) = all.range(..=address).next_back()?;
            (address - start <= bytes).then_some((start, bytes))
        };
        holding(&self.allocations).or_else(|| holding(&self.given))
    }
}

impl Caller for Client {
    fn call<T: DeserializeOwned>(&mut self, request: &Request<'_>) -> Answer<T> {
        self.ask(request)?.value().map_err(|_| self.lost())?
    }
}
