//! What expressions are made of besides reads and numbers: arithmetic, functions, reductions and conditions.

use crate::dtype::DType;

/// An arithmetic operator between two real values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Add,
    Sub,
    Mul,
    Div,
}

/// What becomes of the values of a body over all iterations of a reduction's indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    Sum,
    Prod,
    Max,
    Min,
    /// The row-major position of the first maximum among the iterations.
    ArgMax,
    /// The row-major position of the first minimum among the iterations.
    ArgMin,
}

impl Reduction {
    pub const ALL: [Self; 6] =
        [Self::Sum, Self::Prod, Self::Max, Self::Min, Self::ArgMax, Self::ArgMin];

    #[inline]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Prod => "prod",
            Self::Max => "max",
            Self::Min => "min",
            Self::ArgMax => "argmax",
            Self::ArgMin => "argmin",
        }
    }

    #[inline]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reduction| reduction.name() == name)
    }

    /// The neutral element: the value of a padded read outside its tensor, which must not change the result.
    #[inline]
    pub fn identity(self) -> f64 {
        match self {
            Self::Sum => 0.0,
            Self::Prod => 1.0,
            Self::Max | Self::ArgMax => f64::NEG_INFINITY,
            Self::Min | Self::ArgMin => f64::INFINITY,
        }
    }

    /// Whether `new` displaces `old` as the extremum. NaN wins over all numbers, as in the deep-learning frameworks.
    #[inline]
    pub fn beats(self, new: f64, old: f64) -> bool {
        match self {
            _ if old.is_nan() => false,
            _ if new.is_nan() => true,
            Self::Min | Self::ArgMin => new < old,
            _ => new > old,
        }
    }

    /// Whether the result is the position of the extremum, not its value.
    #[inline]
    pub fn gives_position(self) -> bool {
        matches!(self, Self::ArgMax | Self::ArgMin)
    }

    /// The reduction that gives the position of this one's extremum: `argmax` for `max`.
    #[inline]
    pub fn of_position(self) -> Self {
        match self {
            Self::Min | Self::ArgMin => Self::ArgMin,
            _ => Self::ArgMax,
        }
    }
}

/// A function of one or two real values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Exp,
    Log,
    Sqrt,
    /// The reciprocal of the square root.
    Rsqrt,
    Tanh,
    Sin,
    Cos,
    /// The error function.
    Erf,
    /// The logistic function, 1 / (1 + exp(-x)).
    Sigmoid,
    /// The greatest integer that is not above the value.
    Floor,
    Abs,
    /// The greater value; of a number and NaN the number, as with `fmaxf`.
    Max,
    /// The lesser value; of a number and NaN the number, as with `fminf`.
    Min,
    Pow,
    /// Rounds to the nearest value of the type, ties to even, as a store does.
    Cast(DType),
}

impl Function {
    const ALL: [Self; 17] = [
        Self::Exp,
        Self::Log,
        Self::Sqrt,
        Self::Rsqrt,
        Self::Tanh,
        Self::Sin,
        Self::Cos,
        Self::Erf,
        Self::Sigmoid,
        Self::Floor,
        Self::Abs,
        Self::Max,
        Self::Min,
        Self::Pow,
        Self::Cast(DType::F16),
        Self::Cast(DType::BF16),
        Self::Cast(DType::F32),
    ];

    #[inline]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exp => "exp",
            Self::Log => "log",
            Self::Sqrt => "sqrt",
            Self::Rsqrt => "rsqrt",
            Self::Tanh => "tanh",
            Self::Sin => "sin",
            Self::Cos => "cos",
            Self::Erf => "erf",
            Self::Sigmoid => "sigmoid",
            Self::Floor => "floor",
            Self::Abs => "abs",
            Self::Max => "max",
            Self::Min => "min",
            Self::Pow => "pow",
            Self::Cast(dtype) => dtype.name(),
        }
    }

    #[inline]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|function| function.name() == name)
    }

    /// How many arguments the function takes.
    #[inline]
    pub fn arity(self) -> usize {
        if matches!(self, Self::Max | Self::Min | Self::Pow) { 2 } else { 1 }
    }
}

/// A comparison of two real values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
}

impl Comparison {
    pub const ALL: [Self; 6] = [
        Self::Less,
        Self::LessEqual,
        Self::Greater,
        Self::GreaterEqual,
        Self::Equal,
        Self::NotEqual,
    ];

    #[inline]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::Equal => "==",
            Self::NotEqual => "!=",
        }
    }

    #[inline]
    pub fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Self::Less => a < b,
            Self::LessEqual => a <= b,
            Self::Greater => a > b,
            Self::GreaterEqual => a >= b,
            Self::Equal => a == b,
            Self::NotEqual => a != b,
        }
    }
}

/// A logical connective between two conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connective {
    And,
    Or,
}

impl Connective {
    #[inline]
    pub fn other(self) -> Self {
        match self {
            Self::And => Self::Or,
            Self::Or => Self::And,
        }
    }

    #[inline]
    pub fn name(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Or => "or",
        }
    }
}

/// A condition over values of the kind `T`: parsed expressions, or the nodes of a resolved program.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition<T> {
    Compare(Comparison, Box<T>, Box<T>),
    Join(Connective, Box<Self>, Box<Self>),
}

impl<T> Condition<T> {
    #[inline]
    pub fn compare(comparison: Comparison, left: T, right: T) -> Self {
        Self::Compare(comparison, Box::new(left), Box::new(right))
    }

    #[inline]
    pub fn join(connective: Connective, left: Self, right: Self) -> Self {
        Self::Join(connective, Box::new(left), Box::new(right))
    }

    /// Calls `f` on every value that is compared, left to right.
    pub fn values<'a>(&'a self, f: &mut impl FnMut(&'a T)) {
        match self {
            Self::Compare(_, left, right) => {
                f(left);
                f(right);
            }
            Self::Join(_, left, right) => {
                left.values(f);
                right.values(f);
            }
        }
    }

    /// The same condition over what `f` makes of the values.
    pub fn try_map<U, E>(&self, f: &mut impl FnMut(&T) -> Result<U, E>) -> Result<Condition<U>, E> {
        Ok(match self {
            Self::Compare(comparison, left, right) => {
                Condition::compare(*comparison, f(left)?, f(right)?)
            }
            Self::Join(connective, left, right) => {
                Condition::join(*connective, left.try_map(f)?, right.try_map(f)?)
            }
        })
    }

    /// [`Self::try_map`] with an `f` that cannot fail.
    pub fn map<U>(&self, f: &mut impl FnMut(&T) -> U) -> Condition<U> {
        match self.try_map(&mut |value| Ok::<_, std::convert::Infallible>(f(value))) {
            Ok(condition) => condition,
        }
    }
}
