//! The CUDA driver, through cudarc. The only file with `unsafe` code; it runs in the child process only, so whatever
//! the driver or a kernel does to this process, the grader and its expected values are elsewhere.
#![allow(unsafe_code)]

use super::protocol::{Arg, DriverFailure, GpuInfo, Launch, Program, Stage};
use super::serve::Device;
use cudarc::driver::sys::{
    self, CUdevice_attribute as Attribute, CUfunction_attribute_enum as FunctionAttribute,
};
use cudarc::driver::{DriverError, result};
use std::ffi::{CString, c_void};

/// Dynamic shared memory that a kernel gets without asking for more (CUDA C++ Programming Guide, "Shared Memory").
const SHARED_WITHOUT_OPT_IN: u32 = 48 << 10;

/// The first GPU, with a context from the first program on.
pub struct Gpu {
    device: sys::CUdevice,
    has_context: bool,
    info: GpuInfo,
}

impl Gpu {
    /// Loads the driver and asks for the device. Takes no context, which is the slow part.
    ///
    /// # Errors
    /// No driver, no device, or a driver that does not start.
    pub fn open() -> Result<Self, DriverFailure> {
        // SAFETY: loads the library and runs its start-up code, which a caller cannot check; this process exists to
        // take that risk. Without this test, cudarc panics where the library is missing.
        if !unsafe { sys::is_culib_present() } {
            return Err(DriverFailure {
                stage: Stage::Open,
                code: "NO_DRIVER".to_owned(),
                text: "libcuda.so.1 cannot be loaded".to_owned(),
            });
        }
        let fail = |e| failure(Stage::Open, e);
        let mut driver_version = 0;
        result::init().map_err(fail)?;
        // SAFETY: the driver writes an int through the pointer, which lives until the call returns.
        unsafe { sys::cuDriverGetVersion(&raw mut driver_version) }.result().map_err(fail)?;
        let device = result::device::get(0).map_err(fail)?;
        // SAFETY: `device` comes from `device::get`.
        let attribute =
            |which| unsafe { result::device::get_attribute(device, which) }.map_err(fail);
        let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let info = GpuInfo {
            name: result::device::get_name(device).map_err(fail)?,
            compute_capability: (major.unsigned_abs(), minor.unsigned_abs()),
            driver_version: driver_version.unsigned_abs(),
        };
        Ok(Self { device, has_context: false, info })
    }

    /// Makes a context current, the device's own, once.
    pub(super) fn context(&mut self) -> Result<(), DriverError> {
        if !self.has_context {
            // SAFETY: the device is valid, and the context is held until the process ends.
            unsafe { result::ctx::set_current(result::primary_ctx::retain(self.device)?)? };
            self.has_context = true;
        }
        Ok(())
    }
}

impl Device for Gpu {
    fn info(&self) -> &GpuInfo {
        &self.info
    }

    fn run(
        &mut self,
        program: &Program,
        body: &[u8],
        launching: &mut dyn FnMut(usize),
    ) -> Result<Vec<Vec<u8>>, DriverFailure> {
        self.context().map_err(|e| failure(Stage::Open, e))?;
        let lacking = || inconsistent("the request's body is too short");
        let (image, mut contents) = body.split_at_checked(program.image).ok_or_else(lacking)?;
        let module = Module::load(image)?;
        let functions: Vec<sys::CUfunction> = program
            .launches
            .iter()
            .map(|l| module.function(&l.kernel))
            .collect::<Result<_, _>>()?;

        let mut buffers = Vec::new();
        for &length in &program.buffers {
            let (bytes, rest) = contents.split_at_checked(length).ok_or_else(lacking)?;
            buffers.push(Buffer::new(bytes).map_err(|e| failure(Stage::Allocate, e))?);
            contents = rest;
        }
        for (n, (launch, &function)) in program.launches.iter().zip(&functions).enumerate() {
            start(launch, function, &buffers, n, launching)?;
            result::ctx::synchronize().map_err(|e| failure(Stage::Wait(n), e))?;
        }
        buffers.iter().map(|b| b.read().map_err(|e| failure(Stage::Read, e))).collect()
    }
}

