//! The sets of instructions that inner loops are compiled for; `crate::simd` chooses one at run time.

/// Items with the attributes of a set.
macro_rules! with_features {
    ([$($attribute:tt)*] $($item:tt)*) => { $($attribute)* $($item)* };
}
pub(crate) use with_features;

/// Calls a macro for each set, with what stands behind its name, the set's name, and in brackets the set's attributes.
macro_rules! for_each_set {
    ($define:ident $($first:ident)*) => {
        $define!($($first)* baseline []);
        #[cfg(target_arch = "x86_64")]
        $define!($($first)* avx2 [#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]]);
        #[cfg(target_arch = "x86_64")]
        $define!($($first)* avx512 [
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
        ]);
    };
}
pub(crate) use for_each_set;
