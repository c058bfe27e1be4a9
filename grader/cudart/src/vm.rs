//! The PTX virtual machine as a device.

mod images;
mod profile;
mod shared_modules;

pub use profile::KernelProfile;
pub use shared_modules::SharedModules;

use crate::device::{
    AccessedRange, Answer, Code, Device, Due, ErrorText, KernelInfo, Launch, Launched, Limit,
    MemoryInfo, OrderStep, Properties, Symbol,
};
use crate::device_runtime::Transfer;
use crate::error::CudaError;
use crate::fatbin;
use crate::frame::Bytes;
use crate::images::{ArrayShape, ImageObjectDesc, Region};
use crate::order::{Call, Side, StreamOrder, StreamRace};
use images::Arrays;
use profile::Profiles;
use ptxvm::finding::{Check, Fault};
use ptxvm::{
    Access, BufferId, ChildLaunch, Finding, FindingKind, HostFault, Init, Kernel, LaunchError,
    Memory, Module, Options, ParamType, Touch, TouchedBytes, Unwritten,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The compute capability that the device reports by default: the newest one whose PTX the machine runs.
const CAPABILITY: (u32, u32) = (9, 0);
/// The size of global memory in bytes.
const TOTAL: u64 = 8 << 30;
/// Bytes of the variables of all modules: they are memory of this machine.
const VARIABLES: u64 = 1 << 30;
/// The time of a launch on the simulated clock in nanoseconds, in addition to its instructions.
const LAUNCH_NANOSECONDS: u64 = 2_000;
/// The instructions of lanes per simulated nanosecond, about those of a mid-range GPU.
const LANE_INSTRUCTIONS_PER_NANOSECOND: u64 = 1_000;
/// The largest number of findings that are kept; a program with more repeats the same mistake.
const MAX_FINDINGS: usize = 256;
/// The version of CUDA that the machine implements: 13.0.
const CUDA_VERSION: u32 = 13_000;
/// The default limits (CUDA C++ Programming Guide; those of the L2 cache, which the machine does not have, are an H200's).
const LIMITS: [(Limit, u64); 6] = [
    (Limit::StackSize, 1 << 10),
    (Limit::PrintfFifoSize, 1 << 20),
    (Limit::MallocHeapSize, ptxvm::HEAP_SIZE),
    (Limit::DevRuntimePendingLaunchCount, 2048),
    (Limit::MaxL2FetchGranularity, 64),
    (Limit::PersistingL2CacheSize, 11_796_480),
];

/// A finding of the checks in one launch.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchFinding {
    /// The number of the launch, from 0.
    pub launch: usize,
    /// The name of the kernel in the PTX.
    pub kernel: String,
    /// The finding: what is wrong, where, and in which thread.
    pub finding: Finding,
}

/// A virtual device with its memory and its modules.
#[derive(Debug, Default)]
pub struct VmDevice {
    memory: Memory,
    /// The modules by number; `None` for one that was unloaded.
    modules: Vec<Option<Loaded>>,
    shared: SharedModules,
    /// Those of its modules that it shares.
    taken: Vec<Arc<Module>>,
    /// Why the last module that could not be loaded was not.
    load_error: String,
    profiles: Option<Profiles>,
    /// The PTX of the modules that were loaded while launches are counted, by number, also of those that were unloaded.
    counted: BTreeMap<u64, String>,
    arrays: Arrays,
    /// The limits that a program has set.
    limits: BTreeMap<Limit, u64>,
    /// The compute capability that it reports; `None` means [`CAPABILITY`].
    capability: Option<(u32, u32)>,
    /// What the user can do about a kernel that it cannot run.
    advice: Option<String>,
    options: Options,
    used: u64,
    /// Bytes of the variables of all modules.
    variables: u64,
    /// The constants that programs have asked the addresses of, by these.
    constants: BTreeMap<u64, AddressedConstant>,
    clock: u64,
    launches: usize,
    /// The kernels of launches that were refused before they came here.
    not_started: Vec<String>,
    /// What was freed: bytes, and how many kernels had been launched before.
    freed: BTreeMap<BufferId, (usize, usize)>,
    findings: Vec<LaunchFinding>,
    order: StreamOrder,
    /// Whether programs are to do work in streams as late as their own order allows.
    late: bool,
    /// Why the last launch was refused, if it was.
    refused: Option<LaunchError>,
}

