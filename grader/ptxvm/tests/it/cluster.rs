//! Clusters of blocks, and the shared memory that their blocks have together.

use ptxvm::finding::{
    BarrierObject, ClusterAccess, ClusterBarrier, ClusterBarrierMisuse, MbarrierMisuse, PeerBlock,
    RaceKind, SharedRace,
};
use ptxvm::{FindingKind, Launch, LaunchError, Options, Outcome};

use crate::support::{Device, Plain};

const BARRIER: &str =
    "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";

/// A kernel for clusters of two blocks with `out` in `%rd1`, the rank in `%r1`, the thread in `%r2`, the rank of the other block
/// in `%r3`, and an array of 64 words and a barrier object in shared memory, whose addresses are in `%r4` and `%r5`.
fn kernel(body: &str) -> String {
    let body = body.replace("BARRIER", BARRIER);
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) .explicitcluster .reqnctapercluster 2 {{\n\
         .reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<40>;\n\
         .shared .align 16 .b8 words[512]; .shared .align 8 .b64 object;\n\
         ld.param.u64 %rd1, [p]; mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %tid.x; xor.b32 %r3, %r1, 1;\n\
         mov.u32 %r4, words; mov.u32 %r5, object; setp.eq.u32 %p1, %r2, 0; setp.eq.u32 %p2, %r1, 0;\n\
         shl.b32 %r6, %r2, 2; add.s32 %r7, %r4, %r6; mapa.shared::cluster.u32 %r8, %r7, %r3;\n\
         mov.u32 %r9, %ctaid.x; mov.u32 %r10, %ntid.x; mad.lo.s32 %r11, %r9, %r10, %r2;\n\
         mul.wide.u32 %rd2, %r11, 4; add.s64 %rd3, %rd1, %rd2;\n{body}\nret;\n}}\n"
    )
}

/// What a kernel does with four blocks of 64 threads, and the 256 words of `out`.
fn run(body: &str) -> (Outcome, Vec<u32>) {
    let mut device = Device::new(&kernel(body));
    let out = device.in_out(&[0u32; 256]);
    let params = vec![device.pointer(out)];
    let outcome = device.launch("k", [4, 1, 1], [64, 1, 1], 0, params);
    (outcome, device.read(out))
}

fn right(body: &str) -> Vec<u32> {
    let (outcome, out) = run(body);
    assert_eq!(outcome.findings, [], "{body}");
    out
}

fn found(body: &str) -> Vec<FindingKind> {
    run(body).0.findings.into_iter().map(|finding| finding.kind).collect()
}

const OTHERS: &str = "st.shared.u32 [%r7], %r11; BARRIER";
/// Element of the other block of the cluster.
fn other(i: u32) -> u32 {
    ((i / 64) ^ 1) * 64 + i % 64
}

#[test]
fn a_block_reads_and_writes_the_memory_of_another() {
    let expected: Vec<u32> = (0..256).map(other).collect();
    let read = |load: &str| right(&format!("{OTHERS} {load} st.global.u32 [%rd3], %r20; BARRIER"));
    assert_eq!(read("ld.shared::cluster.u32 %r20, [%r8];"), expected);
    // Generic addresses, from one of the own block.
    let generic = "cvt.u64.u32 %rd4, %r7; cvta.shared.u64 %rd5, %rd4; mapa.u64 %rd6, %rd5, %r3; ld.u32 %r20, [%rd6];";
    assert_eq!(read(generic), expected);
    let generic =
        "cvt.u64.u32 %rd4, %r8; cvta.shared::cluster.u64 %rd5, %rd4; ld.u32 %r20, [%rd5];";
    assert_eq!(read(generic), expected);
    // The own memory is a part of the cluster's.
    let own: Vec<u32> = (0..256).collect();
    assert_eq!(read("mapa.shared::cluster.u32 %r21, %r7, %r1; ld.shared.u32 %r20, [%r21];"), own);
    assert_eq!(read("ld.shared::cluster.u32 %r20, [%r7];"), own);
    let writes = "st.shared.u32 [%r7], 0; BARRIER st.shared::cluster.u32 [%r8], %r11; BARRIER \
                  ld.shared.u32 %r20, [%r7]; st.global.u32 [%rd3], %r20;";
    assert_eq!(right(writes), expected);
    let adds = "st.shared.u32 [%r7], 0; BARRIER mapa.shared::cluster.u32 %r21, %r4, 0; \
                red.shared::cluster.add.u32 [%r21], 3; BARRIER ld.shared.u32 %r20, [%r4]; st.global.u32 [%rd3], %r20;";
    let sums: Vec<u32> = (0..256).map(|i| if i / 64 % 2 == 0 { 384 } else { 0 }).collect();
    assert_eq!(right(adds), sums);
}

