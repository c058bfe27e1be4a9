//! Loop nests, into which the statements of a program are lowered.
//!
//! Every nest adds a body without reductions to an array: `target[subscripts] += body`. The sums of a body
//! that are added to the result become nests of their own; a sum elsewhere, and every other reduction, is
//! first computed for all values of its free indices, into a temporary. Bodies are postfix code for a stack machine.

use std::collections::BTreeMap;

use crate::dtype::DType;
use crate::error::{Error, Result, list};
use crate::integer::affine::Affine;
use crate::integer::evaluate::{Dims, fold_constants};
use crate::integer::interval::Interval;
use crate::program::node::IndexId;
use crate::span::Span;
use crate::syntax::int_expr::IntExpr;
use crate::syntax::operators::{Comparison, Connective, Function, Op, Reduction};

/// The position of a tensor in [`LoweredProgram::tensors`].
pub(crate) type TensorId = usize;

/// A program at fixed sizes.
#[derive(Clone, Debug)]
pub(crate) struct LoweredProgram {
    pub tensors: Vec<Layout>,
    pub by_name: BTreeMap<String, TensorId>,
    /// The name of each index.
    pub names: Vec<String>,
    /// How many values each index has, from 0 on.
    pub ranges: Vec<i64>,
    /// Where the formula binds each index.
    pub spans: Vec<Span>,
    pub statements: Vec<LoweredStatement>,
}

/// A tensor at fixed sizes, row-major.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub name: String,
    pub dtype: DType,
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// For each axis: how many elements apart its neighbours are.
    pub strides: Vec<i64>,
    /// The number of elements.
    pub len: usize,
}

/// A statement at fixed sizes.
#[derive(Clone, Debug)]
pub(crate) struct LoweredStatement {
    pub target: TensorId,
    pub contributions: Vec<LoweredContribution>,
    /// The tensors that are read, each once.
    pub reads: Vec<TensorId>,
    /// The type in which a kernel computes the body: f64, i32, or f32 for all others. Integers that come from
    /// floating-point numbers are computed as such.
    pub compute_type: DType,
    /// Set where the statement reads its own target.
    pub recurrence: Option<LoweredRecurrence>,
}

impl LoweredStatement {
    /// Whether data choose the elements that the terms belong to, so that one element takes as long as all of them.
    pub(crate) fn is_scattered_by_data(&self) -> bool {
        let nests = self.contributions.iter().flat_map(|contribution| &contribution.nests);
        let mut to_tensor = nests.filter(|nest| matches!(nest.target.array, Array::Tensor(_)));
        to_tensor.any(|nest| nest.target.affine_subscripts().is_none())
    }

    /// Whether sizes or data decide how many terms an element has: not if each nest has one term for each element.
    pub(crate) fn reduces(&self) -> bool {
        let each = |nest: &LoopNest| {
            let axes = nest.target.affine_subscripts()?;
            let indices = axes.iter().map(|axis| axis.terms.len());
            Some(indices.clone().all(|n| n <= 1) && indices.sum::<usize>() == nest.loops.len())
        };
        let is_single = |contribution: &LoweredContribution| {
            contribution.temporaries.is_empty()
                && contribution.nests.iter().all(|nest| each(nest) == Some(true))
        };
        self.recurrence.is_some() || !self.contributions.iter().all(is_single)
    }
}

/// The order of a statement that reads its own target: slice by slice along an axis.
#[derive(Clone, Debug)]
pub(crate) struct LoweredRecurrence {
    pub axis: usize,
    pub backwards: bool,
    /// What the errors of earlier slices, which are the tensor `error`, add to those of an element.
    pub propagated: Option<Vec<LoweredContribution>>,
    pub error: TensorId,
    /// Where a slice is made of the one before alone.
    pub running: Option<Running>,
}

