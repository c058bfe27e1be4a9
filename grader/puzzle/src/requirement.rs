//! How what is made of a function's results is bounded: `accuracy >= 0.95`.

/// How a value must stand to a bound. NaN never does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `>=`
    AtLeast,
    /// `<=`
    AtMost,
    /// `==`
    Equal,
}

impl Relation {
    /// All, as they are written, and as a report says them.
    const SIGNS: [(&str, Self, &str); 3] = [
        (">=", Self::AtLeast, "at least"),
        ("<=", Self::AtMost, "at most"),
        ("==", Self::Equal, "exactly"),
    ];

    /// The first sign in `text`: where it starts, and what it means.
    pub fn find(text: &str) -> Option<(usize, Self)> {
        let found = Self::SIGNS.iter().filter_map(|&(sign, own, _)| Some((text.find(sign)?, own)));
        found.min_by_key(|&(at, _)| at)
    }

    /// Bytes of a sign.
    pub const SIGN: usize = 2;

    /// Does `value` stand so to `bound`?
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::AtLeast => value >= bound,
            Self::AtMost => value <= bound,
            Self::Equal => value == bound,
        }
    }

    /// "at least"
    pub fn words(self) -> &'static str {
        Self::SIGNS.iter().find(|(_, own, _)| *own == self).map_or("", |&(.., words)| words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_stands_in_no_relation() {
        for (_, relation, _) in Relation::SIGNS {
            assert!(relation.holds(1.5, 1.5));
            assert!(!relation.holds(f64::NAN, 1.5));
            assert!(!relation.holds(1.5, f64::NAN));
            assert!(!relation.holds(f64::NAN, f64::NAN));
        }
        assert!(Relation::AtLeast.holds(2.0, 1.5) && !Relation::AtLeast.holds(1.0, 1.5));
        assert!(Relation::AtMost.holds(1.0, 1.5) && !Relation::AtMost.holds(2.0, 1.5));
        assert!(!Relation::Equal.holds(1.0, 1.5));
    }

    #[test]
    fn the_first_sign_counts() {
        assert_eq!(Relation::find("a >= 1"), Some((2, Relation::AtLeast)));
        assert_eq!(Relation::find("a <= 1 >= 2"), Some((2, Relation::AtMost)));
        assert_eq!(Relation::find("a = 1"), None);
    }
}
