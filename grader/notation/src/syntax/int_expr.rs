//! Integer expressions: sizes, ranges and subscripts. What they mean is in [`integer`](crate::integer).

use crate::span::Span;

/// An integer expression.
#[derive(Clone, Debug, PartialEq)]
pub struct IntExpr {
    pub kind: IntKind,
    pub span: Span,
}

/// The forms of an integer expression.
#[derive(Clone, Debug, PartialEq)]
pub enum IntKind {
    Const(i64),
    /// A size; before names are resolved also an index or a scalar tensor.
    Name(String),
    /// A resolved index: its position in the program's table of indices.
    Index(usize),
    /// An element of an integer tensor; only in subscripts.
    Element(Box<Read>),
    Neg(Box<IntExpr>),
    Binary(IntOp, Box<IntExpr>, Box<IntExpr>),
}

/// An operator between two integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntOp {
    Add,
    Sub,
    Mul,
    /// Floor division: the quotient rounded towards negative infinity.
    Div,
    /// The remainder of the floor division; it has the divisor's sign.
    Mod,
    /// The quotient rounded towards positive infinity.
    CeilDiv,
    Min,
    Max,
    /// The bitwise operations, on the two's complement.
    And,
    Or,
    Xor,
    /// A shift by 0 to 62 places; to the right, the sign is kept.
    ShiftLeft,
    ShiftRight,
}

/// An element of a tensor: `tensor[subscripts]`, or `tensor?[subscripts]` where the subscripts may lie outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    pub tensor: String,
    pub subscripts: Vec<IntExpr>,
    /// Written `?[...]`: outside the tensor the value is the identity of the enclosing reduction.
    pub padded: bool,
    pub span: Span,
}

impl IntOp {
    pub const ALL: [Self; 13] = [
        Self::Add,
        Self::Sub,
        Self::Mul,
        Self::Div,
        Self::Mod,
        Self::CeilDiv,
        Self::Min,
        Self::Max,
        Self::And,
        Self::Or,
        Self::Xor,
        Self::ShiftLeft,
        Self::ShiftRight,
    ];

    /// The name of an operator that can be written as a function: `div(a, b)`.
    #[inline]
    pub fn function_name(self) -> Option<&'static str> {
        match self {
            Self::Add
            | Self::Sub
            | Self::Mul
            | Self::And
            | Self::Or
            | Self::Xor
            | Self::ShiftLeft
            | Self::ShiftRight => None,
            Self::Div => Some("div"),
            Self::Mod => Some("mod"),
            Self::CeilDiv => Some("ceil_div"),
            Self::Min => Some("min"),
            Self::Max => Some("max"),
        }
    }

    /// The operator that is written as the function `name`.
    #[inline]
    pub fn function(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|op| op.function_name() == Some(name))
    }
}

impl IntExpr {
    #[inline]
    pub fn new(kind: IntKind, span: Span) -> Self {
        Self { kind, span }
    }

    #[inline]
    pub fn constant(value: i64) -> Self {
        Self::new(IntKind::Const(value), Span::default())
    }

    #[inline]
    pub fn index(id: usize) -> Self {
        Self::new(IntKind::Index(id), Span::default())
    }

    #[inline]
    pub fn negate(inner: Self) -> Self {
        Self::new(IntKind::Neg(Box::new(inner)), Span::default())
    }

    #[inline]
    pub fn binary(op: IntOp, left: Self, right: Self) -> Self {
        let span = left.span.to(right.span);
        Self::new(IntKind::Binary(op, Box::new(left), Box::new(right)), span)
    }

    /// Calls `f` on every leaf, left to right; an element's leaves are those of its subscripts.
    pub fn leaves<'a>(&'a self, f: &mut impl FnMut(&'a IntExpr)) {
        match &self.kind {
            IntKind::Const(_) | IntKind::Name(_) | IntKind::Index(_) => f(self),
            IntKind::Element(read) => read.subscripts.iter().for_each(|int| int.leaves(f)),
            IntKind::Neg(inner) => inner.leaves(f),
            IntKind::Binary(_, left, right) => {
                left.leaves(f);
                right.leaves(f);
            }
        }
    }

