//! The state of the program's only context, and its requests to the device.

mod deferred;
mod graph;
mod graphs;
mod pools;

use super::advice::AdviceMap;
use super::images::Images;
use super::pages::Managed;
use super::registry::{Image, registry};
use super::stdio::{complain, print};
use crate::device::{
    Answer, Awaited, Caller, Code, Device, Due, Launch, Limit, OrderStep, Properties, Request,
};
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
        for address in std::mem::take(&mut self.allocations).into_keys() {
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

/// Functions of the device runtime that kernels call, by name, with what they do. Launches of a kernel run one after another when it has
/// ended, in the order in which it made them, so its streams need no more than a handle.
const DEVICE_RUNTIME: [(&str, &str); 7] = [
    (
        "cudaGraphSetConditional",
        ".visible .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value)\n\
         {\n.reg .b64 %rd<2>;\n.reg .b32 %r<2>;\n\
         ld.param.u64 %rd1, [handle];\nld.param.u32 %r1, [value];\n\
         st.global.u32 [%rd1], %r1;\nret;\n}\n",
    ),
    (
        "__cudaCDP2StreamCreateWithFlags",
        ".visible .func (.param .b32 error) __cudaCDP2StreamCreateWithFlags(.param .b64 to, .param .b32 flags)\n\
         {\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [to];\nst.u64 [%rd1], 256;\nst.param.b32 [error], 0;\nret;\n}\n",
    ),
    (
        "__cudaCDP2StreamDestroy",
        ".visible .func (.param .b32 error) __cudaCDP2StreamDestroy(.param .b64 stream)\n\
         {\nst.param.b32 [error], 0;\nret;\n}\n",
    ),
    // `cudaMalloc` of a kernel takes from the heap of `malloc` (CUDA C++ Programming Guide, "Dynamic Parallelism", "Memory
    // Footprint").
    (
        "__cudaCDP2Malloc",
        ".visible .func (.param .b32 error) __cudaCDP2Malloc(.param .b64 to, .param .b64 bytes)\n\
         {\n.reg .b64 %rd<4>;\n.reg .b32 %r<2>;\n.reg .pred %p<2>;\n\
         ld.param.u64 %rd1, [to];\nld.param.u64 %rd2, [bytes];\n\
         {\n.param .b64 size;\n.param .b64 place;\nst.param.b64 [size], %rd2;\n\
         call.uni (place), malloc, (size);\nld.param.b64 %rd3, [place];\n}\n\
         st.u64 [%rd1], %rd3;\nsetp.eq.u64 %p1, %rd3, 0;\nselp.b32 %r1, 2, 0, %p1;\n\
         st.param.b32 [error], %r1;\nret;\n}\n",
    ),
    (
        "__cudaCDP2Free",
        ".visible .func (.param .b32 error) __cudaCDP2Free(.param .b64 address)\n\
         {\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [address];\n\
         {\n.param .b64 place;\nst.param.b64 [place], %rd1;\ncall.uni free, (place);\n}\n\
         st.param.b32 [error], 0;\nret;\n}\n",
    ),
    (
        "__cudaCDP2GetLastError",
        ".visible .func (.param .b32 error) __cudaCDP2GetLastError()\n{\nst.param.b32 [error], 0;\nret;\n}\n",
    ),
    (
        "__cudaCDP2PeekAtLastError",
        ".visible .func (.param .b32 error) __cudaCDP2PeekAtLastError()\n{\nst.param.b32 [error], 0;\nret;\n}\n",
    ),
];

/// PTX with the functions of the device runtime that it calls.
fn with_device_runtime(mut ptx: String) -> String {
    let called = DEVICE_RUNTIME.iter().filter(|(name, _)| ptx.contains(name));
    let functions: String = called.map(|&(_, function)| function).collect();
    ptx.push_str(&functions);
    ptx
}

impl Caller for Client {
    fn call<T: DeserializeOwned>(&mut self, request: &Request<'_>) -> Answer<T> {
        self.ask(request)?.value().map_err(|_| self.lost())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::VmDevice;

    /// As nvcc 13.0 compiles `cudaGraphSetConditional(handle, 9)`.
    const SETS: &str = ".version 9.0
.target sm_75
.address_size 64
.extern .func cudaGraphSetConditional
(
    .param .b64 cudaGraphSetConditional_param_0,
    .param .b32 cudaGraphSetConditional_param_1
)
;
.visible .entry set(.param .u64 set_param_0)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [set_param_0];
    mov.u32 %r1, 9;
    {
    .param .b64 param0;
    st.param.b64 [param0+0], %rd1;
    .param .b32 param1;
    st.param.b32 [param1+0], %r1;
    call.uni cudaGraphSetConditional, (param0, param1);
    }
    ret;
}
";

    /// As nvcc 13.0 compiles a kernel with `cudaMalloc`, a store and `cudaFree`.
    const ALLOCATES: &str = ".version 9.0
.target sm_75
.address_size 64
.extern .func (.param .b32 func_retval0) __cudaCDP2Malloc
(
    .param .b64 __cudaCDP2Malloc_param_0,
    .param .b64 __cudaCDP2Malloc_param_1
)
;
.extern .func (.param .b32 func_retval0) __cudaCDP2Free(.param .b64 __cudaCDP2Free_param_0);
.visible .entry takes(.param .u64 takes_param_0)
{
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    .local .align 8 .b8 __local_depot0[8];
    ld.param.u64 %rd1, [takes_param_0];
    mov.u64 %rd2, __local_depot0;
    cvta.local.u64 %rd2, %rd2;
    { .param .b64 param0; st.param.b64 [param0+0], %rd2; .param .b64 param1; st.param.b64 [param1+0], 8; .param .b32 retval0;
    call.uni (retval0), __cudaCDP2Malloc, (param0, param1); ld.param.b32 %r1, [retval0+0]; }
    ld.u64 %rd3, [%rd2];
    st.u32 [%rd3+4], 7;
    ld.u32 %r2, [%rd3+4];
    { .param .b64 param0; st.param.b64 [param0+0], %rd3; .param .b32 retval0;
    call.uni (retval0), __cudaCDP2Free, (param0); ld.param.b32 %r3, [retval0+0]; }
    add.s32 %r2, %r2, %r1;
    add.s32 %r2, %r2, %r3;
    st.global.u32 [%rd1], %r2;
    ret;
}
";

    /// What a kernel of one thread writes to the buffer that it is given.
    fn result_of(text: &str, kernel: &str) -> Vec<u8> {
        let mut device = VmDevice::default();
        let module = device.load(Code::ptx(&with_device_runtime(text.into()))).unwrap();
        let result = device.alloc(4).unwrap();
        let params = vec![result.to_le_bytes().to_vec()];
        let (grid, block) = ([1; 3], [1; 3]);
        let launch =
            Launch { module, kernel: kernel.into(), grid, block, params, ..Launch::default() };
        let launched = device.launch(launch).unwrap();
        assert_eq!((launched.fault, launched.complete), (None, true));
        device.read(result, 4).unwrap().0
    }

    #[test]
    fn a_kernel_allocates_by_the_runtime() {
        assert_eq!(result_of(ALLOCATES, "takes"), 7u32.to_le_bytes());
    }

    #[test]
    fn a_kernel_sets_a_condition() {
        assert_eq!(result_of(SETS, "set"), 9u32.to_le_bytes());
    }
}
