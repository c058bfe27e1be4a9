//! Index notation for tensors: parse it, evaluate it in f64, differentiate it, bound the effect
//! of rounding, and list the terms of one element.
//!
//! The crate does not depend on files, CUDA or puzzles. Its types are, in the order of use, [`TensorType`] and [`DimExpr`] (what
//! is declared), [`Formula`] (statements at any sizes), [`SizedFormula`] (at fixed ones), and their results:
//! [`Approx`], [`Term`] and [`Cost`].
//!
//! # A worked example
//!
//! ```
//! use std::collections::BTreeMap;
//! use indexmath::{Dims, ElementRef, Formula, TensorType, Values};
//!
//! # fn main() -> Result<(), indexmath::Error> {
//! // A matrix product. Shapes are sizes by name; the ranges of i, j and k follow from them.
//! let tensors = BTreeMap::from([
//!     ("A".to_owned(), TensorType::parse("f32[M, K]")?),
//!     ("B".to_owned(), TensorType::parse("f32[K, N]")?),
//!     ("C".to_owned(), TensorType::parse("f32[M, N]")?),
//! ]);
//! let forward = Formula::parse("C[i,j] = sum[k] A[i,k] * B[k,j]", &tensors)?;
//!
//! // Its gradients, for the cotangent grad(C) of the result.
//! let formula = forward.differentiate()?;
//! assert_eq!(
//!     formula.text_of("grad(A)").as_deref(),
//!     Some("grad(A)[i,k] = sum[j] grad(C)[i,j] * B[k,j]"),
//! );
//!
//! // Fixed sizes: now every subscript is proved to stay inside its tensor.
//! let dims = Dims::from([("M".to_owned(), 1), ("K".to_owned(), 2), ("N".to_owned(), 2)]);
//! let sized = formula.at(&dims)?;
//! let known = Values::from([
//!     ("A".to_owned(), vec![1.0, 2.0]),
//!     ("B".to_owned(), vec![3.0, 4.0, 5.0, 6.0]),
//!     ("grad(C)".to_owned(), vec![1.0, 10.0]),
//! ]);
//! let results = sized.evaluate(&known, &["C", "grad(A)"])?;
//! assert_eq!(results["C"][0].value, 1.0 * 3.0 + 2.0 * 5.0);
//! assert_eq!(results["grad(A)"][1].value, 1.0 * 5.0 + 10.0 * 6.0);
//! // Products of small integers: every summation order gives the same bits, so a correct kernel has no error.
//! assert_eq!(results["grad(A)"][1].bound, 0.0);
//!
//! // The products that an element is the sum of.
//! let at = ElementRef { tensor: "grad(A)".to_owned(), coords: vec![0, 1] };
//! let terms = sized.terms(&known, &at, 100)?.unwrap_or_default();
//! assert_eq!(terms.len(), 2);
//! assert_eq!(terms[1].indices, [("j".to_owned(), 1)]);
//! # Ok(())
//! # }
//! ```
//!
//! # The language
//!
//! A formula is one or more statements, one a line or separated by `;`. `#` starts a comment. A statement continues in the
//! next line inside brackets, after an operator, and before an operator.
//!
//! ```text
//! output[b,k,oh,ow] = bias[k]
//!     + sum[c,fh,fw] input[b,c,oh+fh,ow+fw] * filters[k,c,fh,fw]
//! ```
//!
//! - Bodies have `+ - * /`, signs, brackets, decimal numbers, sizes by name, and reductions: `sum[i,j] body`, `prod`, `max`, `min`,
//!   and `argmax`, `argmin`, which give the row-major position of the extremum among the reduction's indices. The body
//!   of a reduction is a *term*: it extends over `*` and `/` and ends before `+` and `-`, as in a book.
//!   So `sum[k] a[k] * b[k] + c` adds `c` once. Of equal candidates the first wins, and NaN wins over all numbers.
//!   Padding wins only where there is nothing else.
//! - Functions: `exp log sqrt rsqrt tanh sin cos erf sigmoid floor abs` of one value, `max min pow` of two (a number wins over NaN, as with `fmaxf`), and the casts `f16 bf16 f32`, which round as
//!   a store does. `index(i)` is the value of a whole-number expression.
//! - `select(condition, a, b)`. Conditions compare with `< <= > >= == !=`, joined by `and` and `or`.
//! - `x[...]` reads an element. Subscripts are integer expressions over indices and sizes:
//!   `+ - * / %` with floor division, also written `div(a, b)` and `mod(a, b)`, and `ceil_div`, `min`, `max`; or
//!   an element of an integer tensor, `x[b, label[b]]`, whose range is checked with the data.
//! - `x?[...]` is a padded read: outside the tensor it has the value that changes nothing, 0 in a sum, -∞ in a maximum, ∞
//!   in a minimum.
//! - A tensor without axes is written without brackets: `loss = sum[i] x[i] * x[i]`.
//! - `grad(x)` names the cotangent of `x`: what a derived statement computes, or a given one. `x'` is a tensor of the type
//!   of `x`: what it holds afterwards.
//! - The indices on the left run over the axes of the tensor there. A reduction's index runs over the axis
//!   on which it stands alone in a subscript (if there are several, they must have the same size), or over a
//!   range that is written: `sum[p < K*K, c]`. Limits may depend on other indices and on data: `sum[j <= i]`,
//!   `sum[row[i] <= e < row[i+1]]`.
//! - At kinks gradients are those of the deep-learning frameworks: `abs` has 0 at 0, the first of equal arguments or
//!   candidates gets all.
//!   `tests/functions.rs` shows all of this in numbers.
//! - Every tensor is assigned once, before it is read. Two exceptions: `u[0,i] = …; u[t+1,i] = … u[t,i] …` is a recurrence, which goes
//!   through the slices of an axis one after the other, and its gradient goes back; `y[label[i]] += …` adds to elements
//!   (`y?[…]` leaves out what lies outside), which start from 0, or from what `=` gave them before.
//!
//! # Map
//!
//! Data flow from top to bottom, and each module uses only those above it:
//!
//! ```text
//! notation    a crate of its own: text, programs without sizes, and their transformations
//! lower       program at fixed sizes: bounds proved, loop nests
//! rounding    number formats, error analysis of operations, functions and sums
//! evaluate    loop nests run over data
//! terms       the products that an element is the sum of
//! sized_formula, formula   the types that offer all of this
//! variants    wrong formulas near the right one, compared with what a kernel computed
//! ```
//!
//! A new function stands in `notation::syntax::operators`, `rounding::functions` and `notation::transform::local_derivatives`; a new
//! element type in `notation::dtype` and `rounding::format`; a new rewriting of formulas is a file in `notation::transform`.
//!
//! # Glossary
//!
//! - **affine form**: `constant + Σ coefficient · index`; a subscript of this form has an exact interval and a stride.
//! - **ambiguous** data: rounding decides the result, because it can turn a comparison or change the position of an extremum.
//! - **bound**: how far a correct kernel's value may be from the exact one. See [`Approx::bound`].
//! - **contribution**: `target[subscripts] += body` for all values of some loops. A statement is a sum of contributions.
//! - **cotangent** `grad(x)`: the derivative of `Σ output · grad(output)` with respect to `x`, of the shape of `x` (the
//!   adjoint of Griewank and Walther, "Evaluating Derivatives", 2008).
//! - **enclosure**: a value with a bound of its error (midpoint-radius form).
//! - **guard**: a limit of an index that depends on other indices or on data; iterations at which it does not hold take no part.
//! - **gather form**: a sum for each element of the result, instead of a loop that scatters into it.
//! - **indirect subscript**: one that reads an element of an integer tensor, `x[label[b]]`.
//! - **iteration space**: all values of a nest's loops, a box cut by affine constraints.
//! - **magnitude**: the sum of the absolute values of the terms.
//! - **padded** read: `x?[...]`, which may lie outside its tensor.
//! - **profile**: what is known of an expression's values before any is computed: the number of roundings, fraction bits, and
//!   how regular they are.
//! - **range**: the values `0 .. n` of an index, inferred from the axis on which the index stands alone.
//! - **recurrence**: a statement that reads its own target, at earlier places of one axis; a **step** computes a slice of it.
//! - **size**: a name in the shapes, `batch` for example; [`Dims`] gives the sizes their values.
//! - **temporary**: the values of an inner reduction for all values of its free indices.
//! - **term**: a product, one summand of an element. See [`Term`].
//! - **unit roundoff** `u`: the greatest relative error of one operation, 2^-24 in f32 (Higham, "Accuracy and Stability of
//!   Numerical Algorithms", 2002).

mod evaluate;
mod formula;
mod lower;
mod rounding;
mod sized_formula;
mod terms;
mod variants;

use notation::{dtype, error, integer, program, shape, span, syntax, transform};

pub use dtype::DType;
pub use error::Error;
pub use evaluate::cost::Cost;
pub use evaluate::data::{Results, Values};
pub use formula::Formula;
pub use integer::evaluate::Dims;
pub use rounding::bound::Approx;
pub use shape::{DimExpr, TensorType};
pub use sized_formula::SizedFormula;
pub use span::Span;
pub use terms::expansion::{ElementRef, Term};
pub use variants::branches::{Branch, Compared, branches};
pub use variants::chosen::{Candidate, candidate};
pub use variants::inputs::{InputElement, inputs, slope};
pub use variants::parts::{PartValue, parts};
pub use variants::search::{
    Fit, Observation, Variant, compare as compare_variants, search as search_variants,
};
