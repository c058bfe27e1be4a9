//! Fixed sizes: a resolved program becomes loop nests over flat arrays.
//!
//! Every nest adds a body without sums to an array: `target[subscripts] += body`. The sums of a body
//! that are added to the result become nests of their own; a sum inside a product or a quotient is
//! first computed for all values of its free indices, into a temporary.

use std::collections::BTreeMap;

use crate::affine::{Affine, Sub};
use crate::ast::{Int, IntKind, Op, Read};
use crate::error::{Error, Result};
use crate::infer::different_sizes;
use crate::ir::{IndexId, Node, Part, Program};
use crate::prove::{Place, check};
use crate::shape::{DType, DimExpr, Dims, eval};
use crate::span::Span;

/// Elements of one tensor, and iterations of one index: less than this.
const MAX_ELEMENTS: i64 = 1 << 31;
/// Values of one temporary: less than this.
const MAX_TEMPORARY: i64 = 1 << 28;

/// A tensor at fixed sizes.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub name: String,
    pub dtype: DType,
    pub shape: Vec<usize>,
    pub strides: Vec<i64>,
    pub len: usize,
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
}

/// For all values of `loops`: `target += code`.
#[derive(Clone, Debug)]
pub(crate) struct Nest {
    pub loops: Vec<IndexId>,
    pub target: Access,
    pub reads: Vec<Access>,
    /// In postfix order.
    pub code: Vec<Instr>,
    /// The body is this number times the product of all `reads`.
    pub product: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Instr {
    Const(f64),
    /// A place in [`Nest::reads`].
    Load(usize),
    Neg,
    Binary(Op),
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
            let nests = Nests { target, parts: Vec::new(), reads: Vec::new() };
            let own = PartNests::default();
            let mut lowering = Lowering { program, dims, all: &lowered, nests, own };
            for part in &statement.parts {
                lowering.part(&statement.target, part)?;
            }
            let nests = lowering.nests;
            lowered.statements.push(nests);
        }
        Ok(lowered)
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

struct Lowering<'a> {
    program: &'a Program,
    dims: &'a Dims,
    all: &'a Lowered,
    nests: Nests,
    /// The part at hand.
    own: PartNests,
}

