//! Enclosures: values with a bound of their error.

/// A value, and how far that of a correct kernel may be from it: an interval in midpoint-radius form (Rump, "Fast and Parallel
/// Interval Arithmetic", BIT 39, 1999).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Enclosure {
    pub value: f64,
    /// The bound of the error, at least 0; infinite where nothing is known.
    pub error: f64,
}

impl Enclosure {
    /// How far this value may lie beyond `winner`, an extremum that it lost to; negative where it stays behind.
    pub(crate) fn overreach(self, winner: f64) -> f64 {
        if winner == self.value || winner.is_nan() {
            return self.error;
        }
        self.error - (winner - self.value).abs()
    }
}

/// Rounding decides the result: it can turn a comparison or change the position of an extremum, and the results differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ambiguity {
    /// How far rounding may move what is compared.
    pub doubt: f64,
}
