//! Member masks of warp operations: wrong ones are found at their line, right ones give the right results.

use crate::support::Device;
use ptxvm::finding::InvalidMembers;
use ptxvm::{Finding, FindingKind, Outcome};

const PTX: &str = "fixtures/members.ptx";
const SOURCE: &str = include_str!("../fixtures/members.cu");

fn run(kernel: &str, extra: Option<i32>) -> (Outcome, Vec<i32>) {
    let mut device = Device::of(PTX);
    let target = device.in_out(&[0i32; 32]);
    let mut params = vec![device.pointer(target)];
    params.extend(extra.map(|n| n.to_le_bytes().to_vec()));
    let outcome = device.launch(kernel, [1, 1, 1], [32, 1, 1], 0, params);
    (outcome, device.read(target))
}

/// The line of a kernel that says BAD.
fn bad_line(kernel: &str) -> u32 {
    let start = SOURCE.lines().position(|line| line.contains(&format!("{kernel}("))).unwrap();
    let bad = SOURCE.lines().skip(start).position(|line| line.contains("// BAD")).unwrap();
    (start + bad + 1) as u32
}

#[test]
fn wrong_masks_are_found() {
    for (kernel, named, here, thread, count) in [
        ("bad_half_of_the_warp", u32::MAX, 0xffff, 0, 16),
        ("bad_not_in_own_mask", 0xffff, u32::MAX, 16, 16),
        ("bad_syncwarp", u32::MAX, 0xaaaa_aaaa, 1, 16),
    ] {
        let (outcome, _) = run(kernel, None);
        let [finding] = &outcome.findings[..] else { panic!("{kernel}: {:?}", outcome.findings) };
        assert_eq!(
            finding.kind,
            FindingKind::InvalidMembers(InvalidMembers { named, here }),
            "{kernel}"
        );
        assert_eq!(finding.loc.as_ref().map(|loc| loc.line), Some(bad_line(kernel)), "{kernel}");
        assert_eq!((finding.thread.thread, finding.count), ([thread, 0, 0], count), "{kernel}");
    }
    // The compiler unrolls the loop: which lanes are left where is its matter.
    let (outcome, _) = run("bad_loop_of_different_length", None);
    let line = bad_line("bad_loop_of_different_length");
    let here = |f: &Finding| f.loc.as_ref().is_some_and(|loc| loc.line == line);
    let invalid = |f: &Finding| matches!(f.kind, FindingKind::InvalidMembers(_));
    assert!(!outcome.findings.is_empty());
    assert!(outcome.findings.iter().all(|f| here(f) && invalid(f)), "{:?}", outcome.findings);
}

fn right(kernel: &str, extra: Option<i32>) -> Vec<i32> {
    let (outcome, values) = run(kernel, extra);
    assert_eq!(outcome.findings, [], "{kernel}");
    values
}

#[test]
fn right_masks_are_not() {
    let first =
        |n: usize, value: i32| (0..32).map(|i| if i < n { value } else { 0 }).collect::<Vec<_>>();
    assert_eq!(right("good_after_early_return", Some(20)), first(20, 20));
    assert_eq!(right("good_returned_lanes_are_named", Some(20)), first(20, 20));
    let halves: Vec<i32> = (0..32).map(|i| if i < 16 { 216 } else { 116 }).collect();
    assert_eq!(right("good_two_halves", None), halves);
    let moved: Vec<i32> = (0..32)
        .map(|i| {
            if i < 8 {
                i + 8
            } else if i < 24 {
                i
            } else {
                i - 8
            }
        })
        .collect();
    assert_eq!(right("good_two_halves_in_two_branches", None), moved);
    assert_eq!(right("good_ballot_then_branch", Some(20))[0], (0..20).sum());
    assert_eq!(right("good_first_warp_only", None), vec![(0..32).sum(); 32]);
    let tiles: Vec<i32> = (0..32).map(|i| 28 + i32::from(i / 8 == 1)).collect();
    assert_eq!(right("good_tiles", None), tiles);
    let group: Vec<i32> = (0..32).map(|i| if i % 3 == 0 { 4 + 11 } else { 0 }).collect();
    assert_eq!(right("good_coalesced_group", None), group);
}
