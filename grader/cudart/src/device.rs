//! What the server needs of a device.

use crate::error::CudaError;
use crate::protocol::{KernelInfo, Launch, Launched, Properties};

/// What a device says: a value, or a CUDA error.
pub type Answer<T> = Result<T, CudaError>;

/// A device: memory, modules, launches. Addresses and module numbers are its own. No function has a default body, so that
/// the compiler names what a device lacks.
#[expect(clippy::missing_errors_doc, reason = "each fails with the error that CUDA names for it")]
pub trait Device {
    /// Which device is it?
    fn properties(&self) -> Properties;
    /// Loads a fat binary, as nvcc embeds it; the module's number.
    fn load(&mut self, fat_binary: &[u8]) -> Answer<u64>;
    /// Memory of so many bytes; its address.
    fn alloc(&mut self, bytes: u64) -> Answer<u64>;
    /// Memory of so many bytes, at an address that a process can have for its own pages.
    fn alloc_shared(&mut self, bytes: u64) -> Answer<u64>;
    /// Gives memory back.
    fn free(&mut self, address: u64) -> Answer<()>;
    /// Writes to memory.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Answer<()>;
    /// Reads memory.
    fn read(&mut self, address: u64, bytes: u64) -> Answer<Vec<u8>>;
    /// Fills memory with a byte.
    fn fill(&mut self, address: u64, bytes: u64, value: u8) -> Answer<()>;
    /// Copies within the device.
    fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Answer<()>;
    /// Address (None for a constant) and size in bytes of a variable.
    fn symbol(&mut self, module: u64, name: &str) -> Answer<(Option<u64>, u64)>;
    /// Writes into a variable.
    fn write_symbol(&mut self, module: u64, name: &str, offset: u64, bytes: &[u8]) -> Answer<()>;
    /// Reads a variable.
    fn read_symbol(&mut self, module: u64, name: &str, offset: u64, bytes: u64) -> Answer<Vec<u8>>;
    /// What is known about a kernel.
    fn kernel(&self, module: u64, name: &str) -> Answer<KernelInfo>;
    /// Runs a kernel to its end, and says what it printed. `params` has the parameters' bytes, one after another.
    fn launch(&mut self, launch: &Launch, params: &[u8]) -> Answer<(Launched, String)>;
    /// Gives the heap of kernels' `malloc` another size, which is possible until a kernel has allocated there.
    fn resize_heap(&mut self, bytes: u64) -> Answer<()>;
    /// Free and total memory in bytes.
    fn memory(&self) -> (u64, u64);
}
