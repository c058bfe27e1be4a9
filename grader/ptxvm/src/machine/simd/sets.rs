//! The SIMD instruction sets that inner loops are compiled for; [`dispatch`](super::dispatch) chooses one at run time.
//!
//! There is none for AVX-512: it made whole kernels 3 to 4 % faster than AVX2, for a third copy of each of some 400 functions.

/// Adds the attributes of an instruction set to an item.
macro_rules! with_features {
    ([$($attribute:tt)*] $($item:tt)*) => { $($attribute)* $($item)* };
}
pub(crate) use with_features;

/// Calls a macro for each instruction set, with the tokens behind its name, the set's name, and the set's attributes in brackets.
macro_rules! for_each_set {
    ($define:ident $($first:ident)*) => {
        $define!($($first)* baseline []);
        #[cfg(target_arch = "x86_64")]
        $define!($($first)* avx2 [#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]]);
    };
}
pub(crate) use for_each_set;
