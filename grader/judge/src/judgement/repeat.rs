//! Did a second run give the same bits?

use device::backend::RunTensor;
use device::finding::{Element, Finding, Problem};
use puzzle::case::{Case, CaseTensor, last_launch_with};

/// A finding for each tensor that must be bit-equal and is not. One NaN is as good as another.
pub fn repeated(case: &Case, first: &[RunTensor], again: &[RunTensor]) -> Vec<Finding> {
    let finding = |&index: &usize| {
        let (CaseTensor { tensor, .. }, first, again) =
            (case.tensors.get(index)?, first.get(index)?, again.get(index)?);
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        let pairs = first.values.iter().zip(&again.values).enumerate();
        let mut differing = pairs.filter(|(_, (a, b))| !same(**a, **b));
        let (flat, (&before, &after)) = differing.next()?;
        let place = Element::of(tensor, flat as i64);
        let problem = Problem::NotRepeatable { place, values: [before, after] };
        let kernel = last_launch_with(&case.launches, index).map_or("", |launch| &launch.kernel);
        Some(Finding { count: 1 + differing.count() as u64, ..Finding::of_kernel(problem, kernel) })
    };
    case.bit_equal.iter().filter_map(finding).collect()
}
