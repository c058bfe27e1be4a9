//! The branches by which the right formula comes to the value of an element: which of a `select` is taken, for what comparisons, and
//! what the other one would give.

use crate::evaluate::data::Values;
use crate::sized_formula::SizedFormula;
use crate::syntax::operators::{Comparison, Condition, Connective};
use crate::variants::machine::{Machine, Selected};
use crate::variants::tree::{Model, Tree};
use std::cmp::Ordering;

/// A `select` on the way to an element.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// Whether its condition holds.
    pub holds: bool,
    /// The element's value, had the other branch been taken.
    pub other: f64,
    /// The other branch in backticks, if it is an element of a tensor.
    pub other_read: Option<String>,
    /// Whether all comparisons must hold, and not any of them.
    pub needs_all: bool,
    /// The comparisons of the condition, left to right.
    pub comparisons: Vec<Compared>,
}

/// A comparison of a condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// As the formula has it, in backticks, the same for all elements.
    pub text: String,
    /// Whether it holds.
    pub holds: bool,
    /// The left value compared with the right one; `None` if one is NaN.
    pub ordering: Option<Ordering>,
}

/// What may be evaluated for an element, in reads.
const BUDGET: u64 = 400_000;

/// The branches on the way to each of the elements `flats` of a tensor, the outermost first: of a statement that is a `select`, and of what
/// it selects. Conditions that join comparisons by both `and` and `or` are left out.
pub fn branches(
    formula: &SizedFormula,
    known: &Values,
    tensor: &str,
    flats: &[usize],
) -> Vec<Vec<Branch>> {
    let model = Model::new(formula.program(), tensor, &|name| known.contains_key(name));
    let Some(model) = model else { return Vec::new() };
    let Some(machine) = Machine::new(&model, formula.dims(), known) else { return Vec::new() };
    let of = |&flat: &usize| {
        machine.budget.set(BUDGET);
        let selects = machine.selects_of(flat);
        selects.into_iter().filter_map(|select| branch(&model, &select)).collect()
    };
    flats.iter().map(of).collect()
}

fn branch(model: &Model, select: &Selected<'_>) -> Option<Branch> {
    let mut joined = None;
    let mut found = Vec::new();
    comparisons(select.condition, &mut joined, &mut found)?;
    let compared = |(&(comparison, left, right), values): (&(Comparison, _, _), &[f64])| {
        let (a, b) = (*values.first()?, *values.get(1)?);
        let text = model.comparison_text(comparison, left, right);
        Some(Compared { text, holds: comparison.holds(a, b), ordering: a.partial_cmp(&b) })
    };
    let comparisons = found.iter().zip(select.compared.chunks(2)).map(compared);
    Some(Branch {
        holds: select.holds,
        other: select.other.1,
        other_read: matches!(select.other.0, Tree::Read(_)).then(|| model.text(select.other.0)),
        needs_all: joined != Some(Connective::Or),
        comparisons: comparisons.collect::<Option<_>>()?,
    })
}

/// The comparisons of a condition, left to right; `None` if they are not all joined by the same connective.
fn comparisons<'t>(
    condition: &'t Condition<Tree>,
    joined: &mut Option<Connective>,
    found: &mut Vec<(Comparison, &'t Tree, &'t Tree)>,
) -> Option<()> {
    match condition {
        Condition::Compare(comparison, left, right) => found.push((*comparison, left, right)),
        Condition::Join(connective, left, right) => {
            if *joined.get_or_insert(*connective) != *connective {
                return None;
            }
            comparisons(left, joined, found)?;
            comparisons(right, joined, found)?;
        }
    }
    Some(())
}
