//! Products of sparse matrices (`mma.sp`) on whole numbers, for which every order of sums gives the same.

use crate::support::Device;
use half::{bf16, f16};

/// An instruction with its types: elements of A and B, how many bits each has, and a whole number as such an element.
struct Form {
    shape: (usize, &'static str),
    sum: &'static str,
    element: &'static str,
    bits: usize,
    selector: usize,
}

impl Form {
    fn encode(&self, value: i32) -> u32 {
        match self.element {
            "f16" => f16::from_f32(value as f32).to_bits().into(),
            "bf16" => bf16::from_f32(value as f32).to_bits().into(),
            "tf32" => (value as f32).to_bits(),
            // Of one digit: zeros, and the powers of two up to four.
            "e4m3" => [0, 0x38, 0x40, 0x48][value as usize],
            _ => value as u32 & ((1 << self.bits) - 1),
        }
    }

    fn decode(&self, bits: u32) -> i32 {
        match self.sum {
            "f32" => f32::from_bits(bits) as i32,
            _ => bits as i32,
        }
    }

    fn value(&self, random: u32) -> i32 {
        match self.element {
            "e4m3" => [0, 1, 2, 4][random as usize % 4],
            "u8" | "u4" => (random % 8) as i32,
            _ => (random % 15) as i32 - 7,
        }
    }
}

/// A kernel that runs an instruction: each thread loads so many registers of A, B and C and one of metadata, which lie one behind the
/// other for each thread, and stores those of D.
fn kernel(instruction: &str, [of_a, of_b, of_sum]: [usize; 3], selector: usize) -> String {
    let each = of_a + of_b + of_sum + 1;
    let list = |from: usize, count: usize| {
        (from..from + count).map(|at| format!("%r{at}")).collect::<Vec<_>>().join(",")
    };
    let loads: String = (0..each)
        .map(|at| format!("ld.global.b32 %r{at},[%rd2+{}];\n", 4 * at))
        .collect::<Vec<_>>()
        .concat();
    let stores: String = (0..of_sum)
        .map(|at| format!("st.global.b32 [%rd4+{}],%r{};\n", 4 * at, 50 + at))
        .collect::<Vec<_>>()
        .concat();
    format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p,.param .u64 q){{\n\
         .reg .b32 %r<60>;.reg .b64 %rd<9>;\nld.param.u64 %rd1,[p];ld.param.u64 %rd3,[q];mov.u32 %r50,%tid.x;\n\
         mov.u32 %r51,%ctaid.x;mad.lo.u32 %r50,%r51,32,%r50;mul.wide.u32 %rd2,%r50,{};add.u64 %rd2,%rd1,%rd2;\n\
         mul.wide.u32 %rd4,%r50,{};add.u64 %rd4,%rd3,%rd4;\n{loads}\
         {instruction} {{{}}},{{{}}},{{{}}},{{{}}},%r{},{selector};\n{stores}ret;\n}}\n",
        4 * each,
        4 * of_sum,
        list(50, of_sum),
        list(0, of_a),
        list(of_a, of_b),
        list(of_a + of_b, of_sum),
        each - 1,
    )
}

/// Of e4m3, what [`Form::encode`] takes.
fn code(form: &Form, value: i32) -> i32 {
    if form.element == "e4m3" { [0, 1, 2, 0, 3][value as usize] } else { value }
}

