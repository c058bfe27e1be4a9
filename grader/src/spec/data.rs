//! `data` and `expect` of a test: what the inputs hold, and what must come out.

use super::fault::{Checked, Fault};
use super::raw::{Table, Value};
use super::tensors::Tensors;
use crate::tensor::{DType, Tensor, decode, encode};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

/// What an input holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Row-major, already rounded to the tensor's type.
    Values(Vec<f64>),
    /// Made by the oracle.
    Kind(DataKind),
}

/// Data that the oracle makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataKind {
    /// Small integers other than 0, drawn.
    Integers,
    /// Real numbers of the standard normal distribution, drawn.
    Normal,
    /// All 1.
    Ones,
    /// All 0.
    Zeros,
    /// 0, 1, 2, ...
    Arange,
    /// 0, 1, 2, ... in a drawn order: no two are equal.
    ShuffledArange,
}

impl DataKind {
    const ALL: [(&str, Self); 6] = [
        ("integers", Self::Integers),
        ("normal", Self::Normal),
        ("ones", Self::Ones),
        ("zeros", Self::Zeros),
        ("arange", Self::Arange),
        ("shuffled-arange", Self::ShuffledArange),
    ];

    fn read(word: &str, place: &Range<usize>) -> Checked<Self> {
        Self::ALL.iter().find(|(name, _)| *name == word).map(|&(_, kind)| kind).ok_or_else(|| {
            Fault::at(place.clone(), format!("unknown kind of data `{}`", word.escape_debug()))
                .suggest(word, Self::ALL.iter().map(|(name, _)| *name), "kind")
        })
    }

    /// Does it differ from seed to seed?
    pub fn is_random(self) -> bool {
        matches!(self, Self::Integers | Self::Normal | Self::ShuffledArange)
    }
}

/// What a test expects of one tensor.
#[derive(Clone, Debug)]
pub struct Expect {
    /// The tensor.
    pub tensor: Tensor,
    /// Row-major.
    pub values: Vec<f64>,
    /// Where each value stands.
    pub(crate) places: Vec<Range<usize>>,
}

/// The data of each input of the formula.
pub(crate) fn read_data(
    raw: Option<&Spanned<Value>>,
    tensors: &Tensors,
    shapes: &BTreeMap<String, Tensor>,
) -> Checked<BTreeMap<String, Data>> {
    let mut all = DataKind::Integers;
    let mut table = &Table::new();
    if let Some(raw) = raw {
        match raw.get_ref() {
            Value::Text(word) => all = DataKind::read(word, &raw.span())?,
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
        if tensors.is_computed(name) {
            return Err(Fault::at(key.span(), format!("`{name}` is computed, it cannot be given"))
                .suggest(name, tensors.inputs.iter().map(String::as_str), "input"));
        }
        if !tensors.inputs.contains(name) {
            return Err(Fault::at(key.span(), format!("`{name}` is not an input of the formula"))
                .suggest(name, tensors.inputs.iter().map(String::as_str), "input"));
        }
    }
    let mut data = BTreeMap::new();
    for name in &tensors.inputs {
        let Some(tensor) = shapes.get(name) else { continue };
        let given = match table.iter().find(|(key, _)| key.get_ref() == name) {
            Some((_, value)) => read_one(value, tensor)?,
            // Normal values are no integers: what must hold integers keeps small ones.
            None if all == DataKind::Normal && tensor.dtype == DType::I32 => {
                Data::Kind(DataKind::Integers)
            }
            None => Data::Kind(all),
        };
        data.insert(name.clone(), given);
    }
    Ok(data)
}

fn read_one(value: &Spanned<Value>, tensor: &Tensor) -> Checked<Data> {
    match value.get_ref() {
        Value::Text(word) => {
            let kind = DataKind::read(word, &value.span())?;
            if kind == DataKind::Normal && tensor.dtype == DType::I32 {
                let title = format!("`{}` holds integers, normal values are none", tensor.name);
                return Err(Fault::at(value.span(), title).help("write \"integers\""));
            }
            Ok(Data::Kind(kind))
        }
        Value::List(list) => {
            Ok(Data::Values(stored(&numbers(list, value, tensor)?, list, tensor)?))
        }
        other => {
            let title = format!("data must be a word or a list, this is {}", other.kind());
            Err(Fault::at(value.span(), title).help("write \"ones\" or [1, 2, 3]"))
        }
    }
}

/// The numbers of a list that must fill `tensor`.
fn numbers(list: &[Spanned<Value>], whole: &Spanned<Value>, tensor: &Tensor) -> Checked<Vec<f64>> {
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
        if !value.is_finite() {
            return Err(Fault::at(item.span(), "an element must be a finite number"));
        }
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
            _ => kept.is_finite(),
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

/// The hand-computed outputs of a test. `outputs` are the computed tensors that launches take.
pub(crate) fn read_expect(
    raw: &BTreeMap<Spanned<String>, Spanned<Value>>,
    outputs: &[&str],
    shapes: &BTreeMap<String, Tensor>,
) -> Checked<Vec<Expect>> {
    let mut expect = Vec::new();
    for (key, value) in raw {
        let name = key.get_ref();
        let (true, Some(tensor)) = (outputs.contains(&name.as_str()), shapes.get(name)) else {
            return Err(Fault::at(key.span(), format!("no kernel computes `{name}`")).suggest(
                name,
                outputs.iter().copied(),
                "output",
            ));
        };
        let Value::List(list) = value.get_ref() else {
            let title =
                format!("expected values must be a list, this is {}", value.get_ref().kind());
            return Err(
                Fault::at(value.span(), title).help("write all elements in row-major order")
            );
        };
        expect.push(Expect {
            tensor: tensor.clone(),
            values: numbers(list, value, tensor)?,
            places: list.iter().map(Spanned::span).collect(),
        });
    }
    Ok(expect)
}