/// A constant that copies may name by its address.
#[derive(Clone, Debug)]
struct AddressedConstant {
    module: u64,
    name: String,
    bytes: u64,
}

/// A module on the device.
#[derive(Debug)]
struct Loaded {
    module: Arc<Module>,
    /// The architecture of its PTX.
    target: u32,
}

impl VmDevice {
    /// A device whose launches have these options.
    pub fn new(options: Options) -> Self {
        Self { options, ..Self::default() }
    }

    /// Sets what memory holds before anything writes it. The device has no memory yet.
    #[must_use]
    pub fn with_unwritten(self, unwritten: Unwritten) -> Self {
        Self { memory: Memory::holding(unwritten), ..self }
    }

    /// Sets the compute capability that it reports. A program chooses its kernels by it, so it must be the one for
    /// which the program was compiled.
    pub fn claim(&mut self, capability: (u32, u32)) {
        self.capability = Some(capability);
    }

    /// Sets the advice that is added to the message about a kernel that it cannot run.
    pub fn advise(&mut self, advice: impl Into<String>) {
        self.advice = Some(advice.into());
    }

    fn capability(&self) -> (u32, u32) {
        self.capability.unwrap_or(CAPABILITY)
    }

    /// Makes it count launches, which are slower but otherwise the same.
    pub fn profile(&mut self) {
        self.profiles = Some(Profiles::default());
    }

    /// The costs of each kernel, in the order of first launches; empty unless launches [are counted](Self::profile).
    pub fn profiles(&self) -> &[KernelProfile] {
        self.profiles.as_ref().map_or(&[], |profiles| &profiles.0)
    }

    /// The PTX of a module that was loaded while launches are counted.
    pub fn ptx(&self, module: u64) -> Option<&str> {
        self.counted.get(&module).map(String::as_str)
    }

    /// Makes it take modules from those that other devices have loaded, and leave its own for them.
    pub fn share(&mut self, modules: SharedModules) {
        self.shared = modules;
    }

    /// Adds a module that is already loaded, and returns its number.
    pub fn add(&mut self, module: Arc<Module>) -> u64 {
        let (major, minor) = self.capability();
        self.modules.push(Some(Loaded { module, target: major * 10 + minor }));
        self.modules.len() as u64 - 1
    }

    /// Runs a launch with `run`, which takes the module, its kernel, the launch, the device's memory and the options.
    ///
    /// # Errors
    /// There is no such kernel; the inner error is that of `run`.
    pub fn launch_by<T>(
        &mut self,
        launch: Launch,
        run: impl FnOnce(&Module, &Kernel, &ptxvm::Launch, &mut Memory, &Options) -> T,
    ) -> Answer<T> {
        let module = Arc::clone(&self.find(launch.module, &launch.kernel)?.0.module);
        // Found anew, because the memory is borrowed too.
        let kernel = module.kernel(&launch.kernel).ok_or(CudaError::INVALID_DEVICE_FUNCTION)?;
        let Launch { grid, block, shared, cooperative, cluster, params, .. } = launch;
        let start = ptxvm::Launch { grid, block, dynamic_shared: shared, params };
        let touched = self.order.matters();
        let options = Options { cooperative, cluster, touched, ..self.options.clone() };
        Ok(run(&module, kernel, &start, &mut self.memory, &options))
    }

    /// Why the last launch was refused, if it was.
    pub fn refused(&self) -> Option<&LaunchError> {
        self.refused.as_ref()
    }

    /// The findings of all launches, in their order. A read of what nothing has written is none of its own if the kernel that writes it
    /// only comes later here because nothing orders the two.
    pub fn launch_findings(&self) -> impl Iterator<Item = &LaunchFinding> {
        self.findings.iter().filter(|found| {
            let FindingKind::Uninitialised(read) = &found.finding.kind else { return true };
            let reads = |side: &Side| {
                !side.writes && matches!(&side.call, Call::Kernel(name) if *name == found.kernel)
            };
            let of =
                |race: &StreamRace| read.place.is_some_and(|(buffer, _)| buffer == race.buffer);
            !self.races().iter().any(|race| of(race) && race.sides.iter().any(reads))
        })
    }

