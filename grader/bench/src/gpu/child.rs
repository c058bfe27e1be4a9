//! The process that drives the GPU: it does one request and ends. What a kernel does to it harms nobody else.

use super::cublas::Cublas;
use super::cudnn::{Convolution, Cudnn, Pooling};
use super::driver::{Answer, Driver, Graph, Module, Prepared};
use super::nvml::Nvml;
use crate::job::{
    Ceilings, CheckedRun, Contents, GemmJob, Job, LaunchJob, ModuleJob, Param, Request, Task, Timed,
};
use crate::values::{Kind, seed_of};
use cudart::frame::{self, Bytes};
use indexmath::DType;
use puzzle::tensor::size_of;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

/// Fills outputs before each run: a quiet NaN in every type, and no sum of data.
const POISON: u16 = 0xFFFD;
/// What overwrites the L2 cache is so many times as large as it.
const FLUSHES: u64 = 3;
/// How long the GPU is kept busy before each run, so that the host has enqueued all of it.
const LEAD: u64 = 30_000;
/// Clocks are looked at in one of so many runs.
const LOOK: u64 = 16;
/// Runs before the first sample.
const WARM_UP: u64 = 3;
/// Bytes of the copy that measures the bandwidth.
const COPIED: usize = 512 << 20;
/// Rows and columns of the products that measure the ceilings, by type.
const PRODUCTS: [(DType, i32); 4] =
    [(DType::F32, 4096), (DType::F64, 4096), (DType::F16, 8192), (DType::BF16, 8192)];
/// Samples for each ceiling.
const CEILING_SAMPLES: u64 = 12;

/// The whole life of the process: reads a request from the socket in the place of standard input, and answers it.
pub fn child_main() -> ExitCode {
    let served = device::gpu::connected().and_then(|mut socket| {
        match frame::read::<Request>(&mut socket)? {
            Request::Ceilings => frame::write(&mut socket, &ceilings()),
            Request::Time(job) => frame::write(&mut socket, &time(&job)),
        }
    });
    if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn ceilings() -> Answer<Ceilings> {
    let driver = Driver::open(super::DRAW_PTX)?;
    let (from, to) = (driver.alloc(COPIED)?, driver.alloc(COPIED)?);
    driver.fill(from, 1, COPIED)?;
    let copy = best(&driver, |driver| driver.copy(to, from, COPIED))?;
    let empty = driver.capture(Driver::empty)?;
    let empty_launch = best(&driver, |driver| driver.replay(&empty))?;
    let library = Cublas::open(driver.stream());
    let mut products = BTreeMap::new();
    if let Ok(library) = &library {
        for (dtype, size) in PRODUCTS {
            let count = size as usize * size as usize;
            let job = GemmJob { tensors: [0, 1, 2], sizes: [size; 3], transposed: [false; 2] };
            let addresses = [from, from + COPIED as u64 / 2, to];
            for address in &addresses[..2] {
                let parameters = Kind::Normal(1e-5, 0.0).parameters(dtype, *address);
                driver.draw(*address, count as u64, &parameters)?;
            }
            let seconds = best(&driver, |_| library.gemm(&job, addresses, [dtype; 2]))?;
            let flops = 2.0 * f64::from(size).powi(3);
            products.insert(dtype.to_string(), flops / seconds);
        }
    }
    let library = library.map(|library| library.description);
    Ok(Ceilings { copy: 2.0 * COPIED as f64 / copy, products, empty_launch, library })
}

/// The median time of what `start` puts on the stream.
fn best(driver: &Driver, start: impl Fn(&Driver) -> Answer<()>) -> Answer<f64> {
    let mut samples = Vec::new();
    for run in 0..CEILING_SAMPLES + WARM_UP {
        driver.wait(LEAD)?;
        driver.mark(0)?;
        start(driver)?;
        driver.mark(1)?;
        let seconds = driver.between_marks()?;
        if run >= WARM_UP {
            samples.push(seconds);
        }
    }
    samples.sort_by(f64::total_cmp);
    Ok(samples[samples.len() / 2])
}

/// A tensor in the GPU's memory.
struct Placed {
    address: u64,
    bytes: usize,
    /// Where its first contents are kept, if they are held.
    kept: Option<u64>,
}

/// What is timed: the kernels of a launch, or one function of a vendor's library, ready to run.
enum Work {
    Kernels { launches: Vec<Prepared>, constants: Vec<(u64, usize)> },
    Gemm { library: Cublas, job: GemmJob, addresses: [u64; 3], types: [DType; 2] },
    Conv { library: Cudnn, convolution: Convolution, addresses: [u64; 3], bias: Option<u64> },
    Pool { library: Cudnn, pooling: Pooling, addresses: [u64; 4] },
}

/// A job on the GPU.
struct Bench<'a> {
    job: &'a Job,
    driver: Driver,
    tensors: Vec<Placed>,
    work: Work,
    graph: Option<Graph>,
    scratch: (u64, usize),
}

