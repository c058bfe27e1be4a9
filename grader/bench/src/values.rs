//! The data of a bench: each element is a function of a seed and of its index. `assets/draw.cu` computes the same on a GPU, to the same
//! bits, so that every run of a kernel can have new data, and yet any element is known here.

use indexmath::DType;
use puzzle::spec::{Data, DataKind};
use puzzle::tensor::{Tensor, decode, encode};
use rayon::iter::{IndexedParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;
use serde::{Deserialize, Serialize};

/// The standard deviation of the sum of four numbers, each uniform in `0..65536`.
const DEVIATION: f64 = 37_837.227;
/// The mean of that sum.
const MIDDLE: i32 = 131_070;
/// The largest absolute value of integers without a range.
const RANGE: u64 = 4;

/// So many elements are drawn one after the other.
const PART: usize = 1 << 16;

/// How the elements of a tensor come about. The order is that of the numbers in `assets/draw.cu`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Kind {
    /// Nearly normal: the sum of four uniform numbers, times the first, plus the second.
    Normal(f32, f32),
    /// Integers: the least one, and how many there are.
    Integers(i64, u64),
    /// Integers from minus this to this, without 0.
    NonZero(u64),
    /// A one at a random place of each row of this length, else zeros.
    OneHot(u64),
    /// Every element is this.
    Constant(f32),
    /// Every element is its index in the tensor.
    Arange,
}

impl Kind {
    /// The kind of some data of a spec. Data that a bench cannot draw are refused when the spec is read.
    pub fn of(data: &Data, tensor: &Tensor) -> Self {
        match *data {
            Data::Values(ref values) => {
                Self::Constant(values.first().copied().unwrap_or_default() as f32)
            }
            Data::Kind(kind) => match kind {
                DataKind::Normal { scale, shift } => {
                    Self::Normal((scale / DEVIATION) as f32, shift as f32)
                }
                DataKind::IntegersIn { min, max } => Self::Integers(min, (max - min + 1) as u64),
                DataKind::OneHot => Self::OneHot(tensor.shape.last().copied().unwrap_or(1) as u64),
                DataKind::Ones => Self::Constant(1.0),
                DataKind::Zeros => Self::Constant(0.0),
                DataKind::Arange => Self::Arange,
                DataKind::Integers
                | DataKind::ShuffledArange
                | DataKind::Digits { .. }
                | DataKind::DigitLabels { .. } => Self::NonZero(RANGE),
            },
        }
    }

    /// The element at `index`, before it is rounded to the tensor's type.
    fn value(self, seed: u64, index: u64) -> f32 {
        let z = mix(seed, index);
        let below = |z: u64, count: u64| (z >> 32).wrapping_mul(count) >> 32;
        match self {
            Self::Normal(factor, shift) => {
                let part = |shift: u32| (z >> shift) as i32 & 0xFFFF;
                (part(0) + part(16) + part(32) + part(48) - MIDDLE) as f32 * factor + shift
            }
            Self::Integers(low, count) => (low + below(z, count) as i64) as f32,
            Self::NonZero(count) => {
                let drawn = below(z, 2 * count) as i64 - count as i64;
                (if drawn >= 0 { drawn + 1 } else { drawn }) as f32
            }
            Self::OneHot(count) => {
                let hot = below(mix(seed, index / count), count);
                if index % count == hot { 1.0 } else { 0.0 }
            }
            Self::Constant(value) => value,
            Self::Arange => index as f32,
        }
    }

    /// All elements of a tensor, rounded to its type.
    pub fn values(self, dtype: DType, seed: u64, count: usize) -> Vec<f64> {
        let mut all = vec![0.0; count];
        let parts = all.par_chunks_mut(PART).enumerate();
        parts.for_each(|(i, values)| self.fill(dtype, seed, i * PART, values));
        all
    }

    /// The elements from the one with the index `first` on.
    fn fill(self, dtype: DType, seed: u64, first: usize, values: &mut [f64]) {
        for (i, value) in values.iter_mut().enumerate() {
            *value = f64::from(self.value(seed, (first + i) as u64));
        }
        if matches!(dtype, DType::F16 | DType::BF16) {
            values.copy_from_slice(&decode(dtype, &encode(dtype, values)));
        }
    }

