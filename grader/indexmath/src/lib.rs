//! Index notation for tensors. (Contract: the public names below are what the rest of the project uses.)
#![allow(clippy::todo, clippy::missing_errors_doc, unused_variables)]

use std::collections::BTreeMap;

/// A byte range in the text that was parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// What is wrong with a formula, a shape or a size expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Where, in the text given to the parser.
    pub span: Span,
    /// What is wrong, a lower-case fragment.
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
}

/// Sizes by name.
pub type Dims = BTreeMap<String, i64>;

/// An integer expression over sizes: `H - F + 1`, `ceil_div(batch*C_in*H*W, 256)`.
#[derive(Clone, Debug, PartialEq)]
pub struct DimExpr {/* private */}
impl DimExpr {
    /// Parses `+ - * / %` (floor), parentheses, `ceil_div(a, b)`, `min(a, b)`, `max(a, b)`, names and integers.
    pub fn parse(text: &str) -> Result<Self, Error> {
        todo!()
    }
    /// Value under `dims`; unbound names, overflow and division by zero are errors with a span.
    pub fn eval(&self, dims: &Dims) -> Result<i64, Error> {
        todo!()
    }
    /// The names it reads, with their places, in order of appearance.
    pub fn names(&self) -> Vec<(String, Span)> {
        todo!()
    }
}

/// Element type of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
    /// IEEE binary16.
    F16,
    /// bfloat16.
    BF16,
    /// 32-bit signed integer.
    I32,
}

/// `f32[batch, C_in, H, W]`, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorType {
    /// Element type.
    pub dtype: DType,
    /// One size for each axis; empty for a scalar.
    pub shape: Vec<DimExpr>,
}
impl TensorType {
    /// Parses `dtype[size, ...]`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        todo!()
    }
}

/// Statements over typed tensors, names and ranks checked, ranges of the indices inferred.
#[derive(Clone, Debug)]
pub struct Formula {/* private */}
impl Formula {
    /// Parses one or more statements (one a line, or separated by `;`).
    pub fn parse(text: &str, tensors: &BTreeMap<String, TensorType>) -> Result<Self, Error> {
        todo!()
    }
    /// Tensors that are read and never assigned, in order of first appearance.
    pub fn inputs(&self) -> Vec<String> {
        todo!()
    }
    /// Tensors that are assigned, in order.
    pub fn assigned(&self) -> Vec<String> {
        todo!()
    }
    /// Assigned tensors that no later statement reads. `grad(T)` of these seeds the reverse pass.
    pub fn outputs(&self) -> Vec<String> {
        todo!()
    }
    /// Appends the reverse pass (statement by statement, last first): afterwards `grad(X)` of every
    /// float tensor X that is not an output is assigned, and `grad(T)` of every output T is an input.
    pub fn differentiate(&self) -> Result<Self, Error> {
        todo!()
    }
    /// The statement(s) that compute `tensor`, as text in gather form where the subscripts can be solved:
    /// `grad(input)[b,c,h,w] = sum[k,fh,fw] grad(output)?[b,k,h-fh,w-fw] * filters[k,c,fh,fw]`.
    pub fn text_of(&self, tensor: &str) -> Option<String> {
        todo!()
    }
    /// Fixes the sizes and proves that every plain subscript stays inside its tensor.
    pub fn at(&self, dims: &Dims) -> Result<Concrete, Error> {
        todo!()
    }
}

/// A formula at fixed sizes.
#[derive(Clone, Debug)]
pub struct Concrete {/* private */}

/// An element's value and what rounding may do to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Approx {
    /// Value in f64.
    pub value: f64,
    /// A right kernel differs from `value` by no more than this; 0.0: it must be equal.
    pub bound: f64,
    /// Sum of the absolute values of the terms.
    pub magnitude: f64,
    /// The bound if the kernel accumulated and multiplied in `half`-precision instead, for the report and tests.
    pub terms: u64,
}

/// One product in the expansion of an element.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// Constant factor.
    pub coefficient: f64,
    /// Tensor elements multiplied, sorted.
    pub factors: Vec<ElementRef>,
    /// Value of the product.
    pub value: f64,
    /// The summation indices that gave it, e.g. `[("k", 0), ("fh", 2), ("fw", 1)]`.
    pub indices: Vec<(String, i64)>,
}

/// One element of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ElementRef {
    /// Tensor name, e.g. `grad(output)`.
    pub tensor: String,
    /// Coordinates, one for each axis.
    pub coords: Vec<i64>,
}

/// Dense values by tensor name, row-major, in f64 (already rounded to the tensor's dtype).
pub type Values = BTreeMap<String, Vec<f64>>;

impl Concrete {
    /// Shape of a tensor (of `grad(X)`: the shape of X).
    pub fn shape(&self, tensor: &str) -> Option<&[usize]> {
        todo!()
    }
    /// Evaluates all that `wanted` needs. Every input must be in `known` with the right length.
    /// Bounds are for a kernel that accumulates in f32 (f64 for f64 tensors) in any order and stores in the tensor's dtype.
    pub fn evaluate(
        &self,
        known: &Values,
        wanted: &[&str],
    ) -> Result<BTreeMap<String, Vec<Approx>>, Error> {
        todo!()
    }
    /// One element, without computing the others of its tensor.
    pub fn element(&self, known: &Values, at: &ElementRef) -> Result<Approx, Error> {
        todo!()
    }
    /// The terms of one element as a sum of products of input elements, at most `limit`;
    /// `Ok(None)` when there are more, or when the element is not such a sum.
    pub fn terms(
        &self,
        known: &Values,
        at: &ElementRef,
        limit: usize,
    ) -> Result<Option<Vec<Term>>, Error> {
        todo!()
    }
}
