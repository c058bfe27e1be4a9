//! What the search of an `argmax` or `argmin` finds at one of its positions.

use crate::evaluate::data::Values;
use crate::sized_formula::SizedFormula;
use crate::variants::machine::Machine;
use crate::variants::tree::Model;

/// A value that a search for the largest or smallest goes through.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The value.
    pub value: f64,
    /// The element that it is, by tensor and position in row-major order, if it is a single one.
    pub element: Option<(String, usize)>,
}

/// What may be evaluated for a candidate, in reads.
const BUDGET: u64 = 100_000;

/// What element `flat` of a tensor names where its position is `at`; `None` if its formula is no `argmax` or `argmin`, or if nothing stands
/// at this position.
pub fn candidate(
    formula: &SizedFormula,
    known: &Values,
    (tensor, flat): (&str, usize),
    at: i64,
) -> Option<Candidate> {
    let model = Model::new(formula.program(), tensor, &|name| known.contains_key(name))?;
    let machine = Machine::new(&model, formula.dims(), known)?;
    machine.budget.set(BUDGET);
    let (value, element) = machine.candidate_of(flat, at)?;
    let element = element.map(|(tensor, flat)| (model.tensors[tensor].name.clone(), flat));
    Some(Candidate { value, element })
}
