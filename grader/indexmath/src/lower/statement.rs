//! Lowering of a statement: bodies become postfix code, reads become accesses, inner reductions become temporaries.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::integer::affine::Affine;
use crate::integer::evaluate::{Dims, fold_constants, named_size};
use crate::integer::interval::Interval;
use crate::lower::bounds_check::{SubscriptSite, check_number, check_subscript};
use crate::lower::nest::{
    Access, Array, ElementAccess, Fold, IndirectSubscript, Instr, LoopNest, LoweredContribution,
    LoweredGuard, LoweredProgram, LoweredRecurrence, LoweredStatement, Running, Side, Subscript,
    TensorId,
};
use crate::lower::summands::{Summand, split_summands};
use crate::program::ir::{Assignment, Contribution, Program, Recurrence, error_of};
use crate::program::node::{Guard, IndexId, Node};
use crate::shape::DimExpr;
use crate::syntax::int_expr::{IntExpr, IntKind, Read};
use crate::syntax::operators::{Condition, Connective, Function, Op, Reduction};

/// The elements of one temporary are less than this.
const MAX_TEMPORARY: i64 = 1 << 28;

/// Lowers a statement of `program`. `lowered` holds the layouts of all tensors and the ranges of all indices.
///
/// # Errors
/// Subscripts that can leave their tensor, and reductions inside an expression that would need too large a temporary.
pub(crate) fn lower_statement(
    statement: &Assignment,
    program: &Program,
    dims: &Dims,
    lowered: &LoweredProgram,
) -> Result<LoweredStatement> {
    let target = lowered.by_name[&statement.target];
    let mut reads = Vec::new();
    let lower = |all: &[Contribution], reads: &mut Vec<TensorId>| {
        let mut contributions = Vec::new();
        for contribution in all {
            let own = LoweredContribution::default();
            let (read, around) = (std::mem::take(reads), Vec::new());
            let mut lowering = Lowering { program, dims, lowered, reads: read, own, around };
            lowering.contribution(target, contribution)?;
            *reads = lowering.reads;
            contributions.push(lowering.own);
        }
        Ok::<_, Error>(contributions)
    };
    let contributions = lower(&statement.contributions, &mut reads)?;
    let compute_type = compute_type(target, &reads, lowered);
    let recurrence = match &statement.recurrence {
        None => None,
        Some(Recurrence { axis, backwards, errors }) => {
            // The errors belong to the evaluation; what else is read here, the contributions read too.
            let propagated = errors.as_ref().map(|all| lower(all, &mut Vec::new())).transpose()?;
            let running = running(target, *axis, &contributions, &lowered.ranges);
            let running = running.filter(|running| !running.scaled || propagated.is_some());
            let error = lowered.by_name[&error_of(&statement.target)];
            let (axis, backwards) = (*axis, *backwards);
            Some(LoweredRecurrence { axis, backwards, propagated, error, running })
        }
    };
    Ok(LoweredStatement { target, contributions, reads, compute_type, recurrence })
}

/// The slices that are made of the slice before element by element, where the target is read nowhere else.
fn running(
    target: TensorId,
    axis: usize,
    contributions: &[LoweredContribution],
    ranges: &[i64],
) -> Option<Running> {
    let mut found = None;
    for nest in contributions.iter().flat_map(|contribution| &contribution.nests) {
        let own = |read: &&Access| read.array == Array::Tensor(target);
        let mut reads = nest.reads.iter().filter(own);
        let Some(read) = reads.next() else { continue };
        let whole = nest.target.array == Array::Tensor(target) && nest.guards.is_empty();
        if reads.next().is_some() || !whole || read.padded || found.is_some() {
            return None;
        }
        let (to, from) = (nest.target.affine_subscripts()?, read.affine_subscripts()?);
        let [(step, 1)] = to[axis].terms.as_slice() else { return None };
        let moved = to[axis].terms == from[axis].terms
            && (to[axis].constant - from[axis].constant).abs() == 1;
        let others = (0..to.len()).all(|other| other == axis || to[other] == from[other]);
        if !moved || !others {
            return None;
        }
        let (first, scaled) =
            (to[axis].constant, nest.product != Some(1.0) || nest.reads.len() > 1);
        found = Some(Running { first, last: first + ranges[*step] - 1, scaled });
    }
    found
}

