//! Variants: the right formula evaluates as the oracle does, and a slip is found by its output.

mod common;

use std::collections::BTreeMap;

use indexmath::{
    Approx, Dims, Formula, Observation, SizedFormula, TensorType, Values, search_variants,
};

/// Irregular values, the same in every run.
fn data(len: usize, salt: u64) -> Vec<f64> {
    let mut state = salt.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        f64::from(((state >> 40) as f32) / 16_777_216.0 * 4.0 - 2.0)
    };
    (0..len).map(|_| next()).collect()
}

struct Puzzle {
    correct: SizedFormula,
    wrong: SizedFormula,
    known: Values,
    constants: Vec<(String, i64)>,
}

fn puzzle(
    types: &[(&str, &str)],
    dims: &[(&str, i64)],
    correct: &str,
    wrong: &str,
    derive: bool,
) -> Puzzle {
    let types: BTreeMap<String, TensorType> =
        types.iter().map(|(n, t)| ((*n).to_owned(), TensorType::parse(t).unwrap())).collect();
    let dims: Dims = dims.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
    let names: Vec<&str> = dims.keys().map(String::as_str).collect();
    let formula = |text: &str| {
        let formula = Formula::parse_with(text, &types, &names).unwrap();
        let formula = if derive { formula.differentiate().unwrap() } else { formula };
        (formula.at(&dims).unwrap(), formula.inputs())
    };
    let ((correct, inputs), (wrong, _)) = (formula(correct), formula(wrong));
    let known = inputs.iter().enumerate().map(|(i, name)| {
        let len = correct.shape(name).unwrap().iter().product();
        (name.clone(), data(len, i as u64 + 7))
    });
    Puzzle {
        known: known.collect(),
        correct,
        wrong,
        constants: vec![("blockDim.x".to_owned(), 128)],
    }
}

impl Puzzle {
    /// What is said of a kernel that computes the wrong formula in f32.
    fn explain(&self, tensor: &str) -> Vec<String> {
        let values = |f: &SizedFormula| -> Vec<Approx> {
            f.evaluate(&self.known, &[tensor]).unwrap().remove(tensor).unwrap()
        };
        let got: Vec<f64> = values(&self.wrong).iter().map(|a| f64::from(a.value as f32)).collect();
        let expected = values(&self.correct);
        let seen = Observation {
            formula: &self.correct,
            known: &self.known,
            tensor,
            got: &got,
            expected: &expected,
            constants: &self.constants,
        };
        search_variants(&seen).into_iter().map(|variant| variant.says).collect()
    }
}

const SOFTMAX: &str = "peak[b] = max[c] x[b,c]; total[b] = sum[c] exp(x[b,c] - peak[b]); p[b,c] = exp(x[b,c] - peak[b]) / total[b]";

fn softmax(wrong: &str) -> Vec<String> {
    let types = [("x", "f32[B, C]"), ("peak", "f32[B]"), ("total", "f32[B]"), ("p", "f32[B, C]")];
    puzzle(&types, &[("B", 4), ("C", 7)], SOFTMAX, wrong, false).explain("p")
}

#[test]
fn slips_in_a_softmax_are_named() {
    let says = softmax(&SOFTMAX.replace("total[b] = sum[c]", "total[b] = 1 + sum[c]"));
    assert!(says.iter().any(|s| s.contains("starts from 1, not from 0")), "{says:?}");
    let says = softmax(&SOFTMAX.replace("/ total[b]", ""));
    assert!(says[0].contains("the division by `total[b]` is left out"), "{says:?}");
    let says = softmax(&SOFTMAX.replace("sum[c] exp", "sum[c < C - 1] exp"));
    assert!(says[0].contains("the sum over `c` ends one before its last element"), "{says:?}");
    let says = softmax(SOFTMAX);
    assert!(says.is_empty(), "{says:?}");
}

const NORM: &str = "mean[r] = (sum[j] x[r,j]) / index(H)
    var[r] = (sum[j] (x[r,j] - mean[r]) * (x[r,j] - mean[r])) / index(H)
    rstd[r] = rsqrt(var[r] + eps)
    y[r,j] = (x[r,j] - mean[r]) * rstd[r] * gamma[j]";

const CLOSED: &str = "dx[r,j] = rstd[r] * (dy[r,j] * gamma[j] - (sum[k] dy[r,k] * gamma[k]) / index(H) \
    - (x[r,j] - mean[r]) * rstd[r] * (sum[k] dy[r,k] * gamma[k] * (x[r,k] - mean[r]) * rstd[r]) / index(H))";

fn norm(forward: bool, wrong: &str) -> Vec<String> {
    let types = [
        ("x", "f32[R, H]"),
        ("gamma", "f32[H]"),
        ("eps", "f32[]"),
        ("mean", "f32[R]"),
        ("var", "f32[R]"),
        ("rstd", "f32[R]"),
        ("y", "f32[R, H]"),
        ("dy", "f32[R, H]"),
        ("dx", "f32[R, H]"),
    ];
    let correct = if forward { NORM } else { CLOSED };
    let mut puzzle = puzzle(&types, &[("R", 3), ("H", 6)], correct, wrong, forward);
    if let Some(eps) = puzzle.known.get_mut("eps") {
        eps[0] = 1e-5;
    }
    puzzle.explain(if forward { "grad(x)" } else { "dx" })
}

#[test]
fn slips_in_a_closed_gradient_are_named() {
    let says = norm(false, &CLOSED.replace("/ index(H)", "/ 128"));
    assert!(
        says[0].contains("blockDim.x (128) stands in the place of `H`, in both places"),
        "{says:#?}"
    );
    let says = norm(false, &CLOSED.replacen("/ index(H)", "", 1));
    assert!(says[0].contains("the division by `H` is left out"), "{says:#?}");
    let says = norm(false, &CLOSED.replace(" * gamma[k]", "").replace(" * gamma[j]", ""));
    assert!(says[0].contains("gamma"), "{says:#?}");
}

#[test]
fn slips_in_a_derived_gradient_are_named() {
    let says = norm(true, NORM);
    assert!(says.is_empty(), "{says:?}");
    let says = norm(true, &NORM.replace("* gamma[j]", ""));
    assert!(says[0].contains("the factor `gamma[j]` is left out"), "{says:?}");
}
