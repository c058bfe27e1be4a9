//! Barriers in the usual shapes, at all levels of optimisation: right kernels have no finding, wrong ones theirs.

use crate::support::{Device, fixture, marks};
use ptxvm::{FindingKind, Outcome};

const SOURCE: &str = include_str!("../fixtures/barriers.cu");
const LEVELS: [(&str, &str); 4] = [
    ("-G", "fixtures/barriers_G.ptx"),
    ("-O0", "fixtures/barriers_O0.ptx"),
    ("-O1", "fixtures/barriers_O1.ptx"),
    ("-O3", "fixtures/barriers_O3.ptx"),
];
const GOOD: [&str; 11] = [
    "early_whole_warps",
    "early_none",
    "early_part_of_warp",
    "uniform_loop",
    "uniform_branches",
    "reduction",
    "search",
    "count_and_return",
    "assertion_in_a_loop",
    "case_that_never_comes",
    "traps_on_both_sides",
];

/// Two blocks of 64 threads, the second of which has nothing to do where the kernel asks for its number.
fn run(ptx: &str, kernel: &str, blocks: u32, n: i32) -> (Outcome, Vec<f32>) {
    let mut device = Device::new(&fixture(ptx));
    let values: Vec<f32> = (0..128).map(|i| (i * 5 % 13) as f32).collect();
    let source = device.input(&values);
    let target = device.in_out(&vec![0f32; 128]);
    let params = vec![device.pointer(source), device.pointer(target), n.to_le_bytes().to_vec()];
    let outcome = device.launch(kernel, [blocks, 1, 1], [64, 1, 1], 0, params);
    (outcome, device.read(target))
}

#[test]
fn right_kernels_have_no_finding_and_agree() {
    for kernel in GOOD {
        for n in [1, 20, 32, 33, 40, 63, 64] {
            let n = if kernel == "early_part_of_warp" { 64 } else { n };
            let blocks = if kernel == "early_none" { 2 } else { 1 };
            let runs = LEVELS.map(|(level, ptx)| {
                let (outcome, values) = run(ptx, kernel, blocks, n);
                assert_eq!(outcome.findings, [], "{kernel} at {level} with n = {n}");
                values
            });
            assert!(runs.iter().all(|values| *values == runs[0]), "{kernel} with n = {n}");
        }
    }
}

#[test]
fn wrong_kernels_have_theirs() {
    for kernel in ["bad_branch", "bad_loop"] {
        let wanted: Vec<u32> = marks(SOURCE, kernel).iter().map(|mark| mark.0).collect();
        assert_eq!(wanted.len(), 1, "{kernel}");
        for (level, ptx) in LEVELS {
            let (outcome, _) = run(ptx, kernel, 1, 64);
            let found: Vec<Option<u32>> = outcome
                .findings
                .iter()
                .filter(|finding| matches!(finding.kind, FindingKind::BarrierDivergence(_)))
                .map(|finding| finding.loc.as_ref().map(|loc| loc.line))
                .collect();
            assert_eq!(found, [Some(wanted[0])], "{kernel} at {level}: {:?}", outcome.findings);
        }
    }
}