#[test]
fn registers_say_where_a_block_is() {
    let value =
        |register: &str| right(&format!("mov.u32 %r20, {register}; st.global.u32 [%rd3], %r20;"));
    let by_block = |of: [u32; 4]| (0..256).map(|i| of[i / 64]).collect::<Vec<u32>>();
    assert_eq!(value("%cluster_ctarank"), by_block([0, 1, 0, 1]));
    assert_eq!(value("%cluster_ctaid.x"), by_block([0, 1, 0, 1]));
    assert_eq!(value("%clusterid.x"), by_block([0, 0, 1, 1]));
    assert_eq!(value("%nclusterid.x"), by_block([2; 4]));
    assert_eq!(value("%cluster_nctarank"), by_block([2; 4]));
    assert_eq!(value("%cluster_nctaid.x"), by_block([2; 4]));
    let explicit = "selp.u32 %r20, 1, 0, %is_explicit_cluster; st.global.u32 [%rd3], %r20;";
    assert_eq!(right(explicit), by_block([1; 4]));
    let ranks = "getctarank.shared::cluster.u32 %r20, %r8; getctarank.shared::cluster.u32 %r21, %r7; \
                 mad.lo.s32 %r20, %r20, 10, %r21; st.global.u32 [%rd3], %r20;";
    assert_eq!(right(ranks), by_block([10, 1, 10, 1]));
    let spaces = "cvt.u64.u32 %rd4, %r8; cvta.shared::cluster.u64 %rd5, %rd4; isspacep.shared::cluster %p3, %rd5; \
                  isspacep.shared::cta %p4, %rd5; selp.u32 %r20, 1, 0, %p3; selp.u32 %r21, 2, 0, %p4; \
                  add.u32 %r20, %r20, %r21; st.global.u32 [%rd3], %r20;";
    assert_eq!(right(spaces), by_block([1; 4]));
}

#[test]
fn a_block_must_have_begun_and_not_exited() {
    let access = |body: &str| match &found(body)[..] {
        [FindingKind::ClusterAccess(ClusterAccess { peer, .. }), ..] => *peer,
        other => panic!("{other:?}"),
    };
    let early = "st.shared.u32 [%r7], 1; ld.shared::cluster.u32 %r20, [%r8]; BARRIER";
    assert_eq!(access(early), PeerBlock::NotBegun);
    let late = format!("{OTHERS} ld.shared::cluster.u32 %r20, [%r8];");
    assert_eq!(access(&late), PeerBlock::Exited);
    let nobody = format!(
        "{OTHERS} mapa.shared::cluster.u32 %r21, %r7, 2; ld.shared::cluster.u32 %r20, [%r21]; BARRIER"
    );
    assert_eq!(access(&nobody), PeerBlock::NoSuchBlock);
}

#[test]
fn bounds_and_initialisation_hold_in_other_blocks() {
    let beyond = found(&format!("{OTHERS} ld.shared::cluster.u32 %r20, [%r8+512]; BARRIER"));
    assert!(matches!(beyond[..], [FindingKind::OutOfBounds(_)]), "{beyond:?}");
    let askew = found(&format!("{OTHERS} ld.shared::cluster.u32 %r20, [%r8+1]; BARRIER"));
    assert!(
        matches!(
            askew[..],
            [FindingKind::OutOfBounds(_), FindingKind::Misaligned(_)]
                | [FindingKind::Misaligned(_), ..]
        ),
        "{askew:?}"
    );
    let undefined = found("BARRIER ld.shared::cluster.u32 %r20, [%r8]; BARRIER");
    assert!(matches!(undefined[..], [FindingKind::Uninitialised(_)]), "{undefined:?}");
}

