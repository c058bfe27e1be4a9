//! The outputs of a case.

use crate::spec::{Checked, Fault, Spec, Test};
use indexmath::{Approx, Values};
use std::collections::BTreeMap;

/// Right values by tensor, row-major.
pub(super) type Expected = BTreeMap<String, Vec<Approx>>;

/// All computed tensors that the test's launches take.
pub(super) fn evaluate(spec: &Spec, test: &Test, known: &Values) -> Checked<Expected> {
    let wanted: Vec<&str> = test
        .tensors
        .iter()
        .map(|t| t.name.as_str())
        .filter(|name| spec.tensors.is_computed(name))
        .collect();
    let expected = test.formula.evaluate(known, &wanted).map_err(|e| math(spec, test, e))?;
    for tensor in test.tensors.iter().filter(|t| spec.tensors.is_computed(&t.name)) {
        let values = expected.get(&tensor.name).map_or(&[][..], Vec::as_slice);
        let unfit = |a: &Approx| !a.value.is_finite() || !a.bound.is_finite();
        if let Some(bad) = values.iter().position(unfit) {
            let title = format!(
                "{} would be {:?}, out of the range of its type",
                tensor.element_name(bad),
                values[bad].value
            );
            return Err(at_formula(spec, test, title).help("give the test smaller or other data"));
        }
        if values.len() != tensor.len() {
            return Err(at_formula(spec, test, format!("`{}` cannot be computed", tensor.name)));
        }
    }
    Ok(expected)
}

/// An error of the formula at the sizes and data of a test.
pub(super) fn math(spec: &Spec, test: &Test, error: indexmath::Error) -> Fault {
    Fault::math(&spec.text, &spec.tensors.place, error).also(test.place.clone(), "in this test")
}

pub(super) fn at_formula(spec: &Spec, test: &Test, title: String) -> Fault {
    Fault::at(spec.tensors.place.clone(), title).also(test.place.clone(), "in this test")
}
