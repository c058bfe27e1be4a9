//! The device of a case: it holds the tensors, and does what the child's CUDA calls ask for.

use crate::backend::RunTensor;
use crate::finding::{Finding, FindingKind, HostFault, Place};
use crate::gpu::image;
use crate::gpu::remote::{self, Broken, Remote};
use crate::vm::findings::in_tensors;
use cudart::device::{Answer, Device};
use cudart::error::CudaError;
use cudart::protocol::{KernelInfo, Launch, Launched, Properties};
use cudart::server;
use cudart::vm::VmDevice;
use ptxvm::{Access, BufferId, Init, Options};
use puzzle::case::{CaseTensor, Role};
use puzzle::tensor::{decode, encode, size_of};
use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of device memory that host code may take besides the tensors: they are the grader's own memory.
const MEMORY: u64 = 1 << 30;

/// An allocation takes at least so much of it.
const GRAIN: u64 = 512;

/// A launch may have so many threads for each element of the test's tensors ...
const THREADS: u64 = 16;

/// ... and so many in any case. The virtual machine would work on more for minutes.
const MIN_THREADS: u64 = 1 << 20;

/// Files of a program have one module each; more than this is a loop.
const MODULES: usize = 64;

/// Instructions of a warp, as for kernels that are launched by a spec.
const BUDGET: u64 = 64 << 20;

/// Findings of each launch.
const MAX_FINDINGS: usize = 32;

/// How long the device has worked so far.
#[derive(Clone, Debug, Default)]
pub struct Clock(Arc<Mutex<Work>>);

/// Work that is done, and since when something runs.
#[derive(Debug, Default)]
struct Work {
    done: Duration,
    since: Option<Instant>,
}

