//! A stack machine that evaluates a body for many iterations at once, with its error analysis.

use crate::rounding::bound::{ErrorModel, RunningSum};
use crate::rounding::enclosure::{Ambiguity, Enclosure};
use crate::rounding::format::Format;
use crate::rounding::functions;
use crate::syntax::operators::{Comparison, Connective, Function, Op, Reduction};

/// The number of iterations that are evaluated at once.
pub(crate) const LANES: usize = 64;

/// The greatest slope of a function at a kink.
const MAX_SLOPE: f64 = 8.0;

/// A value on the stack: a [`RunningSum`] for each iteration.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    value: [f64; LANES],
    magnitude: [f64; LANES],
    terms: [f64; LANES],
    propagated: [f64; LANES],
}

impl Lanes {
    /// 0 without any term.
    pub(crate) const ZERO: Self = Self {
        value: [0.0; LANES],
        magnitude: [0.0; LANES],
        terms: [0.0; LANES],
        propagated: [0.0; LANES],
    };

    /// Sets all lanes to a number.
    pub(crate) fn set_all(&mut self, value: f64) {
        self.value = [value; LANES];
        self.magnitude = [value.abs(); LANES];
        self.terms = [1.0; LANES];
        self.propagated = [0.0; LANES];
    }

    /// Sets a lane to a value without any term: what a padded read has outside its tensor.
    pub(crate) fn set_outside(&mut self, lane: usize, value: f64) {
        self.set(lane, RunningSum { value, magnitude: 0.0, terms: 0.0, propagated: 0.0 });
    }

    /// Whether a lane is a padded read outside its tensor, and so the last choice of `reduction`.
    pub(crate) fn is_padding(&self, lane: usize, reduction: Reduction) -> bool {
        self.terms[lane] == 0.0 && self.value[lane] == reduction.identity()
    }

    /// The value and the error of a lane that was enclosed.
    pub(crate) fn enclosure(&self, lane: usize) -> Enclosure {
        Enclosure { value: self.value[lane], error: self.propagated[lane] }
    }

    /// Sets a lane to a single term with an error.
    pub(crate) fn set_enclosure(&mut self, lane: usize, enclosure: Enclosure) {
        let Enclosure { value, error } = enclosure;
        self.set(lane, RunningSum { value, magnitude: value.abs(), terms: 1.0, propagated: error });
    }

    pub(crate) fn sum(&self, lane: usize) -> RunningSum {
        RunningSum {
            value: self.value[lane],
            magnitude: self.magnitude[lane],
            terms: self.terms[lane],
            propagated: self.propagated[lane],
        }
    }

    pub(crate) fn set(&mut self, lane: usize, sum: RunningSum) {
        self.value[lane] = sum.value;
        self.magnitude[lane] = sum.magnitude;
        self.terms[lane] = sum.terms;
        self.propagated[lane] = sum.propagated;
    }
}

/// The stack. Popped values stay allocated, to be pushed again.
#[derive(Debug, Default)]
pub(crate) struct LaneStack {
    values: Vec<Lanes>,
    used: usize,
}

impl LaneStack {
    /// Pushes a value, whose contents are left over from before.
    pub(crate) fn push(&mut self) -> &mut Lanes {
        if self.used == self.values.len() {
            self.values.push(Lanes::ZERO);
        }
        self.used += 1;
        &mut self.values[self.used - 1]
    }

    /// Pops the value on top.
    pub(crate) fn pop(&mut self) -> Option<&Lanes> {
        self.used = self.used.checked_sub(1)?;
        self.values.get(self.used)
    }

    /// Negates the value on top.
    pub(crate) fn negate(&mut self) {
        if let Some(top) = self.values[..self.used].last_mut() {
            top.value.iter_mut().for_each(|value| *value = -*value);
        }
    }

    /// Pops the right operand. Gives the left one, which is on top now, and the right one.
    fn operands(&mut self) -> Option<(&mut Lanes, &Lanes)> {
        self.used = self.used.checked_sub(1)?;
        let (rest, right) = self.values.split_at_mut(self.used);
        rest.last_mut().zip(right.first())
    }

    /// Replaces two operands by the result of an arithmetic operation.
    pub(crate) fn binary(&mut self, op: Op) {
        match op {
            Op::Add => self.add(1.0),
            Op::Sub => self.add(-1.0),
            Op::Mul => self.multiply(),
            Op::Div => self.divide(),
        }
    }

    /// Computes `a + sign·b`.
    fn add(&mut self, sign: f64) {
        let Some((a, b)) = self.operands() else { return };
        for lane in 0..LANES {
            a.value[lane] += sign * b.value[lane];
            a.magnitude[lane] += b.magnitude[lane];
            a.terms[lane] += b.terms[lane];
            a.propagated[lane] += b.propagated[lane];
        }
    }

    fn multiply(&mut self) {
        let Some((a, b)) = self.operands() else { return };
        for lane in 0..LANES {
            let (x, y) = (a.value[lane].abs(), b.value[lane].abs());
            let (dx, dy) = (a.propagated[lane], b.propagated[lane]);
            a.propagated[lane] = dx * y + dy * x + dx * dy;
            a.value[lane] *= b.value[lane];
            a.magnitude[lane] *= b.magnitude[lane];
            a.terms[lane] *= b.terms[lane];
        }
    }