fn compute_type(target: TensorId, reads: &[TensorId], lowered: &LoweredProgram) -> DType {
    let types = || reads.iter().map(|&id| lowered.tensors[id].dtype);
    let own = lowered.tensors[target].dtype;
    let reads = |dtype| types().any(|read| read == dtype);
    match own {
        DType::F32 | DType::F64 => own,
        DType::F16 | DType::BF16 => DType::F32,
        DType::I32 | DType::I64 | DType::U8 if reads(DType::F64) => DType::F64,
        DType::I32 | DType::I64 | DType::U8 if types().any(DType::is_float) => DType::F32,
        // As C++ promotes integers.
        DType::I32 | DType::U8 if !reads(DType::I64) => DType::I32,
        DType::I32 | DType::I64 | DType::U8 => DType::I64,
    }
}

/// What stands around a body.
struct Around {
    loops: Vec<IndexId>,
    guards: Vec<LoweredGuard>,
}

/// The lowering of one contribution.
struct Lowering<'a> {
    program: &'a Program,
    dims: &'a Dims,
    lowered: &'a LoweredProgram,
    /// The tensors that the statement reads so far, each once.
    reads: Vec<TensorId>,
    own: LoweredContribution,
    /// The guards of the nest that is being lowered.
    around: Vec<LoweredGuard>,
}

