//! Integer arithmetic, logic and shifts (PTX ISA 9.7.1, 9.7.2, 9.7.8).

macro_rules! width {
    ($module:ident, $u:ty, $s:ty, $wide_u:ty, $wide_s:ty, $bits:literal) => {
        /// The operations of one width of registers.
        pub mod $module {
            #[inline(always)]
            pub fn add(a: $u, b: $u) -> $u {
                a.wrapping_add(b)
            }
            #[inline(always)]
            pub fn sub(a: $u, b: $u) -> $u {
                a.wrapping_sub(b)
            }
            #[inline(always)]
            pub fn mul_lo(a: $u, b: $u) -> $u {
                a.wrapping_mul(b)
            }
            #[inline(always)]
            pub fn mul_hi_u(a: $u, b: $u) -> $u {
                ((<$wide_u>::from(a) * <$wide_u>::from(b)) >> $bits) as $u
            }
            #[inline(always)]
            pub fn mul_hi_s(a: $u, b: $u) -> $u {
                ((<$wide_s>::from(a as $s) * <$wide_s>::from(b as $s)) >> $bits) as $u
            }
            #[inline(always)]
            pub fn mad_lo(a: $u, b: $u, c: $u) -> $u {
                a.wrapping_mul(b).wrapping_add(c)
            }
            #[inline(always)]
            pub fn mad_hi_u(a: $u, b: $u, c: $u) -> $u {
                mul_hi_u(a, b).wrapping_add(c)
            }
            #[inline(always)]
            pub fn mad_hi_s(a: $u, b: $u, c: $u) -> $u {
                mul_hi_s(a, b).wrapping_add(c)
            }
            /// By zero the ISA leaves it open; all ones.
            #[inline(always)]
            pub fn div_u(a: $u, b: $u) -> $u {
                a.checked_div(b).unwrap_or(<$u>::MAX)
            }
            /// By zero the ISA leaves it open; all ones. The most negative number by -1 wraps.
            #[inline(always)]
            pub fn div_s(a: $u, b: $u) -> $u {
                if b == 0 { <$u>::MAX } else { (a as $s).wrapping_div(b as $s) as $u }
            }
            /// By zero the ISA leaves it open; all ones, as an H200 gives.
            #[inline(always)]
            pub fn rem_u(a: $u, b: $u) -> $u {
                a.checked_rem(b).unwrap_or(<$u>::MAX)
            }
            /// By zero the ISA leaves it open; all ones, as an H200 gives. The sign is the dividend's.
            #[inline(always)]
            pub fn rem_s(a: $u, b: $u) -> $u {
                if b == 0 { <$u>::MAX } else { (a as $s).wrapping_rem(b as $s) as $u }
            }
            #[inline(always)]
            pub fn min_u(a: $u, b: $u) -> $u {
                a.min(b)
            }
            #[inline(always)]
            pub fn min_s(a: $u, b: $u) -> $u {
                (a as $s).min(b as $s) as $u
            }
            #[inline(always)]
            pub fn max_u(a: $u, b: $u) -> $u {
                a.max(b)
            }
            #[inline(always)]
            pub fn max_s(a: $u, b: $u) -> $u {
                (a as $s).max(b as $s) as $u
            }
            #[inline(always)]
            pub fn abs(a: $u) -> $u {
                (a as $s).wrapping_abs() as $u
            }
            #[inline(always)]
            pub fn neg(a: $u) -> $u {
                a.wrapping_neg()
            }
            #[inline(always)]
            pub fn sad_u(a: $u, b: $u, c: $u) -> $u {
                c.wrapping_add(a.abs_diff(b))
            }
            #[inline(always)]
            pub fn sad_s(a: $u, b: $u, c: $u) -> $u {
                c.wrapping_add((a as $s).abs_diff(b as $s))
            }
            #[inline(always)]
            pub fn mov(a: $u) -> $u {
                a
            }
            #[inline(always)]
            pub fn and(a: $u, b: $u) -> $u {
                a & b
            }
            #[inline(always)]
            pub fn or(a: $u, b: $u) -> $u {
                a | b
            }
            #[inline(always)]
            pub fn xor(a: $u, b: $u) -> $u {
                a ^ b
            }
            #[inline(always)]
            pub fn not(a: $u) -> $u {
                !a
            }
            #[inline(always)]
            pub fn cnot(a: $u) -> $u {
                <$u>::from(a == 0)
            }
            /// Amounts past the width shift everything out.
            #[inline(always)]
            pub fn shl(a: $u, b: u32) -> $u {
                if b < $bits { a << (b & ($bits - 1)) } else { 0 }
            }
            #[inline(always)]
            pub fn shr_u(a: $u, b: u32) -> $u {
                if b < $bits { a >> (b & ($bits - 1)) } else { 0 }
            }
            /// Amounts past the width leave the sign in every bit.
            #[inline(always)]
            pub fn shr_s(a: $u, b: u32) -> $u {
                ((a as $s) >> b.min($bits - 1)) as $u
            }
            #[inline(always)]
            pub fn brev(a: $u) -> $u {
                a.reverse_bits()
            }
            #[inline(always)]
            pub fn popc(a: $u) -> u32 {
                a.count_ones()
            }
            #[inline(always)]
            pub fn clz(a: $u) -> u32 {
                a.leading_zeros()
            }
            /// Position of the highest set bit, all ones if there is none (`bfind`).
            #[inline(always)]
            pub fn bfind_u(a: $u) -> u32 {
                ($bits - 1u32).wrapping_sub(a.leading_zeros())
            }
            /// Position of the highest bit that differs from the sign.
            #[inline(always)]
            pub fn bfind_s(a: $u) -> u32 {
                bfind_u(if (a as $s) < 0 { !a } else { a })
            }
            /// `bfind.shiftamt`: how far to shift left to bring that bit to the top.
            #[inline(always)]
            pub fn bfind_shift_u(a: $u) -> u32 {
                if a == 0 { u32::MAX } else { a.leading_zeros() }
            }
            #[inline(always)]
            pub fn bfind_shift_s(a: $u) -> u32 {
                bfind_shift_u(if (a as $s) < 0 { !a } else { a })
            }
            /// A position or a length. The ISA says nothing above 255: an H200 takes the low eight bits of 32-bit ones, and
            /// all bits of 64-bit ones.
            #[inline(always)]
            fn field_count(count: u32) -> u32 {
                if $bits == 32 { count & 0xFF } else { count }
            }
            /// `bfe.u`: `len` bits from `pos` on; bits past the top are zero.
            #[inline(always)]
            pub fn bfe_u(a: $u, pos: u32, len: u32) -> $u {
                let (pos, len) = (field_count(pos), field_count(len));
                let mask = if len >= $bits { <$u>::MAX } else { shl(1, len).wrapping_sub(1) };
                shr_u(a, pos) & mask
            }
            /// `bfe.s`: as `bfe.u`, filled with the field's sign, or with the top bit where the field passes it.
            #[inline(always)]
            pub fn bfe_s(a: $u, pos: u32, len: u32) -> $u {
                let (pos, len) = (field_count(pos), field_count(len));
                if len == 0 {
                    return 0;
                }
                let top = pos.saturating_add(len - 1).min($bits - 1);
                let negative = (a >> top) & 1 == 1;
                let field = bfe_u(a, pos, len);
                let taken = if pos >= $bits { 0 } else { len.min($bits - pos) };
                if negative { field | shl(<$u>::MAX, taken) } else { field }
            }
            /// `bfi`: the low `len` bits of `a` into `b` at `pos`.
            #[inline(always)]
            pub fn bfi(a: $u, b: $u, pos: u32, len: u32) -> $u {
                let (pos, len) = (field_count(pos), field_count(len));
                let field = if len >= $bits { <$u>::MAX } else { shl(1, len).wrapping_sub(1) };
                let mask = shl(field, pos);
                (b & !mask) | (shl(a, pos) & mask)
            }
            /// Sum with carry in; carry out (`add.cc`, `addc`).
            #[inline(always)]
            pub fn add_carry(a: $u, b: $u, carry: bool) -> ($u, bool) {
                let (low, first) = a.overflowing_add(b);
                let (sum, second) = low.overflowing_add(<$u>::from(carry));
                (sum, first | second)
            }
            /// Difference as the sum with the complement, which carries where nothing is borrowed (`sub.cc`, `subc`). The ISA speaks of
            /// a borrow, but on a GPU this is what an `addc` behind a `subc.cc` adds, as in nvcc's division of 128-bit integers.
            #[inline(always)]
            pub fn sub_carry(a: $u, b: $u, carry: bool) -> ($u, bool) {
                add_carry(a, !b, carry)
            }
        }
    };
}

