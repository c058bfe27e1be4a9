//! The elements of inputs that an element of the right formula is computed from.

use crate::evaluate::data::Values;
use crate::sized_formula::SizedFormula;
use crate::variants::machine::Machine;
use crate::variants::tree::Model;

/// An element of an input that another element is computed from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputElement {
    /// The name of its tensor.
    pub tensor: String,
    /// Its position in row-major order.
    pub flat: usize,
    /// It is computed with. One that is not only chooses: in a condition, as an index, or among others for the largest of them.
    pub computes: bool,
}

/// What an evaluation may take, in reads.
const BUDGET: u64 = 1_000_000;
/// An input is moved by so much of itself, and of 1.
const STEP: f64 = 1e-4;
/// Both ways it must move a result alike, up to this part; at a jump or a corner it does not.
const ALIKE: f64 = 0.1;
/// A result that moves by less than this part of itself does so by rounding.
const NOISE: f64 = 1e-10;

/// The elements of inputs that element `flat` of a tensor is computed from. `None` where that is too much work.
pub fn inputs(
    formula: &SizedFormula,
    known: &Values,
    tensor: &str,
    flat: usize,
) -> Option<Vec<InputElement>> {
    let model = Model::new(formula.program(), tensor, &|name| known.contains_key(name))?;
    let machine = Machine::new(&model, formula.dims(), known)?;
    machine.budget.set(BUDGET);
    let found = machine.inputs_of(flat)?.found;
    let named = |((tensor, flat), computes): ((usize, usize), bool)| InputElement {
        tensor: model.tensors[tensor].name.clone(),
        flat,
        computes,
    };
    Some(found.into_iter().map(named).collect())
}

/// How element `flat` of a tensor changes with an element of an input: the derivative, by small differences. `None` where it has none: at
/// a jump or a corner.
pub fn slope(
    formula: &SizedFormula,
    known: &Values,
    (tensor, flat): (&str, usize),
    input: &InputElement,
) -> Option<f64> {
    let model = Model::new(formula.program(), tensor, &|name| known.contains_key(name))?;
    let value = |known: &Values| {
        let machine = Machine::new(&model, formula.dims(), known)?;
        machine.budget.set(BUDGET);
        let mut value = f64::NAN;
        machine.elements(&[], std::iter::once(flat), |_, element| {
            value = element.value;
            true
        })?;
        Some(value)
    };
    let mut moved = known.clone();
    let was = *moved.get(&input.tensor)?.get(input.flat)?;
    let step = STEP * (1.0 + was.abs());
    let mut with = |by: f64| {
        *moved.get_mut(&input.tensor)?.get_mut(input.flat)? = was + by;
        value(&moved)
    };
    let (here, up, down) = (with(0.0)?, with(step)?, with(-step)?);
    let (rise, fall) = (up - here, here - down);
    let is_smooth = (rise - fall).abs() <= ALIKE * rise.abs() + NOISE * here.abs();
    let changes = rise.abs() > NOISE * here.abs();
    is_smooth.then(|| if changes { (up - down) / (2.0 * step) } else { 0.0 })
}
