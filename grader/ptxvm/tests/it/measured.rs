//! Single instructions at their edges against what an NVIDIA H200 gave: `tests/golden/measured.cu` made the numbers,
//! `measured.py` packed them and says how. All must be equal to the bit.

use crate::golden::{hash, program, run};

const LINES: &str = include_str!("../golden/measured.txt");

/// The numbers of what `measured.cu` runs.
const OPERATIONS: [(usize, usize); 6] =
    [(0, 12), (20, 21), (30, 35), (40, 42), (50, 51), (64, 100)];

/// Operand sets of an operation.
const SETS: usize = 2048;

/// A set of operands, as many as a program of the golden tables loads.
type Operands = [u64; 4];

/// The linear congruential generator of `measured.cu`.
struct Random(u64);

impl Random {
    fn word(&mut self) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 ^ self.0 >> 29) >> 32) as u32
    }

    fn below(&mut self, end: u32) -> u32 {
        self.word() % end
    }

    fn flip(&mut self) -> bool {
        self.word() & 1 == 1
    }

    fn pick(&mut self, list: &[u32]) -> u64 {
        list[self.below(list.len() as u32) as usize].into()
    }
}

/// Products and quotients within a few steps of 2^-126.
fn near_least_normal(operation: usize, row: usize, off: i32, random: &mut Random) -> Operands {
    let a = f32::from_bits(0x3F80_0000 | random.word() >> 9);
    let quotient = matches!(operation, 8 | 9 | 11 | 12);
    let power = |exponent: i32| f64::from(exponent).exp2();
    let wanted =
        if quotient { f64::from(a) * power(60) } else { power(-126) / f64::from(a) * power(62) };
    let mut b = f32::from_bits((wanted as f32).to_bits().wrapping_add_signed(off));
    let mut a = (a * power(if quotient { -66 } else { -62 }) as f32).to_bits();
    let mut c = 0;
    if (4..=7).contains(&operation) && row % 2 == 1 {
        // Twice the product and a part of it away again: what is left is near 2^-126.
        b *= 2.0;
        c = 0x8080_0000 + random.below(5);
    }
    if random.flip() {
        a ^= 1 << 31;
        c ^= 1 << 31;
    }
    [a, b.to_bits(), c, 0].map(u64::from)
}

/// The same of 2^-14 as f16: significands of 11 bits; exponents that add up to -15 or -14.
fn near_least_half(operation: usize, row: usize, off: i32, random: &mut Random) -> Operands {
    let exponent = 1 + random.below(14);
    let a = exponent << 10 | (random.word() & 1023);
    let mut b = (16 - exponent + random.below(2)) << 10 | (random.word() & 1023);
    if !row.is_multiple_of(4) {
        // The neighbours of the reciprocal.
        let x = 1.0 + f64::from(a & 1023) / 1024.0;
        let near = (1024.0 * (2.0 / x - 1.0) + 0.5) as i32 + off;
        b = (15 - exponent) << 10 | near.clamp(0, 1023) as u32;
    }
    let mut c = 0;
    if operation == 21 && !row.is_multiple_of(3) {
        c = if random.flip() { 0x0400 } else { 0x8400 };
        b += 1024;
    }
    [a, b, c, 0].map(u64::from)
}

/// Any word, and positions and lengths of fields; `bfi` inserts a multiple of the word.
fn fields(operation: usize, random: &mut Random) -> Operands {
    const EDGES: [u32; 26] = [
        0,
        1,
        8,
        31,
        32,
        33,
        63,
        64,
        65,
        127,
        128,
        255,
        256,
        257,
        264,
        288,
        320,
        511,
        512,
        65535,
        65536,
        65544,
        0x7FFF_FFFF,
        0x8000_0000,
        0xFFFF_FFFF,
        0x8000_0008,
    ];
    let a = u64::from(random.word()) << 32 | u64::from(random.word());
    let (b, c) = (random.pick(&EDGES), random.pick(&EDGES));
    if matches!(operation, 32 | 35) { [a, a.wrapping_mul(77), b, c] } else { [a, b, c, 0] }
}

/// Doubles around 2^-126, the least normal float.
fn near_least_float(off: i32, random: &mut Random) -> Operands {
    let below = u64::from(random.below(64)) << 24;
    let a = (0x3810_0000_0000_0000 - below).wrapping_add_signed(i64::from(off) << 22);
    [a | u64::from(random.flip()) << 63, 0, 0, 0]
}

/// Edges of bytes and half words, small numbers, and any.
fn edges(random: &mut Random) -> Operands {
    const EDGES: [u32; 20] = [
        0,
        1,
        0x7F,
        0x80,
        0xFF,
        0x7FFF,
        0x8000,
        0xFFFF,
        0x7FFF_FFFF,
        0x8000_0000,
        0xFFFF_FFFF,
        0x00FF_00FF,
        0x8001_8001,
        31,
        32,
        33,
        0x3C00_3C00,
        0x7C01_FC00,
        0x0400_0200,
        0x3F80_7FFF,
    ];
    let mut operand = || match random.below(4) {
        0 => random.pick(&EDGES),
        1 => random.below(40).into(),
        2 => random.word().into(),
        _ => u64::from(random.word() & 0x00FF_00FF),
    };
    [operand(), operand(), operand(), 0]
}

/// As `main` of `measured.cu`: the operand sets of all operations.
fn operands() -> Vec<(usize, Vec<Operands>)> {
    let mut random = Random(1);
    let mut set = |operation: usize, row: usize| {
        let off = random.below(9) as i32 - 4;
        match operation {
            0..=12 => near_least_normal(operation, row, off, &mut random),
            20..=21 => near_least_half(operation, row, off, &mut random),
            30..=35 => fields(operation, &mut random),
            40..=42 => near_least_float(off, &mut random),
            64.. => edges(&mut random),
            _ => [0; 4],
        }
    };
    let operations = OPERATIONS.iter().flat_map(|&(first, last)| first..=last);
    operations.map(|id| (id, (0..SETS).map(|row| set(id, row)).collect())).collect()
}

#[test]
fn edges_give_what_a_gpu_gives() {
    let (mut compared, mut wrong) = (0, Vec::new());
    let all = operands();
    for line in LINES.lines() {
        let words: Vec<&str> = line.splitn(5, ' ').collect();
        let &[operation, result, count, expected, instruction] = words.as_slice() else {
            panic!("{line}")
        };
        let count: usize = count.parse().expect("a number");
        let sets = all.iter().find(|(id, _)| id.to_string() == operation).expect("an operation");
        let operands: Vec<Operands> = (0..count).map(|row| sets.1[row * SETS / count]).collect();
        compared += count;
        let results = run(&program(result, instruction), operands.as_flattened());
        if format!("{:08x}", hash(results)) != expected {
            wrong.push(instruction);
        }
    }
    // The numbers of the GPU are those of an older commit that passes.
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 9_000, "{compared} rows");
}
