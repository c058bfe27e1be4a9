//! Looks for the cause of a failing verdict by running the program again: which wrong formula, which part of it.

use crate::grade::{Machine, Program};
use crate::other_cases::OtherCases;
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
    let verdict = formula_variant::explain(machine.backend(), others, case, run, verdict);
    intermediate::explain(machine, program, others, case, verdict)
}
