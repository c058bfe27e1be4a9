//! The operations of a device: one table of them, and the types of their arguments and results.
//!
//! The table generates the trait [`Device`], the [`Request`] that a remote caller sends for each operation, and the
//! code between the two: [`answer`] executes a request on a device, and every [`Caller`] is a device itself. A new
//! operation is added here and in the devices that implement it; the compiler names those that lack it.

use crate::error::CudaError;
use crate::frame::{self, Bytes};
use crate::images::{ArrayShape, ImageObjectDesc, Region};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// The result of an operation: a value, or a CUDA error.
pub type Answer<T> = Result<T, CudaError>;

/// Sends requests to a remote device, and waits for the answers.
pub trait Caller {
    /// Sends one request and returns the device's answer.
    ///
    /// # Errors
    /// The device's error, or the caller's own if there is no answer.
    fn call<T: DeserializeOwned>(&mut self, request: &Request<'_>) -> Answer<T>;
}

/// Each entry: documentation, name of the request, signature of the function.
macro_rules! operations {
    ($(
        $(#[$doc:meta])*
        $request:ident: fn $name:ident $(<$life:lifetime>)? (
            $($(#[$serde:meta])? $argument:ident: $type:ty),*
        ) -> $reply:ty;
    )*) => {
        /// A device: memory, modules, launches. Addresses and module numbers are its own. No function has a default
        /// body, so the compiler names what a device lacks.
        #[expect(clippy::missing_errors_doc, reason = "each fails with the error that CUDA names for it")]
        #[allow(clippy::needless_lifetimes, reason = "the requests need a name for them")]
        pub trait Device {
            $(
                $(#[$doc])*
                fn $name $(<$life>)? (&mut self $(, $argument: $type)*) -> Answer<$reply>;
            )*
        }

        /// A call of one of the functions of [`Device`].
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[expect(missing_docs, reason = "the fields are the arguments of the functions")]
        pub enum Request<'a> {
            $(
                $(#[$doc])*
                $request { $($(#[$serde])? $argument: $type),* },
            )*
        }

        /// Executes a request on the device, and writes the answer.
        ///
        /// # Errors
        /// The answer cannot be written, because the caller has ended.
        pub fn answer(device: &mut impl Device, request: Request, to: &mut impl Write) -> io::Result<()> {
            match request {
                $(Request::$request { $($argument),* } => frame::write(to, &device.$name($($argument),*)),)*
            }
        }

        #[allow(clippy::needless_lifetimes, reason = "as in the trait")]
        impl<C: Caller> Device for C {
            $(
                fn $name $(<$life>)? (&mut self $(, $argument: $type)*) -> Answer<$reply> {
                    self.call(&Request::$request { $($argument),* })
                }
            )*
        }
    };
}

operations! {
    /// The device's name, compute capability and size.
    Properties: fn properties() -> Properties;
    /// Loads a module and returns its number.
    Load: fn load<'a>(#[serde(borrow)] code: Code<'a>) -> u64;
    /// Why the last module could not be loaded.
    LoadError: fn load_error() -> String;
    /// Removes a module, with its kernels and variables.
    Unload: fn unload(module: u64) -> ();
    /// Allocates this many bytes and returns their address.
    Alloc: fn alloc(bytes: u64) -> u64;
    /// Allocates this many bytes at an address that a process can also map for its own pages.
    AllocManaged: fn alloc_managed(bytes: u64) -> u64;
    /// An address at which as many as 32 GiB can be put, where there are none yet.
    Reserve: fn reserve() -> u64;
    /// Gives what lies at such an address this many bytes: what it keeps has its contents.
    Resize: fn resize(address: u64, bytes: u64) -> ();
    /// Frees the memory that was allocated at this address.
    Free: fn free(address: u64) -> ();
    /// Writes these bytes to memory.
    Write: fn write<'a>(address: u64, #[serde(borrow)] bytes: Bytes<&'a [u8]>) -> ();
    /// Reads this many bytes from memory.
    Read: fn read(address: u64, bytes: u64) -> Bytes<Vec<u8>>;
    /// Fills memory with a byte.
    Fill: fn fill(address: u64, bytes: u64, value: u8) -> ();
    /// Copies within the device.
    Copy: fn copy(to: u64, from: u64, bytes: u64) -> ();
    /// The address and the size of a module's variable, by its name in the PTX.
    Symbol: fn symbol<'a>(module: u64, name: &'a str) -> Symbol;
    /// Writes into a variable, from the byte at `offset` on.
    WriteSymbol: fn write_symbol<'a>(
        module: u64, name: &'a str, offset: u64, #[serde(borrow)] bytes: Bytes<&'a [u8]>
    ) -> ();
    /// Reads a variable, from the byte at `offset` on.
    ReadSymbol: fn read_symbol<'a>(module: u64, name: &'a str, offset: u64, bytes: u64) -> Bytes<Vec<u8>>;
    /// The properties of a kernel, by its name in the PTX.
    Kernel: fn kernel<'a>(module: u64, name: &'a str) -> KernelInfo;
    /// Runs a kernel to its end.
    Launch: fn launch(launch: Launch) -> Launched;
    /// Makes an array and returns its number.
    CreateArray: fn create_array(shape: ArrayShape) -> u64;
    /// Frees an array with its levels.
    FreeArray: fn free_array(array: u64) -> ();
    /// The number of a level of a mipmapped array, as an array of its own.
    ArrayLevel: fn array_level(array: u64, level: u32) -> u64;
    /// Writes bytes into a region: bytes of a row, rows, slices, one after another.
    WriteRegion: fn write_region<'a>(to: Region, extent: [u64; 3], #[serde(borrow)] bytes: Bytes<&'a [u8]>) -> ();
    /// Reads a region, as it would be written.
    ReadRegion: fn read_region(from: Region, extent: [u64; 3]) -> Bytes<Vec<u8>>;
    /// Copies a region within the device.
    CopyRegion: fn copy_region(to: Region, from: Region, extent: [u64; 3]) -> ();
    /// Makes a texture or surface object and returns the handle that kernels get.
    CreateImageObject: fn create_image_object(object: ImageObjectDesc) -> u64;
    /// Destroys a texture or surface object; `texture` says which.
    DestroyImageObject: fn destroy_image_object(handle: u64, texture: bool) -> ();
    /// Tells how the program orders its work, since the last call: nothing is done.
    Order: fn order(steps: Vec<OrderStep>) -> ();
    /// What copies and fills that the host has not waited for access in some memory, by the addresses of its starts.
    Pending: fn pending(starts: Vec<u64>) -> Vec<AccessedRange>;
    /// Which work must be done now of what the program has begun, by its numbers, in the order in which it is to be done.
    Due: fn due(due: Due) -> Vec<u64>;
    /// Notes that a launch was refused before it reached the device.
    NotStarted: fn not_started<'a>(kernel: &'a str) -> ();
    /// Sets a limit of what kernels use.
    SetLimit: fn set_limit(limit: Limit, value: u64) -> ();
    /// The value of a limit.
    Limit: fn limit(limit: Limit) -> u64;
    /// The free and the total memory.
    MemoryInfo: fn memory_info() -> MemoryInfo;
    /// The driver's name and text for an error that the device has just returned.
    ErrorText: fn error_text(error: CudaError) -> ErrorText;
}

