//! Is what a function gave good enough, where the formula does not say what it is?

use crate::verdict::Picture;
use device::backend::{Run, RunTensor};
use device::finding::{Element, Finding, Problem};
use indexmath::Values;
use puzzle::case::{Case, CaseLaunch, CasePicture, CaseRequirement, CaseTensor, Measured, Role};
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

/// Of so many first coordinates each is looked at by itself.
const MOST_PARTS: usize = 4;
/// Of a measure that is computed from more results than this, none of them is named.
const MOST_RESULTS: usize = 8;
/// So many elements are hardly the same by chance.
const LEAST_SAME: usize = 16;

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

    /// The first part of a result, from which a tensor is computed, whose elements are all the same.
    fn same_elements(&self, tensor: &str) -> Option<(String, f64)> {
        let sources = self.case.formula.sources(tensor);
        let is_result = |other: &&CaseTensor| matches!(other.role, Role::Result);
        let results = self.case.tensors.iter().filter(is_result).map(|other| &other.tensor);
        let results: Vec<&Tensor> =
            results.filter(|result| sources.contains(&result.name)).collect();
        // What is computed from all that there is follows from none of it alone.
        let few = Some(&results).filter(|results| results.len() <= MOST_RESULTS)?;
        few.iter().find_map(|result| same_part(result, self.values.get(&result.name)?))
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
        let (value, count) = (value(first), 1 + short.count() as u64);
        let problem = Problem::UnmetRequirement {
            place: place(&of.tensor, first),
            value,
            relation: *relation,
            bound: *bound,
            about: about.clone(),
            same: self.same_elements(&of.tensor.name),
        };
        finding(problem, count)
    }
}

/// The first part of a tensor whose elements are all the same, and their value: the whole, or all that it has for one of a few first
/// coordinates.
fn same_part(tensor: &Tensor, values: &[f64]) -> Option<(String, f64)> {
    let parts = match tensor.shape[..] {
        [parts @ 1..=MOST_PARTS, _, ..] => parts,
        _ => 1,
    };
    let size = (values.len() / parts).max(1);
    let is_one = |part: &[f64]| part.len() >= LEAST_SAME && part.iter().all(|v| *v == part[0]);
    let (at, part) = values.chunks(size).enumerate().find(|(_, part)| is_one(part))?;
    let name = match parts {
        1 => tensor.name.clone(),
        _ => format!("{}[{at}{}]", tensor.name, ", *".repeat(tensor.shape.len() - 1)),
    };
    Some((name, part[0]))
}

fn place(tensor: &Tensor, flat: usize) -> Element {
    Element::of(tensor, flat as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use puzzle::tensor::DType;

    #[test]
    fn a_part_of_one_number_is_named() {
        let of = |shape: &[usize], values: &[f64]| {
            let tensor = Tensor { name: "w".into(), dtype: DType::F32, shape: shape.into() };
            same_part(&tensor, values)
        };
        let mut values = vec![0.5; 32];
        assert_eq!(of(&[32], &values), Some(("w".into(), 0.5)));
        values[3] = 1.0;
        assert_eq!(of(&[32], &values), None);
        assert_eq!(of(&[2, 16], &values), Some(("w[1, *]".into(), 0.5)));
        assert_eq!(of(&[8, 4], &values), None, "many first coordinates");
        assert_eq!(of(&[4], &[0.0; 4]), None, "a few are the same by chance");
    }
}