fn time(job: &Job) -> Answer<Timed> {
    let mut bench = Bench::new(job)?;
    let mut clocks = Nvml::open(&bench.driver.uuid);
    // The library takes memory at its first product, which cannot be captured.
    bench.reset(0)?;
    bench.work.start(&bench.driver)?;
    bench.driver.synchronize()?;
    bench.graph = bench.captured();
    for run in 0..WARM_UP {
        bench.run(run)?;
    }
    let (mut samples, mut checks, mut late) = (Vec::new(), Vec::new(), Vec::new());
    let begin = Instant::now();
    let mut run = 0;
    loop {
        // Other data than those of any run before, which a kernel might remember.
        let (seconds, busy) = bench.run(WARM_UP + run)?;
        if run % LOOK == 0
            && let Ok(nvml) = &mut clocks
        {
            nvml.look();
        }
        samples.push(seconds);
        late.push(busy);
        let ends = job.rule.is_enough(&samples, begin.elapsed().as_secs_f64());
        if ends || job.checked_runs.contains(&run) {
            checks.push(CheckedRun { run: WARM_UP + run, outputs: bench.outputs()? });
        }
        if ends {
            break;
        }
        run += 1;
    }
    let clocks = clocks.and_then(Nvml::seen);
    late.sort_by(f64::total_cmp);
    let late = late[late.len() / 2];
    let (graph, library) = (bench.graph.is_some(), bench.work.library());
    Ok(Timed { samples, graph, library, checks, clocks, late })
}

impl<'a> Bench<'a> {
    fn new(job: &'a Job) -> Answer<Self> {
        let driver = Driver::open(super::DRAW_PTX)?;
        let mut tensors = Vec::new();
        for tensor in &job.tensors {
            let bytes = tensor.count * size_of(tensor.dtype.into());
            let address = driver.alloc(bytes)?;
            let kept = match &tensor.contents {
                Contents::Held(held) => {
                    let kept = driver.alloc(bytes)?;
                    driver.upload(kept, &held.0)?;
                    Some(kept)
                }
                Contents::Drawn { .. } | Contents::Undefined => None,
            };
            tensors.push(Placed { address, bytes, kept });
        }
        let scratch_bytes = (driver.l2 * FLUSHES) as usize;
        let scratch = (driver.alloc(scratch_bytes)?, scratch_bytes);
        let work = Work::new(job, &driver, &tensors)?;
        Ok(Self { job, driver, tensors, work, graph: None, scratch })
    }

    /// The launches as a graph, if they can be captured.
    fn captured(&mut self) -> Option<Graph> {
        let Self { driver, work, .. } = self;
        driver.capture(|driver| work.start(driver)).ok()
    }

    /// Gives every tensor what it holds before a run.
    fn reset(&self, run: u64) -> Answer<()> {
        let Self { job, driver, tensors, .. } = self;
        for (tensor, placed) in job.tensors.iter().zip(tensors) {
            if matches!(tensor.contents, Contents::Undefined) {
                driver.fill(placed.address, POISON, placed.bytes)?;
            }
        }
        let overwrite_cache = || driver.fill(self.scratch.0, 0, self.scratch.1);
        // A warm cache has the inputs, so they come last.
        if job.cold {
            self.draw(run)?;
            overwrite_cache()
        } else {
            overwrite_cache()?;
            self.draw(run)
        }
    }

    /// Gives the inputs their data, and fills constants with them, or the results of a forward pass.
    fn draw(&self, run: u64) -> Answer<()> {
        for (tensor, placed) in self.job.tensors.iter().zip(&self.tensors) {
            match (&tensor.contents, placed.kept) {
                (Contents::Drawn { kind, stream, fresh }, _) => {
                    let seed = seed_of(self.job.seed, *stream, if *fresh { run } else { 0 });
                    let parameters = kind.parameters(tensor.dtype.into(), seed);
                    self.driver.draw(placed.address, tensor.count as u64, &parameters)?;
                }
                (_, Some(kept)) => self.driver.copy(placed.address, kept, placed.bytes)?,
                (_, None) => {}
            }
        }
        match &self.work {
            Work::Kernels { constants, .. } => {
                constants.iter().try_for_each(|&(symbol, tensor)| {
                    let Placed { address, bytes, .. } = self.tensors[tensor];
                    self.driver.copy(symbol, address, bytes)
                })
            }
            Work::Pool { library, pooling, addresses } => library.pool(pooling, *addresses),
            Work::Gemm { .. } | Work::Conv { .. } => Ok(()),
        }
    }

