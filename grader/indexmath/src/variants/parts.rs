//! What an element is computed from: the values of the formula's parts, each of which a kernel may have computed wrongly.

use crate::evaluate::data::Values;
use crate::sized_formula::SizedFormula;
use crate::variants::machine::Machine;
use crate::variants::tree::{Model, Tree};

/// A part of the formula of an element: a tensor's element that it is computed from, or a reduction.
#[derive(Clone, Debug, PartialEq)]
pub struct PartValue {
    /// The part as the formula has it: `mean[r]`, the same for all elements.
    pub text: String,
    /// What the kernel should have computed for it.
    pub value: f64,
}

/// What is evaluated for all parts of an element, in reads.
const BUDGET: u64 = 400_000;
/// Parts of an element, at most.
const MOST: usize = 24;

/// The parts of element `flat` of a tensor that do not change within a reduction, the innermost first. The element itself is none.
pub fn parts(formula: &SizedFormula, known: &Values, tensor: &str, flat: usize) -> Vec<PartValue> {
    let Some(model) = Model::new(formula.program(), tensor, &|name| known.contains_key(name))
    else {
        return Vec::new();
    };
    let Some(machine) = Machine::new(&model, formula.dims(), known) else { return Vec::new() };
    machine.budget.set(BUDGET);
    let mut found: Vec<PartValue> = Vec::new();
    let all = machine.values_of(flat, &|tree| matches!(tree, Tree::Read(_) | Tree::Reduce(..)));
    for (tree, value) in all {
        let text = model.text(tree);
        // Of the same text for two elements, as in a convolution, it is not clear which is meant.
        if !found.iter().any(|part| part.text == text) {
            found.push(PartValue { text, value });
        }
    }
    found.truncate(MOST);
    found
}
