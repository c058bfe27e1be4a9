//! Which value of a run, if another stood in its place, would give another result? "Value replacement" locates faults so
//! (Jeffrey, Gupta and Gupta, ISSTA 2008).

use super::Provenance;
use super::arena::{LocationId, Node};
use super::slice::{Instead, Rule, StoredElement};
use crate::memory::buffer::BufferId;
use crate::source_loc::SourceLoc;
use std::collections::BTreeMap;

/// Values that an element is computed from, at most: each of them is replaced in turn.
const MAX_VALUES: usize = 6_000;
/// Functions that round.
const ROUNDINGS: [&str; 9] =
    ["f16", "f16 bits", "bf16", "bf16 bits", "int", "trunc", "floor", "ceil", "round"];

/// A value that something else was put in the place of.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplacedValue {
    /// The value that was replaced.
    pub value: f64,
    /// The line that computed it; unknown of a sum.
    pub loc: Option<SourceLoc>,
}

/// A rounding on the way to an element.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundedOnTheWay {
    /// What the value became: a float of 16 bits (`f16`, `bf16`), else a whole number.
    pub to: &'static str,
    /// The value before and after it.
    pub values: (f64, f64),
    /// The line of the rounding.
    pub loc: Option<SourceLoc>,
}

impl Provenance {
    /// For each number of `instead`: the values behind an element of a named tensor which, if they had been that, would have made it one
    /// for which `is_right` holds, in the order in which they were computed. Empty where the element was not followed or was computed from too much.
    pub fn replaceable(
        &self,
        element: StoredElement<'_>,
        instead: &[f64],
        is_right: &dyn Fn(f64) -> bool,
    ) -> Vec<Vec<ReplacedValue>> {
        let Some(slice) = self.slice(element, MAX_VALUES) else {
            return vec![Vec::new(); instead.len()];
        };
        let candidates = (0..slice.nodes.len().saturating_sub(1)).filter_map(|at| {
            let place = match self.arena.get(slice.nodes[at]) {
                // The last addition of a sum tells nothing of where the sum went wrong.
                Node::Add(..) => 0,
                Node::Mul(_, _, place) | Node::Function(_, _, place) | Node::Opaque(_, place) => {
                    place
                }
                _ => return None,
            };
            Some((at, place))
        });
        let candidates: Vec<(usize, LocationId)> = candidates.collect();
        let unchanged = slice.unchanged();
        let right = |at: usize, value: f64| {
            let own = |other| (other == at).then_some(Instead::Value(value));
            is_right(slice.with(&unchanged, at, own))
        };
        let fitting = |&instead: &f64| {
            // Where any value would do, this one says nothing.
            let another = if instead == 0.0 { 1.0 } else { 1.5 * instead };
            let fits =
                candidates.iter().filter(|(at, _)| right(*at, instead) && !right(*at, another));
            fits.map(|&(at, place)| ReplacedValue { value: slice.values[at], loc: self.loc(place) })
                .collect()
        };
        instead.iter().map(fitting).collect()
    }

    /// The roundings behind an element without which it would have been one for which `is_right` holds: those of one line, or else all.
    /// Empty if there are none.
    pub fn roundings(
        &self,
        element: StoredElement<'_>,
        is_right: &dyn Fn(f64) -> bool,
    ) -> Vec<RoundedOnTheWay> {
        let Some(slice) = self.slice(element, MAX_VALUES) else {
            return Vec::new();
        };
        let rounding = |at: usize| match (&slice.rules[at], self.arena.get(slice.nodes[at])) {
            (
                Rule::Function(to, [from, _]),
                Node::Function(.., place) | Node::Rounded(.., place),
            ) if ROUNDINGS.contains(to) => Some((at, (*from, *to, place))),
            _ => None,
        };
        // What one has rounded may come to the next as it is, which without the first would round it.
        let all: BTreeMap<usize, _> = (0..slice.rules.len()).filter_map(rounding).collect();
        let unchanged = slice.unchanged();
        let without = |some: &dyn Fn(LocationId) -> bool| {
            is_right(slice.with(&unchanged, 0, |at| {
                let (from, ..) = all.get(&at).filter(|(.., place)| some(*place))?;
                Some(Instead::Of(*from))
            }))
        };
        let changes = |(at, (from, ..)): &(&usize, &(usize, &str, LocationId))| {
            slice.values[**at] != slice.values[*from]
        };
        let mut places: Vec<LocationId> = Vec::new();
        for (_, (.., place)) in all.iter().filter(changes) {
            if !places.contains(place) {
                places.push(*place);
            }
        }
        let blamed: Vec<LocationId> =
            match places.iter().find(|&&place| without(&|other| other == place)) {
                Some(&one) => vec![one],
                // A value that overflows at one of them stays so at the next, which would round it, too.
                None if without(&|_| true) => places,
                None => Vec::new(),
            };
        let first = |place: LocationId| {
            let (at, (from, to, _)) =
                all.iter().filter(changes).find(|(_, (.., other))| *other == place)?;
            let values = (slice.values[*from], slice.values[*at]);
            Some(RoundedOnTheWay { to, values, loc: self.loc(place) })
        };
        blamed.into_iter().filter_map(first).collect()
    }

    /// The elements of tensors behind an element that are NaN or infinite, and each of which makes it wrong: with 0 in the place of all of
    /// them it would have been one for which `is_right` holds, and without one of them it is not. An element is
    /// named by its buffer and byte.
    pub fn not_finite(
        &self,
        element: StoredElement<'_>,
        is_right: &dyn Fn(f64) -> bool,
    ) -> Vec<(BufferId, i64)> {
        let Some(slice) = self.slice(element, MAX_VALUES) else {
            return Vec::new();
        };
        let all: Vec<(usize, (BufferId, i64))> = (0..slice.nodes.len())
            .filter(|&at| !slice.values[at].is_finite())
            .filter_map(|at| match self.arena.get(slice.nodes[at]) {
                Node::Element(buffer, byte, _) => Some((at, (BufferId(buffer), byte))),
                _ => None,
            })
            .collect();
        let unchanged = slice.unchanged();
        let right_with_all_but = |one: Option<usize>| {
            let zero = |at: usize| all.iter().any(|(other, _)| *other == at) && one != Some(at);
            is_right(slice.with(&unchanged, 0, |at| zero(at).then_some(Instead::Value(0.0))))
        };
        if all.is_empty() || !right_with_all_but(None) {
            return Vec::new();
        }
        let to_blame = all.iter().filter(|(at, _)| !right_with_all_but(Some(*at)));
        to_blame.map(|(_, element)| *element).collect()
    }
}