impl Lowering<'_> {
    fn contribution(&mut self, target: TensorId, contribution: &Contribution) -> Result<()> {
        let Contribution { loops, subscripts, padded, body } = contribution;
        let name = &self.lowered.tensors[target].name;
        let (guards, body) = body.without_guards();
        let guards = self.guards(&[], guards.iter().collect())?;
        let around = Around { loops: loops.clone(), guards };
        self.around.clone_from(&around.guards);
        let subscripts = self.subscripts(name, subscripts, *padded)?;
        let array = Array::Tensor(target);
        let target = Access { array, subscripts, padded: *padded, outside: 0.0 };
        self.add(&target, around, body)
    }

    /// Appends the nests that add `node` to `target` for all values of `loops`.
    fn add(&mut self, target: &Access, around: Around, node: &Node) -> Result<()> {
        for Summand { loops, guards, negative, node } in split_summands(node, around.loops) {
            let guards = self.guards(&around.guards, guards)?;
            let mut nest = self.empty_nest(Around { loops, guards }, target);
            self.emit(node, &mut nest, Reduction::Sum)?;
            if negative {
                nest.code.push(Instr::Neg);
            }
            nest.product = product(&nest);
            self.own.nests.push(nest);
        }
        Ok(())
    }

    /// Appends a nest that puts the product, the extremum, or its position, of `node` over `bound` into `target`.
    fn fold(
        &mut self,
        target: &Access,
        around: Around,
        (reduction, bound): (Reduction, &[IndexId]),
        node: &Node,
    ) -> Result<()> {
        let (own, node) = node.without_guards();
        let guards = self.guards(&around.guards, own.iter().collect())?;
        let mut nest = self.empty_nest(Around { guards, ..around }, target);
        self.emit(node, &mut nest, reduction)?;
        nest.code.push(Instr::Enclose);
        let mut position = Affine::default();
        let mut stride = 1_i64;
        for &id in bound.iter().rev() {
            position.terms.push((id, stride));
            stride = stride.checked_mul(self.lowered.ranges[id]).ok_or_else(|| {
                Error::unplaced("a reduction over 2^63 values or more").help("choose smaller sizes")
            })?;
        }
        nest.fold = Some(Fold { reduction, position });
        self.own.nests.push(nest);
        Ok(())
    }

    /// A nest without code, which is lowered next.
    fn empty_nest(&mut self, around: Around, target: &Access) -> LoopNest {
        self.around.clone_from(&around.guards);
        LoopNest {
            loops: around.loops,
            guards: around.guards,
            target: target.clone(),
            reads: Vec::new(),
            ints: Vec::new(),
            code: Vec::new(),
            product: None,
            fold: None,
        }
    }

    /// The guards `outer`, and `own` at fixed sizes.
    fn guards(&mut self, outer: &[LoweredGuard], own: Vec<&Guard>) -> Result<Vec<LoweredGuard>> {
        let mut guards = outer.to_vec();
        for guard in own {
            let written = guard.slack();
            let slack = self.subscript(&written)?;
            check_number(&written, &slack, &self.lowered.ranges)?;
            let limited = match (guard.left.as_index(), guard.right.as_index()) {
                (Some(id), _) => Some((id, Side::Above)),
                (None, Some(id)) => Some((id, Side::Below)),
                (None, None) => None,
            };
            guards.push(LoweredGuard { slack, limited });
            for part in guard.parts() {
                let slack = self.subscript(&part.slack())?;
                if matches!(slack, Subscript::Affine(_)) {
                    guards.push(LoweredGuard { slack, limited: None });
                }
            }
        }
        Ok(guards)
    }

    /// Emits code that leaves the value of `node` on the stack; `around` is the reduction that encloses it.
    fn emit(&mut self, node: &Node, nest: &mut LoopNest, around: Reduction) -> Result<()> {
        match node {
            Node::Number(value) => nest.code.push(Instr::Const(*value)),
            Node::Size(name, span) => {
                nest.code.push(Instr::Const(named_size(name, *span, self.dims)? as f64));
            }
            Node::Index(int) => {
                let subscript = self.subscript(int)?;
                check_number(int, &subscript, &self.lowered.ranges)?;
                nest.code.push(Instr::Integer(nest.ints.len()));
                nest.ints.push(subscript);
            }
            Node::Read(read) => {
                let access = self.access(read, around.identity())?;
                load(access, nest);
            }
            Node::Neg(inner) => {
                self.emit(inner, nest, around)?;
                nest.code.push(Instr::Neg);
            }
            Node::Binary(op, left, right) => {
                for (side, factor) in
                    [(left, *op == Op::Mul), (right, matches!(op, Op::Mul | Op::Div))]
                {
                    self.emit(side, nest, around)?;
                    if factor && is_sum(side) {
                        nest.code.push(Instr::EncloseFactor);
                    }
                }
                nest.code.push(Instr::Binary(*op));
            }
            Node::Reduce(reduction, bound, body) => {
                let access = self.temporary(*reduction, bound, body, nest)?;
                load(access, nest);
            }
            // Guards stand around the body of a reduction or a contribution, where `add` and `fold` take them.
            Node::Where(guards, body) => {
                let conditions = guards.iter().map(Guard::condition);
                match conditions.reduce(|a, b| Condition::join(Connective::And, a, b)) {
                    None => self.emit(body, nest, around)?,
                    Some(all) => {
                        let identity = Node::Number(around.identity());
                        let chosen = Node::select(all, body.as_ref().clone(), identity);
                        self.emit(&chosen, nest, around)?;
                    }
                }
            }
            Node::Call(function, values) => {
                for value in values {
                    self.emit(value, nest, around)?;
                    if *function != Function::Abs {
                        nest.code.push(Instr::Enclose);
                    }
                }
                nest.code.push(Instr::Call(*function));
            }
            Node::Select(condition, yes, no) => {
                self.condition(condition, nest, around)?;
                for branch in [yes, no] {
                    if branch.is_zero() {
                        nest.code.push(Instr::NoTerm);
                    } else {
                        self.emit(branch, nest, around)?;
                    }
                }
                nest.code.push(Instr::Select);
            }
        }
        Ok(())
    }

    fn condition(
        &mut self,
        condition: &Condition<Node>,
        nest: &mut LoopNest,
        around: Reduction,
    ) -> Result<()> {
        match condition {
            Condition::Compare(comparison, left, right) => {
                for value in [left, right] {
                    self.emit(value, nest, around)?;
                    nest.code.push(Instr::Enclose);
                }
                nest.code.push(Instr::Compare(*comparison));
            }
            Condition::Join(connective, left, right) => {
                self.condition(left, nest, around)?;
                self.condition(right, nest, around)?;
                nest.code.push(Instr::Join(*connective));
            }
        }
        Ok(())
    }

    /// Appends the nests that compute a reduction for all values of its free indices, which are some of the loops
    /// of `nest`. Gives the access that reads the result.
    fn temporary(
        &mut self,
        reduction: Reduction,
        bound: &[IndexId],
        body: &Node,
        nest: &LoopNest,
    ) -> Result<Access> {
        let used = body.used_indices();
        let free = nest.loops.iter().copied().filter(|id| used.contains(id));
        let free: Vec<IndexId> = free.collect();
        let ranges = &self.lowered.ranges;
        let size = free.iter().try_fold(1_i64, |size, &id| size.checked_mul(ranges[id]));
        if size.is_none_or(|size| size >= MAX_TEMPORARY) {
            let name = reduction.name();
            let message = format!("a `{name}` inside an expression would need 2^28 values or more");
            return Err(Error::unplaced(message).help(format!(
                "compute the `{name}` in a statement of its own, or choose smaller sizes"
            )));
        }
        let array = Array::Temporary(self.own.temporaries.len());
        self.own.temporaries.push(free.clone());
        let subscripts = free.iter().map(|&id| Subscript::Affine(Affine::index(id))).collect();
        let access = Access { array, subscripts, padded: false, outside: 0.0 };
        // It is needed only where the guards of the nest hold.
        let apply =
            |guard: &&LoweredGuard| guard.slack.indices().iter().all(|id| free.contains(id));
        let guards = nest.guards.iter().filter(apply).cloned().collect();
        let around = Around { loops: [free.as_slice(), bound].concat(), guards };
        if reduction == Reduction::Sum {
            self.add(&access, around, body)?;
        } else {
            self.fold(&access, around, (reduction, bound), body)?;
        }
        self.around.clone_from(&nest.guards);
        Ok(access)
    }

    fn access(&mut self, read: &Read, outside: f64) -> Result<Access> {
        let tensor = self.lowered.by_name[&read.tensor];
        if !self.reads.contains(&tensor) {
            self.reads.push(tensor);
        }
        let subscripts = self.subscripts(&read.tensor, &read.subscripts, read.padded)?;
        Ok(Access { array: Array::Tensor(tensor), subscripts, padded: read.padded, outside })
    }

    fn subscripts(
        &mut self,
        tensor: &str,
        subscripts: &[IntExpr],
        padded: bool,
    ) -> Result<Vec<Subscript>> {
        let layout = &self.lowered.tensors[self.lowered.by_name[tensor]];
        let declared: &[DimExpr] = &self.program.tensors[tensor].shape;
        let mut checked = Vec::new();
        for (axis, written) in subscripts.iter().enumerate() {
            let subscript = self.subscript(written)?;
            let site = SubscriptSite {
                tensor,
                axis,
                size: layout.shape[axis] as i64,
                size_text: &declared[axis].to_string(),
                padded,
                index_names: &self.lowered.names,
            };
            check_subscript(written, &subscript, &site, &self.lowered.ranges, &self.around)?;
            checked.push(subscript);
        }
        Ok(checked)
    }

    fn subscript(&mut self, int: &IntExpr) -> Result<Subscript> {
        if !int.has_elements() {
            return Subscript::new(int, self.dims);
        }
        let first = self.lowered.ranges.len();
        let mut elements = Vec::new();
        let plain = self.without_elements(int, first, &mut elements)?;
        let int = fold_constants(&plain, self.dims)?;
        Ok(Subscript::Indirect(Box::new(IndirectSubscript { int, first, elements })))
    }

    /// Puts the index `first + k` in the place of the element `k`.
    fn without_elements(
        &mut self,
        int: &IntExpr,
        first: IndexId,
        elements: &mut Vec<ElementAccess>,
    ) -> Result<IntExpr> {
        let kind = match &int.kind {
            IntKind::Element(read) => {
                let access = self.access(read, 0.0)?;
                let dtype = self.lowered.tensors[self.lowered.tensor(&read.tensor)?].dtype;
                elements.push(ElementAccess { access, values: Interval::of_type(dtype) });
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
        Ok(IntExpr::new(kind, int.span))
    }
}

/// Whether the value is a sum of which the terms are not constants, or may be one.
fn is_sum(node: &Node) -> bool {
    match node {
        Node::Neg(inner) | Node::Where(_, inner) => is_sum(inner),
        Node::Binary(Op::Add | Op::Sub, left, right) => !(is_number(left) && is_number(right)),
        // The factors of a product are enclosed, and so is a divisor.
        Node::Binary(Op::Div, left, _) => is_sum(left),
        Node::Reduce(reduction, ..) => *reduction == Reduction::Sum,
        Node::Select(_, yes, no) => is_sum(yes) || is_sum(no),
        _ => false,
    }
}

fn is_number(node: &Node) -> bool {
    match node {
        Node::Number(_) | Node::Size(..) => true,
        Node::Neg(inner) => is_number(inner),
        Node::Binary(_, left, right) => is_number(left) && is_number(right),
        _ => false,
    }
}

/// Emits code that puts the value of an access on the stack.
fn load(access: Access, nest: &mut LoopNest) {
    nest.code.push(Instr::Load(nest.reads.len()));
    nest.reads.push(access);
}

/// The factor, if the code is a number times the product of all reads, and these are of tensors.
fn product(nest: &LoopNest) -> Option<f64> {
    // For each operand: its value, the reads left out, and whether it is a constant.
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
