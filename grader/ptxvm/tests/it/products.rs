//! Products of matrices, bit for bit, against what an NVIDIA H200 gave: `tests/golden/mma.py` made the numbers.

use std::fmt::Write;
use std::sync::LazyLock;

use crate::golden::{hash, mix, word};
use crate::support::{Device, fixture};

const LINES: &str = include_str!("../golden/mma.txt");
static MMA: LazyLock<String> = LazyLock::new(|| fixture("fixtures/mma_sm90.ptx"));
static WMMA: LazyLock<String> = LazyLock::new(|| fixture("fixtures/wmma_sm90.ptx"));
static HOPPER: LazyLock<String> = LazyLock::new(|| fixture("fixtures/mma_hopper_sm90.ptx"));

const SETS: usize = 64;
/// Every fourth set has operands of the same sort.
const SORTS: [&str; 4] = ["whole numbers", "near one", "any finite ones", "special ones"];

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Bits of exponent and mantissa, bytes, and whether the lowest 13 bits do not count.
    Float {
        exponent: u32,
        mantissa: u32,
        bytes: usize,
        cut: bool,
    },
    Byte {
        signed: bool,
    },
    Word,
}

impl Kind {
    fn parse(name: &str) -> Self {
        let float = |exponent, mantissa, bytes, cut| Self::Float { exponent, mantissa, bytes, cut };
        match name {
            "f16" => float(5, 10, 2, false),
            "bf16" => float(8, 7, 2, false),
            "tf32" => float(8, 23, 4, true),
            "f32" => float(8, 23, 4, false),
            "f64" => float(11, 52, 8, false),
            "e4m3" => float(4, 3, 1, false),
            "e5m2" => float(5, 2, 1, false),
            "s8" => Self::Byte { signed: true },
            "u8" => Self::Byte { signed: false },
            "s32" => Self::Word,
            other => panic!("no type {other}"),
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Float { bytes, .. } => bytes,
            Self::Byte { .. } => 1,
            Self::Word => 4,
        }
    }
}

/// A whole number from -8 to 8.
fn whole(value: i64, exponent: u32, mantissa: u32) -> u64 {
    let magnitude = value.unsigned_abs();
    if magnitude == 0 {
        return 0;
    }
    let bias = (1u64 << (exponent - 1)) - 1;
    let top = u64::from(magnitude.ilog2());
    let fraction = (magnitude << mantissa >> top) & ((1 << mantissa) - 1);
    (bias + top) << mantissa | fraction | u64::from(value < 0) << (exponent + mantissa)
}

/// As `operands` of `mma.py`.
fn operands(name: &str, matrix: u64, kind: Kind, per_set: usize) -> Vec<u64> {
    let name = name.bytes().fold((0u64, 1u64), |(sum, power), byte| {
        (sum.wrapping_add(power.wrapping_mul(byte.into())), power.wrapping_mul(131))
    });
    let seed = mix((name.0 & 0xFFFF_FFFF) * 4 + matrix);
    let one = |index: usize| {
        let random = mix(seed ^ index as u64);
        let sort = index / per_set % 4;
        let (exponent, mantissa, cut) = match kind {
            Kind::Byte { .. } => return random & 0xFF,
            Kind::Word if sort == 3 => return random & 0xFFFF_FFFF,
            Kind::Word => return (random & 0xFF_FFFF).wrapping_sub(1 << 23) & 0xFFFF_FFFF,
            Kind::Float { exponent, mantissa, cut, .. } => (exponent, mantissa, cut),
        };
        let bias = (1u64 << (exponent - 1)) - 1;
        let sign = random >> 63 << (exponent + mantissa);
        let mut fraction = random & ((1 << mantissa) - 1);
        if cut && sort == 1 {
            fraction &= !0x1FFF;
        }
        let near = sign | (bias - 2 + (random >> 60 & 3)) << mantissa | fraction;
        let (infinity, quiet) = (((1u64 << exponent) - 1) << mantissa, 1 << (mantissa - 1));
        match (sort, random >> 54 & 63) {
            (0, _) => whole((random % 17) as i64 - 8, exponent, mantissa),
            // Any byte now and then: what is no number differs between the two formats.
            (3, 0) if exponent + mantissa == 7 => random & 0xFF,
            (3, _) if exponent + mantissa == 7 => near,
            (2, _) => sign | ((random >> 52) % ((1 << exponent) - 1)) << mantissa | fraction,
            (3, 0) => sign,
            (3, 1) => sign | infinity,
            (3, 2) => infinity | quiet,
            (3, 3) => sign | fraction,
            (3, 4) => sign | infinity | quiet | fraction,
            (3, 5) => sign | infinity | fraction & !quiet | 1,
            _ => near,
        }
    };
    (0..SETS * per_set).map(one).collect()
}

