//! The reductions whose values are kept: loops around one ask for the same value again and again, and so does one variant after
//! the other.

use std::borrow::Cow;

use crate::program::node::IndexId;
use crate::variants::code::Code;
use crate::variants::sites::{Site, sites};
use crate::variants::tree::Model;

/// A reduction of a part of the model.
pub(super) struct PartReduction {
    part: usize,
    address: usize,
    path: Vec<usize>,
    depends: Dependence,
}

/// The reductions of what stands in the place of a part's own code.
pub(super) struct OwnReductions {
    all: Vec<OwnReduction>,
    /// The indices that the code uses.
    uses: Vec<IndexId>,
}

struct OwnReduction {
    address: usize,
    depends: Dependence,
    /// The equal one of the model, as a position among all.
    equal: Option<usize>,
}

/// What the value of a reduction depends on.
struct Dependence {
    free: Vec<IndexId>,
    /// The parts that it reads.
    parts: Vec<usize>,
    /// It has the same value for several values of the indices around it.
    repeats: bool,
}

/// A place in a part, and the reductions of what stands there; `None` if they cannot be told apart by their indices.
pub(super) struct Replaced<'m> {
    pub part: usize,
    pub path: &'m [usize],
    pub own: Option<&'m OwnReductions>,
}

/// A reduction whose values are kept.
pub(super) struct Kept<'m> {
    /// Where its code is.
    pub address: usize,
    /// Its number in the memo.
    pub number: usize,
    /// The indices that it depends on.
    pub free: Cow<'m, [IndexId]>,
    /// Whether it has the value that it has in the right formula, and so for all evaluations.
    pub is_right: bool,
}

/// The reductions of all parts; `None` if they cannot be told apart by their indices. The codes must stay where they are.
pub(super) fn of_parts(
    model: &Model,
    bodies: &[Code],
    part_of: &[Option<usize>],
) -> Option<Vec<PartReduction>> {
    let mut all = Vec::new();
    for (part, body) in bodies.iter().enumerate() {
        for site in sites(body, &model.parts[part].axes)?.0 {
            all.push(PartReduction {
                part,
                address: address(site.code),
                path: site.path.clone(),
                depends: Dependence::of(site, part_of),
            });
        }
    }
    Some(all)
}

impl OwnReductions {
    /// Those of `code`, which must stay where it is, at `path` in the code of a part with these `axes`.
    pub(super) fn of(
        code: &Code,
        (axes, path): (&[IndexId], &[usize]),
        (part, bodies, part_of): (usize, &[Code], &[Option<usize>]),
        reductions: &[PartReduction],
    ) -> Option<Self> {
        let mut scope = axes.to_vec();
        let mut outer = &bodies[part];
        for &step in path {
            if let Code::Reduce(_, ranges, _) = outer {
                scope.extend(ranges.iter().map(|range| range.index));
            }
            outer = outer.children().get(step).copied()?;
        }
        let equal = |site: &Site| {
            reductions.iter().position(|other| {
                other.depends.free == site.free
                    && bodies[other.part].at(&other.path) == Some(site.code)
            })
        };
        let own = |site: Site| OwnReduction {
            address: address(site.code),
            equal: equal(&site),
            depends: Dependence::of(site, part_of),
        };
        let (sites, uses) = sites(code, &scope)?;
        Some(Self { all: sites.into_iter().map(own).collect(), uses })
    }
}

/// The reductions whose values are worth keeping, where the parts that are `affected` are not what they are in the right formula.
/// `None` if some cannot be told apart by their indices.
pub(super) fn kept<'m>(
    reductions: &'m [PartReduction],
    replaced: &[Replaced<'m>],
    affected: &[bool],
) -> Option<Vec<Kept<'m>>> {
    let mut kept = Vec::new();
    for (number, PartReduction { part, address, path, depends }) in reductions.iter().enumerate() {
        let inside: Vec<&Replaced<'_>> = replaced
            .iter()
            .filter(|other| other.part == *part && other.path.starts_with(path))
            .collect();
        let is_right = inside.is_empty() && !depends.is_affected(affected);
        if is_right || depends.repeats {
            let mut free = Cow::Borrowed(&depends.free[..]);
            for other in inside {
                free.to_mut().extend(&other.own?.uses);
            }
            kept.push(Kept { address: *address, number, free, is_right });
        }
    }
    let mut next = reductions.len();
    for other in replaced {
        for OwnReduction { address, depends, equal } in &other.own?.all {
            let equal = equal.filter(|_| !depends.is_affected(affected));
            if equal.is_some() || depends.repeats {
                let (number, is_right) = (equal.unwrap_or(next), equal.is_some());
                let free = Cow::Borrowed(&depends.free[..]);
                kept.push(Kept { address: *address, number, free, is_right });
            }
            next += 1;
        }
    }
    Some(kept)
}

pub(super) fn address(code: &Code) -> usize {
    std::ptr::from_ref(code).addr()
}

impl Dependence {
    fn of(site: Site<'_>, part_of: &[Option<usize>]) -> Self {
        let parts = site.reads.iter().filter_map(|&tensor| part_of[tensor]).collect();
        Self { free: site.free, parts, repeats: site.repeats }
    }

    fn is_affected(&self, affected: &[bool]) -> bool {
        self.parts.iter().any(|&part| affected[part])
    }
}