/// Global memory goes from one block to the other.
#[test]
fn the_barrier_orders_the_blocks() {
    let exchange = |barrier: &str| {
        format!(
            "st.global.u32 [%rd3], %r11; {barrier} xor.b32 %r20, %r9, 1; mad.lo.s32 %r21, %r20, %r10, %r2; \
             mul.wide.u32 %rd4, %r21, 4; add.s64 %rd5, %rd1, %rd4; ld.global.u32 %r22, [%rd5]; BARRIER st.global.u32 [%rd3], %r22;"
        )
    };
    assert_eq!(right(&exchange("BARRIER")), (0..256).map(other).collect::<Vec<u32>>());
    let relaxed = "barrier.cluster.arrive.relaxed; barrier.cluster.wait;";
    let races = found(&exchange(relaxed));
    assert!(matches!(races[..], [FindingKind::GlobalRace(_), ..]), "{races:?}");
    // It is a barrier of the own block, too.
    let reversed = "st.shared.u32 [%r7], %r11; BARRIER xor.b32 %r20, %r6, 252; add.s32 %r21, %r4, %r20; \
                    ld.shared.u32 %r22, [%r21]; st.global.u32 [%rd3], %r22;";
    assert_eq!(right(reversed)[..2], [63, 62]);
}

#[test]
fn a_barrier_of_the_cluster_needs_all_its_threads() {
    let misuse = |body: &str| match &found(body)[..] {
        [FindingKind::ClusterBarrier(ClusterBarrier { misuse }), ..] => misuse.clone(),
        other => panic!("{other:?}"),
    };
    // The second warps of both blocks wait for their first ones, which wait for the cluster.
    let missed =
        "setp.lt.u32 %p3, %r2, 32; @%p3 bra first; bar.sync 1, 64; bra end; first: BARRIER end:";
    assert!(matches!(misuse(missed), ClusterBarrierMisuse::NeverCompletes { .. }));
    assert_eq!(misuse("barrier.cluster.wait;"), ClusterBarrierMisuse::WaitsWithoutArrival);
    let twice = "barrier.cluster.arrive; barrier.cluster.arrive; barrier.cluster.wait;";
    assert_eq!(misuse(twice), ClusterBarrierMisuse::ArrivesTwice);
    // Who has exited need not arrive.
    right("setp.lt.u32 %p3, %r2, 32; @%p3 exit; BARRIER");
    right("@%p2 exit; BARRIER");
    // Lanes may arrive and wait by themselves.
    right(
        "@%p1 bra one; barrier.cluster.arrive; barrier.cluster.wait; bra end; one: barrier.cluster.arrive; barrier.cluster.wait; end:",
    );
}

const OBJECT: &str = "@%p1 mbarrier.init.shared.b64 [%r5], 64; fence.mbarrier_init.release.cluster; st.shared.u32 [%r7], 0; BARRIER \
     mapa.shared::cluster.u32 %r21, %r5, %r3;";

#[test]
fn threads_arrive_at_objects_of_other_blocks() {
    let wait = "again: mbarrier.try_wait.parity.shared.b64 %p3, [%r5], 0; @!%p3 bra again;";
    let end = "ld.shared.u32 %r20, [%r7]; st.global.u32 [%rd3], %r20; BARRIER";
    let expected: Vec<u32> = (0..256).map(other).collect();
    let arrives = format!(
        "{OBJECT} st.shared::cluster.u32 [%r8], %r11; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r21]; {wait} {end}"
    );
    assert_eq!(right(&arrives), expected);
    // Each thread expects the four bytes that come for it, and arrives itself.
    let stores = format!(
        "{OBJECT} mbarrier.arrive.expect_tx.shared.b64 %rd7, [%r5], 4; \
         st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r8], %r11, [%r21]; {wait} {end}"
    );
    assert_eq!(right(&stores), expected);
    // A thread sends the words of all, which expect them.
    let sends = format!(
        "{OBJECT} st.shared.u32 [%r7], %r11; bar.sync 0; @!%p1 mbarrier.arrive.shared.b64 %rd7, [%r5]; \
         @%p1 mbarrier.arrive.expect_tx.shared.b64 %rd7, [%r5], 256; mapa.shared::cluster.u32 %r22, %r4, %r3; \
         @%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r22+256], [%r4], 256, [%r21]; \
         {wait} ld.shared.u32 %r20, [%r7+256]; st.global.u32 [%rd3], %r20; BARRIER"
    );
    assert_eq!(right(&sends), expected);
    let never = found(&format!("{OBJECT} {wait} BARRIER"));
    let forever = |kind: &FindingKind| {
        let FindingKind::BarrierObject(BarrierObject { misuse, .. }) = kind else { return false };
        matches!(misuse, MbarrierMisuse::NeverCompletes { .. })
    };
    assert!(!never.is_empty() && never.iter().all(forever), "{never:?}");
}

