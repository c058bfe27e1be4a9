//! Computed tensors that kernels are given, so that a wrong kernel does not corrupt the input of the next one.

use super::expected::check;
use indexmath::Values;
use spec::{CallArg, Checked, Purpose, Spec, Test};
use std::collections::{BTreeMap, BTreeSet};
use tensor::{decode, encode};

/// Adds to `inputs` the values that the test's kernels are given. The formula computes each from those before it,
/// rounded to its type as a kernel would find it in memory.
pub(super) fn add(spec: &Spec, test: &Test, inputs: &Values) -> Checked<Values> {
    let mut known = inputs.clone();
    let given = test.given(&spec.tensors);
    // In the order of the formula, so that a given tensor comes before those computed from it.
    for name in spec.tensors.computed.iter().filter(|name| given.contains(&name.as_str())) {
        let mut values = test
            .formula
            .evaluate(&known, &[name])
            .map_err(|e| super::expected::math(spec, test, e))?;
        let buffer = test.buffers.iter().find(|b| b.tensor.name == *name);
        let (Some(buffer), Some(mut approx)) = (buffer, values.remove(name)) else { continue };
        check(spec, test, &buffer.tensor, &mut approx)?;
        let exact: Vec<f64> = approx.iter().map(|a| a.value).collect();
        let dtype = buffer.tensor.dtype;
        known.insert(name.clone(), decode(dtype, &encode(dtype, &exact)));
    }
    Ok(known)
}

/// For each tensor, what its kernels must compute or take from others, though some kernel is given it: as in
/// [`crate::case::Case::chained`].
pub(super) fn chained(spec: &Spec, test: &Test) -> BTreeMap<String, BTreeSet<String>> {
    let given = test.given(&spec.tensors);
    // By buffer: the results that its contents were computed from.
    let mut made_from: Vec<BTreeSet<String>> = vec![BTreeSet::new(); test.buffers.len()];
    // By buffer: what the kernels that computed its contents were given; `None` if no launch wrote it.
    let mut granted: Vec<Option<BTreeSet<String>>> = vec![None; test.buffers.len()];
    for call in &test.calls {
        let taken: Vec<usize> = call
            .args
            .iter()
            .filter_map(|arg| match arg {
                CallArg::Buffer(i) => Some(*i),
                CallArg::Scalar(_) | CallArg::Int(_) => None,
            })
            .collect();
        let mut sources = BTreeSet::new();
        let mut here = BTreeSet::new();
        for &i in taken.iter().chain(call.constants.iter().map(|(_, i)| i)) {
            let buffer = &test.buffers[i];
            sources.extend(made_from[i].iter().cloned());
            here.extend(granted[i].iter().flatten().cloned());
            if buffer.purpose != Purpose::Output {
                here.insert(buffer.tensor.name.clone());
            }
            if buffer.purpose == Purpose::Output && given.contains(&buffer.tensor.name.as_str()) {
                sources.insert(buffer.tensor.name.clone());
            }
        }
        let written = |&i: &usize| {
            let buffer = &test.buffers[i];
            buffer.purpose == Purpose::Workspace || buffer.computed().is_some()
        };
        for i in taken.into_iter().filter(written) {
            let own = &test.buffers[i].tensor.name;
            made_from[i].extend(sources.iter().filter(|name| *name != own).cloned());
            granted[i].get_or_insert_default().extend(here.iter().cloned());
        }
    }
    let mut all = BTreeMap::new();
    for ((buffer, mut from), granted) in test.buffers.iter().zip(made_from).zip(granted) {
        let Some(name) = buffer.computed() else { continue };
        if let Some(granted) = granted {
            let steps = spec.tensors.formula.steps(&name).into_iter();
            let lacking = |step: &String| given.contains(&step.as_str()) && !granted.contains(step);
            from.extend(steps.filter(|step| *step != name && lacking(step)));
        }
        if !from.is_empty() {
            all.insert(name, from);
        }
    }
    all
}
