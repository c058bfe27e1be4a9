//! Scalar and SIMD video instructions (PTX ISA 9.7.16 and 9.7.17).
//!
//! They have too many modifiers for an operation each: a constant operand says what to do. Nothing of this is fast, and
//! nothing of it is used often.
//!
//! No GPU since Maxwell has the scalar ones: the assembler (`ptxas` of CUDA 13.0) puts others in their place, and these do not
//! always do what the PTX ISA says. [`scalar`] does what they do: `tests/golden` has results of an NVIDIA H200, of 664 forms in
//! `tables.txt` and at edges in `measured.txt`.

/// What a video instruction computes of its two main operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrimaryOperation {
    Add,
    Sub,
    AbsDiff,
    Min,
    Max,
    /// `vavrg2`, `vavrg4`: rounded up.
    Average,
    Shl,
    Shr,
    Mad,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

const ACTIONS: [PrimaryOperation; 15] = [
    PrimaryOperation::Add,
    PrimaryOperation::Sub,
    PrimaryOperation::AbsDiff,
    PrimaryOperation::Min,
    PrimaryOperation::Max,
    PrimaryOperation::Average,
    PrimaryOperation::Shl,
    PrimaryOperation::Shr,
    PrimaryOperation::Mad,
    PrimaryOperation::Eq,
    PrimaryOperation::Ne,
    PrimaryOperation::Lt,
    PrimaryOperation::Le,
    PrimaryOperation::Gt,
    PrimaryOperation::Ge,
];

/// A byte or a half of a 32-bit register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selector {
    /// Its lowest bit in the register, counted from 0.
    pub start: u32,
    /// The width in bits: 8, 16 or 32.
    pub bits: u32,
}

impl Selector {
    pub const ALL: Self = Self { start: 0, bits: 32 };

    fn mask(self) -> u32 {
        (u32::MAX >> (32 - self.bits)) << self.start
    }
}

/// What a scalar instruction does with the third operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondaryOperation {
    Nothing,
    Add,
    Min,
    Max,
    /// The result replaces a part of it.
    Merge,
}

const THENS: [SecondaryOperation; 5] = [
    SecondaryOperation::Nothing,
    SecondaryOperation::Add,
    SecondaryOperation::Min,
    SecondaryOperation::Max,
    SecondaryOperation::Merge,
];

/// A scalar video instruction but for its registers.
#[expect(clippy::struct_excessive_bools, reason = "each is a modifier of the instruction")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScalarVideo {
    pub action: PrimaryOperation,
    /// The result is signed.
    pub signed: bool,
    /// The main operands are signed.
    pub signed_sources: [bool; 2],
    pub saturate: bool,
    /// Shifts by the low five bits alone; else at most by 32.
    pub wrap: bool,
    /// `vmad`: adds one more.
    pub plus_one: bool,
    /// `vmad`: shift of the sum to the right, 0, 7 or 15.
    pub scale: u32,
    /// Where a merged result goes.
    pub part: Selector,
    pub then: SecondaryOperation,
}

/// Takes and puts fields of a word, lowest first.
struct Fields(u32, u32);

impl Fields {
    fn put(&mut self, value: u32, bits: u32) {
        self.0 |= value << self.1;
        self.1 += bits;
    }
    fn take(&mut self, bits: u32) -> u32 {
        let value = self.0 >> self.1 & ((1 << bits) - 1);
        self.1 += bits;
        value
    }
    fn action(&mut self) -> PrimaryOperation {
        ACTIONS[self.take(4) as usize % ACTIONS.len()]
    }
    fn put_flags<const N: usize>(&mut self, flags: [bool; N]) {
        for flag in flags {
            self.put(flag.into(), 1);
        }
    }
    fn flag(&mut self) -> bool {
        self.take(1) == 1
    }
    fn flags<const N: usize>(&mut self) -> [bool; N] {
        std::array::from_fn(|_| self.flag())
    }
}

impl ScalarVideo {
    /// As a constant operand.
    pub fn to_bits(self) -> u32 {
        let mut fields = Fields(0, 0);
        fields.put(self.action as u32, 4);
        let [a, b] = self.signed_sources;
        fields.put_flags([self.signed, a, b, self.saturate, self.wrap, self.plus_one]);
        fields.put(self.scale, 4);
        fields.put(self.part.start, 5);
        fields.put(self.part.bits, 6);
        fields.put(self.then as u32, 3);
        fields.0
    }

