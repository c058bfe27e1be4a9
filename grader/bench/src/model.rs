//! What bounds the time of a computation from below: the bytes that it must move, or the operations that it must do.

use hardware::Peaks;
use indexmath::DType;
use serde::{Deserialize, Serialize};

/// The work of a computation, whoever does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Floating-point operations; a multiplication with an addition counts as two.
    pub flops: u64,
    /// Bytes to and from memory: each input read once, and each output written once.
    pub bytes: u64,
}

impl Work {
    /// Operations for each byte: the arithmetic intensity.
    pub fn intensity(self) -> f64 {
        self.flops as f64 / self.bytes as f64
    }
}

/// The rates of a machine, measured or by its data sheet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// Bytes per second to and from memory.
    pub bandwidth: f64,
    /// Operations per second in the type of the computation; `None` if it is not known.
    pub flops: Option<f64>,
}

impl Rates {
    /// The peaks of a GPU for a computation in a type.
    pub fn of(gpu: &Peaks, dtype: DType) -> Self {
        let flops = match dtype {
            DType::F64 => Some(gpu.f64),
            DType::F32 | DType::I32 | DType::I64 | DType::U8 => Some(gpu.f32),
            DType::F16 => Some(gpu.f16),
            DType::BF16 => gpu.bf16,
        };
        Self { bandwidth: gpu.bandwidth, flops }
    }

    /// The operations per second that a computation of this intensity can reach: the roofline (Williams, Waterman and Patterson,
    /// 2009).
    pub fn roof(self, intensity: f64) -> f64 {
        (intensity * self.bandwidth).min(self.flops.unwrap_or(f64::INFINITY))
    }

    /// The least time for some work, and what takes it.
    pub fn bound(self, work: Work) -> Bound {
        let memory = work.bytes as f64 / self.bandwidth;
        let arithmetic = self.flops.map_or(0.0, |flops| work.flops as f64 / flops);
        if arithmetic > memory {
            Bound { seconds: arithmetic, by: Resource::Arithmetic }
        } else {
            Bound { seconds: memory, by: Resource::Memory }
        }
    }
}

/// A time that no kernel can beat if the rates are right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The time in seconds.
    pub seconds: f64,
    /// The resource that the computation waits for.
    pub by: Resource,
}

/// What a computation waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Memory, which moves so many bytes in a second.
    Memory,
    /// The arithmetic units, which do so many operations in a second.
    Arithmetic,
}

impl Resource {
    /// Its name in a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "bytes",
            Self::Arithmetic => "flops",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slower_of_the_two_bounds_the_time() {
        let rates = Rates { bandwidth: 100.0, flops: Some(1000.0) };
        let bound = |flops, bytes| rates.bound(Work { flops, bytes });
        assert_eq!(bound(500, 200), Bound { seconds: 2.0, by: Resource::Memory });
        assert_eq!(bound(5000, 200), Bound { seconds: 5.0, by: Resource::Arithmetic });
        assert_eq!(bound(0, 100).seconds, 1.0);
        assert_eq!((rates.roof(2.0), rates.roof(10.0), rates.roof(50.0)), (200.0, 1000.0, 1000.0));
        let unknown = Rates { flops: None, ..rates };
        assert_eq!(unknown.bound(Work { flops: 5000, bytes: 200 }).by, Resource::Memory);
    }

    #[test]
    fn a_gpu_has_a_rate_for_each_type() {
        let h200 = Peaks::named("h200").unwrap();
        // 64 x 64 x 112 x 112 gradients of a pooling, read and written: 308 MB.
        let pooling = Work { flops: 12_845_056, bytes: 4 * (2 * 12_845_056 + 51_380_224) };
        let least = Rates::of(h200, DType::F32).bound(pooling);
        assert!((least.seconds * 1e6 - 64.2).abs() < 0.1 && least.by == Resource::Memory);
        let gemm = Work { flops: 2 * 4096 * 4096 * 4096, bytes: 2 * 3 * 4096 * 4096 };
        assert_eq!(Rates::of(h200, DType::F16).bound(gemm).by, Resource::Arithmetic);
        assert_eq!(Rates::of(Peaks::named("t4").unwrap(), DType::BF16).flops, None);
    }
}
