//! A GPU as a device, by the CUDA driver. With `unsafe` code, and in the child process only: whatever the driver or a kernel
//! does to this process, the grader and its expected values are elsewhere.
#![allow(unsafe_code)]

use super::errors::{code, last_words, words};
use super::images::{self, Arrays, Side};
use cudarc::driver::sys::{
    self, CUdevice_attribute as Attribute, CUfunction_attribute_enum as FunctionAttribute,
    CUjit_option as JitOption,
};
use cudarc::driver::{DriverError, result};
use cudart::device::{
    AccessedRange, Answer, Code, Device, Due, ErrorText, KernelInfo, Launch, Launched, Limit,
    MemoryInfo, OrderStep, Properties, Symbol,
};
use cudart::error::CudaError;
use cudart::frame::Bytes;
use cudart::images::{ArrayShape, ImageObjectDesc, Region};
use hardware::SHARED_WITHOUT_OPT_IN;
use std::ffi::{CString, c_void};
use std::time::Instant;
use toolchain::module::{self, KernelDecl};

/// Bytes of what the driver may say of code that it does not load.
const LOG: usize = 4096;

/// The first GPU, with a context from the first module or memory on.
pub struct GpuDevice {
    device: sys::CUdevice,
    has_context: bool,
    properties: Properties,
    /// By number; `None` for one that was unloaded.
    modules: Vec<Option<Module>>,
    arrays: Arrays,
    /// Why the last module could not be loaded.
    load_error: String,
    /// Nanoseconds of all launches.
    clock: u64,
}

/// A loaded module and the kernels that its PTX declares.
struct Module {
    handle: sys::CUmodule,
    kernels: Vec<KernelDecl>,
}

impl GpuDevice {
    /// Loads the driver and asks for the device. Takes no context, which is the slow part.
    ///
    /// # Errors
    /// No driver, no device, or a driver that does not start: what it is called.
    pub fn open() -> Result<Self, ErrorText> {
        // SAFETY: loads the library and runs its start-up code, which a caller cannot check; this process exists to
        // take that risk. Without this test, cudarc panics where the library is missing.
        if !unsafe { sys::is_culib_present() } {
            return Err(ErrorText {
                name: "NO_DRIVER".to_owned(),
                text: "libcuda.so.1 cannot be loaded".to_owned(),
            });
        }
        Self::first().map_err(words)
    }

    fn first() -> Result<Self, DriverError> {
        result::init()?;
        let mut driver_version = 0;
        // SAFETY: the driver writes an int through the pointer, which lives until the call returns.
        unsafe { sys::cuDriverGetVersion(&raw mut driver_version) }.result()?;
        let device = result::device::get(0)?;
        // SAFETY: `device` comes from `device::get`, here and below.
        let attribute = |which| unsafe { result::device::get_attribute(device, which) };
        let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let multiprocessors = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let properties = Properties {
            name: result::device::get_name(device)?,
            capability: (major.unsigned_abs(), minor.unsigned_abs()),
            driver_version: driver_version.unsigned_abs(),
            // SAFETY: see above.
            memory: unsafe { result::device::total_mem(device)? } as u64,
            multiprocessors: multiprocessors.unsigned_abs(),
            real_time: true,
            late: false,
        };
        Ok(Self {
            device,
            has_context: false,
            properties,
            modules: Vec::new(),
            arrays: Arrays::default(),
            load_error: String::new(),
            clock: 0,
        })
    }

    /// Which device it is.
    pub fn info(&self) -> &Properties {
        &self.properties
    }

    /// Makes a context current, the device's own, once.
    fn context(&mut self) -> Answer<()> {
        if !self.has_context {
            // SAFETY: the device is valid, and the context is held until the process ends.
            let context = unsafe { result::primary_ctx::retain(self.device) }.map_err(code)?;
            // SAFETY: as above.
            unsafe { result::ctx::set_current(context) }.map_err(code)?;
            self.has_context = true;
        }
        Ok(())
    }

    fn module(&self, module: u64) -> Answer<&Module> {
        let found =
            usize::try_from(module).ok().and_then(|index| self.modules.get(index)?.as_ref());
        found.ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }

