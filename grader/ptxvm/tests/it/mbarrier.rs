//! Barrier objects in shared memory, and what CUDA C++ builds on them: for three architectures, optimised, and for a
//! debugger, which is not.

use ptxvm::finding::{BarrierObject, Uninitialised};
use ptxvm::{BufferId, FindingKind, Outcome, Space};

use crate::support::{Device, fixture, integers, kind_name};

/// How `mbarrier.cu` was compiled, and what that made of it.
const COMPILED: [(&str, &str); 4] = [
    ("sm_75, -O3", "fixtures/mbarrier_sm75_O3.ptx"),
    ("sm_80, -O3", "fixtures/mbarrier_sm80_O3.ptx"),
    ("sm_90, -O3", "fixtures/mbarrier_sm90_O3.ptx"),
    ("sm_90, -G", "fixtures/mbarrier_sm90_G.ptx"),
];

const N: usize = 64;
const TILES: usize = 4;

/// Element `i` of `out`, from `in`.
type Right = fn(&[f32], usize) -> f32;

fn sum_of_tiles(x: &[f32], i: usize) -> f32 {
    (0..TILES).map(|tile| x[tile * N + i]).sum()
}

fn reversed_sum(x: &[f32], i: usize) -> f32 {
    sum_of_tiles(x, N - 1 - i)
}

fn consumed(x: &[f32], i: usize) -> f32 {
    if i < 32 { 0.0 } else { sum_of_tiles(x, i) + sum_of_tiles(x, i - 32) }
}

fn reversed(x: &[f32], i: usize) -> f32 {
    x[N - 1 - i]
}

/// What each kernel of `mbarrier.cu` gives.
const KERNELS: [(&str, Right); 18] = [
    ("arrive_and_wait", reversed),
    ("tokens", reversed_sum),
    ("dropped", |x, i| if i < 32 { x[63 - i] } else { x[i] }),
    ("completion", |x, i| TILES as f32 + x[i]),
    ("producer_consumer", consumed),
    ("parities", consumed),
    ("counted_arrivals", reversed),
    ("copy_to_barrier", reversed),
    ("group_copy_to_barrier", reversed_sum),
    ("pipeline_of_a_thread", sum_of_tiles),
    ("pipeline_of_a_block", reversed_sum),
    ("pipeline_of_roles", consumed),
    ("copy_of_a_group", |x, i| x[N - 1 - i] + x[2 * N - 1 - i]),
    ("primitives", |x, i| x[N - 1 - i] + if i == 0 { 1.0 } else { 0.0 }),
    ("pipeline_primitives", |x, i| {
        // Of each pair of the second half the last element is zero.
        x[2 * N - 1 - i] + if i % 2 == 0 { 0.0 } else { x[4 * N - 1 - i] }
    }),
    ("timed", reversed),
    ("one_lane_arrives", reversed),
    ("lanes_drop", |x, i| if i < 40 { x[63 - i] } else { x[i] }),
];

/// Primitives that need `sm_80` do other things before, or are not there.
fn runs_on(architecture: &str, kernel: &str) -> bool {
    !architecture.starts_with("sm_75") || kernel != "primitives"
}

fn run(device: &mut Device, kernel: &str, x: &[f32]) -> (Outcome, BufferId) {
    let (input, output) = (device.input(x), device.output::<f32>(N));
    let params = vec![device.pointer(input), device.pointer(output)];
    (device.launch(kernel, [1, 1, 1], [N as u32, 1, 1], 0, params), output)
}

/// What is found all the same.
fn is_known(compiled: &str, kernel: &str, outcome: &Outcome) -> bool {
    // `try_wait_for` of the headers reads a variable that it has not set; optimised code drops that.
    let header = kernel == "timed" && compiled == "sm_90, -G";
    header
        && outcome.findings.iter().all(|finding| {
            let in_header = finding.loc.is_none();
            in_header
                && matches!(
                    finding.kind,
                    FindingKind::Uninitialised(Uninitialised { space: Space::Local, .. })
                )
        })
}

