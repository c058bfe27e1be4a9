//! Convolution and matrix product against naive loops, hand-worked values and `NumPy`.

#![allow(
    clippy::many_single_char_names,
    clippy::needless_range_loop,
    reason = "naive loops use the letters of the formula"
)]

use crate::common::{self, Random, conv, conv_dims, dims, fill, inputs, tensors, values};
use indexmath::{ElementRef, Formula, Values};

/// Naive loops over everything a convolution layer needs.
struct Naive {
    output: Vec<f64>,
    input: Vec<f64>,
    filters: Vec<f64>,
    bias: Vec<f64>,
}

fn naive(known: &Values, [b, c, h, w, k, f]: [usize; 6]) -> Naive {
    let (oh, ow) = (h - f + 1, w - f + 1);
    let (x, g) = (&known["input"], &known["grad(output)"]);
    let (filters, bias) = (&known["filters"], &known["bias"]);
    let mut result = Naive {
        output: vec![0.0; b * k * oh * ow],
        input: vec![0.0; x.len()],
        filters: vec![0.0; filters.len()],
        bias: vec![0.0; bias.len()],
    };
    for ib in 0..b {
        for ik in 0..k {
            for i in 0..oh {
                for j in 0..ow {
                    let o = ((ib * k + ik) * oh + i) * ow + j;
                    result.output[o] += bias[ik];
                    result.bias[ik] += g[o];
                    for ic in 0..c {
                        for p in 0..f {
                            for q in 0..f {
                                let xi = ((ib * c + ic) * h + i + p) * w + j + q;
                                let wi = ((ik * c + ic) * f + p) * f + q;
                                result.output[o] += x[xi] * filters[wi];
                                result.input[xi] += g[o] * filters[wi];
                                result.filters[wi] += g[o] * x[xi];
                            }
                        }
                    }
                }
            }
        }
    }
    result
}

#[test]
fn equals_naive_loops() {
    let formula = conv().differentiate().unwrap();
    for sizes in [[1, 1, 5, 5, 1, 3], [2, 2, 7, 5, 3, 3], [2, 3, 4, 6, 1, 4], [1, 2, 3, 3, 2, 1]] {
        let concrete = formula.at(&conv_dims(sizes)).unwrap();
        let mut random = Random::new(7);
        let known = inputs(&formula, &concrete, || random.integer(-4, 4));
        let wanted = ["output", "grad(input)", "grad(filters)", "grad(bias)"];
        let got = concrete.evaluate(&known, &wanted).unwrap();
        let want = naive(&known, sizes.map(|size| size as usize));
        for (name, want) in wanted.iter().zip([want.output, want.input, want.filters, want.bias]) {
            assert_eq!(values(&got[*name]), want, "{name} at {sizes:?}");
            assert!(got[*name].iter().all(|element| element.bound == 0.0), "integers are exact");
        }
    }
}

#[test]
fn elements_equal_the_whole() {
    let formula = conv().differentiate().unwrap();
    let concrete = formula.at(&conv_dims([2, 2, 5, 4, 3, 3])).unwrap();
    let mut random = Random::new(11);
    let known = inputs(&formula, &concrete, || random.normal());
    for name in ["output", "grad(input)", "grad(filters)", "grad(bias)"] {
        let all = concrete.evaluate(&known, &[name]).unwrap().remove(name).unwrap();
        let shape = concrete.shape(name).unwrap().to_vec();
        for (flat, want) in all.iter().enumerate() {
            let mut rest = flat;
            let mut coords: Vec<i64> = Vec::new();
            for size in shape.iter().rev() {
                coords.insert(0, (rest % size) as i64);
                rest /= size;
            }
            let at = ElementRef { tensor: name.to_owned(), coords };
            let got = concrete.element(&known, &at).unwrap();
            assert_eq!(got.terms, want.terms);
            assert!((got.value - want.value).abs() <= 1e-12, "{at:?}: {got:?}, {want:?}");
            assert!(
                (got.bound - want.bound).abs() <= 1e-9 * want.bound,
                "{at:?}: {got:?}, {want:?}"
            );
            let terms = concrete.terms(&known, &at, 1000).unwrap().unwrap();
            assert_eq!(terms.len() as u64, want.terms);
            let sum: f64 = terms.iter().map(|term| term.value).sum();
            assert!((sum - want.value).abs() <= 1e-12);
        }
    }
}

