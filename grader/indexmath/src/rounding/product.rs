//! Products of many factors, which a kernel may multiply in any order (Higham 2002, section 3.1).

use crate::rounding::enclosure::Enclosure;
use crate::rounding::format::Format;

/// A product under construction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunningProduct {
    value: f64,
    /// What the errors of the factors do to the value, at most.
    propagated: f64,
    /// The greatest and the least size of a product of some of the factors; those that are exactly 0 aside.
    greatest: f64,
    least: f64,
    /// The number of factors, but for those that change no bit of a significand: zeros and powers of two.
    factors: f64,
    /// The fraction bits of all factors together; `None` where one has too many.
    fraction_bits: Option<i32>,
    /// Whether a factor is exactly 0, and whether one is not finite.
    zero: bool,
    special: bool,
}

/// The most fraction bits of a product that counts as exact.
const MAX_FRACTION_BITS: i32 = 60;

impl RunningProduct {
    /// The product of no factors.
    pub(crate) const ONE: Self = Self {
        value: 1.0,
        propagated: 0.0,
        greatest: 1.0,
        least: 1.0,
        factors: 0.0,
        fraction_bits: Some(0),
        zero: false,
        special: false,
    };

    pub(crate) fn multiply(&mut self, factor: Enclosure) {
        let Enclosure { value, error } = factor;
        let size = value.abs();
        // An infinite factor has no error to enlarge.
        if self.propagated > 0.0 || error > 0.0 {
            self.propagated =
                self.propagated * size + self.value.abs() * error + self.propagated * error;
        }
        self.value *= value;
        if size == 0.0 && error == 0.0 {
            self.zero = true;
            return;
        }
        self.special |= !value.is_finite();
        self.greatest *= (size + error).max(1.0);
        self.least *= (size - error).clamp(0.0, 1.0);
        if !is_power_of_two(size) || error > 0.0 {
            self.factors += 1.0;
        }
        self.fraction_bits = self
            .fraction_bits
            .zip(fraction_bits(size))
            .map(|(all, own)| all + own)
            .filter(|bits| *bits <= MAX_FRACTION_BITS);
    }

    /// The product, and how far that of a kernel that computes in `format` may be from it.
    pub(crate) fn enclosure(&self, format: &Format) -> Enclosure {
        let Self { value, propagated, greatest, least, factors, .. } = *self;
        let enclosed = |error: f64| Enclosure { value, error };
        let unreliable = propagated.is_nan() || (greatest > format.max && !self.special);
        if self.special {
            // Infinities and NaN come out of any order, unless something becomes 0 or infinite on the way.
            let sure = propagated == 0.0 && least >= format.underflow;
            return enclosed(if sure || value.is_nan() { 0.0 } else { f64::INFINITY });
        }
        if unreliable || !value.is_finite() {
            return enclosed(f64::INFINITY);
        }
        let exact_bits = |bits: i32| greatest * 2_f64.powi(bits) <= format.exact_up_to;
        let exact = self.zero || factors <= 1.0 || self.fraction_bits.is_some_and(exact_bits);
        if propagated == 0.0 && exact && (self.zero || least >= format.underflow) {
            return enclosed(0.0);
        }
        let unit = format.accumulator_roundoff + f64::EPSILON / 2.0;
        let roundings = (factors - 1.0).max(0.0);
        let relative = roundings * unit / (1.0 - (roundings * unit).min(0.5));
        let lost =
            if least < format.underflow { factors * format.underflow * greatest } else { 0.0 };
        enclosed(propagated + relative * (value.abs() + propagated) + lost)
    }
}

fn is_power_of_two(size: f64) -> bool {
    size.is_normal() && size.to_bits() & ((1 << 52) - 1) == 0
}

/// The least `n >= 0` so that the value is a multiple of `2^-n`; `None` above [`MAX_FRACTION_BITS`].
fn fraction_bits(size: f64) -> Option<i32> {
    (0..=MAX_FRACTION_BITS).find(|&bits| (size * 2_f64.powi(bits)).fract() == 0.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dtype::DType;

    fn product(factors: &[f64]) -> Enclosure {
        let mut product = RunningProduct::ONE;
        for &value in factors {
            product.multiply(Enclosure { value, error: 0.0 });
        }
        product.enclosure(&Format::of(DType::F32))
    }

    #[test]
    fn whole_numbers_and_powers_of_two_are_exact() {
        assert_eq!(product(&[]), Enclosure { value: 1.0, error: 0.0 });
        assert_eq!(product(&[3.0, -5.0, 7.0, 0.5]), Enclosure { value: -52.5, error: 0.0 });
        assert_eq!(product(&[0.1_f32.into(), 0.0, 3.0]).error, 0.0);
        assert!(product(&[4097.0, 4097.0]).error > 0.0);
        // Some order overflows, although the product does not.
        assert_eq!(product(&[1e30, 1e30, 1e-30, 1e-30]).error, f64::INFINITY);
        assert!(product(&[1e-30, 1e-30, 1e30]).error > 0.0);
        assert_eq!(product(&[f64::INFINITY, 2.0]).error, 0.0);
    }

    proptest! {
        #[test]
        fn every_order_in_f32_is_within_the_bound(
            factors in prop::collection::vec(-4.0_f32..4.0, 1..12),
            order in any::<u64>(),
        ) {
            let exact = product(&factors.iter().map(|f| f64::from(*f)).collect::<Vec<_>>());
            // Multiply random pairs until one is left.
            let (mut left, mut order) = (factors, order);
            while left.len() > 1 {
                let a = left.swap_remove(order as usize % left.len());
                order = order.rotate_right(7);
                let at = order as usize % left.len();
                left[at] *= a;
            }
            prop_assert!((f64::from(left[0]) - exact.value).abs() <= exact.error);
        }
    }
}
