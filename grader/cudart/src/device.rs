//! What a device does for a program: one table of operations, and the values that they take and give.
//!
//! The table makes the trait [`Device`], the [`Request`] by which a caller elsewhere asks for each operation, and the code
//! between the two: [`answer`] lets a device do what is asked, and every [`Caller`] is a device itself. So a new operation is
//! written down here and in the devices that do it; the compiler names those that lack it.

use crate::error::CudaError;
use crate::frame::{self, Bytes};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// What a device says: a value, or a CUDA error.
pub type Answer<T> = Result<T, CudaError>;

/// Sends requests to a device elsewhere, and waits for the answers.
pub trait Caller {
    /// The device's answer to one request.
    ///
    /// # Errors
    /// What the device says, or the caller's own error where there is no answer.
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
        /// A device: memory, modules, launches. Addresses and module numbers are its own. No function has a default body, so
        /// that the compiler names what a device lacks.
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

        /// Lets the device do what is asked, and writes its answer.
        ///
        /// # Errors
        /// Who asked is gone.
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
    /// Which device it is.
    Properties: fn properties() -> Properties;
    /// Loads a module; its number.
    Load: fn load<'a>(#[serde(borrow)] code: Code<'a>) -> u64;
    /// Forgets a module, with its kernels and variables.
    Unload: fn unload(module: u64) -> ();
    /// Memory of so many bytes; its address.
    Alloc: fn alloc(bytes: u64) -> u64;
    /// Memory of so many bytes, at an address that a process can have for its own pages.
    AllocManaged: fn alloc_managed(bytes: u64) -> u64;
    /// Gives memory back.
    Free: fn free(address: u64) -> ();
    /// Writes to memory.
    Write: fn write<'a>(address: u64, #[serde(borrow)] bytes: Bytes<&'a [u8]>) -> ();
    /// Reads memory.
    Read: fn read(address: u64, bytes: u64) -> Bytes<Vec<u8>>;
    /// Fills memory with a byte.
    Fill: fn fill(address: u64, bytes: u64, value: u8) -> ();
    /// Copies within the device.
    Copy: fn copy(to: u64, from: u64, bytes: u64) -> ();
    /// A variable of a module, by its name in the PTX.
    Symbol: fn symbol<'a>(module: u64, name: &'a str) -> Symbol;
    /// Writes into a variable, from this byte of it on.
    WriteSymbol: fn write_symbol<'a>(
        module: u64, name: &'a str, offset: u64, #[serde(borrow)] bytes: Bytes<&'a [u8]>
    ) -> ();
    /// Reads a variable, from this byte of it on.
    ReadSymbol: fn read_symbol<'a>(module: u64, name: &'a str, offset: u64, bytes: u64) -> Bytes<Vec<u8>>;
    /// What is known about a kernel, by its name in the PTX.
    Kernel: fn kernel<'a>(module: u64, name: &'a str) -> KernelInfo;
    /// Runs a kernel to its end.
    Launch: fn launch(launch: Launch) -> Launched;
    /// Sets a limit of what kernels use.
    SetLimit: fn set_limit(limit: Limit, value: u64) -> ();
    /// The value of a limit.
    Limit: fn limit(limit: Limit) -> u64;
    /// Free and total memory.
    MemoryInfo: fn memory_info() -> MemoryInfo;
    /// What the device's driver calls an error that it has just answered.
    ErrorText: fn error_text(error: CudaError) -> ErrorText;
}

/// The code of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code<'a> {
    /// The PTX, which declares the kernels.
    pub ptx: &'a str,
    /// The same for just this device, as the assembler made it (a cubin), where there is such.
    #[serde(borrow)]
    pub machine: Option<Bytes<&'a [u8]>>,
}

impl<'a> Code<'a> {
    /// Code that the device translates itself.
    pub fn ptx(ptx: &'a str) -> Self {
        Self { ptx, machine: None }
    }
}

/// Where a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// Its address in global memory; `None` for a constant that has none which the host could use.
    pub address: Option<u64>,
    /// Its size in bytes.
    pub bytes: u64,
}

/// A kernel launch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Number of the module.
    pub module: u64,
    /// Name of the kernel in the PTX.
    pub kernel: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// All blocks run at once, so that they may wait for each other.
    pub cooperative: bool,
    /// The bytes of each parameter.
    pub params: Vec<Vec<u8>>,
}

/// How a launch ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launched {
    /// The device's clock afterwards, in nanoseconds.
    pub clock: u64,
    /// What the kernel did wrong, in the eyes of a GPU: from now on every call of the program fails with it.
    pub fault: Option<CudaError>,
    /// The kernel ran to its end; else memory holds what it left half-way.
    pub complete: bool,
    /// What the kernel printed; empty where the device prints it itself.
    pub printed: String,
}

/// A kernel, as far as the host asks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelInfo {
    /// Bytes of each parameter.
    pub params: Vec<u32>,
    /// Bytes of static shared memory.
    pub shared: u32,
    /// Registers of a thread, where known.
    pub registers: u32,
    /// The architecture that its PTX is for: 75 for `.target sm_75`.
    pub ptx_version: u32,
    /// Why the device cannot run it.
    pub refusal: Option<String>,
}

/// A device, as far as the host asks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Properties {
    /// Its name, for instance `NVIDIA H200`.
    pub name: String,
    /// Major and minor compute capability.
    pub capability: (u32, u32),
    /// The newest CUDA version that its driver knows, as the driver counts: 13000 is 13.0.
    pub driver_version: u32,
    /// Bytes of global memory.
    pub memory: u64,
    /// How many streaming multiprocessors it has.
    pub multiprocessors: u32,
    /// Event times are measured; else they are simulated.
    pub real_time: bool,
}

/// Bytes of global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryInfo {
    /// What can still be allocated.
    pub free: u64,
    /// All of it.
    pub total: u64,
}

/// An error in the words of a driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorText {
    /// Its name, for instance `CUDA_ERROR_ILLEGAL_ADDRESS`.
    pub name: String,
    /// A sentence.
    pub text: String,
}

impl From<CudaError> for ErrorText {
    /// In the words of the runtime.
    fn from(error: CudaError) -> Self {
        let name = error.name().map_or_else(|| format!("CUDA error {}", error.0), str::to_owned);
        Self { name, text: error.text().unwrap_or_default().to_owned() }
    }
}

/// What a program can set a limit for (`cudaLimit`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Limit {
    /// Bytes of each thread's stack.
    StackSize,
    /// Bytes of the buffer of `printf`.
    PrintfFifoSize,
    /// Bytes of the heap of `malloc` in kernels; it can be set until a kernel has allocated there.
    MallocHeapSize,
    /// Depth of synchronisation in dynamic parallelism.
    DevRuntimeSyncDepth,
    /// Launches of dynamic parallelism that wait for their turn.
    DevRuntimePendingLaunchCount,
    /// Bytes that the L2 cache fetches at once.
    MaxL2FetchGranularity,
    /// Bytes of the L2 cache that persist.
    PersistingL2CacheSize,
}

impl Limit {
    /// All of them, in the order of CUDA's codes from 0 on.
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
