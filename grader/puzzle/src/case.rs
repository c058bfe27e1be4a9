//! One test, ready to run: what the oracle hands to the backends and to the judge.

use crate::counter::Counter;
use crate::requirement::Relation;
use crate::tensor::{DType, Tensor};
use indexmath::{Approx, Dims, SizedFormula, Values};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// A test of a spec with its sizes fixed, its inputs drawn and its outputs known.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name of the test.
    pub test: String,
    /// One sentence for the student, shown when it fails.
    pub about: Option<String>,
    /// All sizes, free and derived.
    pub dims: Dims,
    /// The names of those that the launches or their tensors have, in the order of the spec.
    pub used_dims: Vec<String>,
    /// Seed of the random data.
    pub seed: u64,
    /// What the launches take. A tensor that one kernel computes and another is given stands here twice.
    pub tensors: Vec<CaseTensor>,
    /// In order.
    pub launches: Vec<CaseLaunch>,
    /// The differentiated formula at these sizes and its inputs, for the terms of an element.
    pub formula: SizedFormula,
    /// Inputs of `formula`, and what it computes and kernels are given: rounded to the tensors' types.
    pub known: Values,
    /// For what a kernel computes from another kernel's result, these results, though `known` has them for a third
    /// kernel. By the names of the formula.
    pub chained: BTreeMap<String, BTreeSet<String>>,
    /// Indices in `tensors` of those that must hold the same bits after every run.
    pub bit_equal: Vec<usize>,
    /// Bounds on what the launches cost.
    pub gates: Vec<CaseGate>,
    /// What must hold of results.
    pub requirements: Vec<CaseRequirement>,
    /// The report has a line for each output.
    pub differences: bool,
    /// What is drawn of them.
    pub pictures: Vec<CasePicture>,
    /// What is shown of them while they are written: indices in `tensors`, and what they are called.
    pub watched: Vec<(usize, String)>,
}

impl Case {
    /// What the kernels that compute `tensor` (a name of the formula) are given.
    pub fn known_for(&self, tensor: &str) -> Cow<'_, Values> {
        match self.chained.get(tensor) {
            None => Cow::Borrowed(&self.known),
            Some(results) => {
                let mut known = self.known.clone();
                known.retain(|name, _| !results.contains(name));
                Cow::Owned(known)
            }
        }
    }
}

/// A tensor that a launch takes.
#[derive(Clone, Debug)]
pub struct CaseTensor {
    /// Name, type, shape.
    pub tensor: Tensor,
    /// Given or wanted.
    pub role: Role,
}

impl CaseTensor {
    /// What must be in it at the end, by its name in the formula: `weights'` for a tensor that is changed in place.
    /// `None` for an input.
    pub fn wanted(&self) -> Option<(Tensor, &[Approx])> {
        match &self.role {
            Role::Input(_) | Role::Result => None,
            Role::Output(right) => Some((self.tensor.clone(), right)),
            Role::InPlace { right, .. } => {
                let name = format!("{}'", self.tensor.name);
                Some((Tensor { name, ..self.tensor.clone() }, right))
            }
        }
    }

    /// What is in it at the start; `None` for an output.
    pub fn start(&self) -> Option<&[f64]> {
        match &self.role {
            Role::Input(values) | Role::InPlace { start: values, .. } => Some(values),
            Role::Output(_) | Role::Result => None,
        }
    }
}

/// Is a tensor given to the kernel, or computed by it?
#[derive(Clone, Debug)]
pub enum Role {
    /// Given: values already rounded to the tensor's type, row-major.
    Input(Vec<f64>),
    /// Computed: what is right, and how far off a right kernel may be.
    Output(Vec<Approx>),
    /// Changed in place.
    InPlace {
        /// Before: as for an input.
        start: Vec<f64>,
        /// After: as for an output.
        right: Vec<Approx>,
    },
    /// Written by the function as it likes; the requirements tell whether it is good.
    Result,
}

