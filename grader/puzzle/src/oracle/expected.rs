//! The expected values of a case.

use indexmath::{Approx, Values};
use spec::{Checked, Data, Fault, Spec, Test};
use std::collections::{BTreeMap, BTreeSet};
use tensor::{DType, Tensor};

/// The expected values of each computed tensor, row-major.
pub(super) type Expected = BTreeMap<String, Vec<Approx>>;

/// Computes everything that the test's launches compute. `known` and `chained` are as in [`crate::case::Case`].
pub(super) fn evaluate(
    spec: &Spec,
    test: &Test,
    known: &Values,
    chained: &BTreeMap<String, BTreeSet<String>>,
) -> Checked<Expected> {
    // Evaluates tensors that need the same values together: usually all of them.
    let mut groups: BTreeMap<Option<&BTreeSet<String>>, Vec<String>> = BTreeMap::new();
    for name in test.outputs() {
        groups.entry(chained.get(&name)).or_default().push(name);
    }
    let mut expected = Expected::new();
    for (without, names) in groups {
        let wanted: Vec<&str> = names.iter().map(String::as_str).collect();
        let values = match without {
            None => test.formula.evaluate_sharply(known, &wanted),
            Some(results) => {
                let mut known = known.clone();
                known.retain(|name, _| !results.contains(name));
                test.formula.evaluate_sharply(&known, &wanted)
            }
        };
        expected.extend(values.map_err(|e| math(spec, test, e))?);
    }
    for buffer in &test.buffers {
        if let Some(name) = buffer.computed() {
            let tensor = Tensor { name, ..buffer.tensor.clone() };
            let values = expected.entry(tensor.name.clone()).or_default();
            check(spec, test, &tensor, values)?;
            if test.tolerance.is_some() {
                continue;
            }
            if let Err(fault) = bounded(spec, test, &tensor, values) {
                let first = first_unbounded(spec, test, known);
                return Err(match first.filter(|first| *first != tensor.name) {
                    Some(first) => fault.help(format!("it begins with `{first}`")),
                    None => fault,
                });
            }
        }
    }
    Ok(expected)
}

/// Refuses values that no kernel could be compared with. A value that is not finite must be intended (see
/// [`is_wanted`]), and then a kernel must produce the same; integers must be equal too.
pub(super) fn check(
    spec: &Spec,
    test: &Test,
    tensor: &Tensor,
    values: &mut [Approx],
) -> Checked<()> {
    if values.len() != tensor.len() {
        return Err(at_formula(spec, test, format!("`{}` cannot be computed", tensor.name)));
    }
    for (i, approx) in values.iter_mut().enumerate() {
        let fault = |what: &str| {
            let title = format!("{} would be {:?}, {what}", tensor.element_name(i), approx.value);
            at_formula(spec, test, title)
        };
        if !approx.value.is_finite() && tensor.dtype.is_float() {
            let copied = test.is_drawn && approx.bound == 0.0;
            if !copied && !is_wanted(test, &tensor.name, i) {
                return Err(fault("which is not a number").help("give the test other data").help(
                    format!(
                        "if this is intended, state it: expect = {{ \"{}\" = [...] }}",
                        tensor.name
                    ),
                ));
            }
            approx.bound = 0.0;
        } else if !tensor.dtype.is_float() {
            if !tensor.dtype.holds_integer(approx.value) {
                let (what, help) = not_held(tensor.dtype);
                return Err(fault(what).help(help));
            }
            if approx.bound != 0.0 {
                return Err(fault("but a correct kernel may round to another integer")
                    .help("give the test exact data, such as \"integers\""));
            }
        } else if approx.value.abs() > greatest(tensor.dtype) {
            return Err(out_of_range(fault));
        }
    }
    Ok(())
}

/// Refuses values whose error bound is infinite.
fn bounded(spec: &Spec, test: &Test, tensor: &Tensor, values: &[Approx]) -> Checked<()> {
    let Some(i) = values.iter().position(|approx| !approx.bound.is_finite()) else { return Ok(()) };
    let Approx { value, magnitude, .. } = values[i];
    let fault = |what: &str| {
        let title = format!("{} would be {value:?}, {what}", tensor.element_name(i));
        at_formula(spec, test, title)
    };
    if magnitude > greatest(tensor.dtype) {
        return Err(out_of_range(fault));
    }
    Err(fault("but rounding may change it by any amount")
        .help(
            "somewhere the rounding error exceeds the argument of a root or a logarithm, or a \
            denominator; or a float overflows",
        )
        .help("give the test other data"))
}

fn out_of_range(fault: impl Fn(&str) -> Fault) -> Fault {
    fault("outside the range of its type").help("give the test smaller or other data")
}

/// What is said of a value that an integer type does not hold.
fn not_held(dtype: DType) -> (&'static str, &'static str) {
    const WRAP: &str =
        "results do not wrap around as in CUDA: keep the lower bits with `index(... & 0xff)`";
    match dtype {
        DType::U8 => ("which is not an integer from 0 to 255", WRAP),
        DType::I64 => ("which is not an integer below 2^53", WRAP),
        _ => ("which is not a 32-bit integer", "fix the formula or the data"),
    }
}

/// The largest finite value of a type; `bf16` has that of `f32`, to three digits.
fn greatest(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 65_504.0,
        DType::F32 | DType::BF16 => f64::from(f32::MAX),
        DType::F64 => f64::MAX,
        DType::I32 | DType::I64 | DType::U8 => {
            dtype.integers().map_or(0.0, |(_, greatest)| greatest as f64)
        }
    }
}

/// The first tensor of the formula with an infinite error bound.
fn first_unbounded(spec: &Spec, test: &Test, known: &Values) -> Option<String> {
    let unbounded = |name: &&String| {
        let values = test.formula.evaluate(known, &[name]).ok();
        let values = values.and_then(|mut values| values.remove(*name)).unwrap_or_default();
        values.iter().any(|approx| !approx.bound.is_finite())
    };
    let mut computed = spec.tensors.computed.iter().filter(|name| !known.contains_key(*name));
    computed.find(unbounded).cloned()
}

/// Whether NaN or infinity is accepted for an element: the test's data contain some, or the spec expects it there.
fn is_wanted(test: &Test, name: &str, element: usize) -> bool {
    let odd = |value: &f64| !value.is_finite();
    let by_hand = test.expect.iter().filter(|e| e.tensor.name == name);
    test.data.values().any(|data| matches!(data, Data::Values(values) if values.iter().any(odd)))
        || by_hand.filter_map(|e| e.values.get(element)).any(odd)
}

/// An error of the formula at the sizes and data of a test.
pub(super) fn math(spec: &Spec, test: &Test, error: indexmath::Error) -> Fault {
    Fault::math(&spec.text, &spec.tensors.place, error).also(test.place.clone(), "in this test")
}

pub(super) fn at_formula(spec: &Spec, test: &Test, title: String) -> Fault {
    Fault::at(spec.tensors.place.clone(), title).also(test.place.clone(), "in this test")
}
