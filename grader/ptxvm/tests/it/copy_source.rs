//! Writes to what an asynchronous copy still reads.

use crate::support::Device;
use ptxvm::FindingKind;

/// What a kernel of one warp finds. `%rd1` is the thread's own 16 bytes of the input, `%r3` its own place in shared memory, `%p1` set for
/// the first thread.
fn run(body: &str) -> Vec<FindingKind> {
    let mut device = Device::new(&format!(
        ".version 8.3\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q) {{\n\
         .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .shared .align 16 .b8 room[512];\n\
         ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 4; setp.eq.u32 %p1, %r1, 0;\n\
         cvt.u64.u32 %rd3, %r2; add.s64 %rd1, %rd1, %rd3; mov.u32 %r3, room; add.s32 %r3, %r3, %r2; mov.u32 %r4, room;\n\
         {body}\nret;\n}}\n"
    ));
    let (input, out) = (device.in_out(&[7u32; 128]), device.in_out(&[0u32; 128]));
    let params = [input, out].map(|buffer| device.pointer(buffer)).to_vec();
    let outcome = device.launch("k", [1, 1, 1], [32, 1, 1], 0, params);
    outcome.findings.into_iter().map(|finding| finding.kind).collect()
}

fn only_sources(findings: &[FindingKind]) -> bool {
    findings.len() == 1 && matches!(findings[0], FindingKind::CopySource(_))
}

#[test]
fn a_thread_must_not_change_what_its_own_copy_reads() {
    let begin = "cp.async.ca.shared.global [%r3], [%rd1], 16; cp.async.commit_group;";
    let wait = "cp.async.wait_group 0;";
    for (change, wrong) in [
        ("st.global.u32 [%rd1], 1;", true),
        ("st.global.u32 [%rd1+12], 1;", true),
        ("atom.global.add.u32 %r5, [%rd1+8], 1;", true),
        // Not what it reads, or not a change.
        ("st.global.u32 [%rd2], 0;", false),
        ("ld.global.u32 %r5, [%rd1];", false),
    ] {
        let findings = run(&format!("{begin} {change} {wait}"));
        assert_eq!(only_sources(&findings), wrong, "{change}: {findings:?}");
        assert_eq!(findings.is_empty(), !wrong, "{change}: {findings:?}");
        assert_eq!(run(&format!("{begin} {wait} {change}")), [], "{change}");
    }
    // Of two groups the last is still on its way, which reads other bytes.
    let two = "cp.async.ca.shared.global [%r3], [%rd1], 8; cp.async.commit_group; add.s32 %r5, %r3, 8;\n\
               cp.async.ca.shared.global [%r5], [%rd1+8], 8; cp.async.commit_group; cp.async.wait_group 1;";
    assert_eq!(run(&format!("{two} st.global.u32 [%rd1+4], 1; {wait}")), []);
    assert!(only_sources(&run(&format!("{two} st.global.u32 [%rd1+8], 1; {wait}"))));
    // A copy that reads fewer bytes than it writes.
    let part =
        "mov.u32 %r5, 4; cp.async.ca.shared.global [%r3], [%rd1], 16, %r5; cp.async.commit_group;";
    assert_eq!(run(&format!("{part} st.global.u32 [%rd1+4], 1; {wait}")), []);
    assert!(only_sources(&run(&format!("{part} st.global.u32 [%rd1], 1; {wait}"))));
}

#[test]
fn nobody_may_change_what_a_bulk_copy_still_reads() {
    let begin = "st.shared.v4.u32 [%r3], {%r1, %r1, %r1, %r1}; bar.sync 0;\n\
                 @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r4], 256;";
    let commit = "cp.async.bulk.commit_group;";
    let (own, other) =
        ("@%p1 st.shared.u32 [%r3], 9;", "bar.sync 0; @!%p1 st.shared.u32 [%r3], 9;");
    for wait in ["cp.async.bulk.wait_group.read 0;", "cp.async.bulk.wait_group 0;"] {
        for change in [own, other] {
            let early = run(&format!("{begin} {commit} {change} {wait}"));
            assert!(only_sources(&early), "{change} {early:?}");
            let late = run(&format!("{begin} {commit} {wait} {change}"));
            assert_eq!(late, [], "{change}");
        }
        // Without a group there is nothing to wait for.
        assert!(only_sources(&run(&format!("{begin} {wait} {own}"))));
    }
    // Behind the bytes that are copied everyone may write.
    let behind = "bar.sync 0; setp.ge.u32 %p2, %r1, 16; @%p2 st.shared.u32 [%r3], 9;";
    assert_eq!(run(&format!("{begin} {commit} {behind} cp.async.bulk.wait_group.read 0;")), []);
    // Two groups: the first is done, the last is not.
    let second = "add.s32 %r5, %r4, 256; add.s64 %rd4, %rd2, 256;\n\
                  @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd4], [%r5], 256; cp.async.bulk.commit_group;\n\
                  cp.async.bulk.wait_group.read 1;";
    let write =
        |at: &str| format!("@%p1 st.shared.u32 [{at}], 9; cp.async.bulk.wait_group.read 0;");
    assert_eq!(run(&format!("{begin} {commit} {second} {}", write("%r4"))), []);
    assert!(only_sources(&run(&format!("{begin} {commit} {second} {}", write("%r5")))));
}
