//! Scalar and SIMD video instructions (PTX ISA 9.7.16 and 9.7.17).
//!
//! They have too many modifiers for an operation each: a constant operand says what to do. Nothing of this is fast, and
//! nothing of it is used often.

/// What a video instruction computes of its two main operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
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

const ACTIONS: [Action; 15] = [
    Action::Add,
    Action::Sub,
    Action::AbsDiff,
    Action::Min,
    Action::Max,
    Action::Average,
    Action::Shl,
    Action::Shr,
    Action::Mad,
    Action::Eq,
    Action::Ne,
    Action::Lt,
    Action::Le,
    Action::Gt,
    Action::Ge,
];

/// A byte or a half of a 32-bit register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Lowest bit.
    pub start: u32,
    /// 8, 16 or 32.
    pub bits: u32,
}

impl Part {
    pub const ALL: Self = Self { start: 0, bits: 32 };

    fn mask(self) -> u32 {
        (u32::MAX >> (32 - self.bits)) << self.start
    }
}

/// What a scalar instruction does with the third operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    Nothing,
    Add,
    Min,
    Max,
    /// The result replaces a part of it.
    Merge,
}

const THENS: [Then; 5] = [Then::Nothing, Then::Add, Then::Min, Then::Max, Then::Merge];

/// A scalar video instruction but for its registers.
#[expect(clippy::struct_excessive_bools, reason = "each is a modifier of the instruction")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar {
    pub action: Action,
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
    pub part: Part,
    pub then: Then,
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
    fn flag(&mut self) -> bool {
        self.take(1) == 1
    }
}

impl Scalar {
    /// As a constant operand.
    pub fn to_bits(self) -> u32 {
        let mut fields = Fields(0, 0);
        fields.put(self.action as u32, 4);
        for flag in [
            self.signed,
            self.signed_sources[0],
            self.signed_sources[1],
            self.saturate,
            self.wrap,
            self.plus_one,
        ] {
            fields.put(flag.into(), 1);
        }
        fields.put(self.scale, 4);
        fields.put(self.part.start, 5);
        fields.put(self.part.bits, 6);
        fields.put(self.then as u32, 3);
        fields.0
    }

