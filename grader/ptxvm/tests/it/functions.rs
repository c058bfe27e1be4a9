//! What nvcc builds from the approximate instructions (`__expf`, `tanhf`, `powf`, quotients, ...), with and without `-use_fast_math`,
//! gives what an NVIDIA H200 gave, to the bit.

use crate::support::{Device, fixture, fixture_bytes};

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

/// NaNs as one.
fn canonical(bits: u32) -> u32 {
    if bits & 0x7FFF_FFFF > 0x7F80_0000 { 0x7FFF_FFFF } else { bits }
}

#[test]
fn functions_of_cuda_give_what_a_gpu_gives() {
    let golden = fixture_bytes("golden/functions.bin");
    let (plain, fast) = golden.split_at(golden.len() / 2);
    let mut wrong = Vec::new();
    for (name, golden) in [("functions.ptx", plain), ("functions_fast.ptx", fast)] {
        let golden: Vec<[u8; 4]> = golden.chunks_exact(4).map(|b| b.try_into().unwrap()).collect();
        let (x, y) = (operands(0), operands(SECOND));
        let mut device = Device::new(&fixture(&format!("fixtures/{name}")));
        let buffers = [device.input(&x), device.input(&y)];
        let out = device.output::<u32>(FUNCTIONS * OPERANDS);
        let mut params: Vec<_> = buffers.map(|id| device.pointer(id)).to_vec();
        params.extend([device.pointer(out), (OPERANDS as u32).to_le_bytes().to_vec()]);
        let grid = [(OPERANDS / 128) as u32, FUNCTIONS as u32, 1];
        let outcome = device.launch("functions", grid, [128, 1, 1], 0, params);
        assert_eq!(outcome.findings, [], "{name}");
        for (index, (ours, theirs)) in device.read::<u32>(out).into_iter().zip(&golden).enumerate()
        {
            let theirs = u32::from_le_bytes(*theirs);
            if canonical(ours) != canonical(theirs) {
                let (function, i) = (index / OPERANDS, index % OPERANDS);
                wrong.push(format!(
                    "{name} {function} {:x} {:x}: {ours:x}, not {theirs:x}",
                    x[i], y[i]
                ));
            }
        }
        assert_eq!(golden.len(), FUNCTIONS * OPERANDS);
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