    fn from_bits(bits: u32) -> Self {
        let mut fields = Fields(bits, 0);
        let action = fields.action();
        let [signed, a, b, saturate, wrap, plus_one] = fields.flags();
        Self {
            action,
            signed,
            signed_sources: [a, b],
            saturate,
            wrap,
            plus_one,
            scale: fields.take(4),
            part: Selector { start: fields.take(5), bits: fields.take(6).clamp(1, 32) },
            then: THENS[fields.take(3) as usize % THENS.len()],
        }
    }
}

fn extended(value: u32, signed: bool) -> i128 {
    if signed { i128::from(value as i32) } else { i128::from(value) }
}

/// The range of an integer of so many bits.
fn clamped(value: i128, signed: bool, bits: u32) -> i128 {
    if signed {
        value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        value.clamp(0, (1 << bits) - 1)
    }
}

fn act(action: PrimaryOperation, a: i128, b: i128) -> i128 {
    match action {
        PrimaryOperation::Add => a + b,
        PrimaryOperation::Sub => a - b,
        PrimaryOperation::AbsDiff => (a - b).abs(),
        PrimaryOperation::Min => a.min(b),
        PrimaryOperation::Max => a.max(b),
        PrimaryOperation::Average => (a + b + i128::from(a + b >= 0)) >> 1,
        PrimaryOperation::Mad => a * b,
        PrimaryOperation::Eq => i128::from(a == b),
        PrimaryOperation::Ne => i128::from(a != b),
        PrimaryOperation::Lt => i128::from(a < b),
        PrimaryOperation::Le => i128::from(a <= b),
        PrimaryOperation::Gt => i128::from(a > b),
        PrimaryOperation::Ge => i128::from(a >= b),
        // Amounts are at most 32.
        PrimaryOperation::Shl => a << (b & 63),
        PrimaryOperation::Shr => a >> (b & 63),
    }
}

/// `.sat` of a scalar instruction. The ISA's is the range of the result, or of the part that it replaces.
fn saturated(how: &ScalarVideo, value: i64) -> i64 {
    let clamped = |signed| clamped(value.into(), signed, 32) as i64;
    match how.action {
        // 34 bits of the shifted value are looked at, and never the size of a part.
        PrimaryOperation::Shl if value << 30 >> 30 != value => saturated(how, value << 30 >> 30),
        PrimaryOperation::Shl | PrimaryOperation::Shr => clamped(how.signed),
        // The sources' types decide.
        PrimaryOperation::Mad => clamped(how.signed_sources != [false; 2]),
        // All that is outside, below it as well, becomes the largest value of a part.
        _ if how.part.bits < 32 => {
            let most = i64::from(u32::MAX >> (32 - how.part.bits + u32::from(how.signed)));
            if (0..=most).contains(&value) { value } else { most }
        }
        _ if how.signed => clamped(true),
        // Nothing is cut off above.
        _ => value.max(0),
    }
}

/// What the third operand is compared with.
fn comparable(how: &ScalarVideo, value: i64) -> i64 {
    match how.action {
        PrimaryOperation::Add | PrimaryOperation::Sub => i64::from(value as i32),
        PrimaryOperation::Shl | PrimaryOperation::Shr if how.saturate => i64::from(value as i32),
        _ => value,
    }
}

/// `vadd`, `vsub`, `vabsdiff`, `vmin`, `vmax`, `vshl`, `vshr`, `vmad`, `vset`; parts of `a` and `b` are extended already.
#[inline(always)]
pub fn scalar(a: u32, b: u32, c: u32, how: u32) -> u32 {
    let how = ScalarVideo::from_bits(how);
    let is_mad = how.action == PrimaryOperation::Mad;
    // A product is one of signed words, whatever they are meant to be.
    let x = extended(a, is_mad || how.signed_sources[0]);
    let y = match how.action {
        PrimaryOperation::Shl | PrimaryOperation::Shr => {
            i128::from(if how.wrap { b & 31 } else { b.min(32) })
        }
        _ => extended(b, is_mad || how.signed_sources[1]),
    };
    let mut value = act(how.action, x, y) as i64;
    if is_mad {
        value += i64::from(c as i32) + i64::from(how.plus_one);
        value = match how.signed_sources {
            [false, false] => (value as u64 >> how.scale) as i64,
            _ => value >> how.scale,
        };
    }
    if how.saturate {
        value = saturated(&how, value);
    }
    let result = value as u32;
    let second = comparable(&how, value);
    let smaller =
        if how.signed { second < i64::from(c as i32) } else { (second as u64) < u64::from(c) };
    match how.then {
        SecondaryOperation::Nothing => result,
        SecondaryOperation::Add => result.wrapping_add(c),
        SecondaryOperation::Min => {
            if smaller {
                result
            } else {
                c
            }
        }
        SecondaryOperation::Max => {
            if smaller {
                c
            } else {
                result
            }
        }
        SecondaryOperation::Merge => {
            let mask = how.part.mask();
            // Into the upper half goes the upper half.
            let shift = if how.part.bits == 16 { 0 } else { how.part.start };
            c & !mask | result << shift & mask
        }
    }
}

