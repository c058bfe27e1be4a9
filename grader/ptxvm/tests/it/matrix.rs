//! Matrices in the registers of a warp, and copies that happen later.

use crate::support::{Device, Plain, fixture, integers};
use half::f16;

const PTX: &str = "fixtures/matrix.ptx";

/// Small integers as halves: every sum of products is exact.
fn halves(count: usize, seed: u32) -> Vec<u16> {
    integers(count, seed).iter().map(|&x| f16::from_f32(x).to_bits()).collect()
}

fn value(bits: u16) -> f32 {
    f16::from_bits(bits).to_f32()
}

#[test]
fn a_product_of_tiles_by_wmma() {
    let n = 48;
    let (a, b) = (halves(n * n, 1), halves(n * n, 2));
    let mut device = Device::of(PTX);
    let buffers = [device.input(&a), device.input(&b), device.output::<f32>(n * n)];
    let mut params: Vec<_> = buffers.iter().map(|&id| device.pointer(id)).collect();
    params.push((n as i32).bytes());
    let outcome = device.launch("wmma_f32", [3, 3, 1], [32, 1, 1], 0, params);
    assert_eq!(outcome.findings, []);
    let got = device.read::<f32>(buffers[2]);
    for (row, column) in (0..n).flat_map(|row| (0..n).map(move |column| (row, column))) {
        // b lies by columns.
        let sum: f32 = (0..n).map(|k| value(a[row * n + k]) * value(b[column * n + k])).sum();
        assert_eq!(got[row * n + column], 2.0 * sum, "{row} {column}");
    }
}

#[test]
fn sums_in_halves_by_columns_and_tiles_in_shared_memory() {
    let (a, b, c) = (halves(512, 3), halves(128, 4), halves(256, 5));
    let mut device = Device::of(PTX);
    let buffers = [device.input(&a), device.input(&b), device.in_out(&c)];
    let mut params: Vec<_> = buffers.iter().map(|&id| device.pointer(id)).collect();
    params.push(0i32.bytes());
    let outcome = device.launch("wmma_f16", [1, 1, 1], [32, 1, 1], 0, params);
    assert_eq!(outcome.findings, []);
    let got = device.read::<u16>(buffers[2]);
    for (row, column) in (0..32).flat_map(|row| (0..8).map(move |column| (row, column))) {
        // a is 32 x 16 by columns, b 16 x 8 by rows, c 32 x 8 by columns.
        let sum: f32 = (0..16).map(|k| value(a[k * 32 + row]) * value(b[k * 8 + column])).sum();
        let right = sum + value(c[column * 32 + row]);
        assert_eq!(value(got[column * 32 + row]), right, "{row} {column}");
    }
}

#[test]
fn copies_rows_and_a_product_by_mma() {
    let (a, b) = (halves(256, 6), halves(128, 7));
    let mut device = Device::of(PTX);
    let buffers = [device.input(&a), device.input(&b), device.output::<f32>(128)];
    let params = buffers.iter().map(|&id| device.pointer(id)).collect();
    let outcome = device.launch("mma_f16", [1, 1, 1], [32, 1, 1], 0, params);
    assert_eq!(outcome.findings, []);
    let got = device.read::<f32>(buffers[2]);
    for (row, column) in (0..16).flat_map(|row| (0..8).map(move |column| (row, column))) {
        let sum: f32 = (0..16).map(|k| value(a[row * 16 + k]) * value(b[column * 16 + k])).sum();
        assert_eq!(got[row * 8 + column], sum, "{row} {column}");
    }
}

#[test]
fn rows_are_loaded_transposed() {
    let a = halves(64, 8);
    let mut device = Device::of(PTX);
    let buffers = [device.input(&a), device.output::<u16>(64)];
    let params = buffers.iter().map(|&id| device.pointer(id)).collect();
    let outcome = device.launch("transposed", [1, 1, 1], [32, 1, 1], 0, params);
    assert_eq!(outcome.findings, []);
    let got = device.read::<u16>(buffers[1]);
    // Lane t holds the elements (2 (t mod 4), t / 4) and the one below of the matrix that lies in memory.
    for t in 0..32 {
        for half in 0..2 {
            assert_eq!(got[2 * t + half], a[(t % 4 * 2 + half) * 8 + t / 4], "lane {t}");
        }
    }
}

#[test]
fn what_is_still_being_copied_is_not_there() {
    // The wait is gone.
    let ptx = fixture(PTX).replace("cp.async.wait_group 0;", "");
    let mut device = Device::new(&ptx);
    let (a, b) = (halves(256, 6), halves(128, 7));
    let buffers = [device.input(&a), device.input(&b), device.output::<f32>(128)];
    let params = buffers.iter().map(|&id| device.pointer(id)).collect();
    let outcome = device.launch("mma_f16", [1, 1, 1], [32, 1, 1], 0, params);
    let in_flight =
        |finding: &ptxvm::Finding| matches!(finding.kind, ptxvm::FindingKind::InFlight(_));
    assert!(outcome.findings.iter().any(in_flight), "{:?}", outcome.findings);
}