#[test]
fn a_launch_can_ask_for_clusters() {
    let ptx = kernel("mov.u32 %r20, %cluster_nctarank; st.global.u32 [%rd3], %r20;");
    let ptx = ptx.replace(".explicitcluster .reqnctapercluster 2", "");
    let mut device = Device::new(&ptx);
    let out = device.in_out(&[0u32; 256]);
    let mut blocks_of_cluster = |cluster: Option<[u32; 3]>| {
        let launch = Launch {
            grid: [4, 1, 1],
            block: [64, 1, 1],
            dynamic_shared: 0,
            params: vec![device.memory.address(out).bytes()],
        };
        let options = Options { cluster, ..Options::default() };
        let kernel = device.module.kernel("k").unwrap();
        ptxvm::launch(&device.module, kernel, &launch, &mut device.memory, &options)
            .map(|_| device.memory.bytes(out)[0])
    };
    assert_eq!(blocks_of_cluster(None), Ok(1));
    assert_eq!(blocks_of_cluster(Some([4, 1, 1])), Ok(4));
    let error = blocks_of_cluster(Some([3, 1, 1])).unwrap_err();
    assert!(matches!(error, LaunchError::Configuration(_)), "{error}");
}

/// The races in shared memory between two blocks that a kernel has; it must have no other findings.
fn races_of_blocks(body: &str) -> Vec<RaceKind> {
    let (outcome, _) = run(&format!("st.shared.u32 [%r7], 0; BARRIER\n{body}"));
    let kinds = outcome.findings.into_iter().map(|finding| match finding.kind {
        FindingKind::SharedRace(SharedRace {
            kind,
            other_block: Some(_),
            same_warp: false,
            ..
        }) => kind,
        other => panic!("{other:?}"),
    });
    kinds.collect()
}

#[test]
fn blocks_race_in_shared_memory_where_no_barrier_orders_them() {
    let read = "ld.shared::cluster.u32 %r20, [%r8];";
    let own = "st.shared.u32 [%r7], %r11;";
    assert_eq!(races_of_blocks(&format!("{own} BARRIER {read} BARRIER {own}")), []);
    // Which of the two comes first is chance: one block finds a value that is read too early, or both.
    let early = races_of_blocks(&format!("{own} {read} BARRIER"));
    assert!(!early.is_empty(), "{early:?}");
    let late = races_of_blocks(&format!("{own} BARRIER {read} {own} BARRIER"));
    assert!(!late.is_empty(), "{late:?}");
    let relaxed = "barrier.cluster.arrive.relaxed; barrier.cluster.wait;";
    assert!(!races_of_blocks(&format!("{own} {relaxed} {read} BARRIER")).is_empty());
    // Both store to the first word of the block of rank 0; equal values, and atomics, may.
    let store = |value: &str| {
        format!(
            "mapa.shared::cluster.u32 %r21, %r4, 0; @%p1 st.shared::cluster.u32 [%r21], {value}; BARRIER"
        )
    };
    assert_eq!(races_of_blocks(&store("%r1")), [RaceKind::WriteAfterWrite]);
    assert_eq!(races_of_blocks(&store("7")), []);
    let add = "mapa.shared::cluster.u32 %r21, %r4, 0; atom.shared::cluster.add.u32 %r20, [%r21], 1; BARRIER";
    assert_eq!(races_of_blocks(add), []);
    // Bytes beside each other are not the same place.
    let byte = "mapa.shared::cluster.u32 %r21, %r4, 0; add.u32 %r21, %r21, %r1; @%p1 st.shared::cluster.u8 [%r21], %r1; BARRIER";
    assert_eq!(races_of_blocks(byte), []);
    // Two threads of one block race in the memory of the other.
    let (outcome, _) = run(
        "st.shared.u32 [%r7], 0; BARRIER mapa.shared::cluster.u32 %r21, %r4, 1; @%p2 st.shared::cluster.u32 [%r21], %r2; BARRIER",
    );
    let own = |kind: &FindingKind| {
        matches!(kind, FindingKind::SharedRace(SharedRace { other_block: None, .. }))
    };
    assert!(!outcome.findings.is_empty());
    assert!(outcome.findings.iter().all(|finding| own(&finding.kind)), "{:?}", outcome.findings);
}

