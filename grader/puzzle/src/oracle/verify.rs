//! Checks of a spec that need the values of its tensors.

use super::build::build;
use crate::case::{Case, CaseTensor, Role};
use crate::comparison::is_within_bound;
use indexmath::{Approx, SizedFormula};
use spec::{Checked, Fault, Spec, Test};
use tensor::{Tensor, decode, encode};

/// The seed of these checks. Any seed would do, because hand-computed values must not depend on it.
const SEED: u64 = 0;
/// Tests that a closed form is compared with the derivative in.
const CLOSED_TESTS: usize = 6;

pub(super) fn verify(spec: &Spec) -> Checked<()> {
    let mut undecided: Vec<String> =
        spec.launches.iter().flat_map(|launch| launch.computes(&spec.tensors)).collect();
    // Small tests first: they decide nearly everything.
    let mut tests: Vec<&Test> = spec.tests.iter().collect();
    tests.sort_by_key(|test| {
        let buffers = test.buffers.iter().map(|b| &b.tensor);
        test.inputs.iter().chain(buffers).map(Tensor::len).sum::<usize>()
    });
    for test in tests.iter().take(CLOSED_TESTS).filter(|test| test.closed.is_some()) {
        closed(spec, test)?;
    }
    for test in tests {
        if test.expect.is_empty() && undecided.is_empty() {
            continue;
        }
        let case = build(spec, test, SEED)?;
        compare(spec, test, &case)?;
        undecided.retain(|name| is_trivial(&case, name));
    }
    let Some(name) = undecided.first() else { return Ok(()) };
    let fault = |title: String| Fault::at(spec.tensors.place.clone(), title);
    Err(match name.strip_suffix('\'') {
        Some(before) => fault(format!("`{name}` differs too little from `{before}` in every test"))
            .help("a kernel that does nothing, or mixes the elements up, would pass: give one test other data"),
        None => fault(format!("in every test, all elements of `{name}` are equal")).help(
            "a kernel that mixes them up would pass: give one test data that distinguish them",
        ),
    })
}

/// Checks that the gradients which the spec states are those of the formula.
fn closed(spec: &Spec, test: &Test) -> Checked<()> {
    let Some(stated) = &spec.tensors.closed else { return Ok(()) };
    let case = build(spec, test, SEED)?;
    let Some((formula, names)) = &case.closed else { return Ok(()) };
    for name in names {
        if output(&case, name).is_empty() {
            continue;
        }
        let known = case.known_for(name);
        let values = |formula: &SizedFormula| {
            let values = formula.evaluate(&known, &[name]);
            values.map(|mut values| values.remove(name).unwrap_or_default())
        };
        let math = |e| Fault::math(&spec.text, &stated.place, e);
        let (closed, derived) =
            (values(formula).map_err(math)?, values(&case.formula).map_err(math)?);
        let far = |(a, b): (&Approx, &Approx)| {
            // The difference of two infinities is no number.
            let is_same = a.value == b.value || a.value.is_nan() && b.value.is_nan();
            !(is_same || (a.value - b.value).abs() <= a.bound + b.bound)
        };
        if let Some(at) = closed.iter().zip(&derived).position(far) {
            let title = format!(
                "element {at} of {name} is {} in closed form, and the derivative is {}",
                closed[at].value, derived[at].value
            );
            return Err(Fault::at(stated.place.clone(), title)
                .also(test.place.clone(), "in this test")
                .help("a closed form must equal the derivative in every test"));
        }
    }
    Ok(())
}

/// The expected values of a computed tensor.
fn output(case: &Case, name: &str) -> Vec<Approx> {
    let mut wanted = case.tensors.iter().filter_map(CaseTensor::wanted);
    wanted
        .find(|(tensor, _)| tensor.name == name)
        .map(|(_, expected)| expected.to_vec())
        .unwrap_or_default()
}

/// Whether a kernel would pass that swaps elements, writes a constant, or leaves the tensor unchanged.
fn is_trivial(case: &Case, name: &str) -> bool {
    match case.output(name).map(|index| &case.tensors[index].role) {
        Some(Role::Output(expected)) => is_uniform(expected),
        Some(Role::InPlace { start, expected }) => {
            let same = |(before, after): (&f64, &Approx)| is_within_bound(*before, after);
            let mut same = start.iter().zip(expected).map(same);
            // All elements set to one value are fine if each held another.
            if is_uniform(expected) { same.any(|s| s) } else { same.all(|s| s) }
        }
        Some(Role::Input(_) | Role::Result | Role::Workspace) | None => true,
    }
}

/// Whether all elements are equal; for a single element, whether it is 0.
fn is_uniform(values: &[Approx]) -> bool {
    match values {
        [] => true,
        [one] => one.value == 0.0,
        [first, rest @ ..] => rest.iter().all(|v| v.value == first.value),
    }
}

fn compare(spec: &Spec, test: &Test, case: &Case) -> Checked<()> {
    for expect in &test.expect {
        let computed = output(case, &expect.tensor.name);
        for (i, (by_hand, computed)) in expect.values.iter().zip(&computed).enumerate() {
            let place = expect.places.get(i).unwrap_or(&test.place).clone();
            if *by_hand != 0.0 && by_hand.abs() <= computed.bound {
                let element = expect.tensor.element_name(i);
                let title = format!(
                    "{element} is expected to be {by_hand}, and rounding may change it by {:.1e}",
                    computed.bound
                );
                return Err(Fault::at(place, title)
                    .label("a kernel that stores 0 here would pass")
                    .help("give the test other data, such as \"integers\", or fewer terms"));
            }
            // A value computed by hand, such as 0.1, may need rounding to the type that a kernel stores.
            let dtype = expect.tensor.dtype;
            let stored = || decode(dtype, &encode(dtype, &[*by_hand]))[0];
            if is_within_bound(*by_hand, computed)
                || (dtype.is_float() && stored() == computed.value)
            {
                continue;
            }
            let element = expect.tensor.element_name(i);
            let title = format!(
                "{element} is expected to be {by_hand}, the formula gives {}",
                computed.value
            );
            let fault = Fault::at(place, title).also(spec.tensors.place.clone(), "the formula");
            // Not every input affects every output, so compare with another seed.
            let other = build(spec, test, SEED + 1)?;
            let other = output(&other, &expect.tensor.name).get(i).map(|v| v.value);
            return Err(if other == Some(computed.value) {
                fault.help("compute this element again by hand: one of the two is wrong")
            } else {
                fault
                    .help("it depends on data that are drawn again in each run")
                    .help("give the values of all inputs that it depends on")
            });
        }
    }
    Ok(())
}
