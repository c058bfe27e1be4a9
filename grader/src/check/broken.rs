//! Checks that the kernels which a stub gives with mistakes are flagged for them.

use judge::verdict::TestVerdict;
use puzzle::spec::Broken;
use std::collections::BTreeSet;

/// The broken kernels that no test flags with the finding that the spec names, with what the tests say instead.
pub fn unflagged(broken: &[Broken], verdicts: &[TestVerdict]) -> Vec<String> {
    let problem = |Broken { kernel, finding }: &Broken| {
        let found: BTreeSet<&str> = verdicts
            .iter()
            .flat_map(|verdict| &verdict.findings)
            .filter(|found| found.kernel == *kernel)
            .map(|found| found.problem.name())
            .collect();
        if found.contains(finding.as_str()) {
            return None;
        }
        let instead = if found.is_empty() {
            "no test has a finding of it".to_owned()
        } else {
            format!("the tests find {}", found.into_iter().collect::<Vec<_>>().join(", "))
        };
        Some(format!("the stub's {kernel} is not flagged as {finding}: {instead}"))
    };
    broken.iter().filter_map(problem).collect()
}