/// A SIMD video instruction but for its registers.
#[expect(clippy::struct_excessive_bools, reason = "each is a modifier of the instruction")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimdVideo {
    pub action: PrimaryOperation,
    pub signed: bool,
    pub signed_sources: [bool; 2],
    pub saturate: bool,
    /// Adds all results to the third operand.
    pub accumulate: bool,
    /// 2 or 4 elements.
    pub halves: bool,
    /// One bit for each element that is computed; the others are those of the third operand.
    pub mask: u32,
}

impl SimdVideo {
    /// As a constant operand.
    pub fn to_bits(self) -> u32 {
        let mut fields = Fields(0, 0);
        fields.put(self.action as u32, 4);
        let [a, b] = self.signed_sources;
        fields.put_flags([self.signed, a, b, self.saturate, self.accumulate, self.halves]);
        fields.put(self.mask, 4);
        fields.0
    }

    fn from_bits(bits: u32) -> Self {
        let mut fields = Fields(bits, 0);
        let action = fields.action();
        let [signed, a, b, saturate, accumulate, halves] = fields.flags();
        Self {
            action,
            signed,
            signed_sources: [a, b],
            saturate,
            accumulate,
            halves,
            mask: fields.take(4),
        }
    }
}

/// `vadd2` to `vset4`; the elements of `a` and `b` are chosen already.
#[inline(always)]
pub fn simd(a: u32, b: u32, c: u32, how: u32) -> u32 {
    let how = SimdVideo::from_bits(how);
    let bits = if how.halves { 16 } else { 8 };
    let element = |value: u32, start: u32, signed: bool| {
        let top = value >> start << (32 - bits);
        if signed { i128::from(top as i32 >> (32 - bits)) } else { i128::from(top >> (32 - bits)) }
    };
    let (mut merged, mut sum) = (c, c);
    for index in (0..32 / bits).filter(|index| how.mask >> index & 1 == 1) {
        let start = index * bits;
        let x = element(a, start, how.signed_sources[0]);
        let y = element(b, start, how.signed_sources[1]);
        let mut value = act(how.action, x, y);
        if how.saturate {
            value = clamped(value, how.signed, bits);
        }
        let mask = Selector { start, bits }.mask();
        merged = merged & !mask | (value as u32) << start & mask;
        sum = sum.wrapping_add(value as u32);
    }
    if how.accumulate { sum } else { merged }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: ScalarVideo = ScalarVideo {
        action: PrimaryOperation::Add,
        signed: true,
        signed_sources: [true, true],
        saturate: false,
        wrap: false,
        plus_one: false,
        scale: 0,
        part: Selector::ALL,
        then: SecondaryOperation::Nothing,
    };

    #[test]
    fn constants_survive() {
        let part = Selector { start: 24, bits: 8 };
        let how = ScalarVideo {
            action: PrimaryOperation::Ge,
            wrap: true,
            scale: 15,
            part,
            then: SecondaryOperation::Merge,
            signed_sources: [false, true],
            ..PLAIN
        };
        for how in [how, PLAIN, ScalarVideo { plus_one: true, saturate: true, ..how }] {
            assert_eq!(ScalarVideo::from_bits(how.to_bits()), how);
        }
        let how = SimdVideo {
            action: PrimaryOperation::Average,
            signed: false,
            signed_sources: [true, false],
            saturate: true,
            accumulate: false,
            halves: true,
            mask: 0b10,
        };
        assert_eq!(SimdVideo::from_bits(how.to_bits()), how);
        let shuffled: Vec<u32> = ACTIONS.iter().map(|action| *action as u32).collect();
        assert_eq!(shuffled, (0..15).collect::<Vec<_>>());
        assert_eq!(THENS.map(|then| then as u32), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn scalar_instructions() {
        let run = |how: ScalarVideo, a, b, c| scalar(a, b, c, how.to_bits());
        let max = i32::MAX as u32;
        assert_eq!(run(PLAIN, max, 1, 0), 1 << 31);
        assert_eq!(run(ScalarVideo { saturate: true, ..PLAIN }, max, 1, 0), max);
        let byte = Selector { start: 8, bits: 8 };
        let merged =
            ScalarVideo { saturate: true, part: byte, then: SecondaryOperation::Merge, ..PLAIN };
        assert_eq!(run(merged, 100, 100, 0xAABB_CCDD), 0xAABB_7FDD);
        assert_eq!(run(ScalarVideo { then: SecondaryOperation::Max, ..PLAIN }, 1, 1, u32::MAX), 2);
        let shift = ScalarVideo { action: PrimaryOperation::Shl, ..PLAIN };
        assert_eq!(run(shift, 1, 40, 0), 0);
        assert_eq!(run(ScalarVideo { wrap: true, ..shift }, 1, 40, 0), 256);
        let mad = ScalarVideo { action: PrimaryOperation::Mad, scale: 7, plus_one: true, ..PLAIN };
        assert_eq!(run(mad, 1 << 20, 1 << 10, 127), 1 + (1 << 23));
        assert_eq!(run(ScalarVideo { action: PrimaryOperation::Lt, ..PLAIN }, u32::MAX, 0, 0), 1);
    }

    /// What the assembler makes of them, where that is not what the ISA says.
    #[test]
    fn scalar_instructions_of_the_assembler() {
        let run = |how: ScalarVideo, a, b, c| scalar(a, b, c, how.to_bits());
        let unsigned = ScalarVideo { signed: false, signed_sources: [false, false], ..PLAIN };
        let saturated = ScalarVideo { saturate: true, ..unsigned };
        assert_eq!(run(saturated, u32::MAX, 2, 0), 1, "not cut off above");
        assert_eq!(run(ScalarVideo { action: PrimaryOperation::Sub, ..saturated }, 1, 2, 0), 0);
        let byte = Selector { start: 16, bits: 8 };
        let signed_byte =
            ScalarVideo { saturate: true, part: byte, then: SecondaryOperation::Merge, ..PLAIN };
        assert_eq!(run(signed_byte, 0, -200i32 as u32, 3), 0x007F_0003);
        assert_eq!(run(signed_byte, 0, -1i32 as u32, 3), 0x007F_0003, "inside, but below zero");
        let half = Selector { start: 16, bits: 16 };
        let upper = ScalarVideo { part: half, then: SecondaryOperation::Merge, ..unsigned };
        assert_eq!(run(upper, 0x1234_5678, 0, 7), 0x1234_0007);
        let shift = ScalarVideo { action: PrimaryOperation::Shl, ..saturated };
        // Bits 32 and 33 decide: 01 is too large, 00 fits, 11 is a negative number.
        assert_eq!([1, 4, 3].map(|value| run(shift, value, 32, 0)), [u32::MAX, 0, 0]);
        let mad = ScalarVideo { action: PrimaryOperation::Mad, ..saturated };
        assert_eq!(run(mad, 10, 10, -101i32 as u32), 0, "the third source is signed");
        let mixed = ScalarVideo { signed_sources: [true, false], ..mad };
        assert_eq!(run(mixed, -1i32 as u32, 10, 0), -10i32 as u32, "the range of signed numbers");
        assert_eq!(run(ScalarVideo { scale: 7, ..mad }, 0, 0, -1i32 as u32), u32::MAX);
        let max = ScalarVideo { then: SecondaryOperation::Max, ..unsigned };
        assert_eq!(run(max, 1 << 31, 0, u32::MAX), 1 << 31, "a sum is one of signed numbers");
        let difference = ScalarVideo {
            action: PrimaryOperation::AbsDiff,
            then: SecondaryOperation::Max,
            ..PLAIN
        };
        assert_eq!(run(difference, i32::MAX as u32, i32::MIN as u32, 1), u32::MAX);
    }

    #[test]
    fn simd_instructions() {
        let how = SimdVideo {
            action: PrimaryOperation::AbsDiff,
            signed: false,
            signed_sources: [false, false],
            saturate: false,
            accumulate: true,
            halves: false,
            mask: 0xF,
        };
        assert_eq!(simd(0xFF00_0102, 0x00FF_0201, 5, how.to_bits()), 255 + 255 + 1 + 1 + 5);
        let how = SimdVideo { accumulate: false, mask: 0b0101, ..how };
        assert_eq!(simd(0xFF00_0102, 0x00FF_0201, 0xAABB_CCDD, how.to_bits()), 0xAAFF_CC01);
    }
}
