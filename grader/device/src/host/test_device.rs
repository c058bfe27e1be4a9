//! The device of a case: it holds the tensors, and does what the child's CUDA calls ask for.

use super::trail::{Before, TracedLaunch, Trail, floats};
use super::writers::{self, Followed, Writer};
use crate::backend::LaunchShape;
use crate::checked::{CheckedDevice, Contents, Placed, Step, TensorCopy, without_kernel};
use crate::finding::{Finding, HostFault, Problem};
use cudart::device::{
    AccessedRange, Answer, Code, Device, Due, ErrorText, KernelInfo, Launch, Launched, Limit,
    MemoryInfo, OrderStep, Properties, Symbol,
};
use cudart::error::CudaError;
use cudart::frame::Bytes;
use cudart::images::{ArrayShape, ImageObjectDesc, Region};
use cudart::server;
use diagnostic::Failure;
use puzzle::case::{CaseLaunch, CaseTensor};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use toolchain::FileNames;

/// Bytes of device memory that host code may take besides the tensors: they are the grader's own memory.
const MEMORY: u64 = 1 << 30;

/// An allocation takes at least so much of it.
const GRAIN: u64 = 512;

/// Files of a program have one module each; more than this is a loop.
const MODULES: usize = 64;
/// Texture and surface objects; more than this is a loop.
const OBJECTS: usize = 1 << 14;
/// Different launches that are noted, at most.
const SHAPES: usize = 6;

/// How long the device has worked so far.
#[derive(Clone, Debug, Default)]
pub struct Clock(Arc<Mutex<Work>>);

/// Work that is done, and since when something runs.
#[derive(Debug, Default)]
struct Work {
    done: Duration,
    since: Option<Instant>,
    /// The device's own clock after the last launch, in nanoseconds.
    clock: u64,
}

