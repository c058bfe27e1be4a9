//! `expect` of a test: values computed by hand.

use super::data::numbers;
use super::fault::{Checked, Fault};
use specfile::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use tensor::Tensor;
use toml::Spanned;

/// The values that a test expects in one tensor.
#[derive(Clone, Debug)]
pub struct Expect {
    /// The tensor with its name in the formula: `weights'` for one that is changed in place.
    pub tensor: Tensor,
    /// The expected values, row-major.
    pub values: Vec<f64>,
    /// The place of each value in the file.
    pub places: Vec<Range<usize>>,
}

/// Reads the hand-computed outputs of a test. `outputs` are the computed tensors that its launches take.
pub(crate) fn read_expect(
    raw: &BTreeMap<Spanned<String>, Spanned<Value>>,
    outputs: &[String],
    shapes: &BTreeMap<String, Tensor>,
) -> Checked<Vec<Expect>> {
    let mut expect = Vec::new();
    for (key, value) in raw {
        let name = key.get_ref();
        let (true, Some(tensor)) = (outputs.contains(name), shapes.get(name)) else {
            return Err(Fault::at(key.span(), format!("no kernel computes `{name}`")).suggest(
                name,
                outputs.iter().map(String::as_str),
                "output",
            ));
        };
        let Value::List(list) = value.get_ref() else {
            let title =
                format!("expected values must be a list, but this is {}", value.get_ref().kind());
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