/// The slices that are a multiple of the slice before, element by element, plus terms without the target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Running {
    pub first: i64,
    pub last: i64,
    /// Whether the slice before is multiplied by anything. Else this is a running sum.
    pub scaled: bool,
}

/// A contribution to a statement's target. Contributions may share indices, but not the values that reach an element.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoweredContribution {
    /// The nests, in an order in which temporaries are complete before they are read.
    pub nests: Vec<LoopNest>,
    /// The free indices of each temporary: its axes.
    pub temporaries: Vec<Vec<IndexId>>,
}

/// What a nest reads from or adds to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Array {
    Tensor(TensorId),
    /// A position in [`LoweredContribution::temporaries`].
    Temporary(usize),
}

/// Elements of an array, chosen by subscripts.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub array: Array,
    /// One subscript for each axis.
    pub subscripts: Vec<Subscript>,
    /// Whether the subscripts may lie outside.
    pub padded: bool,
    /// The value of a padded read outside.
    pub outside: f64,
}

/// A subscript at fixed sizes.
#[derive(Clone, Debug)]
pub(crate) enum Subscript {
    Affine(Affine),
    /// An expression over constants and indices that is not affine: a quotient or remainder, for example.
    NonAffine(IntExpr),
    Indirect(Box<IndirectSubscript>),
}

/// A subscript with elements of integer tensors in it (an indirect access). They are read while the formula is evaluated.
#[derive(Clone, Debug)]
pub(crate) struct IndirectSubscript {
    /// An expression over constants and indices; the index `first + k` stands for element `k`.
    pub int: IntExpr,
    pub first: IndexId,
    pub elements: Vec<ElementAccess>,
}

/// An element in a subscript.
#[derive(Clone, Debug)]
pub(crate) struct ElementAccess {
    pub access: Access,
    /// The values that its type has.
    pub values: Interval,
}

/// For all values of `loops` at which the guards hold: the value of `code` is added to an element of the target, or enters a
/// reduction.
#[derive(Clone, Debug)]
pub(crate) struct LoopNest {
    pub loops: Vec<IndexId>,
    pub guards: Vec<LoweredGuard>,
    pub target: Access,
    pub reads: Vec<Access>,
    /// Integer expressions whose values are numbers in the code.
    pub ints: Vec<Subscript>,
    /// The body, in postfix order.
    pub code: Vec<Instr>,
    /// The factor, where the body is this number times the product of all `reads`.
    pub product: Option<f64>,
    /// The reduction by which values reach the target; `None` is a sum.
    pub fold: Option<Fold>,
}

/// A reduction that is not a sum: a product, or a maximum or minimum, or its position.
#[derive(Clone, Debug)]
pub(crate) struct Fold {
    pub reduction: Reduction,
    /// The row-major position of an iteration among the reduction's indices.
    pub position: Affine,
}

/// From which side a range is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Below,
    Above,
}

/// A condition on the iterations of a nest.
#[derive(Clone, Debug)]
pub(crate) struct LoweredGuard {
    /// 0 or more where the guard holds.
    pub slack: Subscript,
    /// The index that the guard limits, and on which side.
    pub limited: Option<(IndexId, Side)>,
}

/// An instruction of the stack machine that evaluates bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Instr {
    Const(f64),
    /// 0 without any term: what a padded read has outside in a sum.
    NoTerm,
    /// The value of a read, by its position in [`LoopNest::reads`].
    Load(usize),
    /// The value of an integer expression, by its position in [`LoopNest::ints`].
    Integer(usize),
    Neg,
    Binary(Op),
    /// Takes the value out of the running sum that it belongs to: what rounding has done so far becomes an error bound of its
    /// own. Values are enclosed before they are compared or become the argument of a function.
    Enclose,
    /// Encloses a sum that becomes a factor or a divisor. A kernel may multiply its terms one by one, so that its roundings are
    /// relative to them and not to their sum.
    EncloseFactor,
    /// A function of enclosed values; the argument of `abs` need not be enclosed.
    Call(Function),
    /// A comparison of enclosed values.
    Compare(Comparison),
    Join(Connective),
    /// One of two values; the stack holds a condition, the value where it holds, and the value where it does not.
    Select,
}

