//! Products of matrices: what [`add_products`](crate::isa::ops::fused_sum::add_products) computes.

use crate::machine::simd::sets::for_each_set;

macro_rules! define_products {
    ($set:ident $features:tt) => {
        pub(crate) mod $set {
            use crate::isa::ops::fused_sum::{self, FiniteMatrix, Sums};
            use crate::machine::simd::sets::with_features;

            with_features!{ $features
                pub(crate) fn add_products(matrices: [&FiniteMatrix; 3], size: (usize, usize), place: (usize, usize)) -> Sums {
                    fused_sum::add_products(matrices, size, place)
                }
            }
        }
    };
}
for_each_set!(define_products);
