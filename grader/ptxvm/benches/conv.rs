//! Whole kernels with all checks on: the convolution of `LeNet`'s second layer, a tiled matrix product, and an update in
//! place. Buffers are writable, as those of a real program are.

#[path = "../tests/it/fixture.rs"]
mod fixture;

use criterion::{Criterion, criterion_group, criterion_main};
use fixture::fixture;
use ptxvm::{Access, Init, Launch, Memory, Module, Options, Outcome, launch};

fn floats(count: usize) -> Init {
    Init::Bytes((0..count).flat_map(|i| ((i * 7919 % 13) as f32 - 6.0).to_le_bytes()).collect())
}

/// A launch of the first kernel of a module on two inputs and an output.
struct Case {
    module: Module,
    buffers: [Init; 3],
    dims: Vec<i32>,
    grid: [u32; 3],
    block: [u32; 3],
}

impl Case {
    /// `sizes` of the buffers, in words.
    fn new(ptx: &str, sizes: [usize; 3], dims: &[i32], grid: [u32; 3], block: [u32; 3]) -> Self {
        let module = Module::load(ptx).expect("a module");
        let [first, second, output] = sizes;
        let output = Init::Undefined { len: output * 4 };
        let buffers = [floats(first), floats(second), output];
        Self { module, buffers, dims: dims.to_vec(), grid, block }
    }

    fn run(&self) -> Outcome {
        let mut memory = Memory::default();
        let buffers = self.buffers.clone().map(|init| memory.alloc(init, Access::ReadWrite));
        let mut params = buffers.map(|id| memory.address(id).to_le_bytes().to_vec()).to_vec();
        params.extend(self.dims.iter().map(|dim| dim.to_le_bytes().to_vec()));
        let kernel = self.module.kernels().next().expect("a kernel");
        let config = Launch { grid: self.grid, block: self.block, dynamic_shared: 0, params };
        let outcome = launch(&self.module, kernel, &config, &mut memory, &Options::default());
        let outcome = outcome.expect("a launch");
        assert_eq!(outcome.findings, []);
        outcome
    }
}

const CONV: &str = "fixtures/conv.ptx";
const TILED: &str = "fixtures/tiled.ptx";

fn conv2(batch: usize) -> Case {
    let (c_in, size, c_out, filter) = (6, 12, 16, 5);
    let out = size - filter + 1;
    let sizes =
        [batch * c_out * out * out, c_out * c_in * filter * filter, batch * c_in * size * size];
    let dims = [batch, c_in, size, size, c_out, filter].map(|dim| dim as i32);
    Case::new(&fixture(CONV), sizes, &dims, [sizes[2].div_ceil(256) as u32, 1, 1], [256, 1, 1])
}

fn tiny() -> Case {
    Case::new(&fixture(CONV), [9, 9, 25], &[1, 1, 5, 5, 1, 3], [1; 3], [32, 1, 1])
}

/// `weights[i] -= rate * gradient[i]`.
const UPDATE: &str = "
.version 8.0
.target sm_75
.address_size 64
.visible .entry update(.param .u64 weights, .param .u64 gradient, .param .u64 unused)
{
    .reg .f32 %f<4>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [weights];
    ld.param.u64 %rd2, [gradient];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    mul.wide.s32 %rd3, %r4, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.f32 %f1, [%rd4];
    ld.global.f32 %f2, [%rd5];
    fma.rn.f32 %f3, %f2, 0fBC23D70A, %f1;
    st.global.f32 [%rd4], %f3;
    ret;
}";

fn product() -> Case {
    Case::new(&fixture(TILED), [1 << 16; 3], &[256; 3], [16, 16, 1], [16, 16, 1])
}

fn update() -> Case {
    let words = 1 << 20;
    Case::new(UPDATE, [words, words, 1], &[], [words as u32 / 256, 1, 1], [256, 1, 1])
}

fn bench(criterion: &mut Criterion) {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let text = fixture(CONV);
    criterion.bench_function("load conv", |b| b.iter(|| Module::load(&text)));
    let tiny = tiny();
    criterion.bench_function("conv2d_backward_input 5x5", |b| b.iter(|| tiny.run()));
    let mut group = criterion.benchmark_group("large");
    group.sample_size(10);
    let cases = [
        ("conv2d_backward_input conv2 batch 64", conv2(64)),
        ("matmul 256^3, tiles of 16", product()),
        ("update of 2^20 words in place", update()),
    ];
    for (name, case) in &cases {
        group.bench_function(format!("{name}, 1 thread"), |b| {
            b.iter(|| one.install(|| case.run()));
        });
        group.bench_function(*name, |b| b.iter(|| case.run()));
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
