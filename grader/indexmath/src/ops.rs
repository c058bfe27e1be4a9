//! What expressions are made of besides reads: operators, functions, reductions, conditions.

use crate::shape::DType;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Add,
    Sub,
    Mul,
    Div,
}

/// What happens to the values of a body over its indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    Sum,
    Max,
    Min,
    /// The row-major place of the first maximum.
    ArgMax,
    ArgMin,
}

impl Reduction {
    const ALL: [Self; 5] = [Self::Sum, Self::Max, Self::Min, Self::ArgMax, Self::ArgMin];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Max => "max",
            Self::Min => "min",
            Self::ArgMax => "argmax",
            Self::ArgMin => "argmin",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reduction| reduction.name() == name)
    }

    /// What a padded read gives outside its tensor: it must not change the result.
    pub(crate) fn identity(self) -> f64 {
        match self {
            Self::Sum => 0.0,
            Self::Max | Self::ArgMax => f64::NEG_INFINITY,
            Self::Min | Self::ArgMin => f64::INFINITY,
        }
    }

    /// Does `new` come before `old` as the winner? NaN wins, as in the frameworks.
    pub(crate) fn beats(self, new: f64, old: f64) -> bool {
        match self {
            _ if old.is_nan() => false,
            _ if new.is_nan() => true,
            Self::Min | Self::ArgMin => new < old,
            _ => new > old,
        }
    }

    /// Is the result a place, not a value?
    pub(crate) fn is_place(self) -> bool {
        matches!(self, Self::ArgMax | Self::ArgMin)
    }

    /// The reduction that tells which element won.
    pub(crate) fn place(self) -> Self {
        match self {
            Self::Min | Self::ArgMin => Self::ArgMin,
            _ => Self::ArgMax,
        }
    }
}

/// Functions of one or two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Func {
    Exp,
    Log,
    Sqrt,
    Rsqrt,
    Tanh,
    Abs,
    /// `fmaxf`: of a number and NaN, the number.
    Max,
    Min,
    Pow,
    /// Rounds to the nearest value of the type, ties to even.
    Cast(DType),
}

impl Func {
    const ALL: [Self; 12] = [
        Self::Exp,
        Self::Log,
        Self::Sqrt,
        Self::Rsqrt,
        Self::Tanh,
        Self::Abs,
        Self::Max,
        Self::Min,
        Self::Pow,
        Self::Cast(DType::F16),
        Self::Cast(DType::BF16),
        Self::Cast(DType::F32),
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Exp => "exp",
            Self::Log => "log",
            Self::Sqrt => "sqrt",
            Self::Rsqrt => "rsqrt",
            Self::Tanh => "tanh",
            Self::Abs => "abs",
            Self::Max => "max",
            Self::Min => "min",
            Self::Pow => "pow",
            Self::Cast(dtype) => dtype.name(),
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|func| func.name() == name)
    }

    pub(crate) fn arity(self) -> usize {
        if matches!(self, Self::Max | Self::Min | Self::Pow) { 2 } else { 1 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cmp {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
}

impl Cmp {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::Equal => "==",
            Self::NotEqual => "!=",
        }
    }

    pub(crate) fn holds(self, a: f64, b: f64) -> bool {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Junction {
    And,
    Or,
}

impl Junction {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Or => "or",
        }
    }
}

/// A condition over values of the kind `T`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cond<T> {
    Compare(Cmp, Box<T>, Box<T>),
    Join(Junction, Box<Self>, Box<Self>),
}

impl<T> Cond<T> {
    pub(crate) fn compare(cmp: Cmp, left: T, right: T) -> Self {
        Self::Compare(cmp, Box::new(left), Box::new(right))
    }

    pub(crate) fn join(junction: Junction, left: Self, right: Self) -> Self {
        Self::Join(junction, Box::new(left), Box::new(right))
    }

    /// Calls `f` on every value that is compared, left to right.
    pub(crate) fn values<'a>(&'a self, f: &mut impl FnMut(&'a T)) {
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
    pub(crate) fn try_map<U, E>(
        &self,
        f: &mut impl FnMut(&T) -> Result<U, E>,
    ) -> Result<Cond<U>, E> {
        Ok(match self {
            Self::Compare(cmp, left, right) => Cond::compare(*cmp, f(left)?, f(right)?),
            Self::Join(junction, left, right) => {
                Cond::join(*junction, left.try_map(f)?, right.try_map(f)?)
            }
        })
    }

    /// [`Self::try_map`] with an `f` that cannot fail.
    pub(crate) fn map<U>(&self, f: &mut impl FnMut(&T) -> U) -> Cond<U> {
        match self.try_map(&mut |value| Ok::<_, std::convert::Infallible>(f(value))) {
            Ok(cond) => cond,
        }
    }
}
