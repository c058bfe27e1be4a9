//! The PTX virtual machine as a device.

mod profile;

pub use profile::KernelProfile;

use crate::device::{Answer, Device};
use crate::error::CudaError;
use crate::fatbin;
use crate::limits;
use crate::protocol::{KernelInfo, Launch, Launched, Properties};
use profile::Profiles;
use ptxvm::{
    Access, BufferId, Finding, FindingKind, HostFault, Init, Kernel, LaunchError, MbarrierMisuse,
    Memory, Module, Options,
};
use std::sync::Arc;

/// What the device claims to be unless it is told otherwise: the newest architecture whose PTX the machine runs.
const CAPABILITY: (u32, u32) = (9, 0);
/// Bytes of global memory.
const TOTAL: u64 = 8 << 30;
/// Nanoseconds that a launch takes on the simulated clock, besides its instructions.
const LAUNCH_NANOSECONDS: u64 = 2_000;
/// Instructions of lanes in a simulated nanosecond: of the order of a middle-class GPU.
const LANE_INSTRUCTIONS_PER_NANOSECOND: u64 = 1_000;
/// Findings that are kept; a program with more has the same mistake everywhere.
const MAX_FINDINGS: usize = 256;

/// What a launch did wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchFinding {
    /// Number of the launch, from 0.
    pub launch: usize,
    /// Name of the kernel in the PTX.
    pub kernel: String,
    /// What, where, who.
    pub finding: Finding,
}

/// A virtual device with its memory and its modules.
#[derive(Debug, Default)]
pub struct VmDevice {
    memory: Memory,
    modules: Vec<Arc<Module>>,
    /// For which architecture the PTX of each module is.
    targets: Vec<u32>,
    /// The PTX of each module, where launches are counted.
    ptx: Vec<String>,
    profiles: Option<Profiles>,
    /// What it claims to be; None: [`CAPABILITY`].
    capability: Option<(u32, u32)>,
    /// What to do about a kernel that it cannot run.
    advice: Option<String>,
    options: Options,
    used: u64,
    clock: u64,
    launches: usize,
    findings: Vec<LaunchFinding>,
}

impl VmDevice {
    /// A device whose launches have these limits.
    pub fn new(options: Options) -> Self {
        Self { options, ..Self::default() }
    }

    /// From now on it claims to be of this compute capability: a program looks at it to choose its kernels, so it must be
    /// that for which the program was compiled.
    pub fn claim(&mut self, capability: (u32, u32)) {
        self.capability = Some(capability);
    }

    /// From now on this is added to what is said of a kernel that it cannot run.
    pub fn advise(&mut self, advice: impl Into<String>) {
        self.advice = Some(advice.into());
    }

    fn capability(&self) -> (u32, u32) {
        self.capability.unwrap_or(CAPABILITY)
    }

    /// From now on launches are counted; they do and find the same, more slowly.
    pub fn profile(&mut self) {
        self.profiles = Some(Profiles::default());
    }

    /// What each kernel cost, in the order of first launches; empty unless launches [are counted](Self::profile).
    pub fn profiles(&self) -> &[KernelProfile] {
        self.profiles.as_ref().map_or(&[], |profiles| &profiles.0)
    }

    /// The PTX of a module that was loaded while launches are counted.
    pub fn ptx(&self, module: u64) -> Option<&str> {
        self.ptx.get(usize::try_from(module).ok()?).map(String::as_str)
    }

    /// What the launches did wrong, in their order.
    pub fn findings(&self) -> &[LaunchFinding] {
        &self.findings
    }

    /// The device's memory, for the names of buffers and for results.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The same, to put inputs there before a program runs.
    pub fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// Launches so far.
    pub fn launches(&self) -> usize {
        self.launches
    }

    fn allocate(
        &mut self,
        bytes: u64,
        alloc: impl FnOnce(&mut Memory, Init) -> BufferId,
    ) -> Answer<u64> {
        let used = self.used.checked_add(bytes).filter(|&used| used <= TOTAL);
        let used = used.ok_or(CudaError::MEMORY_ALLOCATION)?;
        let len = usize::try_from(bytes).map_err(|_| CudaError::MEMORY_ALLOCATION)?;
        let id = alloc(&mut self.memory, Init::Undefined { len });
        self.used = used;
        Ok(self.memory.address(id))
    }

    fn module(&self, module: u64) -> Answer<&Arc<Module>> {
        let found = usize::try_from(module).ok().and_then(|index| self.modules.get(index));
        found.ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }

    fn find(&self, module: u64, name: &str) -> Answer<(Arc<Module>, &Kernel)> {
        let module = self.module(module)?;
        let kernel = module.kernel(name).ok_or(CudaError::INVALID_DEVICE_FUNCTION)?;
        Ok((Arc::clone(module), kernel))
    }
}

fn outside(fault: HostFault) -> CudaError {
    match fault {
        HostFault::OutOfBounds | HostFault::Freed => CudaError::INVALID_VALUE,
    }
}

