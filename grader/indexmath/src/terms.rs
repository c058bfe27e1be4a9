//! The terms of one element: the sum of products of input elements that it is.
//!
//! Where the value of an element decides what another one is made of (a maximum, a `select`, an element that is a
//! subscript), the branch that the data take is followed: `resolve` says which it is.

use std::ops::ControlFlow;

use crate::affine::Sub;
use crate::ast::Read;
use crate::concrete::{Computed, Concrete, ElementRef, Values};
use crate::gather::gather;
use crate::ir::{IndexId, Node, Part};
use crate::lower::{Summand, size, split};
use crate::ops::{Func, Op, Reduction};
use crate::space::{Loop, Space};

/// One product in the expansion of an element.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// Constant factor.
    pub coefficient: f64,
    /// Tensor elements multiplied, sorted.
    pub factors: Vec<ElementRef>,
    /// Value of the product.
    pub value: f64,
    /// The summation indices that gave it, e.g. `[("k", 0), ("fh", 2), ("fw", 1)]`. Those of a gradient are
    /// the summation indices of its gather form, if it has one.
    pub indices: Vec<(String, i64)>,
}

/// The terms of an element; `None` if they are more than `limit`, if they take too long to find, or if it is
/// no sum of products.
pub(crate) fn expand(
    concrete: &Concrete,
    known: &Values,
    tensor: usize,
    coords: &[i64],
    limit: usize,
) -> crate::error::Result<Option<Vec<Term>>> {
    let mut expander =
        Expander { concrete, known, limit, tensor, depth: 0, steps: 0, computed: None };
    let mut terms = match expander.element(tensor, coords) {
        Ok(terms) => terms,
        Err(Stop::NoSum) => return Ok(None),
        Err(Stop::Error(error)) => return Err(error),
    };
    for term in &mut terms {
        term.factors.sort();
    }
    Ok(Some(terms))
}

/// Why an expansion ended early.
pub(crate) enum Stop {
    /// Too many terms, too much work, or not a sum of products.
    NoSum,
    Error(crate::error::Error),
}

impl From<crate::error::Error> for Stop {
    fn from(error: crate::error::Error) -> Self {
        Self::Error(error)
    }
}

/// The result of a step on the way.
pub(crate) type Step<T> = Result<T, Stop>;

pub(crate) struct Expander<'a> {
    pub concrete: &'a Concrete,
    pub known: &'a Values,
    limit: usize,
    /// Of which the element is.
    pub tensor: usize,
    /// Tensors inside each other.
    depth: usize,
    steps: usize,
    /// The tensors that the element is made of, once a value of them is asked for.
    pub computed: Option<Computed<'a>>,
}

/// Iterations and values, at most: what is padded or zero costs work and gives no terms.
const MAX_STEPS: usize = 1 << 18;

/// More intermediate tensors inside each other than this are not expanded.
const MAX_DEPTH: usize = 64;

/// Values of the indices that are bound here.
pub(crate) type Bindings = Vec<(IndexId, i64)>;

pub(crate) fn lookup(bindings: &Bindings, id: IndexId) -> Option<i64> {
    bindings.iter().rev().find(|(other, _)| *other == id).map(|(_, value)| *value)
}