impl Clock {
    /// The time in which host code could only wait.
    pub fn busy(&self) -> Duration {
        let work = self.lock();
        work.done + work.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn start(&self) {
        self.lock().since = Some(Instant::now());
    }

    fn stop(&self) {
        let mut work = self.lock();
        let lately = work.since.take().map_or(Duration::ZERO, |since| since.elapsed());
        work.done += lately;
    }

    fn lock(&self) -> MutexGuard<'_, Work> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A device with the tensors of a case.
#[derive(Debug)]
pub struct TestDevice {
    inside: Inside,
    tensors: Vec<CaseTensor>,
    clock: Clock,
    /// What host code has allocated: address and bytes.
    allocated: BTreeMap<u64, u64>,
    /// Bytes of all of them.
    used: u64,
    /// Bytes of the heap of kernels, once host code has given it a size of its own.
    heap: u64,
    modules: usize,
    /// Threads of all launches so far.
    threads: u64,
    /// A launch of far too many threads: kernel and threads.
    flooded: Option<(String, u64)>,
    /// The connection ended in the middle of something.
    broken: bool,
}

/// What does the work.
#[derive(Debug)]
enum Inside {
    /// The virtual machine, and the buffer of each tensor that is not on the host.
    Vm(Box<VmDevice>, Vec<Option<BufferId>>),
    /// A GPU, and the start of each such tensor's image, guards and all.
    Gpu(Remote, Vec<Option<u64>>),
}

impl Inside {
    fn device(&mut self) -> &mut dyn Device {
        match self {
            Self::Vm(vm, _) => vm.as_mut(),
            Self::Gpu(gpu, _) => gpu,
        }
    }

    fn look(&self) -> &dyn Device {
        match self {
            Self::Vm(vm, _) => vm.as_ref(),
            Self::Gpu(gpu, _) => gpu,
        }
    }
}

impl TestDevice {
    fn allocate(
        &mut self,
        bytes: u64,
        alloc: impl FnOnce(&mut dyn Device) -> Answer<u64>,
    ) -> Answer<u64> {
        let used = self.used.saturating_add(bytes.max(GRAIN));
        if used.saturating_add(self.heap) > MEMORY {
            return Err(CudaError::MEMORY_ALLOCATION);
        }
        let address = self.work(alloc)?;
        self.used = used;
        self.allocated.insert(address, bytes);
        Ok(address)
    }

    /// Takes memory for the tensors that are not on the host, and fills it.
    pub fn new(tensors: &[CaseTensor], on_host: &[bool]) -> Self {
        let options = Options { budget: BUDGET, max_findings: MAX_FINDINGS, ..Options::default() };
        let mut device = VmDevice::new(options);
        let memory = device.memory_mut();
        let mut alloc = |(tensor, on_host): (&CaseTensor, &bool)| {
            let dtype = tensor.tensor.dtype;
            let (init, access) = match &tensor.role {
                _ if *on_host => return None,
                Role::Input(values) => (Init::Bytes(encode(dtype, values)), Access::ReadOnly),
                Role::Output(_) | Role::Result => {
                    (Init::Undefined { len: tensor.tensor.bytes() }, Access::ReadWrite)
                }
                Role::InPlace { start, .. } => {
                    (Init::Bytes(encode(dtype, start)), Access::ReadWrite)
                }
            };
            Some(memory.alloc(init, access))
        };
        let buffers = tensors.iter().zip(on_host).map(&mut alloc).collect();
        Self::around(Inside::Vm(Box::new(device), buffers), tensors)
    }

    /// As [`TestDevice::new`], on a GPU: with guards around the tensors, and poison in what is computed.
    pub fn on_gpu(
        mut gpu: Remote,
        tensors: &[CaseTensor],
        on_host: &[bool],
    ) -> Result<Self, CudaError> {
        let mut places = Vec::new();
        for (tensor, on_host) in tensors.iter().zip(on_host) {
            if *on_host {
                places.push(None);
                continue;
            }
            let image = image::before(tensor);
            let address = gpu.alloc(image.len() as u64)?;
            gpu.write(address, &image)?;
            places.push(Some(address));
        }
        Ok(Self::around(Inside::Gpu(gpu, places), tensors))
    }

    fn around(inside: Inside, tensors: &[CaseTensor]) -> Self {
        Self {
            inside,
            tensors: tensors.to_vec(),
            clock: Clock::default(),
            allocated: BTreeMap::new(),
            used: 0,
            heap: 0,
            modules: 0,
            threads: 0,
            flooded: None,
            broken: false,
        }
    }

    /// Lets the device do something, on its own time.
    fn work<T>(&mut self, what: impl FnOnce(&mut dyn Device) -> T) -> T {
        self.clock.start();
        let done = what(self.inside.device());
        self.clock.stop();
        done
    }

    /// Its clock.
    pub fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// Threads of all launches so far.
    pub fn threads(&self) -> u64 {
        self.threads
    }

    /// The device address of a tensor; 0 for one on the host.
    pub fn address(&self, tensor: usize) -> u64 {
        let address =
            match &self.inside {
                Inside::Vm(vm, buffers) => {
                    let buffer = buffers.get(tensor).copied().flatten();
                    buffer.map(|buffer| vm.memory().address(buffer))
                }
                Inside::Gpu(_, places) => places.get(tensor).copied().flatten().map(|start| {
                    start + image::Layout::of(&self.tensors[tensor].tensor).guard as u64
                }),
            };
        address.unwrap_or(0)
    }

    /// Serves the child until it is gone.
    pub fn serve(&mut self, stream: UnixStream) {
        // What is no request may be anything that the student's code wrote: the child is killed by the end of the
        // stream, or is gone already.
        self.broken = server::serve(stream, self).is_err();
    }

    /// What is in a tensor now, and on a GPU what was changed that must not be.
    pub fn contents(&mut self, tensor: usize) -> (RunTensor, Vec<(FindingKind, u64)>) {
        let Some(of) = self.tensors.get(tensor) else {
            return (RunTensor { values: Vec::new(), written: Vec::new() }, Vec::new());
        };
        let unknown = || {
            let len = of.tensor.len();
            (RunTensor { values: vec![f64::NAN; len], written: vec![false; len] }, Vec::new())
        };
        match &mut self.inside {
            Inside::Vm(vm, buffers) => {
                let Some(Some(buffer)) = buffers.get(tensor) else { return unknown() };
                let dtype = of.tensor.dtype;
                let defined = vm.memory().defined(*buffer);
                let whole = |bytes: &[bool]| bytes.iter().all(|&b| b);
                let contents = RunTensor {
                    values: decode(dtype, &vm.memory().bytes(*buffer)),
                    written: defined.chunks(size_of(dtype)).map(whole).collect(),
                };
                (contents, Vec::new())
            }
            Inside::Gpu(gpu, places) => {
                let Some(Some(start)) = places.get(tensor) else { return unknown() };
                let bytes = gpu.read(*start, image::Layout::of(&of.tensor).total() as u64);
                let after = bytes.ok().and_then(|bytes| image::after(of, &bytes));
                // After a crash a GPU gives nothing back: the finding of the crash tells why.
                after.unwrap_or_else(unknown)
            }
        }
    }

    /// What the checks of the device found, with paths relative to the second folder; the compiler ran in the first.
    pub fn findings(&self, folders: &(PathBuf, PathBuf)) -> Vec<Finding> {
        let mut findings = match &self.inside {
            Inside::Vm(vm, buffers) => self.found_by_vm(vm, buffers, folders),
            Inside::Gpu(gpu, _) => gpu.broken().map(broken).into_iter().collect(),
        };
        let mut add = |fault| {
            let (kind, kernel) = (FindingKind::Host(fault), String::new());
            findings.push(Finding { kind, kernel, line: None, thread: None, count: 1 });
        };
        if let Some((kernel, threads)) = self.flooded.clone() {
            add(HostFault::TooManyThreads { kernel, threads });
        }
        if self.broken {
            add(HostFault::Disconnected);
        }
        findings
    }

    fn found_by_vm(
        &self,
        vm: &VmDevice,
        buffers: &[Option<BufferId>],
        folders: &(PathBuf, PathBuf),
    ) -> Vec<Finding> {
        let place = |buffer: BufferId, offset: i64| {
            let index = buffers.iter().position(|b| *b == Some(buffer))?;
            let tensor = &self.tensors[index].tensor;
            let flat = offset.div_euclid(size_of(tensor.dtype) as i64);
            Some(Place { tensor: tensor.name.clone(), shape: tensor.shape.clone(), flat })
        };
        vm.findings()
            .iter()
            .map(|found| {
                let kernel = cudart::source_name(&found.kernel);
                let mut finding = in_tensors(&kernel, found.finding.clone(), vm.memory(), &place);
                if let Some(line) = &mut finding.line {
                    let (ran_in, base) = folders;
                    let path = ran_in.join(&line.file);
                    let path = path.canonicalize().unwrap_or(path);
                    line.file = path.strip_prefix(base).unwrap_or(&path).display().to_string();
                }
                finding
            })
            .collect()
    }

    /// What is worth knowing of it.
    pub fn notes(&self) -> Vec<String> {
        let count = self.allocated.len();
        if count == 0 {
            return Vec::new();
        }
        let bytes: u64 = self.allocated.values().sum();
        let buffers = if count == 1 { "buffer" } else { "buffers" };
        vec![format!("{count} {buffers} from cudaMalloc ({bytes} bytes) never freed with cudaFree")]
    }
}

/// The GPU does not answer any more.
fn broken(how: Broken) -> Finding {
    let kind = match how {
        Broken::TimedOut => FindingKind::TimeOut { seconds: remote::TIME_OUT.as_secs_f64() },
        Broken::Ended => FindingKind::Driver {
            code: "no answer".to_owned(),
            meaning: "the process that drives the GPU has ended".to_owned(),
        },
    };
    Finding { kind, kernel: String::new(), line: None, thread: None, count: 1 }
}

/// As the device inside, with bounds and a clock.
impl Device for TestDevice {
    fn properties(&self) -> Properties {
        self.inside.look().properties()
    }

    fn load(&mut self, fat_binary: &[u8]) -> Answer<u64> {
        self.modules += 1;
        if self.modules > MODULES {
            return Err(CudaError::MEMORY_ALLOCATION);
        }
        self.work(|device| device.load(fat_binary))
    }

    fn alloc(&mut self, bytes: u64) -> Answer<u64> {
        self.allocate(bytes, |device| device.alloc(bytes))
    }

    fn alloc_shared(&mut self, bytes: u64) -> Answer<u64> {
        self.allocate(bytes, |device| device.alloc_shared(bytes))
    }

    fn free(&mut self, address: u64) -> Answer<()> {
        // The tensors of the test are not the program's to free.
        if !self.allocated.contains_key(&address) {
            return Err(CudaError::INVALID_VALUE);
        }
        self.inside.device().free(address)?;
        if let Some(bytes) = self.allocated.remove(&address) {
            self.used -= bytes.max(GRAIN);
        }
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Answer<()> {
        self.work(|device| device.write(address, bytes))
    }

    fn read(&mut self, address: u64, bytes: u64) -> Answer<Vec<u8>> {
        self.work(|device| device.read(address, bytes))
    }

    fn fill(&mut self, address: u64, bytes: u64, value: u8) -> Answer<()> {
        self.work(|device| device.fill(address, bytes, value))
    }

    fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Answer<()> {
        self.work(|device| device.copy(to, from, bytes))
    }

    fn symbol(&mut self, module: u64, name: &str) -> Answer<(Option<u64>, u64)> {
        self.inside.device().symbol(module, name)
    }

    fn write_symbol(&mut self, module: u64, name: &str, offset: u64, bytes: &[u8]) -> Answer<()> {
        self.inside.device().write_symbol(module, name, offset, bytes)
    }

    fn read_symbol(&mut self, module: u64, name: &str, offset: u64, bytes: u64) -> Answer<Vec<u8>> {
        self.inside.device().read_symbol(module, name, offset, bytes)
    }

    fn kernel(&self, module: u64, name: &str) -> Answer<KernelInfo> {
        self.inside.look().kernel(module, name)
    }

    fn launch(&mut self, launch: &Launch, params: &[u8]) -> Answer<(Launched, String)> {
        let all = launch.grid.iter().chain(&launch.block).map(|&n| u64::from(n));
        let threads = all.fold(1, u64::saturating_mul);
        self.threads = self.threads.saturating_add(threads);
        let elements: usize = self.tensors.iter().map(|t| t.tensor.len()).sum();
        let interpreted = matches!(self.inside, Inside::Vm(..));
        if interpreted && threads > (elements as u64 * THREADS).max(MIN_THREADS) {
            self.flooded = Some((cudart::source_name(&launch.kernel), threads));
            return Err(CudaError::INVALID_CONFIGURATION);
        }
        self.work(|device| device.launch(launch, params))
    }

    fn resize_heap(&mut self, bytes: u64) -> Answer<()> {
        if self.used.saturating_add(bytes) > MEMORY {
            return Err(CudaError::MEMORY_ALLOCATION);
        }
        self.work(|device| device.resize_heap(bytes))?;
        self.heap = bytes;
        Ok(())
    }

    fn memory(&self) -> (u64, u64) {
        (MEMORY - self.used - self.heap, MEMORY)
    }
}
