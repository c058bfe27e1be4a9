//! Builds a case from a test of a spec: draws the inputs and computes the outputs.

use super::expected::{self, Expected};
use super::{given, inputs, numerical};
use crate::case::{
    Case, CaseArg, CaseConstant, CaseGate, CaseLaunch, CasePicture, CaseRequirement, CaseTensor,
    Measured, Role,
};
use indexmath::{Approx, Values};
use spec::{
    Buffer, Call, CallArg, Check, Checked, Data, DataKind, Picture, Purpose, Requirement, Spec,
    Test, prime,
};
use std::collections::{BTreeMap, BTreeSet};
use tensor::DType;

/// The largest absolute values of random integers, tried in this order until all sums are exact.
const RANGES: [u32; 6] = [9, 7, 5, 3, 2, 1];

/// Builds the case of `test` with the random data of `seed`, and with what runs before it.
pub(super) fn build(spec: &Spec, test: &Test, seed: u64) -> Checked<Case> {
    let mut case = build_alone(spec, test, seed)?;
    if let Some(before) = &test.before {
        run_before(build_alone(spec, before, seed)?, &mut case, test.in_same_memory);
    }
    Ok(case)
}

/// Lets the launches of `case` run on the tensors of `before` first, whose results do not count; then, if the tensors are the same but for
/// what they hold, `in_same_memory`.
fn run_before(before: Case, case: &mut Case, in_same_memory: bool) {
    let first = case.tensors.len();
    if in_same_memory && let Some(launch) = case.launches.first_mut() {
        let pairs = case.tensors.iter().zip(&before.tensors).enumerate();
        let same = pairs.filter(|(_, (tensor, before))| tensor.tensor == before.tensor);
        launch.moves_in = same.map(|(at, _)| (at, first + at)).collect();
    }
    for mut tensor in before.tensors {
        tensor.tensor.name.push_str(" of the launch before");
        if let Role::Output(_) = tensor.role {
            tensor.role = Role::Workspace;
        }
        case.tensors.push(tensor);
    }
    let mut launches = before.launches;
    for launch in &mut launches {
        for arg in &mut launch.args {
            if let CaseArg::Tensor(at) = arg {
                *at += first;
            }
        }
        for constant in &mut launch.constants {
            constant.tensor += first;
        }
    }
    for gate in &mut case.gates {
        gate.launch += launches.len();
    }
    case.launches.splice(0..0, launches);
}

fn build_alone(spec: &Spec, test: &Test, seed: u64) -> Checked<Case> {
    let chained = given::chained(spec, test);
    let (inputs, known, mut expected) = exact_if_possible(spec, test, &chained, seed)?;
    if let Check::NumericalGradient { epsilon, rtol } = test.check {
        numerical::replace(spec, test, &inputs, epsilon, rtol, &mut expected)?;
    }
    if let Some(tolerance) = &test.tolerance {
        for buffer in test.buffers.iter().filter(|b| b.tensor.dtype.is_float()) {
            let values = buffer.computed().and_then(|name| expected.get_mut(&name));
            for approx in values.into_iter().flatten().filter(|a| a.value.is_finite()) {
                approx.bound = tolerance.atol + tolerance.rtol * approx.value.abs();
            }
        }
    }
    let tensors = test.buffers.iter().map(|buffer| tensor(buffer, &known, &mut expected)).collect();
    Ok(Case {
        test: test.name.clone(),
        about: test.about.clone(),
        dims: test.dims.clone(),
        used_dims: test.used_dims.clone(),
        seed,
        tensors,
        launches: test.calls.iter().map(|call| launch(spec, test, call, &known)).collect(),
        formula: test.formula.clone(),
        closed: test.closed.clone().zip(spec.tensors.closed.as_ref().map(|c| c.states.clone())),
        known,
        chained,
        bit_equal: bit_equal(spec, test),
        gates: gates(spec, test)?,
        requirements: requirements(spec, test)?,
        options: spec.options,
        pictures: pictures(spec, test)?,
        watched: watched(spec, test),
    })
}

fn tensor(buffer: &Buffer, known: &Values, expected: &mut Expected) -> CaseTensor {
    let name = &buffer.tensor.name;
    let start = || known.get(name).cloned().unwrap_or_default();
    let role = match buffer.purpose {
        Purpose::Input | Purpose::Given => Role::Input(start()),
        Purpose::Output => Role::Output(expected.remove(name).unwrap_or_default()),
        Purpose::InPlace => Role::InPlace {
            start: start(),
            expected: expected.remove(&prime(name)).unwrap_or_default(),
        },
        Purpose::Result => Role::Result,
        Purpose::Workspace => Role::Workspace,
    };
    CaseTensor { tensor: buffer.tensor.clone(), role }
}

fn gates(spec: &Spec, test: &Test) -> Checked<Vec<CaseGate>> {
    let mut gates = Vec::new();
    for gate in &spec.gates {
        gates.extend(gate.at(&spec.text, test)?);
    }
    Ok(gates)
}

