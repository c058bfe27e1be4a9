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

/// A kernel of one warpgroup: a thread copies 20 bytes of `in` (`%rd1`) to shared memory, multiplies, and stores 8 sums to `out`
/// (`%rd2`).
fn kernel(types: &str, behind_copies: &str, adds: &str, end: &str) -> String {
    let mut sums = String::new();
    for i in 0..8 {
        write!(sums, "st.global.f32 [%rd3+{}], %f{i};", 4 * i).unwrap();
    }
    let mut copies = String::new();
    for at in (0..20).step_by(4) {
        write!(copies, "ld.global.u32 %r8, [%rd8+{at}]; st.shared.u32 [%r9+{at}], %r8;").unwrap();
    }
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q) {{\n\
         .reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .f32 %f<9>; .shared .align 128 .b8 words[2560];\n\
         ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; mov.u32 %r2, %tid.x; {LAYOUT}\n\
         mul.wide.u32 %rd3, %r2, 32; add.s64 %rd3, %rd3, %rd2;\n\
         mul.wide.u32 %rd8, %r2, 20; add.s64 %rd8, %rd8, %rd1; mad.lo.s32 %r9, %r2, 20, %r5;\n{copies}\n\
         mov.f32 %f0, 0f3F800000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0; mov.f32 %f4, %f0; mov.f32 %f5, %f0;\n\
         mov.f32 %f6, %f0; mov.f32 %f7, %f0; setp.eq.u32 %p1, %r2, 999; fence.proxy.async; {behind_copies}\n\
         wgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.m64n16k16.f32.{types}.{types} {{%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}}, %rd6, %rd7, {adds}, 0, 0;\n\
         wgmma.commit_group.sync.aligned;\n{end}\n{sums}\nret;\n}}\n"
    )
}

const WAIT: &str = "wgmma.wait_group.sync.aligned 0;";

/// Small integers, as a half each.
fn factor(i: usize) -> i32 {
    (i * 7 % 11) as i32 - 5
}

fn run(ptx: &str) -> (Vec<FindingKind>, Vec<f32>) {
    let mut device = Device::new(ptx);
    let input: Vec<u32> = (0..640)
        .map(|word| {
            let half = |i: usize| u32::from(half::f16::from_f32(factor(i) as f32).to_bits());
            half(2 * word) | half(2 * word + 1) << 16
        })
        .collect();
    let input = device.input(&input);
    let output = device.output::<f32>(64 * N);
    let params = vec![device.pointer(input), device.pointer(output)];
    let outcome = device.launch("k", [1, 1, 1], [128, 1, 1], 0, params);
    let kinds = outcome.findings.into_iter().map(|finding| finding.kind).collect();
    (kinds, device.read(output))
}

/// Element of A, or of B: its group of eight rows, then the half of the sum, then the row in the group.
fn element(start: usize, row: usize, k: usize) -> i32 {
    factor(start + row / 8 * 128 + k / 8 * 64 + row % 8 * 8 + k % 8)
}

fn expected(start: f32, sign: i32) -> Vec<f32> {
    let mut sums = vec![0.0; 64 * N];
    for row in 0..64 {
        for col in 0..N {
            let sum: i32 = (0..16).map(|k| sign * element(0, row, k) * element(1024, col, k)).sum();
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
    let of = |adds: &str| run(&kernel("f16", "bar.sync 0;", adds, WAIT));
    assert_eq!(of("1, 1, 1"), (Vec::new(), expected(1.0, 1)));
    assert_eq!(of("%p1, 1, 1"), (Vec::new(), expected(0.0, 1)));
    assert_eq!(of("0, -1, 1"), (Vec::new(), expected(0.0, -1)));
    assert_eq!(of("0, -1, -1"), (Vec::new(), expected(0.0, 1)));
}

#[test]
fn a_product_waits_for_who_writes_its_factors() {
    let (findings, _) = run(&kernel("f16", "", "1, 1, 1", WAIT));
    let is_race = |kind: &FindingKind| {
        matches!(kind, FindingKind::SharedRace(_) | FindingKind::Uninitialised(_))
    };
    assert!(!findings.is_empty() && findings.iter().all(is_race), "{findings:?}");
}

#[test]
fn who_overwrites_a_factor_waits_for_the_product() {
    let overwrite = "st.shared.u32 [%r9], 0;";
    let early = format!("bar.sync 0; {overwrite} {WAIT}");
    let (findings, _) = run(&kernel("f16", "bar.sync 0;", "1, 1, 1", &early));
    assert!(matches!(findings[..], [FindingKind::SharedRace(_), ..]), "{findings:?}");
    let late = format!("{WAIT} bar.sync 0; {overwrite}");
    assert_eq!(run(&kernel("f16", "bar.sync 0;", "1, 1, 1", &late)).0, []);
}
