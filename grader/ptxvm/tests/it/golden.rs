//! Single instructions against what an NVIDIA H200 gave: `tests/golden/make.py` made the numbers, `pack.py` packed them.
//!
//! All must be equal to the bit, approximate ones too, but for the payload of NaNs, which PTX leaves open. Unit tests of
//! `isa::ops::approx` compare all operands of the functions that approximate instructions are made of.

use crate::support::{Device, fixture, fixture_bytes};
use ptxvm::{Kernel, Module};

const EDGES: &str = include_str!("../golden/edges.txt");

const ROWS: usize = 4096;
/// Rows of the lines that end in a blank: all 16-bit values of the first operand.
const ALL: usize = 1 << 16;
/// A hash stands for so many results.
const CHUNK: usize = 4096;
const BLOCK: usize = 128;

/// Instructions that differ, by their beginning, and why that is known.
const DIFFERENT: [(&str, &str); 4] = [
    ("st.shared.b32 [%r24],%r1;atom.shared.add.noftz.f16x2 %r5", WRONG_HALF),
    ("st.shared.b32 [%r24],%r1;atom.shared.add.noftz.bf16x2 %r5", WRONG_HALF),
    ("st.shared.b32 [%r24],%r1;red.shared.add.noftz.f16x2", WRONG_HALF),
    ("st.shared.b32 [%r24],%r1;red.shared.add.noftz.bf16x2", WRONG_HALF),
];
/// Seen with driver 580: bits 32 to 47 of the loaded word are added, not 16 to 31.
const WRONG_HALF: &str =
    "the driver's assembler takes the upper half of a narrowed 64-bit operand from the wrong place";

const EDGES16: &str = "0 8000 1 8001 3ff 400 83ff 8400 3bff 3c00 3c01 bc00 4000 c000 7bff fbff 7c00 fc00 7c01 7e00 \
                       fe00 7fff 7f 80 807f 8080 3f7f 3f80 3f81 bf80 7f7f ff7f 7f80 ff80 7f81 7fc0 ffc0 ffff 4248 \
                       4049 7 1f";

fn numbers(text: &str) -> Vec<u64> {
    text.split_whitespace().map(|word| u64::from_str_radix(word, 16).expect("a number")).collect()
}

/// The output function of `SplitMix64` (Steele, Lea and Flood, 2014): a random number for each `x`.
pub fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

/// As `words` of `make.py`: four operands for each row.
fn words(rows: usize) -> Vec<u64> {
    let (edges32, edges64) = EDGES.split_once('\n').expect("two lines");
    let (edges32, edges64, edges16) = (numbers(edges32), numbers(edges64), numbers(EDGES16));
    let mut out: Vec<u64> = Vec::with_capacity(rows * 4);
    for row in 0..rows {
        for column in 0..4 {
            let n = (row * 4 + column) as u64;
            let (z, y) = (mix(n), mix(n + (1 << 40)));
            let (low, high) = (y & 0xFFFF_FFFF, y >> 32);
            let pick = |list: &[u64], by: u64| list[by as usize % list.len()];
            let (e32, e64) = (pick(&edges32, low), pick(&edges64, low));
            let first = if column == 0 { e32 } else { out[row * 4] };
            out.push(match z >> 60 {
                0 | 1 => e32,
                2 => e32 | high << 32,
                3 => e32 | pick(&edges32, high) << 32,
                4 | 5 => e64,
                6 => e64.wrapping_add(high & 7).wrapping_sub(4),
                7 => e32.wrapping_add(high & 3).wrapping_sub(1) & 0xFFFF_FFFF,
                8 => (0x3F00_0000 + (y & 0x1FF_FFFF)) | (0x3FE0_0000 + (high & 0x3F_FFFF)) << 32,
                9 => (0..4).map(|k| pick(&edges16, y >> (16 * k) & 0xFFFF) << (16 * k)).sum(),
                10 => y & 255,
                11 => (1u64 << (low & 63)).wrapping_add(high & 3).wrapping_sub(1),
                12 | 13 => y,
                14 => first ^ if high & 1 == 1 { 0x8000_0000_8000_8000 } else { 0 },
                _ => first.wrapping_add(high & 3).wrapping_sub(1),
            });
        }
    }
    out
}

/// As `ptx` of `make.py`.
pub fn program(result: &str, instruction: &str) -> String {
    let load = |i: usize| {
        "ld.global.u64 %rdN,[%rd20+OFFSET];cvt.u32.u64 %rN,%rdN;cvt.u16.u64 %rsN,%rdN;\
         mov.b32 %fN,%rN;mov.b64 %fdN,%rdN;and.b64 %rd9,%rdN,1;setp.ne.u64 %pN,%rd9,0;\n"
            .replace('N', &i.to_string())
            .replace("OFFSET", &(i * 8 - 8).to_string())
    };
    let loads: String = (1..5).map(load).collect();
    let widen = match result {
        "rs0" => "cvt.u64.u16 %rd0,%rs0;",
        "r0" => "cvt.u64.u32 %rd0,%r0;",
        "f0" => "mov.b32 %r0,%f0;cvt.u64.u32 %rd0,%r0;",
        "fd0" => "mov.b64 %rd0,%fd0;",
        "p0" => "selp.u64 %rd0,1,0,%p0;",
        _ => "",
    };
    format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 in,.param .u64 out,.param .u64 scratch){{\n\
         .reg .b16 %rs<9>;.reg .b32 %r<30>;.reg .b64 %rd<30>;.reg .f32 %f<9>;.reg .f64 %fd<9>;.reg .pred %p<9>;\n\
         .shared .align 8 .b8 own[1024];\n\
         mov.u64 %rd0,0;mov.u32 %r0,0;mov.u16 %rs0,0;setp.ne.u32 %p0,%r0,0;\n\
         ld.param.u64 %rd20,[in];ld.param.u64 %rd21,[out];ld.param.u64 %rd24,[scratch];\n\
         mov.u32 %r20,%tid.x;mov.u32 %r21,%ctaid.x;mov.u32 %r24,own;mad.lo.u32 %r24,%r20,8,%r24;\n\
         mad.lo.u32 %r20,%r21,128,%r20;\n\
         mul.wide.u32 %rd22,%r20,8;add.s64 %rd21,%rd21,%rd22;add.s64 %rd24,%rd24,%rd22;\n\
         mul.wide.u32 %rd22,%r20,32;add.s64 %rd20,%rd20,%rd22;\n\
         {loads}{instruction}\n{widen}\nst.global.u64 [%rd21],%rd0;\nret;\n}}\n"
    )
}

