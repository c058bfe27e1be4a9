//! Forms of PTX that nvcc rarely writes or never: parameters in registers, a stack that grows, special registers as vectors, and
//! addresses in initial values. An H100 gives the same.

use ptxvm::FindingKind;
use ptxvm::finding::StackOverflow;

use crate::support::Device;

/// A kernel of one word for each of its threads: `%r1` is stored at the end, `%r2` is the number of the thread.
fn module(declarations: &str, body: &str) -> String {
    format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n{declarations}\n.visible .entry k(.param .u64 out)\n{{\n\
         .reg .b16 %h<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .pred %p<9>;\n\
         ld.param.u64 %rd1, [out]; mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd1, %rd1, %rd2;\n\
         {body}\nst.global.u32 [%rd1], %r1;\nret;\n}}\n"
    )
}

fn run(text: &str, threads: u32) -> (Vec<u32>, ptxvm::Outcome) {
    let mut device = Device::new(text);
    let out = device.output::<u32>(threads as usize);
    let params = vec![device.pointer(out)];
    let outcome = device.launch("k", [1, 1, 1], [threads, 1, 1], 0, params);
    (device.read(out), outcome)
}

fn results(declarations: &str, body: &str) -> Vec<u32> {
    let (results, outcome) = run(&module(declarations, body), 40);
    assert_eq!(outcome.findings, []);
    results
}

#[test]
fn parameters_are_passed_in_registers() {
    let add = ".func (.reg .b32 sum) add(.reg .b32 a, .reg .b32 b) { add.u32 sum, a, b; ret; }";
    let got = results(add, "call.uni (%r1), add, (%r2, 5);");
    assert_eq!(got, (5..45).collect::<Vec<_>>());
    // Two of them call each other, so that each call has a frame.
    let even = ".func (.reg .b32 is) odd(.reg .b32 n);\n\
        .func (.reg .b32 is) even(.reg .b32 n) { .reg .pred p; mov.u32 is, 1; setp.eq.u32 p, n, 0; @p ret;\n\
        sub.u32 n, n, 1; call (is), odd, (n); ret; }\n\
        .func (.reg .b32 is) odd(.reg .b32 n) { .reg .pred p; mov.u32 is, 0; setp.eq.u32 p, n, 0; @p bra END;\n\
        sub.u32 n, n, 1; call (is), even, (n); END: }";
    let got = results(even, "call (%r1), even, (%r2);");
    assert_eq!(got, (0..40).map(|n| 1 - n % 2).collect::<Vec<_>>());
    // A caller may have a register where the function wants a parameter in memory.
    let twice = ".func (.param .b32 r) twice(.param .b32 a) { .reg .b32 x; ld.param.b32 x, [a]; add.u32 x, x, x;\n\
        st.param.b32 [r], x; ret; }";
    assert_eq!(results(twice, "call (%r1), twice, (%r2);")[7], 14);
}

#[test]
fn stacks_grow_and_shrink() {
    let body = "stacksave.u64 %rd3; and.b32 %r3, %r2, 7; shl.b32 %r3, %r3, 4; add.u32 %r3, %r3, 16; cvt.u64.u32 %rd4, %r3;\n\
        alloca.u64 %rd5, %rd4, 16; st.local.u32 [%rd5+12], %r2; alloca.u64 %rd6, 32; st.local.u32 [%rd6], 1000;\n\
        ld.local.u32 %r4, [%rd5+12]; ld.local.u32 %r5, [%rd6]; add.u32 %r1, %r4, %r5; stackrestore.u64 %rd3;\n\
        cvta.local.u64 %rd5, %rd5; and.b64 %rd7, %rd5, 15; cvt.u32.u64 %r6, %rd7; add.u32 %r1, %r1, %r6;";
    assert_eq!(results("", body), (1000..1040).collect::<Vec<_>>());
    // What a function takes is free again when it returns: 100 times 4 KiB fit on 64.
    let function = ".func (.reg .b32 r) f(.reg .b32 a) { .reg .b64 p; alloca.u64 p, 4096; st.local.u32 [p+4092], a;\n\
        ld.local.u32 r, [p+4092]; ret; }";
    let many = "mov.u32 %r1, 0; mov.u32 %r3, 0; LOOP: call (%r4), f, (%r3); add.u32 %r1, %r1, %r4; add.u32 %r3, %r3, 1;\n\
        setp.lt.u32 %p1, %r3, 100; @%p1 bra LOOP;";
    assert_eq!(results(function, many), [4950; 40]);
}

#[test]
fn what_is_not_on_the_stack_is_found() {
    let outside = "alloca.u64 %rd5, 16; st.local.u32 [%rd5+16], %r2; mov.u32 %r1, 0;";
    let unwritten = "alloca.u64 %rd5, 16; ld.local.u32 %r1, [%rd5+4];";
    let gone = "stacksave.u64 %rd3; alloca.u64 %rd5, 16; stackrestore.u64 %rd3; st.local.u32 [%rd5], 1; mov.u32 %r1, 0;";
    let too_large = "mov.u64 %rd4, 100000; alloca.u64 %rd5, %rd4; mov.u32 %r1, 0;";
    let name = |body: &str| {
        let (_, outcome) = run(&module("", body), 32);
        outcome.findings.into_iter().map(|finding| finding.kind).next()
    };
    assert!(matches!(name(outside), Some(FindingKind::OutOfBounds(_))));
    assert!(matches!(name(unwritten), Some(FindingKind::Uninitialised(_))));
    assert!(matches!(name(gone), Some(FindingKind::OutOfBounds(_))));
    assert!(matches!(
        name(too_large),
        Some(FindingKind::StackOverflow(StackOverflow { allocates: true, .. }))
    ));
}

#[test]
fn special_registers_are_vectors() {
    let body = "mov.v4.u32 {%r3, %r4, %r5, %r6}, %ntid; mov.v4.u32 {%r7, _, _, _}, %tid; mad.lo.u32 %r1, %r3, 100, %r7;\n\
        add.u32 %r1, %r1, %r4; add.u32 %r1, %r1, %r6;";
    assert_eq!(results("", body), (4001..4041).collect::<Vec<_>>());
}

#[test]
fn what_a_driver_reserves_in_shared_memory_is_that_of_an_h100() {
    let body = "mov.u32 %r3, %reserved_smem_offset_begin; mov.u32 %r4, %reserved_smem_offset_end; add.u32 %r1, %r3, %r4;\n\
        mov.u32 %r5, %reserved_smem_offset_cap; mad.lo.u32 %r1, %r5, 1000, %r1;";
    assert_eq!(results("", body), [1_024_288; 40]);
}

#[test]
fn initial_values_have_addresses_and_their_bytes() {
    let declarations = ".const .align 4 .u32 cs[4] = {11, 22, 33, 44};\n.global .align 8 .b8 gb[16] = {1, 2, 3, 4};\n\
        .global .u64 pc = generic(cs) + 4;\n.global .align 8 .u8 bytes[8] = {0xff(gb), 0xff00(gb), 0xff0000(gb), 0xff000000(gb),\n\
        0xff00000000(gb), 0xff0000000000(gb), 0xff000000000000(gb), 0xff00000000000000(gb)};";
    let body = "ld.global.u64 %rd3, [pc]; ld.u32 %r3, [%rd3]; ld.global.u64 %rd4, [bytes]; ld.global.u8 %h1, [%rd4+2];\n\
        cvt.u32.u16 %r4, %h1; mad.lo.u32 %r1, %r3, 10, %r4;";
    assert_eq!(results(declarations, body), [223; 40]);
}
