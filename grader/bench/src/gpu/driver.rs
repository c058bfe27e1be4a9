//! The CUDA driver, as far as timing needs it. With `unsafe` code, and in the child process only.
#![allow(unsafe_code)]

use crate::job::LaunchJob;
use crate::values::Parameters;
use cudarc::driver::sys::{
    self, CUdevice_attribute as Attribute, CUfunction_attribute_enum as FunctionAttribute,
};
use cudarc::driver::{DriverError, result};
use device::gpu::words_of;
use hardware::SHARED_WITHOUT_OPT_IN;
use puzzle::case::LaunchOptions;
use std::ffi::{CString, c_void};

/// What the driver says of an error.
pub type Answer<T> = Result<T, String>;

/// The first GPU with a stream, on which everything runs in its order.
pub struct Driver {
    stream: sys::CUstream,
    events: [sys::CUevent; 2],
    draw: sys::CUfunction,
    empty: sys::CUfunction,
    wait: sys::CUfunction,
    /// Bytes of the L2 cache.
    pub l2: u64,
    /// The GPU's number in NVML's form, `GPU-...`.
    pub uuid: String,
}

/// A loaded module.
#[derive(Clone, Copy)]
pub struct Module(sys::CUmodule);

/// Launches that start together.
pub struct Graph(sys::CUgraphExec);

/// A launch with its arguments as bytes.
pub struct Prepared {
    function: sys::CUfunction,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    options: LaunchOptions,
    params: Vec<Vec<u64>>,
}

fn words(error: DriverError) -> String {
    let text = |text: Result<&std::ffi::CStr, DriverError>| {
        text.map_or(String::new(), |text| text.to_string_lossy().into_owned())
    };
    format!("{}: {}", text(error.error_name()), text(error.error_string()))
}

#[expect(
    clippy::unused_self,
    reason = "what uses the current context needs one, and a driver stands for it"
)]
impl Driver {
    /// Loads the driver, and makes a context and a stream.
    ///
    /// # Errors
    /// There is no driver or no GPU.
    pub fn open(ptx: &str) -> Answer<Self> {
        // SAFETY: loads the library and runs its start-up code; this process exists to take that risk.
        if !unsafe { sys::is_culib_present() } {
            return Err("libcuda.so.1 cannot be loaded".to_owned());
        }
        Self::first(ptx).map_err(words)
    }

