//! What makes an instruction slow, in words.

use crate::number::{cell, ratio};
use ptxvm::Counts;
use puzzle::case::Case;
use puzzle::tensor::size_of;
use std::fmt::Write;

/// What makes an instruction slow.
pub(super) fn causes(counts: &Counts, case: Option<&Case>, total: &Counts) -> Vec<String> {
    let mut causes = Vec::new();
    let accesses = [
        (counts.load_requests, counts.load_sectors, counts.load_sectors_packed),
        (counts.store_requests, counts.store_sectors, counts.store_sectors_packed),
    ];
    for (requests, sectors, packed) in accesses {
        // A misaligned row costs one sector more: not worth a word.
        if requests == 0 || sectors < packed * 2 || sectors < packed + 2 * requests {
            continue;
        }
        let [is, least] = [sectors, packed].map(|count| cell(ratio(count, requests)));
        let mut text = format!("each warp touches {is} sectors where {least} would be enough");
        let most = counts.global_strides.most_frequent();
        if let Some((bytes, seen)) = most
            && bytes != 0
            && seen * 2 > counts.load_requests + counts.store_requests
        {
            write!(text, ":\n    neighbouring threads are {} apart", apart(bytes, case)).ok();
        }
        causes.push(text);
    }
    if counts.bank_conflicts >= counts.shared_requests && counts.shared_requests > 0 {
        let ways = cell(ratio(counts.shared_wavefronts, counts.shared_requests));
        let mut text = format!("bank conflicts, {ways} passes for each access");
        let most = counts.shared_strides.most_frequent();
        if let Some((bytes, seen)) = most
            && bytes % 4 == 0
            && seen * 2 > counts.shared_requests
        {
            let words = (bytes / 4).abs();
            write!(text, ":\n    neighbouring threads are {words} words apart").ok();
            if words % 32 == 0 {
                write!(text, "; pad the row to {}", words + 1).ok();
            }
        }
        causes.push(text);
    }
    // A guard parts a warp once; a branch in a loop does it over and over.
    if counts.divergent_branches * 4 > counts.branches
        && counts.divergent_branches * 50 > total.instructions()
    {
        let idle = 100 * counts.divergent_minority / counts.divergent_lanes.max(1);
        let (some, all) = (counts.divergent_branches, counts.branches);
        causes.push(format!(
            "{some} of {all} branches diverge,\n    \
             with {idle} % of the warp's lanes on the smaller side"
        ));
    }
    causes
}

/// A distance in elements, by the name of the dimension that alone has this size; in bytes, where the elements are not known.
fn apart(bytes: i64, case: Option<&Case>) -> String {
    let Some(case) = case else { return format!("{} bytes", bytes.abs()) };
    let size = case.tensors.first().map_or(1, |t| size_of(t.tensor.dtype) as i64);
    let alike = case.tensors.iter().all(|t| size_of(t.tensor.dtype) as i64 == size);
    if !alike || bytes % size != 0 {
        return format!("{} bytes", bytes.abs());
    }
    let elements = (bytes / size).abs();
    let mut equal = case.dims.iter().filter(|&(_, &dim)| i128::from(dim) == i128::from(elements));
    match (equal.next(), equal.next()) {
        (Some((name, _)), None) if elements > 1 => format!("{name} = {elements} elements"),
        _ => format!("{elements} elements"),
    }
}
