//! The host's side of memory, traces and order.

use ptxvm::{Access, AccessKind, BufferId, FindingKind, Init, Memory};

use crate::support::{Device, Plain, integers};

#[test]
fn host_access() {
    let mut memory = Memory::default();
    let a = memory.alloc(Init::Bytes(vec![1, 2, 3]), Access::ReadOnly);
    let b = memory.alloc(Init::Undefined { len: 5 }, Access::ReadWrite);
    assert_eq!(memory.bytes(a), [1, 2, 3]);
    assert_eq!(memory.defined(a), [true; 3]);
    assert_eq!(memory.bytes(b), [0xFF; 5]);
    assert_eq!(memory.defined(b), [false; 5]);
    assert_eq!(memory.defined_elements(a, 2), [true; 2]);
    assert_eq!(memory.defined_elements(b, 2), [false; 3]);
    assert_eq!(memory.size(b), 5);
    assert_eq!(memory.address(b) % 256, 0);
    assert_eq!(memory.locate(memory.address(b) + 7), Some((b, 7)));
    assert_eq!(memory.bytes(BufferId(9)), []);
}

#[test]
fn trace_of_one_thread() {
    let mut device = Device::of("fixtures/bad.ptx");
    let (from, to) = (device.input(&integers(40, 1)), device.output::<f32>(40));
    let params = vec![device.pointer(from), device.pointer(to), 40i32.bytes()];
    device.options.trace = Some(([1, 0, 0], [7, 0, 0]));
    let outcome = device.launch("off_by_one", [2, 1, 1], [32, 1, 1], 0, params.clone());
    let seen: Vec<_> = outcome
        .trace
        .iter()
        .map(|t| (t.kind, t.buffer, t.offset, t.size, t.loc.as_ref().unwrap().line))
        .collect();
    assert_eq!(
        seen,
        [(AccessKind::Read, Some(from), 156, 4, 6), (AccessKind::Write, Some(to), 156, 4, 7)]
    );
    // A thread that misses is traced as well, and one that does not exist traces nothing.
    device.options.trace = Some(([1, 0, 0], [8, 0, 0]));
    let outcome = device.launch("off_by_one", [2, 1, 1], [32, 1, 1], 0, params.clone());
    assert_eq!(outcome.trace[0].offset, 160);
    device.options.trace = Some(([1, 0, 0], [32, 0, 0]));
    assert_eq!(device.launch("off_by_one", [2, 1, 1], [32, 1, 1], 0, params).trace, []);
}

#[test]
fn findings_do_not_depend_on_the_number_of_host_threads() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut device = Device::of("fixtures/bad.ptx");
            let (from, to) = (device.input(&integers(3000, 1)), device.output::<f32>(90_000));
            let params = vec![device.pointer(from), device.pointer(to), 100_000i32.bytes()];
            let outcome = device.launch("off_by_one", [400, 1, 1], [256, 1, 1], 0, params);
            (outcome.findings, outcome.lane_instructions, device.memory.bytes(to))
        })
    };
    let one = run(1);
    assert_eq!(one.0.len(), 2);
    assert_eq!(
        (one.0[0].thread.block, one.0[0].thread.thread, one.0[0].count),
        ([11, 0, 0], [184, 0, 0], 97_001)
    );
    for _ in 0..3 {
        assert_eq!(run(4), one);
    }
}

#[test]
fn memory_does_not_depend_on_the_number_of_host_threads() {
    const BLOCKS: usize = 300;
    let run = |threads: usize, kernel: &str, first_words: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut device = Device::of("fixtures/order.ptx");
            let count = device.in_out(&[0i32; 8]);
            let out = device.in_out(&vec![0i32; (BLOCKS + 1) * 64]);
            let mut params = vec![device.pointer(out)];
            if kernel == "commutes" {
                params.insert(0, device.pointer(count));
            }
            let grid = [BLOCKS as u32, 1, 1];
            let outcome = device.launch(kernel, grid, [64, 1, 1], 0, params);
            // That blocks race is the point of these kernels.
            let mut findings = outcome.findings;
            findings.retain(|found| !matches!(found.kind, FindingKind::GlobalRace(_)));
            let bytes = device.memory.bytes(out)[..first_words * 4].to_vec();
            (findings, outcome.lane_instructions, bytes, device.memory.bytes(count))
        })
    };
    for (kernel, words) in [
        ("sum_without_atomics", 1),
        ("from_the_block_before", (BLOCKS + 1) * 64),
        ("last_writer", 64),
        ("commutes", BLOCKS * 64),
        ("endless_later", BLOCKS * 64),
    ] {
        let one = run(1, kernel, words);
        assert_eq!(one.0.len(), usize::from(kernel == "endless_later"), "{kernel}: {:?}", one.0);
        assert!(one.2.iter().any(|&byte| byte != 0), "{kernel} leaves nothing");
        for _ in 0..5 {
            assert_eq!(run(4, kernel, words), one, "{kernel}");
        }
    }
}