    /// Follows launches from the first one on, since the program will have more than one stream. Else they are followed once there is
    /// one.
    pub fn expect_streams(&mut self) {
        self.order.expect_streams();
    }

    /// Has programs that create streams do their work as late as their own order allows, and what was issued last first where they
    /// leave a choice: so that one which forgets to wait gets a wrong result.
    pub fn delay_streams(&mut self) {
        self.late = true;
    }

    /// The work of the program that nothing orders, though it accesses the same memory.
    pub fn races(&self) -> &[StreamRace] {
        self.order.races()
    }

    /// The bytes that a range accesses, in terms of buffers; `None` if it lies in none.
    fn accessed(&self, range: &AccessedRange) -> Option<TouchedBytes> {
        let AccessedRange { address, bytes, writes } = *range;
        self.check(address, bytes).ok()?;
        let (buffer, offset) = self.memory.locate(address)?;
        let start = u64::try_from(offset).ok()?;
        let touch = if writes { Touch::Write } else { Touch::Read };
        Some(TouchedBytes {
            buffer,
            touch,
            ranges: std::iter::once(start..start + bytes).collect(),
        })
    }

    /// The device's memory, from which to read names of buffers and results.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The device's memory, into which inputs can be written before a program runs.
    pub fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// The kernels of launches that were refused before they came here, in their order.
    pub fn refused_kernels(&self) -> &[String] {
        &self.not_started
    }

    /// The bytes that a buffer had during a launch; 0 if it was freed before.
    pub fn size_during(&self, launch: usize, buffer: BufferId) -> usize {
        match self.freed.get(&buffer) {
            Some(&(bytes, launches)) if launch < launches => bytes,
            _ => self.memory.size(buffer),
        }
    }

    /// The number of launches so far.
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

    fn loaded(&self, module: u64) -> Answer<&Loaded> {
        let found =
            usize::try_from(module).ok().and_then(|index| self.modules.get(index)?.as_ref());
        found.ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }

    fn loaded_mut(&mut self, module: u64) -> Answer<&mut Option<Loaded>> {
        let found = usize::try_from(module).ok().and_then(|index| self.modules.get_mut(index));
        found.filter(|loaded| loaded.is_some()).ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }

    fn find(&self, module: u64, name: &str) -> Answer<(&Loaded, &Kernel)> {
        let loaded = self.loaded(module)?;
        let kernel = loaded.module.kernel(name).ok_or(CudaError::INVALID_DEVICE_FUNCTION)?;
        Ok((loaded, kernel))
    }

    /// Checks that the range is inside one buffer.
    fn check(&self, address: u64, bytes: u64) -> Answer<()> {
        let inside = self.memory.locate(address).is_some_and(|(id, offset)| {
            let end = u64::try_from(offset).ok().and_then(|start| start.checked_add(bytes));
            end.is_some_and(|end| end <= self.memory.size(id) as u64)
        });
        if inside { Ok(()) } else { Err(CudaError::INVALID_VALUE) }
    }

    /// The address by which copies may name a constant: that which kernels of its module see. Kernels of several modules see theirs at
    /// the same addresses, so only one of them has any.
    fn give_constant_an_address(&mut self, module: u64, name: &str, bytes: u64) -> Option<u64> {
        let address = self.loaded(module).ok()?.module.constant_address(name)?;
        let others = std::mem::take(&mut self.constants);
        self.constants =
            others.into_iter().filter(|(_, of)| self.loaded(of.module).is_ok()).collect();
        if self.constants.values().any(|of| of.module != module) {
            return None;
        }
        let name = name.to_owned();
        self.constants.insert(address, AddressedConstant { module, name, bytes });
        Some(address)
    }

