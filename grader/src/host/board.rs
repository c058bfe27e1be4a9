//! The device of a case: it holds the tensors, and does what the child's CUDA calls ask for.

use crate::backend::RunTensor;
use crate::backend::vm::findings::{in_tensors, is_harmless};
use crate::case::{CaseTensor, Role};
use crate::finding::{Finding, FindingKind, HostFault, Place};
use crate::tensor::{Tensor, decode, encode, size_of};
use cudart::device::{Answer, Device};
use cudart::error::CudaError;
use cudart::protocol::{KernelInfo, Launch, Launched, Properties};
use cudart::server;
use cudart::vm::VmDevice;
use ptxvm::{Access, BufferId, Init, Options};
use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of device memory that host code may take besides the tensors: they are the grader's own memory.
const MEMORY: u64 = 1 << 30;

/// An allocation takes at least so much of it.
const GRAIN: u64 = 512;

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
pub struct Board {
    device: VmDevice,
    /// For each tensor of the case that is not on the host.
    buffers: Vec<Option<BufferId>>,
    tensors: Vec<Tensor>,
    clock: Clock,
    /// What host code has allocated: address and bytes.
    allocated: BTreeMap<u64, u64>,
    /// Bytes of all of them.
    used: u64,
    modules: usize,
    /// The connection ended in the middle of something.
    broken: bool,
}

impl Board {
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
                Role::Output(_) => {
                    (Init::Undefined { len: tensor.tensor.bytes() }, Access::ReadWrite)
                }
                Role::InPlace { start, .. } => {
                    (Init::Bytes(encode(dtype, start)), Access::ReadWrite)
                }
            };
            Some(memory.alloc(init, access))
        };
        let buffers = tensors.iter().zip(on_host).map(&mut alloc).collect();
        Self {
            device,
            buffers,
            tensors: tensors.iter().map(|t| t.tensor.clone()).collect(),
            clock: Clock::default(),
            allocated: BTreeMap::new(),
            used: 0,
            modules: 0,
            broken: false,
        }
    }

    /// Its clock.
    pub fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// The device address of a tensor; 0 for one on the host.
    pub fn address(&self, tensor: usize) -> u64 {
        let buffer = self.buffers.get(tensor).copied().flatten();
        buffer.map_or(0, |buffer| self.device.memory().address(buffer))
    }

    /// Serves the child until it is gone.
    pub fn serve(&mut self, stream: UnixStream) {
        // What is no request may be anything that the student's code wrote: the child is killed by the end of the
        // stream, or is gone already.
        self.broken = server::serve(stream, self).is_err();
    }

    /// What is in a tensor now.
    pub fn contents(&self, tensor: usize) -> RunTensor {
        let nothing = RunTensor { values: Vec::new(), written: Vec::new() };
        let (Some(Some(buffer)), Some(of)) = (self.buffers.get(tensor), self.tensors.get(tensor))
        else {
            return nothing;
        };
        let memory = self.device.memory();
        let defined = memory.defined(*buffer);
        RunTensor {
            values: decode(of.dtype, &memory.bytes(*buffer)),
            written: defined
                .chunks(size_of(of.dtype))
                .map(|bytes| bytes.iter().all(|&b| b))
                .collect(),
        }
    }

    /// What the checks of the device found, with paths relative to the second folder; the compiler ran in the first.
    pub fn findings(&self, folders: &(PathBuf, PathBuf)) -> Vec<Finding> {
        let memory = self.device.memory();
        let place = |buffer: BufferId, offset: i64| {
            let index = self.buffers.iter().position(|b| *b == Some(buffer))?;
            let tensor = &self.tensors[index];
            let flat = offset.div_euclid(size_of(tensor.dtype) as i64);
            Some(Place { tensor: tensor.name.clone(), shape: tensor.shape.clone(), flat })
        };
        let found = self.device.findings().iter().filter(|f| !is_harmless(&f.finding.kind));
        let mut findings: Vec<Finding> = found
            .map(|found| {
                let kernel = crate::module::source_name(&found.kernel);
                let mut finding = in_tensors(&kernel, found.finding.clone(), memory, &place);
                if let Some(line) = &mut finding.line {
                    let (ran_in, base) = folders;
                    let path = ran_in.join(&line.file);
                    let path = path.canonicalize().unwrap_or(path);
                    line.file = path.strip_prefix(base).unwrap_or(&path).display().to_string();
                }
                finding
            })
            .collect();
        if self.broken {
            let kind = FindingKind::Host(HostFault::Disconnected);
            let kernel = String::new();
            findings.push(Finding { kind, kernel, line: None, thread: None, count: 1 });
        }
        findings
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

/// As the virtual machine, with bounds and a clock.
impl Device for Board {
    fn properties(&self) -> Properties {
        self.device.properties()
    }

    fn load(&mut self, fat_binary: &[u8]) -> Answer<u64> {
        self.modules += 1;
        if self.modules > MODULES {
            return Err(CudaError::MEMORY_ALLOCATION);
        }
        self.clock.start();
        let loaded = self.device.load(fat_binary);
        self.clock.stop();
        loaded
    }

    fn alloc(&mut self, bytes: u64) -> Answer<u64> {
        let used = self.used.saturating_add(bytes.max(GRAIN));
        if used > MEMORY {
            return Err(CudaError::MEMORY_ALLOCATION);
        }
        let address = self.device.alloc(bytes)?;
        self.used = used;
        self.allocated.insert(address, bytes);
        Ok(address)
    }

    fn free(&mut self, address: u64) -> Answer<()> {
        // The tensors of the test are not the program's to free.
        if !self.allocated.contains_key(&address) {
            return Err(CudaError::INVALID_VALUE);
        }
        self.device.free(address)?;
        if let Some(bytes) = self.allocated.remove(&address) {
            self.used -= bytes.max(GRAIN);
        }
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Answer<()> {
        self.device.write(address, bytes)
    }

    fn read(&mut self, address: u64, bytes: u64) -> Answer<Vec<u8>> {
        self.device.read(address, bytes)
    }

    fn fill(&mut self, address: u64, bytes: u64, value: u8) -> Answer<()> {
        self.device.fill(address, bytes, value)
    }

    fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Answer<()> {
        self.device.copy(to, from, bytes)
    }

    fn symbol(&mut self, module: u64, name: &str) -> Answer<(Option<u64>, u64)> {
        self.device.symbol(module, name)
    }

    fn write_symbol(&mut self, module: u64, name: &str, offset: u64, bytes: &[u8]) -> Answer<()> {
        self.device.write_symbol(module, name, offset, bytes)
    }

    fn read_symbol(&mut self, module: u64, name: &str, offset: u64, bytes: u64) -> Answer<Vec<u8>> {
        self.device.read_symbol(module, name, offset, bytes)
    }

    fn kernel(&self, module: u64, name: &str) -> Answer<KernelInfo> {
        self.device.kernel(module, name)
    }

    fn launch(&mut self, launch: &Launch, params: &[u8]) -> Answer<(Launched, String)> {
        self.clock.start();
        let launched = self.device.launch(launch, params);
        self.clock.stop();
        launched
    }

    fn memory(&self) -> (u64, u64) {
        (MEMORY - self.used, MEMORY)
    }
}
