//! Words of 128 bits, and pairs of floats in words of 64.

use crate::support::Device;
use ptxvm::finding::Misaligned;
use ptxvm::{FindingKind, Module};

/// A kernel with a pointer to what it changes, `%rd1`, and the thread's place in it, `%rd2`: 16 bytes each.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 data){{\n\
         .reg .b32 %r<9>;.reg .b64 %rd<20>;.reg .b128 %rq<6>, whole;\n.shared .b128 words[2];\n\
         ld.param.u64 %rd1,[data];\nmov.u32 %r1,%tid.x;\nmad.wide.u32 %rd2,%r1,16,%rd1;\n{body}\nret;\n}}\n"
    )
}

/// What two threads leave of some words.
fn left<const N: usize>(body: &str, words: [u64; N]) -> Vec<u64> {
    let mut device = Device::new(&kernel(body));
    let data = device.in_out(&words);
    let params = vec![device.pointer(data)];
    device.run("k", 1, 2, params);
    device.read(data)
}

#[test]
fn registers_are_packed_moved_and_unpacked() {
    let body = "ld.global.v2.u64 {%rd3,%rd4},[%rd2];\nmov.b128 %rq1,{%rd3,%rd4};\nmov.b128 whole,%rq1;\n\
                mov.b128 {%rd5,%rd6},whole;\nmov.b128 %rq5,{%rd6,7};\nst.global.b128 [%rd2],%rq5;";
    assert_eq!(left(body, [1, 2, 3, 4]), [2, 7, 4, 7]);
    // The registers that are written are those that are read.
    let body = "ld.global.b128 %rq1,[%rd2];\nmov.b128 {%rd3,%rd4},%rq1;\nmov.b128 %rq1,{%rd4,%rd3};\n\
                mov.b128 {%rd4,%rd3},%rq1;\nadd.u64 %rd4,%rd4,10;\nst.global.v2.u64 [%rd2],{%rd3,%rd4};";
    assert_eq!(left(body, [1, 2, 3, 4]), [1, 12, 3, 14]);
}

#[test]
fn they_go_through_shared_memory_and_under_a_predicate() {
    let body = ".reg .pred %p;\nsetp.eq.u32 %p,%r1,1;\nld.relaxed.gpu.global.b128 %rq2,[%rd2];\nmov.u64 %rd9,words;\n\
                cvt.u32.u64 %r2,%rd9;\nmad.lo.u32 %r3,%r1,16,%r2;\nst.shared.b128 [%r3],%rq2;\nbar.sync 0;\n\
                xor.b32 %r4,%r1,1;\nmad.lo.u32 %r4,%r4,16,%r2;\n@%p ld.shared.b128 %rq2,[%r4];\n\
                st.relaxed.gpu.b128 [%rd2],%rq2;";
    assert_eq!(left(body, [1, 2, 3, 4]), [1, 2, 1, 2]);
}

#[test]
fn they_are_exchanged_and_compared_at_once() {
    // The second thread finds what the first one left.
    let body = "mov.b128 %rq1,{5,6};\natom.global.exch.b128 %rq2,[%rd1],%rq1;\nst.global.b128 [%rd2+16],%rq2;";
    assert_eq!(exchanged(body), [5, 6, 1, 2, 5, 6]);
    // The same in shared memory, and with a generic address.
    let body = "mov.u64 %rd9,words;\nld.global.b128 %rq3,[%rd1];\nst.shared.b128 [%rd9],%rq3;\nbar.sync 0;\n\
                mov.b128 %rq1,{5,6};\ncvta.shared.u64 %rd9,%rd9;\natom.acq_rel.cta.exch.b128 %rq2,[%rd9],%rq1;\n\
                st.global.b128 [%rd2+16],%rq2;";
    assert_eq!(exchanged(body), [1, 2, 1, 2, 5, 6]);
    // Both halves count.
    for (expected, left) in [("1,2", [5, 6]), ("1,3", [1, 2]), ("0,2", [1, 2])] {
        let body = format!(
            "mov.b128 %rq1,{{{expected}}};\nmov.b128 %rq2,{{5,6}};\natom.global.cas.b128 %rq3,[%rd1],%rq1,%rq2;\n\
             st.global.b128 [%rd2+16],%rq3;"
        );
        let [low, high] = left;
        assert_eq!(exchanged(&body), [low, high, 1, 2, low, high], "{expected}");
    }
}

/// What two threads leave of two words and the four behind them.
fn exchanged(body: &str) -> Vec<u64> {
    left(body, [1, 2, 0, 0, 0, 0])
}

