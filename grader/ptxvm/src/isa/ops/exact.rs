//! `f64` arithmetic in any direction, exactly: integers hold the whole result, and it is rounded once.

use super::round::Mode;

/// Exponent of the smallest normal number.
const MIN_EXPONENT: i32 = -1022;
const MANTISSA: i32 = 52;
const INFINITY: u64 = 0x7FF << MANTISSA;
/// The highest bit of a normalised significand; one more is left for the carry of a sum.
const TOP: i32 = 125;

/// A number other than zero: significand times two to the exponent.
#[derive(Clone, Copy)]
struct Number {
    negative: bool,
    significand: u128,
    exponent: i32,
}

impl Number {
    /// Returns `None` for zero, infinities and NaN.
    fn new(value: f64) -> Option<Self> {
        if value == 0.0 || !value.is_finite() {
            return None;
        }
        let bits = value.to_bits();
        let field = (bits >> MANTISSA) as i32 & 0x7FF;
        let fraction = u128::from(bits & ((1 << MANTISSA) - 1));
        let hidden = u128::from(field > 0) << MANTISSA;
        Some(Self {
            negative: value.is_sign_negative(),
            significand: fraction | hidden,
            exponent: field.max(1) - 1023 - MANTISSA,
        })
    }

    /// The same number with its highest bit at a given place, at or above the present one.
    fn with_top(self, top: i32) -> Self {
        let shift = top - self.significand.ilog2() as i32;
        Self { significand: self.significand << shift, exponent: self.exponent - shift, ..self }
    }

    /// The lowest bit may stand for all lost ones, if there are two more than a result keeps.
    fn round(self, mode: Mode) -> f64 {
        let Self { negative, significand, exponent } = self;
        let kept_exponent = (significand.ilog2() as i32 + exponent).max(MIN_EXPONENT);
        let shift = kept_exponent - MANTISSA - exponent;
        let (kept, lost, half) = match shift {
            ..=0 => ((significand << -shift) as u64, 0, 1),
            1..=127 => {
                let lost = significand & ((1 << shift) - 1);
                ((significand >> shift) as u64, lost, 1 << (shift - 1))
            }
            _ => (0, 1, 2),
        };
        let away = match mode {
            Mode::Nearest => lost > half || lost == half && kept & 1 == 1,
            Mode::Zero => false,
            Mode::Down => negative && lost != 0,
            Mode::Up => !negative && lost != 0,
        };
        // The hidden bit adds one to the exponent field; a carry of the rounding moves on to the next exponent.
        let field = (kept_exponent - MIN_EXPONENT) as u64;
        let magnitude = match field {
            0..0x7FF => ((field << MANTISSA) + kept + u64::from(away)).min(INFINITY),
            _ => INFINITY,
        };
        let stops = match mode {
            Mode::Nearest => false,
            Mode::Zero => true,
            Mode::Down => !negative,
            Mode::Up => negative,
        };
        let magnitude = if magnitude == INFINITY && stops { INFINITY - 1 } else { magnitude };
        f64::from_bits(magnitude | u64::from(negative) << 63)
    }
}

/// The zero that a sum of opposite numbers gives (IEEE 754, 6.3).
fn zero(mode: Mode) -> f64 {
    if mode == Mode::Down { -0.0 } else { 0.0 }
}

fn product(a: Number, b: Number) -> Number {
    Number {
        negative: a.negative != b.negative,
        significand: a.significand * b.significand,
        exponent: a.exponent + b.exponent,
    }
}

/// The exact sum of two numbers; None if it is zero.
fn sum(a: Number, b: Number) -> Option<Number> {
    let (a, b) = (a.with_top(TOP), b.with_top(TOP));
    let (high, low) = if a.exponent >= b.exponent { (a, b) } else { (b, a) };
    let shift = (high.exponent - low.exponent).min(127);
    let lost = low.significand & ((1 << shift) - 1) != 0;
    let shifted = low.significand >> shift | u128::from(lost);
    let (negative, significand) = if high.negative == low.negative {
        (high.negative, high.significand + shifted)
    } else {
        let larger = if high.significand >= shifted { high } else { low };
        (larger.negative, high.significand.abs_diff(shifted))
    };
    (significand != 0).then_some(Number { negative, significand, exponent: high.exponent })
}

pub fn add(a: f64, b: f64, mode: Mode) -> f64 {
    fma(a, 1.0, b, mode)
}

pub fn mul(a: f64, b: f64, mode: Mode) -> f64 {
    match (Number::new(a), Number::new(b)) {
        (Some(a), Some(b)) => product(a, b).round(mode),
        _ => a * b,
    }
}