    /// The constant that holds so many bytes at an address, and where they begin in it.
    fn constant_at(&self, address: u64, bytes: u64) -> Option<(AddressedConstant, u64)> {
        let (start, constant) = self.constants.range(..=address).next_back()?;
        let offset = address - start;
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= constant.bytes);
        (inside && self.memory.locate(address).is_none()).then(|| (constant.clone(), offset))
    }

    /// The address of the `bytes` bytes at `offset` of a variable; `None` for a constant.
    fn part_of(&mut self, module: u64, name: &str, offset: u64, bytes: u64) -> Answer<Option<u64>> {
        let symbol = self.symbol(module, name)?;
        let end = offset.checked_add(bytes);
        end.filter(|&end| end <= symbol.bytes).ok_or(CudaError::INVALID_VALUE)?;
        Ok(symbol.address.map(|address| address + offset))
    }
}

/// The local memory that a thread may have (CUDA C++ Programming Guide, "Compute Capabilities").
const MOST_STACK: u64 = 512 << 10;
/// The deepest launch from kernels (CUDA C++ Programming Guide, "Dynamic Parallelism").
const DEEPEST: u32 = 24;
/// What a launch below it ends with.
const TOO_DEEP: CudaError = CudaError::LAUNCH_MAX_DEPTH_EXCEEDED;

impl VmDevice {
    /// Copies or fills for a kernel. An address that is not in memory stops it like the access of a kernel.
    fn transfer(&mut self, launch: &Launch, transfer: &Transfer) -> Answer<()> {
        let &Transfer { to, pitch, from, width, height } = transfer;
        let row = |start: u64, pitch: u64, row: u64| start.wrapping_add(row.wrapping_mul(pitch));
        for at in 0..if width == 0 { 0 } else { height } {
            let to = row(to, pitch, at);
            let done = match from {
                Ok((from, pitch)) => self.copy(to, row(from, pitch, at), width),
                Err(value) => self.fill(to, width, value),
            };
            done.map_err(|_| CudaError::ILLEGAL_ADDRESS)?;
            let read = from.ok().map(|(from, pitch)| (row(from, pitch, at), false));
            let accesses = read.into_iter().chain([(to, true)]);
            let accesses = accesses.filter_map(|(address, writes)| {
                self.accessed(&AccessedRange { address, bytes: width, writes })
            });
            let accesses: Vec<TouchedBytes> = accesses.collect();
            let call = Call::Function(launch.kernel.clone());
            self.order.issue_below(call, &accesses, |id| self.memory.size(id));
        }
        Ok(())
    }

    /// Runs one kernel, without what it launches. `below`: whether a kernel has launched it.
    fn launch_one(&mut self, launch: &Launch, below: bool) -> Answer<(Launched, Vec<ChildLaunch>)> {
        let counts = self.profiles.is_some();
        let outcome =
            self.launch_by(launch.clone(), |module, kernel, start, memory, options| {
                if counts {
                    let both = ptxvm::launch_profiled(module, kernel, start, memory, options);
                    both.map(|(outcome, counters)| (outcome, Some(counters)))
                } else {
                    ptxvm::launch(module, kernel, start, memory, options)
                        .map(|outcome| (outcome, None))
                }
            })?;
        let found = self.find(launch.module, &launch.kernel);
        let clustered = found.is_ok_and(|(_, kernel)| kernel.cluster().is_some());
        let (outcome, counters) = outcome.map_err(|error| {
            let code = refusal(&error, launch, clustered);
            self.refused = Some(error);
            code
        })?;
        if let (Some(profiles), Some(counters)) = (&mut self.profiles, counters) {
            profiles.add(launch, &counters);
        }
        self.clock +=
            LAUNCH_NANOSECONDS + outcome.lane_instructions / LANE_INSTRUCTIONS_PER_NANOSECOND;
        let call = Call::Kernel(launch.kernel.clone());
        let size = |id| self.memory.size(id);
        if below {
            self.order.issue_below(call, &outcome.touched, size);
        } else {
            self.order.issue(launch.stream, call, &outcome.touched, size);
        }
        let fault = outcome.findings.iter().find_map(|finding| finding.kind.fault()).map(error_of);
        let complete = !outcome.findings.iter().any(|finding| finding.kind.ends_launch());
        let room = MAX_FINDINGS.saturating_sub(self.findings.len());
        let number = self.launches;
        self.findings.extend(outcome.findings.into_iter().take(room).map(|finding| {
            LaunchFinding { launch: number, kernel: launch.kernel.clone(), finding }
        }));
        self.launches += 1;
        let prints = self.find(launch.module, &launch.kernel)?.1.prints();
        let followed = self.order.matters();
        let printed = outcome.printed;
        let ended = Launched { clock: self.clock, fault, complete, printed, prints, followed };
        Ok((ended, outcome.children))
    }
}

