//! Kernels with one mistake each: the finding, its line (marked `//~` in the source), block, thread and count.

use ptxvm::finding::{
    BarrierDivergence, EndlessLoop, Misaligned, OutOfBounds, Trap, Uninitialised, WriteToReadOnly,
};
use ptxvm::{AccessKind, BufferId, FindingKind, Outcome, Space, ThreadId};

use crate::support::{Device, Plain, integers, kind_name, marks};

const PTX: &str = "fixtures/bad.ptx";
const SOURCE: &str = include_str!("../fixtures/bad.cu");

/// Checks that exactly the marked findings are there, and returns them.
fn expect(kernel: &str, outcome: Outcome) -> Vec<ptxvm::Finding> {
    let marks = marks(SOURCE, kernel);
    assert!(!marks.is_empty(), "{kernel} has no mark");
    let mut found: Vec<(u32, String)> = outcome
        .findings
        .iter()
        .map(|finding| {
            let loc = finding.loc.as_ref().expect("a line");
            assert_eq!(&*loc.file, "bad.cu");
            (loc.line, describe(&finding.kind))
        })
        .collect();
    found.sort();
    let mut wanted: Vec<(u32, String)> =
        marks.iter().map(|&(line, mark)| (line, mark.to_owned())).collect();
    wanted.sort();
    assert_eq!(found, wanted, "{kernel}: {:?}", outcome.findings);
    outcome.findings
}

fn describe(kind: &FindingKind) -> String {
    let place = |space: &Space| match space {
        Space::Global => String::new(),
        other => format!(" {other:?}"),
    };
    match kind {
        FindingKind::OutOfBounds(OutOfBounds { space, access, .. }) => {
            format!("OutOfBounds {access:?}{}", place(space))
        }
        FindingKind::Uninitialised(Uninitialised { space, .. }) => {
            format!("Uninitialised {space:?}")
        }
        other => kind_name(other),
    }
}

/// A kernel with an input of some floats and an output of some words.
fn in_out(
    kernel: &str,
    n_in: usize,
    n_out: usize,
    threads: u32,
    extra: &[i32],
) -> (Device, Outcome) {
    let mut device = Device::of(PTX);
    let (from, to) = (device.input(&integers(n_in, 1)), device.output::<f32>(n_out));
    let mut params = vec![device.pointer(from), device.pointer(to)];
    params.extend(extra.iter().map(|value| value.bytes()));
    let outcome = device.launch(kernel, [1, 1, 1], [threads, 1, 1], 0, params);
    (device, outcome)
}

fn out_only(kernel: &str, n_out: usize, threads: u32, extra: &[i32]) -> (Device, Outcome) {
    let mut device = Device::of(PTX);
    let to = device.output::<f32>(n_out);
    let mut params = vec![device.pointer(to)];
    params.extend(extra.iter().map(|value| value.bytes()));
    let outcome = device.launch(kernel, [1, 1, 1], [threads, 1, 1], 0, params);
    (device, outcome)
}

const IN: BufferId = BufferId(0);
const OUT: BufferId = BufferId(1);

#[test]
fn off_by_one() {
    let mut device = Device::of(PTX);
    let (from, to) = (device.input(&integers(40, 1)), device.output::<f32>(40));
    let params = vec![device.pointer(from), device.pointer(to), 40i32.bytes()];
    let outcome = device.launch("off_by_one", [2, 1, 1], [32, 1, 1], 0, params);
    let found = expect("off_by_one", outcome);
    for (finding, (access, buffer)) in
        found.iter().zip([(AccessKind::Read, IN), (AccessKind::Write, OUT)])
    {
        assert_eq!(
            (finding.thread, finding.count),
            (ThreadId { block: [1, 0, 0], thread: [8, 0, 0] }, 1)
        );
        let address = device.memory.address(buffer) + 160;
        let kind = FindingKind::OutOfBounds(OutOfBounds {
            space: Space::Global,
            access,
            size: 4,
            place: Some((buffer, 160)),
            array: None,
            address,
        });
        assert_eq!(finding.kind, kind);
    }
    // The good elements are there.
    let want: Vec<f32> = integers(40, 1).iter().map(|x| 2.0 * x).collect();
    assert_eq!(device.read::<f32>(to), want);
}

