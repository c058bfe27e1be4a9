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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::Formula;
    use crate::shape::TensorType;
    use std::collections::BTreeMap;

    fn branches_of(text: &str, x: [f64; 3]) -> Vec<Vec<Branch>> {
        let of = |ty| TensorType::parse(ty).unwrap();
        let tensors =
            BTreeMap::from([("x".to_owned(), of("f32[N]")), ("y".to_owned(), of("f32[N]"))]);
        let formula = Formula::parse(text, &tensors).unwrap();
        let formula = formula.at(&BTreeMap::from([("N".to_owned(), 3)])).unwrap();
        branches(&formula, &Values::from([("x".to_owned(), x.to_vec())]), "y", &[0, 1, 2])
    }

    #[test]
    fn both_branches_and_the_comparisons_are_known() {
        let found =
            branches_of("y[i] = select(x[i] > 0 and x[i] < 2, 3 * x[i], -1)", [1.0, 2.0, -1.0]);
        let [inside, at_the_end, before] = &found[..] else { panic!("{found:?}") };
        let [branch] = &inside[..] else { panic!("{inside:?}") };
        assert!(branch.holds && branch.needs_all && branch.other == -1.0);
        let texts: Vec<&str> = branch.comparisons.iter().map(|c| c.text.as_str()).collect();
        assert_eq!(texts, ["`x[i] > 0`", "`x[i] < 2`"]);
        let [branch] = &at_the_end[..] else { panic!("{at_the_end:?}") };
        assert!(!branch.holds && branch.other == 6.0);
        let holds: Vec<bool> = branch.comparisons.iter().map(|c| c.holds).collect();
        assert_eq!(holds, [true, false]);
        assert_eq!(branch.comparisons[1].ordering, Some(Ordering::Equal));
        assert_eq!(before[0].other, -3.0);
    }

    #[test]
    fn a_branch_may_have_branches() {
        let found = branches_of(
            "y[i] = select(x[i] == 0, 5, select(x[i] < 0 or x[i] > 9, 6, 7))",
            [0.0, -1.0, 3.0],
        );
        let others: Vec<Vec<f64>> =
            found.iter().map(|all| all.iter().map(|branch| branch.other).collect()).collect();
        assert_eq!(others, [vec![7.0], vec![5.0, 7.0], vec![5.0, 6.0]]);
        assert!(!found[1][1].needs_all && found[1][1].holds);
    }

    #[test]
    fn mixed_conditions_are_left_out() {
        let found =
            branches_of("y[i] = select(x[i] > 0 and x[i] < 2 or x[i] == 7, 1, 0)", [1.0; 3]);
        assert_eq!(found, [vec![], vec![], vec![]]);
    }
}