fn check(form: &Form) {
    let (k, shape) = form.shape;
    let mut state = 12345u32 + form.selector as u32 + k as u32;
    let mut random = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    // Elements of A that are there come in pairs of a group of four, one of two for tf32, or two pairs of nibbles.
    let (group, kept) = match form.element {
        "tf32" => (2, 1),
        "s4" | "u4" => (8, 4),
        _ => (4, 2),
    };
    let pairs = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
    let mut whole = vec![0i32; 16 * k];
    let mut held = Vec::new();
    let mut nibbles = Vec::new();
    for row in 0..16 {
        for first in (0..k).step_by(group) {
            let (nibble, places): (u32, Vec<usize>) = match form.element {
                "tf32" if random() % 2 == 0 => (0b0100, vec![0]),
                "tf32" => (0b1110, vec![1]),
                element => {
                    let [low, high] = pairs[random() as usize % 6];
                    let places = if matches!(element, "s4" | "u4") {
                        vec![2 * low, 2 * low + 1, 2 * high, 2 * high + 1]
                    } else {
                        vec![low, high]
                    };
                    ((low | high << 2) as u32, places)
                }
            };
            nibbles.push(nibble);
            assert_eq!(places.len(), kept);
            for place in places {
                let value = form.value(random());
                whole[row * k + first + place] = value;
                held.push(form.encode(code(form, value)));
            }
        }
    }
    let b: Vec<i32> = (0..k * 8).map(|_| form.value(random())).collect();
    let c: Vec<i32> = (0..128).map(|_| (random() % 100) as i32).collect();
    // Registers of lanes, by the figures of PTX ISA 9.7.14.6.2.
    let packed = 32 / form.bits;
    let pack = |elements: &mut dyn Iterator<Item = u32>| {
        elements.enumerate().fold(0, |word, (at, bits)| word | bits << (at * form.bits))
    };
    let of_a = k / 2 * 16 / 32 / packed;
    let of_b = k * 8 / 32 / packed;
    let mut registers = Vec::new();
    for lane in 0..32 {
        let (four, member) = (lane / 4, lane % 4);
        for register in 0..of_a {
            let (row, first) =
                (four + 8 * (register % 2), 4 * packed * (register / 2) + member * packed);
            registers.push(pack(&mut (0..packed).map(|part| held[row * k / 2 + first + part])));
        }
        for register in 0..of_b {
            let first = 4 * packed * register + member * packed;
            let element = |part| form.encode(code(form, b[(first + part) * 8 + four]));
            registers.push(pack(&mut (0..packed).map(element)));
        }
        for register in 0..4 {
            let value = c[(four + 8 * (register / 2)) * 8 + 2 * member + register % 2];
            registers.push(if form.sum == "f32" { (value as f32).to_bits() } else { value as u32 });
        }
        // Sixteen columns of two rows in a register, or 32 of one, where an element has a byte or less: there 8 groups.
        let groups = k / group;
        let of = |row: usize, first: usize, count: usize| {
            (0..count).fold(0, |word, at| word | nibbles[row * groups + first + at] << (4 * at))
        };
        let lanes = (2 * groups / 8).max(1);
        let own = member as isize - (form.selector * lanes) as isize;
        registers.push(if own < 0 || own >= lanes as isize {
            // Lanes that are not asked.
            0xDEAD_BEEF
        } else if form.bits >= 16 {
            let first = 4 * own as usize;
            of(four, first, 4) | of(four + 8, first, 4) << 16
        } else {
            of(four + 8 * (own as usize % 2), own as usize / 2 * 8, 8)
        });
    }
    let ordered = format!(
        "mma.sp::ordered_metadata.sync.aligned.{shape}.row.col.{sum}.{element}.{element}.{sum}",
        sum = form.sum,
        element = form.element,
    );
    let text = kernel(&ordered, [of_a, of_b, 4], form.selector);
    let element = form.element;
    let mut device = Device::new(&text);
    let buffers = [device.input(&registers), device.output::<u32>(128)];
    let params = buffers.iter().map(|&id| device.pointer(id)).collect();
    let outcome = device.launch("k", [1, 1, 1], [32, 1, 1], 0, params);
    assert_eq!(outcome.findings, []);
    let got = device.read::<u32>(buffers[1]);
    for lane in 0..32 {
        for register in 0..4 {
            let (row, col) = (lane / 4 + 8 * (register / 2), lane % 4 * 2 + register % 2);
            let sum: i32 = (0..k).map(|at| whole[row * k + at] * b[at * 8 + col]).sum();
            let got = form.decode(got[lane * 4 + register]);
            assert_eq!(got, sum + c[row * 8 + col], "{shape} {element}: {row} {col}");
        }
    }
}

