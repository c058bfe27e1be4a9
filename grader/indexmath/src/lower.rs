//! Fixed sizes: a resolved program becomes loop nests over flat arrays.
//!
//! Every nest adds a body without reductions to an array: `target[subscripts] += body`. The sums of a body
//! that are added to the result become nests of their own; a sum elsewhere, and every other reduction, is
//! first computed for all values of its free indices, into a temporary. `emit` makes the code of the bodies.

use std::collections::BTreeMap;

use crate::affine::{Affine, Sub};
use crate::ast::{Int, IntKind};
use crate::emit::Lowering;
use crate::error::{Error, Result};
use crate::infer::different_sizes;
use crate::ir::{IndexId, Node, Program};
use crate::ops::{Cmp, Func, Junction, Op, Reduction};
use crate::shape::{DType, Dims, eval};
use crate::span::Span;

/// Elements of one tensor, and iterations of one index: less than this.
const MAX_ELEMENTS: i64 = 1 << 31;

/// A tensor at fixed sizes.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub name: String,
    pub dtype: DType,
    pub shape: Vec<usize>,
    pub strides: Vec<i64>,
    pub len: usize,
}

impl Layout {
    /// The coordinates of an element.
    pub(crate) fn coords(&self, flat: usize) -> Vec<i64> {
        let axes = self.strides.iter().zip(&self.shape);
        axes.map(|(stride, &size)| flat as i64 / stride % size as i64).collect()
    }
}

/// All that evaluation needs.
#[derive(Clone, Debug)]
pub(crate) struct Lowered {
    pub tensors: Vec<Layout>,
    pub by_name: BTreeMap<String, usize>,
    /// For each index: its name and how many values it has.
    pub names: Vec<String>,
    pub ranges: Vec<i64>,
    pub statements: Vec<Nests>,
}

/// A statement.
#[derive(Clone, Debug)]
pub(crate) struct Nests {
    /// A tensor.
    pub target: usize,
    pub parts: Vec<PartNests>,
    /// Tensors that are read, each once.
    pub reads: Vec<usize>,
    /// In which a kernel computes the body: f64, i32, or f32 for all else. Integers that come from
    /// floating-point numbers are computed as such.
    pub work: DType,
}

/// A part of a statement. Parts may share indices, but not the values that reach an element.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartNests {
    /// In an order in which temporaries are complete before they are read.
    pub nests: Vec<Nest>,
    /// The free indices of each temporary: its axes.
    pub temporaries: Vec<Vec<IndexId>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Array {
    Tensor(usize),
    Temporary(usize),
}

/// Elements of an array, chosen by subscripts.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub array: Array,
    pub subs: Vec<Sub>,
    pub padded: bool,
    /// What a padded read gives outside.
    pub outside: f64,
}

/// For all values of `loops`: `target += code`, or the winner of all.
#[derive(Clone, Debug)]
pub(crate) struct Nest {
    pub loops: Vec<IndexId>,
    pub target: Access,
    pub reads: Vec<Access>,
    /// Integer expressions that stand as numbers.
    pub ints: Vec<Sub>,
    /// In postfix order.
    pub code: Vec<Instr>,
    /// The body is this number times the product of all `reads`.
    pub product: Option<f64>,
    /// `None`: a sum.
    pub contest: Option<Contest>,
}

