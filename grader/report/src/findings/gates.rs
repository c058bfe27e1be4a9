//! A gate that was not kept.

use ptxvm::finding::{Words, thousands};
use puzzle::counter::Counter;
use puzzle::relation::Relation;

pub(super) fn over(
    counter: Counter,
    tensor: Option<&str>,
    spent: u64,
    bound: u64,
    relation: Relation,
) -> Words {
    let what = tensor.map_or_else(|| counter.text().to_owned(), |name| counter.text_of(name));
    let must = if relation == Relation::AtMost { "may" } else { "must" };
    let allowed = format!("{must} be {}", relation.words());
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
