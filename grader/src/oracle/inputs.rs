//! The inputs of a case.

use crate::rng::Stream;
use crate::spec::{Data, DataKind, Test};
use crate::tensor::{Tensor, decode, encode};
use indexmath::Values;

/// All inputs of the formula, rounded to their types. `range` is the largest absolute value of random integers whose
/// range the spec leaves open.
pub(super) fn draw(test: &Test, seed: u64, range: u32) -> Values {
    let one = |tensor: &Tensor| {
        let values = match &test.data[&tensor.name] {
            Data::Values(values) => values.clone(),
            Data::Kind(kind) => {
                let stream = Stream::new(seed, &test.name, &tensor.name);
                let values = make(*kind, tensor, stream, range);
                decode(tensor.dtype, &encode(tensor.dtype, &values))
            }
        };
        (tensor.name.clone(), values)
    };
    test.inputs.iter().map(one).collect()
}

fn make(kind: DataKind, tensor: &Tensor, mut stream: Stream, range: u32) -> Vec<f64> {
    let len = tensor.len();
    let mut drawn =
        |draw: &dyn Fn(&mut Stream) -> f64| (0..len).map(|_| draw(&mut stream)).collect();
    match kind {
        DataKind::Integers => drawn(&|s| s.integer(range)),
        DataKind::IntegersIn { min, max } => drawn(&|s| s.between(min, max)),
        DataKind::Normal { scale, shift } => drawn(&|s| shift + scale * s.normal()),
        DataKind::Ones => vec![1.0; len],
        DataKind::Zeros => vec![0.0; len],
        DataKind::Arange => (0..len).map(|i| i as f64).collect(),
        DataKind::ShuffledArange => stream.permutation(len as u32),
        DataKind::OneHot => {
            let row = tensor.shape.last().copied().unwrap_or(1);
            let rows = (0..len / row).flat_map(|_| {
                let hot = stream.below(row as u32) as usize;
                (0..row).map(move |i| if i == hot { 1.0 } else { 0.0 })
            });
            rows.collect()
        }
    }
}
