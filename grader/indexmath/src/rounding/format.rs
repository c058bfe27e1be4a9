//! Number formats: what storing and accumulating in them does to a value.

use crate::dtype::DType;

/// The arithmetic of a kernel that writes tensors of one element type: it accumulates in f32 (f64 for f64 tensors, 32-bit
/// integers for i32 and u8, 64-bit ones for i64), rounds to nearest with ties to even, and stores in the tensor's type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    /// The unit roundoff `u` of the accumulator: the greatest relative error of an operation.
    pub accumulator_roundoff: f64,
    /// Integers up to this one are exact in the accumulator.
    pub exact_up_to: f64,
    /// The unit roundoff of the store; 0 if the accumulator's type is stored.
    pub store_roundoff: f64,
    /// Half the distance of the store's subnormal numbers, the greatest error of storing one; 1 for integers.
    pub store_underflow: f64,
    /// What an operation may lose to underflow, where subnormal numbers may be flushed to zero.
    pub underflow: f64,
    /// The same where they are kept: the distance of the accumulator's subnormal numbers.
    pub gradual_underflow: f64,
    /// The greatest finite value.
    pub max: f64,
    /// The least finite value.
    pub min: f64,
    /// The greatest value of the accumulator.
    pub accumulator_max: f64,
    /// The precision: bits of the significand, the leading one included.
    pub precision: i32,
    /// The exponent of the smallest positive value, a power of two.
    pub min_exponent: i32,
}

impl Format {
    /// The arithmetic of a kernel that writes tensors of type `dtype`.
    pub(crate) fn of(dtype: DType) -> Self {
        let single = Self {
            accumulator_roundoff: 2_f64.powi(-24),
            exact_up_to: 2_f64.powi(24),
            store_roundoff: 0.0,
            store_underflow: 0.0,
            underflow: 2_f64.powi(-126),
            gradual_underflow: 2_f64.powi(-149),
            max: f64::from(f32::MAX),
            min: -f64::from(f32::MAX),
            accumulator_max: f64::from(f32::MAX),
            precision: 24,
            min_exponent: -149,
        };
        // Accumulated in f32, and stored with less precision.
        let stored = |precision: i32, min_exponent: i32, max: f64| Self {
            store_roundoff: 2_f64.powi(-precision),
            store_underflow: 2_f64.powi(min_exponent - 1),
            max,
            min: -max,
            precision,
            min_exponent,
            ..single
        };
        // Accumulated in integers of the type `accumulator`, and stored as integers.
        let integers = |dtype: DType, accumulator: DType, precision: i32| {
            let ends = |dtype: DType| dtype.integers().unwrap_or((0, 0));
            let ((min, max), (_, accumulator_max)) = (ends(dtype), ends(accumulator));
            Self {
                exact_up_to: accumulator_max as f64,
                store_underflow: 1.0,
                max: max as f64,
                min: min as f64,
                accumulator_max: accumulator_max as f64,
                precision,
                min_exponent: 0,
                ..single
            }
        };
        match dtype {
            DType::F32 => single,
            DType::F64 => Self {
                accumulator_roundoff: 2_f64.powi(-53),
                exact_up_to: 2_f64.powi(53),
                underflow: f64::MIN_POSITIVE,
                gradual_underflow: 2_f64.powi(-1074),
                max: f64::MAX,
                min: f64::MIN,
                accumulator_max: f64::MAX,
                precision: 53,
                min_exponent: -1074,
                ..single
            },
            DType::F16 => stored(11, -24, 65504.0),
            DType::BF16 => stored(8, -133, 255.0 * 2_f64.powi(120)),
            DType::I32 => integers(dtype, dtype, 32),
            DType::I64 => integers(dtype, dtype, 53),
            // C++ computes with bytes as `int`.
            DType::U8 => integers(dtype, DType::I32, 8),
        }
    }

    /// Whether the value can be stored without rounding.
    pub(crate) fn holds(&self, value: f64) -> bool {
        value.is_finite() && value >= self.min && self.round(value) == value
    }

    /// The nearest value that can be stored, ties to even; an infinity beyond the greatest one.
    pub(crate) fn round(&self, value: f64) -> f64 {
        if value == 0.0 || !value.is_finite() {
            return value;
        }
        // Of a subnormal f64 the exponent is too low, and then the lowest bit decides.
        let exponent = ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023;
        let step = (exponent - self.precision + 1).max(self.min_exponent);
        // Scaling by a power of two is exact here; two steps, since 2^-step may overflow.
        let half = step / 2;
        let scaled = value * power_of_two(-half) * power_of_two(half - step);
        let rounded = scaled.round_ties_even() * power_of_two(half) * power_of_two(step - half);
        if rounded.abs() > self.max { f64::INFINITY.copysign(value) } else { rounded }
    }
}

/// 2 to a power that makes a normal number, from -1022 to 1023: for each element, and so without the loop of `powi`.
pub(crate) fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_those_of_powi() {
        for exponent in -1022..=1023 {
            assert_eq!(power_of_two(exponent), 2_f64.powi(exponent), "{exponent}");
        }
    }

    #[test]
    fn formats_hold_what_they_can_store() {
        let holds = |dtype, value| Format::of(dtype).holds(value);
        for (value, f32, f16, bf16, i32) in [
            (0.0, true, true, true, true),
            (1.0, true, true, true, true),
            (-255.0, true, true, true, true),
            (257.0, true, true, false, true),
            (2049.0, true, false, false, true),
            (65_504.0, true, true, false, true),
            (65_536.0, true, false, true, true),
            (16_777_217.0, false, false, false, true),
            (4_294_967_296.0, true, false, true, false),
            (0.5, true, true, true, false),
            (2_f64.powi(-24), true, true, true, false),
            (2_f64.powi(-25), true, false, true, false),
            (3.0 * 2_f64.powi(-25), true, false, true, false),
            (2_f64.powi(-133), true, false, true, false),
            (2_f64.powi(-149), true, false, false, false),
            (2_f64.powi(-150), false, false, false, false),
            (2_f64.powi(-1074), false, false, false, false),
            (0.1, false, false, false, false),
            (f64::INFINITY, false, false, false, false),
            (f64::NAN, false, false, false, false),
        ] {
            let got = [DType::F32, DType::F16, DType::BF16, DType::I32].map(|d| holds(d, value));
            assert_eq!(got, [f32, f16, bf16, i32], "{value:e}");
            assert_eq!(holds(DType::F64, value), value.is_finite(), "{value:e}");
        }
        for (dtype, held, not_held) in [
            (DType::U8, [0.0, 1.0, 255.0], [-1.0, 256.0, 0.5]),
            (
                DType::I64,
                [-9_007_199_254_740_991.0, 4_294_967_297.0, 9_007_199_254_740_991.0],
                [9_007_199_254_740_992.0, -9_007_199_254_740_992.0, f64::NAN],
            ),
        ] {
            for (value, whether) in
                held.map(|v| (v, true)).into_iter().chain(not_held.map(|v| (v, false)))
            {
                assert_eq!(holds(dtype, value), whether, "{dtype} {value:e}");
                assert_eq!(dtype.holds_integer(value), whether, "{dtype} {value:e}");
            }
        }
    }
}