#[test]
fn every_kernel_is_right_however_it_is_compiled() {
    let x = integers(TILES * N, 7);
    let mut wrong = Vec::new();
    for (compiled, ptx) in COMPILED {
        let mut device = Device::new(&fixture(ptx));
        for (kernel, right) in KERNELS {
            if !runs_on(compiled, kernel) {
                continue;
            }
            if let Some(why) = device.module.kernel(kernel).expect(kernel).refusal() {
                wrong.push(format!("{compiled}: {kernel}: {why}"));
                continue;
            }
            let (outcome, output) = run(&mut device, kernel, &x);
            if !outcome.findings.is_empty() && !is_known(compiled, kernel, &outcome) {
                wrong.push(format!("{compiled}: {kernel}: {:?}", outcome.findings));
            }
            let got = device.read::<f32>(output);
            let first = (0..N).find(|&i| got[i] != right(&x, i));
            if let Some(i) = first {
                wrong.push(format!("{compiled}: {kernel}: {i}: {} {}", got[i], right(&x, i)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// By the rules of PTX ISA 9.7.13.15, and on an H200, step by step: what was missing before an arrival, whether its phase is
/// over, and whether the phases of parity 0 and 1 are.
const WORDS: [[i32; 4]; 9] = [
    [5, 0, 0, 1],
    [4, 0, 0, 1],
    [1, 1, 1, 0],
    [5, 0, 1, 0],
    [4, 0, 1, 0],
    [1, 1, 0, 1],
    [4, 0, 0, 1],
    [3, 0, 0, 1],
    [4, 1, 0, 1],
];

#[test]
fn states_say_what_is_missing() {
    let mut device = Device::of("fixtures/mbarrier_words.ptx");
    let output = device.output::<i32>(44);
    let params = vec![device.pointer(output)];
    device.run("words", 1, 1, params);
    let mut right = vec![0, 1];
    right.extend(WORDS[..8].iter().flatten());
    // 48 bytes of 64 have come, then all, then bytes that are announced later.
    right.extend([0, 1, 1, 0, 1, 0]);
    right.extend(WORDS[8]);
    assert_eq!(device.read::<i32>(output), right);
}

/// What instructions on an object of two arrivals find, by one thread.
fn misuses(instructions: &str) -> Vec<String> {
    let text = format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p){{\n\
         .reg .b32 %r<9>;.reg .b64 %rd<9>;.reg .pred %p<9>;\n\
         .shared .align 8 .b8 bars[16];\n\
         mov.u32 %r1,bars;ld.param.u64 %rd8,[p];\n\
         mbarrier.init.shared.b64 [%r1],2;\n{instructions}\nret;\n}}\n"
    );
    let mut device = Device::new(&text);
    let buffer = device.in_out(&[0u64; 4]);
    let params = vec![device.pointer(buffer)];
    let outcome = device.launch("k", [1; 3], [1; 3], 0, params);
    let name = |finding: &ptxvm::Finding| match &finding.kind {
        FindingKind::BarrierObject(BarrierObject { misuse, .. }) => format!("{misuse:?}"),
        other => kind_name(other),
    };
    outcome.findings.iter().map(name).collect()
}

#[test]
fn each_wrong_use_has_its_finding() {
    for (instructions, right) in [
        ("mbarrier.arrive.shared.b64 _,[%r1];", vec![]),
        ("mbarrier.init.shared.b64 [%r1+4],1;", vec!["Misaligned"]),
        ("mbarrier.init.shared.b64 [%r1+16],1;", vec!["OutOfBounds"]),
        ("mbarrier.init.b64 [%rd8],1;", vec!["OutOfBounds"]),
        ("mbarrier.init.shared.b64 [%r1+8],0;", vec!["InvalidCount { count: 0 }"]),
        ("mbarrier.init.shared.b64 [%r1+8],1048576;", vec!["InvalidCount { count: 1048576 }"]),
        (
            "mbarrier.init.shared.b64 [%r1],1;",
            vec!["InitialisedAgain { first: None, first_thread: [0, 0, 0] }"],
        ),
        ("mbarrier.inval.shared.b64 [%r1];mbarrier.init.shared.b64 [%r1],1;", vec![]),
        ("mbarrier.arrive.shared.b64 _,[%r1],3;", vec!["TooManyArrivals { count: 3, pending: 2 }"]),
        ("mbarrier.arrive.shared.b64 _,[%r1],0;", vec!["InvalidCount { count: 0 }"]),
        ("mbarrier.arrive.noComplete.shared.b64 _,[%r1],2;", vec!["MayNotComplete"]),
        ("mbarrier.arrive.noComplete.shared.b64 _,[%r1],1;", vec![]),
        (
            // Both drop out, so that nobody may come any more.
            "mbarrier.arrive_drop.shared.b64 _,[%r1],2;mbarrier.arrive.shared.b64 _,[%r1];",
            vec!["TooManyArrivals { count: 1, pending: 0 }"],
        ),
        ("mbarrier.test_wait.shared.b64 %p1,[%r1+8],%rd1;", vec!["NotInitialised"]),
        (
            "mbarrier.inval.shared.b64 [%r1];mbarrier.arrive.shared.b64 _,[%r1];",
            vec!["NotInitialised"],
        ),
        (
            "mbarrier.arrive.shared.b64 %rd1,[%r1],2;mbarrier.arrive.shared.b64 _,[%r1],2;\
             mbarrier.test_wait.shared.b64 %p1,[%r1],%rd1;",
            vec!["OldToken"],
        ),
        ("ld.shared.b32 %r2,[%r1+4];", vec!["Touched { access: Read, size: 4 }"]),
        ("st.shared.b8 [%r1+7],%r1;", vec!["Touched { access: Write, size: 1 }"]),
        ("atom.shared.add.u32 %r2,[%r1],1;", vec!["Touched { access: Atomic, size: 4 }"]),
        ("st.shared.b64 [%r1+8],%rd8;", vec![]),
        (
            "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1],1048576;",
            vec!["InvalidCount { count: 1048576 }"],
        ),
        (
            "L:mbarrier.try_wait.parity.shared.b64 %p1,[%r1],0;@!%p1 bra L;",
            vec!["NeverCompletes { arrivals: 2, bytes: 0 }"],
        ),
        (
            "mbarrier.arrive.expect_tx.shared.b64 _,[%r1],16;mbarrier.arrive.shared.b64 _,[%r1];\
             L:mbarrier.test_wait.parity.shared.b64 %p1,[%r1],0;@!%p1 bra L;",
            vec!["NeverCompletes { arrivals: 0, bytes: 16 }"],
        ),
    ] {
        assert_eq!(misuses(instructions), right, "{instructions}");
    }
}

#[test]
fn a_bulk_copy_comes_with_its_phase() {
    let copy = "mbarrier.inval.shared.b64 [%r1];mbarrier.init.shared.b64 [%r1+8],1;\
                cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1-16],[%rd8],16,[%r1+8];";
    // It lies before the objects: outside.
    assert_eq!(misuses(copy), ["OutOfBounds"]);
    let kernel = |size: u32, wait: &str| {
        format!(
            ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p){{\n\
             .reg .b32 %r<9>;.reg .b64 %rd<9>;.reg .pred %p<9>;\n\
             .shared .align 16 .b8 all[64];\n\
             mov.u32 %r1,all;add.u32 %r2,%r1,48;ld.param.u64 %rd1,[p];\n\
             mbarrier.init.shared.b64 [%r2],1;\n\
             mbarrier.arrive.expect_tx.shared.b64 %rd2,[%r2],{size};\n\
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1],[%rd1],{size},[%r2];\n\
             {wait}\n\
             ld.shared.u64 %rd3,[%r1+24];st.global.u64 [%rd1],%rd3;ret;\n}}\n"
        )
    };
    let wait = "L:mbarrier.try_wait.shared.b64 %p1,[%r2],%rd2;@!%p1 bra L;";
    let run = |text: &str| {
        let mut device = Device::new(text);
        let buffer = device.in_out(&[1u64, 2, 3, 4]);
        let params = vec![device.pointer(buffer)];
        let outcome = device.launch("k", [1; 3], [1; 3], 0, params);
        (outcome.findings.len(), device.read::<u64>(buffer)[0])
    };
    assert_eq!(run(&kernel(32, wait)), (0, 4));
    // Half of it, and what nobody has copied is read; 24 bytes are no whole number of 16.
    assert_eq!(run(&kernel(16, wait)).0, 1);
    assert!(run(&kernel(24, wait)).0 >= 1);
}

/// What belongs to a phase is ordered by it, even if the thread that copies waits for its copies afterwards.
#[test]
fn a_wait_for_copies_of_a_phase_changes_no_order() {
    let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q) {\n\
        .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .shared .align 16 .b8 words[512]; .shared .align 8 .b64 object;\n\
        ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; mov.u32 %r1, %tid.x; mov.u32 %r2, words; mov.u32 %r3, object;\n\
        setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [%r3], 64; bar.sync 0; setp.lt.u32 %p2, %r1, 64; @!%p2 bra reads;\n\
        shl.b32 %r4, %r1, 2; add.s32 %r5, %r2, %r4; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3;\n\
        cp.async.ca.shared.global [%r5], [%rd4], 4; cp.async.mbarrier.arrive.noinc.shared.b64 [%r3]; cp.async.wait_all; ret;\n\
        reads: mbarrier.test_wait.parity.shared.b64 %p3, [%r3], 0; @!%p3 bra reads; sub.s32 %r6, %r1, 64; shl.b32 %r4, %r6, 2;\n\
        add.s32 %r5, %r2, %r4; ld.shared.u32 %r7, [%r5]; mul.wide.u32 %rd3, %r6, 4; add.s64 %rd4, %rd2, %rd3;\n\
        st.global.u32 [%rd4], %r7; ret;\n}\n";
    let mut device = Device::new(ptx);
    let x: Vec<u32> = (0..64).collect();
    let (input, output) = (device.input(&x), device.output::<u32>(64));
    let params = vec![device.pointer(input), device.pointer(output)];
    device.run("k", 1, 128, params);
    assert_eq!(device.read::<u32>(output), x);
}