/// What 8 blocks of 256 threads leave that need some thousand instructions each; of so many host threads, if one block `alone` owns
/// each word, or else the last one.
fn large(threads: usize, budget: u64, alone: bool) -> (Vec<u32>, u64) {
    let adds = "add.u32 %r1,%r1,%r2;\n".repeat(1500);
    let own = if alone { "mad.lo.s32 %r2,%r3,%r4,%r2;\n" } else { "" };
    let text = format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 out){{\n\
         .reg .b32 %r<5>;.reg .b64 %rd<3>;\nld.param.u64 %rd1,[out];\nmov.u32 %r2,%tid.x;\n\
         mov.u32 %r3,%ctaid.x;\nmov.u32 %r4,%ntid.x;\nmov.u32 %r1,%r3;\n{adds}bar.sync 0;\n{adds}\
         {own}mul.wide.u32 %rd2,%r2,4;\nadd.u64 %rd1,%rd1,%rd2;\nst.global.u32 [%rd1],%r1;\nret;\n}}\n"
    );
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut device = Device::new(&text);
        device.options.budget = budget;
        let out = device.output::<u32>(if alone { 8 * 256 } else { 256 });
        let params = vec![device.pointer(out)];
        let outcome = device.launch("k", [8, 1, 1], [256, 1, 1], 0, params);
        assert_eq!(outcome.findings.is_empty(), alone, "{:?}", outcome.findings);
        (device.read::<u32>(out), outcome.lane_instructions)
    })
}

#[test]
fn host_threads_that_share_a_launch_from_the_first_block_on_leave_what_one_does() {
    // A block needs more than a quarter of the second one: it could be endless.
    for budget in [1 << 20, 24_000] {
        let thread = |at: u32| at / 256 + at % 256 * 3000;
        let wanted: Vec<u32> = (0..8 * 256).map(thread).collect();
        let one = large(1, budget, true);
        assert_eq!(one.0, wanted);
        assert_eq!(large(4, budget, true), one);
        let one = large(1, budget, false);
        assert_eq!(one.0, wanted[7 * 256..]);
        assert_eq!(large(4, budget, false), one);
    }
    // Too little for any block.
    assert_eq!(stopped(1), stopped(4));
}

/// What a large launch leaves of which no block behind the 200th ends.
fn stopped(threads: usize) -> (Vec<ptxvm::Finding>, Vec<u8>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut device = Device::of("fixtures/order.ptx");
        let out = device.in_out(&vec![0i32; 4000 * 64]);
        device.options.budget = 1000;
        let params = vec![device.pointer(out)];
        let outcome = device.launch("endless_later", [4000, 1, 1], [64, 1, 1], 0, params);
        assert_eq!(outcome.findings.len(), 1);
        (outcome.findings, device.memory.bytes(out))
    })
}

#[test]
fn a_variable_that_was_never_set_does_not_look_like_zero() {
    let text = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 out){\n\
                .reg .f32 %f<3>;.reg .b64 %rd<3>;\nld.param.u64 %rd1,[out];\n\
                add.rn.f32 %f2,%f1,0f3F800000;\nst.global.f32 [%rd1],%f2;\nst.global.u64 [%rd1+8],%rd2;\nret;\n}\n";
    let mut device = Device::new(text);
    let out = device.output::<u64>(2);
    let params = vec![device.pointer(out)];
    device.run("k", 1, 1, params);
    let words = device.read::<u64>(out);
    assert!(f32::from_bits(words[0] as u32).is_nan());
    assert_eq!(words[1], u64::MAX);
}

/// A value that nobody has set may be loaded, as from an object that a function returns in part, if it is not chosen then.
#[test]
fn an_uninitialised_value_counts_where_it_is_chosen() {
    let text = ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u32 n)\n{\n\
                .local .align 4 .b8 d[4];\n.reg .b32 %r<5>;\n.reg .pred %p<3>;\n\
                ld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nsetp.lt.u32 %p1, %r2, %r1;\n\
                @%p1 st.local.u32 [d], %r2;\nld.local.u32 %r3, [d];\nsetp.lt.u32 %p2, %r2, 4;\n\
                selp.b32 %r4, %r3, 7, %p2;\nret;\n}\n";
    let findings =
        |set: u32| Device::new(text).launch("k", [1; 3], [32, 1, 1], 0, vec![set.bytes()]).findings;
    assert_eq!(findings(4), []);
    let found = findings(2);
    assert!(matches!(found[0].kind, FindingKind::Uninitialised(_)), "{found:?}");
    assert_eq!((found.len(), found[0].count, found[0].thread.thread), (1, 2, [2, 0, 0]));
}