width!(w32, u32, i32, u64, i64, 32);
width!(w64, u64, i64, u128, i128, 64);

#[inline(always)]
pub fn mul_wide_u(a: u32, b: u32) -> u64 {
    u64::from(a) * u64::from(b)
}
#[inline(always)]
pub fn mul_wide_s(a: u32, b: u32) -> u64 {
    (i64::from(a as i32) * i64::from(b as i32)) as u64
}
#[inline(always)]
pub fn mad_wide_u(a: u32, b: u32, c: u64) -> u64 {
    mul_wide_u(a, b).wrapping_add(c)
}
#[inline(always)]
pub fn mad_wide_s(a: u32, b: u32, c: u64) -> u64 {
    mul_wide_s(a, b).wrapping_add(c)
}
/// Product of the low 24 bits, low half of the 48 (`mul24.lo`).
#[inline(always)]
pub fn mul24_lo_u(a: u32, b: u32) -> u32 {
    (a & 0xFF_FFFF).wrapping_mul(b & 0xFF_FFFF)
}
#[inline(always)]
pub fn mul24_lo_s(a: u32, b: u32) -> u32 {
    let low = |x: u32| (x << 8) as i32 >> 8;
    low(a).wrapping_mul(low(b)) as u32
}
/// Bits 16 to 47 of that product (`mul24.hi`).
#[inline(always)]
pub fn mul24_hi_u(a: u32, b: u32) -> u32 {
    (mul_wide_u(a & 0xFF_FFFF, b & 0xFF_FFFF) >> 16) as u32
}
#[inline(always)]
pub fn mul24_hi_s(a: u32, b: u32) -> u32 {
    let low = |x: u32| i64::from((x << 8) as i32 >> 8);
    ((low(a) * low(b)) >> 16) as u32
}
/// `mad.hi` of 16-bit integers (PTX ISA 9.7.1.4), whose factors come extended to 32 bits: the upper half of the product, plus
/// `c`, in the low 16 bits of the result.
#[inline(always)]
pub fn mad_hi_16(a: u32, b: u32, c: u32) -> u32 {
    (a.wrapping_mul(b) >> 16).wrapping_add(c)
}
/// `add.sat.s32`: the sum, clamped to the range of `s32`.
#[inline(always)]
pub fn add_sat_s(a: u32, b: u32) -> u32 {
    (a as i32).saturating_add(b as i32) as u32
}
/// `sub.sat.s32`: the difference, clamped to the range of `s32`.
#[inline(always)]
pub fn sub_sat_s(a: u32, b: u32) -> u32 {
    (a as i32).saturating_sub(b as i32) as u32
}
#[inline(always)]
pub fn sext8(a: u32) -> u32 {
    a as i8 as u32
}
#[inline(always)]
pub fn sext16(a: u32) -> u32 {
    a as i16 as u32
}
#[inline(always)]
pub fn zext8(a: u32) -> u32 {
    a & 0xFF
}
#[inline(always)]
pub fn zext16(a: u32) -> u32 {
    a & 0xFFFF
}
#[inline(always)]
pub fn sext_wide(a: u32) -> u64 {
    i64::from(a as i32) as u64
}
#[inline(always)]
pub fn zext_wide(a: u32) -> u64 {
    u64::from(a)
}
#[inline(always)]
pub fn low(a: u64) -> u32 {
    a as u32
}
#[inline(always)]
pub fn high(a: u64) -> u32 {
    (a >> 32) as u32
}
/// `mov.b64 d, {a, b}`: the first is the low half.
#[inline(always)]
pub fn pack64(a: u32, b: u32) -> u64 {
    u64::from(a) | (u64::from(b) << 32)
}
/// `mov.b32 d, {a, b}` of 16-bit registers.
#[inline(always)]
pub fn pack32(a: u32, b: u32) -> u32 {
    (a & 0xFFFF) | (b << 16)
}
#[inline(always)]
pub fn high16(a: u32) -> u32 {
    a >> 16
}
/// Funnel shift left of `b:a`, amount modulo 32.
#[inline(always)]
pub fn shf_l_wrap(a: u32, b: u32, c: u32) -> u32 {
    high(pack64(a, b) << (c & 31))
}
/// Funnel shift left, amount at most 32.
#[inline(always)]
pub fn shf_l_clamp(a: u32, b: u32, c: u32) -> u32 {
    high(pack64(a, b) << c.min(32))
}
#[inline(always)]
pub fn shf_r_wrap(a: u32, b: u32, c: u32) -> u32 {
    low(pack64(a, b) >> (c & 31))
}
#[inline(always)]
pub fn shf_r_clamp(a: u32, b: u32, c: u32) -> u32 {
    low(pack64(a, b) >> c.min(32))
}
/// Any function of three bits: bit `4a + 2b + c` of the table.
#[inline(always)]
pub fn lop3(a: u32, b: u32, c: u32, table: u32) -> u32 {
    (0..8).filter(|row| table >> row & 1 == 1).fold(0, |all, row| {
        let pick = |x: u32, bit: u32| if row & bit == 0 { !x } else { x };
        all | (pick(a, 4) & pick(b, 2) & pick(c, 1))
    })
}
/// `bmsk.clamp`: `len` ones from bit `pos` on.
#[inline(always)]
pub fn bmsk_clamp(pos: u32, len: u32) -> u32 {
    w32::shl(if len >= 32 { u32::MAX } else { (1 << len) - 1 }, pos)
}
/// `bmsk.wrap`: a mask of `b` bits from bit `a` on, both modulo 32.
#[inline(always)]
pub fn bmsk_wrap(pos: u32, len: u32) -> u32 {
    bmsk_clamp(pos & 31, len & 31)
}

