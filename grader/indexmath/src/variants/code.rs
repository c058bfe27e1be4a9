//! Trees at fixed sizes: sizes are numbers, tensors positions, and where a read leads in memory is one linear form if it can be.

use crate::integer::arithmetic::apply;
use crate::integer::evaluate::Dims;
use crate::program::node::IndexId;
use crate::syntax::int_expr::{IntExpr, IntKind, IntOp};
use crate::variants::tree::tree_of::TreeOf;
use crate::variants::tree::{Access, Model, Range, TensorId, Tree};

/// A [`Tree`] at fixed sizes, over the same children.
pub(super) type Code = TreeOf<Int, Read, Loop>;

/// An integer expression over indices.
#[derive(PartialEq)]
pub(super) enum Int {
    Linear(Linear),
    /// An element of an integer tensor, at its address.
    Element(TensorId, Box<Int>),
    Neg(Box<Int>),
    Binary(IntOp, Box<Int>, Box<Int>),
}

/// A constant, and multiples of indices, in the order of the indices: so equal forms are written alike.
#[derive(Clone, PartialEq)]
pub(super) struct Linear {
    constant: i64,
    terms: Vec<(IndexId, i64)>,
}

/// The values `from .. to` of an index, the last one first if `backwards`.
#[derive(PartialEq)]
pub(super) struct Loop {
    pub index: IndexId,
    pub from: Int,
    pub to: Int,
    pub backwards: bool,
}

impl Loop {
    /// How often it runs, if that is always the same.
    pub(super) fn constant_size(&self) -> Option<u64> {
        let constant = |int: &Int| match int {
            Int::Linear(linear) => linear.as_constant(),
            _ => None,
        };
        let size = constant(&self.to)?.checked_sub(constant(&self.from)?)?;
        Some(u64::try_from(size).unwrap_or(0))
    }
}

/// A read of an element.
#[derive(PartialEq)]
pub(super) struct Read {
    pub tensor: TensorId,
    /// The subscripts that are checked, with the first and the last value that each check lets through.
    pub checks: Vec<(Int, i64, i64)>,
    pub address: Int,
}

/// The sizes and tensors of a model.
pub(super) struct Compiler<'a> {
    pub model: &'a Model,
    pub dims: &'a Dims,
    pub shapes: &'a [Vec<i64>],
}

impl Compiler<'_> {
    /// The tree at the sizes; `None` if one has no value, or an operation on sizes none.
    pub(super) fn tree(&self, tree: &Tree) -> Option<Code> {
        tree.try_map(&|int| self.int(int), &|access| self.read(access), &|range| self.range(range))
    }

    fn range(&self, range: &Range) -> Option<Loop> {
        let (from, to) = (self.int(&range.from)?, self.int(&range.to)?);
        Some(Loop { index: range.index, from, to, backwards: range.backwards })
    }

    fn read(&self, access: &Access) -> Option<Read> {
        let own = &self.shapes[access.tensor];
        let checks = access.subscripts.iter().zip(&access.checks).zip(own);
        let checks = checks.map(|((subscript, check), size)| {
            let last = check.high.map_or(i64::MAX, |high| size + high - 1);
            Some((self.int(subscript)?, check.low.unwrap_or(i64::MIN), last))
        });
        let checks = checks.collect::<Option<_>>()?;
        let sizes = access.shape.iter().map(|size| self.int(size)).collect::<Option<Vec<_>>>()?;
        let address = self.address(&access.subscripts, sizes)?;
        Some(Read { tensor: access.tensor, checks, address })
    }

    /// The position of an element in row-major memory.
    fn address(&self, subscripts: &[IntExpr], sizes: Vec<Int>) -> Option<Int> {
        if subscripts.len() > sizes.len() {
            return None;
        }
        let mut flat = Int::constant(0);
        for (subscript, size) in subscripts.iter().zip(sizes) {
            let row = Int::binary(IntOp::Mul, flat, size)?;
            flat = Int::binary(IntOp::Add, row, self.int(subscript)?)?;
        }
        Some(flat)
    }

    fn int(&self, int: &IntExpr) -> Option<Int> {
        match &int.kind {
            IntKind::Const(value) => Some(Int::constant(*value)),
            IntKind::Name(name) => self.dims.get(name).copied().map(Int::constant),
            IntKind::Index(id) => Some(Int::Linear(Linear { constant: 0, terms: vec![(*id, 1)] })),
            IntKind::Neg(inner) => match self.int(inner)? {
                Int::Linear(linear) => Some(Int::Linear(linear.times(-1)?)),
                other => Some(Int::Neg(Box::new(other))),
            },
            IntKind::Binary(op, left, right) => Int::binary(*op, self.int(left)?, self.int(right)?),
            IntKind::Element(read) => {
                let tensor = self.model.tensor(&read.tensor)?;
                let sizes = self.shapes[tensor].iter().map(|&size| Int::constant(size)).collect();
                Some(Int::Element(tensor, Box::new(self.address(&read.subscripts, sizes)?)))
            }
        }
    }
}

impl Int {
    fn constant(value: i64) -> Self {
        Self::Linear(Linear { constant: value, terms: Vec::new() })
    }

    fn binary(op: IntOp, left: Self, right: Self) -> Option<Self> {
        if let (Self::Linear(a), Self::Linear(b)) = (&left, &right) {
            let linear = match (op, a.as_constant(), b.as_constant()) {
                (_, Some(a), Some(b)) => return Some(Self::constant(apply(op, a, b).ok()?)),
                (IntOp::Add, ..) => a.plus(b)?,
                (IntOp::Sub, ..) => a.plus(&b.times(-1)?)?,
                (IntOp::Mul, Some(a), _) => b.times(a)?,
                (IntOp::Mul, _, Some(b)) => a.times(b)?,
                _ => return Some(Self::Binary(op, Box::new(left), Box::new(right))),
            };
            return Some(Self::Linear(linear));
        }
        Some(Self::Binary(op, Box::new(left), Box::new(right)))
    }
}

impl Linear {
    /// The value where the indices have the values `env`; far outside of 64 bits the nearest that fits.
    pub(super) fn value(&self, env: &[i64]) -> i64 {
        self.terms.iter().fold(self.constant, |sum, &(index, times)| {
            sum.saturating_add(times.saturating_mul(env[index]))
        })
    }

    /// What it grows by where an index grows by 1.
    pub(super) fn factor(&self, of: IndexId) -> i64 {
        self.terms.iter().find(|(index, _)| *index == of).map_or(0, |(_, times)| *times)
    }

    pub(super) fn indices(&self) -> impl Iterator<Item = IndexId> {
        self.terms.iter().map(|(index, _)| *index)
    }

    fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    fn times(&self, factor: i64) -> Option<Self> {
        let constant = self.constant.checked_mul(factor)?;
        let mut terms = self.terms.clone();
        for (_, times) in &mut terms {
            *times = times.checked_mul(factor)?;
        }
        terms.retain(|(_, times)| *times != 0);
        Some(Self { constant, terms })
    }

    fn plus(&self, other: &Self) -> Option<Self> {
        let constant = self.constant.checked_add(other.constant)?;
        let mut terms = self.terms.clone();
        for &(index, times) in &other.terms {
            match terms.iter_mut().find(|(id, _)| *id == index) {
                Some((_, sum)) => *sum = sum.checked_add(times)?,
                None => terms.push((index, times)),
            }
        }
        terms.retain(|(_, times)| *times != 0);
        terms.sort_unstable_by_key(|(index, _)| *index);
        Some(Self { constant, terms })
    }
}