/// A flag in the memory of the block of rank 1, which that of rank 0 sets when it has stored there.
#[test]
fn flags_and_objects_in_shared_memory_order_blocks() {
    let flag = |fence: &str, set: &str, wait: &str| {
        format!(
            "@!%p2 bra other; st.shared::cluster.u32 [%r8+128], %r11; bar.sync 0; {fence} mapa.shared::cluster.u32 %r21, %r4, 1;\n\
             @%p1 {set} [%r21], 1; bra done;\n\
             other: {wait}\n\
             bar.sync 0; ld.shared.u32 %r23, [%r7+128]; done: BARRIER"
        )
    };
    let poll = |load: &str| {
        format!("again: {load} %r22, [%r4]; setp.eq.u32 %p4, %r22, 0; @%p4 bra again;")
    };
    let released = flag(
        "",
        "st.release.cluster.shared::cluster.u32",
        &poll("ld.acquire.cluster.shared::cta.u32"),
    );
    assert_eq!(races_of_blocks(&released), []);
    let fenced = flag("fence.acq_rel.cluster;", "st.relaxed.cluster.shared::cluster.u32", &{
        let wait = poll("ld.relaxed.cluster.shared::cta.u32");
        format!("{wait} fence.acq_rel.cluster;")
    });
    assert_eq!(races_of_blocks(&fenced), []);
}

/// An acquire follows the release whose value it reads, and no other of the cluster (PTX ISA 8.9).
#[test]
fn other_flags_and_objects_of_the_cluster_order_nothing() {
    // Rank 0 sets its first flag before it stores, and its second one behind that.
    let stores = |wait: &str| {
        format!(
            "@!%p2 bra other; mapa.shared::cluster.u32 %r21, %r4, 1;\n\
             @%p1 st.release.cluster.shared::cluster.u32 [%r21], 1; st.shared::cluster.u32 [%r8+128], %r11; bar.sync 0;\n\
             @%p1 st.release.cluster.shared::cluster.u32 [%r21+4], 1; bra done;\n\
             other: again: ld.acquire.cluster.shared::cta.u32 %r22, [%r4+{wait}]; setp.eq.u32 %p4, %r22, 0; @%p4 bra again;\n\
             bar.sync 0; ld.shared.u32 %r23, [%r7+128]; done: BARRIER"
        )
    };
    assert_eq!(races_of_blocks(&stores("4")), []);
    assert_eq!(races_of_blocks(&stores("0")), [RaceKind::ReadAfterWrite]);
    // A flag of block scope orders the threads of its block alone.
    let narrow = stores("4").replace("st.release.cluster.shared::cluster.u32 [%r21+4]", {
        "st.release.cta.shared::cluster.u32 [%r21+4]"
    });
    assert_eq!(races_of_blocks(&narrow), [RaceKind::ReadAfterWrite]);
    // Arrivals at the objects of rank 1, the first of them before the store.
    let objects = |wait: &str| {
        format!(
            "@%p1 mbarrier.init.shared.b64 [%r5], 1; @%p1 mbarrier.init.shared.b64 [%r4+504], 1;\n\
             fence.mbarrier_init.release.cluster; BARRIER\n\
             @!%p2 bra other; mapa.shared::cluster.u32 %r21, %r5, 1; mapa.shared::cluster.u32 %r24, %r4, 1;\n\
             @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r21]; st.shared::cluster.u32 [%r8+128], %r11; bar.sync 0;\n\
             @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r24+504]; bra done;\n\
             other: again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [{wait}], 0; @!%p3 bra again;\n\
             ld.shared.u32 %r23, [%r7+128]; done: BARRIER"
        )
    };
    assert_eq!(races_of_blocks(&objects("%r4+504")), []);
    assert_eq!(races_of_blocks(&objects("%r5")), [RaceKind::ReadAfterWrite]);
    // A warp that has not waited itself knows what another one has learnt once both have passed a barrier.
    let one_warp = objects("%r4+504")
        .replace("other: again:", "other: setp.ge.u32 %p5, %r2, 32; @%p5 bra late; again:");
    let one_warp = one_warp.replace(
        "; done: BARRIER",
        "; late: bar.sync 1; @!%p5 bra done; ld.shared.u32 %r23, [%r7+128]; done: BARRIER",
    );
    assert_eq!(races_of_blocks(&one_warp), []);
}
