//! What calls through pointers, recursion, the device heap and cooperative grids compute, for every level of optimisation.

use ptxvm::finding::{InvalidFree, Uninitialised};
use ptxvm::{BufferId, FindingKind, HeapUse, Launch, LaunchError, Options, Space};

use crate::support::{Device, Plain, fixture};

/// Levels of optimisation, and what `groups.cu` is there.
const GROUPS: [(&str, &str); 4] = [
    ("O0", "fixtures/groups_O0.ptx"),
    ("O1", "fixtures/groups_O1.ptx"),
    ("O3", "fixtures/groups_O3.ptx"),
    ("G", "fixtures/groups_G.ptx"),
];
const HEAP: &str = "fixtures/heap.ptx";

fn numbers(count: usize) -> Vec<i32> {
    (0..count as i32).map(|i| (i * 7 + i / 5) % 16).collect()
}

/// `in`, `out` and a launch of both.
fn in_out(
    device: &mut Device,
    kernel: &str,
    blocks: u32,
    threads: u32,
) -> (Vec<i32>, Vec<i32>, ptxvm::Outcome) {
    let input = numbers((blocks * threads) as usize);
    let (from, to) = (device.input(&input), device.output::<i32>(input.len()));
    let params = vec![device.pointer(from), device.pointer(to)];
    let outcome = device.launch(kernel, [blocks, 1, 1], [threads, 1, 1], 0, params);
    (input, device.read(to), outcome)
}

#[test]
fn groups_meet() {
    let mut instructions = Vec::new();
    for (level, ptx) in GROUPS {
        let mut device = Device::new(&fixture(ptx));
        device.options.cooperative = true;
        let (input, output, outcome) = in_out(&mut device, "groups", 3, 64);
        assert_eq!(outcome.findings, [], "{level}");
        for (i, (&value, &got)) in input.iter().zip(&output).enumerate() {
            let tile: i32 = input[i / 16 * 16..][..16].iter().sum();
            let odd = input[i / 32 * 32..][..32].iter().filter(|&&x| x % 2 == 1).count() as i32;
            let picked = if value % 2 == 0 { value } else { odd };
            let want = 16 * tile + picked + input[input.len() - 1 - i];
            assert_eq!(got, want, "{level}: element {i}");
        }
        instructions.push(outcome.lane_instructions);
    }
    assert!(instructions[0] > instructions[2], "the levels differ: {instructions:?}");
}

#[test]
fn objects_and_recursion() {
    for (level, ptx) in GROUPS {
        let mut device = Device::new(&fixture(ptx));
        let (input, output, outcome) = in_out(&mut device, "calls", 3, 48);
        assert_eq!(outcome.findings, [], "{level}");
        for (i, (&value, &got)) in input.iter().zip(&output).enumerate() {
            let (added, chosen) = [(6, 6), (3, 10), (2, 15)][i % 3];
            assert_eq!(got, (value + added) * 100 + chosen, "{level}: element {i}");
        }
    }
}

#[test]
fn a_member_that_nobody_set_is_found_where_it_is_used() {
    let marks = crate::support::marks(include_str!("../fixtures/groups.cu"), "member_not_set");
    for (level, ptx) in [GROUPS[0], GROUPS[3]] {
        let (_, _, outcome) = in_out(&mut Device::new(&fixture(ptx)), "member_not_set", 1, 32);
        let [found] = outcome.findings.as_slice() else { panic!("{level}: {outcome:?}") };
        assert!(matches!(
            found.kind,
            FindingKind::Uninitialised(Uninitialised { space: Space::Local, .. })
        ));
        assert_eq!(found.loc.as_ref().map(|loc| loc.line), Some(marks[0].0), "{level}");
    }
}

