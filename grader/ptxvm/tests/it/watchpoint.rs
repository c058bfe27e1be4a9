//! Which write a watchpoint names as the last.

use ptxvm::{Access, Init, Launch, Memory, Module, Options, Watchpoint, launch};

/// Block b writes the 8 bytes from 8 b on.
const WIDE_WRITES: &str = "
.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %ctaid.x;
    mul.wide.s32 %rd2, %r1, 8;
    add.s64 %rd3, %rd1, %rd2;
    st.global.v2.u32 [%rd3], {%r1, %r1};
    ret;
}";

fn writer(offset: u64, size: u32) -> Option<([u32; 3], [u32; 3])> {
    let module = Module::load(WIDE_WRITES).unwrap();
    let mut memory = Memory::default();
    let buffer = memory.alloc(Init::Undefined { len: 64 }, Access::ReadWrite);
    let start = Launch {
        grid: [4, 1, 1],
        block: [1, 1, 1],
        dynamic_shared: 0,
        params: vec![memory.address(buffer).to_le_bytes().to_vec()],
    };
    let options =
        Options { watch: Some(Watchpoint { buffer, offset, size }), ..Options::default() };
    let outcome = launch(&module, module.kernels().next().unwrap(), &start, &mut memory, &options);
    outcome.unwrap().writer.map(|w| (w.block, w.thread))
}

#[test]
fn a_part_of_a_wide_write_counts() {
    for offset in [8, 11, 12, 15] {
        assert_eq!(writer(offset, 1), Some(([1, 0, 0], [0, 0, 0])), "byte {offset}");
    }
    assert_eq!(writer(32, 4), None, "nobody writes behind the last block");
    assert_eq!(writer(0, 64).map(|w| w.0), Some([3, 0, 0]), "the last of several");
}
