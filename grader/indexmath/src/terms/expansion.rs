//! The expansion of an element into products.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::rc::Rc;

use crate::error::Result;
use crate::evaluate::data::{Results, Values};
use crate::evaluate::iteration_space::{IterationSpace, Loop};
use crate::evaluate::program::{input, is_known};
use crate::integer::evaluate::{Dims, fold_constants, named_size};
use crate::lower::nest::{LoweredProgram, Subscript, TensorId};
use crate::lower::summands::{Summand, split_summands};
use crate::program::ir::{Contribution, Program};
use crate::program::node::{Guard, IndexId, Node};
use crate::syntax::int_expr::{IntExpr, Read};
use crate::syntax::operators::{Function, Op, Reduction};
use crate::terms::point::{Bindings, PointEvaluator, Step, Stop};
use crate::transform::gather::gather_form;

/// More intermediate tensors inside each other than this are not expanded.
const MAX_DEPTH: usize = 64;

/// One element of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ElementRef {
    /// The tensor's name, e.g. `grad(output)`.
    pub tensor: String,
    /// The coordinates, one for each axis.
    pub coords: Vec<i64>,
}

/// One product in the expansion of an element.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The constant factor of the product.
    pub coefficient: f64,
    /// The tensor elements that are multiplied, sorted.
    pub factors: Vec<ElementRef>,
    /// The value of the product.
    pub value: f64,
    /// The summation indices that gave it, e.g. `[("k", 0), ("fh", 2), ("fw", 1)]`. Those of a gradient are
    /// the summation indices of its gather form, if it has one.
    pub indices: Vec<(String, i64)>,
}

/// A program at the sizes `dims`, and the data of its inputs.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub program: &'a Program,
    pub lowered: &'a LoweredProgram,
    pub dims: &'a Dims,
    pub known: &'a Values,
    pub results: Results<'a>,
}

/// The terms of the element of `tensor` at `coords`; `None` if they are more than `limit`, if they take too long to find, or
/// if the element is not a sum of products.
///
/// # Errors
/// Inputs that are missing or of the wrong length, and data for which rounding decides a result.
pub(crate) fn expand(
    source: Source<'_>,
    tensor: TensorId,
    coords: &[i64],
    limit: usize,
) -> Result<Option<Vec<Term>>> {
    let Source { lowered, dims, known, results, .. } = source;
    let points = PointEvaluator::new(lowered, dims, known, results, tensor);
    let folded = HashMap::new();
    let mut expander = Expander { source, limit, depth: 0, folded, points };
    let mut terms = match expander.element(tensor, coords) {
        Ok(terms) => terms,
        Err(Stop::NotASum) => return Ok(None),
        Err(Stop::Error(error)) => return Err(error),
    };
    for term in &mut terms {
        term.factors.sort();
    }
    Ok(Some(terms))
}

/// An expansion under way.
struct Expander<'a> {
    source: Source<'a>,
    /// The number of terms, at most.
    limit: usize,
    /// How many intermediate tensors are being expanded inside each other.
    depth: usize,
    /// The contributions of the statements that were asked for, with numbers for sizes.
    folded: HashMap<usize, Rc<[Contribution]>>,
    points: PointEvaluator<'a>,
}

/// A summand of a contribution to the element of `tensor` at `coords`.
struct Expanded<'a> {
    coords: &'a [i64],
    contribution: &'a Contribution,
    summand: &'a Summand<'a>,
    /// The loops that the element does not settle: the summation indices of the contribution's gather form.
    summed: &'a [IndexId],
}