/// Is `got` as near to what is right as a right kernel comes?
///
/// Written so that NaN fails: every comparison with NaN is false. A bound that is not finite allows nothing.
pub fn is_right(got: f64, right: &Approx) -> bool {
    if right.value.is_nan() {
        return got.is_nan();
    }
    if got == right.value {
        return true; // also infinities, and 0.0 == -0.0
    }
    got.is_finite() && right.bound.is_finite() && (got - right.value).abs() <= right.bound
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
    /// The blocks may wait for each other (`this_grid().sync()`).
    pub cooperative: bool,
    /// In the order of the signature.
    pub args: Vec<CaseArg>,
}

/// A bound on what a launch costs.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseGate {
    /// Index in `Case::launches`.
    pub launch: usize,
    /// What is bounded.
    pub counter: Counter,
    /// It must be equal to the bound; else it may be below.
    pub exact: bool,
    /// The bound at the sizes of the test.
    pub bound: u64,
    /// One sentence for the student.
    pub about: Option<String>,
}

/// A tensor that is a result, or that the formula makes of results.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Name, type, shape.
    pub tensor: Tensor,
    /// What of the formula must be computed for it, in order; it stands last. Empty for a result itself.
    pub steps: Vec<String>,
}

/// A picture to be drawn after the run.
#[derive(Clone, Debug, PartialEq)]
pub struct CasePicture {
    /// What it shows.
    pub of: Measured,
    /// How.
    pub style: PictureStyle,
}

/// How a picture looks, and its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureStyle {
    /// What is drawn.
    pub kind: PictureKind,
    /// Above it.
    pub title: String,
    /// Of the horizontal axis.
    pub x: String,
    /// Of the vertical axis.
    pub y: String,
}

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureKind {
    /// A line for each row, over the place in the row.
    Curve,
    /// A field for each element, darker for larger ones, with its value.
    Matrix,
}

/// A bound on each element of what the formula makes of results.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseRequirement {
    /// What is bounded.
    pub of: Measured,
    /// How it must stand to the bound.
    pub relation: Relation,
    /// The bound.
    pub bound: f64,
    /// One sentence for the student.
    pub about: Option<String>,
}

/// An argument of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CaseArg {
    /// Address of `Case::tensors[i]`.
    Tensor(usize),
    /// An `int`.
    Int(i32),
    /// A number of this type: an input without axes, rounded to it.
    Value(DType, f64),
}

/// The last of the launches that takes the tensor of this index.
pub fn last_launch_with(launches: &[CaseLaunch], tensor: usize) -> Option<&CaseLaunch> {
    launches.iter().rev().find(|l| l.args.contains(&CaseArg::Tensor(tensor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approx(value: f64, bound: f64) -> Approx {
        Approx { value, bound, magnitude: value.abs(), terms: 1 }
    }

    #[test]
    fn nan_and_infinity_are_equal_only_to_themselves() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        for bound in [0.0, 1.0, inf, nan] {
            assert!(!is_right(nan, &approx(1.0, bound)));
            assert!(!is_right(1.0, &approx(nan, bound)));
            assert!(!is_right(inf, &approx(1.0, bound)));
            assert!(!is_right(1.0, &approx(inf, bound)));
            assert!(!is_right(-inf, &approx(inf, bound)));
            assert!(is_right(inf, &approx(inf, bound)));
            assert!(is_right(nan, &approx(nan, bound)));
        }
    }

    #[test]
    fn the_bound_is_inclusive_and_zero_means_equal() {
        assert!(is_right(1.5, &approx(1.0, 0.5)));
        assert!(!is_right(1.500_001, &approx(1.0, 0.5)));
        assert!(!is_right(f64::EPSILON, &approx(0.0, 0.0)));
        assert!(is_right(-0.0, &approx(0.0, 0.0)));
    }

    #[test]
    fn a_bound_that_is_no_number_allows_only_equality() {
        for bound in [f64::NAN, f64::INFINITY, -1.0] {
            assert!(!is_right(1.25, &approx(1.0, bound)));
            assert!(is_right(1.0, &approx(1.0, bound)));
        }
    }
}
