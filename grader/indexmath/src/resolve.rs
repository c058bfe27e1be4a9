//! Values on the way to the terms of an element: which branch the data take.

use crate::address::is_integer;
use crate::ast::{Int, IntKind, Read};
use crate::ir::{IndexId, Node};
use crate::lower::size;
use crate::ops::{Cond, Junction, Op, Reduction};
use crate::shape::{apply, eval};
use crate::terms::{Bindings, Expander, Step, Stop, lookup};

/// The iteration that won a reduction.
pub(crate) struct Winner {
    /// Row-major.
    pub place: i64,
    /// Values of the reduction's indices.
    pub at: Vec<i64>,
    value: f64,
}

impl Expander<'_> {
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
            Node::Size(name, span) => size(name, *span, &self.concrete.dims)? as f64,
            Node::Index(int) => self.int(int, bindings)? as f64,
            Node::Read(read) => match self.coords(read, bindings)? {
                Some((tensor, coords)) => self.datum(tensor, &coords)?,
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
            Node::Reduce(Reduction::Sum, bound, body) => {
                let mut sum = 0.0;
                self.each(bound, bindings, &mut |this, bindings, _| {
                    sum += this.value(body, bindings, Reduction::Sum)?;
                    Ok(())
                })?;
                sum
            }
            Node::Reduce(reduction, bound, body) => {
                let winner = self.winner(*reduction, bound, body, bindings)?;
                if reduction.is_place() { winner.place as f64 } else { winner.value }
            }
            Node::Call(func, values) => {
                let mut arguments = [0.0; 2];
                for (argument, value) in arguments.iter_mut().zip(values) {
                    *argument = self.value(value, bindings, around)?;
                }
                func.value(arguments[0], arguments[1])
            }
            Node::Select(cond, yes, no) => {
                let taken = if self.truth(cond, bindings, around)? { yes } else { no };
                self.value(taken, bindings, around)?
            }
        })
    }

    pub(crate) fn truth(
        &mut self,
        cond: &Cond<Node>,
        bindings: &mut Bindings,
        around: Reduction,
    ) -> Step<bool> {
        match cond {
            Cond::Compare(cmp, left, right) => {
                let a = self.value(left, bindings, around)?;
                let b = self.value(right, bindings, around)?;
                Ok(cmp.holds(a, b))
            }
            Cond::Join(junction, left, right) => {
                let first = self.truth(left, bindings, around)?;
                if first == (*junction == Junction::Or) {
                    return Ok(first);
                }
                self.truth(right, bindings, around)
            }
        }
    }

    pub(crate) fn winner(
        &mut self,
        reduction: Reduction,
        bound: &[IndexId],
        body: &Node,
        bindings: &mut Bindings,
    ) -> Step<Winner> {
        let mut best: Option<Winner> = None;
        let mut place = 0;
        self.each(bound, bindings, &mut |this, bindings, first| {
            let value = this.value(body, bindings, reduction)?;
            if best.as_ref().is_none_or(|best| reduction.beats(value, best.value)) {
                let at = bindings[first..].iter().map(|(_, at)| *at).collect();
                best = Some(Winner { place, at, value });
            }
            place += 1;
            Ok(())
        })?;
        best.ok_or(Stop::NoSum)
    }

    /// Calls `f` for all values of `bound`, in row-major order, with the place of the first one in the bindings.
    fn each(
        &mut self,
        bound: &[IndexId],
        bindings: &mut Bindings,
        f: &mut dyn FnMut(&mut Self, &mut Bindings, usize) -> Step<()>,
    ) -> Step<()> {
        let first = bindings.len();
        let ranges: Vec<i64> = bound.iter().map(|&id| self.concrete.lowered.ranges[id]).collect();
        bindings.extend(bound.iter().map(|&id| (id, 0)));
        'all: loop {
            self.step()?;
            f(self, bindings, first)?;
            for (place, range) in ranges.iter().enumerate().rev() {
                let (_, at) = &mut bindings[first + place];
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
    pub(crate) fn int(&mut self, int: &Int, bindings: &Bindings) -> Step<i64> {
        if !int.has_elements() {
            return Ok(eval(int, &self.concrete.dims, &|id| lookup(bindings, id))?);
        }
        match &int.kind {
            IntKind::Element(read) => {
                let Some((tensor, coords)) = self.coords(read, bindings)? else {
                    return Err(Stop::NoSum);
                };
                let value = self.datum(tensor, &coords)?;
                if is_integer(value) { Ok(value as i64) } else { Err(Stop::NoSum) }
            }
            IntKind::Neg(inner) => self.int(inner, bindings)?.checked_neg().ok_or(Stop::NoSum),
            IntKind::Binary(op, left, right) => {
                let (a, b) = (self.int(left, bindings)?, self.int(right, bindings)?);
                apply(*op, a, b).map_err(|_| Stop::NoSum)
            }
            _ => Err(Stop::NoSum),
        }
    }

    /// The tensor and the coordinates of a read; `None` outside a padded one.
    pub(crate) fn coords(
        &mut self,
        read: &Read,
        bindings: &Bindings,
    ) -> Step<Option<(usize, Vec<i64>)>> {
        let tensor = self.concrete.tensor(&read.tensor)?;
        let shape = &self.concrete.lowered.tensors[tensor].shape;
        let mut coords = Vec::with_capacity(shape.len());
        for (subscript, &size) in read.subscripts.iter().zip(shape) {
            let at = self.int(subscript, bindings)?;
            if at < 0 || at >= size as i64 {
                return if read.padded { Ok(None) } else { Err(Stop::NoSum) };
            }
            coords.push(at);
        }
        Ok(Some((tensor, coords)))
    }

    /// The value of an element, given or computed.
    fn datum(&mut self, tensor: usize, coords: &[i64]) -> Step<f64> {
        let flat = self.concrete.flat(tensor, coords)?;
        if self.concrete.statement(tensor).is_none() {
            return Ok(self.concrete.input(self.known, tensor)?[flat]);
        }
        if self.computed.is_none() {
            let place = self.concrete.statement(self.tensor);
            let reads = place.map_or(&[][..], |at| &self.concrete.lowered.statements[at].reads);
            self.computed = Some(self.concrete.compute(self.known, &[], reads)?);
        }
        let data = self.computed.as_ref().and_then(|computed| computed.data[tensor].as_ref());
        data.map(|data| data.values[flat]).ok_or(Stop::NoSum)
    }
}