impl Lowering<'_> {
    fn part(&mut self, target: &str, part: &Part) -> Result<()> {
        let subs = self.subs(target, &part.subscripts, part.padded)?;
        let array = Array::Tensor(self.nests.target);
        let target = Access { array, subs, padded: part.padded };
        self.add(&target, &part.loops, &part.body)?;
        self.nests.parts.push(std::mem::take(&mut self.own));
        Ok(())
    }

    /// Nests that add `node` to `target` for all values of `loops`.
    fn add(&mut self, target: &Access, loops: &[IndexId], node: &Node) -> Result<()> {
        let mut summands = Vec::new();
        split(node, false, loops.to_vec(), &mut summands);
        for Summand { loops, negative, node } in summands {
            let mut nest = Nest {
                loops,
                target: target.clone(),
                reads: Vec::new(),
                code: Vec::new(),
                product: None,
            };
            self.emit(node, &mut nest)?;
            if negative {
                nest.code.push(Instr::Neg);
            }
            nest.product = product(&nest);
            self.own.nests.push(nest);
        }
        Ok(())
    }

    fn emit(&mut self, node: &Node, nest: &mut Nest) -> Result<()> {
        match node {
            Node::Number(value) => nest.code.push(Instr::Const(*value)),
            Node::Size(name, span) => {
                nest.code.push(Instr::Const(size(name, *span, self.dims)? as f64));
            }
            Node::Read(read) => {
                let access = self.access(read)?;
                nest.code.push(Instr::Load(nest.reads.len()));
                nest.reads.push(access);
            }
            Node::Neg(inner) => {
                self.emit(inner, nest)?;
                nest.code.push(Instr::Neg);
            }
            Node::Binary(op, left, right) => {
                self.emit(left, nest)?;
                self.emit(right, nest)?;
                nest.code.push(Instr::Binary(*op));
            }
            Node::Sum(bound, body) => {
                let access = self.temporary(bound, body, &nest.loops)?;
                nest.code.push(Instr::Load(nest.reads.len()));
                nest.reads.push(access);
            }
        }
        Ok(())
    }

    /// Nests that compute a sum for all values of its free indices; gives how to read it.
    fn temporary(&mut self, bound: &[IndexId], body: &Node, loops: &[IndexId]) -> Result<Access> {
        let used = body.used_indices();
        let free: Vec<IndexId> = loops.iter().copied().filter(|id| used.contains(id)).collect();
        let size = free.iter().try_fold(1_i64, |size, &id| size.checked_mul(self.all.ranges[id]));
        if size.is_none_or(|size| size >= MAX_TEMPORARY) {
            let message = "a sum in a product or quotient would need 2^28 values or more";
            return Err(Error::new(Span::default(), message)
                .help("compute the sum in a statement of its own, or choose smaller sizes"));
        }
        let array = Array::Temporary(self.own.temporaries.len());
        self.own.temporaries.push(free.clone());
        let subs = free.iter().map(|&id| Sub::Affine(Affine::index(id))).collect();
        let access = Access { array, subs, padded: false };
        let all = [free.as_slice(), bound].concat();
        self.add(&access, &all, body)?;
        Ok(access)
    }

    fn access(&mut self, read: &Read) -> Result<Access> {
        let tensor = self.all.by_name[&read.tensor];
        if !self.nests.reads.contains(&tensor) {
            self.nests.reads.push(tensor);
        }
        let subs = self.subs(&read.tensor, &read.subscripts, read.padded)?;
        Ok(Access { array: Array::Tensor(tensor), subs, padded: read.padded })
    }

    fn subs(&self, tensor: &str, subscripts: &[Int], padded: bool) -> Result<Vec<Sub>> {
        let layout = &self.all.tensors[self.all.by_name[tensor]];
        let declared: &[DimExpr] = &self.program.tensors[tensor].shape;
        let mut subs = Vec::new();
        for (axis, subscript) in subscripts.iter().enumerate() {
            let sub = Sub::new(subscript, self.dims)?;
            let place = Place {
                tensor,
                axis,
                size: layout.shape[axis] as i64,
                size_text: &declared[axis].to_string(),
                padded,
                names: &self.all.names,
            };
            check(subscript, &sub, &place, &self.all.ranges)?;
            subs.push(sub);
        }
        Ok(subs)
    }
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
        Node::Sum(bound, body) => {
            let loops = [loops.as_slice(), bound].concat();
            split(body, negative, loops, into);
        }
        _ => into.push(Summand { loops, negative, node }),
    }
}

/// The constant factor, if the code is one times a product of all reads.
fn product(nest: &Nest) -> Option<f64> {
    // Constant parts of the operands; reads are left out.
    let mut stack: Vec<(f64, bool)> = Vec::new();
    for instr in &nest.code {
        let value = match instr {
            Instr::Const(value) => (*value, true),
            Instr::Load(_) => (1.0, false),
            Instr::Neg => {
                let (value, constant) = stack.pop()?;
                (-value, constant)
            }
            Instr::Binary(op) => {
                let ((b, b_constant), (a, a_constant)) = (stack.pop()?, stack.pop()?);
                let constant = a_constant && b_constant;
                match op {
                    Op::Mul => (a * b, constant),
                    Op::Div if b_constant => (a / b, constant),
                    Op::Add if constant => (a + b, true),
                    Op::Sub if constant => (a - b, true),
                    _ => return None,
                }
            }
        };
        stack.push(value);
    }
    let (factor, _) = stack.pop()?;
    let tensors = nest.reads.iter().all(|read| matches!(read.array, Array::Tensor(_)));
    (tensors && factor.is_finite()).then_some(factor)
}