#[test]
fn elements_meet_the_columns_that_the_metadata_name() {
    let form = |k, shape, sum, element, bits, selector| Form {
        shape: (k, shape),
        sum,
        element,
        bits,
        selector,
    };
    for selector in 0..4 {
        check(&form(16, "m16n8k16", "f32", "f16", 16, selector));
        check(&form(8, "m16n8k8", "f32", "tf32", 32, selector));
    }
    for selector in 0..2 {
        check(&form(32, "m16n8k32", "f32", "f16", 16, selector));
        check(&form(32, "m16n8k32", "f32", "bf16", 16, selector));
        check(&form(16, "m16n8k16", "f32", "tf32", 32, selector));
        check(&form(32, "m16n8k32", "s32", "s8", 8, selector));
        check(&form(64, "m16n8k64", "s32", "u4", 4, selector));
    }
    check(&form(64, "m16n8k64", "s32", "u8", 8, 0));
    check(&form(64, "m16n8k64", "f32", "e4m3", 8, 0));
    check(&form(128, "m16n8k128", "s32", "s4", 4, 0));
}

/// For each instruction a hash of what an H100 gave for each sort of operands.
const GOLDEN: &str = include_str!("../golden/sparse.txt");
pub const SETS: u64 = 32;

fn mix(mut x: u64) -> u64 {
    x ^= x >> 31;
    x = x.wrapping_mul(0x7FB5_D329_728E_A185);
    x ^= x >> 27;
    x = x.wrapping_mul(0x81DA_DEF4_BC2D_D44D);
    x ^ x >> 33
}

/// An element of a type, from random bits. Of four sorts: whole numbers, numbers near one, any finite ones, and special ones.
fn random_element(ty: &str, random: u64, sort: u64) -> u64 {
    let (exponent, mantissa) = match ty {
        "s32" => return (random & 0xFF_FFFF).wrapping_sub(1 << 23),
        "f16" => (5, 10),
        "bf16" => (8, 7),
        "e4m3" => (4, 3),
        "e5m2" => (5, 2),
        "tf32" | "f32" => (8, 23),
        _ => return random,
    };
    let sign = random >> 63 << (exponent + mantissa);
    let mut fraction = random & ((1 << mantissa) - 1);
    if ty == "tf32" && sort == 1 {
        fraction &= !0x1FFF;
    }
    let bias = (1u64 << (exponent - 1)) - 1;
    let near = sign | (bias - 2 + (random >> 60 & 3)) << mantissa | fraction;
    let (infinity, quiet) = (((1u64 << exponent) - 1) << mantissa, 1u64 << (mantissa - 1));
    match (sort, random >> 54 & 63) {
        (0, _) => {
            let value = (random % 17) as i64 - 8;
            let magnitude = value.unsigned_abs();
            let top = u64::from(magnitude.max(1).ilog2());
            let fraction = magnitude << mantissa >> top & ((1 << mantissa) - 1);
            let number = (bias + top) << mantissa | fraction;
            let sign = u64::from(value < 0) << (exponent + mantissa);
            if value == 0 { 0 } else { number | sign }
        }
        (1, _) => near,
        (2, _) => sign | ((random >> 52) % ((1 << exponent) - 1)) << mantissa | fraction,
        (_, 0) if exponent + mantissa == 7 => random,
        _ if exponent + mantissa == 7 => near,
        (_, 0) => sign,
        (_, 1) => sign | infinity,
        (_, 2) => infinity | quiet,
        (_, 3) => sign | fraction,
        (_, 4) => sign | infinity | quiet | fraction,
        (_, 5) => sign | infinity | fraction & !quiet | 1,
        _ => near,
    }
}

/// Registers of a warp with elements of a type.
pub fn registers(ty: &str, set: u64, count: u64, seed: u64) -> Vec<u32> {
    let bits = match ty {
        "f16" | "bf16" => 16,
        "s8" | "u8" | "e4m3" | "e5m2" => 8,
        "s4" | "u4" => 4,
        _ => 32,
    };
    let register = |at: u64| {
        (0..32 / bits).fold(0, |word, part| {
            let random = mix(seed * 1_000_003 + set * 7919 + at * 31 + part + 1);
            let element = random_element(ty, random, set % 4) & (u64::MAX >> (64 - bits));
            word | (element << (part * bits)) as u32
        })
    };
    (0..32 * count).map(register).collect()
}