/// NaNs as all ones below the sign.
fn canonical(kind: &str, value: u64) -> u64 {
    let (mask, infinity) = match kind {
        "f16" => (0x7FFF, 0x7C00),
        "bf16" => (0x7FFF, 0x7F80),
        "f32" => (0x7FFF_FFFF, 0x7F80_0000),
        "f64" => (u64::MAX >> 1, 0x7FF << 52),
        _ => match kind.strip_suffix("x2") {
            Some(half) => {
                return canonical(half, value & 0xFFFF) | canonical(half, value >> 16) << 16;
            }
            None => return value,
        },
    };
    if value & mask > infinity { mask } else { value }
}

/// As `hashes` of `pack.py`.
pub fn hash(values: impl IntoIterator<Item = u64>) -> u32 {
    let state = values.into_iter().fold(0xCBF2_9CE4_8422_2325_u64, |state, value| {
        let state = (state ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        state ^ state >> 32
    });
    state as u32
}

/// The operands of each row.
fn operands(exhaustive: bool) -> Vec<u64> {
    let rows = if exhaustive { ALL } else { ROWS };
    let mut values = words(rows);
    if exhaustive {
        (0..rows).for_each(|row| values[row * 4] = row as u64);
    }
    values
}

pub fn run(text: &str, operands: &[u64]) -> Vec<u64> {
    let rows = operands.len() / 4;
    let mut device = Device::new(text);
    device.options.budget = 1 << 26;
    let source = device.input(operands);
    let (target, scratch) = (device.output::<u64>(rows), device.output::<u64>(rows));
    let params = [source, target, scratch].map(|id| device.pointer(id)).to_vec();
    device.run("k", (rows / BLOCK) as u32, BLOCK as u32, params);
    device.read::<u64>(target)
}

/// Up to eight bytes as a number.
pub fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Where the results of a line differ from those that were hashed. The numbers of the GPU are those of an older commit that passes.
fn difference(kind: &str, results: &[u64], hashes: &[[u8; 4]]) -> Option<String> {
    let own = results
        .chunks_exact(CHUNK)
        .map(|chunk| hash(chunk.iter().map(|value| canonical(kind, *value))));
    let differs = own.zip(hashes).position(|(own, theirs)| own != u32::from_le_bytes(*theirs));
    differs.map(|chunk| format!("somewhere from row {} on", chunk * CHUNK))
}

/// One line of the table with what a GPU gave.
struct Line {
    result: &'static str,
    kind: &'static str,
    instruction: &'static str,
    exhaustive: bool,
    hashes: Vec<[u8; 4]>,
}

fn lines() -> Vec<Line> {
    let h200 = fixture_bytes("golden/tables.bin");
    let (mut rest, _) = h200.as_chunks::<4>();
    let parse = |line: &'static str| {
        let (result, words) = line.split_once(' ').expect("a result register");
        let (kind, instruction) = words.split_once(' ').expect("a type");
        let exhaustive = line.ends_with(' ');
        let rows = if exhaustive { ALL } else { ROWS };
        let (hashes, after) = rest.split_at(rows / CHUNK);
        rest = after;
        Line { result, kind, instruction, exhaustive, hashes: hashes.to_vec() }
    };
    // They keep parts of the text.
    let text: &'static str = fixture("golden/tables.txt").leak();
    let lines = text.lines().map(parse).collect();
    assert!(rest.is_empty());
    lines
}

#[test]
fn single_instructions_give_what_a_gpu_gives() {
    let tables = [operands(false), operands(true)];
    let (mut compared, mut wrong, mut unsupported) = (0, Vec::new(), Vec::new());
    for line in lines() {
        let instruction = line.instruction;
        let text = program(line.result, instruction);
        let module = Module::load(&text);
        let refusal = module
            .as_ref()
            .map_or_else(Some, |module| module.kernel("k").and_then(Kernel::refusal));
        if let Some(error) = refusal {
            unsupported.push(format!("{instruction}: {error}"));
            continue;
        }
        compared += 1;
        let known = DIFFERENT.iter().any(|(start, _)| instruction.starts_with(start));
        let results = run(&text, &tables[usize::from(line.exhaustive)]);
        match difference(line.kind, &results, &line.hashes) {
            Some(what) if !known => wrong.push(format!("{instruction} {what}")),
            None if known => wrong.push(format!("{instruction} no longer differs")),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(unsupported.is_empty(), "not loaded:\n{}", unsupported.join("\n"));
    assert_eq!(compared, 3140);
}