fn outside(fault: HostFault) -> CudaError {
    match fault {
        HostFault::OutOfBounds | HostFault::Freed => CudaError::INVALID_VALUE,
    }
}

/// The error that a GPU returns for a launch that cannot start.
fn refusal(error: &LaunchError, launch: &Launch, clustered: bool) -> CudaError {
    match error {
        // No other reason is likely.
        LaunchError::Configuration(_)
            if launch.cooperative && hardware::can_launch(launch.grid, launch.block) =>
        {
            CudaError::COOPERATIVE_LAUNCH_TOO_LARGE
        }
        LaunchError::Configuration(_)
            if (clustered || launch.cluster.is_some())
                && hardware::can_launch(launch.grid, launch.block) =>
        {
            CudaError::INVALID_CLUSTER_SIZE
        }
        // As CUDA 13 on an H200; older runtimes had a separate code for an invalid configuration.
        LaunchError::Configuration(_) | LaunchError::Parameters(_) => CudaError::INVALID_VALUE,
        LaunchError::Refused(_) => CudaError::NOT_SUPPORTED,
    }
}

/// Where each parameter begins in a buffer of all: at the next place that has its alignment.
fn starts(params: &[ParamType]) -> Vec<u32> {
    let mut end = 0;
    let start = |param: &ParamType| {
        let start = (end as usize).next_multiple_of(param.align.max(1));
        end = (start + param.size) as u32;
        start as u32
    };
    params.iter().map(start).collect()
}

/// The error by which CUDA reports how a GPU stopped a kernel.
fn error_of(fault: Fault) -> CudaError {
    match fault {
        Fault::IllegalAddress => CudaError::ILLEGAL_ADDRESS,
        Fault::MisalignedAddress => CudaError::MISALIGNED_ADDRESS,
        Fault::StackOverflow => CudaError::HARDWARE_STACK,
        Fault::InvalidPc => CudaError::INVALID_PC,
        Fault::Timeout => CudaError::LAUNCH_TIMEOUT,
        Fault::Assert => CudaError::ASSERT,
        Fault::LaunchFailure => CudaError::LAUNCH_FAILURE,
    }
}

impl Device for VmDevice {
    fn properties(&mut self) -> Answer<Properties> {
        Ok(Properties {
            name: "PTX virtual machine".into(),
            capability: self.capability(),
            driver_version: CUDA_VERSION,
            memory: TOTAL,
            multiprocessors: 16,
            real_time: false,
            late: self.late,
        })
    }

    fn load(&mut self, code: Code<'_>) -> Answer<u64> {
        let (major, minor) = self.capability();
        let module = self.shared.load(code.ptx, &mut self.taken);
        let module = module.map_err(|error| {
            self.load_error = error.to_string();
            CudaError::INVALID_PTX
        })?;
        let variables = self.variables + module.global_bytes();
        if variables > VARIABLES {
            return Err(CudaError::MEMORY_ALLOCATION);
        }
        self.variables = variables;
        let target = fatbin::target(code.ptx).unwrap_or(major * 10 + minor);
        if self.profiles.is_some() {
            self.counted.insert(self.modules.len() as u64, code.ptx.to_owned());
        }
        self.modules.push(Some(Loaded { module, target }));
        Ok(self.modules.len() as u64 - 1)
    }

    fn load_error(&mut self) -> Answer<String> {
        Ok(self.load_error.clone())
    }

    fn unload(&mut self, module: u64) -> Answer<()> {
        self.loaded_mut(module)?.take();
        Ok(())
    }

