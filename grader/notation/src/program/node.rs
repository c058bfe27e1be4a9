//! Real-valued expressions whose names are resolved.

use crate::span::Span;
use crate::syntax::int_expr::{IntExpr, IntKind, IntOp, Read};
use crate::syntax::operators::{Comparison, Condition, Function, Op, Reduction};

/// The position of an index in the program's table of indices.
pub type IndexId = usize;

/// A real-valued expression over the indices that are bound around it.
#[derive(Clone, Debug)]
pub enum Node {
    Number(f64),
    /// The value of a size as a number.
    Size(String, Span),
    /// The value of an integer expression over indices and sizes as a number.
    Index(IntExpr),
    Read(Read),
    Neg(Box<Node>),
    Binary(Op, Box<Node>, Box<Node>),
    /// A reduction over all values of the indices that it binds.
    Reduce(Reduction, Vec<IndexId>, Box<Node>),
    /// The body of a reduction or of a contribution of which only the iterations take part at which all guards hold.
    Where(Vec<Guard>, Box<Node>),
    /// A function with as many arguments as it takes.
    Call(Function, Vec<Node>),
    /// The first node where the condition holds, else the second.
    Select(Box<Condition<Node>>, Box<Node>, Box<Node>),
}

/// `left < right` where it is strict, else `left <= right`: a limit of an index that depends on other indices or on data.
/// One side is the index itself.
#[derive(Clone, Debug)]
pub struct Guard {
    pub left: IntExpr,
    pub right: IntExpr,
    pub strict: bool,
}

impl Guard {
    /// The same guard with every leaf replaced by what `f` gives.
    pub fn map(&self, f: &mut impl FnMut(&IntExpr) -> IntExpr) -> Self {
        Self { left: self.left.map(f), right: self.right.map(f), strict: self.strict }
    }

    /// The guards that `j < min(a, b)` consists of, `j < a` and `j < b`; none of a guard without such a limit.
    #[inline]
    pub fn parts(&self) -> Vec<Self> {
        let with = |left: &IntExpr, right: &IntExpr| {
            let part = Self { left: left.clone(), right: right.clone(), strict: self.strict };
            let parts = part.parts();
            if parts.is_empty() { vec![part] } else { parts }
        };
        match (&self.left.kind, &self.right.kind) {
            (_, IntKind::Binary(IntOp::Min, a, b)) => {
                [with(&self.left, a), with(&self.left, b)].concat()
            }
            (IntKind::Binary(IntOp::Max, a, b), _) => {
                [with(a, &self.right), with(b, &self.right)].concat()
            }
            _ => Vec::new(),
        }
    }

    /// An expression that is 0 or more where the guard holds, and less than 0 where it does not.
    #[inline]
    pub fn slack(&self) -> IntExpr {
        let slack = IntExpr::binary(IntOp::Sub, self.right.clone(), self.left.clone());
        if self.strict { IntExpr::binary(IntOp::Sub, slack, IntExpr::constant(1)) } else { slack }
    }

    /// The guard as a condition in a body.
    #[inline]
    pub fn condition(&self) -> Condition<Node> {
        let comparison = if self.strict { Comparison::Less } else { Comparison::LessEqual };
        Condition::compare(comparison, Node::int(&self.left), Node::int(&self.right))
    }
}

impl Node {
    #[inline]
    pub fn binary(op: Op, left: Self, right: Self) -> Self {
        Self::Binary(op, Box::new(left), Box::new(right))
    }

    #[inline]
    pub fn negate(node: Self) -> Self {
        Self::Neg(Box::new(node))
    }

    /// The sum of `body` over `bound`, which may be no index at all.
    #[inline]
    pub fn sum(bound: Vec<IndexId>, body: Self) -> Self {
        if bound.is_empty() { body } else { Self::Reduce(Reduction::Sum, bound, Box::new(body)) }
    }

    /// `body` at the iterations at which all guards hold.
    #[inline]
    pub fn guarded(guards: Vec<Guard>, body: Self) -> Self {
        if guards.is_empty() { body } else { Self::Where(guards, Box::new(body)) }
    }

    /// The guards of a body, and what they guard.
    #[inline]
    pub fn without_guards(&self) -> (&[Guard], &Self) {
        match self {
            Self::Where(guards, body) => (guards, body),
            body => (&[], body),
        }
    }

