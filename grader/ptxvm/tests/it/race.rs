//! Races in shared memory: found with both lines and both threads, and none where there is none.

use ptxvm::finding::{RaceKind, SharedRace};
use ptxvm::{Finding, FindingKind};

use crate::support::{Device, Plain, integers, marks};

const PTX: &str = "fixtures/race.ptx";
const SOURCE: &str = include_str!("../fixtures/race.cu");

fn describe(finding: &Finding) -> (u32, String) {
    let line = finding.loc.as_ref().expect("a line").line;
    let FindingKind::SharedRace(SharedRace { kind, other, same_warp, .. }) = &finding.kind else {
        panic!("{finding:?}")
    };
    let from = i64::from(other.as_ref().expect("a line").line) - i64::from(line);
    let suffix = if *same_warp { " in a warp" } else { "" };
    (line, format!("{kind:?} from {from}{suffix}"))
}

/// Checks that the marks of a kernel are found, and nothing about other lines.
fn expect(kernel: &str, findings: &[Finding]) {
    let wanted: Vec<(u32, String)> =
        marks(SOURCE, kernel).into_iter().map(|(line, mark)| (line, mark.to_owned())).collect();
    assert!(!wanted.is_empty());
    let found: Vec<(u32, String)> = findings.iter().map(describe).collect();
    for mark in &wanted {
        assert!(found.contains(mark), "{kernel}: {found:?} without {mark:?}");
    }
    // One pair of lines may race in either order, and inside a warp as well.
    let lines = |(line, text): &(u32, String)| {
        let from: i64 = text.split(' ').nth(2).and_then(|from| from.parse().ok()).unwrap();
        let other = i64::from(*line) + from;
        (other.min((*line).into()), other.max((*line).into()))
    };
    let pairs: Vec<_> = wanted.iter().map(lines).collect();
    assert!(found.iter().all(|found| pairs.contains(&lines(found))), "{kernel}: {found:?}");
}

#[test]
fn races_between_warps_and_inside_one() {
    let mut device = Device::of(PTX);
    let from = device.input(&integers(256, 1));
    let to = device.output::<f32>(128);
    for (kernel, threads, with_input, n) in [
        ("no_barrier_after_fill", 64, false, None),
        ("no_second_barrier", 64, true, Some(128)),
        ("reduction_without_barrier", 128, true, None),
        ("two_writers", 64, false, None),
        ("warp_without_syncwarp", 32, false, None),
        ("counter_read_too_early", 64, false, None),
        ("bytes", 64, false, None),
        ("volatile_warp", 32, false, None),
    ] {
        let mut params = Vec::new();
        if with_input {
            params.push(device.pointer(from));
        }
        params.push(device.pointer(to));
        params.extend(n.map(Plain::bytes as fn(i32) -> Vec<u8>));
        let outcome = device.launch(kernel, [2, 1, 1], [threads, 1, 1], 0, params);
        expect(kernel, &outcome.findings);
    }
}

#[test]
fn both_threads_are_named() {
    let mut device = Device::of(PTX);
    let to = device.output::<f32>(64);
    let params = vec![device.pointer(to)];
    let outcome = device.launch("no_barrier_after_fill", [1, 1, 1], [64, 1, 1], 0, params);
    // Thread 32 of the second warp reads what thread 31 of the first has written.
    let found = outcome.findings.iter().find_map(|finding| match finding.kind {
        FindingKind::SharedRace(SharedRace {
            kind: RaceKind::ReadAfterWrite,
            other_thread,
            offset,
            ..
        }) => Some((finding.thread.thread, finding.count, other_thread, offset)),
        _ => None,
    });
    assert_eq!(found, Some(([32, 0, 0], 32, Some([31, 0, 0]), 31 * 4)));
}

#[test]
fn no_race_where_there_is_none() {
    let mut device = Device::of(PTX);
    let from = device.input(&integers(256, 1));
    for (kernel, threads, with_input) in [
        ("good_double_buffer", 64, true),
        ("good_same_value", 96, false),
        ("good_syncwarp", 64, false),
        ("good_neighbour_bytes", 64, false),
    ] {
        let to = device.output::<f32>(128);
        let mut params = vec![device.pointer(to)];
        if with_input {
            params.insert(0, device.pointer(from));
            params.push(256i32.bytes());
        }
        // The second launch starts from the shadow of the first.
        let outcome = device.launch(kernel, [3, 1, 1], [threads, 1, 1], 0, params);
        assert_eq!(outcome.findings, [], "{kernel}");
    }
}