    fn first(ptx: &str) -> Result<Self, DriverError> {
        result::init()?;
        let device = result::device::get(0)?;
        // SAFETY: the device is valid, and the context is held until the process ends.
        unsafe { result::ctx::set_current(result::primary_ctx::retain(device)?)? };
        // SAFETY: as above.
        let l2 = unsafe {
            result::device::get_attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?
        };
        let module = load(ptx.as_bytes())?;
        let event = || result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT);
        Ok(Self {
            stream: result::stream::create(result::stream::StreamKind::NonBlocking)?,
            events: [event()?, event()?],
            draw: function(module, "draw")?,
            empty: function(module, "empty")?,
            wait: function(module, "wait")?,
            l2: u64::from(l2.unsigned_abs()),
            uuid: uuid_text(result::device::get_uuid(device)?.bytes.map(|byte| byte as u8)),
        })
    }

    /// The stream's handle, for a library.
    pub fn stream(&self) -> *mut c_void {
        self.stream.cast()
    }

    /// Takes memory, which is held until the process ends.
    pub fn alloc(&self, bytes: usize) -> Answer<u64> {
        // SAFETY: a context is current.
        unsafe { result::malloc_sync(bytes.max(1)) }.map_err(words)
    }

    /// Copies bytes to the GPU, and waits.
    pub fn upload(&self, address: u64, bytes: &[u8]) -> Answer<()> {
        // SAFETY: the slice is valid; the driver refuses ranges outside its allocations.
        unsafe { result::memcpy_htod_sync(address, bytes) }.map_err(words)
    }

    /// Copies bytes from the GPU.
    pub fn download(&self, address: u64, bytes: usize) -> Answer<Vec<u8>> {
        let mut read = vec![0; bytes];
        // SAFETY: as in `upload`.
        unsafe { result::memcpy_dtoh_sync(&mut read, address) }.map_err(words)?;
        Ok(read)
    }

    /// Fills memory with a pattern of two bytes.
    pub fn fill(&self, address: u64, pattern: u16, bytes: usize) -> Answer<()> {
        // SAFETY: as in `upload`.
        unsafe { sys::cuMemsetD16Async(address, pattern, bytes / 2, self.stream) }
            .result()
            .map_err(words)
    }

    /// Copies from one place on the GPU to another.
    pub fn copy(&self, to: u64, from: u64, bytes: usize) -> Answer<()> {
        // SAFETY: as in `upload`.
        unsafe { result::memcpy_dtod_async(to, from, bytes, self.stream) }.map_err(words)
    }

    /// Draws the data of a tensor.
    pub fn draw(&self, address: u64, count: u64, of: &Parameters) -> Answer<()> {
        let Parameters { dtype, kind, seed, factor, shift, low, count: length } = *of;
        let params = vec![
            vec![address],
            vec![count],
            vec![u64::from(dtype.unsigned_abs())],
            vec![u64::from(kind.unsigned_abs())],
            vec![seed],
            vec![u64::from(factor.to_bits())],
            vec![u64::from(shift.to_bits())],
            vec![low as u64],
            vec![length],
        ];
        let grid = count.div_ceil(256).clamp(1, 1 << 14) as u32;
        self.launch(&mut Prepared::of(self.draw, grid, 256, params))
    }

    /// Starts a kernel that does nothing.
    pub fn empty(&self) -> Answer<()> {
        self.launch(&mut Prepared::of(self.empty, 1, 32, Vec::new()))
    }

    /// Keeps the GPU busy for a while.
    pub fn wait(&self, nanoseconds: u64) -> Answer<()> {
        self.launch(&mut Prepared::of(self.wait, 1, 1, vec![vec![nanoseconds]]))
    }

    /// Loads a module: machine code, or PTX.
    pub fn load(&self, image: &[u8]) -> Answer<Module> {
        load(image).map_err(words)
    }

    /// Address and bytes of a variable.
    pub fn global(&self, module: Module, name: &str) -> Answer<(u64, usize)> {
        let name = CString::new(name).map_err(|_| "a name with a zero".to_owned())?;
        // SAFETY: the module is loaded.
        unsafe { result::module::get_global(module.0, name) }.map_err(words)
    }

    /// Makes a launch ready.
    pub fn prepare(&self, module: Module, of: &LaunchJob, params: &[Vec<u8>]) -> Answer<Prepared> {
        let function = function(module, &of.symbol).map_err(words)?;
        if of.shared > SHARED_WITHOUT_OPT_IN {
            let which = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            let bytes = i32::try_from(of.shared).map_err(|_| "too much shared memory")?;
            // SAFETY: the function's module is loaded.
            unsafe { result::function::set_function_attribute(function, which, bytes) }
                .map_err(words)?;
        }
        Ok(Prepared {
            function,
            grid: of.grid,
            block: of.block,
            shared: of.shared,
            options: of.options,
            params: params.iter().map(|bytes| words_of(bytes)).collect(),
        })
    }

    /// Starts a launch on the stream.
    pub fn launch(&self, of: &mut Prepared) -> Answer<()> {
        let mut pointers: Vec<*mut c_void> =
            of.params.iter_mut().map(|words| words.as_mut_ptr().cast()).collect();
        let dims = |d: [u32; 3]| (d[0], d[1], d[2]);
        let start = if of.options.cooperative {
            result::launch_cooperative_kernel
        } else {
            result::launch_kernel
        };
        // SAFETY: the grader has compared number and sizes of the parameters with those that the kernel declares, and each pointer
        // leads to that many bytes. The driver copies them before it returns.
        unsafe {
            start(of.function, dims(of.grid), dims(of.block), of.shared, self.stream, &mut pointers)
        }
        .map_err(words)
    }

    /// Captures what `start` puts on the stream.
    pub fn capture(&self, start: impl FnOnce(&Self) -> Answer<()>) -> Answer<Graph> {
        let mode = sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is valid, here and below.
        unsafe { result::stream::begin_capture(self.stream, mode) }.map_err(words)?;
        let started = start(self);
        // SAFETY: as above. The capture ends in any case.
        let graph = unsafe { result::stream::end_capture(self.stream) }.map_err(words);
        started?;
        // SAFETY: the graph was just made; it is held until the process ends.
        let ready =
            unsafe { result::graph::instantiate(graph?, sys::CUgraphInstantiate_flags_enum(0)) };
        ready.map(Graph).map_err(words)
    }

    /// Starts the launches of a graph.
    pub fn replay(&self, graph: &Graph) -> Answer<()> {
        // SAFETY: graph and stream are valid.
        unsafe { result::graph::launch(graph.0, self.stream) }.map_err(words)
    }

    /// Marks the begin (0) or the end (1) of what is timed.
    pub fn mark(&self, which: usize) -> Answer<()> {
        // SAFETY: event and stream are valid.
        unsafe { result::event::record(self.events[which], self.stream) }.map_err(words)
    }

    /// Waits for the second mark, and gives the seconds between both.
    pub fn between_marks(&self) -> Answer<f64> {
        // SAFETY: the events are valid and were recorded.
        let milliseconds = unsafe {
            result::event::synchronize(self.events[1]).map_err(words)?;
            result::event::elapsed(self.events[0], self.events[1]).map_err(words)?
        };
        Ok(f64::from(milliseconds) * 1e-3)
    }

    /// Waits until the whole GPU is idle.
    pub fn synchronize(&self) -> Answer<()> {
        result::ctx::synchronize().map_err(words)
    }
}

impl Prepared {
    fn of(function: sys::CUfunction, grid: u32, block: u32, params: Vec<Vec<u64>>) -> Self {
        let (grid, block) = ([grid, 1, 1], [block, 1, 1]);
        Self { function, grid, block, shared: 0, options: LaunchOptions::default(), params }
    }
}

fn load(image: &[u8]) -> Result<Module, DriverError> {
    let image = [image, &[0]].concat();
    // SAFETY: the image lives until the call returns, and ends in a zero if it is a text.
    unsafe { result::module::load_data(image.as_ptr().cast()) }.map(Module)
}

fn function(module: Module, name: &str) -> Result<sys::CUfunction, DriverError> {
    let name = CString::new(name).unwrap_or_default();
    // SAFETY: the module is loaded.
    unsafe { result::module::get_function(module.0, name) }
}

/// The number of a GPU as NVML writes it: bytes as hexadecimal digits, in groups of 4, 2, 2, 2 and 6.
fn uuid_text(bytes: [u8; 16]) -> String {
    let mut text = String::from("GPU");
    for (i, byte) in bytes.iter().enumerate() {
        let dash = if [0, 4, 6, 8, 10].contains(&i) { "-" } else { "" };
        text = format!("{text}{dash}{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_uuid_is_written_in_groups() {
        let bytes = std::array::from_fn(|i| i as u8 * 17);
        assert_eq!(super::uuid_text(bytes), "GPU-00112233-4455-6677-8899-aabbccddeeff");
    }
}
