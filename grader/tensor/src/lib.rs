//! A tensor's name, element type and shape, and the conversion between values, bytes and coordinates.

use half::{bf16, f16};
pub use indexmath::DType;

/// Name, element type and sizes of a row-major tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// The name as in the spec, such as `filters` or `grad(input)`.
    pub name: String,
    /// The type of the elements.
    pub dtype: DType,
    /// The sizes of the axes, outermost first.
    pub shape: Vec<usize>,
}

impl Tensor {
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the tensor has no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The size of all elements in bytes.
    pub fn bytes(&self) -> usize {
        self.len() * size_of(self.dtype)
    }

    /// The coordinates of the element with row-major index `flat`.
    pub fn coords(&self, flat: usize) -> Vec<usize> {
        coords(&self.shape, flat)
    }

    /// The row-major index of the element at `coords`; `None` if a coordinate is out of range.
    pub fn flat(&self, coords: &[i64]) -> Option<usize> {
        if coords.len() != self.shape.len() {
            return None;
        }
        let mut flat = 0;
        for (&coord, &size) in coords.iter().zip(&self.shape) {
            let coord = usize::try_from(coord).ok().filter(|&c| c < size)?;
            flat = flat * size + coord;
        }
        Some(flat)
    }

    /// The element with row-major index `flat` as reports write it, such as `grad(input)[0, 0, 2, 1]`.
    pub fn element_name(&self, flat: usize) -> String {
        element_name(&self.name, &self.shape, flat)
    }
}

fn coords(shape: &[usize], flat: usize) -> Vec<usize> {
    let mut rest = flat;
    let mut coords = vec![0; shape.len()];
    for (coord, &size) in coords.iter_mut().zip(shape).rev() {
        *coord = rest % size;
        rest /= size;
    }
    coords
}

/// The name of an element of a tensor with this name and shape: `grad(input)[0, 0, 2, 1]`.
pub fn element_name(tensor: &str, shape: &[usize], flat: usize) -> String {
    format!("{tensor}{:?}", coords(shape, flat))
}

/// The size of one element in bytes.
pub fn size_of(dtype: DType) -> usize {
    match dtype {
        DType::F64 | DType::I64 => 8,
        DType::F32 | DType::I32 => 4,
        DType::F16 | DType::BF16 => 2,
        DType::U8 => 1,
    }
}

/// Rounds values to `dtype` (nearest, ties to even) and lays them out little-endian.
pub fn encode(dtype: DType, values: &[f64]) -> Vec<u8> {
    fn each<const N: usize>(values: &[f64], bytes: impl Fn(f64) -> [u8; N]) -> Vec<u8> {
        values.iter().map(|&value| bytes(value)).collect::<Vec<_>>().into_flattened()
    }
    match dtype {
        DType::F64 => each(values, f64::to_le_bytes),
        DType::F32 => each(values, |v| (v as f32).to_le_bytes()),
        DType::F16 => each(values, |v| f16::from_f32(to_odd(v)).to_le_bytes()),
        DType::BF16 => each(values, |v| bf16::from_f32(to_odd(v)).to_le_bytes()),
        DType::I32 => each(values, |v| (v as i32).to_le_bytes()),
        DType::I64 => each(values, |v| (v as i64).to_le_bytes()),
        DType::U8 => each(values, |v| [v as u8]),
    }
}

/// Rounds to a float whose last bit records whether anything was lost, so that rounding it again to fewer bits gives
/// the same as rounding once ("round to odd"; Boldo and Melquiond, "Emulation of FMA and correctly rounded sums",
/// 2008).
fn to_odd(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) == value || !near.is_finite() {
        return near;
    }
    let too_far = f64::from(near).abs() > value.abs();
    let toward_zero = f32::from_bits(near.to_bits() - u32::from(too_far));
    f32::from_bits(toward_zero.to_bits() | 1)
}

