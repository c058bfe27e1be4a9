//! Products of a warpgroup.

use std::fmt::Write;

use ptxvm::FindingKind;

use crate::support::Device;

/// Columns of B.
const N: usize = 16;

/// A in rows of 32 bytes from byte 0 on and B in columns of 32 bytes from byte 2048 on, in groups of eight that lie side by side:
/// the pieces of a group are 128 bytes apart from those of the other half of its elements.
const LAYOUT: &str = "mov.u32 %r5, words; shr.u32 %r6, %r5, 4; cvt.u64.u32 %rd4, %r6; mov.b64 %rd5, 0x0000001000080000; \
     or.b64 %rd6, %rd4, %rd5; add.s64 %rd7, %rd6, 128;";

/// The types of a product, and how a small integer is written in them.
#[derive(Clone, Copy)]
struct Types {
    /// Shape and types of `wgmma`.
    name: &'static str,
    /// What follows the scales of its operands.
    transposed: &'static str,
    /// One, as a sum.
    one: u32,
    sum: fn(u32) -> f32,
    /// Bytes of an element.
    bytes: usize,
    element: fn(i32) -> u32,
}

const HALVES: Types = Types {
    name: "m64n16k16.f32.f16.f16",
    transposed: ", 0, 0",
    one: 0x3F80_0000,
    sum: f32::from_bits,
    bytes: 2,
    element: |x| half::f16::from_f32(x as f32).to_bits().into(),
};
const TF32: Types = Types {
    name: "m64n16k8.f32.tf32.tf32",
    transposed: "",
    bytes: 4,
    element: |x| (x as f32).to_bits(),
    ..HALVES
};
const BYTES: Types = Types {
    name: "m64n16k32.s32.s8.s8",
    transposed: "",
    one: 1,
    sum: |bits| bits as i32 as f32,
    bytes: 1,
    element: |x| x as u32 & 0xFF,
};
const E4M3: Types = Types {
    name: "m64n16k32.f32.e4m3.e4m3",
    transposed: "",
    bytes: 1,
    element: |x| {
        let magnitude = [0, 0x38, 0x40, 0x44, 0x48, 0x4A][x.unsigned_abs() as usize];
        magnitude | u32::from(x < 0) << 7
    },
    ..HALVES
};

/// A kernel of one warpgroup: a thread copies 20 bytes of `in` (`%rd1`) to shared memory, multiplies, and stores 8 sums to `out`
/// (`%rd2`).
fn kernel(types: Types, behind_copies: &str, adds: &str, end: &str) -> String {
    let Types { name, transposed, one, .. } = types;
    let mut sums = String::new();
    for i in 0..8 {
        write!(sums, "st.global.b32 [%rd3+{}], %r2{i};", 4 * i).unwrap();
    }
    let mut copies = String::new();
    for at in (0..20).step_by(4) {
        write!(copies, "ld.global.u32 %r8, [%rd8+{at}]; st.shared.u32 [%r9+{at}], %r8;").unwrap();
    }
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q) {{\n\
         .reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<40>; .shared .align 128 .b8 words[2560];\n\
         ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; mov.u32 %r2, %tid.x; {LAYOUT}\n\
         mul.wide.u32 %rd3, %r2, 32; add.s64 %rd3, %rd3, %rd2;\n\
         mul.wide.u32 %rd8, %r2, 20; add.s64 %rd8, %rd8, %rd1; mad.lo.s32 %r9, %r2, 20, %r5;\n{copies}\n\
         mov.b32 %r20, {one}; mov.b32 %r21, %r20; mov.b32 %r22, %r20; mov.b32 %r23, %r20; mov.b32 %r24, %r20; mov.b32 %r25, %r20;\n\
         mov.b32 %r26, %r20; mov.b32 %r27, %r20; setp.eq.u32 %p1, %r2, 999; fence.proxy.async; {behind_copies}\n\
         wgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.{name} {{%r20,%r21,%r22,%r23,%r24,%r25,%r26,%r27}}, %rd6, %rd7, {adds}{transposed};\n\
         wgmma.commit_group.sync.aligned;\n{end}\n{sums}\nret;\n}}\n"
    )
}

