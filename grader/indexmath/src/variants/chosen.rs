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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::Formula;
    use crate::shape::TensorType;
    use std::collections::BTreeMap;

    #[test]
    fn positions_lead_to_values_and_elements() {
        let of = |ty| TensorType::parse(ty).unwrap();
        let tensors =
            BTreeMap::from([("x".to_owned(), of("f32[2, N]")), ("y".to_owned(), of("i32[N / 2]"))]);
        let text = "y[i] = argmax[p < 2, q < 2] x[p,2*i+q]";
        let formula = Formula::parse(text, &tensors).unwrap();
        let formula = formula.at(&BTreeMap::from([("N".to_owned(), 4)])).unwrap();
        let x = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        let known = Values::from([("x".to_owned(), x)]);
        let at = |flat, at| candidate(&formula, &known, ("y", flat), at);
        let found = |value, flat| Some(Candidate { value, element: Some(("x".to_owned(), flat)) });
        assert_eq!(at(1, 0), found(3.0, 2));
        assert_eq!(at(1, 2), found(7.0, 6));
        assert_eq!(at(1, 4), None);
        assert_eq!(at(1, -1), None);
    }
}
