//! Looks for the cause of a failing verdict by running the program again: which wrong formula, which part of it,
//! which inputs.

use crate::grade::{Machine, Program};
use crate::other_cases::OtherCases;
use crate::subject::Subject;
use crate::trials::Trials;
use crate::verdict::{TensorDiff, TestVerdict};
use crate::{
    branch, choice, elsewhere, formula_variant, half_steps, inputs, intermediate, origins, places,
    sizes, step_in_place, threads, unwritten, writers,
};
use device::backend::Run;
use device::vm::VmBackend;
use puzzle::case::Case;

/// Adds to a verdict what formula the program computes, and what part of it is wrong, where `others` confirm that, and else what inputs
/// the first wrong element is computed from by mistake.
pub fn diagnose(
    (machine, program): (&Machine, &Program),
    others: &OtherCases<'_>,
    (case, run): (&Case, &Run),
    verdict: TestVerdict,
) -> TestVerdict {
    // What comes of a run with mistakes is no formula, and has no single cause.
    if !verdict.findings.is_empty() {
        return match machine {
            Machine::Host(host) => writers::explain_unwritten(host, (case, run), verdict),
            Machine::Vm(_) | Machine::Gpu(_) => verdict,
        };
    }
    let Some(at) = formula_variant::first_cause(case, &verdict) else { return verdict };
    if verdict.diffs[at].is_exchanged() {
        return verdict;
    }
    let name = verdict.diffs[at].tensor.name.clone();
    let trials = Trials::new(machine.backend(), others, case, &name);
    let mut verdict = formula_variant::explain(&trials, case, run, verdict, at);
    // The one that the report shows first may be explained where the one that it is computed from is not.
    if at > 0 && verdict.diffs[at].variant.is_none() {
        let first = verdict.diffs[0].tensor.name.clone();
        let trials = Trials::new(machine.backend(), others, case, &first);
        verdict = formula_variant::explain(&trials, case, run, verdict, 0);
    }
    let verdict = branch::explain(case, run, verdict, at);
    let verdict = choice::explain(&trials, case, run, verdict, at);
    let verdict = step_in_place::explain(case, run, verdict, at);
    let on_vm = |vm: &VmBackend, trials: &Trials<'_, '_>, verdict| {
        let subject = Subject::new(vm, case);
        let verdict = intermediate::explain(&subject, program, trials, verdict, at);
        let verdict = half_steps::explain(program, case, verdict, at);
        let verdict = inputs::explain(&subject, verdict, at);
        let verdict = unwritten::explain(&subject, &program.compiled.source.text, verdict, at);
        threads::explain(&subject, verdict, at)
    };
    let verdict = others_of_the_run(machine, others, (case, run), verdict, at);
    let verdict = match machine {
        Machine::Vm(vm) => on_vm(vm, &trials, verdict),
        // It runs on the virtual machine for this, wherever it ran before.
        Machine::Gpu(_) => match program.virtual_machine() {
            Ok(vm) => on_vm(&vm, &Trials::new(&vm, others, case, &name), verdict),
            Err(_) => verdict,
        },
        // Each case takes long.
        Machine::Host(host) => {
            let verdict = writers::explain(host, &trials, (case, run), verdict, at);
            let values = case.output(&name).map(|index| &run.tensors[index].values[..]);
            let verdict =
                elsewhere::explain(&trials, case, values.unwrap_or_default(), verdict, at);
            return origins::explain(case, verdict, at);
        }
    };
    let verdict = places::explain(&trials, case, verdict, at);
    let verdict = sizes::explain(machine.backend(), others, case, verdict, at);
    origins::explain(case, verdict, at)
}

/// Outputs that are looked at besides the first wrong one.
const MORE_OUTPUTS: usize = 2;

/// Adds the wrong formula of another output, if nothing is known of the first one and it is not computed from a wrong one: the numbers of
/// the nearest follow from the distances, which tell more.
fn others_of_the_run(
    machine: &Machine,
    others: &OtherCases<'_>,
    (case, run): (&Case, &Run),
    mut verdict: TestVerdict,
    at: usize,
) -> TestVerdict {
    let from_wrong = |name: &str| {
        let sources = case.formula.sources(name);
        verdict.diffs.iter().any(|diff| sources.contains(&diff.tensor.name))
    };
    let is_apart =
        |&other: &usize| other > 0 && other != at && !from_wrong(&verdict.diffs[other].tensor.name);
    let apart: Vec<usize> = (0..verdict.diffs.len()).filter(is_apart).take(MORE_OUTPUTS).collect();
    for other in apart {
        if verdict.diffs.iter().any(TensorDiff::has_cause) {
            break;
        }
        let name = verdict.diffs[other].tensor.name.clone();
        let trials = Trials::new(machine.backend(), others, case, &name);
        verdict = formula_variant::explain(&trials, case, run, verdict, other);
    }
    verdict
}
