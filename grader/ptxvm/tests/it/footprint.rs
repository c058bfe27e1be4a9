//! How much memory the checks need, for each byte of a kernel's own buffers: the table of docs/memory.md.

use std::fmt::Write;

use ptxvm::{Access, Footprint, Init, Launch, Memory, Module, Options, launch};

use crate::support::fixture;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/memory.md");

/// What the checks may need beside four times the buffers, in all and for each host thread if there are several.
const FIXED: usize = 64 << 10;
/// The same for shared memory, for each block that runs.
const SHARED_FIXED: usize = 5 << 10;
/// What they may need on top of both in kernels with fences.
const FENCED_FIXED: usize = 1 << 20;
const FENCED_SHARED_FIXED: usize = 128 << 10;
/// So many host threads.
const SEVERAL: usize = 4;

/// A buffer, in bytes.
#[derive(Clone, Copy)]
enum Buffer {
    /// Written by the host.
    Set(usize),
    /// So many words that the host sets to zero.
    Zero(usize),
    /// So many words that nobody has written.
    Unset(usize),
    /// A permutation of 0 to 65535 in random order.
    Order,
}
use Buffer::{Order, Set, Unset, Zero};

impl Buffer {
    fn bytes(self) -> usize {
        match self {
            Set(bytes) | Zero(bytes) | Unset(bytes) => bytes,
            Order => ORDER * 4,
        }
    }

    fn init(self) -> Init {
        let bytes = match self {
            Unset(len) => return Init::Undefined { len },
            Zero(len) => vec![0; len],
            Set(len) => {
                (0..len).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8 & 0x3F).collect()
            }
            Order => {
                let mut order: Vec<u32> = (0..ORDER as u32).collect();
                let mut state = 1u32;
                for at in (1..ORDER).rev() {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    order.swap(at, (state >> 8) as usize % (at + 1));
                }
                order.into_iter().flat_map(u32::to_le_bytes).collect()
            }
        };
        Init::Bytes(bytes)
    }
}

const ORDER: usize = 1 << 16;
const N: usize = 1 << 16;
/// One row of blocks for 65536 threads, and tiles for as many.
const ROW: [u32; 3] = [256, 1, 1];
const TILES: [u32; 3] = [16, 16, 1];
const LONG: [u32; 3] = [1024, 1, 1];
const TALL: [u32; 3] = [16, 64, 1];
const FEW: [u32; 3] = [4, 1, 1];

/// A launch: the kernel's name, its buffers, and the grid.
type Pattern = (&'static str, &'static [Buffer], [u32; 3]);

const PATTERNS: &[Pattern] = &[
    ("f32_map", &[Set(N * 4), Unset(N * 4)], ROW),
    ("f64_map", &[Set(N * 8), Unset(N * 8)], ROW),
    ("float4_map", &[Set(N * 16), Unset(N * 16)], ROW),
    ("u8_map", &[Set(4 * N), Unset(4 * N)], LONG),
    ("u16_map", &[Set(N * 2), Unset(N * 2)], ROW),
    ("f32_in_place", &[Set(N * 4)], ROW),
    ("u8_in_place", &[Set(4 * N)], LONG),
    ("f32_image_in_place", &[Set(N * 4)], TILES),
    ("u8_image", &[Set(4 * N), Unset(4 * N)], TALL),
    ("u8_image_in_place", &[Set(4 * N)], TALL),
    ("f32_transpose", &[Set(N * 4), Unset(N * 4)], TILES),
    ("u8_transpose", &[Set(N), Unset(N)], TILES),
    ("f32_matmul", &[Set(N / 4), Set(N / 4), Unset(N * 4)], TILES),
    ("f32_convolution", &[Set(N * 4), Unset(N * 4)], TILES),
    ("histogram", &[Set(N), Set(1024)], ROW),
    ("gradients_of_all_blocks", &[Set(N * 4)], FEW),
    ("f32_across", &[Unset(N * 4)], ROW),
    ("u8_across", &[Unset(4 * N)], LONG),
    ("u8_across_in_place", &[Set(4 * N)], LONG),
    ("u16_across_in_place", &[Set(N * 2)], ROW),
    ("u8_eight_each", &[Unset(N * 8)], ROW),
    ("u8_grid_stride", &[Set(N)], [32, 1, 1]),
    ("u8_one_block_grid_stride", &[Set(N)], [1, 1, 1]),
    ("all_write_the_same", &[Set(N * 4)], FEW),
    ("all_read_all", &[Set(N * 4), Unset(N * 4)], FEW),
    ("read_then_barrier_then_write", &[Set(4 * N)], LONG),
    ("f32_scatter", &[Order, Unset(N * 4)], ROW),
    ("f32_scatter_computed", &[Unset(N * 4)], ROW),
    ("f32_scatter_in_place", &[Set(N * 4)], ROW),
    ("u16_scatter_computed", &[Unset(N * 2)], ROW),
    ("u8_scatter", &[Order, Unset(N)], ROW),
    ("u8_scatter_computed", &[Unset(N)], ROW),
    ("block_sums", &[Set(N * 4), Unset(1024)], ROW),
    ("one_lane_of_a_warp", &[Set(N * 4)], [8192, 1, 1]),
    ("race_of_all_blocks", &[Set(N * 4)], FEW),
    ("race_with_the_neighbour", &[Set(N * 4 + 4)], ROW),
    ("u8_race_with_the_neighbour", &[Set(4 * N + 1)], LONG),
    ("race_in_a_histogram", &[Set(N)], ROW),
    ("race_of_four", &[Set(N * 4)], ROW),
    ("u8_race_of_three", &[Set(4 * N)], LONG),
    ("race_of_random_ones", &[Set(N * 4)], ROW),
    // All 256 blocks would take as long as everything else twenty times.
    ("u8_race_of_random_ones", &[Set(N)], [32, 1, 1]),
    ("u8_race_in_one_block", &[Set(N)], [1, 1, 1]),
];