    fn alloc(&mut self, bytes: u64) -> Answer<u64> {
        self.allocate(bytes, |memory, init| memory.alloc(init, Access::ReadWrite))
    }

    fn alloc_managed(&mut self, bytes: u64) -> Answer<u64> {
        self.allocate(bytes, |memory, init| {
            let shared = memory.alloc_shared(init.clone(), Access::ReadWrite);
            // Few are too large for that; the first allocations of all get a low address too.
            shared.unwrap_or_else(|| memory.alloc(init, Access::ReadWrite))
        })
    }

    fn reserve(&mut self) -> Answer<u64> {
        self.alloc(0)
    }

    fn resize(&mut self, address: u64, bytes: u64) -> Answer<()> {
        let (id, _) = self.memory.locate(address).ok_or(CudaError::INVALID_VALUE)?;
        let others = self.used - self.memory.size(id) as u64;
        let used = others.checked_add(bytes).filter(|&used| used <= TOTAL);
        let used = used.ok_or(CudaError::MEMORY_ALLOCATION)?;
        let len = usize::try_from(bytes).map_err(|_| CudaError::MEMORY_ALLOCATION)?;
        self.memory.resize(address, len).map_err(outside)?;
        self.used = used;
        Ok(())
    }

    fn free(&mut self, address: u64) -> Answer<()> {
        let freed = self.memory.locate(address).map(|(id, _)| (id, self.memory.size(id)));
        self.memory.free(address).map_err(outside)?;
        let bytes = freed.map_or(0, |(_, bytes)| bytes);
        if let Some((id, bytes)) = freed {
            self.freed.insert(id, (bytes, self.launches));
        }
        self.used -= bytes as u64;
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: Bytes<&[u8]>) -> Answer<()> {
        if let Some((of, offset)) = self.constant_at(address, bytes.0.len() as u64) {
            return self.write_symbol(of.module, &of.name, offset, bytes);
        }
        self.memory.write(address, bytes.0).map_err(outside)
    }

    fn read(&mut self, address: u64, bytes: u64) -> Answer<Bytes<Vec<u8>>> {
        if let Some((of, offset)) = self.constant_at(address, bytes) {
            return self.read_symbol(of.module, &of.name, offset, bytes);
        }
        let bytes = usize::try_from(bytes).map_err(|_| CudaError::INVALID_VALUE)?;
        self.memory.read(address, bytes).map(Bytes).map_err(outside)
    }

    fn fill(&mut self, address: u64, bytes: u64, value: u8) -> Answer<()> {
        // Checks the range before it allocates the bytes, because a wrong count could be huge.
        if self.constant_at(address, bytes).is_none() {
            self.check(address, bytes)?;
        }
        self.write(address, Bytes(&vec![value; bytes as usize]))
    }

    fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Answer<()> {
        if [to, from].iter().any(|&end| self.constant_at(end, bytes).is_some()) {
            let body = self.read(from, bytes)?.0;
            return self.write(to, Bytes(&body));
        }
        self.check(from, bytes)?;
        self.memory.copy(to, from, bytes as usize).map_err(outside)
    }

    fn symbol(&mut self, number: u64, name: &str) -> Answer<Symbol> {
        let module = Arc::clone(&self.loaded(number)?.module);
        if let Some((_, size)) = module.constant(name) {
            let constant_address = self.give_constant_an_address(number, name, size as u64);
            return Ok(Symbol { address: None, constant_address, bytes: size as u64 });
        }
        let (address, size) =
            module.variable(&mut self.memory, name).ok_or(CudaError::INVALID_SYMBOL)?;
        Ok(Symbol { address: Some(address), constant_address: None, bytes: size as u64 })
    }

    fn write_symbol(
        &mut self,
        module: u64,
        name: &str,
        offset: u64,
        bytes: Bytes<&[u8]>,
    ) -> Answer<()> {
        if let Some(address) = self.part_of(module, name, offset, bytes.0.len() as u64)? {
            return self.write(address, bytes);
        }
        // A module that other devices share gets constants of its own here.
        let loaded = self.loaded_mut(module)?.as_mut();
        let module = loaded.map(|loaded| Arc::make_mut(&mut loaded.module));
        let written = module.is_some_and(|m| m.write_constant(name, offset as usize, bytes.0));
        if written { Ok(()) } else { Err(CudaError::INVALID_VALUE) }
    }