/// Elements of A, B, C and D of a set, and their types.
fn plan(name: &str) -> [(usize, Kind); 4] {
    let parts: Vec<&str> = name.split('_').collect();
    let dims: Vec<usize> =
        parts[1].split(['m', 'n', 'k']).skip(1).map(|n| n.parse().expect("a number")).collect();
    let [m, n, k] = dims[..] else { panic!("{name}") };
    let kinds = match parts[..] {
        ["wmma", _, input, sum, ..] => {
            let (before, after) = sum.split_once("to").unwrap_or((sum, sum));
            [input, input, before, after]
        }
        [_, _, "f64"] => ["f64"; 4],
        [_, _, sum, a] => [a, a, sum, sum],
        [_, _, sum, a, b, ..] => [a, b, sum, sum],
        _ => panic!("{name}"),
    };
    let [a, b, c, d] = kinds.map(Kind::parse);
    [(m * k, a), (k * n, b), (m * n, c), (m * n, d)]
}

/// The bits of elements in memory.
fn elements(bytes: &[u8], size: usize) -> Vec<u64> {
    bytes.chunks_exact(size).map(word).collect()
}

/// What the machine gives for all sets of a kernel.
fn own(name: &str, plan: [(usize, Kind); 4]) -> Vec<u64> {
    let in_hopper = HOPPER.contains(&format!(" {name}("));
    let all = if name.starts_with("wmma") { &*WMMA } else { &*MMA };
    let mut device = Device::new(if in_hopper { &HOPPER } else { all });
    let mut params = Vec::new();
    for (matrix, &(size, kind)) in (0..).zip(&plan[..3]) {
        let bits = operands(name, matrix, kind, size);
        let bytes = bits.iter().flat_map(|bits| bits.to_le_bytes()[..kind.bytes()].to_vec());
        let id = device.input(&bytes.collect::<Vec<u8>>());
        params.push(device.pointer(id));
    }
    let (size, kind) = plan[3];
    let out = device.output::<u8>(SETS * size * kind.bytes());
    params.push(device.pointer(out));
    device.run(name, SETS as u32, 32, params);
    elements(&device.memory.bytes(out), kind.bytes())
}

/// A difference names the sort of operands. The numbers of the GPU are those of an older commit that passes.
#[test]
fn products_are_those_of_a_gpu() {
    let (mut report, mut count) = (String::new(), 0);
    for line in LINES.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let &[name, bytes, ref hashes @ ..] = words.as_slice() else { panic!("{line}") };
        let plan = plan(name);
        let (size, kind) = plan[3];
        assert_eq!(bytes, (size * kind.bytes()).to_string(), "{name}");
        count += 1;
        let sets: Vec<u64> = own(name, plan)
            .chunks_exact(size)
            .map(|set| u64::from(hash(set.iter().copied())))
            .collect();
        assert_eq!(hashes.len(), SORTS.len(), "{line}");
        for (sort, theirs) in hashes.iter().enumerate() {
            let of_sort = sets.iter().skip(sort).step_by(SORTS.len()).copied();
            if format!("{:08x}", hash(of_sort)) != *theirs {
                writeln!(report, "{name}: {} differ", SORTS[sort]).expect("room");
            }
        }
    }
    assert_eq!(count, 47);
    assert!(report.is_empty(), "\n{report}");
}