/// Kernels, bytes of shared memory of a block, bytes of their result.
const SHARED: &[(&str, usize, usize)] = &[
    ("shared_f32", 1024, N * 4),
    ("shared_f64", 2048, N * 8),
    ("shared_u16", 512, N * 2),
    ("shared_u8", 4096, N * 16),
    ("shared_u8_across", 256, N),
    ("shared_histogram", 1024, N * 4),
    ("race_in_shared", 1024, N * 4),
    ("u8_race_in_shared", 256, N),
];

/// Those that take any size.
const DYNAMIC: &[&str] = &[
    "dynamic_f32",
    "dynamic_u16",
    "dynamic_u8",
    "dynamic_mixed",
    "dynamic_every_other",
    "dynamic_u8_table",
    "dynamic_u8_unrolled",
    "dynamic_u8_warps",
    "dynamic_f32_warps",
    "dynamic_u8_race",
    "dynamic_u8_race_of_warps",
    "dynamic_race_of_all",
];
/// A small one, all that kernels can declare, and all that there is.
const SIZES: [usize; 3] = [4 << 10, 48 << 10, 227 << 10];

/// Kernels whose threads order each other by fences; the last number is that of the bytes of shared memory.
const FENCED: &[(&str, &[Buffer], [u32; 3], usize)] = &[
    ("fence_last_block", &[Set(N * 4), Unset(1024), Zero(4), Unset(1024)], ROW, 5),
    ("fence_look_back", &[Set(N * 4), Unset(1024), Zero(1024)], ROW, 4),
    ("fence_locks", &[Zero(N), Zero(N)], [64, 1, 1], 0),
    ("fence_few_locks", &[Zero(4096), Zero(4096)], [64, 1, 1], 0),
    ("fence_of_warps", &[Set(N * 4), Zero(N / 8)], ROW, 0),
    ("fence_of_threads", &[Set(N * 4), Zero(N * 4)], ROW, 0),
    ("fence_in_shared", &[Set(N * 4)], ROW, 2048),
];

/// Kernels that allocate on the heap, and what each thread allocates.
const HEAP: [(&str, usize); 2] = [("heap_small", 16), ("heap_of_warps", 8)];

/// What the checks of a launch with 256 threads a block need, with so many host threads; and what they find.
fn measure(
    kernel: &str,
    buffers: &[Buffer],
    grid: [u32; 3],
    threads: usize,
) -> (Footprint, String) {
    let block = if grid == TILES || grid == TALL { [16, 16, 1] } else { [256, 1, 1] };
    measure_blocks(kernel, buffers, [grid, block], 0, threads)
}

/// The same of blocks of any size and with more shared memory.
fn measure_blocks(
    kernel: &str,
    buffers: &[Buffer],
    [grid, block]: [[u32; 3]; 2],
    dynamic_shared: u32,
    threads: usize,
) -> (Footprint, String) {
    let module = Module::load(&fixture("fixtures/footprint.ptx")).unwrap();
    let mut memory = Memory::default();
    let params = buffers.iter().map(|buffer| {
        let id = memory.alloc(buffer.init(), Access::ReadWrite);
        memory.address(id).to_le_bytes().to_vec()
    });
    let params = params.collect();
    let config = Launch { grid, block, dynamic_shared, params };
    let kernel = module.kernels().find(|found| found.name() == kernel).expect(kernel);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let run = || launch(&module, kernel, &config, &mut memory, &Options::default()).unwrap();
    let outcome = pool.install(run);
    (outcome.footprint, format!("{:?}", outcome.findings))
}

