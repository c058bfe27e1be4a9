//! Whole kernels with all checks on: the convolution of `LeNet`'s second layer and a tiled matrix product.

use criterion::{Criterion, criterion_group, criterion_main};
use ptxvm::{Access, Init, Launch, Memory, Module, Options, Outcome, launch};

fn floats(count: usize) -> Init {
    Init::Bytes((0..count).flat_map(|i| ((i * 7919 % 13) as f32 - 6.0).to_le_bytes()).collect())
}

/// Launches the first kernel of a module on two inputs and an output.
fn run(
    module: &Module,
    sizes: [usize; 3],
    dims: &[i32],
    grid: [u32; 3],
    block: [u32; 3],
) -> Outcome {
    let mut memory = Memory::default();
    let buffers = [
        memory.alloc(floats(sizes[0]), Access::ReadOnly),
        memory.alloc(floats(sizes[1]), Access::ReadOnly),
        memory.alloc(Init::Undefined { len: sizes[2] * 4 }, Access::ReadWrite),
    ];
    let mut params: Vec<Vec<u8>> =
        buffers.iter().map(|&id| memory.address(id).to_le_bytes().to_vec()).collect();
    params.extend(dims.iter().map(|dim| dim.to_le_bytes().to_vec()));
    let kernel = module.kernels().next().expect("a kernel");
    let config = Launch { grid, block, dynamic_shared: 0, params };
    let outcome = launch(module, kernel, &config, &mut memory, &Options::default());
    let outcome = outcome.expect("a launch");
    assert_eq!(outcome.findings, []);
    outcome
}

fn conv2(module: &Module, batch: usize) -> Outcome {
    let (c_in, size, c_out, filter) = (6, 12, 16, 5);
    let out = size - filter + 1;
    let sizes =
        [batch * c_out * out * out, c_out * c_in * filter * filter, batch * c_in * size * size];
    let dims = [batch, c_in, size, size, c_out, filter].map(|dim| dim as i32);
    run(module, sizes, &dims, [sizes[2].div_ceil(256) as u32, 1, 1], [256, 1, 1])
}

fn tiny(module: &Module) -> Outcome {
    run(module, [9, 9, 25], &[1, 1, 5, 5, 1, 3], [1; 3], [32, 1, 1])
}

fn bench(criterion: &mut Criterion) {
    let text = include_str!("../tests/fixtures/conv.ptx");
    let conv = Module::load(text).expect("a module");
    let tiled = Module::load(include_str!("../tests/fixtures/tiled.ptx")).expect("a module");
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");

    criterion.bench_function("load conv", |b| b.iter(|| Module::load(text)));
    criterion.bench_function("conv2d_backward_input 5x5", |b| b.iter(|| tiny(&conv)));
    let mut group = criterion.benchmark_group("large");
    group.sample_size(10);
    group.bench_function("conv2d_backward_input conv2 batch 64, 1 thread", |b| {
        b.iter(|| one.install(|| conv2(&conv, 64)));
    });
    group.bench_function("conv2d_backward_input conv2 batch 64", |b| b.iter(|| conv2(&conv, 64)));
    group.bench_function("matmul 256^3, tiles of 16, 1 thread", |b| {
        b.iter(|| one.install(|| run(&tiled, [1 << 16; 3], &[256; 3], [16, 16, 1], [16, 16, 1])));
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