    /// The arguments of the kernel `draw` behind the tensor's address and length.
    pub fn parameters(self, dtype: DType, seed: u64) -> Parameters {
        let dtype = match dtype {
            DType::F32 => 0,
            DType::F64 => 1,
            DType::F16 => 2,
            DType::BF16 => 3,
            // A bench has no data of the other types: `puzzle::spec` refuses them.
            DType::I32 | DType::I64 | DType::U8 => 4,
        };
        let (kind, factor, shift, low, count) = match self {
            Self::Normal(factor, shift) => (0, factor, shift, 0, 1),
            Self::Integers(low, count) => (1, 0.0, 0.0, low, count),
            Self::NonZero(count) => (2, 0.0, 0.0, 0, count),
            Self::OneHot(count) => (3, 0.0, 0.0, 0, count),
            Self::Constant(value) => (4, 0.0, value, 0, 1),
            Self::Arange => (5, 0.0, 0.0, 0, 1),
        };
        Parameters { dtype, kind, seed, factor, shift, low, count }
    }
}

/// Arguments of the kernel `draw`, in its order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Number of the element type.
    pub dtype: i32,
    /// Number of the kind.
    pub kind: i32,
    /// The seed of the tensor.
    pub seed: u64,
    /// What sums are multiplied by.
    pub factor: f32,
    /// What is added to sums that are scaled.
    pub shift: f32,
    /// The least integer.
    pub low: i64,
    /// How many integers there are, or the length of a row.
    pub count: u64,
}

/// The seed of a tensor in the run with number `run`.
pub fn seed_of(seed: u64, tensor: usize, run: u64) -> u64 {
    mix(mix(seed, tensor as u64), run)
}

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
fn mix(seed: u64, index: u64) -> u64 {
    let z = seed.wrapping_add((index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::DRAW_PTX;
    use cudart::device::{Code, Device, Launch};
    use cudart::vm::VmDevice;
    use ptxvm::Options;

    const KINDS: [Kind; 6] = [
        Kind::Normal((2.0 / DEVIATION) as f32, -1.0),
        Kind::Integers(-3, 10),
        Kind::NonZero(4),
        Kind::OneHot(7),
        Kind::Constant(1.5),
        Kind::Arange,
    ];

    /// What the kernel `draw` writes, run on the virtual machine.
    fn drawn(kind: Kind, dtype: DType, seed: u64, count: usize) -> Vec<f64> {
        let mut device = VmDevice::new(Options::default());
        let module = device.load(Code { ptx: DRAW_PTX, machine: None }).unwrap();
        let bytes = (count * puzzle::tensor::size_of(dtype)) as u64;
        let address = device.alloc(bytes).unwrap();
        let Parameters { dtype: number, kind, seed, factor, shift, low, count: length } =
            kind.parameters(dtype, seed);
        let params = vec![
            address.to_le_bytes().to_vec(),
            (count as u64).to_le_bytes().to_vec(),
            number.to_le_bytes().to_vec(),
            kind.to_le_bytes().to_vec(),
            seed.to_le_bytes().to_vec(),
            factor.to_le_bytes().to_vec(),
            shift.to_le_bytes().to_vec(),
            low.to_le_bytes().to_vec(),
            length.to_le_bytes().to_vec(),
        ];
        let (grid, block) = ([2, 1, 1], [64, 1, 1]);
        let kernel = "draw".to_owned();
        let launch = Launch { module, kernel, grid, block, shared: 0, params, ..Launch::default() };
        let launched = device.launch(launch).unwrap();
        assert!(launched.complete, "{:?}", launched.fault);
        decode(dtype, &device.read(address, bytes).unwrap().0)
    }

    #[test]
    fn the_gpu_draws_the_same_bits() {
        for (i, kind) in KINDS.into_iter().enumerate() {
            for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32] {
                if dtype == DType::I32 && i == 0 {
                    continue;
                }
                let ours = kind.values(dtype, 77, 300);
                // A spec refuses a constant that an integer does not hold.
                let ours: Vec<f64> =
                    ours.iter().map(|v| if dtype == DType::I32 { v.trunc() } else { *v }).collect();
                assert_eq!(drawn(kind, dtype, 77, 300), ours, "{kind:?} {dtype}");
            }
        }
    }

    #[test]
    fn normal_values_have_their_mean_and_deviation_and_change_with_the_run() {
        let values = KINDS[0].values(DType::F64, 5, 40_000);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
        assert!((mean + 1.0).abs() < 0.05, "{mean}");
        assert!((variance / values.len() as f64 - 4.0).abs() < 0.1);
        let first = |run| KINDS[0].values(DType::F32, seed_of(1, 0, run), 1)[0];
        assert_ne!(first(0), first(1));
        assert_ne!(seed_of(1, 0, 1), seed_of(1, 1, 0));
    }
}
