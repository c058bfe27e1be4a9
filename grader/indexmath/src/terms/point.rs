//! Values at a single iteration: which branch the data take.

use crate::error::Error;
use crate::evaluate::data::{Results, Values};
use crate::evaluate::program::{Computed, compute, input, is_known};
use crate::integer::arithmetic::apply;
use crate::integer::evaluate::{Dims, evaluate, named_size};
use crate::lower::nest::{LoweredProgram, TensorId};
use crate::program::node::{Guard, IndexId, Node};
use crate::rounding::functions;
use crate::syntax::int_expr::{IntExpr, IntKind, Read};
use crate::syntax::operators::{Condition, Connective, Op, Reduction};

/// The number of iterations and values, at most: what is padded or zero costs work and gives no terms.
const MAX_STEPS: usize = 1 << 18;

/// Why an expansion ended early.
pub(crate) enum Stop {
    /// There are too many terms, it takes too much work, or the element is not a sum of products.
    NotASum,
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// The result of a step of an expansion.
pub(crate) type Step<T> = Result<T, Stop>;

/// The values of the indices that are bound here, the innermost last.
pub(crate) type Bindings = Vec<(IndexId, i64)>;

/// The iteration that decided a reduction.
pub(crate) struct Winner {
    /// The row-major position among the reduction's indices.
    pub position: i64,
    /// The values of the reduction's indices.
    pub at: Vec<i64>,
    value: f64,
}

/// Computes values at single iterations of the statement that assigns a tensor.
pub(crate) struct PointEvaluator<'a> {
    lowered: &'a LoweredProgram,
    dims: &'a Dims,
    known: &'a Values,
    results: Results<'a>,
    tensor: TensorId,
    /// The number of iterations and values so far.
    steps: usize,
    /// The tensors that the statement reads, once a value of one is asked for.
    computed: Option<Computed<'a>>,
}

impl<'a> PointEvaluator<'a> {
    /// For the statement that assigns `tensor`, with the data `known` and what `results` gives of them.
    pub(crate) fn new(
        lowered: &'a LoweredProgram,
        dims: &'a Dims,
        known: &'a Values,
        results: Results<'a>,
        tensor: TensorId,
    ) -> Self {
        Self { lowered, dims, known, results, tensor, steps: 0, computed: None }
    }

    /// Counts one iteration or value.
    pub(crate) fn step(&mut self) -> Step<()> {
        self.steps += 1;
        if self.steps > MAX_STEPS { Err(Stop::NotASum) } else { Ok(()) }
    }

    /// The value of a node; `around` is the reduction that encloses it.
    pub(crate) fn value(
        &mut self,
        node: &Node,
        bindings: &mut Bindings,
        around: Reduction,
    ) -> Step<f64> {
        self.step()?;
        Ok(match node {
            Node::Number(value) => *value,
            Node::Size(name, span) => named_size(name, *span, self.dims)? as f64,
            Node::Index(int) => self.int(int, bindings)? as f64,
            Node::Read(read) => match self.coords(read, bindings)? {
                Some((tensor, coords)) => self.element(tensor, &coords)?,
                None => around.identity(),
            },
            Node::Neg(inner) => -self.value(inner, bindings, around)?,
            Node::Binary(op, left, right) => {
                let a = self.value(left, bindings, around)?;
                let b = self.value(right, bindings, around)?;
                match op {
                    Op::Add => a + b,
                    Op::Sub => a - b,
                    Op::Mul => a * b,
                    Op::Div => a / b,
                }
            }
            Node::Reduce(kind @ (Reduction::Sum | Reduction::Prod), bound, body) => {
                let mut result = kind.identity();
                self.each(bound, bindings, &mut |this, bindings, _| {
                    let value = this.value(body, bindings, *kind)?;
                    if *kind == Reduction::Sum {
                        result += value;
                    } else {
                        result *= value;
                    }
                    Ok(())
                })?;
                result
            }
            Node::Where(guards, body) => {
                if self.guards_hold(guards, bindings)? {
                    self.value(body, bindings, around)?
                } else {
                    around.identity()
                }
            }
            Node::Reduce(reduction, bound, body) => {
                let winner = self.winner(*reduction, bound, body, bindings)?;
                if reduction.gives_position() { winner.position as f64 } else { winner.value }
            }
            Node::Call(function, values) => {
                let mut arguments = [0.0; 2];
                for (argument, value) in arguments.iter_mut().zip(values) {
                    *argument = self.value(value, bindings, around)?;
                }
                functions::value(*function, arguments[0], arguments[1])
            }
            Node::Select(condition, yes, no) => {
                let taken = if self.holds(condition, bindings, around)? { yes } else { no };
                self.value(taken, bindings, around)?
            }
        })
    }

