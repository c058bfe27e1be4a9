//! What formulas have in common before and after their sizes are known.

use crate::syntax::operators::{Condition, Function, Op, Reduction};

/// A real-valued expression: over integer expressions, reads and ranges of these types.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TreeOf<Int, Read, Range> {
    Number(f64),
    /// The value of a size, an index or an integer expression.
    Int(Int),
    Read(Read),
    Neg(Box<Self>),
    Binary(Op, Box<Self>, Box<Self>),
    Reduce(Reduction, Vec<Range>, Box<Self>),
    Call(Function, Vec<Self>),
    Select(Box<Condition<Self>>, Box<Self>, Box<Self>),
}

impl<I, R, L> TreeOf<I, R, L> {
    pub(crate) fn binary(op: Op, left: Self, right: Self) -> Self {
        Self::Binary(op, Box::new(left), Box::new(right))
    }

    /// The trees directly below, left to right.
    pub(crate) fn children(&self) -> Vec<&Self> {
        match self {
            Self::Number(_) | Self::Int(_) | Self::Read(_) => Vec::new(),
            Self::Neg(inner) | Self::Reduce(_, _, inner) => vec![inner],
            Self::Binary(_, left, right) => vec![left, right],
            Self::Call(_, values) => values.iter().collect(),
            Self::Select(condition, yes, no) => {
                let mut all = Vec::new();
                condition.values(&mut |value| all.push(value));
                all.extend([&**yes, &**no]);
                all
            }
        }
    }

    /// The tree at a place, which is made of positions among [`Self::children`].
    pub(crate) fn at(&self, path: &[usize]) -> Option<&Self> {
        path.iter().try_fold(self, |tree, &step| tree.children().get(step).copied())
    }

    /// The same tree over what the functions make of its integer expressions, reads and ranges, each before the trees below it.
    pub(crate) fn try_map<I2, R2, L2>(
        &self,
        int: &impl Fn(&I) -> Option<I2>,
        read: &impl Fn(&R) -> Option<R2>,
        range: &impl Fn(&L) -> Option<L2>,
    ) -> Option<TreeOf<I2, R2, L2>> {
        let mapped = |tree: &Self| tree.try_map(int, read, range);
        let boxed = |tree: &Self| Some(Box::new(mapped(tree)?));
        Some(match self {
            Self::Number(value) => TreeOf::Number(*value),
            Self::Int(own) => TreeOf::Int(int(own)?),
            Self::Read(own) => TreeOf::Read(read(own)?),
            Self::Neg(inner) => TreeOf::Neg(boxed(inner)?),
            Self::Binary(op, left, right) => TreeOf::Binary(*op, boxed(left)?, boxed(right)?),
            Self::Reduce(kind, own, body) => {
                let ranges = own.iter().map(range).collect::<Option<_>>()?;
                TreeOf::Reduce(*kind, ranges, boxed(body)?)
            }
            Self::Call(function, values) => {
                TreeOf::Call(*function, values.iter().map(mapped).collect::<Option<_>>()?)
            }
            Self::Select(condition, yes, no) => {
                let condition = condition.try_map(&mut |value| mapped(value).ok_or(())).ok()?;
                TreeOf::Select(Box::new(condition), boxed(yes)?, boxed(no)?)
            }
        })
    }
}
