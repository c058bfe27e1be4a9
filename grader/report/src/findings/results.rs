//! Results that are not as the spec requires.

use super::super::number::{number, pair};
use device::finding::{Element, Place, Problem};
use ptxvm::finding::Words;
use puzzle::relation::Relation;

pub(super) fn not_repeatable(place: &Element, [first, other]: [f64; 2]) -> Words {
    let (first, other) = if first == other {
        (format!("{first:?}"), format!("{other:?}")) // 0 and -0
    } else {
        pair(first, other)
    };
    let name = place.name();
    Words::new(format!("{name} was {first} after one run and {other} after another, on the same data"))
        .help("the bits must be the same at every run, whatever order blocks and warps run in")
        .help("atomic additions of floats come in any order, and each order rounds otherwise: let one thread add them in a fixed order")
}

pub(super) fn unwritten(place: &Element) -> Words {
    Words::new(format!("{} was never written", place.name()))
}

pub(super) fn unmet(place: &Element, value: f64, relation: Relation, bound: f64) -> Words {
    let what = if place.shape.is_empty() { format!("`{}`", place.tensor) } else { place.name() };
    let (value, relation, bound) = (number(value), relation.words(), number(bound));
    Words::new(format!("{what} is {value}, and must be {relation} {bound}"))
}

pub(super) fn not_measurable(tensor: &str, message: &str) -> Words {
    Words::new(format!("`{tensor}` cannot be computed: {message}"))
        .help("the values that your function computed lead outside a tensor")
}

/// What is said of several elements with the same problem, where a finding counts elements.
pub(super) fn of_elements(problem: &Problem) -> Option<&'static str> {
    match problem {
        Problem::NotRepeatable { .. } => Some("differ"),
        Problem::Unwritten { .. } => Some("were never written"),
        Problem::UnmetRequirement { .. } => Some("are not as they must be"),
        _ => None,
    }
}
