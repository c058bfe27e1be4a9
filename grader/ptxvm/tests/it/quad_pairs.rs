//! `mma.m8n8k4` of `f16`, bit for bit, against what an H100 gave.

use crate::sparse::{SETS, hashes, registers, seed};
use crate::support::Device;

/// For each instruction a hash of what an H100 gave for each sort of operands.
const GOLDEN: &str = include_str!("../golden/quad_pairs.txt");

#[test]
fn products_are_those_of_a_gpu() {
    for line in GOLDEN.lines() {
        let (name, expected) = line.split_once(' ').expect("a name and hashes");
        let [_, a, b, d, c] = name.split('_').collect::<Vec<_>>()[..] else { panic!("{name}") };
        let count = |ty: &str| if ty == "f32" { 8 } else { 4 };
        let (of_c, of_d) = (count(c), count(d));
        let list = |from: u64, count: u64| {
            (from..from + count).map(|at| format!("%r{at}")).collect::<Vec<_>>().join(",")
        };
        let each = 4 + of_c;
        let loads: String = (0..each)
            .map(|at| format!("ld.global.b32 %r{at},[%rd2+{}];\n", 4 * at))
            .collect::<Vec<_>>()
            .concat();
        let stores: String = (0..of_d)
            .map(|at| format!("st.global.b32 [%rd4+{}],%r{};\n", 4 * at, 20 + at))
            .collect::<Vec<_>>()
            .concat();
        let text = format!(
            ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p,.param .u64 q){{\n\
             .reg .b32 %r<40>;.reg .b64 %rd<9>;\nld.param.u64 %rd1,[p];ld.param.u64 %rd3,[q];mov.u32 %r30,%tid.x;\n\
             mov.u32 %r31,%ctaid.x;mad.lo.u32 %r30,%r31,32,%r30;mul.wide.u32 %rd2,%r30,{};add.u64 %rd2,%rd1,%rd2;\n\
             mul.wide.u32 %rd4,%r30,{};add.u64 %rd4,%rd3,%rd4;\n{loads}\
             mma.sync.aligned.m8n8k4.{a}.{b}.{d}.f16.f16.{c} {{{}}},{{{}}},{{{}}},{{{}}};\n{stores}ret;\n}}\n",
            4 * each,
            4 * of_d,
            list(20, of_d),
            list(0, 2),
            list(2, 2),
            list(4, of_c),
        );
        let seed = seed(name);
        let mut all: Vec<u32> = Vec::new();
        for set in 0..SETS {
            let matrices = [
                (registers("f16", set, 2, seed + 1), 2),
                (registers("f16", set, 2, seed + 2), 2),
                (registers(c, set, of_c, seed + 3), of_c as usize),
            ];
            for lane in 0..32 {
                for (matrix, count) in &matrices {
                    all.extend(&matrix[lane * count..][..*count]);
                }
            }
        }
        let mut device = Device::new(&text);
        let words = SETS as usize * 32 * of_d as usize;
        let buffers = [device.input(&all), device.output::<u32>(words)];
        let params = buffers.iter().map(|&id| device.pointer(id)).collect();
        let outcome = device.launch("k", [SETS as u32, 1, 1], [32, 1, 1], 0, params);
        assert_eq!(outcome.findings, [], "{name}");
        assert_eq!(hashes(&device.read::<u32>(buffers[1])), expected, "{name}");
    }
}