/// A reduction in which one iteration wins.
#[derive(Clone, Debug)]
pub(crate) struct Contest {
    pub reduction: Reduction,
    /// The place of an iteration, row-major.
    pub place: Affine,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Instr {
    Const(f64),
    /// 0, as no term at all.
    Nothing,
    /// A place in [`Nest::reads`].
    Load(usize),
    /// A place in [`Nest::ints`].
    Int(usize),
    Neg,
    Binary(Op),
    /// From here on, what rounding did so far is an error that the value has.
    Settle,
    /// Of settled values, except for `abs`.
    Call(Func),
    /// Of settled values.
    Compare(Cmp),
    Join(Junction),
    /// Condition, value if it holds, value if not.
    Select,
}

impl Lowered {
    pub(crate) fn new(program: &Program, dims: &Dims) -> Result<Self> {
        let mut tensors = Vec::new();
        let mut by_name = BTreeMap::new();
        for (name, tensor) in &program.tensors {
            by_name.insert(name.clone(), tensors.len());
            tensors.push(layout(name, tensor, dims)?);
        }
        let names = program.indices.iter().map(|index| index.name.clone()).collect();
        let mut ranges = Vec::new();
        for index in &program.indices {
            let range = eval(&index.range, dims, &|_| None)?;
            if !(1..MAX_ELEMENTS).contains(&range) {
                let message = format!("the range of the index `{}` is {range}", index.name);
                return Err(Error::new(index.range.span, message).help("ranges are at least 1"));
            }
            ranges.push(range);
        }
        for same in &program.same {
            let values = (
                eval(&same.first.size, dims, &|_| None)?,
                eval(&same.second.size, dims, &|_| None)?,
            );
            if values.0 != values.1 {
                let name = &program.indices[same.index].name;
                let (first, second) = (&same.first, &same.second);
                return Err(different_sizes(name, same.span, first, second, Some(values)));
            }
        }
        let mut lowered = Self { tensors, by_name, names, ranges, statements: Vec::new() };
        for statement in &program.statements {
            let target = lowered.by_name[&statement.target];
            let work = lowered.tensors[target].dtype;
            let nests = Nests { target, parts: Vec::new(), reads: Vec::new(), work };
            let own = PartNests::default();
            let mut lowering = Lowering { program, dims, all: &lowered, nests, own };
            for part in &statement.parts {
                lowering.part(&statement.target, part)?;
            }
            let mut nests = lowering.nests;
            nests.work = lowered.work(&nests);
            lowered.statements.push(nests);
        }
        Ok(lowered)
    }

    fn work(&self, nests: &Nests) -> DType {
        let read = |dtype| nests.reads.iter().any(|&id| self.tensors[id].dtype == dtype);
        let floats = nests.reads.iter().any(|&id| self.tensors[id].dtype.is_float());
        match self.tensors[nests.target].dtype {
            DType::I32 if read(DType::F64) => DType::F64,
            DType::I32 if floats => DType::F32,
            DType::F16 | DType::BF16 => DType::F32,
            own => own,
        }
    }
}

fn layout(name: &str, tensor: &crate::shape::TensorType, dims: &Dims) -> Result<Layout> {
    // Shapes are texts of their own, so their spans mean nothing in the formula.
    let unplaced = |error: Error| Error { span: Span::default(), ..error };
    let mut shape = Vec::new();
    let mut len = 1_i64;
    for (axis, size) in tensor.shape.iter().enumerate() {
        let value = size.eval(dims).map_err(|error| {
            let message = format!("axis {axis} of `{name}` ({size}): {}", error.message);
            Error { message, ..unplaced(error) }
        })?;
        if value < 1 {
            let message = format!("axis {axis} of `{name}` ({size}) has size {value}");
            return Err(Error::new(Span::default(), message).help("every size is at least 1"));
        }
        len = len.checked_mul(value).filter(|len| *len < MAX_ELEMENTS).ok_or_else(|| {
            Error::new(Span::default(), format!("`{name}` would have 2^31 elements or more"))
                .help("choose smaller sizes")
        })?;
        shape.push(value as usize);
    }
    let strides = strides(&shape);
    Ok(Layout { name: name.to_owned(), dtype: tensor.dtype, shape, strides, len: len as usize })
}

/// Row-major.
pub(crate) fn strides(shape: &[usize]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis] as i64;
    }
    strides
}

/// A summand of a body: its loops, its sign, and what is added.
pub(crate) struct Summand<'a> {
    pub loops: Vec<IndexId>,
    pub negative: bool,
    pub node: &'a Node,
}

/// The value of a size that stands as a number.
pub(crate) fn size(name: &str, span: Span, dims: &Dims) -> Result<i64> {
    eval(&Int::new(IntKind::Name(name.to_owned()), span), dims, &|_| None)
}

pub(crate) fn split<'a>(
    node: &'a Node,
    negative: bool,
    loops: Vec<IndexId>,
    into: &mut Vec<Summand<'a>>,
) {
    match node {
        Node::Neg(inner) => split(inner, !negative, loops, into),
        Node::Binary(op @ (Op::Add | Op::Sub), left, right) => {
            split(left, negative, loops.clone(), into);
            split(right, negative != (*op == Op::Sub), loops, into);
        }
        Node::Reduce(Reduction::Sum, bound, body) => {
            let loops = [loops.as_slice(), bound].concat();
            split(body, negative, loops, into);
        }
        _ => into.push(Summand { loops, negative, node }),
    }
}