    fn read_symbol(
        &mut self,
        module: u64,
        name: &str,
        offset: u64,
        bytes: u64,
    ) -> Answer<Bytes<Vec<u8>>> {
        if let Some(address) = self.part_of(module, name, offset, bytes)? {
            return self.read(address, bytes);
        }
        let module = &self.loaded(module)?.module;
        let read = module.read_constant(name, offset as usize, bytes as usize);
        read.map(Bytes).ok_or(CudaError::INVALID_VALUE)
    }

    fn kernel(&mut self, module: u64, name: &str) -> Answer<KernelInfo> {
        let (loaded, kernel) = self.find(module, name)?;
        let advice = self.advice.as_ref().map_or(String::new(), |advice| format!("; {advice}"));
        let refusal = kernel.refusal().map(|error| match &error.source_loc {
            Some(place) => format!("{}:{}: {}{advice}", place.file, place.line, error.message),
            None => format!("{error}{advice}"),
        });
        Ok(KernelInfo {
            params: kernel.params().iter().map(|param| param.size as u32).collect(),
            param_starts: Some(starts(kernel.params())),
            shared: kernel.static_shared(),
            constant: loaded.module.constant_bytes() as u32,
            max_threads: kernel.max_threads(),
            registers: REGISTERS,
            ptx_version: loaded.target,
            cluster: kernel.cluster(),
            refusal,
        })
    }

    fn launch(&mut self, launch: Launch) -> Answer<Launched> {
        let (module, stream) = (launch.module, launch.stream);
        let (mut all, children) = self.launch_one(&launch, false)?;
        // What is to run next is the last. A launch ends when those that it made have ended, so they run before its next sibling.
        let mut waiting: Vec<(u32, ChildLaunch)> = Vec::new();
        waiting.extend(children.into_iter().rev().map(|child| (1, child)));
        while let Some((depth, child)) = waiting.pop().filter(|_| all.complete) {
            let ChildLaunch { kernel, grid, block, shared, params, .. } = child;
            let launch =
                Launch { module, kernel, grid, block, shared, params, stream, ..Launch::default() };
            let transfer = Transfer::of(&launch.kernel, &launch.params);
            let ended = match transfer {
                Some(transfer) => transfer
                    .and_then(|transfer| self.transfer(&launch, &transfer))
                    .map(|()| (Launched { printed: String::new(), ..all.clone() }, Vec::new())),
                None if depth > DEEPEST => Err(TOO_DEEP),
                None => self.launch_one(&launch, true),
            };
            let (ended, children) = ended.unwrap_or_else(|error| {
                self.not_started.push(launch.kernel);
                let failed = Launched { fault: Some(error), complete: false, ..all.clone() };
                (Launched { printed: String::new(), ..failed }, Vec::new())
            });
            all = Launched {
                printed: all.printed + &ended.printed,
                prints: all.prints | ended.prints,
                fault: all.fault.or(ended.fault),
                ..ended
            };
            // What waits for the end of its parent's launches is not below it.
            let below = |child: ChildLaunch| (depth + u32::from(!child.last), child);
            waiting.extend(children.into_iter().rev().map(below));
        }
        Ok(all)
    }

    fn create_array(&mut self, shape: ArrayShape) -> Answer<u64> {
        self.make_array(&shape)
    }

    fn free_array(&mut self, array: u64) -> Answer<()> {
        self.drop_array(array)
    }

    fn array_level(&mut self, array: u64, level: u32) -> Answer<u64> {
        self.level_of(array, level)
    }

    fn write_region(&mut self, to: Region, extent: [u64; 3], bytes: Bytes<&[u8]>) -> Answer<()> {
        self.write_rows(to, extent, bytes.0)
    }

    fn read_region(&mut self, from: Region, extent: [u64; 3]) -> Answer<Bytes<Vec<u8>>> {
        self.read_rows(from, extent).map(Bytes)
    }