    #[inline]
    pub fn select(condition: Condition<Self>, yes: Self, no: Self) -> Self {
        Self::Select(Box::new(condition), Box::new(yes), Box::new(no))
    }

    /// The condition `left == right` between two integer expressions. Elements, sizes and constants take part as the
    /// numbers that they are.
    #[inline]
    pub fn same_int(left: &IntExpr, right: &IntExpr) -> Condition<Self> {
        Condition::compare(Comparison::Equal, Self::int(left), Self::int(right))
    }

    /// The value of an integer expression as a number.
    fn int(int: &IntExpr) -> Self {
        match &int.kind {
            IntKind::Element(read) => Self::Read(read.as_ref().clone()),
            IntKind::Name(name) => Self::Size(name.clone(), int.span),
            IntKind::Const(value) if value.unsigned_abs() < 1 << 53 => Self::Number(*value as f64),
            _ => Self::Index(int.clone()),
        }
    }

    #[inline]
    pub fn is_zero(&self) -> bool {
        matches!(self, Self::Number(value) if *value == 0.0)
    }

    /// Calls `f` on the nodes directly below, left to right.
    pub fn children<'a>(&'a self, f: &mut impl FnMut(&'a Node)) {
        match self {
            Self::Number(_) | Self::Size(..) | Self::Index(_) | Self::Read(_) => {}
            Self::Neg(inner) | Self::Reduce(_, _, inner) | Self::Where(_, inner) => f(inner),
            Self::Binary(_, left, right) => {
                f(left);
                f(right);
            }
            Self::Call(_, values) => values.iter().for_each(f),
            Self::Select(condition, yes, no) => {
                condition.values(f);
                f(yes);
                f(no);
            }
        }
    }

    /// The same node over what `f` makes of the nodes directly below.
    pub fn map_children(&self, f: &mut impl FnMut(&Node) -> Node) -> Self {
        match self {
            Self::Number(_) | Self::Size(..) | Self::Index(_) | Self::Read(_) => self.clone(),
            Self::Neg(inner) => Self::negate(f(inner)),
            Self::Binary(op, left, right) => Self::binary(*op, f(left), f(right)),
            Self::Reduce(reduction, bound, body) => {
                Self::Reduce(*reduction, bound.clone(), Box::new(f(body)))
            }
            Self::Where(guards, body) => Self::Where(guards.clone(), Box::new(f(body))),
            Self::Call(function, values) => Self::Call(*function, values.iter().map(f).collect()),
            Self::Select(condition, yes, no) => Self::select(condition.map(f), f(yes), f(no)),
        }
    }

    /// Whether a guard stands anywhere in the node.
    #[inline]
    pub fn has_guards(&self) -> bool {
        let mut found = matches!(self, Self::Where(..));
        self.children(&mut |child| found |= child.has_guards());
        found
    }

    /// Calls `f` on every read, left to right; elements in subscripts and in indices as numbers are reads too.
    #[inline]
    pub fn reads<'a>(&'a self, f: &mut dyn FnMut(&'a Read)) {
        match self {
            Self::Read(read) => read.with_elements(&mut |read| f(read)),
            Self::Index(int) => int.elements(&mut |read| f(read)),
            Self::Where(guards, _) => {
                for guard in guards {
                    guard.left.elements(&mut |read| f(read));
                    guard.right.elements(&mut |read| f(read));
                }
            }
            _ => {}
        }
        self.children(&mut |child| child.reads(f));
    }

    /// Calls `f` on every integer expression: subscripts, guards, and indices as numbers.
    fn ints<'a>(&'a self, f: &mut dyn FnMut(&'a IntExpr)) {
        match self {
            Self::Read(read) => read.subscripts.iter().for_each(&mut *f),
            Self::Index(int) => f(int),
            Self::Where(guards, _) => {
                for guard in guards {
                    f(&guard.left);
                    f(&guard.right);
                }
            }
            _ => {}
        }
        self.children(&mut |child| child.ints(f));
    }

    /// The indices that occur in integer expressions, each once, whether they are bound inside or not.
    #[inline]
    pub fn used_indices(&self) -> Vec<IndexId> {
        let mut used = Vec::new();
        self.ints(&mut |int| {
            for id in int.indices() {
                if !used.contains(&id) {
                    used.push(id);
                }
            }
        });
        used
    }
}