impl Clock {
    /// The time in which host code could only wait.
    pub fn busy(&self) -> Duration {
        let work = self.lock();
        work.done + work.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// The device's own time of all launches. That of the virtual machine is the same in every run: launches and
    /// instructions advance it.
    pub fn simulated(&self) -> Duration {
        Duration::from_nanos(self.lock().clock)
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

/// A device between two cases: it holds nothing.
#[derive(Debug)]
pub struct IdleDevice {
    device: Box<dyn CheckedDevice>,
    /// Its own clock, in nanoseconds.
    clock: u64,
}

impl IdleDevice {
    /// A device that has done nothing yet.
    pub fn new(device: impl CheckedDevice + 'static) -> Self {
        Self { device: Box::new(device), clock: 0 }
    }
}

/// A device with the tensors of a case, which hostile code may use: the tensors stay, memory and modules are bounded.
#[derive(Debug)]
pub struct TestDevice<'a> {
    device: Box<dyn CheckedDevice>,
    /// The device's own clock before this case, in nanoseconds.
    began: u64,
    placed: Placed<'a>,
    /// Threads that a launch may have; `None` for any number.
    max_threads: Option<u64>,
    clock: Clock,
    /// What host code has allocated: address and bytes.
    allocated: BTreeMap<u64, u64>,
    /// The arrays among that: number and bytes.
    arrays: BTreeMap<u64, u64>,
    /// Texture and surface objects that were made so far ...
    image_objects: usize,
    /// ... and those that still exist, with whether they are textures.
    objects: BTreeSet<(u64, bool)>,
    /// Bytes of all of them.
    used: u64,
    /// Bytes of the heap of kernels, once host code has given it a size of its own.
    heap: u64,
    /// Modules that were loaded so far ...
    modules: usize,
    /// ... and those that still are.
    loaded: BTreeSet<u64>,
    /// Something has changed that outlives memory and modules: limits, the heap of kernels, an error of the context.
    changed: bool,
    /// Threads of all launches so far.
    threads: u64,
    /// The first different launches.
    launched: Vec<LaunchShape>,
    /// The tensor of which the calls that change it are to be known.
    followed: Option<Followed>,
    /// The launches with what they are given and store, if that is to be known.
    trail: Option<Trail>,
    /// A launch of far too many threads: kernel and threads.
    flooded: Option<(String, u64)>,
    /// The connection ended in the middle of something.
    broken: bool,
}

impl<'a> TestDevice<'a> {
    /// Places the tensors that are not on the host. A launch may have so many threads, or any number.
    ///
    /// # Errors
    /// The device has no room for the tensors.
    pub fn new(
        IdleDevice { mut device, clock: began }: IdleDevice,
        (tensors, launches): (&'a [CaseTensor], &[CaseLaunch]),
        on_host: &[bool],
        max_threads: Option<u64>,
    ) -> Result<Self, Failure> {
        let placed = Placed::new(device.as_mut(), (tensors, launches), |i| !on_host[i])
            .map_err(|error| without_kernel(device.explain(Step::Place, error)))?;
        Ok(Self {
            device,
            began,
            placed,
            max_threads,
            clock: Clock::default(),
            allocated: BTreeMap::new(),
            arrays: BTreeMap::new(),
            image_objects: 0,
            objects: BTreeSet::new(),
            used: 0,
            heap: 0,
            modules: 0,
            loaded: BTreeSet::new(),
            changed: false,
            threads: 0,
            launched: Vec::new(),
            followed: None,
            trail: None,
            flooded: None,
            broken: false,
        })
    }

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

    /// Gives back what host code has left on the device, and the tensors. The device, if nothing of this case is left there.
    pub fn into_idle(mut self) -> Option<IdleDevice> {
        if self.changed || self.broken {
            return None;
        }
        let device = &mut self.device;
        let all_gone = self.loaded.into_iter().all(|module| device.unload(module).is_ok())
            && self
                .objects
                .into_iter()
                .all(|(of, texture)| device.destroy_image_object(of, texture).is_ok())
            && self.arrays.into_keys().all(|array| device.free_array(array).is_ok())
            && self.allocated.into_keys().all(|address| device.free(address).is_ok())
            && device.clear();
        let clock = self.began + self.clock.lock().clock;
        all_gone.then_some(IdleDevice { device: self.device, clock })
    }

    /// Lets the device do something, on its own time.
    fn work<T>(&mut self, what: impl FnOnce(&mut dyn Device) -> T) -> T {
        self.clock.start();
        let done = what(self.device.as_mut());
        self.clock.stop();
        done
    }

    /// From now on the calls that change a tensor are noted.
    pub fn follow(&mut self, tensor: usize) {
        self.followed = Some(Followed::new(tensor));
        self.look(None);
    }

    /// The calls that have changed the tensor that is followed, in their order.
    pub fn writers(&mut self) -> Vec<Writer> {
        self.followed.take().map(Followed::into_calls).unwrap_or_default()
    }

    /// From now on the launches are kept with what they are given and store.
    pub fn trace(&mut self) {
        self.trail = Some(Trail::default());
    }

    /// The launches that were kept, in their order, and what host code copied out of its own memory on the device.
    pub fn traced(&mut self) -> (Vec<TracedLaunch>, Vec<Vec<f32>>) {
        self.trail.take().map(Trail::into_parts).unwrap_or_default()
    }

    /// What lies in the buffers of host code that a launch is given, if the trail has room for it.
    fn before(&mut self, launch: &Launch) -> Option<Before> {
        let of = |(at, bytes): (usize, &Vec<u8>)| {
            let address = u64::from_le_bytes(bytes.as_slice().try_into().ok()?);
            let (start, size) = self.allocated.range(..=address).next_back()?;
            Some((at, address, (start + size).checked_sub(address).filter(|&size| size > 0)?))
        };
        let buffers: Vec<(usize, u64, u64)> =
            launch.params.iter().enumerate().filter_map(of).collect();
        let words: u64 = buffers.iter().map(|buffer| buffer.2 / 4).sum();
        self.trail.as_ref().filter(|trail| trail.has_room(words as usize))?;
        let read = |(at, address, size): (usize, u64, u64)| {
            let bytes = self.device.read(address, size).ok()?;
            Some((at, address, floats(&bytes.0).into()))
        };
        Some(buffers.into_iter().filter_map(read).collect())
    }

    /// Looks at the tensor that is followed after a call.
    fn look(&mut self, call: Option<Writer>) {
        let Some(mut followed) = self.followed.take() else { return };
        followed.look(self.contents(followed.tensor).tensor, call);
        self.followed = Some(followed);
    }

    /// Lets the device do something that may change the tensor that is followed.
    fn change<T>(&mut self, call: Writer, what: impl FnOnce(&mut dyn Device) -> T) -> T {
        let done = self.work(what);
        self.look(Some(call));
        done
    }

    /// Copies a tensor into the memory of another one, as the caller of the functions does between two calls. What changed that memory
    /// before tells nothing of the tensor.
    fn move_in(&mut self, to: u64, from: u64, bytes: u64) -> Answer<()> {
        self.device.copy(to, from, bytes)?;
        self.launched.clear();
        self.trail = self.trail.as_ref().map(|_| Trail::default());
        if let Some(tensor) = self.followed.as_ref().map(|followed| followed.tensor) {
            self.follow(tensor);
        }
        Ok(())
    }

    /// The copies before a call of a function, of tensors that get the memory of others then.
    pub fn copies(&self, call: &CaseLaunch) -> Vec<TensorCopy> {
        self.placed.copies(call)
    }

    /// The clock that host code is measured by.
    pub fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// Threads of all launches so far.
    pub fn threads(&self) -> u64 {
        self.threads
    }

    /// The first different launches.
    pub fn launched(&self) -> &[LaunchShape] {
        &self.launched
    }

    /// The device address of a tensor; 0 for one on the host.
    pub fn address(&self, tensor: usize) -> u64 {
        self.placed.address(tensor)
    }

    /// Serves the child until it is gone.
    pub fn serve(&mut self, stream: UnixStream) {
        // What is no request may be anything that the student's code wrote: the child is killed by the end of the
        // stream, or is gone already.
        self.broken = server::serve(stream, self).is_err();
    }

    /// What a tensor on the device holds now. After a crash a GPU gives nothing back: the finding of the crash tells why.
    pub fn contents(&mut self, tensor: usize) -> Contents {
        let contents = self.placed.contents(self.device.as_mut(), tensor);
        contents.unwrap_or_else(|_| Contents::unknown(&self.placed.tensors()[tensor]))
    }

    /// What the checks of the device found, with the paths that the compiler's names stand for, relative to a folder.
    pub fn findings(&mut self, (names, base): (&FileNames, &Path)) -> Vec<Finding> {
        let mut findings = self.device.findings(&self.placed);
        for finding in &mut findings {
            finding.kernel = cudart::source_name(&finding.kernel);
            if let Some(line) = &mut finding.line {
                let path = names.restore(&line.file);
                let path = path.canonicalize().unwrap_or(path);
                line.file = path.strip_prefix(base).unwrap_or(&path).display().to_string().into();
            }
        }
        let mut add = |fault| findings.push(Finding::of_kernel(Problem::Host(fault), ""));
        if let Some((kernel, threads)) = self.flooded.clone() {
            add(HostFault::TooManyThreads { kernel, threads });
        }
        if self.broken {
            add(HostFault::Disconnected);
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

    /// What the device itself wrote on standard error.
    pub fn log(&mut self) -> String {
        self.device.log()
    }
}

/// As the device inside, with bounds and a clock.
impl Device for TestDevice<'_> {
    fn properties(&mut self) -> Answer<Properties> {
        self.device.properties()
    }

    /// Machine code is for kernels that the grader has compiled itself.
    fn load(&mut self, code: Code<'_>) -> Answer<u64> {
        self.modules += 1;
        if self.modules > MODULES {
            return Err(CudaError::MEMORY_ALLOCATION);
        }
        let module = self.work(|device| device.load(Code::ptx(code.ptx)))?;
        self.loaded.insert(module);
        // What kernels take from their heap stays there.
        self.changed |= code.ptx.contains("malloc");
        Ok(module)
    }

    fn load_error(&mut self) -> Answer<String> {
        self.work(|device| device.load_error())
    }

    fn unload(&mut self, module: u64) -> Answer<()> {
        self.work(|device| device.unload(module))?;
        self.loaded.remove(&module);
        Ok(())
    }

    fn alloc(&mut self, bytes: u64) -> Answer<u64> {
        self.allocate(bytes, |device| device.alloc(bytes))
    }

    fn alloc_managed(&mut self, bytes: u64) -> Answer<u64> {
        self.allocate(bytes, |device| device.alloc_managed(bytes))
    }

    fn reserve(&mut self) -> Answer<u64> {
        self.allocate(0, |device| device.reserve())
    }

    fn resize(&mut self, address: u64, bytes: u64) -> Answer<()> {
        let &before = self.allocated.get(&address).ok_or(CudaError::INVALID_VALUE)?;
        let used = (self.used - before.max(GRAIN)).saturating_add(bytes.max(GRAIN));
        if used.saturating_add(self.heap) > MEMORY {
            return Err(CudaError::MEMORY_ALLOCATION);
        }
        self.work(|device| device.resize(address, bytes))?;
        self.used = used;
        self.allocated.insert(address, bytes);
        Ok(())
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

    fn write(&mut self, address: u64, bytes: Bytes<&[u8]>) -> Answer<()> {
        self.change(Writer::Copy, |device| device.write(address, bytes))
    }

    fn read(&mut self, address: u64, bytes: u64) -> Answer<Bytes<Vec<u8>>> {
        let read = self.work(|device| device.read(address, bytes))?;
        let own = self.allocated.range(..=address).next_back();
        let is_own = own.is_some_and(|(start, size)| address < start + size);
        if let Some(trail) =
            self.trail.as_mut().filter(|trail| is_own && trail.has_room(read.0.len() / 4))
        {
            trail.add_read(floats(&read.0));
        }
        Ok(read)
    }

    fn fill(&mut self, address: u64, bytes: u64, value: u8) -> Answer<()> {
        self.change(Writer::Fill, |device| device.fill(address, bytes, value))
    }

    fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Answer<()> {
        if self.placed.is_apart(from) {
            return self.move_in(to, from, bytes);
        }
        self.change(Writer::Copy, |device| device.copy(to, from, bytes))
    }

    fn symbol(&mut self, module: u64, name: &str) -> Answer<Symbol> {
        self.device.symbol(module, name)
    }

    fn write_symbol(
        &mut self,
        module: u64,
        name: &str,
        offset: u64,
        bytes: Bytes<&[u8]>,
    ) -> Answer<()> {
        self.device.write_symbol(module, name, offset, bytes)
    }

    fn read_symbol(
        &mut self,
        module: u64,
        name: &str,
        offset: u64,
        bytes: u64,
    ) -> Answer<Bytes<Vec<u8>>> {
        self.device.read_symbol(module, name, offset, bytes)
    }

    fn kernel(&mut self, module: u64, name: &str) -> Answer<KernelInfo> {
        self.device.kernel(module, name)
    }

    fn launch(&mut self, launch: Launch) -> Answer<Launched> {
        let all = launch.grid.iter().chain(&launch.block).map(|&n| u64::from(n));
        let threads = all.fold(1, u64::saturating_mul);
        self.threads = self.threads.saturating_add(threads);
        if self.max_threads.is_some_and(|most| threads > most) {
            self.flooded = Some((cudart::source_name(&launch.kernel), threads));
            return Err(CudaError::INVALID_CONFIGURATION);
        }
        if self.launched.len() < SHAPES {
            let Launch { kernel, grid, block, .. } = &launch;
            let kernel = cudart::source_name(kernel);
            let shape = LaunchShape { kernel, grid: *grid, block: *block };
            if !self.launched.contains(&shape) {
                self.launched.push(shape);
            }
        }
        let is_followed = self.followed.is_some() || self.trail.is_some();
        let call = is_followed.then(|| writers::of_launch(&launch, &self.placed));
        let before = self.before(&launch);
        let launched = self.work(|device| device.launch(launch))?;
        if let (Some(trail), Some(before), Some((kernel, args))) = (&mut self.trail, before, &call)
        {
            let device = &mut self.device;
            let places: Vec<_> = before.iter().map(|(_, at, words)| (*at, words.len())).collect();
            let after = places.into_iter().map(|(address, words)| {
                let now = device.read(address, 4 * words as u64);
                now.map(|bytes| floats(&bytes.0)).unwrap_or_default()
            });
            trail.add(kernel, args, before, after);
        }
        self.look(call.map(|(kernel, args)| Writer::Kernel(kernel, args, threads)));
        self.changed |= launched.fault.is_some();
        self.clock.lock().clock = launched.clock.saturating_sub(self.began);
        Ok(launched)
    }

    fn create_array(&mut self, shape: ArrayShape) -> Answer<u64> {
        let bytes = shape.bytes().ok_or(CudaError::MEMORY_ALLOCATION)?.max(GRAIN);
        let used = self.used.saturating_add(bytes);
        if used.saturating_add(self.heap) > MEMORY {
            return Err(CudaError::MEMORY_ALLOCATION);
        }
        let array = self.work(|device| device.create_array(shape))?;
        self.used = used;
        self.arrays.insert(array, bytes);
        Ok(array)
    }

    fn free_array(&mut self, array: u64) -> Answer<()> {
        if !self.arrays.contains_key(&array) {
            return Err(CudaError::INVALID_VALUE);
        }
        self.device.free_array(array)?;
        self.used -= self.arrays.remove(&array).unwrap_or(0);
        Ok(())
    }

    fn array_level(&mut self, array: u64, level: u32) -> Answer<u64> {
        self.device.array_level(array, level)
    }

    fn write_region(&mut self, to: Region, extent: [u64; 3], bytes: Bytes<&[u8]>) -> Answer<()> {
        self.change(Writer::Copy, |device| device.write_region(to, extent, bytes))
    }

    fn read_region(&mut self, from: Region, extent: [u64; 3]) -> Answer<Bytes<Vec<u8>>> {
        self.work(|device| device.read_region(from, extent))
    }

    fn copy_region(&mut self, to: Region, from: Region, extent: [u64; 3]) -> Answer<()> {
        self.change(Writer::Copy, |device| device.copy_region(to, from, extent))
    }

    fn create_image_object(&mut self, object: ImageObjectDesc) -> Answer<u64> {
        self.image_objects += 1;
        if self.image_objects > OBJECTS {
            return Err(CudaError::MEMORY_ALLOCATION);
        }
        let is_texture = object.texture.is_some();
        let handle = self.device.create_image_object(object)?;
        self.objects.insert((handle, is_texture));
        Ok(handle)
    }

    fn destroy_image_object(&mut self, handle: u64, texture: bool) -> Answer<()> {
        self.device.destroy_image_object(handle, texture)?;
        self.objects.remove(&(handle, texture));
        Ok(())
    }

    fn set_limit(&mut self, limit: Limit, value: u64) -> Answer<()> {
        if self.used.saturating_add(value) > MEMORY {
            return Err(CudaError::MEMORY_ALLOCATION);
        }
        self.work(|device| device.set_limit(limit, value))?;
        self.changed = true;
        if limit == Limit::MallocHeapSize {
            self.heap = value;
        }
        Ok(())
    }

    fn limit(&mut self, limit: Limit) -> Answer<u64> {
        self.device.limit(limit)
    }

    fn order(&mut self, steps: Vec<OrderStep>) -> Answer<()> {
        self.work(|device| device.order(steps))
    }

    fn pending(&mut self, starts: Vec<u64>) -> Answer<Vec<AccessedRange>> {
        self.device.pending(starts)
    }

    fn due(&mut self, due: Due) -> Answer<Vec<u64>> {
        self.device.due(due)
    }

    fn not_started(&mut self, kernel: &str) -> Answer<()> {
        self.device.not_started(kernel)
    }

    fn memory_info(&mut self) -> Answer<MemoryInfo> {
        Ok(MemoryInfo { free: MEMORY - self.used - self.heap, total: MEMORY })
    }

    fn error_text(&mut self, error: CudaError) -> Answer<ErrorText> {
        self.device.error_text(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::tests::start;
    use puzzle::case::Role;
    use puzzle::tensor::{DType, Tensor};

    /// The free memory of the device itself.
    fn free(idle: &mut IdleDevice) -> u64 {
        idle.device.memory_info().unwrap().free
    }

    #[test]
    fn a_gpu_serves_the_next_case_if_nothing_of_this_one_is_left() {
        let tensor = Tensor { name: "x".into(), dtype: DType::F32, shape: vec![4] };
        let tensors = [CaseTensor { tensor, role: Role::Workspace }];
        let case = |idle| TestDevice::new(idle, (&tensors, &[]), &[false], None).unwrap();
        let mut idle = IdleDevice::new(start("").unwrap());
        let before = free(&mut idle);

        let mut device = case(idle);
        device.alloc(64).unwrap();
        let freed = device.alloc(64).unwrap();
        device.free(freed).unwrap();
        device.load(Code::ptx("module")).unwrap();
        let mut idle = device.into_idle().unwrap();
        assert_eq!(free(&mut idle), before);

        let mut device = case(idle);
        device.set_limit(Limit::StackSize, 1 << 12).unwrap();
        assert!(device.into_idle().is_none(), "the limit would hold for others");
    }
}
