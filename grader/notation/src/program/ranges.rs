//! Range inference: an index runs over the axis on which it stands alone in a subscript.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::integer::polynomial::same_size;
use crate::program::ir::{Axis, SizeEquality};
use crate::program::node::{IndexId, Node};
use crate::shape::{DimExpr, TensorType};
use crate::span::Span;
use crate::syntax::ast::Bound;
use crate::syntax::int_expr::IntExpr;

/// The range of the index `id`, which `bound` binds in a reduction over `body`; and the equalities of sizes under which it is
/// the range on every axis.
///
/// # Errors
/// An index that never stands alone, and one that stands on axes of different sizes.
pub fn infer_range(
    id: IndexId,
    bound: &Bound,
    body: &Node,
    tensors: &BTreeMap<String, TensorType>,
) -> Result<(IntExpr, Vec<SizeEquality>)> {
    let mut axes = lone_axes(id, body, tensors).into_iter();
    let Some(first) = axes.next() else {
        let name = &bound.name;
        let message =
            format!("the range of `{name}` is unknown: it is never a subscript by itself");
        let help = if bound.low.is_none() && bound.high.is_none() {
            format!("write its range, `sum[{name} < SIZE]`, or use it alone as a subscript")
        } else {
            format!("add the most that it can be, such as `{name} < min(..., SIZE)`")
        };
        return Err(Error::new(bound.span, message).help(help));
    };
    let mut equalities = Vec::new();
    for second in axes {
        match same_size(&first.size, &second.size) {
            Some(true) => {}
            Some(false) => {
                return Err(different_sizes(&bound.name, bound.span, &first, &second, None));
            }
            None => {
                let first = first.clone();
                equalities.push(SizeEquality { index: id, span: bound.span, first, second });
            }
        }
    }
    Ok((first.size, equalities))
}

/// The axes on which the index stands alone: those of plain reads, or if there are none, those of padded ones.
pub fn lone_axes(id: IndexId, body: &Node, tensors: &BTreeMap<String, TensorType>) -> Vec<Axis> {
    let (mut plain, mut padded) = (Vec::new(), Vec::new());
    body.reads(&mut |read| {
        for (position, subscript) in read.subscripts.iter().enumerate() {
            let size = tensors.get(&read.tensor).and_then(|tensor| tensor.shape.get(position));
            if let (Some(size), true) = (size, subscript.as_index() == Some(id)) {
                let found = Axis { tensor: read.tensor.clone(), position, size: size.int.clone() };
                if read.padded { padded.push(found) } else { plain.push(found) }
            }
        }
    });
    if plain.is_empty() { padded } else { plain }
}

/// The error for an index on two axes of different sizes; `values` are the sizes, once they are known.
pub fn different_sizes(
    name: &str,
    span: Span,
    first: &Axis,
    second: &Axis,
    values: Option<(i64, i64)>,
) -> Error {
    let side = |axis: &Axis, value: Option<i64>| {
        let size = DimExpr { int: axis.size.clone() };
        let value = match value {
            Some(value) if value.to_string() != size.to_string() => format!(" = {value}"),
            _ => String::new(),
        };
        format!("axis {} of `{}` (size {size}{value})", axis.position, axis.tensor)
    };
    let message = format!(
        "the index `{name}` runs over axes of different sizes: {} and {}",
        side(first, values.map(|v| v.0)),
        side(second, values.map(|v| v.1)),
    );
    Error::new(span, message).help(format!("write the range that you mean, `sum[{name} < SIZE]`"))
}
