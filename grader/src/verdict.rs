//! What the judge says of a test; `report` words it.

use crate::finding::{Finding, SourceLine, ThreadId};
use crate::tensor::Tensor;
use indexmath::{Dims, Term};
use std::time::Duration;

/// The judgement of one test.
#[derive(Clone, Debug)]
pub struct TestVerdict {
    /// Name of the test.
    pub test: String,
    /// One sentence for the student.
    pub about: Option<String>,
    /// Sizes.
    pub dims: Dims,
    /// Seed of the data.
    pub seed: u64,
    /// Launch and checks, without the compiler.
    pub time: Duration,
    /// What the checkers saw; any of them fails the test.
    pub findings: Vec<Finding>,
    /// Outputs that are not right.
    pub diffs: Vec<TensorDiff>,
}

impl TestVerdict {
    /// No finding, no difference.
    pub fn passed(&self) -> bool {
        self.findings.is_empty() && self.diffs.is_empty()
    }
}

/// How an output differs from what is right.
#[derive(Clone, Debug)]
pub struct TensorDiff {
    /// Which.
    pub tensor: Tensor,
    /// One flag for each element.
    pub wrong: Vec<bool>,
    /// How many are wrong (unwritten and NaN among them).
    pub wrong_count: usize,
    /// Elements that the kernel never wrote.
    pub unwritten_count: usize,
    /// Written elements that are NaN where a number is right.
    pub nan_count: usize,
    /// The first few wrong elements, in row-major order.
    pub mismatches: Vec<Mismatch>,
    /// |got - expected| for each element (infinite for NaN and unwritten ones), for the heat map.
    pub errors: Vec<f64>,
    /// Expansion of the first wrong element, if it can be listed.
    pub terms: Option<TermDiff>,
}

/// One wrong element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mismatch {
    /// Position in row-major order.
    pub flat: usize,
    /// Right value.
    pub expected: f64,
    /// The kernel's; `None` if it never wrote the element.
    pub got: Option<f64>,
    /// Largest error that a right kernel could make; 0: must be equal.
    pub allowed: f64,
}

/// What should make up an element, against what its thread read.
#[derive(Clone, Debug, PartialEq)]
pub struct TermDiff {
    /// Position of the element in its tensor.
    pub flat: usize,
    /// Products that the formula sums.
    pub expected: Vec<Term>,
    /// Thread that wrote the element, and the line of its last write; `None` if none did.
    pub writer: Option<(ThreadId, Option<SourceLine>)>,
    /// Input elements that this thread read, with how often and where; in order of first read.
    pub reads: Vec<ElementRead>,
}

/// An input element that a thread read.
#[derive(Clone, Debug, PartialEq)]
pub struct ElementRead {
    /// Tensor name.
    pub tensor: String,
    /// Shape of the tensor.
    pub shape: Vec<usize>,
    /// Position in row-major order; may lie outside.
    pub flat: i64,
    /// How often.
    pub count: u32,
    /// First line that read it.
    pub line: Option<SourceLine>,
}