pub fn fma(a: f64, b: f64, c: f64, mode: Mode) -> f64 {
    match (Number::new(a), Number::new(b), Number::new(c)) {
        (Some(a), Some(b), Some(c)) => {
            sum(product(a, b), c).map_or(zero(mode), |sum| sum.round(mode))
        }
        (Some(a), Some(b), None) if c == 0.0 => product(a, b).round(mode),
        // Zeros of opposite sign.
        _ if a * b == 0.0 && c == 0.0 && (a * b).is_sign_negative() != c.is_sign_negative() => {
            zero(mode)
        }
        _ => a.mul_add(b, c),
    }
}

pub fn div(a: f64, b: f64, mode: Mode) -> f64 {
    let (Some(x), Some(y)) = (Number::new(a), Number::new(b)) else {
        return a / b;
    };
    let (x, y) = (x.with_top(TOP), y.with_top(MANTISSA));
    let (quotient, remainder) = (x.significand / y.significand, x.significand % y.significand);
    let number = Number {
        negative: x.negative != y.negative,
        significand: quotient << 1 | u128::from(remainder != 0),
        exponent: x.exponent - y.exponent - 1,
    };
    number.round(mode)
}

pub fn sqrt(a: f64, mode: Mode) -> f64 {
    let Some(x) = Number::new(a).filter(|x| !x.negative) else {
        return a.sqrt();
    };
    let x = x.with_top(TOP);
    let x = if x.exponent % 2 == 0 { x } else { x.with_top(TOP + 1) };
    let root = x.significand.isqrt();
    let number = Number {
        negative: false,
        significand: root << 1 | u128::from(root * root != x.significand),
        exponent: x.exponent / 2 - 1,
    };
    number.round(mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random bits, with many exponents near the ends of the range.
    fn operands() -> impl Iterator<Item = [f64; 3]> {
        let mut state = 1u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let bits = state ^ state >> 29;
            match state >> 61 {
                0 => f64::from_bits(bits & !INFINITY),
                1 => f64::from_bits(bits | 0x7FE << MANTISSA),
                2 => f64::from_bits(bits >> 12 << 12 & !(0x400 << MANTISSA) | 0x3C0 << MANTISSA),
                3 => f64::from_bits(bits & (1 << 63 | 0xF00 << 40) | 0x3FF << MANTISSA),
                4 => [0.0, -0.0, 1.0, f64::MAX, f64::MIN_POSITIVE, f64::INFINITY, f64::NAN, -1.0]
                    [(bits >> 32) as usize % 8],
                _ => f64::from_bits(bits),
            }
        };
        std::iter::repeat_with(move || [next(), next(), next()]).take(100_000)
    }

    #[test]
    fn nearest_is_what_the_processor_gives() {
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        for [a, b, c] in operands() {
            let mode = Mode::Nearest;
            assert!(same(add(a, b, mode), a + b), "{a:e} + {b:e}");
            assert!(same(mul(a, b, mode), a * b), "{a:e} * {b:e}");
            assert!(same(div(a, b, mode), a / b), "{a:e} / {b:e}");
            assert!(same(sqrt(a, mode), a.sqrt()), "sqrt {a:e}");
            assert!(same(fma(a, b, c, mode), a.mul_add(b, c)), "{a:e} * {b:e} + {c:e}");
        }
    }

    #[test]
    fn directions_enclose_the_nearest() {
        for [a, b, c] in operands() {
            let results =
                |mode| [add(a, b, mode), mul(a, b, mode), div(a, b, mode), fma(a, b, c, mode)];
            let (down, up) = (results(Mode::Down), results(Mode::Up));
            let (nearest, zero) = (results(Mode::Nearest), results(Mode::Zero));
            for i in 0..4 {
                if nearest[i].is_nan() {
                    continue;
                }
                assert!(down[i] <= nearest[i] && nearest[i] <= up[i], "{a:e} {b:e} {c:e}");
                assert!(down[i] == up[i] || down[i].next_up() == up[i], "{a:e} {b:e} {c:e}");
                assert_eq!(zero[i], if nearest[i].is_sign_negative() { up[i] } else { down[i] });
            }
        }
    }

    #[test]
    fn zeros() {
        assert_eq!(add(1.0, -1.0, Mode::Down).to_bits(), (-0f64).to_bits());
        assert_eq!(add(0.0, -0.0, Mode::Down).to_bits(), (-0f64).to_bits());
        assert_eq!(add(0.0, 0.0, Mode::Down).to_bits(), 0);
        assert_eq!(add(1.0, -1.0, Mode::Up).to_bits(), 0);
        assert_eq!(mul(f64::MIN_POSITIVE, f64::MIN_POSITIVE, Mode::Up), f64::from_bits(1));
        assert_eq!(mul(f64::MIN_POSITIVE, f64::MIN_POSITIVE, Mode::Zero), 0.0);
    }
}