/// `fns`: position of the n-th set bit from `base` on, upwards for positive n and downwards for negative; all ones if none.
/// For n = 0 the bit at `base` itself.
#[inline(always)]
pub fn find_nth_set(mask: u32, base: u32, n: u32) -> u32 {
    let n = n as i32;
    let base = base & 31;
    let is_set = |&position: &u32| mask >> position & 1 == 1;
    let skip = n.unsigned_abs().saturating_sub(1) as usize;
    let found = match n {
        0 => Some(base).filter(is_set),
        1.. => (base..32).filter(is_set).nth(skip),
        _ => (0..=base).rev().filter(is_set).nth(skip),
    };
    found.unwrap_or(u32::MAX)
}

/// The eight bytes that `prmt` chooses from, the first at the low end.
fn byte_of(bytes: u64, selector: u32) -> u32 {
    ((bytes >> ((selector & 7) * 8)) & 0xFF) as u32
}
/// `prmt.b32`: each nibble of `c` picks a byte of `b:a`; its top bit spreads the byte's sign.
#[inline(always)]
pub fn prmt(a: u32, b: u32, c: u32) -> u32 {
    let bytes = pack64(a, b);
    (0..4).fold(0, |all, index| {
        let selector = c >> (4 * index) & 0xF;
        let byte = byte_of(bytes, selector);
        let byte = if selector & 8 == 0 { byte } else { (byte >> 7) * 0xFF };
        all | byte << (8 * index)
    })
}
/// The modes of `prmt` that take two bits of `c`: the selectors of the four bytes, for each `c`.
fn prmt_table(a: u32, b: u32, c: u32, rows: [[u32; 4]; 4]) -> u32 {
    let bytes = pack64(a, b);
    let row = rows[(c & 3) as usize];
    (0..4).fold(0, |all, index| all | byte_of(bytes, row[index]) << (8 * index))
}
#[inline(always)]
pub fn prmt_f4e(a: u32, b: u32, c: u32) -> u32 {
    prmt_table(a, b, c, [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]])
}
#[inline(always)]
pub fn prmt_b4e(a: u32, b: u32, c: u32) -> u32 {
    prmt_table(a, b, c, [[0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]])
}
#[inline(always)]
pub fn prmt_rc8(a: u32, b: u32, c: u32) -> u32 {
    prmt_table(a, b, c, [[0; 4], [1; 4], [2; 4], [3; 4]])
}
#[inline(always)]
pub fn prmt_ecl(a: u32, b: u32, c: u32) -> u32 {
    prmt_table(a, b, c, [[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]])
}
#[inline(always)]
pub fn prmt_ecr(a: u32, b: u32, c: u32) -> u32 {
    prmt_table(a, b, c, [[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]])
}
#[inline(always)]
pub fn prmt_rc16(a: u32, b: u32, c: u32) -> u32 {
    prmt_table(a, b, c, [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]])
}