    fn function(&self, module: u64, name: &str) -> Answer<(sys::CUfunction, &KernelDecl)> {
        let module = self.module(module)?;
        let declared = module.kernels.iter().find(|kernel| kernel.symbol == name);
        let declared = declared.ok_or(CudaError::INVALID_DEVICE_FUNCTION)?;
        let name = CString::new(name).map_err(|_| CudaError::INVALID_DEVICE_FUNCTION)?;
        // SAFETY: the module is loaded.
        let function = unsafe { result::module::get_function(module.handle, name) };
        Ok((function.map_err(code)?, declared))
    }

    /// The address of `bytes` bytes from `offset` on of a variable.
    fn part_of(&mut self, module: u64, name: &str, offset: u64, bytes: u64) -> Answer<u64> {
        let symbol = self.symbol(module, name)?;
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= symbol.bytes);
        let address = symbol.address.filter(|_| inside).ok_or(CudaError::INVALID_VALUE)?;
        Ok(address + offset)
    }
}

impl Device for GpuDevice {
    fn properties(&mut self) -> Answer<Properties> {
        Ok(self.properties.clone())
    }

    fn load(&mut self, of: Code<'_>) -> Answer<u64> {
        self.context()?;
        let kernels = module::kernels(of.ptx);
        // PTX is a text that ends in a zero; a cubin knows its own length. A zero behind either is right for both.
        let image = [of.machine.map_or(of.ptx.as_bytes(), |machine| machine.0), &[0]].concat();
        // SAFETY: the image lives until the call returns, and ends in a zero if it is a text. A damaged cubin can make
        // the driver read past its end: it comes from the compiler, and this process is there to crash.
        let loaded = unsafe { result::module::load_data(image.as_ptr().cast()) };
        let handle = loaded.map_err(|error| {
            self.load_error = why_not_loaded(&image);
            code(error)
        })?;
        self.modules.push(Some(Module { handle, kernels }));
        Ok(self.modules.len() as u64 - 1)
    }

    fn load_error(&mut self) -> Answer<String> {
        Ok(self.load_error.clone())
    }

    fn unload(&mut self, module: u64) -> Answer<()> {
        let handle = self.module(module)?.handle;
        // SAFETY: it is loaded, and forgotten now; functions are looked up for each launch.
        unsafe { result::module::unload(handle) }.map_err(code)?;
        self.modules[module as usize] = None;
        Ok(())
    }

    fn alloc(&mut self, bytes: u64) -> Answer<u64> {
        self.context()?;
        let bytes = usize::try_from(bytes).map_err(|_| CudaError::MEMORY_ALLOCATION)?;
        // SAFETY: a context is current. What is in the memory is the caller's affair.
        unsafe { result::malloc_sync(bytes) }.map_err(code)
    }

    /// Every address of the driver's is one that a process can have.
    fn alloc_managed(&mut self, bytes: u64) -> Answer<u64> {
        self.alloc(bytes)
    }

    /// Programs that map memory themselves run with the driver's own functions.
    fn reserve(&mut self) -> Answer<u64> {
        Err(CudaError::NOT_SUPPORTED)
    }

    fn resize(&mut self, _address: u64, _bytes: u64) -> Answer<()> {
        Err(CudaError::NOT_SUPPORTED)
    }

    fn free(&mut self, address: u64) -> Answer<()> {
        // SAFETY: the driver refuses what is not an allocation.
        unsafe { result::free_sync(address) }.map_err(code)
    }

    fn write(&mut self, address: u64, bytes: Bytes<&[u8]>) -> Answer<()> {
        // SAFETY: the slice is valid; the driver refuses ranges outside its allocations.
        unsafe { result::memcpy_htod_sync(address, bytes.0) }.map_err(code)
    }