impl Request<'_> {
    /// Whether it depends on the work that the program has begun, or changes what that depends on.
    pub fn needs_memory(&self) -> bool {
        matches!(
            self,
            Self::Unload { .. }
                | Self::Resize { .. }
                | Self::Free { .. }
                | Self::Write { .. }
                | Self::Read { .. }
                | Self::Fill { .. }
                | Self::Copy { .. }
                | Self::WriteSymbol { .. }
                | Self::ReadSymbol { .. }
                | Self::Launch { .. }
                | Self::FreeArray { .. }
                | Self::WriteRegion { .. }
                | Self::ReadRegion { .. }
                | Self::CopyRegion { .. }
                | Self::DestroyImageObject { .. }
                | Self::SetLimit { .. }
        )
    }
}

/// The code of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code<'a> {
    /// The PTX, which declares the kernels.
    pub ptx: &'a str,
    /// The machine code for exactly this device, as the assembler generated it (a cubin), if there is any.
    #[serde(borrow)]
    pub machine: Option<Bytes<&'a [u8]>>,
}

impl<'a> Code<'a> {
    /// Code that the device compiles itself.
    pub fn ptx(ptx: &'a str) -> Self {
        Self { ptx, machine: None }
    }
}

/// The address and the size of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// Its address in global memory; `None` for a constant of the virtual machine.
    pub address: Option<u64>,
    /// The address of such a constant, if copies may use it.
    pub constant_address: Option<u64>,
    /// Its size in bytes.
    pub bytes: u64,
}