fn dot4(a: u32, b: u32, c: u32, left: fn(u8) -> i32, right: fn(u8) -> i32) -> u32 {
    let products = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
    let dot: i32 = products.map(|(x, y)| left(x) * right(y)).sum();
    c.wrapping_add(dot as u32)
}
fn signed(byte: u8) -> i32 {
    i32::from(byte as i8)
}
/// `dp4a.u32.u32`: `c` plus the dot product of four unsigned bytes with four.
#[inline(always)]
pub fn dp4a_uu(a: u32, b: u32, c: u32) -> u32 {
    dot4(a, b, c, i32::from, i32::from)
}
#[inline(always)]
pub fn dp4a_us(a: u32, b: u32, c: u32) -> u32 {
    dot4(a, b, c, i32::from, signed)
}
#[inline(always)]
pub fn dp4a_su(a: u32, b: u32, c: u32) -> u32 {
    dot4(a, b, c, signed, i32::from)
}
#[inline(always)]
pub fn dp4a_ss(a: u32, b: u32, c: u32) -> u32 {
    dot4(a, b, c, signed, signed)
}

fn dot2(a: u32, b: u32, c: u32, left: fn(u16) -> i32, right: fn(u8) -> i32) -> u32 {
    let [low, high, ..] = b.to_le_bytes();
    let products = [left(a as u16) * right(low), left((a >> 16) as u16) * right(high)];
    products.into_iter().fold(c, |sum, product| sum.wrapping_add(product as u32))
}
fn signed16(half: u16) -> i32 {
    i32::from(half as i16)
}
/// `dp2a.lo.u32.u32`: the halves of `a` by the low bytes of `b`.
#[inline(always)]
pub fn dp2a_uu(a: u32, b: u32, c: u32) -> u32 {
    dot2(a, b, c, i32::from, i32::from)
}
#[inline(always)]
pub fn dp2a_us(a: u32, b: u32, c: u32) -> u32 {
    dot2(a, b, c, i32::from, signed)
}
#[inline(always)]
pub fn dp2a_su(a: u32, b: u32, c: u32) -> u32 {
    dot2(a, b, c, signed16, i32::from)
}
#[inline(always)]
pub fn dp2a_ss(a: u32, b: u32, c: u32) -> u32 {
    dot2(a, b, c, signed16, signed)
}

