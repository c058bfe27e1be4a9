//! The intermediate representation of a formula: statements over tables of tensors and indices.

use std::collections::{BTreeMap, BTreeSet};

use crate::program::node::{IndexId, Node};
use crate::shape::TensorType;
use crate::span::Span;
use crate::syntax::int_expr::{IntExpr, Read};

/// A formula whose names are resolved.
#[derive(Clone, Debug)]
pub struct Program {
    /// The types of all tensors that were declared, and of the cotangents and new values that statements use.
    pub tensors: BTreeMap<String, TensorType>,
    /// All indices; an [`IndexId`] is a position in this table. Contributions may share indices.
    pub indices: Vec<Index>,
    /// The names of the sizes.
    pub sizes: BTreeSet<String>,
    /// In the order of evaluation: a tensor is assigned before it is read.
    pub statements: Vec<Assignment>,
    /// Sizes that must be equal once they have values.
    pub size_equalities: Vec<SizeEquality>,
}

/// An index, which runs over `0 .. range`.
#[derive(Clone, Debug)]
pub struct Index {
    pub name: String,
    /// An expression over sizes only. Guards of a body may cut the range.
    pub range: IntExpr,
    /// Where the formula binds it.
    pub span: Span,
}

/// A condition on the sizes: `index` stands alone on two axes, and it could not be shown that these are equally long.
#[derive(Clone, Debug)]
pub struct SizeEquality {
    pub index: IndexId,
    pub span: Span,
    pub first: Axis,
    pub second: Axis,
}

/// An axis of a tensor.
#[derive(Clone, Debug)]
pub struct Axis {
    pub tensor: String,
    /// The position among the tensor's axes.
    pub position: usize,
    pub size: IntExpr,
}

/// A statement: `target` is the sum of its contributions; without any it is zero. A parsed statement has one contribution, a
/// derived one has one for each use of the tensor whose cotangent it computes.
#[derive(Clone, Debug)]
pub struct Assignment {
    pub target: String,
    pub contributions: Vec<Contribution>,
    /// Set where the statement reads its own target.
    pub recurrence: Option<Recurrence>,
}

/// The order in which a statement that reads its own target computes it: slice by slice along an axis, each from those before it.
#[derive(Clone, Debug)]
pub struct Recurrence {
    pub axis: usize,
    /// Whether the last slice is the first one: in a reverse pass.
    pub backwards: bool,
    /// What the errors of earlier slices add to that of an element, where the target occurs linearly: contributions that read
    /// the errors as the tensor [`error_of`] the target.
    pub errors: Option<Vec<Contribution>>,
}

/// For all values of `loops`: `target[subscripts] += body`.
#[derive(Clone, Debug)]
pub struct Contribution {
    pub loops: Vec<IndexId>,
    /// One subscript for each axis of the target.
    pub subscripts: Vec<IntExpr>,
    /// Whether the subscripts may lie outside the target, where nothing is added.
    pub padded: bool,
    pub body: Node,
}

impl Assignment {
    /// Calls `f` on every read, contribution by contribution.
    pub fn reads<'a>(&'a self, f: &mut impl FnMut(&'a Read)) {
        for contribution in &self.contributions {
            contribution.subscripts.iter().for_each(|int| int.elements(f));
            contribution.body.reads(f);
        }
    }
}

impl Assignment {
    /// Calls `f` on the name of every tensor that is read, but for the target itself.
    pub fn other_reads<'a>(&'a self, f: &mut impl FnMut(&'a str)) {
        self.reads(&mut |read| {
            if read.tensor != self.target {
                f(&read.tensor);
            }
        });
    }
}

/// The name of the cotangent of `tensor`.
pub fn cotangent(tensor: &str) -> String {
    format!("grad({tensor})")
}

/// The name of the whole cotangent of a tensor that a recurrence computes, where `grad(tensor)` is only what comes from outside.
pub fn total_cotangent(tensor: &str) -> String {
    format!("total({tensor})")
}

/// The name of the errors of a tensor's elements.
pub fn error_of(tensor: &str) -> String {
    format!("error({tensor})")
}

/// Whether a tensor of this name is a cotangent.
pub fn is_cotangent(name: &str) -> bool {
    name.starts_with("grad(")
}

/// The tensor whose type one of this name has by default: X for the cotangent `grad(X)` and for the new value `X'`.
pub fn base_tensor(name: &str) -> Option<&str> {
    name.strip_prefix("grad(").and_then(|rest| rest.strip_suffix(')')).or(name.strip_suffix('\''))
}
