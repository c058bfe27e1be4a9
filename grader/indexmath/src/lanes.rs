//! A stack machine that evaluates a body for many iterations at once, with its error analysis.

use crate::bound::{Ambiguity, Settling, Sum};
use crate::format::Format;
use crate::functions::Settled;
use crate::ops::{Cmp, Func, Junction, Op, Reduction};

/// Iterations at once.
pub(crate) const LANES: usize = 64;

/// Values on the stack: a [`Sum`] for each iteration.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    pub value: [f64; LANES],
    pub magnitude: [f64; LANES],
    pub terms: [f64; LANES],
    pub inherited: [f64; LANES],
}

impl Lanes {
    pub(crate) const ZERO: Self = Self {
        value: [0.0; LANES],
        magnitude: [0.0; LANES],
        terms: [0.0; LANES],
        inherited: [0.0; LANES],
    };

    pub(crate) fn constant(&mut self, value: f64) {
        self.value = [value; LANES];
        self.magnitude = [value.abs(); LANES];
        self.terms = [1.0; LANES];
        self.inherited = [0.0; LANES];
    }

    pub(crate) fn element(&mut self, lane: usize, value: f64, error: f64) {
        self.set(lane, Sum { value, magnitude: value.abs(), terms: 1.0, inherited: error });
    }

    /// Outside a padded tensor: no term at all.
    pub(crate) fn outside(&mut self, lane: usize, value: f64) {
        self.set(lane, Sum { value, magnitude: 0.0, terms: 0.0, inherited: 0.0 });
    }

    /// Is it a padded read, outside, and so no candidate of `reduction`?
    pub(crate) fn is_padding(&self, lane: usize, reduction: Reduction) -> bool {
        self.terms[lane] == 0.0 && self.value[lane] == reduction.identity()
    }

    pub(crate) fn settled(&self, lane: usize) -> Settled {
        Settled { value: self.value[lane], error: self.inherited[lane] }
    }

    fn set_settled(&mut self, lane: usize, settled: Settled) {
        let Settled { value, error } = settled;
        self.set(lane, Sum { value, magnitude: value.abs(), terms: 1.0, inherited: error });
    }

    /// This iteration of `other`.
    fn copy(&mut self, lane: usize, other: &Self) {
        self.value[lane] = other.value[lane];
        self.magnitude[lane] = other.magnitude[lane];
        self.terms[lane] = other.terms[lane];
        self.inherited[lane] = other.inherited[lane];
    }

    fn set(&mut self, lane: usize, sum: Sum) {
        self.value[lane] = sum.value;
        self.magnitude[lane] = sum.magnitude;
        self.terms[lane] = sum.terms;
        self.inherited[lane] = sum.inherited;
    }
}

#[derive(Debug, Default)]
pub(crate) struct Machine {
    stack: Vec<Lanes>,
    used: usize,
}

impl Machine {
    /// A new value on top, with old contents.
    pub(crate) fn push(&mut self) -> &mut Lanes {
        if self.used == self.stack.len() {
            self.stack.push(Lanes::ZERO);
        }
        self.used += 1;
        &mut self.stack[self.used - 1]
    }

    pub(crate) fn pop(&mut self) -> Option<&Lanes> {
        self.used = self.used.checked_sub(1)?;
        self.stack.get(self.used)
    }

    pub(crate) fn negate(&mut self) {
        if let Some(top) = self.stack[..self.used].last_mut() {
            top.value.iter_mut().for_each(|value| *value = -*value);
        }
    }

    /// Takes the right operand off; gives both.
    fn operands(&mut self) -> Option<(&mut Lanes, &Lanes)> {
        self.used = self.used.checked_sub(1)?;
        let (rest, right) = self.stack.split_at_mut(self.used);
        rest.last_mut().zip(right.first())
    }

    pub(crate) fn binary(&mut self, op: Op) {
        match op {
            Op::Add => self.add(1.0),
            Op::Sub => self.add(-1.0),
            Op::Mul => self.multiply(),
            Op::Div => self.divide(),
        }
    }

    /// `a + sign·b`.
    fn add(&mut self, sign: f64) {
        let Some((a, b)) = self.operands() else { return };
        for lane in 0..LANES {
            a.value[lane] += sign * b.value[lane];
            a.magnitude[lane] += b.magnitude[lane];
            a.terms[lane] += b.terms[lane];
            a.inherited[lane] += b.inherited[lane];
        }
    }

    fn multiply(&mut self) {
        let Some((a, b)) = self.operands() else { return };
        for lane in 0..LANES {
            let (x, y) = (a.value[lane].abs(), b.value[lane].abs());
            let (dx, dy) = (a.inherited[lane], b.inherited[lane]);
            a.inherited[lane] = dx * y + dy * x + dx * dy;
            a.value[lane] *= b.value[lane];
            a.magnitude[lane] *= b.magnitude[lane];
            a.terms[lane] *= b.terms[lane];
        }
    }

