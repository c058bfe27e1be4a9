//! The terms of one element: the sum of products of input elements that it is.

use std::ops::ControlFlow;

use crate::affine::Sub;
use crate::ast::{Int, Op, Read};
use crate::concrete::{Concrete, ElementRef, Values};
use crate::error::Result;
use crate::gather::gather;
use crate::ir::{IndexId, Node, Part};
use crate::lower::{Summand, size, split};
use crate::shape::eval;
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

/// The terms of an element; `None` if they are more than `limit`, or if it is no sum of products.
pub(crate) fn expand(
    concrete: &Concrete,
    known: &Values,
    tensor: usize,
    coords: &[i64],
    limit: usize,
) -> Result<Option<Vec<Term>>> {
    let mut expander = Expander { concrete, known, limit, depth: 0 };
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
enum Stop {
    /// Too many terms, or not a sum of products.
    NoSum,
    Error(crate::error::Error),
}

impl From<crate::error::Error> for Stop {
    fn from(error: crate::error::Error) -> Self {
        Self::Error(error)
    }
}

struct Expander<'a> {
    concrete: &'a Concrete,
    known: &'a Values,
    limit: usize,
    /// Tensors inside each other.
    depth: usize,
}

/// More intermediate tensors inside each other than this are not expanded.
const MAX_DEPTH: usize = 64;

/// Values of the indices that are bound here.
type Bindings = Vec<(IndexId, i64)>;

fn lookup(bindings: &Bindings, id: IndexId) -> Option<i64> {
    bindings.iter().rev().find(|(other, _)| *other == id).map(|(_, value)| *value)
}

impl Expander<'_> {
    fn element(&mut self, tensor: usize, coords: &[i64]) -> std::result::Result<Vec<Term>, Stop> {
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
        if let Some(gathered) = gather(program, name, part, &axes) {
            return gathered.sum;
        }
        let settled = |id: &&IndexId| part.subscripts.iter().any(|s| s.as_index() == Some(**id));
        part.loops.iter().filter(|id| !settled(id)).copied().collect()
    }

    fn summand(
        &mut self,
        tensor: usize,
        coords: &[i64],
        part: &Part,
        summand: &Summand<'_>,
        shown: &[IndexId],
        into: &mut Vec<Term>,
    ) -> std::result::Result<(), Stop> {
        let ranges = &self.concrete.lowered.ranges;
        let loops = summand.loops.iter().map(|&index| Loop { index, low: 0, high: ranges[index] });
        let mut space = Space::new(loops.collect());
        for (subscript, &at) in part.subscripts.iter().zip(coords) {
            if let Sub::Affine(affine) = Sub::new(subscript, &self.concrete.dims)? {
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
    ) -> std::result::Result<(), Stop> {
        debug_assert_eq!(coords.len(), self.concrete.lowered.tensors[tensor].shape.len());
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
        for mut term in self.node(summand.node, bindings)? {
            if summand.negative {
                term.coefficient = -term.coefficient;
                term.value = -term.value;
            }
            term.indices = [own.as_slice(), &term.indices].concat();
            into.push(term);
        }
        if into.len() > self.limit { Err(Stop::NoSum) } else { Ok(()) }
    }

    fn int(&self, int: &Int, bindings: &Bindings) -> Result<i64> {
        eval(int, &self.concrete.dims, &|id| lookup(bindings, id))
    }

    fn node(
        &mut self,
        node: &Node,
        bindings: &mut Bindings,
    ) -> std::result::Result<Vec<Term>, Stop> {
        match node {
            Node::Number(value) => Ok(vec![constant(*value)]),
            Node::Size(name, span) => {
                Ok(vec![constant(size(name, *span, &self.concrete.dims)? as f64)])
            }
            Node::Read(read) => self.read(read, bindings),
            Node::Neg(inner) => Ok(scale(self.node(inner, bindings)?, |x| -x)),
            Node::Binary(op, left, right) => {
                let left = self.node(left, bindings)?;
                let right = self.node(right, bindings)?;
                self.binary(*op, left, right)
            }
            Node::Sum(bound, body) => {
                let mut terms = Vec::new();
                self.sum(bound, body, bindings, &mut terms)?;
                Ok(terms)
            }
        }
    }

    fn binary(
        &self,
        op: Op,
        mut left: Vec<Term>,
        right: Vec<Term>,
    ) -> std::result::Result<Vec<Term>, Stop> {
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
    ) -> std::result::Result<(), Stop> {
        let Some((&id, rest)) = bound.split_first() else {
            into.extend(self.node(body, bindings)?);
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

    fn read(&mut self, read: &Read, bindings: &Bindings) -> std::result::Result<Vec<Term>, Stop> {
        let tensor = self.concrete.tensor(&read.tensor)?;
        let shape = &self.concrete.lowered.tensors[tensor].shape;
        let mut coords = Vec::with_capacity(shape.len());
        for (subscript, &size) in read.subscripts.iter().zip(shape) {
            let at = self.int(subscript, bindings)?;
            if read.padded && (at < 0 || at >= size as i64) {
                return Ok(Vec::new());
            }
            coords.push(at);
        }
        self.element(tensor, &coords)
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
