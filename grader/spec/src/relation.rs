//! The comparisons of a requirement or a gate, such as `accuracy >= 0.95`.

/// A comparison of a value with a bound. NaN meets none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `>=`: the value is the bound or more.
    AtLeast,
    /// `<=`: the value is the bound or less.
    AtMost,
    /// `==`: the value is the bound.
    Equal,
}

impl Relation {
    /// All relations, with their operators in a spec and their words in a report.
    const SIGNS: [(&str, Self, &str); 3] = [
        (">=", Self::AtLeast, "at least"),
        ("<=", Self::AtMost, "at most"),
        ("==", Self::Equal, "exactly"),
    ];

    /// Finds the first operator in `text`: its byte offset and its meaning.
    pub fn find(text: &str) -> Option<(usize, Self)> {
        let found = Self::SIGNS.iter().filter_map(|&(sign, own, _)| Some((text.find(sign)?, own)));
        found.min_by_key(|&(at, _)| at)
    }

    /// The length of an operator in bytes.
    pub const SIGN: usize = 2;

    /// Whether `value` meets `bound`.
    pub fn holds<T: PartialOrd + Copy>(self, value: T, bound: T) -> bool {
        match self {
            Self::AtLeast => value >= bound,
            Self::AtMost => value <= bound,
            Self::Equal => value == bound,
        }
    }

    /// The relation in words, such as "at least".
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