/// A kernel launch: the kernel, its numbers of blocks and threads, and its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The number of the module.
    pub module: u64,
    /// The name of the kernel in the PTX.
    pub kernel: String,
    /// The number of blocks in x, y and z.
    pub grid: [u32; 3],
    /// The number of threads of a block in x, y and z.
    pub block: [u32; 3],
    /// The dynamic shared memory of a block, in bytes.
    pub shared: u32,
    /// True if all blocks run at once and may wait for each other.
    pub cooperative: bool,
    /// The blocks of a cluster in x, y and z, if the launch says so.
    pub cluster: Option<[u32; 3]>,
    /// The bytes of each parameter.
    pub params: Vec<Vec<u8>>,
    /// The stream that it is in, by its handle; 0 is the legacy default stream.
    pub stream: u64,
}

/// One thing that a program does to order its work on the device, or work that it does beside launches. Streams and events
/// are named by their handles; stream 0 is the legacy default stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OrderStep {
    /// A stream begins to exist.
    Create {
        /// Its handle.
        stream: u64,
        /// How it stands to the default stream.
        kind: StreamKind,
    },
    /// A stream gets no more work, or an event is not used any more.
    Destroy {
        /// Its handle.
        handle: u64,
    },
    /// An event is recorded.
    Record {
        /// The event.
        event: u64,
        /// The stream whose work so far it captures.
        stream: u64,
    },
    /// A stream waits for an event.
    Wait {
        /// The stream.
        stream: u64,
        /// The event.
        event: u64,
    },
    /// The host waits.
    Synchronise(Awaited),
    /// A copy or a fill is issued.
    Work {
        /// The stream that it is in.
        stream: u64,
        /// The function of the runtime that issues it.
        call: String,
        /// The memory of the device, or that both sides have, that it accesses.
        accesses: Vec<AccessedRange>,
    },
    /// Work is issued that is done later.
    Begin {
        /// Its number, which ascend.
        operation: u64,
        /// The stream that it is in.
        stream: u64,
        /// The function of the runtime that issues it.
        call: String,
        /// The memory that it is known to access, as for other work.
        accesses: Vec<AccessedRange>,
    },
    /// The launch, copy or fill that comes next is this work that was begun; for `None` it is new again.
    Resume(Option<u64>),
    /// The host accesses memory that both sides have.
    Host(AccessedRange),
}

/// Which of the work that was begun must be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Due {
    /// All of it.
    All,
    /// What the host has waited for.
    Host,
    /// What comes before the next work of a stream.
    Stream(u64),
}

/// What the host waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Awaited {
    /// All work.
    Device,
    /// The work of a stream.
    Stream(u64),
    /// What an event captured.
    Event(u64),
}

/// How a stream stands to the legacy default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StreamKind {
    /// The two wait for each other.
    Blocking,
    /// As a blocking one, the default stream of a host thread.
    PerThread,
    /// They do not (`cudaStreamNonBlocking`).
    NonBlocking,
    /// Nor do they for a part of a graph, which is no stream of the program's.
    Branch,
}

/// Bytes that something accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessedRange {
    /// The address of the first one.
    pub address: u64,
    /// How many.
    pub bytes: u64,
    /// Whether they are written.
    pub writes: bool,
}