impl Expander<'_> {
    /// Counts one iteration or value.
    pub(crate) fn step(&mut self) -> Step<()> {
        self.steps += 1;
        if self.steps > MAX_STEPS { Err(Stop::NoSum) } else { Ok(()) }
    }

    fn element(&mut self, tensor: usize, coords: &[i64]) -> Step<Vec<Term>> {
        let concrete = self.concrete;
        let inner = self.depth > 0 && concrete.is_known(self.known, tensor);
        let Some(place) = concrete.statement(tensor).filter(|_| !inner) else {
            let values = concrete.input(self.known, tensor)?;
            let name = self.concrete.lowered.tensors[tensor].name.clone();
            return Ok(vec![Term {
                coefficient: 1.0,
                value: values[self.concrete.flat(tensor, coords)?],
                factors: vec![ElementRef { tensor: name, coords: coords.to_vec() }],
                indices: Vec::new(),
            }]);
        };
        if self.depth == MAX_DEPTH {
            return Err(Stop::NoSum);
        }
        self.depth += 1;
        let mut terms = Vec::new();
        for part in &concrete.program.statements[place].parts {
            let shown = self.summation_indices(tensor, part);
            let mut summands = Vec::new();
            split(&part.body, false, part.loops.clone(), &mut summands);
            for summand in &summands {
                self.summand(tensor, coords, part, summand, &shown, &mut terms)?;
            }
        }
        self.depth -= 1;
        Ok(terms)
    }

    /// The loops of a part that are not settled by the element.
    fn summation_indices(&self, tensor: usize, part: &Part) -> Vec<IndexId> {
        let program = &self.concrete.program;
        let name = &self.concrete.lowered.tensors[tensor].name;
        // Stand-ins for the axes: only which loops are left is asked for.
        let first = program.indices.len();
        let axes: Vec<IndexId> = (first..first + part.subscripts.len()).collect();
        gather(program, name, part, &axes).sum
    }

    fn summand(
        &mut self,
        tensor: usize,
        coords: &[i64],
        part: &Part,
        summand: &Summand<'_>,
        shown: &[IndexId],
        into: &mut Vec<Term>,
    ) -> Step<()> {
        let ranges = &self.concrete.lowered.ranges;
        let loops = summand.loops.iter().map(|&index| Loop { index, low: 0, high: ranges[index] });
        let mut space = Space::new(loops.collect());
        for (subscript, &at) in part.subscripts.iter().zip(coords) {
            if !subscript.has_elements()
                && let Sub::Affine(affine) = Sub::new(subscript, &self.concrete.dims)?
            {
                space.limit(&affine, at, at);
            }
        }
        let mut result = Ok(());
        let _ = space.rows(&mut |row| {
            for lane in 0..row.count as i64 {
                let mut bindings: Bindings = Vec::with_capacity(row.at.len());
                let last = row.at.len().saturating_sub(1);
                for (place, (l, at)) in space.loops().iter().zip(row.at).enumerate() {
                    bindings.push((l.index, at + if place == last { lane } else { 0 }));
                }
                result = self.iteration(tensor, coords, part, summand, shown, &mut bindings, into);
                if result.is_err() {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        result
    }

    #[expect(clippy::too_many_arguments, reason = "one step of the loop above")]
    fn iteration(
        &mut self,
        tensor: usize,
        coords: &[i64],
        part: &Part,
        summand: &Summand<'_>,
        shown: &[IndexId],
        bindings: &mut Bindings,
        into: &mut Vec<Term>,
    ) -> Step<()> {
        debug_assert_eq!(coords.len(), self.concrete.lowered.tensors[tensor].shape.len());
        self.step()?;
        for (subscript, at) in part.subscripts.iter().zip(coords) {
            if self.int(subscript, bindings)? != *at {
                return Ok(());
            }
        }
        let own: Vec<(String, i64)> = bindings
            .iter()
            .filter(|(id, _)| shown.contains(id) || !part.loops.contains(id))
            .map(|(id, value)| (self.concrete.lowered.names[*id].clone(), *value))
            .collect();
        for mut term in self.node(summand.node, bindings, Reduction::Sum)? {
            if summand.negative {
                term.coefficient = -term.coefficient;
                term.value = -term.value;
            }
            term.indices = [own.as_slice(), &term.indices].concat();
            into.push(term);
        }
        if into.len() > self.limit { Err(Stop::NoSum) } else { Ok(()) }
    }

    /// The terms of a value; `around` is the reduction that encloses it.
    fn node(&mut self, node: &Node, bindings: &mut Bindings, around: Reduction) -> Step<Vec<Term>> {
        self.step()?;
        match node {
            Node::Number(value) => Ok(vec![constant(*value)]),
            Node::Size(name, span) => {
                Ok(vec![constant(size(name, *span, &self.concrete.dims)? as f64)])
            }
            Node::Index(int) => Ok(vec![constant(self.int(int, bindings)? as f64)]),
            Node::Read(read) => self.read(read, bindings, around),
            Node::Neg(inner) => Ok(scale(self.node(inner, bindings, around)?, |x| -x)),
            Node::Binary(op, left, right) => {
                let left = self.node(left, bindings, around)?;
                let right = self.node(right, bindings, around)?;
                self.binary(*op, left, right)
            }
            Node::Reduce(Reduction::Sum, bound, body) => {
                let mut terms = Vec::new();
                self.sum(bound, body, bindings, &mut terms)?;
                Ok(terms)
            }
            Node::Reduce(reduction, bound, body) => {
                let winner = self.winner(*reduction, bound, body, bindings)?;
                if reduction.is_place() {
                    return Ok(vec![constant(winner.place as f64)]);
                }
                let before = bindings.len();
                bindings.extend(bound.iter().copied().zip(winner.at));
                let terms = self.node(body, bindings, *reduction);
                bindings.truncate(before);
                terms
            }
            Node::Call(func, values) => self.call(*func, node, values, bindings, around),
            Node::Select(cond, yes, no) => {
                let taken = if self.truth(cond, bindings, around)? { yes } else { no };
                if taken.is_zero() { Ok(Vec::new()) } else { self.node(taken, bindings, around) }
            }
        }
    }

    /// A function of constants is a constant; of other values there are terms where it takes one of them.
    fn call(
        &mut self,
        func: Func,
        node: &Node,
        values: &[Node],
        bindings: &mut Bindings,
        around: Reduction,
    ) -> Step<Vec<Term>> {
        let result = self.value(node, bindings, around)?;
        let mut constants = true;
        node.reads(&mut |_| constants = false);
        if constants {
            return Ok(vec![constant(result)]);
        }
        for value in values {
            let given = self.value(value, bindings, around)?;
            match func {
                Func::Abs if given < 0.0 => {
                    return Ok(scale(self.node(value, bindings, around)?, |x| -x));
                }
                Func::Abs | Func::Max | Func::Min | Func::Cast(_) if given == result => {
                    return self.node(value, bindings, around);
                }
                _ => {}
            }
        }
        Err(Stop::NoSum)
    }

    fn binary(&self, op: Op, mut left: Vec<Term>, right: Vec<Term>) -> Step<Vec<Term>> {
        match op {
            Op::Add => left.extend(right),
            Op::Sub => left.extend(scale(right, |x| -x)),
            Op::Mul => {
                if left.len().saturating_mul(right.len()) > self.limit.max(1) {
                    return Err(Stop::NoSum);
                }
                return Ok(left.iter().flat_map(|a| right.iter().map(|b| product(a, b))).collect());
            }
            Op::Div => {
                // By a constant only: a single term without factors.
                let [Term { coefficient, factors, .. }] = right.as_slice() else {
                    return Err(Stop::NoSum);
                };
                if !factors.is_empty() {
                    return Err(Stop::NoSum);
                }
                let divisor = *coefficient;
                return Ok(scale(left, |x| x / divisor));
            }
        }
        Ok(left)
    }

    fn sum(
        &mut self,
        bound: &[IndexId],
        body: &Node,
        bindings: &mut Bindings,
        into: &mut Vec<Term>,
    ) -> Step<()> {
        self.step()?;
        let Some((&id, rest)) = bound.split_first() else {
            into.extend(self.node(body, bindings, Reduction::Sum)?);
            return if into.len() > self.limit { Err(Stop::NoSum) } else { Ok(()) };
        };
        for value in 0..self.concrete.lowered.ranges[id] {
            bindings.push((id, value));
            let before = into.len();
            self.sum(rest, body, bindings, into)?;
            bindings.pop();
            let name = &self.concrete.lowered.names[id];
            for term in &mut into[before..] {
                term.indices.insert(0, (name.clone(), value));
            }
        }
        Ok(())
    }

    fn read(&mut self, read: &Read, bindings: &Bindings, around: Reduction) -> Step<Vec<Term>> {
        match self.coords(read, bindings)? {
            Some((tensor, coords)) => self.element(tensor, &coords),
            // Outside is nothing in a sum, and the worst candidate of all elsewhere.
            None if around == Reduction::Sum => Ok(Vec::new()),
            None => Err(Stop::NoSum),
        }
    }
}

fn constant(value: f64) -> Term {
    Term { coefficient: value, factors: Vec::new(), value, indices: Vec::new() }
}

fn scale(mut terms: Vec<Term>, by: impl Fn(f64) -> f64) -> Vec<Term> {
    for term in &mut terms {
        term.coefficient = by(term.coefficient);
        term.value = by(term.value);
    }
    terms
}

fn product(a: &Term, b: &Term) -> Term {
    Term {
        coefficient: a.coefficient * b.coefficient,
        factors: [a.factors.as_slice(), &b.factors].concat(),
        value: a.value * b.value,
        indices: [a.indices.as_slice(), &b.indices].concat(),
    }
}
