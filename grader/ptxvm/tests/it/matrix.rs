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

/// A kernel that loads words of A and B as `load` says, multiplies them into registers `{%r4...}` that begin as 7, and stores these.
fn product_of_words(name: &str, body: &str, [a, b]: [&[u32]; 2], sums: usize) -> Vec<i32> {
    let text = format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry {name}(.param .u64 a, .param .u64 b, .param .u64 c)\n{{\n\
         .reg .b32 %r<30>; .reg .b64 %rd<30>;\nld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.param.u64 %rd3, [c];\n\
         mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd4, %r1, 16;\nadd.s64 %rd5, %rd1, %rd4;\nadd.s64 %rd6, %rd3, %rd4;\n\
         mul.wide.u32 %rd4, %r1, 8;\nadd.s64 %rd7, %rd2, %rd4;\n\
         mov.u32 %r4, 7;\nmov.u32 %r5, 7;\nmov.u32 %r6, 7;\nmov.u32 %r7, 7;\n{body}\nret;\n}}\n"
    );
    let mut device = Device::new(&text);
    let (a, b, c) = (device.input(a), device.input(b), device.output::<i32>(sums));
    let params = [a, b, c].map(|id| device.pointer(id)).to_vec();
    device.run(name, 1, 32, params);
    device.read::<i32>(c)
}

/// Parts of a word, and how two of them are multiplied.
type Parts = (u32, fn(u32, u32) -> i32);

/// What two words give together.
fn dot((bits, times): Parts, x: u32, y: u32) -> i32 {
    let part = |word: u32, at: u32| word >> at & (u32::MAX >> (32 - bits));
    (0..32 / bits).map(|index| times(part(x, index * bits), part(y, index * bits))).sum()
}

fn signed(nibble: u32) -> i32 {
    (nibble << 28).cast_signed() >> 28
}

#[test]
fn parts_of_a_byte_are_multiplied_word_by_word() {
    let word = |index: u32| index.wrapping_mul(0x9E37_79B9) ^ 0x8000_7FF1;
    let words: Vec<u32> = (0..192).map(word).collect();
    let (a, b) = words.split_at(128);
    let s4: Parts = (4, |x, y| signed(x) * signed(y));
    let u4: Parts = (4, |x, y| (x * y).cast_signed());
    let mixed: Parts = (4, |x, y| signed(x) * y.cast_signed());
    let xor: Parts = (1, |x, y| (x ^ y).cast_signed());
    let and: Parts = (1, |x, y| (x & y).cast_signed());
    // A lies by rows and B by columns, four words in each; the rows of A are eight words apart.
    for (shape, stride, product, parts) in [
        ("m8n8k32.T.s4", 64, "wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32", s4),
        ("m8n8k32.T.u4", 64, "wmma.mma.sync.aligned.row.col.m8n8k32.s32.u4.u4.s32", u4),
        (
            "m8n8k128.T.b1",
            256,
            "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
            xor,
        ),
        (
            "m8n8k128.T.b1",
            256,
            "wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
            and,
        ),
    ] {
        let of = shape.replace(".T", ".global");
        let sums = shape.split('.').next().unwrap();
        let body = format!(
            "mov.u32 %r2, {stride};\nwmma.load.a.sync.aligned.row.{of} {{%r10}}, [%rd1], %r2;\n\
             wmma.load.b.sync.aligned.col.{of} {{%r11}}, [%rd2];\n\
             {product} {{%r4, %r5}}, {{%r10}}, {{%r11}}, {{%r4, %r5}};\n\
             wmma.store.d.sync.aligned.row.{sums}.global.s32 [%rd3], {{%r4, %r5}};"
        );
        let got = product_of_words("wmma", &body, [a, b], 64);
        for (row, col) in (0..8).flat_map(|row| (0..8).map(move |col| (row, col))) {
            let sum: i32 = (0..4).map(|k| dot(parts, a[8 * row + k], b[4 * col + k])).sum();
            assert_eq!(got[8 * row + col], 7 + sum, "{product} {row} {col}");
        }
    }
    // Each lane loads its registers: rows and words of figures "m16n8k64" of the ISA (9.7.14.5.10), and of "m16n8k256".
    for (product, parts) in [
        ("m16n8k64.row.col.s32.s4.u4.s32", mixed),
        ("m16n8k64.row.col.satfinite.s32.s4.s4.s32", s4),
        ("m16n8k256.row.col.s32.b1.b1.s32.xor.popc", xor),
        ("m16n8k256.row.col.s32.b1.b1.s32.and.popc", and),
    ] {
        let body = format!(
            "ld.global.v4.u32 {{%r10, %r11, %r12, %r13}}, [%rd5];\nld.global.v2.u32 {{%r14, %r15}}, [%rd7];\n\
             mma.sync.aligned.{product} {{%r4, %r5, %r6, %r7}}, {{%r10, %r11, %r12, %r13}}, {{%r14, %r15}}, \
             {{%r4, %r5, %r6, %r7}};\nst.global.v4.u32 [%rd6], {{%r4, %r5, %r6, %r7}};"
        );
        let got = product_of_words("mma", &body, [a, b], 128);
        let in_a = |row: usize, k: usize| a[(row % 8 * 4 + k % 4) * 4 + row / 8 + 2 * (k / 4)];
        let in_b = |k: usize, col: usize| b[(col * 4 + k % 4) * 2 + k / 4];
        for (row, col) in (0..16).flat_map(|row| (0..8).map(move |col| (row, col))) {
            let sum: i32 = (0..8).map(|k| dot(parts, in_a(row, k), in_b(k, col))).sum();
            let at = (row % 8 * 4 + col / 2) * 4 + row / 8 * 2 + col % 2;
            assert_eq!(got[at], 7 + sum, "{product} {row} {col}");
        }
    }
}