#[test]
fn missing_guard_and_negative_index() {
    let mut device = Device::of(PTX);
    let to = device.output::<f32>(40);
    let params = vec![device.pointer(to)];
    let outcome = device.launch("no_guard", [3, 1, 1], [32, 1, 1], 0, params);
    let found = expect("no_guard", outcome);
    assert_eq!(
        (found[0].thread.block, found[0].thread.thread, found[0].count),
        ([1, 0, 0], [8, 0, 0], 56)
    );

    let (_, outcome) = in_out("before_the_start", 8, 8, 8, &[]);
    let found = expect("before_the_start", outcome);
    assert!(
        matches!(
            found[0].kind,
            FindingKind::OutOfBounds(OutOfBounds { place: Some((IN, -4)), .. })
        ),
        "{found:?}"
    );
    assert_eq!(found[0].count, 1);
}

#[test]
fn uninitialised_memory() {
    let (device, outcome) = in_out("accumulates_into_nothing", 4, 8, 8, &[4]);
    let found = expect("accumulates_into_nothing", outcome);
    let kind = FindingKind::Uninitialised(Uninitialised {
        space: Space::Global,
        size: 4,
        place: Some((OUT, 0)),
        offset: 0,
        array: None,
    });
    assert_eq!((&found[0].kind, found[0].count), (&kind, 8));
    // What is read is a NaN, so the result cannot look right by chance.
    assert!(device.read::<f32>(OUT).iter().all(|x| x.is_nan()));

    let (_, outcome) = out_only("atomic_into_nothing", 1, 32, &[]);
    expect("atomic_into_nothing", outcome);

    let (_, outcome) = out_only("shared_not_filled", 64, 64, &[]);
    let found = expect("shared_not_filled", outcome);
    assert_eq!((found[0].thread.thread, found[0].count), ([63, 0, 0], 1));
    assert!(matches!(found[0].kind, FindingKind::Uninitialised(Uninitialised { offset: 252, .. })));

    let (_, outcome) = in_out("local_not_filled", 8, 8, 8, &[5]);
    let found = expect("local_not_filled", outcome);
    assert_eq!((found[0].thread.thread, found[0].count), ([5, 0, 0], 3));
}

#[test]
fn shared_and_local_bounds() {
    let (_, outcome) = out_only("shared_past_the_end", 32, 32, &[]);
    let found = expect("shared_past_the_end", outcome);
    assert_eq!((found[0].thread.thread, found[0].count), ([31, 0, 0], 1));

    let (_, outcome) = out_only("shared_into_the_neighbour", 32, 32, &[]);
    let found = expect("shared_into_the_neighbour", outcome);
    assert_eq!((found[0].thread.thread, found[0].count), ([31, 0, 0], 1));

    let (_, outcome) = in_out("local_past_the_end", 8, 8, 8, &[3]);
    let found = expect("local_past_the_end", outcome);
    assert_eq!((found[0].thread.thread, found[0].count), ([5, 0, 0], 3));
}

