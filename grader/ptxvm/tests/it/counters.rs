//! Counters of single access patterns and of whole kernels.

use crate::support::{Device, Plain, integers};
use ptxvm::{BufferId, Counters, Counts, Launch, Traffic, launch_counted, launch_profiled};

const PATTERNS: &str = "counters/patterns.ptx";

fn counted(
    device: &mut Device,
    name: &str,
    grid: [u32; 3],
    block: [u32; 3],
    params: Vec<Vec<u8>>,
) -> Counters {
    let kernel = device.module.kernels().find(|k| k.name().contains(name)).expect("the kernel");
    let launch = Launch { grid, block, dynamic_shared: 0, params };
    launch_counted(&device.module, kernel, &launch, &mut device.memory, &device.options)
        .expect("a launch")
}

fn pattern(name: &str) -> Counters {
    let mut device = Device::of(PATTERNS);
    let buffers = [device.input(&[1.0f32; 4096]), device.in_out(&[0.0f32; 4096])];
    let params = buffers.iter().map(|&id| device.pointer(id)).collect();
    let kernel = device.module.kernel(name).expect("the kernel");
    let launch = Launch { grid: [1; 3], block: [32, 1, 1], dynamic_shared: 0, params };
    launch_counted(&device.module, kernel, &launch, &mut device.memory, &device.options)
        .expect("a launch")
}

#[test]
fn global_patterns() {
    // Load requests, load sectors, store requests, store sectors.
    for (name, expected) in [
        ("stride_1", [1, 4, 1, 4]),
        ("stride_2", [1, 8, 1, 4]),
        ("stride_32", [1, 32, 1, 4]),
        ("misaligned", [1, 5, 1, 4]),
        ("reversed", [1, 4, 1, 4]),
        ("broadcast", [1, 1, 1, 4]),
        ("store_stride_8", [1, 4, 1, 32]),
        ("load_float2", [1, 8, 1, 4]),
        ("load_float4", [1, 16, 1, 4]),
        ("load_half", [1, 2, 1, 4]),
        ("struct_12", [3, 36, 1, 4]),
        ("half_warp", [1, 2, 1, 2]),
        ("every_other_lane", [1, 4, 1, 4]),
        ("atomic_same", [1, 4, 0, 0]),
    ] {
        let Counts { load_requests, load_sectors, store_requests, store_sectors, .. } =
            pattern(name).total;
        assert_eq!(
            [load_requests, load_sectors, store_requests, store_sectors],
            expected,
            "{name}"
        );
    }
    let atomic = pattern("atomic_same").total;
    assert_eq!((atomic.atomic_lanes, atomic.atomic_bytes), (32, 128));
    assert_eq!(atomic.global(), Traffic { read: 256, written: 128 });
    let [x, y] = [0, 1].map(|i| atomic.buffers[&BufferId(i)]);
    assert_eq!(x, Traffic { read: 128, written: 0 });
    assert_eq!(y, Traffic { read: 128, written: 128 });
    assert_eq!(pattern("stride_32").total.load_sectors_packed, 4);
}

#[test]
fn shared_patterns() {
    // Requests, wavefronts and conflicts of the line's load; its stores have none, but for those of doubles.
    for (name, stores, passes, expected) in [
        ("shared_row", 32, 1, [1, 0]),
        ("shared_column", 32, 1, [32, 31]),
        ("shared_column_padded", 33, 1, [1, 0]),
        ("shared_stride_2", 32, 1, [2, 1]),
        ("shared_broadcast", 32, 1, [1, 0]),
        ("shared_double", 8, 2, [2, 0]),
        ("shared_double_stride_2", 8, 2, [4, 2]),
        ("shared_float4", 1, 4, [4, 0]),
    ] {
        let counts = pattern(name).total;
        assert_eq!(counts.shared_requests, stores + 1, "{name}");
        let load = [counts.shared_wavefronts - stores * passes, counts.bank_conflicts];
        assert_eq!(load, expected, "{name}");
        assert_eq!(counts.barriers, 1, "{name}");
    }
}

#[test]
fn divergence_is_of_branches() {
    let straight = tiled([64, 64, 64]).total;
    assert_eq!((straight.divergent_branches, straight.divergent_lanes), (0, 0));
    let even = pattern("stride_1").total;
    assert_eq!((even.instructions() * 32, even.branches), (even.lane_instructions, 0));
}