impl Layout {
    /// The coordinates of the element at a position in the tensor's values.
    pub(crate) fn coords(&self, flat: usize) -> Vec<i64> {
        let axes = self.strides.iter().zip(&self.shape);
        axes.map(|(stride, &size)| flat as i64 / stride % size as i64).collect()
    }

    /// The element at a position in the tensor's values, as `name[2,0]`.
    pub(crate) fn element_name(&self, flat: usize) -> String {
        let coords: Vec<String> = self.coords(flat).iter().map(ToString::to_string).collect();
        if coords.is_empty() {
            return self.name.clone();
        }
        format!("{}[{}]", self.name, coords.join(","))
    }

    /// The position of an element in the tensor's values.
    ///
    /// # Errors
    /// Coordinates outside the tensor.
    pub(crate) fn flat(&self, coords: &[i64]) -> Result<usize> {
        let inside = coords.len() == self.shape.len()
            && coords.iter().zip(&self.shape).all(|(&at, &size)| at >= 0 && at < size as i64);
        if !inside {
            let message = format!("`{}` has no element {coords:?}", self.name);
            return Err(Error::unplaced(message).help(format!("its shape is {:?}", self.shape)));
        }
        Ok(coords.iter().zip(&self.strides).map(|(at, stride)| at * stride).sum::<i64>() as usize)
    }
}

/// The strides of a row-major array.
pub(crate) fn row_major_strides(shape: &[usize]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis] as i64;
    }
    strides
}

impl LoweredProgram {
    /// The tensor of this name.
    ///
    /// # Errors
    /// A name that the formula does not have.
    pub(crate) fn tensor(&self, name: &str) -> Result<TensorId> {
        self.by_name.get(name).copied().ok_or_else(|| {
            let known = list(self.by_name.keys().map(String::as_str));
            Error::unplaced(format!("the formula has no tensor `{name}`"))
                .help(format!("its tensors: {known}"))
        })
    }

    /// The position of the statement that assigns the tensor; `None` for an input.
    pub(crate) fn statement_of(&self, tensor: TensorId) -> Option<usize> {
        self.statements.iter().position(|statement| statement.target == tensor)
    }
}

impl Access {
    /// The affine forms of the subscripts, if all are affine.
    pub(crate) fn affine_subscripts(&self) -> Option<Vec<Affine>> {
        let affine = |subscript: &Subscript| match subscript {
            Subscript::Affine(affine) => Some(affine.clone()),
            Subscript::NonAffine(_) | Subscript::Indirect(_) => None,
        };
        self.subscripts.iter().map(affine).collect()
    }
}

impl Subscript {
    /// The indices that the subscript depends on, also through the elements in it.
    pub(crate) fn indices(&self) -> Vec<IndexId> {
        match self {
            Self::Affine(affine) => affine.terms.iter().map(|(id, _)| *id).collect(),
            Self::NonAffine(int) => int.indices(),
            Self::Indirect(indirect) => {
                let own = indirect.int.indices().into_iter().filter(|id| *id < indirect.first);
                let subscripts = indirect.elements.iter().flat_map(|e| &e.access.subscripts);
                own.chain(subscripts.flat_map(Self::indices)).collect()
            }
        }
    }

    /// The subscript of an expression without tensor elements, at the sizes `dims`.
    ///
    /// # Errors
    /// Sizes without a value, division by zero, and values that do not fit into 64 bits.
    pub(crate) fn new(int: &IntExpr, dims: &Dims) -> Result<Self> {
        let int = fold_constants(int, dims)?;
        Ok(match Affine::of(&int)? {
            Some(affine) => Self::Affine(affine),
            None => Self::NonAffine(int),
        })
    }
}