    /// The same expression with every leaf replaced by what `f` gives.
    pub fn try_map<E>(
        &self,
        f: &mut impl FnMut(&IntExpr) -> Result<IntExpr, E>,
    ) -> Result<IntExpr, E> {
        let kind = match &self.kind {
            IntKind::Const(_) | IntKind::Name(_) | IntKind::Index(_) => return f(self),
            IntKind::Element(read) => IntKind::Element(Box::new(read.try_map(f)?)),
            IntKind::Neg(inner) => IntKind::Neg(Box::new(inner.try_map(f)?)),
            IntKind::Binary(op, left, right) => {
                IntKind::Binary(*op, Box::new(left.try_map(f)?), Box::new(right.try_map(f)?))
            }
        };
        Ok(IntExpr::new(kind, self.span))
    }

    /// [`Self::try_map`] with an `f` that cannot fail.
    pub fn map(&self, f: &mut impl FnMut(&IntExpr) -> IntExpr) -> IntExpr {
        match self.try_map(&mut |leaf| Ok::<_, std::convert::Infallible>(f(leaf))) {
            Ok(int) => int,
        }
    }

    /// The same expression with empty spans.
    #[inline]
    pub fn without_spans(&self) -> Self {
        let boxed = |int: &Self| Box::new(int.without_spans());
        let kind = match &self.kind {
            IntKind::Neg(inner) => IntKind::Neg(boxed(inner)),
            IntKind::Binary(op, left, right) => IntKind::Binary(*op, boxed(left), boxed(right)),
            other => other.clone(),
        };
        Self::new(kind, Span::default())
    }

    /// The resolved indices in the expression, each once, in order of appearance.
    #[inline]
    pub fn indices(&self) -> Vec<usize> {
        let mut found = Vec::new();
        self.leaves(&mut |leaf| {
            if let IntKind::Index(id) = leaf.kind
                && !found.contains(&id)
            {
                found.push(id);
            }
        });
        found
    }

    /// Calls `f` on the tensor elements in the expression, and after each one on those in its subscripts.
    pub fn elements<'a>(&'a self, f: &mut impl FnMut(&'a Read)) {
        match &self.kind {
            IntKind::Const(_) | IntKind::Name(_) | IntKind::Index(_) => {}
            IntKind::Element(read) => read.with_elements(f),
            IntKind::Neg(inner) => inner.elements(f),
            IntKind::Binary(_, left, right) => {
                left.elements(f);
                right.elements(f);
            }
        }
    }

    /// Whether the value depends on the elements of a tensor.
    #[inline]
    pub fn has_elements(&self) -> bool {
        let mut found = false;
        self.elements(&mut |_| found = true);
        found
    }

    /// The index, if the expression is nothing else.
    /// Whether these indices alone stand in it, and no element of a tensor.
    #[inline]
    pub fn uses_only(&self, indices: &[usize]) -> bool {
        match &self.kind {
            IntKind::Index(id) => indices.contains(id),
            IntKind::Const(_) | IntKind::Name(_) => true,
            IntKind::Neg(inner) => inner.uses_only(indices),
            IntKind::Binary(_, a, b) => a.uses_only(indices) && b.uses_only(indices),
            IntKind::Element(_) => false,
        }
    }

    #[inline]
    pub fn as_index(&self) -> Option<usize> {
        match self.kind {
            IntKind::Index(id) => Some(id),
            _ => None,
        }
    }
}

impl Read {
    /// The same read with every leaf of its subscripts replaced by what `f` gives.
    pub fn try_map<E>(
        &self,
        f: &mut impl FnMut(&IntExpr) -> Result<IntExpr, E>,
    ) -> Result<Self, E> {
        let subscripts = self.subscripts.iter().map(|int| int.try_map(f));
        Ok(Self { subscripts: subscripts.collect::<Result<_, E>>()?, ..self.clone() })
    }

    /// [`Self::try_map`] with an `f` that cannot fail.
    pub fn map(&self, f: &mut impl FnMut(&IntExpr) -> IntExpr) -> Self {
        Self { subscripts: self.subscripts.iter().map(|int| int.map(f)).collect(), ..self.clone() }
    }

    /// Calls `f` on this read and on those in its subscripts.
    pub fn with_elements<'a>(&'a self, f: &mut impl FnMut(&'a Self)) {
        f(self);
        self.subscripts.iter().for_each(|int| int.elements(f));
    }
}