fn ratio(part: usize, whole: usize) -> String {
    format!("{:.2}", part as f64 / whole as f64)
}

/// The table stands in the docs. `told` is the part of a line that is the same at every run.
fn check_docs(table: &str, told: fn(&str) -> &str) {
    let docs = std::fs::read_to_string(DOCS).unwrap();
    let missing: Vec<&str> = table.lines().filter(|line| !docs.contains(told(line))).collect();
    assert!(missing.is_empty(), "docs/memory.md lacks:\n{}", missing.join("\n"));
}

#[test]
fn the_checks_need_at_most_four_times_the_buffers() {
    let mut table = String::new();
    let mut over = Vec::new();
    for &(kernel, buffers, grid) in PATTERNS {
        let own: usize = buffers.iter().map(|buffer| buffer.bytes()).sum();
        let (one, findings) = measure(kernel, buffers, grid, 1);
        let (several, the_same) = measure(kernel, buffers, grid, SEVERAL);
        assert_eq!(findings, the_same, "{kernel}");
        assert_eq!(findings == "[]", !kernel.contains("race"), "{kernel}: {findings}");
        if one.global > 4 * own + FIXED || several.global > 4 * own + FIXED * (SEVERAL + 1) {
            over.push(kernel);
        }
        let (first, second) = (ratio(one.global, own), ratio(several.global, own));
        let beyond = ratio(one.global.saturating_sub(FIXED), own);
        let row = format!("| `{kernel}` | {own} | {} | {first} | {beyond} |", one.global);
        writeln!(table, "{row} {second} |").unwrap();
    }
    assert!(over.is_empty(), "{over:?} of:\n{table}");
    // How far several host threads come is chance.
    check_docs(&table, |line| line.rsplit_once(" | ").map_or(line, |(told, _)| told));
}

#[test]
fn the_checks_of_shared_memory_need_at_most_four_times_as_much() {
    let mut table = String::new();
    let mut over = Vec::new();
    let mut check = |kernel: &str, own: usize, (footprint, findings): (Footprint, String)| {
        let races = findings.contains("SharedRace");
        assert_eq!(races, kernel.contains("race"), "{kernel}: {findings}");
        if footprint.shared > 4 * own + SHARED_FIXED {
            over.push((kernel.to_string(), own));
        }
        let beyond = ratio(footprint.shared.saturating_sub(SHARED_FIXED), own);
        let times = ratio(footprint.shared, own);
        writeln!(table, "| `{kernel}` | {own} | {} | {times} | {beyond} |", footprint.shared)
            .unwrap();
    };
    for &(kernel, own, bytes) in SHARED {
        check(kernel, own, measure(kernel, &[Unset(bytes)], ROW, 1));
    }
    let shape = [[2, 1, 1], [1024, 1, 1]];
    for kernel in DYNAMIC {
        for own in SIZES {
            check(kernel, own, measure_blocks(kernel, &[Unset(4096)], shape, own as u32, 1));
        }
    }
    assert!(over.is_empty(), "{over:?} of:\n{table}");
    check_docs(&table, |line| line);
}

#[test]
fn the_checks_of_the_heap_need_at_most_four_times_as_much() {
    let mut table = String::new();
    for (kernel, each) in HEAP {
        let own = N * 4 + N * each;
        let (footprint, findings) = measure(kernel, &[Unset(N * 4)], ROW, 1);
        assert_eq!(findings, "[]", "{kernel}");
        assert!(footprint.global <= 4 * own + FIXED, "{kernel}: {}", footprint.global);
        let times = ratio(footprint.global, own);
        writeln!(table, "| `{kernel}` | {own} | {} | {times} |", footprint.global).unwrap();
    }
    check_docs(&table, |line| line);
}

#[test]
fn the_checks_of_kernels_with_fences_need_at_most_a_mebibyte_more() {
    let mut table = String::new();
    for &(kernel, buffers, grid, shared) in FENCED {
        let own: usize = buffers.iter().map(|buffer| buffer.bytes()).sum();
        let (footprint, findings) = measure(kernel, buffers, grid, 1);
        assert_eq!(findings, "[]", "{kernel}");
        assert!(footprint.global <= 4 * own + FIXED + FENCED_FIXED, "{kernel}: {footprint:?}");
        let of_shared = 4 * shared + SHARED_FIXED + FENCED_SHARED_FIXED;
        assert!(footprint.shared <= of_shared, "{kernel}: {footprint:?}");
        let Footprint { global, shared: of_shared, .. } = footprint;
        writeln!(table, "| `{kernel}` | {own} | {global} | {shared} | {of_shared} |").unwrap();
    }
    check_docs(&table, |line| line);
}