fn tiled([m, n, k]: [usize; 3]) -> Counters {
    let (a, b) = (integers(m * k, 3), integers(k * n, 4));
    let mut device = Device::of("fixtures/tiled.ptx");
    let buffers = [device.input(&a), device.input(&b), device.output::<f32>(m * n)];
    let mut params: Vec<_> = buffers.iter().map(|&id| device.pointer(id)).collect();
    params.extend([m, n, k].map(|dim| (dim as i32).bytes()));
    let grid = [n.div_ceil(16) as u32, m.div_ceil(16) as u32, 1];
    counted(&mut device, "matmul_tiled", grid, [16, 16, 1], params)
}

#[test]
fn lines_add_up_and_agree_with_a_plain_launch() {
    let (m, n, k) = (64, 64, 64);
    let counters = tiled([m, n, k]);
    let mut sum = Counts::default();
    for counts in counters.lines.values() {
        sum += counts;
    }
    // Instructions without a line may be missing.
    assert!(sum.instructions() <= counters.total.instructions());
    assert_eq!(sum.shared_requests, counters.total.shared_requests);

    let mut device = Device::of("fixtures/tiled.ptx");
    let buffers = [
        device.input(&integers(m * k, 3)),
        device.input(&integers(k * n, 4)),
        device.output::<f32>(m * n),
    ];
    let mut params: Vec<_> = buffers.iter().map(|&id| device.pointer(id)).collect();
    params.extend([m, n, k].map(|dim| (dim as i32).bytes()));
    let outcome = device.launch("matmul_tiled", [4, 4, 1], [16, 16, 1], 0, params);
    assert_eq!(outcome.lane_instructions, counters.total.lane_instructions);

    // 16 blocks of 8 warps, 4 tiles, 2 barriers for each.
    assert_eq!(counters.total.barriers, 16 * 8 * 4 * 2);
    // Each tile takes two loads of 4 sectors (two rows of 16 words) from each warp.
    assert_eq!(counters.total.load_requests, 16 * 8 * 4 * 2);
    assert_eq!(counters.total.load_sectors, 16 * 8 * 4 * 2 * 4);
    assert_eq!(counters, tiled([m, n, k]));
}

/// Large enough for several host threads.
#[test]
fn counters_of_a_launch_with_checks_are_those_of_one_without() {
    let [m, n, k] = [160, 160, 64];
    let profiled = |threads| {
        let mut device = Device::of("fixtures/tiled.ptx");
        let (a, b) = (integers(m * k, 3), integers(k * n, 4));
        let buffers = [device.input(&a), device.input(&b), device.output::<f32>(m * n)];
        let mut params: Vec<_> = buffers.iter().map(|&id| device.pointer(id)).collect();
        params.extend([m, n, k].map(|dim| (dim as i32).bytes()));
        let kernel = device.module.kernels().find(|k| k.name().contains("matmul_tiled"));
        let (grid, block) = ([10, 10, 1], [16, 16, 1]);
        let launch = Launch { grid, block, dynamic_shared: 0, params };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let run = || {
            let (module, memory) = (&device.module, &mut device.memory);
            launch_profiled(module, kernel.expect("the kernel"), &launch, memory, &device.options)
        };
        pool.install(run).expect("a launch")
    };
    let alone = tiled([m, n, k]);
    for threads in [1, 4] {
        let (outcome, counters) = profiled(threads);
        assert_eq!(outcome.findings, []);
        assert_eq!(outcome.lane_instructions, alone.total.lane_instructions);
        assert!(counters == alone, "{threads} host threads");
    }
    // A second launch doubles the numbers, and adds no places.
    let mut twice = alone.clone();
    twice += &alone;
    assert_eq!(twice.sites.len(), alone.sites.len());
    for (site, (_, counts)) in &twice.sites {
        assert_eq!(counts.instructions(), 2 * alone.sites[site].1.instructions());
    }
}

/// What Nsight Compute counted on an H200.
#[test]
fn patterns_cost_what_a_gpu_says() {
    let golden = include_str!("../counters/h200.tsv");
    let mut compared = 0;
    for line in golden.lines().skip(1) {
        let mut fields = line.split('\t');
        let name = fields.next().expect("a name");
        let numbers: Vec<u64> = fields.map(|field| field.parse().expect("a number")).collect();
        let counts = pattern(name).total;
        let global = [
            counts.load_requests,
            counts.load_sectors,
            counts.store_requests,
            counts.store_sectors,
        ];
        assert_eq!(global, numbers[..4], "{name}");
        let shared = [counts.shared_wavefronts, counts.bank_conflicts];
        assert_eq!(shared, [numbers[4] + numbers[5], numbers[6] + numbers[7]], "{name}");
        compared += 1;
    }
    assert_eq!(compared, 23);
}
