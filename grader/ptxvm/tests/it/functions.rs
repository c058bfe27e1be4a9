//! What nvcc builds from the approximate instructions (`__expf`, `tanhf`, `powf`, quotients, ...), with and without `-use_fast_math`,
//! gives what an NVIDIA H200 gave, to the bit.

use crate::golden::hash;
use crate::support::{Device, fixture};

/// A hash of the results of each function, as `main` of `functions.cu` prints it.
const H200: &[u8] = include_bytes!("../golden/functions.bin");

/// As `main` of `functions.cu`.
const OPERANDS: usize = 256;
const FUNCTIONS: usize = 32;
/// Where the second operands begin.
const SECOND: u32 = 100_003;

fn mixed(x: u32) -> u32 {
    let x = (x ^ x >> 16).wrapping_mul(0x85EB_CA6B);
    let x = (x ^ x >> 13).wrapping_mul(0xC2B2_AE35);
    x ^ x >> 16
}

/// As `operand` of `functions.cu`.
fn operand(n: u32) -> u32 {
    let (bits, more) = (mixed(n), mixed(n + 0x1000_0000));
    match n % 3 {
        0 => bits & 0x807F_FFFF | (120 + more % 12) << 23,
        1 => bits & 0x007F_FFFF | (110 + more % 30) << 23,
        _ => bits,
    }
}

fn operands(first: u32) -> Vec<u32> {
    (first..).take(OPERANDS).map(operand).collect()
}

/// The bits of a float, where all NaNs are the same one.
fn canonical(bits: u32) -> u32 {
    if bits & 0x7FFF_FFFF > 0x7F80_0000 { 0x7FFF_FFFF } else { bits }
}

#[test]
fn functions_of_cuda_give_what_a_gpu_gives() {
    let (plain, fast) = H200.as_chunks::<4>().0.split_at(FUNCTIONS);
    let mut wrong = Vec::new();
    for (name, hashes) in [("functions.ptx", plain), ("functions_fast.ptx", fast)] {
        let (x, y) = (operands(0), operands(SECOND));
        let mut device = Device::new(&fixture(&format!("fixtures/{name}")));
        let buffers = [device.input(&x), device.input(&y)];
        let out = device.output::<u32>(FUNCTIONS * OPERANDS);
        let mut params: Vec<_> = buffers.map(|id| device.pointer(id)).to_vec();
        params.extend([device.pointer(out), (OPERANDS as u32).to_le_bytes().to_vec()]);
        let grid = [(OPERANDS / 128) as u32, FUNCTIONS as u32, 1];
        let outcome = device.launch("functions", grid, [128, 1, 1], 0, params);
        assert_eq!(outcome.findings, [], "{name}");
        let results = device.read::<u32>(out);
        assert_eq!(hashes.len(), FUNCTIONS);
        for (function, (ours, theirs)) in results.chunks(OPERANDS).zip(hashes).enumerate() {
            let ours = hash(ours.iter().map(|&bits| canonical(bits).into()));
            if ours != u32::from_le_bytes(*theirs) {
                wrong.push(format!("function {function} of {name} differs"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
