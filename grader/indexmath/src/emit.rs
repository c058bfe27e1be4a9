//! Bodies become postfix code, reads become accesses, inner reductions become temporaries.

use crate::affine::{Affine, Gather, Sub, substitute};
use crate::ast::{Int, IntKind, Read};
use crate::error::{Error, Result};
use crate::ir::{IndexId, Node, Part, Program};
use crate::lower::{
    Access, Array, Contest, Instr, Lowered, Nest, Nests, PartNests, Summand, size, split,
};
use crate::ops::{Cond, Func, Op, Reduction};
use crate::prove::{Place, check, check_number};
use crate::shape::{DimExpr, Dims};
use crate::span::Span;

/// Values of one temporary: less than this.
const MAX_TEMPORARY: i64 = 1 << 28;

pub(crate) struct Lowering<'a> {
    pub program: &'a Program,
    pub dims: &'a Dims,
    pub all: &'a Lowered,
    pub nests: Nests,
    /// The part at hand.
    pub own: PartNests,
}

impl Lowering<'_> {
    pub(crate) fn part(&mut self, target: &str, part: &Part) -> Result<()> {
        let subs = self.subs(target, &part.subscripts, part.padded)?;
        let array = Array::Tensor(self.nests.target);
        let target = Access { array, subs, padded: part.padded, outside: 0.0 };
        self.add(&target, &part.loops, &part.body)?;
        self.nests.parts.push(std::mem::take(&mut self.own));
        Ok(())
    }

    /// Nests that add `node` to `target` for all values of `loops`.
    fn add(&mut self, target: &Access, loops: &[IndexId], node: &Node) -> Result<()> {
        let mut summands = Vec::new();
        split(node, false, loops.to_vec(), &mut summands);
        for Summand { loops, negative, node } in summands {
            let mut nest = empty(loops, target);
            self.emit(node, &mut nest, Reduction::Sum)?;
            if negative {
                nest.code.push(Instr::Neg);
            }
            nest.product = product(&nest);
            self.own.nests.push(nest);
        }
        Ok(())
    }

    /// A nest that puts the winner of `node` over `bound` into `target`.
    fn contest(
        &mut self,
        target: &Access,
        loops: Vec<IndexId>,
        (reduction, bound): (Reduction, &[IndexId]),
        node: &Node,
    ) -> Result<()> {
        let mut nest = empty(loops, target);
        self.emit(node, &mut nest, reduction)?;
        nest.code.push(Instr::Settle);
        let mut place = Affine::default();
        let mut stride = 1_i64;
        for &id in bound.iter().rev() {
            place.terms.push((id, stride));
            stride = stride.checked_mul(self.all.ranges[id]).ok_or_else(|| {
                Error::new(Span::default(), "a reduction over 2^63 values or more")
                    .help("choose smaller sizes")
            })?;
        }
        nest.contest = Some(Contest { reduction, place });
        self.own.nests.push(nest);
        Ok(())
    }

    /// Code that leaves the value of `node` on the stack; `around` is the reduction that encloses it.
    fn emit(&mut self, node: &Node, nest: &mut Nest, around: Reduction) -> Result<()> {
        match node {
            Node::Number(value) => nest.code.push(Instr::Const(*value)),
            Node::Size(name, span) => {
                nest.code.push(Instr::Const(size(name, *span, self.dims)? as f64));
            }
            Node::Index(int) => {
                let sub = self.sub(int)?;
                check_number(int, &sub, &self.all.ranges)?;
                nest.code.push(Instr::Int(nest.ints.len()));
                nest.ints.push(sub);
            }
            Node::Read(read) => {
                let access = self.access(read, around.identity())?;
                nest.code.push(Instr::Load(nest.reads.len()));
                nest.reads.push(access);
            }
            Node::Neg(inner) => {
                self.emit(inner, nest, around)?;
                nest.code.push(Instr::Neg);
            }
            Node::Binary(op, left, right) => {
                self.emit(left, nest, around)?;
                self.emit(right, nest, around)?;
                nest.code.push(Instr::Binary(*op));
            }
            Node::Reduce(reduction, bound, body) => {
                let access = self.temporary(*reduction, bound, body, &nest.loops)?;
                nest.code.push(Instr::Load(nest.reads.len()));
                nest.reads.push(access);
            }
            Node::Call(func, values) => {
                for value in values {
                    self.emit(value, nest, around)?;
                    if *func != Func::Abs {
                        nest.code.push(Instr::Settle);
                    }
                }
                nest.code.push(Instr::Call(*func));
            }
            Node::Select(cond, yes, no) => {
                self.condition(cond, nest, around)?;
                for branch in [yes, no] {
                    if branch.is_zero() {
                        nest.code.push(Instr::Nothing);
                    } else {
                        self.emit(branch, nest, around)?;
                    }
                }
                nest.code.push(Instr::Select);
            }
        }
        Ok(())
    }

    fn condition(&mut self, cond: &Cond<Node>, nest: &mut Nest, around: Reduction) -> Result<()> {
        match cond {
            Cond::Compare(cmp, left, right) => {
                for value in [left, right] {
                    self.emit(value, nest, around)?;
                    nest.code.push(Instr::Settle);
                }
                nest.code.push(Instr::Compare(*cmp));
            }
            Cond::Join(junction, left, right) => {
                self.condition(left, nest, around)?;
                self.condition(right, nest, around)?;
                nest.code.push(Instr::Join(*junction));
            }
        }
        Ok(())
    }

    /// Nests that compute a reduction for all values of its free indices; gives how to read it.
    fn temporary(
        &mut self,
        reduction: Reduction,
        bound: &[IndexId],
        body: &Node,
        loops: &[IndexId],
    ) -> Result<Access> {
        let used = body.used_indices();
        let free: Vec<IndexId> = loops.iter().copied().filter(|id| used.contains(id)).collect();
        let size = free.iter().try_fold(1_i64, |size, &id| size.checked_mul(self.all.ranges[id]));
        if size.is_none_or(|size| size >= MAX_TEMPORARY) {
            let name = reduction.name();
            let message = format!("a `{name}` inside an expression would need 2^28 values or more");
            return Err(Error::new(Span::default(), message).help(format!(
                "compute the `{name}` in a statement of its own, or choose smaller sizes"
            )));
        }
        let array = Array::Temporary(self.own.temporaries.len());
        self.own.temporaries.push(free.clone());
        let subs = free.iter().map(|&id| Sub::Affine(Affine::index(id))).collect();
        let access = Access { array, subs, padded: false, outside: 0.0 };
        let all = [free.as_slice(), bound].concat();
        if reduction == Reduction::Sum {
            self.add(&access, &all, body)?;
        } else {
            self.contest(&access, all, (reduction, bound), body)?;
        }
        Ok(access)
    }

    fn access(&mut self, read: &Read, outside: f64) -> Result<Access> {
        let tensor = self.all.by_name[&read.tensor];
        if !self.nests.reads.contains(&tensor) {
            self.nests.reads.push(tensor);
        }
        let subs = self.subs(&read.tensor, &read.subscripts, read.padded)?;
        Ok(Access { array: Array::Tensor(tensor), subs, padded: read.padded, outside })
    }

    fn subs(&mut self, tensor: &str, subscripts: &[Int], padded: bool) -> Result<Vec<Sub>> {
        let layout = &self.all.tensors[self.all.by_name[tensor]];
        let declared: &[DimExpr] = &self.program.tensors[tensor].shape;
        let mut subs = Vec::new();
        for (axis, subscript) in subscripts.iter().enumerate() {
            let sub = self.sub(subscript)?;
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

    fn sub(&mut self, int: &Int) -> Result<Sub> {
        if !int.has_elements() {
            return Sub::new(int, self.dims);
        }
        let first = self.all.ranges.len();
        let mut elements = Vec::new();
        let plain = self.without_elements(int, first, &mut elements)?;
        let int = substitute(&plain, self.dims)?;
        Ok(Sub::Gather(Box::new(Gather { int, first, elements })))
    }

    /// Puts the index `first + k` in the place of the element `k`.
    fn without_elements(
        &mut self,
        int: &Int,
        first: IndexId,
        elements: &mut Vec<Access>,
    ) -> Result<Int> {
        let kind = match &int.kind {
            IntKind::Element(read) => {
                let access = self.access(read, 0.0)?;
                elements.push(access);
                IntKind::Index(first + elements.len() - 1)
            }
            IntKind::Neg(inner) => {
                IntKind::Neg(Box::new(self.without_elements(inner, first, elements)?))
            }
            IntKind::Binary(op, left, right) => IntKind::Binary(
                *op,
                Box::new(self.without_elements(left, first, elements)?),
                Box::new(self.without_elements(right, first, elements)?),
            ),
            leaf => leaf.clone(),
        };
        Ok(Int::new(kind, int.span))
    }
}

fn empty(loops: Vec<IndexId>, target: &Access) -> Nest {
    Nest {
        loops,
        target: target.clone(),
        reads: Vec::new(),
        ints: Vec::new(),
        code: Vec::new(),
        product: None,
        contest: None,
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
            _ => return None,
        };
        stack.push(value);
    }
    let (factor, _) = stack.pop()?;
    let tensors = nest.reads.iter().all(|read| matches!(read.array, Array::Tensor(_)));
    (tensors && factor.is_finite()).then_some(factor)
}
