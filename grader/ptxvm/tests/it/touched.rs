//! Which bytes a launch is said to touch.

use ptxvm::{Access, Init, Launch, Memory, Module, Options, Touch, TouchedBytes, launch};

/// Thread t of 100 reads the float t of `p`, adds to the int t / 32 of `counts` and stores the byte 2 t of `q`. The last float and
/// the first byte lie outside of their buffers.
const KERNEL: &str = "
.version 8.0
.target sm_75
.address_size 64
.global .align 4 .u32 flag;
.visible .entry k(.param .u64 p, .param .u64 counts, .param .u64 q)
{
    .reg .b32 %r<5>;
    .reg .f32 %f<2>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [p];
    ld.param.u64 %rd2, [counts];
    ld.param.u64 %rd3, [q];
    mov.u32 %r1, %tid.x;
    mul.wide.s32 %rd4, %r1, 4;
    add.s64 %rd5, %rd1, %rd4;
    ld.global.f32 %f1, [%rd5];
    shr.u32 %r2, %r1, 5;
    mul.wide.s32 %rd4, %r2, 4;
    add.s64 %rd5, %rd2, %rd4;
    red.global.add.u32 [%rd5], 1;
    mul.wide.s32 %rd4, %r1, 2;
    add.s64 %rd5, %rd3, %rd4;
    st.global.u8 [%rd5+-2], %r1;
    ld.volatile.global.u32 %r3, [flag];
    ret;
}";

#[test]
fn each_byte_is_told_with_how_it_is_touched() {
    let module = Module::load(KERNEL).unwrap();
    let mut memory = Memory::default();
    let [p, counts, q] =
        [396, 16, 200].map(|len| memory.alloc(Init::Bytes(vec![0; len]), Access::ReadWrite));
    let params = [p, counts, q].map(|id| memory.address(id).to_le_bytes().to_vec()).to_vec();
    let start = Launch { grid: [1, 1, 1], block: [100, 1, 1], dynamic_shared: 0, params };
    let kernel = module.kernels().next().unwrap();
    let mut touched =
        |options: &Options| launch(&module, kernel, &start, &mut memory, options).unwrap().touched;
    assert_eq!(touched(&Options::default()), [], "nobody asked");
    let of = |buffer, touch, ranges| TouchedBytes { buffer, touch, ranges };
    let first = |bytes: u64| std::iter::once(0..bytes).collect();
    let even = (0..99).map(|t| 2 * t..2 * t + 1).collect();
    let all = touched(&Options { touched: true, ..Options::default() });
    let flag = all.last().unwrap().buffer;
    assert_eq!(
        all,
        [
            of(p, Touch::Read, first(396)),
            of(counts, Touch::StrongWrite, first(16)),
            of(q, Touch::Write, even),
            of(flag, Touch::StrongRead, first(4)),
        ]
    );
    assert_eq!(memory.variable_name(flag), Some("flag"));
}

#[test]
fn strong_accesses_do_not_conflict_with_each_other() {
    let conflicts = |touch: Touch| Touch::ALL.map(|other| touch.conflicts_with(other));
    assert_eq!(conflicts(Touch::Read), [false, true, false, true]);
    assert_eq!(conflicts(Touch::Write), [true; 4]);
    assert_eq!(conflicts(Touch::StrongRead), [false, true, false, false]);
    assert_eq!(conflicts(Touch::StrongWrite), [true, true, false, false]);
}