    fn from_bits(bits: u32) -> Self {
        let mut fields = Fields(bits, 0);
        Self {
            action: ACTIONS[fields.take(4) as usize % ACTIONS.len()],
            signed: fields.flag(),
            signed_sources: [fields.flag(), fields.flag()],
            saturate: fields.flag(),
            wrap: fields.flag(),
            plus_one: fields.flag(),
            scale: fields.take(4),
            part: Part { start: fields.take(5), bits: fields.take(6).clamp(1, 32) },
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

fn act(action: Action, a: i128, b: i128) -> i128 {
    match action {
        Action::Add => a + b,
        Action::Sub => a - b,
        Action::AbsDiff => (a - b).abs(),
        Action::Min => a.min(b),
        Action::Max => a.max(b),
        Action::Average => (a + b + i128::from(a + b >= 0)) >> 1,
        Action::Mad => a * b,
        Action::Eq => i128::from(a == b),
        Action::Ne => i128::from(a != b),
        Action::Lt => i128::from(a < b),
        Action::Le => i128::from(a <= b),
        Action::Gt => i128::from(a > b),
        Action::Ge => i128::from(a >= b),
        // Amounts are at most 32.
        Action::Shl => a << (b & 63),
        Action::Shr => a >> (b & 63),
    }
}

/// `vadd`, `vsub`, `vabsdiff`, `vmin`, `vmax`, `vshl`, `vshr`, `vmad`, `vset`; parts of `a` and `b` are extended already.
#[inline(always)]
pub fn scalar(a: u32, b: u32, c: u32, how: u32) -> u32 {
    let how = Scalar::from_bits(how);
    let x = extended(a, how.signed_sources[0]);
    let y = match how.action {
        Action::Shl | Action::Shr => i128::from(if how.wrap { b & 31 } else { b.min(32) }),
        _ => extended(b, how.signed_sources[1]),
    };
    let mut value = act(how.action, x, y);
    if how.action == Action::Mad {
        value = (value + extended(c, how.signed) + i128::from(how.plus_one)) >> how.scale;
    }
    if how.saturate {
        value = clamped(value, how.signed, how.part.bits);
    }
    let result = value as u32;
    let third = extended(c, how.signed);
    let second = extended(result, how.signed);
    match how.then {
        Then::Nothing => result,
        Then::Add => result.wrapping_add(c),
        Then::Min => second.min(third) as u32,
        Then::Max => second.max(third) as u32,
        Then::Merge => {
            let mask = how.part.mask();
            c & !mask | result << how.part.start & mask
        }
    }
}

/// A SIMD video instruction but for its registers.
#[expect(clippy::struct_excessive_bools, reason = "each is a modifier of the instruction")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Simd {
    pub action: Action,
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

impl Simd {
    /// As a constant operand.
    pub fn to_bits(self) -> u32 {
        let mut fields = Fields(0, 0);
        fields.put(self.action as u32, 4);
        for flag in [
            self.signed,
            self.signed_sources[0],
            self.signed_sources[1],
            self.saturate,
            self.accumulate,
            self.halves,
        ] {
            fields.put(flag.into(), 1);
        }
        fields.put(self.mask, 4);
        fields.0
    }

    fn from_bits(bits: u32) -> Self {
        let mut fields = Fields(bits, 0);
        Self {
            action: ACTIONS[fields.take(4) as usize % ACTIONS.len()],
            signed: fields.flag(),
            signed_sources: [fields.flag(), fields.flag()],
            saturate: fields.flag(),
            accumulate: fields.flag(),
            halves: fields.flag(),
            mask: fields.take(4),
        }
    }
}

/// `vadd2` to `vset4`; the elements of `a` and `b` are chosen already.
#[inline(always)]
pub fn simd(a: u32, b: u32, c: u32, how: u32) -> u32 {
    let how = Simd::from_bits(how);
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
        let mask = Part { start, bits }.mask();
        merged = merged & !mask | (value as u32) << start & mask;
        sum = sum.wrapping_add(value as u32);
    }
    if how.accumulate { sum } else { merged }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Scalar = Scalar {
        action: Action::Add,
        signed: true,
        signed_sources: [true, true],
        saturate: false,
        wrap: false,
        plus_one: false,
        scale: 0,
        part: Part::ALL,
        then: Then::Nothing,
    };

    #[test]
    fn constants_survive() {
        let part = Part { start: 24, bits: 8 };
        let how = Scalar {
            action: Action::Ge,
            wrap: true,
            scale: 15,
            part,
            then: Then::Merge,
            signed_sources: [false, true],
            ..PLAIN
        };
        for how in [how, PLAIN, Scalar { plus_one: true, saturate: true, ..how }] {
            assert_eq!(Scalar::from_bits(how.to_bits()), how);
        }
        let how = Simd {
            action: Action::Average,
            signed: false,
            signed_sources: [true, false],
            saturate: true,
            accumulate: false,
            halves: true,
            mask: 0b10,
        };
        assert_eq!(Simd::from_bits(how.to_bits()), how);
        let shuffled: Vec<u32> = ACTIONS.iter().map(|action| *action as u32).collect();
        assert_eq!(shuffled, (0..15).collect::<Vec<_>>());
        assert_eq!(THENS.map(|then| then as u32), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn scalar_instructions() {
        let run = |how: Scalar, a, b, c| scalar(a, b, c, how.to_bits());
        let max = i32::MAX as u32;
        assert_eq!(run(PLAIN, max, 1, 0), 1 << 31);
        assert_eq!(run(Scalar { saturate: true, ..PLAIN }, max, 1, 0), max);
        let byte = Part { start: 8, bits: 8 };
        let merged = Scalar { saturate: true, part: byte, then: Then::Merge, ..PLAIN };
        assert_eq!(run(merged, 100, 100, 0xAABB_CCDD), 0xAABB_7FDD);
        assert_eq!(run(Scalar { then: Then::Max, ..PLAIN }, 1, 1, u32::MAX), 2);
        let shift = Scalar { action: Action::Shl, ..PLAIN };
        assert_eq!(run(shift, 1, 40, 0), 0);
        assert_eq!(run(Scalar { wrap: true, ..shift }, 1, 40, 0), 256);
        let mad = Scalar { action: Action::Mad, scale: 7, plus_one: true, ..PLAIN };
        assert_eq!(run(mad, 1 << 20, 1 << 10, 127), 1 + (1 << 23));
        assert_eq!(run(Scalar { action: Action::Lt, ..PLAIN }, u32::MAX, 0, 0), 1);
    }

    #[test]
    fn simd_instructions() {
        let how = Simd {
            action: Action::AbsDiff,
            signed: false,
            signed_sources: [false, false],
            saturate: false,
            accumulate: true,
            halves: false,
            mask: 0xF,
        };
        assert_eq!(simd(0xFF00_0102, 0x00FF_0201, 5, how.to_bits()), 255 + 255 + 1 + 1 + 5);
        let how = Simd { accumulate: false, mask: 0b0101, ..how };
        assert_eq!(simd(0xFF00_0102, 0x00FF_0201, 0xAABB_CCDD, how.to_bits()), 0xAAFF_CC01);
    }
}
