//! What the grader asks of the process that drives the GPU, and what that answers.

use crate::outcome::Clocks;
use crate::statistics::StoppingRule;
use crate::values::Kind;
use cudart::frame::Bytes;
use indexmath::DType;
use puzzle::case::LaunchOptions;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A request. A process answers one and ends.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// To measure what the GPU reaches.
    Ceilings,
    /// To time a kernel.
    Time(Box<Job>),
}

/// A kernel or a library function to time, with its data.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    /// The kernels or the function.
    pub task: Task,
    /// The tensors that it takes.
    pub tensors: Vec<TensorJob>,
    /// From which the data of each run are drawn.
    pub seed: u64,
    /// Whether the L2 cache is overwritten before each run.
    pub cold: bool,
    /// When there are enough samples.
    pub rule: StoppingRule,
    /// The outputs that are read back after some runs: index of the tensor, and its elements; all if there are none.
    pub wanted: Vec<(usize, Vec<u64>)>,
    /// The numbers of the runs after which they are read; besides, they are read after the last one.
    pub checked_runs: Vec<u64>,
}

/// What is timed: the launches of a kernel file, or a function of a library.
#[derive(Debug, Serialize, Deserialize)]
pub enum Task {
    /// Launches of kernels that were compiled to PTX.
    Kernels {
        /// The modules that they are in.
        modules: Vec<ModuleJob>,
        /// The launches, in their order.
        launches: Vec<LaunchJob>,
    },
    /// A product of cuBLAS.
    Gemm(GemmJob),
    /// A pass of a convolution of cuDNN.
    Conv(ConvJob),
    /// The backward pass of a pooling of cuDNN.
    Pool(PoolJob),
}

/// A module for the driver to load.
#[derive(Debug, Serialize, Deserialize)]
pub struct ModuleJob {
    /// The PTX of all its kernels.
    pub ptx: String,
    /// Machine code for this GPU, where there is some.
    pub machine: Option<Bytes<Vec<u8>>>,
}

/// A launch of a kernel with its arguments.
#[derive(Debug, Serialize, Deserialize)]
pub struct LaunchJob {
    /// The index of the module.
    pub module: usize,
    /// The kernel's name in the module.
    pub symbol: String,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    /// The options that the spec sets.
    pub options: LaunchOptions,
    /// The arguments, in the order of the kernel's parameters.
    pub params: Vec<Param>,
    /// Constants by their names in the module, each with the tensor that is copied into it before each run.
    pub constants: Vec<(String, usize)>,
}

/// An argument of a launch.
#[derive(Debug, Serialize, Deserialize)]
pub enum Param {
    /// An address in a tensor: so many bytes behind its start.
    Tensor(usize, u64),
    /// A number, as the bytes that the kernel receives.
    Bytes(Vec<u8>),
}

/// A tensor in the memory of the GPU.
#[derive(Debug, Serialize, Deserialize)]
pub struct TensorJob {
    /// The type of its elements.
    pub dtype: Type,
    /// How many there are.
    pub count: usize,
    /// What it holds before each run.
    pub contents: Contents,
}

/// What a tensor holds before each run.
#[derive(Debug, Serialize, Deserialize)]
pub enum Contents {
    /// Data of this kind.
    Drawn {
        /// How they come about.
        kind: Kind,
        /// Which of the job's streams of random numbers they take.
        stream: usize,
        /// Whether they are new in each run.
        fresh: bool,
    },
    /// These bytes, the same in each run.
    Held(Bytes<Vec<u8>>),
    /// Poison: a quiet NaN.
    Undefined,
}

/// A product `c[m,n] = a[m,k] * b[k,n]` of row-major matrices, which are tensors of the job.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct GemmJob {
    /// The tensors a, b and c.
    pub tensors: [usize; 3],
    /// m, n and k.
    pub sizes: [i32; 3],
    /// Whether a and b are stored transposed.
    pub transposed: [bool; 2],
}

/// A pass of a convolution, whose tensors are tensors of the job.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct ConvJob {
    /// What it computes, by its position here.
    pub computed: usize,
    /// Images, filters and results, or their gradients.
    pub tensors: [usize; 3],
    /// What is added to each map.
    pub bias: Option<usize>,
    /// For each of the tensors: images, channels, rows and columns; of filters their number, and channels.
    pub sizes: [[i32; 4]; 3],
    /// The rows of zeros on every side of an image.
    pub pad: i32,
    /// Whether channels vary fastest, and not columns.
    pub channels_last: bool,
}

/// The backward pass of a pooling of maxima, whose tensors are tensors of the job.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PoolJob {
    /// Images, results, and the gradients of both. The results of the forward pass are computed before each run.
    pub tensors: [usize; 4],
    /// Planes, rows and columns of the images, and of the results.
    pub sizes: [[i32; 3]; 2],
    /// Rows and columns of a window.
    pub window: i32,
    /// The rows from a window to the next.
    pub stride: i32,
    /// The rows of padding on every side of an image.
    pub pad: i32,
}

/// What came of a [`Job`].
#[derive(Debug, Serialize, Deserialize)]
pub struct Timed {
    /// Seconds of each run.
    pub samples: Vec<f64>,
    /// Whether the launches were captured as a graph.
    pub graph: bool,
    /// The vendor's library that was timed, with its version.
    pub library: Option<String>,
    /// The outputs after some runs.
    pub checks: Vec<CheckedRun>,
    /// Clocks and throttling, or why they are not known.
    pub clocks: Result<Clocks, String>,
    /// How many seconds, by the host's clock, the GPU was not yet idle when a run had ended: the median of all runs.
    pub late: f64,
}

/// The wanted elements of the outputs after a run.
#[derive(Debug, Serialize, Deserialize)]
pub struct CheckedRun {
    /// The number of the run.
    pub run: u64,
    /// The bytes of the elements, for each wanted output.
    pub outputs: Vec<Bytes<Vec<u8>>>,
}

/// What the GPU reaches.
#[derive(Debug, Serialize, Deserialize)]
pub struct Ceilings {
    /// Bytes per second of a large copy, read and written.
    pub copy: f64,
    /// Operations per second of a large matrix product, by type.
    pub products: BTreeMap<String, f64>,
    /// Seconds of an empty kernel.
    pub empty_launch: f64,
    /// The vendor's library, or why there is none.
    pub library: Result<String, String>,
}

/// An element type on its way to the other process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Type(u8);

const TYPES: [DType; 7] = DType::ALL;

impl From<DType> for Type {
    fn from(dtype: DType) -> Self {
        Self(TYPES.iter().position(|known| *known == dtype).unwrap_or_default() as u8)
    }
}

impl From<Type> for DType {
    fn from(of: Type) -> Self {
        TYPES.get(usize::from(of.0)).copied().unwrap_or(Self::F32)
    }
}
