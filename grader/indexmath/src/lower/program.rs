//! Lowering of a whole program.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::integer::evaluate::{Dims, evaluate_size};
use crate::lower::nest::{Layout, LoweredProgram, row_major_strides};
use crate::lower::statement::lower_statement;
use crate::program::ir::Program;
use crate::program::ranges::different_sizes;
use crate::shape::TensorType;

/// The elements of one tensor, and the iterations of one index, are less than this.
const MAX_ELEMENTS: i64 = 1 << 31;

/// Lowers a program at the sizes `dims`.
///
/// # Errors
/// Sizes that are missing, too large or less than 1, axes that should be equally long and are not, and subscripts that can
/// leave their tensor.
pub(crate) fn lower(program: &Program, dims: &Dims) -> Result<LoweredProgram> {
    let mut tensors = Vec::new();
    let mut by_name = BTreeMap::new();
    for (name, tensor) in &program.tensors {
        by_name.insert(name.clone(), tensors.len());
        tensors.push(layout(name, tensor, dims)?);
    }
    let names = program.indices.iter().map(|index| index.name.clone()).collect();
    let mut ranges = Vec::new();
    for index in &program.indices {
        let range = evaluate_size(&index.range, dims)?;
        if !(1..MAX_ELEMENTS).contains(&range) {
            let message = format!("the range of the index `{}` is {range}", index.name);
            let help = "a range must have from 1 to 2^31 - 1 values";
            return Err(Error::new(index.span, message).help(help));
        }
        ranges.push(range);
    }
    for equality in &program.size_equalities {
        let (first, second) = (&equality.first, &equality.second);
        let values = (evaluate_size(&first.size, dims)?, evaluate_size(&second.size, dims)?);
        if values.0 != values.1 {
            let name = &program.indices[equality.index].name;
            return Err(different_sizes(name, equality.span, first, second, Some(values)));
        }
    }
    let spans = program.indices.iter().map(|index| index.span).collect();
    let mut lowered =
        LoweredProgram { tensors, by_name, names, ranges, spans, statements: Vec::new() };
    for statement in &program.statements {
        let statement = lower_statement(statement, program, dims, &lowered)?;
        lowered.statements.push(statement);
    }
    Ok(lowered)
}

fn layout(name: &str, tensor: &TensorType, dims: &Dims) -> Result<Layout> {
    let mut shape = Vec::new();
    let mut len = 1_i64;
    for (axis, size) in tensor.shape.iter().enumerate() {
        // Shapes are texts of their own, so their spans mean nothing in the formula.
        let value = size.eval(dims).map_err(|error| {
            let message = format!("axis {axis} of `{name}` ({size}): {}", error.message);
            Error { help: error.help, ..Error::unplaced(message) }
        })?;
        if value < 1 {
            let message = format!("axis {axis} of `{name}` ({size}) has size {value}");
            return Err(Error::unplaced(message).help("every size must be at least 1"));
        }
        len = len.checked_mul(value).filter(|len| *len < MAX_ELEMENTS).ok_or_else(|| {
            Error::unplaced(format!("`{name}` would have 2^31 elements or more"))
                .help("choose smaller sizes")
        })?;
        shape.push(value as usize);
    }
    let strides = row_major_strides(&shape);
    Ok(Layout { name: name.to_owned(), dtype: tensor.dtype, shape, strides, len: len as usize })
}