/// Starts a launch without waiting for its end.
fn start(
    launch: &Launch,
    function: sys::CUfunction,
    buffers: &[Buffer],
    n: usize,
    launching: &mut dyn FnMut(usize),
) -> Result<(), DriverFailure> {
    let fail = |e| failure(Stage::Launch(n), e);
    if launch.shared > SHARED_WITHOUT_OPT_IN {
        let bytes = i32::try_from(launch.shared)
            .map_err(|_| inconsistent("more than 2 GiB of shared memory"))?;
        let which = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function belongs to a module that is loaded until the end of the run.
        unsafe { result::function::set_function_attribute(function, which, bytes) }
            .map_err(fail)?;
    }
    // Eight bytes for each argument, whatever its type: the driver copies as many as the kernel's parameter has.
    let mut values = Vec::new();
    for arg in &launch.args {
        values.push(match *arg {
            Arg::Int(value) => i64::from(value) as u64,
            Arg::Bits(bits) => bits,
            Arg::Address { buffer, offset } => {
                let buffer = buffers
                    .get(buffer)
                    .ok_or_else(|| inconsistent("an argument names no buffer"))?;
                buffer.address + offset as u64
            }
        });
    }
    let mut pointers: Vec<*mut c_void> =
        values.iter_mut().map(|v| std::ptr::from_mut(v).cast()).collect();
    let dims = |d: [u32; 3]| (d[0], d[1], d[2]);
    launching(n);
    // SAFETY: the function is valid (see above). `pointers` has an entry for each parameter, and each points to 8 bytes:
    // the grader has compared number and sizes of the kernel's parameters with the arguments before. The driver copies
    // the values before it returns. The kernel itself may do anything to the memory of the device; see the module.
    unsafe {
        let start = if launch.cooperative {
            result::launch_cooperative_kernel
        } else {
            result::launch_kernel
        };
        start(
            function,
            dims(launch.grid),
            dims(launch.block),
            launch.shared,
            result::stream::null(),
            &mut pointers,
        )
    }
    .map_err(fail)
}

/// Device memory, freed on drop.
struct Buffer {
    address: sys::CUdeviceptr,
    length: usize,
}

impl Buffer {
    fn new(bytes: &[u8]) -> Result<Self, DriverError> {
        // SAFETY: a context is current. The memory is filled before anything reads it.
        let address = unsafe { result::malloc_sync(bytes.len()) }?;
        let buffer = Self { address, length: bytes.len() };
        // SAFETY: the allocation has as many bytes as the slice.
        unsafe { result::memcpy_htod_sync(address, bytes) }?;
        Ok(buffer)
    }

    fn read(&self) -> Result<Vec<u8>, DriverError> {
        let mut bytes = vec![0; self.length];
        // SAFETY: the allocation has as many bytes as the slice.
        unsafe { result::memcpy_dtoh_sync(&mut bytes, self.address) }?;
        Ok(bytes)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` and freed only here. An error means that the context is spoilt; the process ends then.
        unsafe { result::free_sync(self.address) }.ok();
    }
}

/// A loaded module, unloaded on drop.
struct Module(sys::CUmodule);

impl Module {
    fn load(image: &[u8]) -> Result<Self, DriverFailure> {
        // PTX is a text that ends in a zero; a cubin knows its own length. A zero behind either is right for both.
        let image = [image, &[0]].concat();
        // SAFETY: the image lives until the call returns, and ends in a zero if it is a text. A damaged cubin can make
        // the driver read past its end: it comes from the compiler, and this process is there to crash.
        let module = unsafe { result::module::load_data(image.as_ptr().cast()) };
        module.map(Self).map_err(|e| failure(Stage::Load, e))
    }

    fn function(&self, name: &str) -> Result<sys::CUfunction, DriverFailure> {
        let name =
            CString::new(name).map_err(|_| inconsistent("a kernel's name has a zero byte"))?;
        // SAFETY: the module is loaded.
        unsafe { result::module::get_function(self.0, name) }.map_err(|e| failure(Stage::Load, e))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: loaded in `load` and unloaded only here; its functions are used only while it lives.
        unsafe { result::module::unload(self.0) }.ok();
    }
}

/// A request that contradicts itself: a mistake of the grader, not of the driver.
fn inconsistent(text: &str) -> DriverFailure {
    DriverFailure { stage: Stage::Open, code: "BAD_REQUEST".to_owned(), text: text.to_owned() }
}

fn failure(stage: Stage, error: DriverError) -> DriverFailure {
    let words = |text: Result<&std::ffi::CStr, DriverError>| {
        text.ok().map(|t| t.to_string_lossy().into_owned())
    };
    let code =
        words(error.error_name()).unwrap_or_else(|| format!("CUDA error {}", error.0 as u32));
    DriverFailure { stage, code, text: words(error.error_string()).unwrap_or_default() }
}
