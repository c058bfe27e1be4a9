//! Kernels as the compiler makes them at -O1 and -O3, on one host thread and on several: the same memory, bit for bit.
//!
//! The arguments need not make sense: numbers are small, and what lies outside a buffer is a finding of both.

use crate::support::fixture;
use ptxvm::{Access, BufferId, Init, Launch, Memory, Module, Options};

const PAIRS: [(&str, &str, &str); 3] = [
    ("conv", "fixtures/conv_O1.ptx", "fixtures/conv.ptx"),
    ("tiled", "fixtures/tiled_O1.ptx", "fixtures/tiled.ptx"),
    ("control", "fixtures/control_O1.ptx", "fixtures/control.ptx"),
];
const WORDS: usize = 4096;

/// The buffers after a launch. Pointers get one buffer each, everything else a small number.
fn run(module: &Module, kernel: &str, number: u32, floats: bool) -> Vec<Vec<u8>> {
    let kernel = module.kernel(kernel).expect("the kernel");
    let mut memory = Memory::default();
    let mut buffers: Vec<BufferId> = Vec::new();
    let mut params = Vec::new();
    for ty in kernel.params() {
        if ty.size != 8 {
            params.push(
                [number.to_le_bytes().to_vec(), vec![0; ty.size]].concat()[..ty.size].to_vec(),
            );
            continue;
        }
        let word = |i: usize| {
            let value = (i * 7 + buffers.len() * 3) % 11;
            if floats { (value as f32 - 4.0).to_bits() } else { value as u32 }
        };
        let bytes = (0..WORDS).flat_map(|i| word(i).to_le_bytes()).collect();
        let buffer = memory.alloc(Init::Bytes(bytes), Access::ReadWrite);
        params.push(memory.address(buffer).to_le_bytes().to_vec());
        buffers.push(buffer);
    }
    let launch = Launch { grid: [3, 1, 1], block: [64, 1, 1], dynamic_shared: 4096, params };
    let options = Options { budget: 1 << 18, ..Options::default() };
    ptxvm::launch(module, kernel, &launch, &mut memory, &options).expect("a launch");
    buffers.iter().map(|buffer| memory.bytes(*buffer).clone()).collect()
}

#[test]
fn optimisation_and_host_threads_change_nothing() {
    let pool = |threads| {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
        builder.build().expect("host threads")
    };
    let (one, several) = (pool(1), pool(4));
    let mut compared = 0;
    for (name, low, high) in PAIRS {
        let load = |name| Module::load(&fixture(name)).expect("a module");
        let (low, high) = (load(low), load(high));
        for kernel in high.kernels().map(ptxvm::Kernel::name) {
            for (number, floats) in [(3, true), (3, false), (20, true), (20, false)] {
                let expected = one.install(|| run(&high, kernel, number, floats));
                let again = several.install(|| run(&high, kernel, number, floats));
                assert!(again == expected, "{name}, {kernel} with {number}: host threads");
                let simple = several.install(|| run(&low, kernel, number, floats));
                assert!(simple == expected, "{name}, {kernel} with {number}: optimisation");
                compared += 1;
            }
        }
    }
    assert!(compared > 40, "only {compared} launches");
}
