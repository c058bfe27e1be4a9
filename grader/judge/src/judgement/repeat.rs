//! Did a second run give the same bits?

use device::backend::RunTensor;
use device::finding::{Finding, FindingKind, Place};
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
        let place =
            Place { tensor: tensor.name.clone(), shape: tensor.shape.clone(), flat: flat as i64 };
        let kernel = last_launch_with(&case.launches, index).map(|launch| launch.kernel.clone());
        Some(Finding {
            kind: FindingKind::NotRepeatable { place, values: [before, after] },
            kernel: kernel.unwrap_or_default(),
            line: None,
            thread: None,
            count: 1 + differing.count() as u64,
        })
    };
    case.bit_equal.iter().filter_map(finding).collect()
}