    fn read(&mut self, address: u64, bytes: u64) -> Answer<Bytes<Vec<u8>>> {
        let bytes = usize::try_from(bytes).map_err(|_| CudaError::INVALID_VALUE)?;
        if bytes as u64 > self.properties.memory {
            return Err(CudaError::INVALID_VALUE);
        }
        let mut read = vec![0; bytes];
        // SAFETY: as in `write`.
        unsafe { result::memcpy_dtoh_sync(&mut read, address) }.map_err(code)?;
        Ok(Bytes(read))
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

    fn symbol(&mut self, module: u64, name: &str) -> Answer<Symbol> {
        let handle = self.module(module)?.handle;
        let name = CString::new(name).map_err(|_| CudaError::INVALID_SYMBOL)?;
        // SAFETY: the module is loaded.
        let found = unsafe { result::module::get_global(handle, name) };
        let (address, bytes) = found.map_err(|_| CudaError::INVALID_SYMBOL)?;
        Ok(Symbol { address: Some(address), constant_address: None, bytes: bytes as u64 })
    }

    fn write_symbol(
        &mut self,
        module: u64,
        name: &str,
        offset: u64,
        bytes: Bytes<&[u8]>,
    ) -> Answer<()> {
        let address = self.part_of(module, name, offset, bytes.0.len() as u64)?;
        self.write(address, bytes)
    }

    fn read_symbol(
        &mut self,
        module: u64,
        name: &str,
        offset: u64,
        bytes: u64,
    ) -> Answer<Bytes<Vec<u8>>> {
        let address = self.part_of(module, name, offset, bytes)?;
        self.read(address, bytes)
    }

    fn kernel(&mut self, module: u64, name: &str) -> Answer<KernelInfo> {
        let (function, declared) = self.function(module, name)?;
        let attribute = |which| {
            // SAFETY: the function's module is loaded.
            let value = unsafe { result::function::get_function_attribute(function, which) };
            Ok(value.map_err(code)?.unsigned_abs())
        };
        Ok(KernelInfo {
            params: declared.params.iter().map(|param| param.size as u32).collect(),
            param_starts: None,
            shared: declared.shared as u32,
            constant: attribute(FunctionAttribute::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES)?,
            max_threads: attribute(FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            registers: attribute(FunctionAttribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            ptx_version: attribute(FunctionAttribute::CU_FUNC_ATTRIBUTE_PTX_VERSION)?,
            // A launch by the driver knows it by itself.
            cluster: None,
            refusal: None,
        })
    }

    fn launch(&mut self, launch: Launch) -> Answer<Launched> {
        let (function, declared) = self.function(launch.module, &launch.kernel)?;
        let sizes = declared.params.iter().map(|param| param.size as usize);
        if !sizes.eq(launch.params.iter().map(Vec::len)) {
            return Err(CudaError::INVALID_VALUE);
        }
        let all = declared.shared + u64::from(launch.shared);
        if launch.shared > 0 && all > u64::from(SHARED_WITHOUT_OPT_IN) {
            let bytes = i32::try_from(launch.shared).map_err(|_| CudaError::INVALID_VALUE)?;
            let which = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function's module is loaded.
            let set = unsafe { result::function::set_function_attribute(function, which, bytes) };
            set.map_err(code).map_err(|_| CudaError::INVALID_VALUE)?;
        }
        let mut params: Vec<Vec<u64>> = launch.params.iter().map(|bytes| words_of(bytes)).collect();
        let mut pointers: Vec<*mut c_void> =
            params.iter_mut().map(|words| words.as_mut_ptr().cast()).collect();
        if launch.cluster.is_some() {
            // Clusters that the kernel itself declares need no attribute.
            return Err(CudaError::NOT_SUPPORTED);
        }
        let dims = |d: [u32; 3]| (d[0], d[1], d[2]);
        let begin = Instant::now();
        let start = if launch.cooperative {
            result::launch_cooperative_kernel
        } else {
            result::launch_kernel
        };
        // SAFETY: `pointers` has an entry for each parameter, and each points to as many bytes as the kernel declares.
        // The driver copies them before it returns. The kernel itself may do anything to the memory of the device.
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
        let (complete, printed) = (fault.is_none(), String::new());
        // The driver refuses what it must after `printf`, and nothing follows what kernels access.
        let (prints, followed) = (false, false);
        Ok(Launched { clock: self.clock, fault, complete, printed, prints, followed })
    }

    fn create_array(&mut self, shape: ArrayShape) -> Answer<u64> {
        self.context()?;
        self.arrays.create(&shape)
    }

    fn free_array(&mut self, array: u64) -> Answer<()> {
        self.arrays.free(array)
    }

    fn array_level(&mut self, array: u64, level: u32) -> Answer<u64> {
        self.arrays.level(array, level)
    }

    fn write_region(&mut self, to: Region, extent: [u64; 3], bytes: Bytes<&[u8]>) -> Answer<()> {
        let whole = extent.iter().try_fold(1u64, |all, &size| all.checked_mul(size));
        if whole != Some(bytes.0.len() as u64) {
            return Err(CudaError::INVALID_VALUE);
        }
        let from = Side::Host(bytes.0.as_ptr().cast_mut().cast());
        // SAFETY: the slice has as many bytes as are copied, which are only read.
        unsafe { images::copy(Side::Device(to), from, extent) }
    }

    fn read_region(&mut self, from: Region, extent: [u64; 3]) -> Answer<Bytes<Vec<u8>>> {
        let whole = extent.iter().try_fold(1u64, |all, &size| all.checked_mul(size));
        let whole = whole.filter(|&whole| whole <= self.properties.memory);
        let mut bytes = vec![0; whole.ok_or(CudaError::INVALID_VALUE)? as usize];
        let to = Side::Host(bytes.as_mut_ptr().cast());
        // SAFETY: there is room for as many bytes as are copied.
        unsafe { images::copy(to, Side::Device(from), extent) }?;
        Ok(Bytes(bytes))
    }

    fn copy_region(&mut self, to: Region, from: Region, extent: [u64; 3]) -> Answer<()> {
        // SAFETY: nothing of this process is copied.
        unsafe { images::copy(Side::Device(to), Side::Device(from), extent) }
    }

    fn create_image_object(&mut self, object: ImageObjectDesc) -> Answer<u64> {
        self.context()?;
        self.arrays.create_object(&object)
    }

    fn destroy_image_object(&mut self, handle: u64, texture: bool) -> Answer<()> {
        images::destroy_object(handle, texture)
    }

    fn set_limit(&mut self, limit: Limit, value: u64) -> Answer<()> {
        self.context()?;
        let value = usize::try_from(value).map_err(|_| CudaError::INVALID_VALUE)?;
        result::ctx::set_limit(limit_of(limit), value).map_err(code)
    }

    fn limit(&mut self, limit: Limit) -> Answer<u64> {
        self.context()?;
        result::ctx::get_limit(limit_of(limit)).map(|value| value as u64).map_err(code)
    }

    /// The driver keeps the order itself, of which every operation here is the next one.
    fn order(&mut self, _: Vec<OrderStep>) -> Answer<()> {
        Ok(())
    }

    fn pending(&mut self, _: Vec<u64>) -> Answer<Vec<AccessedRange>> {
        Ok(Vec::new())
    }

    fn due(&mut self, _: Due) -> Answer<Vec<u64>> {
        Ok(Vec::new())
    }

    fn not_started(&mut self, _: &str) -> Answer<()> {
        Ok(())
    }

    fn memory_info(&mut self) -> Answer<MemoryInfo> {
        self.context()?;
        let (free, total) = result::mem_get_info().map_err(code)?;
        Ok(MemoryInfo { free: free as u64, total: total as u64 })
    }

    fn error_text(&mut self, error: CudaError) -> Answer<ErrorText> {
        Ok(last_words(error).unwrap_or_else(|| error.into()))
    }
}

/// What the driver says of an image that it does not load, which ends in a zero if it is a text.
fn why_not_loaded(image: &[u8]) -> String {
    let mut log = vec![0_u8; LOG];
    let mut options =
        [JitOption::CU_JIT_ERROR_LOG_BUFFER, JitOption::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // A number is passed in the place of a pointer.
    let mut values: [*mut c_void; 2] =
        [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(LOG)];
    let mut module = std::ptr::null_mut();
    // SAFETY: as where it was loaded; the log has as many bytes as is said, and lives until the call returns.
    unsafe {
        sys::cuModuleLoadDataEx(
            &raw mut module,
            image.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    }
    .result()
    .ok();
    let said = log.split(|&byte| byte == 0).next().unwrap_or_default();
    let said = String::from_utf8_lossy(said).trim().to_owned();
    if said.is_empty() { "the GPU's driver does not compile it".to_owned() } else { said }
}

/// The bytes of a parameter in words, so that it is aligned whatever its type.
pub fn words_of(bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_ne_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}

fn limit_of(limit: Limit) -> sys::CUlimit {
    match limit {
        Limit::StackSize => sys::CUlimit::CU_LIMIT_STACK_SIZE,
        Limit::PrintfFifoSize => sys::CUlimit::CU_LIMIT_PRINTF_FIFO_SIZE,
        Limit::MallocHeapSize => sys::CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE,
        Limit::DevRuntimeSyncDepth => sys::CUlimit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH,
        Limit::DevRuntimePendingLaunchCount => {
            sys::CUlimit::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT
        }
        Limit::MaxL2FetchGranularity => sys::CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY,
        Limit::PersistingL2CacheSize => sys::CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE,
    }
}
