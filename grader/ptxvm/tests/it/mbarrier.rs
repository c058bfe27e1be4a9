//! Barrier objects in shared memory, and what CUDA C++ builds on them: for three architectures, optimised, as written, and for
//! a debugger.

use ptxvm::{BufferId, FindingKind, Outcome, Space};

use crate::support::{Device, integers};

/// How `mbarrier.cu` was compiled, and what that made of it.
const COMPILED: [(&str, &str); 5] = [
    ("sm_75, -O3", include_str!("../fixtures/mbarrier_sm75_O3.ptx")),
    ("sm_80, -O0", include_str!("../fixtures/mbarrier_sm80_O0.ptx")),
    ("sm_80, -O3", include_str!("../fixtures/mbarrier_sm80_O3.ptx")),
    ("sm_90, -O3", include_str!("../fixtures/mbarrier_sm90_O3.ptx")),
    ("sm_90, -G", include_str!("../fixtures/mbarrier_sm90_G.ptx")),
];

const N: usize = 64;
const TILES: usize = 4;

/// Element `i` of `out`, from `in`.
type Right = fn(&[f32], usize) -> f32;

fn sum_of_tiles(x: &[f32], i: usize) -> f32 {
    (0..TILES).map(|tile| x[tile * N + i]).sum()
}

fn reversed_sum(x: &[f32], i: usize) -> f32 {
    sum_of_tiles(x, N - 1 - i)
}

fn consumed(x: &[f32], i: usize) -> f32 {
    if i < 32 { 0.0 } else { sum_of_tiles(x, i) + sum_of_tiles(x, i - 32) }
}

fn reversed(x: &[f32], i: usize) -> f32 {
    x[N - 1 - i]
}

/// What each kernel of `mbarrier.cu` gives.
const KERNELS: [(&str, Right); 16] = [
    ("arrive_and_wait", reversed),
    ("tokens", reversed_sum),
    ("dropped", |x, i| if i < 32 { x[63 - i] } else { x[i] }),
    ("completion", |x, i| TILES as f32 + x[i]),
    ("producer_consumer", consumed),
    ("parities", consumed),
    ("counted_arrivals", reversed),
    ("copy_to_barrier", reversed),
    ("group_copy_to_barrier", reversed_sum),
    ("pipeline_of_a_thread", sum_of_tiles),
    ("pipeline_of_a_block", reversed_sum),
    ("pipeline_of_roles", consumed),
    ("copy_of_a_group", |x, i| x[N - 1 - i] + x[2 * N - 1 - i]),
    ("primitives", |x, i| x[N - 1 - i] + if i == 0 { 1.0 } else { 0.0 }),
    ("pipeline_primitives", |x, i| {
        // Of each pair of the second half the last element is zero.
        x[2 * N - 1 - i] + if i % 2 == 0 { 0.0 } else { x[4 * N - 1 - i] }
    }),
    ("timed", reversed),
];

/// Primitives that need `sm_80` do other things before, or are not there.
fn runs_on(architecture: &str, kernel: &str) -> bool {
    !architecture.starts_with("sm_75") || kernel != "primitives"
}

fn run(device: &mut Device, kernel: &str, x: &[f32]) -> (Outcome, BufferId) {
    let (input, output) = (device.input(x), device.output::<f32>(N));
    let params = vec![device.pointer(input), device.pointer(output)];
    (device.launch(kernel, [1, 1, 1], [N as u32, 1, 1], 0, params), output)
}

/// What is found all the same.
fn is_known(compiled: &str, kernel: &str, outcome: &Outcome) -> bool {
    // `try_wait_for` of the headers reads a variable that it has not set; optimised code drops that.
    let header = kernel == "timed" && compiled == "sm_90, -G";
    header
        && outcome.findings.iter().all(|finding| {
            let in_header = finding.loc.is_none();
            in_header
                && matches!(finding.kind, FindingKind::Uninitialised { space: Space::Local, .. })
        })
}

#[test]
fn every_kernel_is_right_however_it_is_compiled() {
    let x = integers(TILES * N, 7);
    let mut wrong = Vec::new();
    for (compiled, ptx) in COMPILED {
        let mut device = Device::new(ptx);
        for (kernel, right) in KERNELS {
            if !runs_on(compiled, kernel) {
                continue;
            }
            if let Some(why) = device.module.kernel(kernel).expect(kernel).refusal() {
                wrong.push(format!("{compiled}: {kernel}: {why}"));
                continue;
            }
            let (outcome, output) = run(&mut device, kernel, &x);
            if !outcome.findings.is_empty() && !is_known(compiled, kernel, &outcome) {
                wrong.push(format!("{compiled}: {kernel}: {:?}", outcome.findings));
            }
            let got = device.read::<f32>(output);
            let first = (0..N).find(|&i| got[i] != right(&x, i));
            if let Some(i) = first {
                wrong.push(format!("{compiled}: {kernel}: {i}: {} {}", got[i], right(&x, i)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