#[test]
fn cooperative_grids_need_room() {
    let device = Device::new(&fixture(GROUPS[2].1));
    let launch = |blocks| {
        let params = vec![0u64.bytes(), 0u64.bytes()];
        let launch =
            Launch { grid: [blocks, 1, 1], block: [1024, 1, 1], dynamic_shared: 0, params };
        let mut memory = ptxvm::Memory::default();
        let options = Options { cooperative: true, budget: 1 << 10, ..Options::default() };
        let kernel = device.module.kernel("groups").expect("the kernel");
        ptxvm::launch(&device.module, kernel, &launch, &mut memory, &options).map(|_| ())
    };
    let Err(LaunchError::Configuration(why)) = launch(265) else { panic!("it has no room") };
    assert!(why.contains("all its 265 blocks") && why.contains("room for 264"), "{why}");
    assert_eq!(launch(2).err(), None);
}

#[test]
fn counters_see_a_cooperative_launch() {
    let mut device = Device::new(&fixture(GROUPS[2].1));
    let input = numbers(128);
    let (from, to) = (device.input(&input), device.output::<i32>(128));
    let params = vec![device.pointer(from), device.pointer(to)];
    let launch = Launch { grid: [2, 1, 1], block: [64, 1, 1], dynamic_shared: 0, params };
    let options = Options { cooperative: true, ..Options::default() };
    let kernel = device.module.kernel("groups").expect("the kernel");
    let counters =
        ptxvm::launch_counted(&device.module, kernel, &launch, &mut device.memory, &options)
            .unwrap_or_else(|error| panic!("{error}"));
    assert!(!counters.endless);
    // Each of four warps at two barriers of the grid, with two of the block in each.
    assert_eq!(counters.total.barriers, 16);
    assert!(device.memory.defined(to).iter().all(|&written| written));
}

#[test]
fn the_heap_lives_on_between_launches() {
    let mut device = Device::of(HEAP);
    let input = numbers(64);
    let from = device.input(&input);
    let to = device.output::<i32>(64);
    let params = vec![device.pointer(from), 5i32.bytes()];
    device.run("keep", 2, 32, params);
    assert_eq!(device.memory.heap_use(), HeapUse { allocations: 64, bytes: 64 * 20 });
    let params = vec![device.pointer(to), 5i32.bytes()];
    device.run("look", 2, 32, params);
    let want: Vec<i32> = input.iter().map(|x| x + 1004).collect();
    assert_eq!(device.read::<i32>(to), want);
    device.run("give_back", 2, 32, vec![10i32.bytes()]);
    assert_eq!(device.memory.heap_use(), HeapUse { allocations: 10, bytes: 200 });
    let outcome = device.launch("give_back", [2, 1, 1], [32, 1, 1], 0, vec![9i32.bytes()]);
    let [found] = outcome.findings.as_slice() else { panic!("{outcome:?}") };
    assert!(matches!(found.kind, FindingKind::InvalidFree(InvalidFree { again: true, .. })));
    assert_eq!(found.count, 54);
    assert_eq!(device.memory.heap_use().allocations, 9);
    let last = BufferId(BufferId::FIRST_ON_HEAP + 8);
    assert_eq!(device.read::<i32>(last)[0], input[8]);
}

#[test]
fn a_full_heap_gives_null() {
    let mut device = Device::of(HEAP);
    let count = device.in_out(&[0i32]);
    let params = vec![device.pointer(count), (1i32 << 20).bytes()];
    device.run("fill", 2, 32, params);
    assert_eq!(device.read::<i32>(count), [8]);
}

#[test]
fn tables_of_structures_hold_addresses() {
    let mut device = Device::of("checks/calls.ptx");
    let input = numbers(64);
    let (from, to) = (device.input(&input), device.output::<f32>(64));
    let params = vec![device.pointer(from), device.pointer(to)];
    device.run("good_tables_of_structures", 1, 64, params);
    let leaky = |x: f32| if x > 0.0 { x } else { 0.125 * x };
    let want: Vec<f32> = input
        .iter()
        .map(|&value| {
            let x = value as f32 - 8.0;
            let a = if value % 2 == 0 { x.max(0.0) * 3.0 + 2.0 } else { leaky(x) * 4.0 + 4.0 };
            let at = (value % 2) as f32;
            a + if value / 2 % 2 == 0 { (at + 2.0) * 5.0 } else { (at + 1.0) * 6.0 }
        })
        .collect();
    assert_eq!(device.read::<f32>(to), want);
}
