//! Values as a kernel in f32 computes them: with its overflow, and with a bound of its rounding error.

use crate::dtype::DType;
use crate::rounding::format::Format;
use crate::rounding::functions;
use crate::syntax::operators::{Function, Op, Reduction};

/// A value, and how far that of a kernel in f32 may be from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub value: f64,
    pub error: f64,
}

/// The unit roundoff of f32.
pub(crate) const UNIT: f64 = 1.0 / 16_777_216.0;

/// A reduction under way.
pub(super) struct Sum {
    kind: Reduction,
    value: f64,
    error: f64,
    magnitude: f64,
    count: u64,
    /// All terms are whole and exact.
    whole: bool,
}

impl Sum {
    pub fn new(kind: Reduction) -> Self {
        let value = kind.identity();
        Self { kind, value, error: 0.0, magnitude: 0.0, count: 0, whole: true }
    }

    /// Whether the value is the extremum so far.
    pub fn add(&mut self, new: Value) -> bool {
        self.count += 1;
        if self.kind == Reduction::Sum {
            self.value += new.value;
            self.magnitude += new.value.abs();
            self.error += new.error;
            self.whole &= new.error == 0.0 && new.value.fract() == 0.0;
            return false;
        }
        self.error = self.error.max(new.error);
        let best = self.count == 1 || self.kind.beats(new.value, self.value);
        if best {
            self.value = new.value;
        }
        best
    }

    /// As many terms of a sum that are 0 and exact.
    pub fn add_zeros(&mut self, count: u64) {
        self.count += count;
    }

    pub fn finish(self) -> Value {
        let Self { kind, value, error, magnitude, count, whole } = self;
        let exact = kind != Reduction::Sum || count <= 1 || (whole && magnitude <= 1.0 / UNIT);
        let roundings = (count as f64).min(4.0 * (count as f64).sqrt()) + 1.0;
        let error = if exact { error } else { error + roundings * UNIT * magnitude };
        overflow(Value { value, error })
    }
}

pub(super) fn exact(value: f64) -> Value {
    Value { value, error: 0.0 }
}

/// What f32 makes of a value outside its range.
fn overflow(v: Value) -> Value {
    let max = f64::from(f32::MAX);
    if v.value.abs() > max && v.value.is_finite() {
        Value { value: f64::INFINITY.copysign(v.value), error: 0.0 }
    } else if v.value.abs() < 1e-45 && v.error < 1e-45 {
        Value { value: 0.0, error: 0.0 }
    } else {
        v
    }
}

/// The value after a rounding, with the error that it brings.
fn rounded(value: f64, error: f64, units: f64) -> Value {
    let fits = error == 0.0 && f64::from(value as f32) == value;
    let error = if fits || !value.is_finite() { error } else { error + units * UNIT * value.abs() };
    overflow(Value { value, error })
}

pub(super) fn binary(op: Op, a: Value, b: Value) -> Value {
    let (x, y) = (a.value, b.value);
    match op {
        Op::Add => rounded(x + y, a.error + b.error, 1.0),
        Op::Sub => rounded(x - y, a.error + b.error, 1.0),
        Op::Mul => {
            let error = x.abs() * b.error + y.abs() * a.error + a.error * b.error;
            rounded(x * y, if error.is_nan() { 0.0 } else { error }, 1.0)
        }
        Op::Div => {
            let value = x / y;
            let room = y.abs() - b.error;
            let error = if a.error == 0.0 && b.error == 0.0 {
                0.0
            } else if room > 0.0 {
                (a.error + value.abs() * b.error) / room
            } else {
                f64::INFINITY
            };
            rounded(value, error, 2.0)
        }
    }
}

pub(super) fn call(function: Function, a: Value, b: Value) -> Value {
    let value = functions::value(function, a.value, b.value);
    match function {
        Function::Max | Function::Min => Value { value, error: a.error.max(b.error) },
        Function::Abs => Value { value, error: a.error },
        Function::Floor => Value { value, error: if a.error == 0.0 { 0.0 } else { 1.0 } },
        Function::Cast(dtype) => stored(a, dtype),
        Function::Exp
        | Function::Log
        | Function::Sqrt
        | Function::Rsqrt
        | Function::Tanh
        | Function::Sin
        | Function::Cos
        | Function::Erf
        | Function::Sigmoid
        | Function::Pow => {
            // By differences: how far the errors of the arguments move the value.
            let moved = |da: f64, db: f64| {
                let other = functions::value(function, a.value + da, b.value + db);
                if other == value { 0.0 } else { (other - value).abs() }
            };
            let propagated = if a.error == 0.0 && b.error == 0.0 {
                0.0
            } else {
                moved(a.error, 0.0).max(moved(-a.error, 0.0))
                    + moved(0.0, b.error).max(moved(0.0, -b.error))
            };
            let error = if propagated.is_nan() { f64::INFINITY } else { propagated };
            rounded(value, error, if function == Function::Pow { 16.0 } else { 4.0 })
        }
    }
}

/// What a tensor of this type keeps of a value.
pub(super) fn stored(v: Value, dtype: DType) -> Value {
    match dtype {
        DType::F32 | DType::F64 | DType::I32 | DType::I64 | DType::U8 => v,
        DType::F16 | DType::BF16 => {
            let format = Format::of(dtype);
            let value = format.round(v.value);
            if v.error == 0.0 && f64::from(v.value as f32) == v.value {
                return Value { value, error: 0.0 };
            }
            let error = v.error + 2.0 * (v.value.abs() + v.error) * 2_f64.powi(-format.precision);
            Value { value, error: error + 2_f64.powi(format.min_exponent) }
        }
    }
}
