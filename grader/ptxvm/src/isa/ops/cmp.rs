//! Comparisons of `setp` and `set` (PTX ISA 9.7.6).

macro_rules! integers {
    ($($module:ident $u:ty, $s:ty;)*) => {$(
        pub mod $module {
            #[inline(always)]
            pub fn eq(a: $u, b: $u) -> bool {
                a == b
            }
            #[inline(always)]
            pub fn ne(a: $u, b: $u) -> bool {
                a != b
            }
            #[inline(always)]
            pub fn lt_u(a: $u, b: $u) -> bool {
                a < b
            }
            #[inline(always)]
            pub fn le_u(a: $u, b: $u) -> bool {
                a <= b
            }
            #[inline(always)]
            pub fn lt_s(a: $u, b: $u) -> bool {
                (a as $s) < b as $s
            }
            #[inline(always)]
            pub fn le_s(a: $u, b: $u) -> bool {
                a as $s <= b as $s
            }
        }
    )*};
}
integers! {
    w32 u32, i32;
    w64 u64, i64;
}

macro_rules! floats {
    ($($module:ident $u:ty, $float:ty;)*) => {$(
        pub mod $module {
            #[inline(always)]
            fn f(bits: $u) -> $float {
                <$float>::from_bits(bits)
            }
            #[inline(always)]
            pub fn eq(a: $u, b: $u) -> bool {
                f(a) == f(b)
            }
            /// Ordered: false if either is NaN.
            #[inline(always)]
            pub fn ne(a: $u, b: $u) -> bool {
                f(a) < f(b) || f(a) > f(b)
            }
            #[inline(always)]
            pub fn lt(a: $u, b: $u) -> bool {
                f(a) < f(b)
            }
            #[inline(always)]
            pub fn le(a: $u, b: $u) -> bool {
                f(a) <= f(b)
            }
            /// `setp.num`: whether neither operand is NaN.
            #[inline(always)]
            pub fn num(a: $u, b: $u) -> bool {
                !f(a).is_nan() && !f(b).is_nan()
            }
        }
    )*};
}
floats! {
    f32s u32, f32;
    f64s u64, f64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_is_unordered() {
        let (nan, one) = (f32::NAN.to_bits(), 1f32.to_bits());
        assert!(!f32s::eq(nan, nan));
        assert!(!f32s::ne(nan, one));
        assert!(!f32s::num(one, nan));
        assert!(f32s::eq(0, 1 << 31));
        assert!(w32::lt_s(u32::MAX, 0));
        assert!(!w32::lt_u(u32::MAX, 0));
    }
}