/// The parameters one by one.
fn split(kernel: &Kernel, bytes: &[u8]) -> Answer<Vec<Vec<u8>>> {
    let mut rest = bytes;
    let mut one = |size: usize| {
        let (value, after) = rest.split_at_checked(size)?;
        rest = after;
        Some(value.to_vec())
    };
    let all: Option<Vec<_>> = kernel.params().iter().map(|param| one(param.size)).collect();
    all.filter(|_| rest.is_empty()).ok_or(CudaError::INVALID_VALUE)
}

/// What a GPU would say of a finding: `None` for what it does not notice.
fn fault(kind: &FindingKind) -> Option<CudaError> {
    match kind {
        FindingKind::OutOfBounds { .. }
        | FindingKind::WriteToReadOnly { .. }
        | FindingKind::UseAfterFree { .. } => Some(CudaError::ILLEGAL_ADDRESS),
        FindingKind::StackOverflow { .. } => Some(CudaError::HARDWARE_STACK),
        FindingKind::InvalidCall { .. } => Some(CudaError::INVALID_PC),
        FindingKind::Misaligned { .. } => Some(CudaError::MISALIGNED_ADDRESS),
        FindingKind::EndlessLoop { .. }
        | FindingKind::Mbarrier { misuse: MbarrierMisuse::NeverCompletes { .. }, .. } => {
            Some(CudaError::LAUNCH_TIMEOUT)
        }
        FindingKind::Trap { message: Some(_) } => Some(CudaError::ASSERT),
        FindingKind::GridSync
        | FindingKind::InvalidFree { .. }
        | FindingKind::Trap { message: None } => Some(CudaError::LAUNCH_FAILURE),
        FindingKind::Uninitialised { .. }
        | FindingKind::BarrierDivergence { .. }
        | FindingKind::SharedRace { .. }
        | FindingKind::GlobalRace { .. }
        | FindingKind::InvalidMembers { .. }
        | FindingKind::PartOfWarp { .. }
        | FindingKind::UnevenOperands
        | FindingKind::InFlight { .. }
        | FindingKind::Mbarrier { .. } => None,
    }
}

impl Device for VmDevice {
    fn properties(&self) -> Properties {
        Properties {
            name: "PTX virtual machine".into(),
            capability: self.capability(),
            memory: TOTAL,
            multiprocessors: 16,
            real_time: false,
        }
    }

    fn load(&mut self, fat_binary: &[u8]) -> Answer<u64> {
        let (major, minor) = self.capability();
        let newest = major * 10 + minor;
        let ptx = fatbin::ptx(fat_binary, newest).map_err(|_| CudaError::NO_KERNEL_IMAGE)?;
        let module = Module::load(&ptx).map_err(|_| CudaError::INVALID_PTX)?;
        self.modules.push(Arc::new(module));
        self.targets.push(fatbin::target(&ptx).unwrap_or(newest));
        self.ptx.push(if self.profiles.is_some() { ptx } else { String::new() });
        Ok(self.modules.len() as u64 - 1)
    }

    fn alloc(&mut self, bytes: u64) -> Answer<u64> {
        self.allocate(bytes, |memory, init| memory.alloc(init, Access::ReadWrite))
    }

    fn alloc_shared(&mut self, bytes: u64) -> Answer<u64> {
        self.allocate(bytes, |memory, init| {
            let shared = memory.alloc_shared(init.clone(), Access::ReadWrite);
            // Few are too large for that; the first ones of all get a low address as well.
            shared.unwrap_or_else(|| memory.alloc(init, Access::ReadWrite))
        })
    }