    fn copy_region(&mut self, to: Region, from: Region, extent: [u64; 3]) -> Answer<()> {
        self.copy_rows(to, from, extent)
    }

    fn create_image_object(&mut self, object: ImageObjectDesc) -> Answer<u64> {
        self.make_object(&object)
    }

    fn destroy_image_object(&mut self, handle: u64, _texture: bool) -> Answer<()> {
        self.memory.destroy_image_object(handle);
        Ok(())
    }

    fn order(&mut self, steps: Vec<OrderStep>) -> Answer<()> {
        for step in steps {
            match step {
                OrderStep::Create { stream, kind } => self.order.create(stream, kind),
                OrderStep::Destroy { handle } => self.order.destroy(handle),
                OrderStep::Record { event, stream } => self.order.record(event, stream),
                OrderStep::Wait { stream, event } => self.order.wait(stream, event),
                OrderStep::Synchronise(awaited) => self.order.synchronise(awaited),
                OrderStep::Work { stream, call, accesses } => {
                    let accessed: Vec<TouchedBytes> =
                        accesses.iter().filter_map(|range| self.accessed(range)).collect();
                    let call = Call::Function(call);
                    self.order.issue(stream, call, &accessed, |id| self.memory.size(id));
                }
                OrderStep::Begin { operation, stream, call, accesses } => {
                    let accessed =
                        accesses.iter().filter_map(|range| self.accessed(range)).collect();
                    self.order.begin(operation, stream, Call::Function(call), accessed);
                }
                OrderStep::Resume(operation) => self.order.resume(operation),
                OrderStep::Host(range) => {
                    if let Some(mut accessed) = self.accessed(&range) {
                        // It may be a flag that a kernel sets as well: then the host's access is a strong one too.
                        accessed.touch =
                            if range.writes { Touch::StrongWrite } else { Touch::StrongRead };
                        let size = self.memory.size(accessed.buffer);
                        self.order.host_access(&accessed, size);
                    }
                }
            }
        }
        Ok(())
    }

    fn pending(&mut self, starts: Vec<u64>) -> Answer<Vec<AccessedRange>> {
        let mut all = Vec::new();
        for start in starts {
            let (buffer, _) = self.memory.locate(start).ok_or(CudaError::INVALID_VALUE)?;
            all.extend(self.order.pending(buffer).map(|(touch, bytes)| AccessedRange {
                address: start + bytes.start,
                bytes: bytes.end - bytes.start,
                writes: touch.writes(),
            }));
        }
        Ok(all)
    }

    fn due(&mut self, due: Due) -> Answer<Vec<u64>> {
        Ok(self.order.due(due))
    }

    fn not_started(&mut self, kernel: &str) -> Answer<()> {
        self.not_started.push(kernel.to_owned());
        Ok(())
    }

    /// Sets a limit. Only the heap's size affects kernels; the machine has its own bounds for the rest.
    fn set_limit(&mut self, limit: Limit, value: u64) -> Answer<()> {
        if limit == Limit::StackSize && value > MOST_STACK {
            return Err(CudaError::INVALID_VALUE);
        }
        if limit == Limit::MallocHeapSize {
            if value > TOTAL {
                return Err(CudaError::MEMORY_ALLOCATION);
            }
            if !self.memory.resize_heap(value) {
                return Err(CudaError::INVALID_VALUE);
            }
        }
        self.limits.insert(limit, value);
        Ok(())
    }

    fn limit(&mut self, limit: Limit) -> Answer<u64> {
        let first = LIMITS.iter().find(|(known, _)| *known == limit).map(|(_, value)| value);
        self.limits.get(&limit).or(first).copied().ok_or(CudaError::UNSUPPORTED_LIMIT)
    }

    fn memory_info(&mut self) -> Answer<MemoryInfo> {
        Ok(MemoryInfo { free: TOTAL - self.used, total: TOTAL })
    }

    fn error_text(&mut self, error: CudaError) -> Answer<ErrorText> {
        Ok(error.into())
    }
}

/// The registers of a thread, which only ptxas knows: enough for 2048 threads of a multiprocessor.
const REGISTERS: u32 = 32;