impl Expander<'_> {
    fn element(&mut self, tensor: TensorId, coords: &[i64]) -> Step<Vec<Term>> {
        let Source { program, lowered, dims, known, .. } = self.source;
        let given = self.depth > 0 && is_known(lowered, known, tensor);
        let Some(statement) = lowered.statement_of(tensor).filter(|_| !given) else {
            let values = input(lowered, known, tensor)?;
            let layout = &lowered.tensors[tensor];
            return Ok(vec![Term {
                coefficient: 1.0,
                value: values[layout.flat(coords)?],
                factors: vec![ElementRef { tensor: layout.name.clone(), coords: coords.to_vec() }],
                indices: Vec::new(),
            }]);
        };
        if self.depth == MAX_DEPTH {
            return Err(Stop::NotASum);
        }
        self.depth += 1;
        let mut terms = Vec::new();
        let contributions = &program.statements[statement].contributions;
        let folded = self.folded.entry(statement);
        let folded = folded.or_insert_with(|| contributions.iter().map(|c| at(c, dims)).collect());
        for (plain, contribution) in contributions.iter().zip(&*folded.clone()) {
            let summed = self.summation_indices(tensor, plain);
            for summand in &split_summands(&contribution.body, contribution.loops.clone()) {
                let expanded = Expanded { coords, contribution, summand, summed: &summed };
                self.summand(&expanded, &mut terms)?;
            }
        }
        self.depth -= 1;
        Ok(terms)
    }

    /// The loops of a contribution that the element of the target does not settle.
    fn summation_indices(&self, tensor: TensorId, contribution: &Contribution) -> Vec<IndexId> {
        let Source { program, lowered, .. } = self.source;
        // Stand-ins for the axes: only which loops are left matters.
        let first = program.indices.len();
        let axes: Vec<IndexId> = (first..first + contribution.subscripts.len()).collect();
        gather_form(program, &lowered.tensors[tensor].name, contribution, &axes).sum
    }

    /// Appends the terms of a summand.
    fn summand(&mut self, expanded: &Expanded<'_>, into: &mut Vec<Term>) -> Step<()> {
        let Source { lowered, dims, .. } = self.source;
        let loops = expanded.summand.loops.iter();
        let loops = loops.map(|&index| Loop { index, low: 0, high: lowered.ranges[index] });
        let mut space = IterationSpace::new(loops.collect());
        for (subscript, &at) in expanded.contribution.subscripts.iter().zip(expanded.coords) {
            if !subscript.has_elements()
                && let Subscript::Affine(affine) = Subscript::new(subscript, dims)?
            {
                space.constrain(&affine, at, at);
            }
        }
        for guard in &expanded.summand.guards {
            let slack = guard.slack();
            if !slack.has_elements()
                && let Subscript::Affine(affine) = Subscript::new(&slack, dims)?
            {
                space.constrain(&affine, 0, i64::from(i32::MAX));
            }
        }
        let mut result = Ok(());
        let _ = space.rows(&mut |row| {
            for lane in 0..row.count as i64 {
                let mut bindings: Bindings = Vec::with_capacity(row.at.len());
                let last = row.at.len().saturating_sub(1);
                for (position, (l, at)) in space.loops().iter().zip(row.at).enumerate() {
                    bindings.push((l.index, at + if position == last { lane } else { 0 }));
                }
                result = self.iteration(expanded, &mut bindings, into);
                if result.is_err() {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        result
    }

    /// Appends the terms of a summand at one iteration.
    fn iteration(
        &mut self,
        expanded: &Expanded<'_>,
        bindings: &mut Bindings,
        into: &mut Vec<Term>,
    ) -> Step<()> {
        let Expanded { coords, contribution, summand, summed } = expanded;
        self.points.step()?;
        for (subscript, at) in contribution.subscripts.iter().zip(*coords) {
            if self.points.int(subscript, bindings)? != *at {
                return Ok(());
            }
        }
        if !self.points.guards_hold(summand.guards.iter().copied(), bindings)? {
            return Ok(());
        }
        let mut own: Vec<(String, i64)> = bindings
            .iter()
            .filter(|(id, _)| summed.contains(id) || !contribution.loops.contains(id))
            .map(|(id, value)| (self.source.lowered.names[*id].clone(), *value))
            .collect();
        let terms = self.node(summand.node, bindings, Reduction::Sum)?;
        let mut left = terms.len();
        for mut term in terms {
            left -= 1;
            if summand.negative {
                term.coefficient = -term.coefficient;
                term.value = -term.value;
            }
            // Mostly there is one term, which takes the names themselves.
            let mut indices = if left == 0 { std::mem::take(&mut own) } else { own.clone() };
            indices.append(&mut term.indices);
            term.indices = indices;
            into.push(term);
        }
        if into.len() > self.limit { Err(Stop::NotASum) } else { Ok(()) }
    }

    /// The terms of a value; `around` is the reduction that encloses it.
    fn node(&mut self, node: &Node, bindings: &mut Bindings, around: Reduction) -> Step<Vec<Term>> {
        self.points.step()?;
        match node {
            Node::Number(value) => Ok(vec![constant(*value)]),
            Node::Size(name, span) => {
                Ok(vec![constant(named_size(name, *span, self.source.dims)? as f64)])
            }
            Node::Index(int) => Ok(vec![constant(self.points.int(int, bindings)? as f64)]),
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
            Node::Where(guards, body) => {
                if self.points.guards_hold(guards, bindings)? {
                    self.node(body, bindings, around)
                } else {
                    Ok(Vec::new())
                }
            }
            Node::Reduce(Reduction::Prod, ..) => Err(Stop::NotASum),
            Node::Reduce(reduction, bound, body) => {
                let winner = self.points.winner(*reduction, bound, body, bindings)?;
                if reduction.gives_position() {
                    return Ok(vec![constant(winner.position as f64)]);
                }
                let before = bindings.len();
                bindings.extend(bound.iter().copied().zip(winner.at));
                let terms = self.node(body, bindings, *reduction);
                bindings.truncate(before);
                terms
            }
            Node::Call(function, values) => self.call(*function, node, values, bindings, around),
            Node::Select(condition, yes, no) => {
                let taken = if self.points.holds(condition, bindings, around)? { yes } else { no };
                if taken.is_zero() { Ok(Vec::new()) } else { self.node(taken, bindings, around) }
            }
        }
    }

    /// The terms of a function's result. A function of constants is a constant; of other values there are terms where the
    /// function takes one of them.
    fn call(
        &mut self,
        function: Function,
        node: &Node,
        values: &[Node],
        bindings: &mut Bindings,
        around: Reduction,
    ) -> Step<Vec<Term>> {
        let result = self.points.value(node, bindings, around)?;
        let mut constants = true;
        node.reads(&mut |_| constants = false);
        if constants {
            return Ok(vec![constant(result)]);
        }
        for value in values {
            let given = self.points.value(value, bindings, around)?;
            match function {
                Function::Abs if given < 0.0 => {
                    return Ok(scale(self.node(value, bindings, around)?, |x| -x));
                }
                Function::Abs | Function::Max | Function::Min | Function::Cast(_)
                    if given == result =>
                {
                    return self.node(value, bindings, around);
                }
                _ => {}
            }
        }
        Err(Stop::NotASum)
    }

    fn binary(&self, op: Op, mut left: Vec<Term>, right: Vec<Term>) -> Step<Vec<Term>> {
        match op {
            Op::Add => left.extend(right),
            Op::Sub => left.extend(scale(right, |x| -x)),
            Op::Mul => {
                if left.len().saturating_mul(right.len()) > self.limit.max(1) {
                    return Err(Stop::NotASum);
                }
                // Most products have one factor on each side, which need not be copied.
                if let ([_], [_]) = (&left[..], &right[..]) {
                    let factor = right.into_iter();
                    return Ok(left.into_iter().zip(factor).map(|(a, b)| product(a, b)).collect());
                }
                let all = left.iter().flat_map(|a| right.iter().map(|b| (a.clone(), b.clone())));
                return Ok(all.map(|(a, b)| product(a, b)).collect());
            }
            Op::Div => {
                // By a constant only: a single term without factors.
                let [Term { coefficient, factors, .. }] = right.as_slice() else {
                    return Err(Stop::NotASum);
                };
                if !factors.is_empty() {
                    return Err(Stop::NotASum);
                }
                let divisor = *coefficient;
                return Ok(scale(left, |x| x / divisor));
            }
        }
        Ok(left)
    }

    /// Appends the terms of a sum of `body` over `bound`.
    fn sum(
        &mut self,
        bound: &[IndexId],
        body: &Node,
        bindings: &mut Bindings,
        into: &mut Vec<Term>,
    ) -> Step<()> {
        self.points.step()?;
        let Some((&id, rest)) = bound.split_first() else {
            into.extend(self.node(body, bindings, Reduction::Sum)?);
            return if into.len() > self.limit { Err(Stop::NotASum) } else { Ok(()) };
        };
        for value in 0..self.source.lowered.ranges[id] {
            bindings.push((id, value));
            let before = into.len();
            self.sum(rest, body, bindings, into)?;
            bindings.pop();
            let name = &self.source.lowered.names[id];
            for term in &mut into[before..] {
                term.indices.insert(0, (name.clone(), value));
            }
        }
        Ok(())
    }

    fn read(&mut self, read: &Read, bindings: &Bindings, around: Reduction) -> Step<Vec<Term>> {
        match self.points.coords(read, bindings)? {
            Some((tensor, coords)) => self.element(tensor, &coords),
            // Outside is nothing in a sum, and the last choice of all other reductions.
            None if around == Reduction::Sum => Ok(Vec::new()),
            None => Err(Stop::NotASum),
        }
    }
}

/// A contribution with numbers for sizes.
fn at(contribution: &Contribution, dims: &Dims) -> Contribution {
    // An expression without a value has none either where it is asked for.
    let int = |int: &IntExpr| fold_constants(int, dims).unwrap_or_else(|_| int.clone());
    Contribution {
        subscripts: contribution.subscripts.iter().map(int).collect(),
        body: node_at(&contribution.body, &int),
        ..contribution.clone()
    }
}

fn node_at(node: &Node, int: &dyn Fn(&IntExpr) -> IntExpr) -> Node {
    match node {
        Node::Index(own) => Node::Index(int(own)),
        Node::Read(read) => {
            let subscripts = read.subscripts.iter().map(int).collect();
            Node::Read(Read { subscripts, ..read.clone() })
        }
        Node::Where(guards, body) => {
            let guard = |g: &Guard| Guard { left: int(&g.left), right: int(&g.right), ..g.clone() };
            Node::Where(guards.iter().map(guard).collect(), Box::new(node_at(body, int)))
        }
        _ => node.map_children(&mut |child| node_at(child, int)),
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

fn product(mut a: Term, b: Term) -> Term {
    a.coefficient *= b.coefficient;
    a.value *= b.value;
    a.factors.extend(b.factors);
    a.indices.extend(b.indices);
    a
}