fn requirements(spec: &Spec, test: &Test) -> Checked<Vec<CaseRequirement>> {
    let counting = spec.requirements.iter().filter(|requirement| requirement.counts_in(test));
    let fixed = |Requirement { tensor, relation, bound, about, .. }: &Requirement| {
        let (of, about) = (measured(spec, test, tensor)?, about.clone());
        Ok(CaseRequirement { of, relation: *relation, bound: *bound, about })
    };
    counting.map(fixed).collect()
}

fn pictures(spec: &Spec, test: &Test) -> Checked<Vec<CasePicture>> {
    let counting = spec.pictures.iter().filter(|picture| picture.counts_in(test));
    let fixed = |picture: &Picture| {
        let (of, style) = (measured(spec, test, &picture.tensor)?, picture.style.clone());
        Ok(CasePicture { of, style })
    };
    counting.map(fixed).collect()
}

fn measured(spec: &Spec, test: &Test, tensor: &str) -> Checked<Measured> {
    let steps = spec.tensors.formula.steps(tensor);
    Ok(Measured { tensor: spec.tensors.at(&spec.text, tensor, &test.dims)?, steps })
}

/// The results that the test's calls display while they run, as in [`Case::watched`].
fn watched(spec: &Spec, test: &Test) -> Vec<(usize, String)> {
    let calls = test.calls.iter().filter_map(|call| spec.launches[call.launch].host.as_ref());
    let index = |(label, name): &(String, String)| {
        let is_it = |b: &Buffer| b.purpose == Purpose::Result && b.tensor.name == *name;
        Some((test.buffers.iter().position(is_it)?, label.clone()))
    };
    calls.flat_map(|call| &call.progress).filter_map(index).collect()
}

/// The indices of the tensors whose bits must be the same after every run, because the spec says so.
fn bit_equal(spec: &Spec, test: &Test) -> Vec<usize> {
    let calls = test.calls.iter().filter(|c| spec.launches[c.launch].is_bit_equal());
    let taken: BTreeSet<usize> = calls
        .flat_map(|call| &call.args)
        .filter_map(|arg| match arg {
            CallArg::Buffer(i) => Some(*i),
            CallArg::Scalar(_) | CallArg::Int(_) => None,
        })
        .collect();
    let written = |i: &usize| {
        let buffer = &test.buffers[*i];
        buffer.purpose == Purpose::Result || buffer.computed().is_some()
    };
    taken.into_iter().filter(written).collect()
}

/// The launch or call of host code that `call` stands for, with the scalars among the `known` values as arguments.
pub fn launch(spec: &Spec, test: &Test, call: &Call, known: &Values) -> CaseLaunch {
    let Call { launch, grid, block, shared, ref args, ref constants } = *call;
    let arg = |arg: &CallArg| match arg {
        CallArg::Buffer(i) => CaseArg::Tensor(*i),
        CallArg::Int(value) => CaseArg::Int(*value),
        CallArg::Scalar(name) => {
            let dtype =
                test.inputs.iter().find(|t| t.name == *name).map_or(DType::F32, |t| t.dtype);
            let value = known.get(name).and_then(|values| values.first());
            CaseArg::Value(dtype, value.copied().unwrap_or_default())
        }
    };
    let of_spec = &spec.launches[launch];
    let (kernel, options) = (of_spec.kernel.clone(), of_spec.options);
    let args = args.iter().map(arg).collect();
    let constant = |(symbol, tensor): &(String, usize)| CaseConstant {
        symbol: symbol.clone(),
        tensor: *tensor,
    };
    let constants = constants.iter().map(constant).collect();
    CaseLaunch { kernel, grid, block, shared, options, args, constants, moves_in: Vec::new() }
}

/// Inputs, these with what kernels are given, and outputs.
type CaseValues = (Values, Values, Expected);

/// Draws the largest integers for which no correct kernel can round. If even the smallest do not make all outputs exact
/// (because of a division, an exponential, or normal values), it keeps the largest range with as many exact outputs:
/// large integers distinguish elements better, and the bounds allow for the rounding.
fn exact_if_possible(
    spec: &Spec,
    test: &Test,
    chained: &BTreeMap<String, BTreeSet<String>>,
    seed: u64,
) -> Checked<CaseValues> {
    let draw = |range: u32| -> Checked<(usize, CaseValues)> {
        let inputs = inputs::draw(test, seed, range);
        let known = given::add(spec, test, &inputs)?;
        let expected = expected::evaluate(spec, test, &known, chained)?;
        let may_round = |values: &&Vec<_>| values.iter().any(|a: &Approx| a.bound != 0.0);
        let rounded = expected.values().filter(may_round).count();
        Ok((rounded, (inputs, known, expected)))
    };
    let has = |kind: fn(&DataKind) -> bool| {
        test.data.values().any(|data| matches!(data, Data::Kind(k) if kind(k)))
    };
    let open = has(|k| *k == DataKind::Integers) && !has(|k| matches!(k, DataKind::Normal { .. }));
    let [largest, between @ .., smallest] = RANGES;
    let (rounded, first) = draw(largest)?;
    if rounded == 0 || !open {
        return Ok(first);
    }
    let (fewest, last) = draw(smallest)?;
    if rounded <= fewest {
        return Ok(first);
    }
    for range in between {
        let (rounded, drawn) = draw(range)?;
        if rounded <= fewest {
            return Ok(drawn);
        }
    }
    Ok(last)
}
