//! A gate that was not kept.

use super::thousands;
use device::finding::FindingKind;

/// Title, label of the line that spends most, help.
pub(super) fn words(kind: &FindingKind) -> (String, String, Vec<String>) {
    let FindingKind::OverGate { counter, spent, bound, exact, of_line, about } = kind else {
        return (String::new(), String::new(), Vec::new());
    };
    let allowed = if *exact { "must be exactly" } else { "may be at most" };
    let title = format!(
        "the values are right, but the kernel takes {} {}; there {allowed} {}",
        thousands(*spent),
        counter.text(),
        thousands(*bound)
    );
    let label = format!("{} of them here", thousands(*of_line));
    (title, label, about.iter().cloned().collect())
}