    fn free(&mut self, address: u64) -> Answer<()> {
        let bytes = self.memory.locate(address).map_or(0, |(id, _)| self.memory.size(id));
        self.memory.free(address).map_err(outside)?;
        self.used -= bytes as u64;
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Answer<()> {
        self.memory.write(address, bytes).map_err(outside)
    }

    fn read(&mut self, address: u64, bytes: u64) -> Answer<Vec<u8>> {
        let bytes = usize::try_from(bytes).map_err(|_| CudaError::INVALID_VALUE)?;
        self.memory.read(address, bytes).map_err(outside)
    }

    fn fill(&mut self, address: u64, bytes: u64, value: u8) -> Answer<()> {
        // Looks at the range before it makes the bytes, which a wrong count could make too many.
        self.check(address, bytes)?;
        self.memory.write(address, &vec![value; bytes as usize]).map_err(outside)
    }

    fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Answer<()> {
        self.check(from, bytes)?;
        self.memory.copy(to, from, bytes as usize).map_err(outside)
    }

    fn symbol(&mut self, module: u64, name: &str) -> Answer<(Option<u64>, u64)> {
        let module = Arc::clone(self.module(module)?);
        if let Some((_, size)) = module.constant(name) {
            return Ok((None, size as u64));
        }
        let found = self.memory.variable(&module, name);
        found.map(|(address, size)| (Some(address), size as u64)).ok_or(CudaError::INVALID_SYMBOL)
    }

    fn write_symbol(&mut self, module: u64, name: &str, offset: u64, bytes: &[u8]) -> Answer<()> {
        let (address, size) = self.symbol(module, name)?;
        let end = offset.checked_add(bytes.len() as u64);
        end.filter(|&end| end <= size).ok_or(CudaError::INVALID_VALUE)?;
        if let Some(address) = address {
            return self.write(address + offset, bytes);
        }
        // Nobody else holds the module while no launch runs.
        let module = self.modules.get_mut(module as usize).and_then(Arc::get_mut);
        let written = module.is_some_and(|m| m.write_constant(name, offset as usize, bytes));
        if written { Ok(()) } else { Err(CudaError::INVALID_VALUE) }
    }

    fn read_symbol(&mut self, module: u64, name: &str, offset: u64, bytes: u64) -> Answer<Vec<u8>> {
        let (address, size) = self.symbol(module, name)?;
        let end = offset.checked_add(bytes);
        end.filter(|&end| end <= size).ok_or(CudaError::INVALID_VALUE)?;
        if let Some(address) = address {
            return self.read(address + offset, bytes);
        }
        let module = self.module(module)?;
        let read = module.read_constant(name, offset as usize, bytes as usize);
        read.ok_or(CudaError::INVALID_VALUE)
    }

    fn kernel(&self, module: u64, name: &str) -> Answer<KernelInfo> {
        let (_, kernel) = self.find(module, name)?;
        let advice = self.advice.as_ref().map_or(String::new(), |advice| format!("; {advice}"));
        let refusal = kernel.refusal().map(|error| match &error.source_loc {
            Some(place) => format!("{}:{}: {}{advice}", place.file, place.line, error.message),
            None => format!("{error}{advice}"),
        });
        Ok(KernelInfo {
            params: kernel.params().iter().map(|param| param.size as u32).collect(),
            shared: kernel.static_shared(),
            registers: REGISTERS,
            ptx_version: self.targets.get(module as usize).copied().unwrap_or_default(),
            refusal,
        })
    }

    fn launch(&mut self, launch: &Launch, params: &[u8]) -> Answer<(Launched, String)> {
        let (module, kernel) = self.find(launch.module, &launch.kernel)?;
        let start = ptxvm::Launch {
            grid: launch.grid,
            block: launch.block,
            dynamic_shared: launch.shared,
            params: split(kernel, params)?,
        };
        // Borrowed anew, because the memory is borrowed too.
        let kernel = module.kernel(&launch.kernel).ok_or(CudaError::INVALID_DEVICE_FUNCTION)?;
        let options = Options { cooperative: launch.cooperative, ..self.options.clone() };
        let memory = &mut self.memory;
        let outcome = if let Some(profiles) = &mut self.profiles {
            ptxvm::launch_profiled(&module, kernel, &start, memory, &options).map(
                |(outcome, counters)| {
                    profiles.add(launch, &counters);
                    outcome
                },
            )
        } else {
            ptxvm::launch(&module, kernel, &start, memory, &options)
        };
        let outcome = outcome.map_err(|error| match error {
            // What else could be wrong with it?
            LaunchError::Configuration(_)
                if launch.cooperative && limits::possible(launch.grid, launch.block) =>
            {
                CudaError::COOPERATIVE_LAUNCH_TOO_LARGE
            }
            // CUDA 13 on an H200; older runtimes had a code of its own for a wrong configuration.
            LaunchError::Configuration(_) | LaunchError::Parameters(_) => CudaError::INVALID_VALUE,
            LaunchError::Refused(_) => CudaError::NOT_SUPPORTED,
        })?;
        self.clock +=
            LAUNCH_NANOSECONDS + outcome.lane_instructions / LANE_INSTRUCTIONS_PER_NANOSECOND;
        let fault = outcome.findings.iter().find_map(|finding| fault(&finding.kind));
        let room = MAX_FINDINGS.saturating_sub(self.findings.len());
        let number = self.launches;
        self.findings.extend(outcome.findings.into_iter().take(room).map(|finding| {
            LaunchFinding { launch: number, kernel: launch.kernel.clone(), finding }
        }));
        self.launches += 1;
        Ok((Launched { clock: self.clock, fault }, outcome.printed))
    }

    fn resize_heap(&mut self, bytes: u64) -> Answer<()> {
        if bytes > TOTAL {
            return Err(CudaError::MEMORY_ALLOCATION);
        }
        if self.memory.resize_heap(bytes) { Ok(()) } else { Err(CudaError::INVALID_VALUE) }
    }

    fn memory(&self) -> (u64, u64) {
        (TOTAL - self.used, TOTAL)
    }
}

/// Registers of a thread: ptxas would know, the machine has none. Enough for 2048 threads of a multiprocessor.
const REGISTERS: u32 = 32;

impl VmDevice {
    /// Do so many bytes lie inside one buffer?
    fn check(&self, address: u64, bytes: u64) -> Answer<()> {
        let inside = self.memory.locate(address).is_some_and(|(id, offset)| {
            let end = u64::try_from(offset).ok().and_then(|start| start.checked_add(bytes));
            end.is_some_and(|end| end <= self.memory.size(id) as u64)
        });
        if inside { Ok(()) } else { Err(CudaError::INVALID_VALUE) }
    }
}
