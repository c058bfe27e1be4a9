//! A stack machine that evaluates a body for many iterations at once, with its error analysis.

use crate::bound::Sum;

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
    const ZERO: Self = Self {
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
    pub(crate) fn nothing(&mut self, lane: usize) {
        self.set(lane, Sum { value: 0.0, magnitude: 0.0, terms: 0.0, inherited: 0.0 });
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

    /// `a + sign·b`.
    pub(crate) fn add(&mut self, sign: f64) {
        let Some((a, b)) = self.operands() else { return };
        for lane in 0..LANES {
            a.value[lane] += sign * b.value[lane];
            a.magnitude[lane] += b.magnitude[lane];
            a.terms[lane] += b.terms[lane];
            a.inherited[lane] += b.inherited[lane];
        }
    }

    pub(crate) fn multiply(&mut self) {
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
    pub(crate) fn divide(&mut self) {
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
}