    /// Divides. The terms of a quotient are those of the dividend. Roundings of the divisor's terms reach the quotient with
    /// the divisor's condition number, `Σ|term| / |Σ term|` (Higham 2002, section 4.2), which the magnitude takes in.
    fn divide(&mut self) {
        let Some((a, b)) = self.operands() else { return };
        for lane in 0..LANES {
            let (x, y) = (a.value[lane].abs(), b.value[lane].abs());
            let (dx, dy) = (a.propagated[lane], b.propagated[lane]);
            let condition = b.magnitude[lane] / y;
            a.propagated[lane] = if dx == 0.0 && dy == 0.0 {
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

    /// Encloses the value on top: what rounding did to it so far becomes its error. Only the first `count` lanes matter here and
    /// below.
    pub(crate) fn enclose(&mut self, model: &ErrorModel, count: usize) {
        let Some(top) = self.values[..self.used].last_mut() else { return };
        for lane in 0..count {
            let value = top.value[lane];
            let error = model.error(value, top.magnitude[lane], top.propagated[lane]);
            let terms = top.terms[lane];
            top.set_enclosure(lane, Enclosure { value, error });
            // No term at all remains none: by that an extremum tells padding from an element that is infinite.
            top.terms[lane] = terms.min(1.0);
        }
    }

    /// Replaces the arguments of a function by its result, in a kernel that computes in `format`.
    pub(crate) fn call(&mut self, function: Function, format: &Format, count: usize) {
        if function == Function::Abs {
            if let Some(top) = self.values[..self.used].last_mut() {
                top.value.iter_mut().for_each(|value| *value = value.abs());
            }
        } else if function.arity() == 1 {
            let Some(top) = self.values[..self.used].last_mut() else { return };
            for lane in 0..count {
                let x = top.enclosure(lane);
                top.set_enclosure(lane, functions::call(function, x, x, format));
            }
        } else {
            let Some((a, b)) = self.operands() else { return };
            for lane in 0..count {
                let result =
                    functions::call(function, a.enclosure(lane), b.enclosure(lane), format);
                a.set_enclosure(lane, result);
            }
        }
    }

    /// Compares two enclosures. The result is 1 where the comparison holds and 0 where it does not; its error is how far the
    /// errors of the two reach where they can change it, else 0.
    pub(crate) fn compare(&mut self, comparison: Comparison, count: usize) {
        let Some((a, b)) = self.operands() else { return };
        for lane in 0..count {
            let (x, y) = (a.enclosure(lane), b.enclosure(lane));
            let reach = x.error + y.error;
            let sure = (x.value - y.value).abs() > reach;
            let error = if reach > 0.0 && !sure { reach } else { 0.0 };
            let value = f64::from(comparison.holds(x.value, y.value));
            a.set_enclosure(lane, Enclosure { value, error });
        }
    }

    /// Joins two conditions, each with its error as [`Self::compare`] gives it.
    pub(crate) fn join(&mut self, connective: Connective, count: usize) {
        let Some((a, b)) = self.operands() else { return };
        // One side with this truth, and without doubt, decides.
        let decisive = if connective == Connective::Or { 1.0 } else { 0.0 };
        for lane in 0..count {
            let (x, y) = (a.enclosure(lane), b.enclosure(lane));
            let decides = |side: Enclosure| side.value == decisive && side.error == 0.0;
            let value = if x.value == decisive { decisive } else { y.value };
            let sure = decides(x) || decides(y);
            let error = if sure { 0.0 } else { x.error.max(y.error) };
            a.set_enclosure(lane, Enclosure { value, error });
        }
    }

    /// Replaces a condition and two values by one of the values. Where the condition is in doubt both are possible: the error
    /// then spans them, if they are about as near to each other as what is compared, as at the kink of
    /// `select(x > 0, x, 0)`; else it is infinite, and `ambiguity` says why.
    pub(crate) fn select(&mut self, count: usize, ambiguity: &mut Option<Ambiguity>) {
        let Some(used) = self.used.checked_sub(2).filter(|used| *used > 0) else { return };
        self.used = used;
        let (rest, branches) = self.values.split_at_mut(used);
        let (Some(top), [yes, no, ..]) = (rest.last_mut(), branches) else { return };
        for lane in 0..count {
            let Enclosure { value: truth, error: doubt } = top.enclosure(lane);
            let (taken, other) = if truth == 1.0 { (&*yes, &*no) } else { (&*no, &*yes) };
            top.set(lane, taken.sum(lane));
            if doubt == 0.0 || taken.value[lane] == other.value[lane] {
                continue;
            }
            let errors = taken.propagated[lane].max(other.propagated[lane]);
            let gap = (taken.value[lane] - other.value[lane]).abs();
            let near = if doubt.is_finite() { MAX_SLOPE * doubt } else { 0.0 };
            top.magnitude[lane] = taken.magnitude[lane].max(other.magnitude[lane]);
            top.terms[lane] = taken.terms[lane].max(other.terms[lane]);
            top.propagated[lane] = if gap <= near + errors {
                gap + errors
            } else {
                ambiguity.get_or_insert(Ambiguity { doubt });
                f64::INFINITY
            };
        }
    }
}
