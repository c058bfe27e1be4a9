//! Launches in another order of blocks and warps.

use crate::support::{Device, Plain};
use ptxvm::{Launch, Schedule, launch_reordered};

const ATOMICS: &str = "fixtures/atomics.ptx";
const CONV: &str = "fixtures/conv.ptx";
const TILED: &str = "fixtures/tiled.ptx";

const SCHEDULES: [Schedule; 3] =
    [Schedule::Reversed, Schedule::Scattered(1), Schedule::Scattered(2)];

fn again(device: &mut Device, kernel: &str, launch: &Launch, schedule: Schedule) -> bool {
    let Device { module, memory, options } = device;
    let kernel = module.kernels().find(|k| k.name().contains(kernel)).unwrap();
    launch_reordered(module, kernel, launch, memory, options, schedule).unwrap()
}

/// Values whose float sum depends on the order.
fn uneven(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i as f32 * 1.7).sin()).collect()
}

fn float_sum(schedule: Schedule, n: usize, block: u32) -> f32 {
    let mut device = Device::of(ATOMICS);
    let (input, sum) = (device.input(&uneven(n)), device.in_out(&[0f32]));
    let params = vec![device.pointer(input), device.pointer(sum), (n as i32).bytes()];
    let grid = [(n as u32).div_ceil(block), 1, 1];
    let launch = Launch { grid, block: [block, 1, 1], dynamic_shared: 0, params };
    assert!(again(&mut device, "float_sum", &launch, schedule));
    device.read::<f32>(sum)[0]
}

#[test]
fn a_float_sum_by_atomics_shows_the_order_of_blocks_and_of_warps() {
    for (n, block) in [(700, 32), (700, 1024)] {
        let sums = SCHEDULES.map(|schedule| float_sum(schedule, n, block));
        assert!(sums.iter().any(|sum| *sum != sums[0]), "{sums:?}");
        assert!(sums.iter().all(|sum| (sum - sums[0]).abs() < 1e-3), "{sums:?}");
        assert_eq!(
            SCHEDULES.map(|schedule| float_sum(schedule, n, block)),
            sums,
            "the same order again"
        );
    }
}

#[test]
fn a_kernel_with_an_owner_for_each_element_gives_the_same_bits_in_every_order() {
    let (a, b) = (uneven(33 * 47), uneven(47 * 20));
    let run = |schedule: Option<Schedule>| {
        let mut device = Device::of(TILED);
        let buffers = [device.input(&a), device.input(&b), device.output::<f32>(33 * 20)];
        let mut params: Vec<_> = buffers.iter().map(|&id| device.pointer(id)).collect();
        params.extend([33, 20, 47].map(|dim: i32| dim.bytes()));
        let launch = Launch { grid: [2, 3, 1], block: [16, 16, 1], dynamic_shared: 0, params };
        match schedule {
            Some(schedule) => assert!(again(&mut device, "matmul_tiled", &launch, schedule)),
            None => {
                device.launch("matmul_tiled", launch.grid, launch.block, 0, launch.params);
            }
        }
        device.read::<u32>(buffers[2])
    };
    let first = run(None);
    assert!(SCHEDULES.iter().all(|&schedule| run(Some(schedule)) == first));
}

#[test]
fn what_never_ends_is_told() {
    let mut device = Device::of(CONV);
    device.options.budget = 3;
    let buffers: Vec<_> = (0..3).map(|_| device.in_out(&[1f32; 25])).collect();
    let mut params: Vec<_> = buffers.iter().map(|&id| device.pointer(id)).collect();
    params.extend([1, 1, 5, 5, 1, 3].map(|dim: i32| dim.bytes()));
    let launch = Launch { grid: [1, 1, 1], block: [32, 1, 1], dynamic_shared: 0, params };
    assert!(!again(&mut device, "conv2d_backward_input", &launch, Schedule::Reversed));
}

#[test]
fn each_block_begins_with_no_barrier_objects_and_constants_hold_addresses() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n\
                .global .align 4 .u32 seven[1] = {7};\n\
                .const .align 8 .u64 table[1] = {generic(seven)};\n\
                .visible .entry k(.param .u64 out){\n\
                .reg .b32 %r<3>;.reg .b64 %rd<5>;\n.shared .align 8 .b64 object;\n\
                mov.u32 %r1,%ctaid.x;\nmbarrier.init.shared.b64 [object],1;\n\
                mbarrier.arrive.shared.b64 %rd1,[object];\n\
                ld.const.u64 %rd2,[table];\nld.u32 %r2,[%rd2];\nld.param.u64 %rd3,[out];\n\
                mul.wide.u32 %rd4,%r1,4;\nadd.u64 %rd3,%rd3,%rd4;\nst.global.u32 [%rd3],%r2;\nret;\n}\n";
    for schedule in SCHEDULES {
        let mut device = Device::new(text);
        let out = device.output::<u32>(4);
        let params = vec![device.pointer(out)];
        let launch = Launch { grid: [4, 1, 1], block: [1; 3], dynamic_shared: 0, params };
        assert!(again(&mut device, "k", &launch, schedule), "{schedule:?}");
        assert_eq!(device.read::<u32>(out), [7; 4]);
    }
}