/// The outcome of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launched {
    /// The device's clock afterwards, in nanoseconds.
    pub clock: u64,
    /// The error that a GPU would return, if any. Every further call of the program fails with it.
    pub fault: Option<CudaError>,
    /// True if the kernel ran to its end; otherwise memory holds its partial results.
    pub complete: bool,
    /// The output of the kernel; empty if the device prints it itself.
    pub printed: String,
    /// Whether the kernel calls `printf` somewhere, if the device cannot refuse by itself what a program may no longer do then.
    pub prints: bool,
    /// Whether the device has noted what the kernel accessed, to compare it with other work and with the host.
    pub followed: bool,
}

/// The properties of a kernel that the host can query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelInfo {
    /// The size of each parameter in bytes.
    pub params: Vec<u32>,
    /// Where each parameter begins in a buffer of all, if known.
    pub param_starts: Option<Vec<u32>>,
    /// The static shared memory in bytes.
    pub shared: u32,
    /// The constant memory of its module in bytes.
    pub constant: u32,
    /// The most threads of a block, by the launch bounds of the kernel and by the device.
    pub max_threads: u32,
    /// The registers of a thread, if known.
    pub registers: u32,
    /// The architecture of its PTX: 75 for `.target sm_75`.
    pub ptx_version: u32,
    /// The blocks of a cluster in x, y and z, if the kernel says so, not its launches.
    pub cluster: Option<[u32; 3]>,
    /// Why the device cannot run it, if it cannot.
    pub refusal: Option<String>,
}

/// The properties of a device that the host can query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Properties {
    /// Its name, such as `NVIDIA H200`.
    pub name: String,
    /// The major and minor compute capability.
    pub capability: (u32, u32),
    /// The newest CUDA version that its driver supports, as the driver encodes it: 13000 is 13.0.
    pub driver_version: u32,
    /// The size of global memory in bytes.
    pub memory: u64,
    /// The number of streaming multiprocessors.
    pub multiprocessors: u32,
    /// True if event times are measured; otherwise they are simulated.
    pub real_time: bool,
    /// True if work in streams is to be done as late as the program's own order allows.
    pub late: bool,
}

/// The free and the total global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryInfo {
    /// The bytes that can still be allocated.
    pub free: u64,
    /// The size of global memory in bytes.
    pub total: u64,
}

/// The name and the text of an error, as a driver gives them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorText {
    /// The name, such as `CUDA_ERROR_ILLEGAL_ADDRESS`.
    pub name: String,
    /// The text, a sentence.
    pub text: String,
}

impl From<CudaError> for ErrorText {
    /// The name and the text that the CUDA runtime gives.
    fn from(error: CudaError) -> Self {
        let name = error.name().map_or_else(|| format!("CUDA error {}", error.0), str::to_owned);
        Self { name, text: error.text().unwrap_or_default().to_owned() }
    }
}

/// A limit that a program can set (`cudaLimit`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Limit {
    /// The size of each thread's stack in bytes.
    StackSize,
    /// The size of the buffer of `printf` in bytes.
    PrintfFifoSize,
    /// The size of the heap of `malloc` in kernels in bytes; it can be set until a kernel has allocated there.
    MallocHeapSize,
    /// The depth of synchronisation in dynamic parallelism.
    DevRuntimeSyncDepth,
    /// The number of pending launches in dynamic parallelism.
    DevRuntimePendingLaunchCount,
    /// The number of bytes that the L2 cache fetches at once.
    MaxL2FetchGranularity,
    /// The number of bytes of the L2 cache that persist.
    PersistingL2CacheSize,
}

impl Limit {
    /// All limits, in the order of CUDA's codes from 0 on.
    pub const ALL: [Self; 7] = [
        Self::StackSize,
        Self::PrintfFifoSize,
        Self::MallocHeapSize,
        Self::DevRuntimeSyncDepth,
        Self::DevRuntimePendingLaunchCount,
        Self::MaxL2FetchGranularity,
        Self::PersistingL2CacheSize,
    ];
}
