//! Checks of a spec that need its values.

use crate::case::{Case, Role};
use crate::spec::{Checked, Fault, Spec, Test};
use crate::tensor::Tensor;
use indexmath::Approx;

/// Any seed does: hand-computed values must not depend on it.
const SEED: u64 = 0;

pub(super) fn verify(spec: &Spec) -> Checked<()> {
    let mut undecided: Vec<&str> = spec
        .launches
        .iter()
        .flat_map(crate::spec::Launch::tensors)
        .filter(|name| spec.tensors.is_computed(name))
        .collect();
    // Small tests first: they decide nearly everything.
    let mut tests: Vec<&Test> = spec.tests.iter().collect();
    tests.sort_by_key(|test| {
        test.inputs.iter().chain(&test.tensors).map(Tensor::len).sum::<usize>()
    });
    for test in tests {
        if test.expect.is_empty() && undecided.is_empty() {
            continue;
        }
        let case = super::build(spec, test, SEED)?;
        compare(spec, test, &case)?;
        undecided.retain(|name| is_trivial(output(&case, name)));
    }
    match undecided.first() {
        None => Ok(()),
        Some(name) => {
            let title = format!("in every test, all elements of `{name}` are equal");
            Err(Fault::at(spec.tensors.place.clone(), title).help(
                "a kernel that mixes them up would pass: give one test data that tell them apart",
            ))
        }
    }
}

fn output<'a>(case: &'a Case, name: &str) -> &'a [Approx] {
    case.tensors
        .iter()
        .find_map(|t| match &t.role {
            Role::Output(values) if t.tensor.name == name => Some(values.as_slice()),
            _ => None,
        })
        .unwrap_or_default()
}

/// All equal: a kernel that mixes up the elements, or writes a constant, would pass. A single element must not be 0.
fn is_trivial(values: &[Approx]) -> bool {
    match values {
        [] => true,
        [one] => one.value == 0.0,
        [first, rest @ ..] => rest.iter().all(|v| v.value == first.value),
    }
}

fn compare(spec: &Spec, test: &Test, case: &Case) -> Checked<()> {
    for expect in &test.expect {
        let computed = output(case, &expect.tensor.name);
        for (i, (by_hand, right)) in expect.values.iter().zip(computed).enumerate() {
            if (by_hand - right.value).abs() <= right.bound {
                continue;
            }
            let element = expect.tensor.element_name(i);
            let title =
                format!("{element} is expected to be {by_hand}, the formula gives {}", right.value);
            let place = expect.places.get(i).unwrap_or(&test.place).clone();
            let fault = Fault::at(place, title).also(spec.tensors.place.clone(), "the formula");
            // Not every input matters to every output, so another seed tells.
            let other = super::build(spec, test, SEED + 1)?;
            let other = output(&other, &expect.tensor.name).get(i).map(|v| v.value);
            return Err(if other == Some(right.value) {
                fault.help("compute this element again by hand: one of the two is wrong")
            } else {
                fault
                    .help("it depends on data that are drawn anew in each run")
                    .help("give the values of all inputs that it depends on")
            });
        }
    }
    Ok(())
}