#[test]
fn an_address_is_a_multiple_of_16() {
    let mut device =
        Device::new(&kernel("ld.global.b128 %rq1,[%rd2+8];\nst.global.b128 [%rd2],%rq1;"));
    let data = device.in_out(&[0u64; 6]);
    let params = vec![device.pointer(data)];
    let outcome = device.launch("k", [1, 1, 1], [1, 1, 1], 0, params);
    assert!(
        matches!(outcome.findings[0].kind, FindingKind::Misaligned(Misaligned { size: 16, .. })),
        "{:?}",
        outcome.findings
    );
}

#[test]
fn what_is_not_there_refuses_its_kernel_alone() {
    let refused = "atom.global.add.b128 %rq1,[%rd1],%rq2;";
    let text = format!(
        "{}.visible .entry other(){{ret;}}",
        kernel(&format!("{refused}\nadd.u64 %rd3,%rd3,1;"))
    );
    let module = Module::load(&text).expect("it loads");
    let refusal = module.kernel("k").and_then(ptxvm::Kernel::refusal).expect("a refusal");
    assert!(refusal.message.contains("words of 128 bits"), "{refusal}");
    assert_eq!(module.kernel("other").expect("it is there").refusal(), None);
    for wrong in [
        "add.u64 %rd3,%rq1,1;",
        "mov.b128 %rq1,%rd3;",
        "ld.global.b128 %rd3,[%rd1];",
        "ld.global.u64 %rd3,[%rq1];",
    ] {
        let module = Module::load(&kernel(wrong)).expect("it loads");
        assert!(module.kernel("k").and_then(ptxvm::Kernel::refusal).is_some(), "{wrong}");
    }
}

/// The pair that an instruction makes of three, low half first.
fn pair(instruction: &str, sources: [[f32; 2]; 3]) -> [u32; 2] {
    let words =
        sources.map(|[low, high]| u64::from(low.to_bits()) | u64::from(high.to_bits()) << 32);
    let load = "ld.global.v2.u64 {%rd3,%rd4},[%rd1];\nld.global.u64 %rd5,[%rd1+16];\nbar.sync 0;";
    let body =
        format!("{load}\n{instruction}\nst.global.u64 [%rd2+16],%rd6;\nst.global.u64 [%rd2],%rd6;");
    let mut device = Device::new(&kernel(&body));
    let data = device.in_out(&[words[0], words[1], words[2], 0]);
    let params = vec![device.pointer(data)];
    device.run("k", 1, 1, params);
    let result: u64 = device.read(data)[0];
    [result as u32, (result >> 32) as u32]
}

#[test]
fn pairs_of_floats_are_computed_half_by_half() {
    let bits = |values: [f32; 2]| values.map(f32::to_bits);
    let (tiny, ulp) = (f32::MIN_POSITIVE, f32::EPSILON);
    let below_one = 1.0f32.next_down();
    let sources = [[1.5, -2.0], [0.25, 8.0], [1.0, 0.5]];
    assert_eq!(pair("add.f32x2 %rd6,%rd3,%rd4;", sources), bits([1.75, 6.0]));
    assert_eq!(pair("sub.rn.f32x2 %rd6,%rd3,%rd4;", sources), bits([1.25, -10.0]));
    assert_eq!(pair("mul.f32x2 %rd6,%rd3,%rd4;", sources), bits([0.375, -16.0]));
    assert_eq!(pair("fma.rn.f32x2 %rd6,%rd3,%rd4,%rd5;", sources), bits([1.375, -15.5]));
    // A result over a source, and both halves of it read before.
    assert_eq!(pair("add.f32x2 %rd3,%rd3,%rd3;\nmov.b64 %rd6,%rd3;", sources), bits([3.0, -4.0]));
    let sources = [[1.0, -1.0], [ulp / 4.0, ulp / 4.0], [0.0; 2]];
    assert_eq!(pair("add.rp.f32x2 %rd6,%rd3,%rd4;", sources), bits([1.0 + ulp, -below_one]));
    assert_eq!(pair("sub.rm.f32x2 %rd6,%rd3,%rd4;", sources), bits([below_one, -1.0 - ulp]));
    assert_eq!(pair("add.rz.f32x2 %rd6,%rd3,%rd4;", sources), bits([1.0, -below_one]));
    let sources = [[tiny, tiny], [0.5, -0.5], [0.0, -tiny / 2.0]];
    assert_eq!(pair("mul.rn.f32x2 %rd6,%rd3,%rd4;", sources), bits([tiny / 2.0, -tiny / 2.0]));
    assert_eq!(pair("mul.rn.ftz.f32x2 %rd6,%rd3,%rd4;", sources), bits([0.0, -0.0]));
    assert_eq!(pair("fma.rz.ftz.f32x2 %rd6,%rd3,%rd4,%rd5;", sources), bits([0.0, -0.0]));
    assert_eq!(pair("sub.ftz.f32x2 %rd6,%rd3,%rd5;", sources), bits([tiny, tiny]));
}
