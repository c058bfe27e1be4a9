//! The inputs of a case.

use crate::rng::Stream;
use crate::spec::{Data, DataKind, Test};
use crate::tensor::{Tensor, decode, encode};
use indexmath::Values;

/// All inputs of the formula, rounded to their types. `range` is the largest absolute value of random integers.
pub(super) fn draw(test: &Test, seed: u64, range: u32) -> Values {
    let one = |tensor: &Tensor| {
        let values = match &test.data[&tensor.name] {
            Data::Values(values) => values.clone(),
            Data::Kind(kind) => {
                let stream = Stream::new(seed, &test.name, &tensor.name);
                let values = make(*kind, tensor.len(), stream, range);
                decode(tensor.dtype, &encode(tensor.dtype, &values))
            }
        };
        (tensor.name.clone(), values)
    };
    test.inputs.iter().map(one).collect()
}

fn make(kind: DataKind, len: usize, mut stream: Stream, range: u32) -> Vec<f64> {
    match kind {
        DataKind::Integers => (0..len).map(|_| stream.integer(range)).collect(),
        DataKind::Normal => (0..len).map(|_| stream.normal()).collect(),
        DataKind::Ones => vec![1.0; len],
        DataKind::Zeros => vec![0.0; len],
        DataKind::Arange => (0..len).map(|i| i as f64).collect(),
        DataKind::ShuffledArange => stream.permutation(len as u32),
    }
}
