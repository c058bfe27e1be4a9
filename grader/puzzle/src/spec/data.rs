//! `data` of a test: what the inputs hold.

use super::fault::{Checked, Fault};
use super::kind::{At, DataKind};
use super::raw::{Table, Value};
use super::tensors::Tensors;
use crate::tensor::{DType, Tensor, decode, encode};
use std::collections::BTreeMap;
use toml::Spanned;

/// What an input holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Row-major, already rounded to the tensor's type.
    Values(Vec<f64>),
    /// Made by the oracle.
    Kind(DataKind),
}

/// The data of each input of the formula.
pub(crate) fn read_data(
    at: &At<'_>,
    raw: Option<&Spanned<Value>>,
    tensors: &Tensors,
    inputs: &[Tensor],
) -> Checked<BTreeMap<String, Data>> {
    let mut all = DataKind::Integers;
    let mut table = &Table::new();
    if let Some(raw) = raw {
        match raw.get_ref() {
            Value::Text(word) => all = DataKind::named(word, &raw.span())?,
            Value::Table(t) if is_kind(t, tensors) => all = at.read_table(t, &raw.span())?,
            Value::Table(t) => table = t,
            other => {
                let title = format!("`data` must be a word or a table, this is {}", other.kind());
                return Err(Fault::at(raw.span(), title)
                    .help("write data = \"normal\" or data = { x = [1, 2, 3] }"));
            }
        }
    }
    for key in table.keys() {
        let name = key.get_ref();
        if inputs.iter().any(|input| input.name == *name) {
            continue;
        }
        let title = if tensors.is_computed(name) {
            format!("`{name}` is computed, it cannot be given")
        } else if tensors.inputs.contains(name) {
            format!("`{name}` is a result in this test, it cannot be given")
        } else {
            format!("`{name}` is not an input of the formula")
        };
        let known = inputs.iter().map(|input| input.name.as_str());
        return Err(Fault::at(key.span(), title).suggest(name, known, "input"));
    }
    let mut data = BTreeMap::new();
    for tensor in inputs {
        let name = &tensor.name;
        let given = match (table.iter().find(|(key, _)| key.get_ref() == name), raw) {
            (Some((_, value)), _) => read_one(at, value, tensor)?,
            // What must hold integers keeps small ones.
            (None, _) if matches!(all, DataKind::Normal { .. }) && tensor.dtype == DType::I32 => {
                Data::Kind(DataKind::Integers)
            }
            (None, Some(word)) => {
                all.check(tensor, &word.span())?;
                Data::Kind(all)
            }
            (None, None) => Data::Kind(all),
        };
        data.insert(name.clone(), given);
    }
    Ok(data)
}

/// `data = { kind = "normal", scale = 2.0 }` speaks of all tensors.
fn is_kind(table: &Table, tensors: &Tensors) -> bool {
    !tensors.types.contains_key("kind") && table.keys().any(|key| key.get_ref() == "kind")
}

fn read_one(at: &At<'_>, value: &Spanned<Value>, tensor: &Tensor) -> Checked<Data> {
    let place = value.span();
    let kind = match value.get_ref() {
        Value::Text(word) => DataKind::named(word, &place)?,
        Value::Table(table) => at.read_table(table, &place)?,
        Value::List(list) => {
            return Ok(Data::Values(stored(&numbers(list, value, tensor)?, list, tensor)?));
        }
        Value::Int(_) | Value::Float(_) if tensor.shape.is_empty() => {
            let one = std::slice::from_ref(value);
            return Ok(Data::Values(stored(&numbers(one, value, tensor)?, one, tensor)?));
        }
        Value::Int(_) | Value::Float(_) => {
            let title = format!("`{}` has axes, this is a single number", tensor.name);
            return Err(Fault::at(place, title).help("write all elements in one list, or a word"));
        }
        Value::Bool(_) => {
            let title = "data must be a word, a list, a number or a table, this is true or false";
            return Err(Fault::at(place, title).help("write \"ones\" or [1, 2, 3]"));
        }
    };
    kind.check(tensor, &place)?;
    Ok(Data::Kind(kind))
}

/// The numbers of a list that must fill `tensor`.
pub(crate) fn numbers(
    list: &[Spanned<Value>],
    whole: &Spanned<Value>,
    tensor: &Tensor,
) -> Checked<Vec<f64>> {
    let mut values = Vec::with_capacity(list.len());
    for item in list {
        let value = match *item.get_ref() {
            Value::Int(v) => v as f64,
            Value::Float(v) => v,
            ref other => {
                let title = format!("an element is a number, this is {}", other.kind());
                return Err(Fault::at(item.span(), title)
                    .help("write all elements in one list, in row-major order"));
            }
        };
        values.push(value);
    }
    if values.len() != tensor.len() {
        let title = format!(
            "`{}` has {} in this test, the list has {}",
            tensor.name,
            counted(tensor.len()),
            values.len()
        );
        let shape: Vec<String> = tensor.shape.iter().map(ToString::to_string).collect();
        return Err(Fault::at(whole.span(), title)
            .help(format!("its shape is [{}], row-major", shape.join(", "))));
    }
    Ok(values)
}

fn counted(n: usize) -> String {
    if n == 1 { "1 element".into() } else { format!("{n} elements") }
}

/// The values as the tensor stores them.
fn stored(values: &[f64], list: &[Spanned<Value>], tensor: &Tensor) -> Checked<Vec<f64>> {
    let stored = decode(tensor.dtype, &encode(tensor.dtype, values));
    for ((given, kept), item) in values.iter().zip(&stored).zip(list) {
        let fits = match tensor.dtype {
            DType::I32 => given == kept,
            // NaN and infinities are values as well; only what becomes infinite does not fit.
            _ => kept.is_finite() || !given.is_finite(),
        };
        if !fits {
            let title = format!("{given:?} does not fit into `{}`", tensor.name);
            let holds = match tensor.dtype {
                DType::I32 => "it holds integers of 32 bits",
                DType::F16 => "f16 ends at 65504",
                DType::F32 | DType::BF16 | DType::F64 => "its type ends at 3.4e38",
            };
            return Err(Fault::at(item.span(), title).help(holds));
        }
    }
    Ok(stored)
}
