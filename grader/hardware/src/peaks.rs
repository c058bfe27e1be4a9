//! What NVIDIA's GPUs reach at most, by their data sheets and architecture white papers: an upper bound, not a measurement.
//!
//! Each number was compared with public copies of those documents in November 2026: of the T4 geektopia.es and sysrqmts.com (8.1, 65 and
//! 0.254 TFLOP/s, 320 GB/s); of both A100 glennklockwood.com, which quotes NVIDIA's data sheet r4 (9.7, 19.5 and 312 TFLOP/s, 1,555 and
//! 2,039 GB/s); of the RTX 3090 Tom's Hardware's table (35.6 TFLOP/s, 142 with sums in f16 and half of that in f32, a 64th in f64, 936 GB/s); of the
//! RTX 4090 waredb.com and gigagpu.com (82.6, 165.2 and 1.29 TFLOP/s, 1,008 GB/s); of the L4 its data sheet as shops print it (30.3
//! TFLOP/s, 242 with sparsity, 300 GB/s) and fpsbench.com (0.473 TFLOP/s); of the H100 for PCI Express hpctech.co.jp (26, 51 and 756 TFLOP/s) and
//! chipsandcheese.com, whose clocks, 1,755 MHz and 1,593 MHz of memory, give 51.2 TFLOP/s and 2,039 GB/s; of the H100 SXM
//! glennklockwood.com, which quotes the white paper (33.5, 66.9 and 989.4 TFLOP/s), and 3,350 GB/s of the data sheet; of the H200 its data
//! sheet (4.8 TB/s, 34 and 67 TFLOP/s, 1,979 with sparsity).

/// A GPU with its peak rates. Matrix products are dense, and those of 16-bit floats accumulate in f32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peaks {
    /// Its short name on the command line, such as `h200`.
    pub name: &'static str,
    /// Its name in a report.
    pub title: &'static str,
    /// Bytes per second to and from its memory.
    pub bandwidth: f64,
    /// Operations of f64 per second, without tensor cores.
    pub f64: f64,
    /// Operations of f32 per second, without tensor cores. A fused multiply-add is two operations.
    pub f32: f64,
    /// Operations of f16 per second on tensor cores.
    pub f16: f64,
    /// The same for bf16; `None` where tensor cores do not have it.
    pub bf16: Option<f64>,
    /// Where the numbers come from.
    pub source: &'static str,
}

const GIGA: f64 = 1e9;
const TERA: f64 = 1e12;

/// All GPUs of the table, oldest first.
pub const GPUS: [Peaks; 9] = [
    Peaks {
        name: "t4",
        title: "NVIDIA T4",
        bandwidth: 320.0 * GIGA,
        f64: 0.254 * TERA,
        f32: 8.1 * TERA,
        f16: 65.0 * TERA,
        bf16: None,
        source: "NVIDIA T4 data sheet (2019); Turing white paper WP-09183-001",
    },
    Peaks {
        name: "a100-40gb",
        title: "NVIDIA A100 40 GB",
        bandwidth: 1_555.0 * GIGA,
        f64: 9.7 * TERA,
        f32: 19.5 * TERA,
        f16: 312.0 * TERA,
        bf16: Some(312.0 * TERA),
        source: "NVIDIA A100 data sheet (2020); Ampere white paper",
    },
    Peaks {
        name: "a100-80gb",
        title: "NVIDIA A100 80 GB SXM",
        bandwidth: 2_039.0 * GIGA,
        f64: 9.7 * TERA,
        f32: 19.5 * TERA,
        f16: 312.0 * TERA,
        bf16: Some(312.0 * TERA),
        source: "NVIDIA A100 data sheet (2021)",
    },
    Peaks {
        name: "rtx3090",
        title: "GeForce RTX 3090",
        bandwidth: 936.0 * GIGA,
        f64: 0.556 * TERA,
        f32: 35.6 * TERA,
        f16: 71.0 * TERA,
        bf16: Some(71.0 * TERA),
        source: "NVIDIA Ampere GA102 white paper, appendix A",
    },
    Peaks {
        name: "rtx4090",
        title: "GeForce RTX 4090",
        bandwidth: 1_008.0 * GIGA,
        f64: 1.29 * TERA,
        f32: 82.6 * TERA,
        f16: 165.2 * TERA,
        bf16: Some(165.2 * TERA),
        source: "NVIDIA Ada GPU architecture white paper, appendix A",
    },
    Peaks {
        name: "l4",
        title: "NVIDIA L4",
        bandwidth: 300.0 * GIGA,
        f64: 0.473 * TERA,
        f32: 30.3 * TERA,
        f16: 121.0 * TERA,
        bf16: Some(121.0 * TERA),
        source: "NVIDIA L4 data sheet (2023), halved where it counts sparsity",
    },
    Peaks {
        name: "h100-pcie",
        title: "NVIDIA H100 PCIe",
        bandwidth: 2_039.0 * GIGA,
        f64: 25.6 * TERA,
        f32: 51.2 * TERA,
        f16: 756.0 * TERA,
        bf16: Some(756.0 * TERA),
        source: "NVIDIA H100 white paper, table of data-centre GPUs",
    },
    Peaks {
        name: "h100",
        title: "NVIDIA H100 SXM",
        bandwidth: 3_350.0 * GIGA,
        f64: 33.5 * TERA,
        f32: 66.9 * TERA,
        f16: 989.4 * TERA,
        bf16: Some(989.4 * TERA),
        source: "NVIDIA H100 white paper, table of data-centre GPUs",
    },
    Peaks {
        name: "h200",
        title: "NVIDIA H200 SXM",
        bandwidth: 4_800.0 * GIGA,
        f64: 33.5 * TERA,
        f32: 66.9 * TERA,
        f16: 989.4 * TERA,
        bf16: Some(989.4 * TERA),
        source: "NVIDIA H200 data sheet (2024); multiprocessors as the H100's",
    },
];

impl Peaks {
    /// The GPU with this short name.
    pub fn named(name: &str) -> Option<&'static Self> {
        GPUS.iter().find(|gpu| gpu.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_rates_are_in_their_order() {
        for (i, gpu) in GPUS.iter().enumerate() {
            assert_eq!(Peaks::named(gpu.name), Some(gpu));
            assert!(GPUS[..i].iter().all(|other| other.name != gpu.name));
            assert!(gpu.f64 < gpu.f32 && gpu.f32 < gpu.f16, "{}", gpu.name);
            assert!(gpu.bandwidth > 1e11 && gpu.bandwidth < gpu.f32, "{}", gpu.name);
        }
        assert_eq!(Peaks::named("h300"), None);
    }
}