/// Puzzle 10's tiny case: 5x5, filter 1..9, upstream gradient all ones. Worked by hand: every element is
/// the sum of the filter entries that reach it.
#[test]
fn grad_input_by_hand() {
    let formula = conv().differentiate().unwrap();
    let concrete = formula.at(&conv_dims([1, 1, 5, 5, 1, 3])).unwrap();
    let known = Values::from([
        ("filters".to_owned(), fill(9, |i| i as f64 + 1.0)),
        ("grad(output)".to_owned(), fill(9, |_| 1.0)),
    ]);
    let got = concrete.evaluate(&known, &["grad(input)"]).unwrap();
    #[rustfmt::skip]
    let want = [
        1.0, 3.0, 6.0, 5.0, 3.0,
        5.0, 12.0, 21.0, 16.0, 9.0,
        12.0, 27.0, 45.0, 33.0, 18.0,
        11.0, 24.0, 39.0, 28.0, 15.0,
        7.0, 15.0, 24.0, 17.0, 9.0,
    ];
    assert_eq!(values(&got["grad(input)"]), want);
}

#[test]
fn text_of_the_gradients() {
    let formula = conv().differentiate().unwrap();
    let text = |name| formula.text_of(name).unwrap();
    assert_eq!(
        text("grad(input)"),
        "grad(input)[b,c,h,w] = sum[k,fh,fw] grad(output)?[b,k,h-fh,w-fw] * filters[k,c,fh,fw]"
    );
    assert_eq!(
        text("grad(filters)"),
        "grad(filters)[k,c,fh,fw] = sum[b,oh,ow] grad(output)[b,k,oh,ow] * input[b,c,oh+fh,ow+fw]"
    );
    assert_eq!(text("grad(bias)"), "grad(bias)[k] = sum[b,oh,ow] grad(output)[b,k,oh,ow]");
    assert_eq!(text("output"), common::CONV);
}

#[test]
fn terms_of_an_element() {
    let formula = conv().differentiate().unwrap();
    let concrete = formula.at(&conv_dims([1, 1, 5, 5, 1, 3])).unwrap();
    let known = Values::from([
        ("filters".to_owned(), fill(9, |i| i as f64 + 1.0)),
        ("grad(output)".to_owned(), fill(9, |i| i as f64)),
    ]);
    let at = ElementRef { tensor: "grad(input)".to_owned(), coords: vec![0, 0, 0, 1] };
    let terms = concrete.terms(&known, &at, 10).unwrap().unwrap();
    let shown: Vec<String> = terms
        .iter()
        .map(|term| {
            let factors: Vec<String> = term
                .factors
                .iter()
                .map(|element| format!("{}{:?}", element.tensor, element.coords))
                .collect();
            format!(
                "{} {} = {} {:?}",
                term.coefficient,
                factors.join("*"),
                term.value,
                term.indices
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            r#"1 filters[0, 0, 0, 1]*grad(output)[0, 0, 0, 0] = 0 [("k", 0), ("fh", 0), ("fw", 1)]"#,
            r#"1 filters[0, 0, 0, 0]*grad(output)[0, 0, 0, 1] = 1 [("k", 0), ("fh", 0), ("fw", 0)]"#,
        ]
    );
    assert_eq!(concrete.terms(&known, &at, 1).unwrap(), None);
}

#[test]
fn matmul() {
    let tensors = tensors(&[("A", "f32[M, K]"), ("B", "f32[K, N]"), ("C", "f32[M, N]")]);
    let formula = Formula::parse("C[i,j] = sum[k] A[i,k] * B[k,j]", &tensors).unwrap();
    let formula = formula.differentiate().unwrap();
    let concrete = formula.at(&dims(&[("M", 2), ("K", 3), ("N", 2)])).unwrap();
    let known = Values::from([
        ("A".to_owned(), fill(6, |i| i as f64 + 1.0)),
        ("B".to_owned(), fill(6, |i| i as f64 + 7.0)),
        ("grad(C)".to_owned(), vec![1.0, -1.0, 2.0, 3.0]),
    ]);
    let got = concrete.evaluate(&known, &["C", "grad(A)", "grad(B)"]).unwrap();
    assert_eq!(values(&got["C"]), [58.0, 64.0, 139.0, 154.0]);
    assert_eq!(values(&got["grad(A)"]), [-1.0, -1.0, -1.0, 38.0, 48.0, 58.0]);
    assert_eq!(values(&got["grad(B)"]), [9.0, 11.0, 12.0, 13.0, 15.0, 15.0]);
}
