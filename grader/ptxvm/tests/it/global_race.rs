//! Races in global memory, between blocks and between the warps of one.

use ptxvm::finding::GlobalRace;
use ptxvm::{Finding, FindingKind, ThreadId};

use crate::support::{Device, marks};

const PTX: &str = "fixtures/global_race.ptx";
const SOURCE: &str = include_str!("../fixtures/global_race.cu");

fn describe(finding: &Finding) -> (u32, String) {
    let line = finding.loc.as_ref().expect("a line").line;
    let FindingKind::GlobalRace(GlobalRace { kind, other, same_block, .. }) = &finding.kind else {
        panic!("{finding:?}")
    };
    let from = i64::from(other.as_ref().expect("a line").line) - i64::from(line);
    let who = if *same_block { "in a block" } else { "between blocks" };
    (line, format!("{kind:?} from {from} {who}"))
}

/// What is found in `kernel` but for races inside one warp.
fn findings(kernel: &str, blocks: u32) -> Vec<Finding> {
    let mut device = Device::of(PTX);
    let x = device.in_out(&[0i32; 1024]);
    let params = vec![device.pointer(x)];
    let mut found = device.launch(kernel, [blocks, 1, 1], [64, 1, 1], 0, params).findings;
    found
        .retain(|f| !matches!(f.kind, FindingKind::GlobalRace(GlobalRace { same_warp: true, .. })));
    found
}

#[test]
fn races_are_found_with_both_lines() {
    for kernel in [
        "blocks_add",
        "zeroed_while_others_add",
        "neighbour_read_too_early",
        "warps_add",
        "no_barrier",
    ] {
        let found: Vec<(u32, String)> = findings(kernel, 3).iter().map(describe).collect();
        let wanted = marks(SOURCE, kernel);
        assert!(!wanted.is_empty());
        for (line, mark) in wanted {
            assert!(found.contains(&(line, mark.to_owned())), "{kernel}: {found:?}");
        }
    }
}

#[test]
fn the_other_block_and_thread_are_named() {
    let found = findings("blocks_add", 3);
    let FindingKind::GlobalRace(GlobalRace { other_thread, .. }) = found[0].kind else {
        panic!("{found:?}")
    };
    let first = ThreadId { block: [0; 3], thread: [0; 3] };
    assert_eq!((found[0].thread.block, other_thread), ([1, 0, 0], Some(first)));
}

#[test]
fn no_race_where_there_is_none() {
    for kernel in [
        "good_barrier",
        "good_atomics",
        "good_cas_loop",
        "good_same_value",
        "good_halves",
        "good_rows",
        "good_last_block",
    ] {
        assert_eq!(findings(kernel, 3), [], "{kernel}");
    }
}

#[test]
fn a_first_block_that_ran_before_the_others_is_remembered() {
    // Enough blocks for several host threads; only block 0 writes what the others add to.
    let found = findings("zeroed_while_others_add", 20_000);
    assert!(
        found.iter().any(|f| matches!(
            f.kind,
            FindingKind::GlobalRace(GlobalRace { same_block: false, .. })
        ))
    );
}

/// Each thread reads the word behind its own through one pointer and writes its own through another one, which `through` loads
/// into %rd2.
fn shifted(through: &str, params: impl Fn(&mut Device) -> [Vec<u8>; 2]) -> bool {
    let text = format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n\
         .visible .entry shifted(.param .u64 p, .param .u64 q)\n{{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n\
         ld.param.u64 %rd1, [p];\nld.param.u64 %rd2, [q];\n{through}\n\
         mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\nmad.lo.s32 %r3, %r1, 64, %r2;\n\
         mul.wide.s32 %rd3, %r3, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\n\
         ld.global.u32 %r4, [%rd4+4];\nst.global.u32 [%rd5], %r4;\nret;\n}}"
    );
    let mut device = Device::new(&text);
    let params = params(&mut device).to_vec();
    let found = device.launch("shifted", [3, 1, 1], [64, 1, 1], 0, params).findings;
    found.iter().any(|finding| matches!(finding.kind, FindingKind::GlobalRace(_)))
}

#[test]
fn reads_race_with_writes_through_another_pointer() {
    let values: Vec<i32> = (0..256).collect();
    let two = shifted("", |device| {
        let (p, q) = (device.in_out(&values), device.in_out(&values));
        [device.pointer(p), device.pointer(q)]
    });
    assert!(!two, "two buffers");
    let one = shifted("", |device| {
        let p = device.in_out(&values);
        [device.pointer(p), device.pointer(p)]
    });
    assert!(one, "one buffer, given twice");
    let hidden = shifted("ld.global.u64 %rd2, [%rd2];", |device| {
        let p = device.in_out(&values);
        let pointer = u64::from_le_bytes(device.pointer(p).try_into().unwrap());
        let table = device.in_out(&[pointer as i32, (pointer >> 32) as i32]);
        [device.pointer(p), device.pointer(table)]
    });
    assert!(hidden, "one buffer, the second time by a pointer in memory");
}