    /// Runs once: the seconds of the launches, and those from their end on until the whole GPU was idle.
    fn run(&mut self, run: u64) -> Answer<(f64, f64)> {
        self.reset(run)?;
        let Self { driver, work, graph, .. } = self;
        driver.wait(LEAD)?;
        driver.mark(0)?;
        match graph {
            Some(graph) => driver.replay(graph)?,
            None => work.start(driver)?,
        }
        driver.mark(1)?;
        let seconds = driver.between_marks()?;
        let end = Instant::now();
        driver.synchronize()?;
        Ok((seconds, end.elapsed().as_secs_f64()))
    }

    /// The wanted elements of the outputs.
    fn outputs(&self) -> Answer<Vec<Bytes<Vec<u8>>>> {
        let wanted = self.job.wanted.iter().map(|(tensor, elements)| {
            let Placed { address, bytes, .. } = self.tensors[*tensor];
            let all = self.driver.download(address, bytes)?;
            if elements.is_empty() {
                return Ok(Bytes(all));
            }
            let size = size_of(self.job.tensors[*tensor].dtype.into());
            let element = |index: &u64| &all[*index as usize * size..][..size];
            Ok(Bytes(elements.iter().map(element).collect::<Vec<_>>().concat()))
        });
        wanted.collect()
    }
}

impl Work {
    fn new(job: &Job, driver: &Driver, tensors: &[Placed]) -> Answer<Self> {
        match &job.task {
            Task::Kernels { modules, launches } => {
                let load = |ModuleJob { ptx, machine }: &ModuleJob| {
                    driver.load(machine.as_ref().map_or(ptx.as_bytes(), |machine| &machine.0[..]))
                };
                let modules = modules.iter().map(load).collect::<Answer<Vec<_>>>()?;
                let mut prepared = Vec::new();
                let mut constants = Vec::new();
                for launch in launches {
                    let module = modules[launch.module];
                    prepared.push(prepare(driver, module, launch, tensors)?);
                    for (symbol, tensor) in &launch.constants {
                        let (address, bytes) = driver.global(module, symbol)?;
                        if bytes < tensors[*tensor].bytes {
                            return Err(format!("the constant `{symbol}` is too small"));
                        }
                        constants.push((address, *tensor));
                    }
                }
                Ok(Self::Kernels { launches: prepared, constants })
            }
            Task::Conv(conv) => {
                let library = Cudnn::open(driver.stream())?;
                let dtype = job.tensors[conv.tensors[0]].dtype.into();
                let room = |bytes| driver.alloc(bytes);
                let convolution = library.convolution(conv, dtype, room)?;
                let address = |tensor: usize| tensors[tensor].address;
                let (addresses, bias) = (conv.tensors.map(address), conv.bias.map(address));
                Ok(Self::Conv { library, convolution, addresses, bias })
            }
            Task::Pool(pool) => {
                let library = Cudnn::open(driver.stream())?;
                let pooling = library.pooling(pool, job.tensors[pool.tensors[0]].dtype.into())?;
                let addresses = pool.tensors.map(|tensor| tensors[tensor].address);
                Ok(Self::Pool { library, pooling, addresses })
            }
            Task::Gemm(gemm) => {
                let types = [gemm.tensors[0], gemm.tensors[2]].map(|i| job.tensors[i].dtype.into());
                Ok(Self::Gemm {
                    library: Cublas::open(driver.stream())?,
                    job: *gemm,
                    addresses: gemm.tensors.map(|tensor| tensors[tensor].address),
                    types,
                })
            }
        }
    }

    /// The library with its version, if it is one.
    fn library(&self) -> Option<String> {
        match self {
            Self::Kernels { .. } => None,
            Self::Gemm { library, .. } => Some(library.description.clone()),
            Self::Conv { library, .. } | Self::Pool { library, .. } => {
                Some(library.description.clone())
            }
        }
    }

    fn start(&mut self, driver: &Driver) -> Answer<()> {
        match self {
            Self::Kernels { launches, .. } => {
                launches.iter_mut().try_for_each(|launch| driver.launch(launch))
            }
            Self::Gemm { library, job, addresses, types } => library.gemm(job, *addresses, *types),
            Self::Conv { library, convolution, addresses, bias } => {
                library.start(convolution, *addresses, *bias)
            }
            Self::Pool { library, pooling, addresses } => library.pool_back(pooling, *addresses),
        }
    }
}

fn prepare(
    driver: &Driver,
    module: Module,
    launch: &LaunchJob,
    tensors: &[Placed],
) -> Answer<Prepared> {
    let bytes = |param: &Param| match param {
        Param::Tensor(tensor, offset) => (tensors[*tensor].address + offset).to_le_bytes().to_vec(),
        Param::Bytes(bytes) => bytes.clone(),
    };
    let params: Vec<Vec<u8>> = launch.params.iter().map(bytes).collect();
    driver.prepare(module, launch, &params)
}
