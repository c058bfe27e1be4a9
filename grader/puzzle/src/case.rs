//! One test, ready to run: what the oracle hands to the backends and to the judge.

use indexmath::{Approx, Dims, SizedFormula, Values};
use spec::relation::Relation;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use tensor::{DType, Tensor};

pub use spec::{CaseGate, PictureKind, PictureStyle};
pub use specfile::{LaunchOptions, ReportOptions};

/// A test of a spec with its sizes fixed, its inputs drawn and its outputs known.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name of the test.
    pub test: String,
    /// One sentence for the student, shown when the test fails.
    pub about: Option<String>,
    /// The values of all sizes, free and derived, by name.
    pub dims: Dims,
    /// The names of the sizes that the launches or their tensors use, in the order of the spec.
    pub used_dims: Vec<String>,
    /// The seed of the random data.
    pub seed: u64,
    /// The tensors that the launches take. A tensor that one kernel computes and another is given is listed twice.
    pub tensors: Vec<CaseTensor>,
    /// The launches, in the order in which they run.
    pub launches: Vec<CaseLaunch>,
    /// The differentiated formula at these sizes, from which the terms of an element can be computed.
    pub formula: SizedFormula,
    /// The forward formula with gradients as the spec states them, and the names of these.
    pub closed: Option<(SizedFormula, Vec<String>)>,
    /// The values of the inputs of `formula`, and of the computed tensors that kernels are given, rounded to the
    /// tensors' types.
    pub known: Values,
    /// For each tensor, the names (of the formula) of what its kernels take from others or compute themselves, if `known` may hold it
    /// for a kernel that is given it.
    pub chained: BTreeMap<String, BTreeSet<String>>,
    /// The indices in `tensors` of those that must hold the same bits after every run.
    pub bit_equal: Vec<usize>,
    /// The bounds on what the launches cost.
    pub gates: Vec<CaseGate>,
    /// The bounds on results that the formula does not fix.
    pub requirements: Vec<CaseRequirement>,
    /// What the report shows.
    pub options: ReportOptions,
    /// The pictures that the report draws of the results.
    pub pictures: Vec<CasePicture>,
    /// The results that are displayed while the host code writes them: indices in `tensors`, and a label for each.
    pub watched: Vec<(usize, String)>,
}

impl Case {
    /// The values that the kernels which compute `tensor` (a name of the formula) are given.
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

    /// How many elements all tensors have together.
    pub fn elements(&self) -> usize {
        self.tensors.iter().map(|t| t.tensor.len()).sum()
    }

    /// The index in `tensors` of an output, by its name in the formula.
    pub fn output(&self, name: &str) -> Option<usize> {
        let is_it = |t: &CaseTensor| t.wanted().is_some_and(|(tensor, _)| tensor.name == name);
        self.tensors.iter().position(is_it)
    }

    /// The elements that must be in an output at the end, by its name in the formula.
    pub fn expected(&self, name: &str) -> Option<&[Approx]> {
        self.tensors.iter().find_map(|CaseTensor { tensor, role }| match role {
            Role::Output(expected) if tensor.name == name => Some(&expected[..]),
            Role::InPlace { expected, .. } if name.strip_suffix('\'') == Some(&tensor.name) => {
                Some(&expected[..])
            }
            _ => None,
        })
    }
}

/// A tensor that a launch takes, with its contents before or after the run.
#[derive(Clone, Debug)]
pub struct CaseTensor {
    /// Its name, element type and shape.
    pub tensor: Tensor,
    /// How the kernels use it, with the values that go with that.
    pub role: Role,
}

impl CaseTensor {
    /// The expected final contents, with the tensor's name in the formula: `weights'` for a tensor that is changed in
    /// place. `None` for an input and for a result that the formula does not fix.
    pub fn wanted(&self) -> Option<(Tensor, &[Approx])> {
        match &self.role {
            Role::Input(_) | Role::Result | Role::Workspace => None,
            Role::Output(expected) => Some((self.tensor.clone(), expected)),
            Role::InPlace { expected, .. } => {
                let name = format!("{}'", self.tensor.name);
                Some((Tensor { name, ..self.tensor.clone() }, expected))
            }
        }
    }