fn metadata(ty: &str, set: u64, seed: u64) -> Vec<u32> {
    let register = |lane: u64| {
        (0..8).fold(0u32, |word, at| {
            let random = mix(seed * 77_777 + set * 131 + lane * 8 + at + 5);
            let nibble = match ty {
                "tf32" => [4, 14][random as usize & 1],
                _ => [4, 8, 12, 9, 13, 14][(random % 6) as usize],
            };
            word | nibble << (4 * at)
        })
    };
    (0..32).map(register).collect()
}

/// A number that follows from the name of an instruction.
pub fn seed(name: &str) -> u64 {
    name.bytes().fold(0, |seed, byte| seed * 131 % 0x1_0000 + u64::from(byte)) & 0xFFFF
}

/// For each sort of operands a hash of the registers of D.
pub fn hashes(words: &[u32]) -> String {
    let mut hashes = [1_469_598_103_934_665_603u64; 4];
    for (set, product) in words.chunks_exact(words.len() / SETS as usize).enumerate() {
        for byte in product.iter().flat_map(|word| word.to_le_bytes()) {
            let hash = &mut hashes[set % 4];
            *hash = (*hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211);
        }
    }
    hashes.map(|hash| format!("{hash:016x}")).join(" ")
}

#[test]
fn products_are_those_of_a_gpu() {
    let mut wrong = Vec::new();
    for line in GOLDEN.lines() {
        let (name, expected) = line.split_once(' ').expect("a name and hashes");
        let mut parts = name.split('_');
        let mut part = || parts.next().expect("a part of the name");
        let (shape, d, a, b) = (part(), part(), part(), part());
        let selector: usize = part().parse().expect("a selector");
        let (variant, saturate) = match parts.next() {
            Some("plain") => ("sp", ""),
            Some(_) => ("sp::ordered_metadata", "satfinite."),
            None => ("sp::ordered_metadata", ""),
        };
        let k: u64 = shape[6..].parse().expect("a depth");
        let packed = match a {
            "tf32" => 1,
            "f16" | "bf16" => 2,
            "s4" | "u4" => 8,
            _ => 4,
        };
        let (of_a, of_b, of_sum) = (k / 4 / packed, k / 4 / packed, if d == "f16" { 2 } else { 4 });
        let text = kernel(
            &format!("mma.{variant}.sync.aligned.{shape}.row.col.{saturate}{d}.{a}.{b}.{d}"),
            [of_a, of_b, of_sum].map(|count| count as usize),
            selector,
        );
        let seed =
            name.bytes().fold(0u64, |seed, byte| seed * 131 % 0x1_0000 + u64::from(byte)) & 0xFFFF;
        let mut all: Vec<u32> = Vec::new();
        for set in 0..SETS {
            let matrices = [
                (registers(a, set, of_a, seed + 1), of_a as usize),
                (registers(b, set, of_b, seed + 2), of_b as usize),
                (registers(d, set, of_sum, seed + 3), of_sum as usize),
                (metadata(a, set, seed + 4), 1),
            ];
            for lane in 0..32 {
                for (matrix, count) in &matrices {
                    all.extend(&matrix[lane * count..][..*count]);
                }
            }
        }
        let mut device = Device::new(&text);
        let words = 32 * of_sum as usize;
        let buffers = [device.input(&all), device.output::<u32>(SETS as usize * words)];
        let params = buffers.iter().map(|&id| device.pointer(id)).collect();
        let outcome = device.launch("k", [SETS as u32, 1, 1], [32, 1, 1], 0, params);
        assert_eq!(outcome.findings, [], "{name}");
        let got = hashes(&device.read::<u32>(buffers[1]));
        if got != expected {
            wrong.push(format!("{name}: {got}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