/// The inverse of [`encode`]. Bytes past the last whole element are ignored.
pub fn decode(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    fn each<const N: usize>(bytes: &[u8], value: impl Fn([u8; N]) -> f64) -> Vec<f64> {
        bytes.as_chunks::<N>().0.iter().map(|&chunk| value(chunk)).collect()
    }
    match dtype {
        DType::F64 => each(bytes, f64::from_le_bytes),
        DType::F32 => each(bytes, |b| f64::from(f32::from_le_bytes(b))),
        DType::F16 => each(bytes, |b| f16::from_le_bytes(b).to_f64()),
        DType::BF16 => each(bytes, |b| bf16::from_le_bytes(b).to_f64()),
        DType::I32 => each(bytes, |b| f64::from(i32::from_le_bytes(b))),
        // A kernel may store what an f64 cannot hold. It becomes a number of at least 2^53, which no expected value is.
        DType::I64 => each(bytes, |b| i64::from_le_bytes(b) as f64),
        DType::U8 => each(bytes, |[b]| f64::from(b)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_and_positions_are_inverse() {
        let t = Tensor { name: "t".into(), dtype: DType::F32, shape: vec![2, 3, 5] };
        for flat in 0..t.len() {
            let coords: Vec<i64> = t.coords(flat).iter().map(|&c| c as i64).collect();
            assert_eq!(t.flat(&coords), Some(flat));
        }
        assert_eq!(t.coords(7), [0, 1, 2]);
        assert_eq!(t.flat(&[0, 3, 0]), None);
        assert_eq!(t.flat(&[0, -1, 0]), None);
        assert_eq!(t.element_name(29), "t[1, 2, 4]");
    }

    /// Halfway between two values, and next to it: a float in between must not hide on which side.
    #[test]
    fn sixteen_bits_are_rounded_once() {
        for (dtype, step) in [(DType::F16, 2f64.powi(-10)), (DType::BF16, 2f64.powi(-7))] {
            let round = |value: f64| decode(dtype, &encode(dtype, &[value]))[0];
            for sign in [1.0, -1.0] {
                // The significand of `below` is even for the first one, odd for the second.
                for steps in [0.0, 1.0] {
                    let (below, above) = (1.0 + steps * step, 1.0 + (steps + 1.0) * step);
                    let middle = below + step / 2.0;
                    let even = if steps == 0.0 { below } else { above };
                    assert_eq!(round(sign * middle), sign * even);
                    for little in [2f64.powi(-52), 2f64.powi(-30), 2f64.powi(-20)] {
                        assert_eq!(
                            round(sign * (middle + little)),
                            sign * above,
                            "{dtype} {little}"
                        );
                        assert_eq!(
                            round(sign * (middle - little)),
                            sign * below,
                            "{dtype} {little}"
                        );
                    }
                }
            }
            assert_eq!(round(1e300), f64::INFINITY);
            assert_eq!(round(1e-300), 0.0);
            assert!(round(f64::NAN).is_nan());
        }
        assert_eq!(
            decode(DType::F16, &encode(DType::F16, &[65519.99, 65520.0])),
            [65504.0, f64::INFINITY]
        );
    }

    #[test]
    fn every_type_survives_the_way_through_bytes() {
        let values = [0.0, 1.0, -2.5, 96.0];
        for dtype in [DType::F64, DType::F32, DType::F16, DType::BF16] {
            assert_eq!(decode(dtype, &encode(dtype, &values)), values);
        }
        assert_eq!(decode(DType::I32, &encode(DType::I32, &[3.0, -7.0])), [3.0, -7.0]);
        let wide = [4_294_967_297.0, -9_007_199_254_740_991.0];
        assert_eq!(decode(DType::I64, &encode(DType::I64, &wide)), wide);
        assert_eq!(decode(DType::U8, &encode(DType::U8, &[0.0, 255.0])), [0.0, 255.0]);
    }
}