    /// How much is summed for the elements that are computed.
    pub fn terms(&self) -> TermCounts {
        let computed = match &self.role {
            Role::Output(expected) | Role::InPlace { expected, .. } => &expected[..],
            Role::Input(_) | Role::Result | Role::Workspace => &[],
        };
        let none = TermCounts { elements: computed.len() as u64, ..TermCounts::default() };
        computed.iter().fold(none, |counts, Approx { terms, .. }| TermCounts {
            most: counts.most.max(*terms),
            all: counts.all.saturating_add(*terms),
            ..counts
        })
    }

    /// The contents before the first launch; `None` for a tensor that starts undefined.
    pub fn start(&self) -> Option<&[f64]> {
        match &self.role {
            Role::Input(values) | Role::InPlace { start: values, .. } => Some(values),
            Role::Output(_) | Role::Result | Role::Workspace => None,
        }
    }
}

/// The number of terms of computed elements. These are counted here since devices, which are not optimised, ask for them in every run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TermCounts {
    /// How many elements are computed.
    pub elements: u64,
    /// The most terms of one element.
    pub most: u64,
    /// The terms of all elements together.
    pub all: u64,
}

/// How the kernels use a tensor.
#[derive(Clone, Debug)]
pub enum Role {
    /// It is read: its values, row-major and already rounded to the tensor's type.
    Input(Vec<f64>),
    /// It is computed: the expected values with the error bounds of a correct kernel.
    Output(Vec<Approx>),
    /// It is changed in place.
    InPlace {
        /// The values before the run, as for an input.
        start: Vec<f64>,
        /// The expected values after the run, as for an output.
        expected: Vec<Approx>,
    },
    /// It is written without an expected value; the requirements decide whether it is good.
    Result,
    /// It starts undefined, and what it holds in the end is of no interest.
    Workspace,
}

/// A kernel launch, or the call of a host function, at the sizes of a test.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseLaunch {
    /// The name of the kernel in the source.
    pub kernel: String,
    /// The number of blocks in x, y and z.
    pub grid: [u32; 3],
    /// The number of threads of a block in x, y and z.
    pub block: [u32; 3],
    /// The dynamic shared memory of a block, in bytes.
    pub shared: u32,
    /// The options that the spec sets.
    pub options: LaunchOptions,
    /// The arguments, in the order of the signature.
    pub args: Vec<CaseArg>,
    /// The constants of the kernels' file that are filled before the launch.
    pub constants: Vec<CaseConstant>,
    /// Tensors that are copied into the memory of others before the launch, each with that other one: memory which a program uses
    /// again for its next data. They have that memory from then on.
    pub moves_in: Vec<(usize, usize)>,
}

/// A `__constant__` variable, and the tensor that is copied into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseConstant {
    /// The name of the variable in the source.
    pub symbol: String,
    /// The index of the tensor in `Case::tensors`.
    pub tensor: usize,
}

/// A result, or a tensor that the formula computes from results.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Its name, element type and shape.
    pub tensor: Tensor,
    /// The tensors of the formula that must be computed to get it, in order and with itself as the last. Empty for a
    /// result itself.
    pub steps: Vec<String>,
}

/// A picture that the report draws after the run.
#[derive(Clone, Debug, PartialEq)]
pub struct CasePicture {
    /// The tensor that the picture shows.
    pub of: Measured,
    /// The kind of picture and its labels.
    pub style: PictureStyle,
}

/// A bound on each element of a tensor that depends on results.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseRequirement {
    /// The tensor that is bounded.
    pub of: Measured,
    /// The comparison that must hold between each element and the bound.
    pub relation: Relation,
    /// The number that each element is compared with.
    pub bound: f64,
    /// One sentence for the student, shown when the requirement is not met.
    pub about: Option<String>,
}

/// An argument of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CaseArg {
    /// The address of `Case::tensors[i]`.
    Tensor(usize),
    /// A 32-bit integer, passed by value.
    Int(i32),
    /// An input without axes, passed by value: its type, and its value rounded to that type.
    Value(DType, f64),
}

/// The last launch that takes the tensor with index `tensor`.
pub fn last_launch_with(launches: &[CaseLaunch], tensor: usize) -> Option<&CaseLaunch> {
    launches.iter().rev().find(|l| l.args.contains(&CaseArg::Tensor(tensor)))
}