// Pairs of 16-bit integers.
macro_rules! pairs {
    ($($name:ident |$a:ident, $b:ident| $value:expr;)*) => {$(
        #[inline(always)]
        pub fn $name(a: u32, b: u32) -> u32 {
            let half = |$a: u16, $b: u16| -> u32 { u32::from($value) };
            half(a as u16, b as u16) | half((a >> 16) as u16, (b >> 16) as u16) << 16
        }
    )*};
}
pairs! {
    add_16x2 |a, b| a.wrapping_add(b);
    min_u16x2 |a, b| a.min(b);
    max_u16x2 |a, b| a.max(b);
    min_s16x2 |a, b| (a as i16).min(b as i16) as u16;
    max_s16x2 |a, b| (a as i16).max(b as i16) as u16;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_at_the_edges() {
        assert_eq!(w32::div_s(0x8000_0000, u32::MAX), 0x8000_0000);
        assert_eq!(w32::rem_s(0x8000_0000, u32::MAX), 0);
        assert_eq!(w32::rem_s((-7i32) as u32, 3), (-1i32) as u32);
        assert_eq!(w64::div_s(1 << 63, u64::MAX), 1 << 63);
    }

    #[test]
    fn shifts_past_the_width() {
        assert_eq!(w32::shl(1, 31), 1 << 31);
        assert_eq!(w32::shl(1, 32), 0);
        assert_eq!(w32::shl(1, u32::MAX), 0);
        assert_eq!(w32::shr_s(0x8000_0000, 40), u32::MAX);
        assert_eq!(w64::shr_u(u64::MAX, 63), 1);
        assert_eq!(w64::shr_u(u64::MAX, 64), 0);
    }

    #[test]
    fn bit_fields() {
        assert_eq!(w32::bfe_u(0xABCD_1234, 8, 8), 0x12);
        // Measured on an H200.
        assert_eq!(w32::bfe_u(0xABCD_1234, 0x108, 0x208), 0x12);
        assert_eq!(w64::bfe_u(0xBAC8_32D8_8D94_0D5B, 0x1_0000, 0x1F), 0);
        assert_eq!(w64::bfe_u(0x44E8_7B17_F198_A9A9, 1, 0x8000_0000), 0x2274_3D8B_F8CC_54D4);
        assert_eq!(w64::bfe_u(0xE3A6_C5D4_8570_782F, 0x3F, 0x100), 1);
        assert_eq!(w64::bfe_s(0xF192_48DC_EC2C_313F, 0x100, 0xFF), u64::MAX);
        assert_eq!(w64::bfe_s(0x0F38_BA0E_E29B_44CF, 0x20, 0x100), 0x0F38_BA0E);
        assert_eq!(w32::bfe_s(0x0000_8000, 8, 8), 0xFFFF_FF80);
        assert_eq!(w32::bfe_u(u32::MAX, 28, 8), 0xF);
        assert_eq!(w32::bfe_s(0x8000_0000, 28, 8), 0xFFFF_FFF8);
        assert_eq!(w32::bfe_s(0x8000_0000, 40, 8), u32::MAX);
        assert_eq!(w32::bfe_s(u32::MAX, 3, 0), 0);
        assert_eq!(w32::bfi(0xF, 0, 30, 4), 0xC000_0000);
        assert_eq!(w64::bfi(5, u64::MAX, 32, 32), 0x5_FFFF_FFFF);
        assert_eq!(bmsk_clamp(4, 8), 0xFF0);
        assert_eq!(w32::bfind_s((-1i32) as u32), u32::MAX);
        assert_eq!(w32::bfind_u(1), 0);
    }

    #[test]
    fn bytes_and_tables() {
        assert_eq!(prmt(0x4433_2211, 0x8877_6655, 0x7531), 0x8866_4422);
        assert_eq!(prmt(0x0000_0080, 0, 0x0008), 0x8080_80FF);
        assert_eq!(lop3(0xF0F0_F0F0, 0xCCCC_CCCC, 0xAAAA_AAAA, 0x96), 0x9696_9696);
        assert_eq!(find_nth_set(0b1011_0100, 2, 2), 4);
        assert_eq!(find_nth_set(0b1011_0100, 6, (-1i32) as u32), 5);
        assert_eq!(find_nth_set(0b1011_0100, 2, 9), u32::MAX);
        assert_eq!(find_nth_set(0b1011_0100, 2, 0), 2);
        assert_eq!(shf_l_wrap(0x8000_0000, 1, 1), 3);
        assert_eq!(shf_r_clamp(1, 7, 32), 7);
        assert_eq!(dp4a_ss(0xFF02_0304, 0x0101_0101, 10), 18);
        assert_eq!(dp4a_us(0xFF00_0000, 0xFF00_0000, 0), (-255i32) as u32);
        assert_eq!(dp2a_su(0xFFFF_0002, 0x0000_0305, 1), 8);
        assert_eq!(max_s16x2(0xFFFF_0001, 0x0001_8000), 0x0001_0001);
        assert_eq!(mul24_hi_s(0x00FF_FFFF, 0x8000), u32::MAX);
    }

    #[test]
    fn carries() {
        assert_eq!(w32::add_carry(u32::MAX, 0, true), (0, true));
        assert_eq!(w32::sub_carry(0, 0, true), (0, true));
        assert_eq!(w32::sub_carry(0, 0, false), (u32::MAX, false));
        assert_eq!(w32::mul_hi_s(u32::MAX, 2), u32::MAX);
        assert_eq!(w64::mul_hi_u(u64::MAX, u64::MAX), u64::MAX - 1);
    }
}
