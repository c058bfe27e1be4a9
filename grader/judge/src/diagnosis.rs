//! Looks for the cause of a failing verdict by running the program again: which wrong formula, which part of it.

use crate::grade::{Machine, Program};
use crate::other_cases::OtherCases;
use crate::trials::Trials;
use crate::verdict::TestVerdict;
use crate::{formula_variant, intermediate};
use device::backend::Run;
use puzzle::case::Case;

/// Adds to a verdict what formula the program computes, and what part of it is wrong, where `others` confirm that.
pub fn diagnose(
    (machine, program): (&Machine, &Program),
    others: &OtherCases<'_>,
    (case, run): (&Case, &Run),
    verdict: TestVerdict,
) -> TestVerdict {
    // What comes of a run with mistakes is no formula, and has no single cause.
    if !verdict.findings.is_empty() {
        return verdict;
    }
    let Some(at) = formula_variant::first_cause(case, &verdict) else { return verdict };
    let name = verdict.diffs[at].tensor.name.clone();
    let trials = Trials::new(machine.backend(), others, case, &name);
    let verdict = formula_variant::explain(&trials, case, run, verdict, at);
    match machine {
        Machine::Vm(vm) => intermediate::explain(vm, program, &trials, case, verdict, at),
        // It runs on the virtual machine for this, wherever it ran before.
        Machine::Gpu(_) => match program.virtual_machine() {
            Ok(vm) => {
                let trials = Trials::new(&vm, others, case, &name);
                intermediate::explain(&vm, program, &trials, case, verdict, at)
            }
            Err(_) => verdict,
        },
        Machine::Host(_) => verdict,
    }
}
