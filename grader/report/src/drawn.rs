//! What is said of the cases that a run draws.

use judge::verdict::TestVerdict;
use puzzle::draw::Flavour;

/// How many passed, if the verdict is about all of them.
pub fn passed(verdict: &TestVerdict) -> Option<String> {
    (verdict.passed() && verdict.cases != 1).then(|| format!("{} drawn sizes pass", verdict.cases))
}

/// Which case fails, if it is the smallest of those drawn.
pub fn smallest(verdict: &TestVerdict) -> Option<String> {
    let data = match verdict.smallest? {
        Flavour::Integers => "its data: small integers",
        Flavour::Normal => "its data: real values",
        Flavour::Ties => "its data: few different values, with zeros of both signs",
        Flavour::Offsets => "its data: rows far from zero, each at another distance",
        Flavour::Negative => "its data: negative values only",
        Flavour::Spread => "its data: values of very different size",
        Flavour::Exponents => "its data: rows below zero whose exponentials are very small",
        Flavour::LargestLast => "its data: rows whose last elements are the largest",
        Flavour::NearOne => "its data: values that differ from 1 in their last bits",
        Flavour::NearConstants => {
            "its data: values as small as a constant of the formula, and zeros"
        }
        Flavour::Tiny => "its data: the smallest numbers of the type",
        Flavour::Huge => "its data: very large numbers",
        Flavour::NotANumber => "its data: NaN in some elements, zeros in others",
        Flavour::Infinite => "its data: infinities among other values",
        Flavour::Stated => "its data: NaN or infinity in some elements",
        Flavour::Compared => {
            "its data: numbers that the kernel compares with, among small integers"
        }
        Flavour::AfterOthers => {
            "its data: small integers; the kernels or functions ran on others before, of other sizes"
        }
        Flavour::InSameMemory => {
            "its data: small integers; the kernels or functions ran on others before, in the same memory"
        }
    };
    Some(format!("smallest case that fails: {}; {data}", sizes(verdict, ", ")))
}

/// The sizes of a test that its launches use: `H=4, W=3`.
pub fn sizes(verdict: &TestVerdict, between: &str) -> String {
    let sizes = verdict.used_dims.iter().map(|name| format!("{name}={}", verdict.dims[name]));
    sizes.collect::<Vec<_>>().join(between)
}