const WAIT: &str = "wgmma.wait_group.sync.aligned 0;";

/// Small integers, one for each element.
fn factor(i: usize) -> i32 {
    (i * 7 % 11) as i32 - 5
}

fn run(types: Types, ptx: &str) -> (Vec<FindingKind>, Vec<f32>) {
    let mut device = Device::new(ptx);
    let each = 4 / types.bytes;
    let word = |word| {
        let elements =
            (0..each).map(|i| (types.element)(factor(each * word + i)) << (8 * types.bytes * i));
        elements.sum::<u32>()
    };
    let input: Vec<u32> = (0..640).map(word).collect();
    let input = device.input(&input);
    let output = device.output::<u32>(64 * N);
    let params = vec![device.pointer(input), device.pointer(output)];
    let outcome = device.launch("k", [1, 1, 1], [128, 1, 1], 0, params);
    let kinds = outcome.findings.into_iter().map(|finding| finding.kind).collect();
    (kinds, device.read::<u32>(output).into_iter().map(types.sum).collect())
}

/// An element of A, or of B: its group of eight rows, then the half of the sum, then the row in the group. `start` and all else in bytes.
fn element(bytes: usize, start: usize, row: usize, k: usize) -> i32 {
    let k = k * bytes;
    factor((start + row / 8 * 256 + k / 16 * 128 + row % 8 * 16 + k % 16) / bytes)
}

fn expected(types: Types, start: f32, sign: i32) -> Vec<f32> {
    let of = |start, row, k| element(types.bytes, start, row, k);
    let mut sums = vec![0.0; 64 * N];
    for row in 0..64 {
        for col in 0..N {
            let depth = 32 / types.bytes;
            let sum: i32 = (0..depth).map(|k| sign * of(0, row, k) * of(2048, col, k)).sum();
            // PTX ISA 9.7.15.5.1.1: the row and column of a thread's sums.
            let thread = row / 16 * 32 + row % 8 * 4 + col % 8 / 2;
            let register = col / 8 * 4 + row % 16 / 8 * 2 + col % 2;
            sums[thread * 8 + register] = start + sum as f32;
        }
    }
    sums
}

#[test]
fn each_warp_has_sixteen_rows() {
    for types in [HALVES, TF32, E4M3] {
        let of = |adds: &str| run(types, &kernel(types, "bar.sync 0;", adds, WAIT));
        assert_eq!(of("1, 1, 1"), (Vec::new(), expected(types, 1.0, 1)));
        assert_eq!(of("%p1, 1, 1"), (Vec::new(), expected(types, 0.0, 1)));
        assert_eq!(of("0, -1, 1"), (Vec::new(), expected(types, 0.0, -1)));
        assert_eq!(of("0, -1, -1"), (Vec::new(), expected(types, 0.0, 1)));
    }
    let of = |adds: &str| run(BYTES, &kernel(BYTES, "bar.sync 0;", adds, WAIT));
    assert_eq!(of("1"), (Vec::new(), expected(BYTES, 1.0, 1)));
    assert_eq!(of("%p1"), (Vec::new(), expected(BYTES, 0.0, 1)));
}

#[test]
fn a_product_waits_for_who_writes_its_factors() {
    let (findings, _) = run(HALVES, &kernel(HALVES, "", "1, 1, 1", WAIT));
    let is_race = |kind: &FindingKind| {
        matches!(kind, FindingKind::SharedRace(_) | FindingKind::Uninitialised(_))
    };
    assert!(!findings.is_empty() && findings.iter().all(is_race), "{findings:?}");
}

#[test]
fn who_overwrites_a_factor_waits_for_the_product() {
    let overwrite = "st.shared.u32 [%r9], 0;";
    let early = format!("bar.sync 0; {overwrite} {WAIT}");
    let (findings, _) = run(HALVES, &kernel(HALVES, "bar.sync 0;", "1, 1, 1", &early));
    assert!(matches!(findings[..], [FindingKind::SharedRace(_), ..]), "{findings:?}");
    let late = format!("{WAIT} bar.sync 0; {overwrite}");
    assert_eq!(run(HALVES, &kernel(HALVES, "bar.sync 0;", "1, 1, 1", &late)).0, []);
}