    /// Whether all guards hold.
    pub(crate) fn guards_hold<'g>(
        &mut self,
        guards: impl IntoIterator<Item = &'g Guard>,
        bindings: &Bindings,
    ) -> Step<bool> {
        for guard in guards {
            let (left, right) =
                (self.int(&guard.left, bindings)?, self.int(&guard.right, bindings)?);
            if left > right || (guard.strict && left == right) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a condition holds.
    pub(crate) fn holds(
        &mut self,
        condition: &Condition<Node>,
        bindings: &mut Bindings,
        around: Reduction,
    ) -> Step<bool> {
        match condition {
            Condition::Compare(comparison, left, right) => {
                let a = self.value(left, bindings, around)?;
                let b = self.value(right, bindings, around)?;
                Ok(comparison.holds(a, b))
            }
            Condition::Join(connective, left, right) => {
                let first = self.holds(left, bindings, around)?;
                if first == (*connective == Connective::Or) {
                    return Ok(first);
                }
                self.holds(right, bindings, around)
            }
        }
    }

    /// The iteration that decides a maximum or minimum of `body` over `bound`.
    pub(crate) fn winner(
        &mut self,
        reduction: Reduction,
        bound: &[IndexId],
        body: &Node,
        bindings: &mut Bindings,
    ) -> Step<Winner> {
        let mut best: Option<Winner> = None;
        let mut position = 0;
        self.each(bound, bindings, &mut |this, bindings, first| {
            let (guards, body) = body.without_guards();
            if !this.guards_hold(guards, bindings)? {
                position += 1;
                return Ok(());
            }
            let value = this.value(body, bindings, reduction)?;
            if best.as_ref().is_none_or(|best| reduction.beats(value, best.value)) {
                let at = bindings[first..].iter().map(|(_, at)| *at).collect();
                best = Some(Winner { position, at, value });
            }
            position += 1;
            Ok(())
        })?;
        best.ok_or(Stop::NotASum)
    }

    /// Calls `f` for all values of `bound`, in row-major order, with the position of the first one in the bindings.
    fn each(
        &mut self,
        bound: &[IndexId],
        bindings: &mut Bindings,
        f: &mut dyn FnMut(&mut Self, &mut Bindings, usize) -> Step<()>,
    ) -> Step<()> {
        let first = bindings.len();
        let ranges: Vec<i64> = bound.iter().map(|&id| self.lowered.ranges[id]).collect();
        bindings.extend(bound.iter().map(|&id| (id, 0)));
        'all: loop {
            self.step()?;
            f(self, bindings, first)?;
            for (position, range) in ranges.iter().enumerate().rev() {
                let (_, at) = &mut bindings[first + position];
                *at += 1;
                if *at < *range {
                    continue 'all;
                }
                *at = 0;
            }
            break;
        }
        bindings.truncate(first);
        Ok(())
    }

    /// The value of an integer expression.
    pub(crate) fn int(&mut self, int: &IntExpr, bindings: &Bindings) -> Step<i64> {
        if !int.has_elements() {
            return Ok(evaluate(int, self.dims, &|id| lookup(bindings, id))?);
        }
        match &int.kind {
            IntKind::Element(read) => {
                let Some((tensor, coords)) = self.coords(read, bindings)? else {
                    return Err(Stop::NotASum);
                };
                let value = self.element(tensor, &coords)?;
                let dtype = self.lowered.tensors[tensor].dtype;
                if dtype.holds_integer(value) { Ok(value as i64) } else { Err(Stop::NotASum) }
            }
            IntKind::Neg(inner) => self.int(inner, bindings)?.checked_neg().ok_or(Stop::NotASum),
            IntKind::Binary(op, left, right) => {
                let (a, b) = (self.int(left, bindings)?, self.int(right, bindings)?);
                apply(*op, a, b).map_err(|_| Stop::NotASum)
            }
            _ => Err(Stop::NotASum),
        }
    }

    /// The tensor and the coordinates of a read; `None` outside a padded one.
    pub(crate) fn coords(
        &mut self,
        read: &Read,
        bindings: &Bindings,
    ) -> Step<Option<(TensorId, Vec<i64>)>> {
        let tensor = self.lowered.tensor(&read.tensor)?;
        let shape = &self.lowered.tensors[tensor].shape;
        let mut coords = Vec::with_capacity(shape.len());
        for (subscript, &size) in read.subscripts.iter().zip(shape) {
            let at = self.int(subscript, bindings)?;
            if at < 0 || at >= size as i64 {
                return if read.padded { Ok(None) } else { Err(Stop::NotASum) };
            }
            coords.push(at);
        }
        Ok(Some((tensor, coords)))
    }

    /// The value of an element, given or computed.
    fn element(&mut self, tensor: TensorId, coords: &[i64]) -> Step<f64> {
        let flat = self.lowered.tensors[tensor].flat(coords)?;
        if self.lowered.statement_of(tensor).is_none() {
            return Ok(input(self.lowered, self.known, tensor)?[flat]);
        }
        if !is_known(self.lowered, self.known, tensor)
            && let Some(elements) = (self.results)(&self.lowered.tensors[tensor].name)
        {
            return elements.get(flat).map(|element| element.value).ok_or(Stop::NotASum);
        }
        if self.computed.is_none() {
            let statement = self.lowered.statement_of(self.tensor);
            let reads = statement.map_or(&[][..], |at| &self.lowered.statements[at].reads);
            self.computed = Some(compute(self.lowered, self.known, &[], reads)?);
        }
        let data = self.computed.as_ref().and_then(|computed| computed.data[tensor].as_ref());
        data.map(|data| data.values[flat]).ok_or(Stop::NotASum)
    }
}

fn lookup(bindings: &Bindings, id: IndexId) -> Option<i64> {
    bindings.iter().rev().find(|(other, _)| *other == id).map(|(_, value)| *value)
}
