//! Is what a function gave good enough, where the formula does not say what it is?

use crate::verdict::Picture;
use device::backend::{Run, RunTensor};
use device::finding::{Element, Finding, Problem};
use indexmath::Values;
use puzzle::case::{Case, CaseLaunch, CasePicture, CaseRequirement, Measured, Role};
use puzzle::tensor::Tensor;

/// A finding for a result with elements that were never written.
pub(super) fn unwritten(
    tensor: &Tensor,
    got: &RunTensor,
    launch: Option<&CaseLaunch>,
) -> Option<Finding> {
    let mut missing = (0..got.written.len()).filter(|&flat| !got.written[flat]);
    let first = missing.next()?;
    let problem = Problem::Unwritten { place: place(tensor, first) };
    let kernel = launch.map_or("", |launch| &launch.kernel);
    Some(Finding { count: 1 + missing.count() as u64, ..Finding::of_kernel(problem, kernel) })
}

/// A finding for each requirement that does not hold.
pub(super) fn unmet(case: &Case, run: &Run) -> Vec<Finding> {
    if case.requirements.is_empty() {
        return Vec::new();
    }
    let mut results = Results::of(case, run);
    case.requirements.iter().filter_map(|required| results.judge(required)).collect()
}

/// What is to be drawn of a run, as far as there is something.
pub fn pictures(case: &Case, run: &Run) -> Vec<Picture> {
    if case.pictures.is_empty() {
        return Vec::new();
    }
    let mut results = Results::of(case, run);
    let mut pictures = Vec::new();
    for CasePicture { of, style } in &case.pictures {
        if let Ok(values) = results.measure(of)
            && values.iter().any(|value| value.is_finite())
        {
            let (style, tensor, values) = (style.clone(), of.tensor.clone(), values.to_vec());
            pictures.push(Picture { style, tensor, values });
        }
    }
    pictures
}

/// What a run gave, and what the formula makes of it.
struct Results<'a> {
    case: &'a Case,
    values: Values,
}

impl<'a> Results<'a> {
    fn of(case: &'a Case, run: &Run) -> Self {
        let mut values = case.known.clone();
        for (tensor, got) in case.tensors.iter().zip(&run.tensors) {
            if matches!(tensor.role, Role::Result) {
                let written = got.values.iter().zip(&got.written);
                let seen = written.map(|(&v, &written)| if written { v } else { f64::NAN });
                values.insert(tensor.tensor.name.clone(), seen.collect());
            }
        }
        Self { case, values }
    }

    /// Each statement of the formula is computed exactly from the values of those before it: there is no rounding to
    /// allow for, and no tie that is left open.
    fn measure(&mut self, of: &Measured) -> Result<&[f64], indexmath::Error> {
        for step in &of.steps {
            if !self.values.contains_key(step) {
                let mut computed = self.case.formula.evaluate(&self.values, &[step])?;
                let elements = computed.remove(step).unwrap_or_default();
                self.values.insert(step.clone(), elements.iter().map(|a| a.value).collect());
            }
        }
        Ok(self.values.get(&of.tensor.name).map(Vec::as_slice).unwrap_or_default())
    }

    fn judge(&mut self, required: &CaseRequirement) -> Option<Finding> {
        let CaseRequirement { of, relation, bound, about } = required;
        let kernel = self.case.launches.last().map_or("", |launch| &launch.kernel);
        let finding =
            |problem, count| Some(Finding { count, ..Finding::of_kernel(problem, kernel) });
        let measured = match self.measure(of) {
            Ok(measured) => measured,
            Err(error) => {
                let (tensor, message) = (of.tensor.name.clone(), error.message);
                return finding(Problem::NotMeasurable { tensor, message }, 1);
            }
        };
        let value = |flat: usize| measured.get(flat).copied().unwrap_or(f64::NAN);
        let mut short = (0..of.tensor.len()).filter(|&flat| !relation.holds(value(flat), *bound));
        let first = short.next()?;
        let problem = Problem::UnmetRequirement {
            place: place(&of.tensor, first),
            value: value(first),
            relation: *relation,
            bound: *bound,
            about: about.clone(),
        };
        finding(problem, 1 + short.count() as u64)
    }
}

fn place(tensor: &Tensor, flat: usize) -> Element {
    Element::of(tensor, flat as i64)
}
