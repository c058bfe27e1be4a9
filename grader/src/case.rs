//! One test, ready to run: what the oracle hands to the backends and to the judge.

use crate::tensor::Tensor;
use indexmath::{Approx, Concrete, Dims, Values};

/// A test of a spec with its sizes fixed, its inputs drawn and its outputs known.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name of the test.
    pub test: String,
    /// One sentence for the student, shown when it fails.
    pub about: Option<String>,
    /// All sizes, free and derived.
    pub dims: Dims,
    /// Seed of the random data.
    pub seed: u64,
    /// What the launches take, each tensor once.
    pub tensors: Vec<CaseTensor>,
    /// In order.
    pub launches: Vec<CaseLaunch>,
    /// The differentiated formula at these sizes and its inputs, for the terms of an element.
    pub formula: Concrete,
    /// Inputs of `formula`.
    pub known: Values,
}

/// A tensor that a launch takes.
#[derive(Clone, Debug)]
pub struct CaseTensor {
    /// Name, type, shape.
    pub tensor: Tensor,
    /// Given or wanted.
    pub role: Role,
}

/// Is a tensor given to the kernel, or computed by it?
#[derive(Clone, Debug)]
pub enum Role {
    /// Given: values already rounded to the tensor's type, row-major.
    Input(Vec<f64>),
    /// Computed: what is right, and how far off a right kernel may be.
    Output(Vec<Approx>),
}

/// A kernel launch with everything evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseLaunch {
    /// Source name of the kernel.
    pub kernel: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    /// In the order of the signature.
    pub args: Vec<CaseArg>,
}

/// An argument of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CaseArg {
    /// Address of `Case::tensors[i]`.
    Tensor(usize),
    /// An `int`.
    Int(i32),
}
