//! The inputs of a case.

use crate::rng::Stream;
use digits::{Digit, SIDE, Writer};
use indexmath::Values;
use spec::{Data, DataKind, Test};
use tensor::{DType, Tensor, decode, encode};

/// Draws all inputs of the formula, rounded to their types. `range` is the largest absolute value of random integers
/// for which the spec gives no range.
pub(super) fn draw(test: &Test, seed: u64, range: u32) -> Values {
    let one = |tensor: &Tensor| {
        let values = match &test.data[&tensor.name] {
            Data::Values(values) => values.clone(),
            Data::Kind(kind) => {
                // Digits and their labels are two tensors, but one draw.
                let whose = match kind {
                    DataKind::Digits { .. } | DataKind::DigitLabels { .. } => "digits",
                    _ => &tensor.name,
                };
                let stream = Stream::new(seed, &test.name, whose);
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
        // A byte has no sign.
        DataKind::Integers if tensor.dtype == DType::U8 => drawn(&|s| s.integer(range).abs()),
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
        DataKind::Digits { skip } => {
            let full = if tensor.dtype.is_float() { 255.0 } else { 1.0 };
            let digits = write(&mut stream, skip, len / (SIDE * SIDE));
            digits.flat_map(|d| d.pixels).map(|pixel| f64::from(pixel) / full).collect()
        }
        DataKind::DigitLabels { skip } if !tensor.dtype.is_float() => {
            write(&mut stream, skip, len).map(|d| f64::from(d.label)).collect()
        }
        DataKind::DigitLabels { skip } => write(&mut stream, skip, len / 10)
            .flat_map(|d| (0..10).map(move |class| f64::from(u8::from(class == d.label))))
            .collect(),
    }
}

fn write(stream: &mut Stream, skip: u32, count: usize) -> impl Iterator<Item = Digit> {
    let seed = u64::from(stream.below(u32::MAX));
    Writer::new(seed).skip(skip as usize).take(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(kind: DataKind, dtype: DType, shape: &[usize]) -> Vec<f64> {
        let tensor = Tensor { name: "x".into(), dtype, shape: shape.to_vec() };
        make(kind, &tensor, Stream::new(5, "test", "digits"), 9)
    }

    #[test]
    fn digits_and_labels_belong_together_in_every_form() {
        let bytes = drawn(DataKind::Digits { skip: 2 }, DType::I32, &[4, 784]);
        let pixels = drawn(DataKind::Digits { skip: 2 }, DType::F32, &[4, 1, 28, 28]);
        assert!(bytes.iter().zip(&pixels).all(|(byte, pixel)| byte / 255.0 == *pixel));
        let classes = drawn(DataKind::DigitLabels { skip: 2 }, DType::I32, &[4]);
        let one_hot = drawn(DataKind::DigitLabels { skip: 2 }, DType::F32, &[4, 10]);
        for (row, &class) in one_hot.chunks(10).zip(&classes) {
            assert_eq!((row.iter().sum::<f64>(), row[class as usize]), (1.0, 1.0));
        }
        let all = drawn(DataKind::Digits { skip: 0 }, DType::I32, &[6, 28, 28]);
        assert_eq!(all[2 * SIDE * SIDE..], bytes);
    }
}
