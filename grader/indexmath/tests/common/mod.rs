//! What the tests share.
#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::BTreeMap;

use indexmath::{Approx, Dims, Formula, SizedFormula, TensorType, Values};

pub fn tensors(types: &[(&str, &str)]) -> BTreeMap<String, TensorType> {
    let parse =
        |text: &str| TensorType::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    types.iter().map(|(name, text)| ((*name).to_owned(), parse(text))).collect()
}

pub fn dims(sizes: &[(&str, i64)]) -> Dims {
    sizes.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect()
}

/// Values from a closure over the flat index.
pub fn fill(len: usize, f: impl Fn(usize) -> f64) -> Vec<f64> {
    (0..len).map(f).collect()
}

/// A small linear congruential generator: the same numbers at every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2).wrapping_add(1))
    }

    pub fn bits(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let x = self.0;
        (x ^ (x >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (x >> 29)
    }

    /// A uniform random number in 0..1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn integer(&mut self, low: i64, high: i64) -> f64 {
        (low + (self.bits() >> 1) as i64 % (high - low + 1)) as f64
    }

    /// About normal, rounded to f32.
    pub fn normal(&mut self) -> f64 {
        let sum: f64 = (0..12).map(|_| self.unit()).sum();
        f64::from((sum - 6.0) as f32)
    }
}

/// Random values for all inputs of a formula.
pub fn inputs(formula: &Formula, concrete: &SizedFormula, mut draw: impl FnMut() -> f64) -> Values {
    formula
        .inputs()
        .into_iter()
        .map(|name| {
            let len = concrete.shape(&name).map_or(0, |shape| shape.iter().product());
            let values = (0..len).map(|_| draw()).collect();
            (name, values)
        })
        .collect()
}

pub fn values(elements: &[Approx]) -> Vec<f64> {
    elements.iter().map(|element| element.value).collect()
}

/// A convolution with bias.
pub const CONV: &str =
    "output[b,k,oh,ow] = bias[k] + sum[c,fh,fw] input[b,c,oh+fh,ow+fw] * filters[k,c,fh,fw]";

pub fn conv() -> Formula {
    let tensors = tensors(&[
        ("input", "f32[batch, C_in, H, W]"),
        ("filters", "f32[C_out, C_in, F, F]"),
        ("bias", "f32[C_out]"),
        ("output", "f32[batch, C_out, H - F + 1, W - F + 1]"),
    ]);
    Formula::parse(CONV, &tensors).unwrap_or_else(|error| panic!("{error}"))
}

pub fn conv_dims(sizes: [i64; 6]) -> Dims {
    let names = ["batch", "C_in", "H", "W", "C_out", "F"];
    names.iter().zip(sizes).map(|(name, size)| ((*name).to_owned(), size)).collect()
}
