//! Single instructions against what an NVIDIA H200 gave: see `tests/golden/make.py`, which made the numbers.
//!
//! Integer and IEEE operations must be equal to the bit, but for the payload of NaNs, which PTX leaves open.

use crate::support::{Device, bytes_of};
use ptxvm::Module;

const THREADS: usize = 64;
const INSTRUCTIONS: &str = include_str!("../golden/instructions.txt");
const EDGES: &str = include_str!("../golden/edges.txt");
const H200: &[u8] = include_bytes!("../golden/h200.bin");

/// Instructions that differ, by their beginning, and why that is known.
const DIFFERENT: [(&str, &str); 8] = [
    ("bfe.s64", "position and length above 255, which the ISA rules out"),
    ("bfe.u64", "position and length above 255, which the ISA rules out"),
    ("bfi.b64", "position and length above 255, which the ISA rules out"),
    ("cvt.rni.u8.f64", "NaN, which the ISA leaves open"),
    ("cvt.rzi.u8.f64", "NaN, which the ISA leaves open"),
    ("cvt.rmi.u8.f64", "NaN, which the ISA leaves open"),
    ("cvt.rpi.u8.f64", "NaN, which the ISA leaves open"),
    ("rcp.approx.ftz.f64", "approximate: the hardware's table is not public"),
];

fn edges() -> (Vec<u64>, Vec<u64>) {
    let mut lists = EDGES.lines().map(|line| {
        line.split(' ').map(|word| u64::from_str_radix(word, 16).expect("a number")).collect()
    });
    (lists.next().expect("32-bit edges"), lists.next().expect("64-bit edges"))
}

/// As `inputs` of `make.py`.
fn inputs(seed: u64, edges32: &[u64], edges64: &[u64]) -> Vec<u64> {
    let mut state = seed;
    let value = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let other = state.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(3_037_000_493);
        let pick = |list: &[u64]| list[(state >> 32) as usize % list.len()];
        match state >> 61 {
            0 | 1 => pick(edges32),
            2 => pick(edges32) | (other >> 32 << 32),
            3 => pick(edges64),
            4 => pick(edges32).wrapping_add(other >> 62).wrapping_sub(1) & 0xFFFF_FFFF,
            5 => pick(edges64).wrapping_add(other >> 61).wrapping_sub(4),
            6 => {
                let low = 0x3F00_0000 + (other >> 38 & 0x1FF_FFFF);
                low | (0x3FE0_0000 + (other >> 10 & 0x3F_FFFF)) << 32
            }
            _ => state ^ (state >> 29),
        }
    };
    std::iter::repeat_with(value).take(THREADS * 4).collect()
}

/// The result register of an instruction.
fn result(instruction: &str) -> &str {
    let operands = instruction.split_once(' ').expect("operands").1;
    operands.split([',', '|', ';']).next().expect("a result").trim()
}

/// As `ptx` of `make.py`.
fn program(instruction: &str) -> String {
    let load = |i: usize| {
        "ld.global.u64 %rdN,[%rd20+OFFSET];cvt.u32.u64 %rN,%rdN;cvt.u16.u64 %rsN,%rdN;\
         mov.b32 %fN,%rN;mov.b64 %fdN,%rdN;and.b64 %rd9,%rdN,1;setp.ne.u64 %pN,%rd9,0;\n"
            .replace('N', &i.to_string())
            .replace("OFFSET", &(i * 8 - 8).to_string())
    };
    let loads: String = (1..5).map(load).collect();
    let widen = match result(instruction) {
        "%rs0" => "cvt.u64.u16 %rd0,%rs0;",
        "%r0" => "cvt.u64.u32 %rd0,%r0;",
        "%f0" => "mov.b32 %r0,%f0;cvt.u64.u32 %rd0,%r0;",
        "%fd0" => "mov.b64 %rd0,%fd0;",
        "%p0" => "selp.u64 %rd0,1,0,%p0;",
        _ => "",
    };
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in,.param .u64 out){{\n\
         .reg .b16 %rs<9>;.reg .b32 %r<30>;.reg .b64 %rd<30>;.reg .f32 %f<9>;.reg .f64 %fd<9>;.reg .pred %p<9>;\n\
         mov.u64 %rd0,0;mov.u32 %r0,0;\n\
         ld.param.u64 %rd20,[in];ld.param.u64 %rd21,[out];mov.u32 %r20,%tid.x;\n\
         mul.wide.u32 %rd22,%r20,8;add.s64 %rd21,%rd21,%rd22;mul.wide.u32 %rd22,%r20,32;add.s64 %rd20,%rd20,%rd22;\n\
         {loads}{instruction}\n{widen}\nst.global.u64 [%rd21],%rd0;\nret;\n}}\n"
    )
}

/// Equal, or both NaN in the type of the result.
fn agrees(instruction: &str, a: u64, b: u64) -> bool {
    let half = |bits: u64, exponent: u64| bits & 0x7FFF > exponent;
    a == b
        || match result(instruction) {
            "%fd0" => f64::from_bits(a).is_nan() && f64::from_bits(b).is_nan(),
            "%f0" => f32::from_bits(a as u32).is_nan() && f32::from_bits(b as u32).is_nan(),
            "%rs0" if instruction.contains("bf16") => half(a, 0x7F80) && half(b, 0x7F80),
            "%rs0" if instruction.contains("f16") => half(a, 0x7C00) && half(b, 0x7C00),
            _ => false,
        }
}

fn is_known(instruction: &str) -> bool {
    DIFFERENT.iter().any(|(start, _)| instruction.starts_with(start))
}

#[test]
fn single_instructions_give_what_a_gpu_gives() {
    let (edges32, edges64) = edges();
    let lines: Vec<&str> = INSTRUCTIONS.lines().collect();
    assert_eq!(H200.len(), lines.len() * THREADS * 8);
    let (mut compared, mut wrong) = (0, Vec::new());
    for (line, golden) in lines.iter().zip(H200.chunks_exact(THREADS * 8)) {
        let (seed, instruction) = line.split_once(' ').expect("a seed and an instruction");
        // Approximate instructions have bounds, tested where they are defined.
        if is_known(instruction) || instruction.contains(".approx") || instruction.contains(".full")
        {
            continue;
        }
        let text = program(instruction);
        assert!(Module::load(&text).is_ok(), "{instruction}: {:?}", Module::load(&text));
        let mut device = Device::new(&text);
        let source = device.input(&inputs(seed.parse().expect("a number"), &edges32, &edges64));
        let target = device.output::<u64>(THREADS);
        let params = vec![device.pointer(source), device.pointer(target)];
        device.run("k", 1, THREADS as u32, params);
        let results = bytes_of(&device.read::<u64>(target));
        let word = |bytes: &[u8], i: usize| {
            u64::from_le_bytes(bytes[i * 8..i * 8 + 8].try_into().expect("8 bytes"))
        };
        let differs =
            (0..THREADS).find(|&i| !agrees(instruction, word(golden, i), word(&results, i)));
        if let Some(i) = differs {
            wrong.push(format!(
                "{instruction} thread {i}: {:x}, not {:x}",
                word(&results, i),
                word(golden, i)
            ));
        }
        compared += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 480, "only {compared} of {} instructions are compared", lines.len());
}