    /// The terms of a quotient are those of the dividend. Roundings of the divisor's terms reach the
    /// quotient with the divisor's condition number, which the magnitude takes in.
    fn divide(&mut self) {
        let Some((a, b)) = self.operands() else { return };
        for lane in 0..LANES {
            let (x, y) = (a.value[lane].abs(), b.value[lane].abs());
            let (dx, dy) = (a.inherited[lane], b.inherited[lane]);
            let condition = b.magnitude[lane] / y;
            a.inherited[lane] = if dx == 0.0 && dy == 0.0 {
                0.0
            } else if dy < y {
                (dx + x / y * dy) / (y - dy)
            } else {
                f64::INFINITY
            };
            a.value[lane] /= b.value[lane];
            a.magnitude[lane] = a.magnitude[lane] / y * condition;
        }
    }

    /// What rounding did to the top so far becomes its error; only the first `count` iterations matter.
    pub(crate) fn settle(&mut self, settling: &Settling, count: usize) {
        let Some(top) = self.stack[..self.used].last_mut() else { return };
        for lane in 0..count {
            let value = top.value[lane];
            let error = settling.error(value, top.magnitude[lane], top.inherited[lane]);
            let terms = top.terms[lane];
            top.set_settled(lane, Settled { value, error });
            // No term at all remains none: a contest tells padding from an element that is infinite.
            top.terms[lane] = terms.min(1.0);
        }
    }

    pub(crate) fn call(&mut self, func: Func, format: &Format, count: usize) {
        if func == Func::Abs {
            if let Some(top) = self.stack[..self.used].last_mut() {
                top.value.iter_mut().for_each(|value| *value = value.abs());
            }
        } else if func.arity() == 1 {
            let Some(top) = self.stack[..self.used].last_mut() else { return };
            for lane in 0..count {
                let x = top.settled(lane);
                top.set_settled(lane, func.call(x, x, format));
            }
        } else {
            let Some((a, b)) = self.operands() else { return };
            for lane in 0..count {
                a.set_settled(lane, func.call(a.settled(lane), b.settled(lane), format));
            }
        }
    }

    /// Truth as 1 or 0. Where errors can turn it, the error is how far they reach, else 0.
    pub(crate) fn compare(&mut self, cmp: Cmp, count: usize) {
        let Some((a, b)) = self.operands() else { return };
        for lane in 0..count {
            let (x, y) = (a.settled(lane), b.settled(lane));
            let reach = x.error + y.error;
            let sure = (x.value - y.value).abs() > reach;
            let error = if reach > 0.0 && !sure { reach } else { 0.0 };
            let value = f64::from(cmp.holds(x.value, y.value));
            a.set_settled(lane, Settled { value, error });
        }
    }

    pub(crate) fn join(&mut self, junction: Junction, count: usize) {
        let Some((a, b)) = self.operands() else { return };
        // One side with this truth, and without doubt, decides.
        let decisive = if junction == Junction::Or { 1.0 } else { 0.0 };
        for lane in 0..count {
            let (x, y) = (a.settled(lane), b.settled(lane));
            let decides = |side: Settled| side.value == decisive && side.error == 0.0;
            let value = if x.value == decisive { decisive } else { y.value };
            let sure = decides(x) || decides(y);
            let error = if sure { 0.0 } else { x.error.max(y.error) };
            a.set_settled(lane, Settled { value, error });
        }
    }

    /// Takes one of two values. Where the condition is in doubt both are possible: the error then spans
    /// them, if they are as near to each other as what is compared, as at the kink of `select(x > 0, x, 0)`;
    /// else it is infinite.
    pub(crate) fn select(&mut self, count: usize, ambiguity: &mut Option<Ambiguity>) {
        let Some(used) = self.used.checked_sub(2).filter(|used| *used > 0) else { return };
        self.used = used;
        let (rest, branches) = self.stack.split_at_mut(used);
        let (Some(top), [yes, no, ..]) = (rest.last_mut(), branches) else { return };
        for lane in 0..count {
            let Settled { value: truth, error: doubt } = top.settled(lane);
            let (taken, other) = if truth == 1.0 { (&*yes, &*no) } else { (&*no, &*yes) };
            top.copy(lane, taken);
            if doubt == 0.0 || taken.value[lane] == other.value[lane] {
                continue;
            }
            let errors = taken.inherited[lane].max(other.inherited[lane]);
            let gap = (taken.value[lane] - other.value[lane]).abs();
            let near = if doubt.is_finite() { NEAR * doubt } else { 0.0 };
            top.magnitude[lane] = taken.magnitude[lane].max(other.magnitude[lane]);
            top.terms[lane] = taken.terms[lane].max(other.terms[lane]);
            top.inherited[lane] = if gap <= near + errors {
                gap + errors
            } else {
                ambiguity.get_or_insert(Ambiguity { doubt });
                f64::INFINITY
            };
        }
    }
}

/// Slope of a function at a kink, at most.
const NEAR: f64 = 8.0;
