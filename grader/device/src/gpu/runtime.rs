//! A GPU as the device of host code: what `cudart` asks for, by the driver. With `unsafe` for the same reason, and in the
//! same process, as [`super::device`].
#![allow(unsafe_code)]

use super::device::Gpu;
use super::serve::Device as _;
use cudarc::driver::sys::{
    self, CUdevice_attribute as Attribute, CUfunction_attribute_enum as FunctionAttribute,
};
use cudarc::driver::{DriverError, result};
use cudart::device::{Answer, Device};
use cudart::error::CudaError;
use cudart::fatbin;
use cudart::protocol::{KernelInfo, Launch, Launched, Properties};
use std::ffi::{CString, c_void};
use std::time::Instant;
use toolchain::module::{self, KernelDecl};

/// Dynamic shared memory that a kernel gets without asking for more (CUDA C++ Programming Guide, "Shared Memory").
const SHARED_WITHOUT_OPT_IN: u32 = 48 << 10;

/// The first GPU, with a context and the modules of one program.
pub struct Runtime {
    properties: Properties,
    modules: Vec<Module>,
    /// Nanoseconds of all launches.
    clock: u64,
}

/// A loaded module and the kernels that its PTX declares.
struct Module {
    handle: sys::CUmodule,
    kernels: Vec<KernelDecl>,
}

/// The driver's codes are those of the runtime for nearly all that can go wrong here (CUDA Driver API, `CUresult`).
fn code(error: DriverError) -> CudaError {
    CudaError(error.0 as u32)
}

impl Runtime {
    /// Takes a context of the GPU.
    ///
    /// # Errors
    /// No driver, no device, no memory for a context.
    pub fn open() -> Answer<Self> {
        let mut gpu = Gpu::open().map_err(|_| CudaError::NO_DEVICE)?;
        gpu.context().map_err(code)?;
        let (_, memory) = result::mem_get_info().map_err(code)?;
        let device = result::device::get(0).map_err(code)?;
        let which = Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        // SAFETY: `device` comes from `device::get`.
        let count = unsafe { result::device::get_attribute(device, which) }.map_err(code)?;
        let properties = Properties {
            name: gpu.info().name.clone(),
            capability: gpu.info().compute_capability,
            memory: memory as u64,
            multiprocessors: count.unsigned_abs(),
            real_time: true,
        };
        Ok(Self { properties, modules: Vec::new(), clock: 0 })
    }

    fn module(&self, module: u64) -> Answer<&Module> {
        let found = usize::try_from(module).ok().and_then(|index| self.modules.get(index));
        found.ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }

    fn function(&self, module: u64, name: &str) -> Answer<(sys::CUfunction, &KernelDecl)> {
        let module = self.module(module)?;
        let declared = module.kernels.iter().find(|kernel| kernel.symbol == name);
        let declared = declared.ok_or(CudaError::INVALID_DEVICE_FUNCTION)?;
        let name = CString::new(name).map_err(|_| CudaError::INVALID_DEVICE_FUNCTION)?;
        // SAFETY: the module stays loaded as long as this process lives.
        let function = unsafe { result::module::get_function(module.handle, name) };
        Ok((function.map_err(code)?, declared))
    }

    /// Place and size of a variable, after a look at the range in it.
    fn place(&mut self, module: u64, name: &str, offset: u64, bytes: u64) -> Answer<u64> {
        let (address, size) = self.symbol(module, name)?;
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= size);
        let address = address.filter(|_| inside).ok_or(CudaError::INVALID_VALUE)?;
        Ok(address + offset)
    }
}

impl Device for Runtime {
    fn properties(&self) -> Properties {
        self.properties.clone()
    }

    fn load(&mut self, fat_binary: &[u8]) -> Answer<u64> {
        let (major, minor) = self.properties.capability;
        let ptx =
            fatbin::ptx(fat_binary, major * 10 + minor).map_err(|_| CudaError::NO_KERNEL_IMAGE)?;
        let kernels = module::kernels(&ptx);
        let text = CString::new(ptx).map_err(|_| CudaError::INVALID_PTX)?;
        // SAFETY: the text lives until the call returns, and ends in a zero.
        let handle = unsafe { result::module::load_data(text.as_ptr().cast()) }.map_err(code)?;
        self.modules.push(Module { handle, kernels });
        Ok(self.modules.len() as u64 - 1)
    }

    fn alloc(&mut self, bytes: u64) -> Answer<u64> {
        let bytes = usize::try_from(bytes).map_err(|_| CudaError::MEMORY_ALLOCATION)?;
        // SAFETY: a context is current. What is in the memory is the program's affair.
        unsafe { result::malloc_sync(bytes) }.map_err(code)
    }

    // Every address of the driver's is one that a process can have.
    fn alloc_shared(&mut self, bytes: u64) -> Answer<u64> {
        self.alloc(bytes)
    }

