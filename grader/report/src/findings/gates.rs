//! A gate that was not kept.

use ptxvm::finding::{Words, thousands};
use puzzle::counter::Counter;

pub(super) fn over(
    counter: Counter,
    tensor: Option<&str>,
    spent: u64,
    bound: u64,
    exact: bool,
) -> Words {
    let what = tensor.map_or_else(|| counter.text().to_owned(), |name| counter.text_of(name));
    let allowed = if exact { "must be exactly" } else { "may be at most" };
    Words::new(format!(
        "the values are right, but the kernel takes {} {}; there {allowed} {}",
        thousands(spent),
        what,
        thousands(bound)
    ))
}

/// The label of the line that spends most.
pub(super) fn at_line(spent: u64) -> String {
    format!("{} of them here", thousands(spent))
}
