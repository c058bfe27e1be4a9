//! Kernels with fences in launches that are large enough for several host threads.

use ptxvm::finding::GlobalRace;
use ptxvm::{Finding, FindingKind};

use crate::support::{Device, fixture};

const BLOCKS: u32 = 4000;

/// The findings of a kernel with the arguments in, partial, count, out.
fn findings(kernel: &str, threads: usize) -> Vec<Finding> {
    let mut device = Device::new(&fixture("checks/fences.ptx"));
    let input = vec![3; 64 * BLOCKS as usize];
    let buffers = [
        device.in_out(&input),
        device.in_out(&vec![0i32; 64 * BLOCKS as usize]),
        device.in_out(&[0i32]),
        device.in_out(&vec![0i32; 64 * BLOCKS as usize]),
    ];
    let params = buffers.map(|buffer| device.pointer(buffer)).to_vec();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let outcome = pool.install(|| device.launch(kernel, [BLOCKS, 1, 1], [64, 1, 1], 0, params));
    assert!(outcome.lane_instructions > 4 << 20, "too small for several threads");
    outcome.findings
}

#[test]
fn findings_do_not_depend_on_the_number_of_host_threads() {
    for (kernel, races) in [
        ("bad_last_number_is_not_the_last_to_come", 1),
        ("bad_fence_before_the_others_wrote", 1),
        ("good_every_thread_fences", 0),
        ("good_one_thread_fences_for_all", 0),
    ] {
        let alone = findings(kernel, 1);
        let between_blocks = |f: &&Finding| {
            matches!(f.kind, FindingKind::GlobalRace(GlobalRace { same_block: false, .. }))
        };
        assert_eq!(alone.iter().filter(between_blocks).count(), races, "{kernel}: {alone:?}");
        assert_eq!(alone.len(), races, "{kernel}");
        assert_eq!(findings(kernel, 3), alone, "{kernel}");
    }
}