    fn free(&mut self, address: u64) -> Answer<()> {
        // SAFETY: the driver refuses what is no allocation.
        unsafe { result::free_sync(address) }.map_err(code)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Answer<()> {
        // SAFETY: the slice is valid; the driver refuses ranges outside its allocations.
        unsafe { result::memcpy_htod_sync(address, bytes) }.map_err(code)
    }

    fn read(&mut self, address: u64, bytes: u64) -> Answer<Vec<u8>> {
        let bytes = usize::try_from(bytes).map_err(|_| CudaError::INVALID_VALUE)?;
        if bytes as u64 > self.properties.memory {
            return Err(CudaError::INVALID_VALUE);
        }
        let mut read = vec![0; bytes];
        // SAFETY: as in `write`.
        unsafe { result::memcpy_dtoh_sync(&mut read, address) }.map_err(code)?;
        Ok(read)
    }

    fn fill(&mut self, address: u64, bytes: u64, value: u8) -> Answer<()> {
        let bytes = usize::try_from(bytes).map_err(|_| CudaError::INVALID_VALUE)?;
        // SAFETY: as in `write`.
        unsafe { result::memset_d8_sync(address, value, bytes) }.map_err(code)
    }

    fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Answer<()> {
        let bytes = usize::try_from(bytes).map_err(|_| CudaError::INVALID_VALUE)?;
        // SAFETY: as in `write`.
        unsafe { result::memcpy_dtod_sync(to, from, bytes) }.map_err(code)
    }

    fn symbol(&mut self, module: u64, name: &str) -> Answer<(Option<u64>, u64)> {
        let handle = self.module(module)?.handle;
        let name = CString::new(name).map_err(|_| CudaError::INVALID_SYMBOL)?;
        // SAFETY: the module stays loaded.
        let found = unsafe { result::module::get_global(handle, name) };
        let (address, bytes) = found.map_err(|_| CudaError::INVALID_SYMBOL)?;
        Ok((Some(address), bytes as u64))
    }

    fn write_symbol(&mut self, module: u64, name: &str, offset: u64, bytes: &[u8]) -> Answer<()> {
        let address = self.place(module, name, offset, bytes.len() as u64)?;
        self.write(address, bytes)
    }

    fn read_symbol(&mut self, module: u64, name: &str, offset: u64, bytes: u64) -> Answer<Vec<u8>> {
        let address = self.place(module, name, offset, bytes)?;
        self.read(address, bytes)
    }

    fn kernel(&self, module: u64, name: &str) -> Answer<KernelInfo> {
        let (function, declared) = self.function(module, name)?;
        let attribute = |which| {
            // SAFETY: the function's module stays loaded.
            let value = unsafe { result::function::get_function_attribute(function, which) };
            Ok(value.map_err(code)?.unsigned_abs())
        };
        Ok(KernelInfo {
            params: declared.params.iter().map(|param| param.size as u32).collect(),
            shared: declared.shared as u32,
            registers: attribute(FunctionAttribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            ptx_version: attribute(FunctionAttribute::CU_FUNC_ATTRIBUTE_PTX_VERSION)?,
            refusal: None,
        })
    }

    fn launch(&mut self, launch: &Launch, params: &[u8]) -> Answer<(Launched, String)> {
        let (function, declared) = self.function(launch.module, &launch.kernel)?;
        // Each in words of its own, so that it is aligned whatever its type.
        let mut rest = params;
        let mut values: Vec<Vec<u64>> = Vec::new();
        for param in &declared.params {
            let taken = rest.split_at_checked(param.size as usize);
            let (bytes, after) = taken.ok_or(CudaError::INVALID_VALUE)?;
            let word = |chunk: &[u8]| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                u64::from_ne_bytes(word)
            };
            values.push(bytes.chunks(8).map(word).collect());
            rest = after;
        }
        if !rest.is_empty() {
            return Err(CudaError::INVALID_VALUE);
        }
        if launch.shared > SHARED_WITHOUT_OPT_IN {
            let bytes = i32::try_from(launch.shared).map_err(|_| CudaError::INVALID_VALUE)?;
            let which = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function's module stays loaded.
            unsafe { result::function::set_function_attribute(function, which, bytes) }
                .map_err(|_| CudaError::INVALID_VALUE)?;
        }
        let mut pointers: Vec<*mut c_void> =
            values.iter_mut().map(|value| value.as_mut_ptr().cast()).collect();
        let dims = |d: [u32; 3]| (d[0], d[1], d[2]);
        let begin = Instant::now();
        let start = if launch.cooperative {
            result::launch_cooperative_kernel
        } else {
            result::launch_kernel
        };
        // SAFETY: `pointers` has an entry for each parameter, and each points to as many bytes as the kernel declares.
        // The driver copies them before it returns.
        unsafe {
            start(
                function,
                dims(launch.grid),
                dims(launch.block),
                launch.shared,
                result::stream::null(),
                &mut pointers,
            )
        }
        .map_err(code)?;
        let fault = result::ctx::synchronize().err().map(code);
        self.clock += begin.elapsed().as_nanos() as u64;
        Ok((Launched { clock: self.clock, fault }, String::new()))
    }

    fn resize_heap(&mut self, bytes: u64) -> Answer<()> {
        let bytes = usize::try_from(bytes).map_err(|_| CudaError::MEMORY_ALLOCATION)?;
        result::ctx::set_limit(sys::CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE, bytes).map_err(code)
    }

    fn memory(&self) -> (u64, u64) {
        let (free, total) = result::mem_get_info().unwrap_or((0, 0));
        (free as u64, total as u64)
    }
}