#[test]
fn alignment_rights_and_null() {
    let (_, outcome) = in_out("misaligned_vector", 40, 32, 8, &[]);
    let found = expect("misaligned_vector", outcome);
    assert_eq!((found[0].thread.thread, found[0].count), ([0, 0, 0], 8));
    assert!(
        matches!(
            found[0].kind,
            FindingKind::Misaligned(Misaligned { size: 16, place: Some((IN, 4)), .. })
        ),
        "{found:?}"
    );

    let (device, outcome) = in_out("writes_input", 8, 8, 8, &[]);
    let found = expect("writes_input", outcome);
    assert!(matches!(
        found[0].kind,
        FindingKind::WriteToReadOnly(WriteToReadOnly { place: Some((IN, 0)), size: 4, .. })
    ));
    assert_eq!(device.read::<f32>(IN), integers(8, 1));

    let mut device = Device::of(PTX);
    let (from, to) = (device.input(&integers(8, 1)), device.output::<f32>(8));
    let params = vec![device.pointer(from), device.pointer(to), 0u64.bytes()];
    let outcome = device.launch("null_pointer", [1, 1, 1], [8, 1, 1], 0, params);
    let found = expect("null_pointer", outcome);
    assert!(matches!(
        found[0].kind,
        FindingKind::OutOfBounds(OutOfBounds { place: None, address: 0, .. })
    ));
    assert_eq!(found[0].count, 8);
}

#[test]
fn endless_loops() {
    let (_, outcome) = out_only("while_true", 32, 32, &[]);
    let found = expect("while_true", outcome);
    assert_eq!((found[0].thread.thread, found[0].count), ([3, 0, 0], 1));
    assert!(matches!(
        found[0].kind,
        FindingKind::EndlessLoop(EndlessLoop { instructions: 1_048_576.. })
    ));

    let mut device = Device::of(PTX);
    let to = device.output::<i32>(1);
    let params = vec![device.pointer(to), 10i32.bytes()];
    let outcome = device.launch("counter_stands_still", [50, 1, 1], [64, 1, 1], 0, params);
    let found = expect("counter_stands_still", outcome);
    assert_eq!(
        (found[0].thread.block, found[0].thread.thread, found[0].count),
        ([0; 3], [0; 3], 32)
    );
}

#[test]
fn barriers() {
    let (device, outcome) = out_only("barrier_in_half_a_warp", 32, 32, &[]);
    let found = expect("barrier_in_half_a_warp", outcome);
    assert_eq!((found[0].thread.thread, found[0].count), ([0, 0, 0], 16));
    assert!(matches!(
        &found[0].kind,
        FindingKind::BarrierDivergence(BarrierDivergence { other: Some(_) })
    ));
    // The run goes on behind it.
    assert_eq!(device.read::<i32>(BufferId(0)), (0..32).collect::<Vec<_>>());

    let (_, outcome) = out_only("barrier_by_warp", 64, 64, &[]);
    let found = expect("barrier_by_warp", outcome);
    let FindingKind::BarrierDivergence(BarrierDivergence { other: Some(other) }) = &found[0].kind
    else {
        panic!("{found:?}")
    };
    assert_eq!(other.line, found[0].loc.as_ref().unwrap().line - 3);
    assert_eq!(found[0].thread.thread, [32, 0, 0]);

    let (_, outcome) = out_only("barrier_for_nobody", 64, 64, &[]);
    let found = expect("barrier_for_nobody", outcome);
    assert_eq!(found[0].kind, FindingKind::BarrierDivergence(BarrierDivergence { other: None }));
    assert_eq!((found[0].thread.thread, found[0].count), ([0, 0, 0], 32));
}

#[test]
fn traps() {
    let (device, outcome) = out_only("failed_assertion", 8, 8, &[5]);
    let found = expect("failed_assertion", outcome);
    assert_eq!(found[0].kind, FindingKind::Trap(Trap { message: Some("threadIdx.x < n".into()) }));
    assert_eq!((found[0].thread.thread, found[0].count), ([5, 0, 0], 3));
    assert_eq!(device.memory.defined(BufferId(0)).iter().filter(|&&done| done).count(), 20);

    let (_, outcome) = out_only("trapped", 32, 32, &[]);
    let found = expect("trapped", outcome);
    assert_eq!(found[0].kind, FindingKind::Trap(Trap { message: None }));
    assert_eq!((found[0].thread.thread, found[0].count), ([5, 0, 0], 1));
}
