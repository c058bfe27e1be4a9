//! Ranges that depend on other indices or on data, and products.

use crate::common::{self, Checked, dims, fill, tensors};
use indexmath::{Error, Formula, Span, Values};

const SIZES: [(&str, i64); 3] = [("N", 4), ("M", 3), ("E", 6)];

const TYPES: [(&str, &str); 12] = [
    ("x", "f64[N]"),
    ("w", "f64[N]"),
    ("a", "f64[N, N]"),
    ("b", "f64[N, M]"),
    ("y", "f64[N]"),
    ("z", "f64[N]"),
    ("total", "f64[]"),
    ("len", "i32[N]"),
    ("row", "i32[N + 1]"),
    ("col", "i32[E]"),
    ("val", "f64[E]"),
    ("at", "i32[N]"),
];

fn checked(text: &str) -> Checked {
    let mut given: Vec<(&str, &[f64])> = Vec::new();
    for (name, values) in [
        ("len", [2.0, 0.0, 3.0, 1.0].as_slice()),
        ("row", &[0.0, 2.0, 2.0, 5.0, 6.0]),
        ("col", &[1.0, 3.0, 0.0, 1.0, 2.0, 3.0]),
    ] {
        if text.contains(&format!("{name}[")) {
            given.push((name, values));
        }
    }
    Checked::new(&TYPES, text, &SIZES, &given)
}

fn text_of(text: &str, name: &str) -> String {
    let formula =
        Formula::parse(text, &tensors(&TYPES)).and_then(|formula| formula.differentiate());
    formula
        .and_then(|f| f.text_of(name).ok_or(Error::new(Span::default(), "none")))
        .unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_range_may_depend_on_an_outer_index() {
    let prefix = checked("y[i] = sum[j <= i] x[j]");
    let x = &prefix.known["x"];
    let want = fill(4, |i| x[..=i].iter().sum());
    assert_eq!(prefix.values("y"), want);
    for text in [
        "y[i] = sum[j <= i] x[j]",
        "y[i] = sum[j < i] x[j] * w[i]",
        "y[i] = sum[j > i] a[i,j] * x[j]",
        "y[i] = x[i] - sum[j >= i] x[j] * x[j]",
        "y[i] = sum[j <= i] x[i-j] * w[j]",
        "y[i] = sum[j <= i, k <= j] a[i,k] * x[j-k]",
        "y[i] = sum[i <= j < min(i + 2, N)] x[j]",
        "y[i] = sum[j < min(3, N - i)] x[i+j]",
        "y[i] = sum[max(i - 1, max(2 - i, 0)) <= j < N] x[j] * w[i]",
        "y[i] = sum[k, k <= j < N] b[i,k] * x[j]",
        "total = sum[i, j < i] a[i,j] * x[i] * x[j]",
        "y[i] = max[j <= i] x[j] * w[i]",
        "y[i] = exp(x[i] - max[j <= i] x[j]) / sum[j <= i] exp(x[j])",
        "y[i] = sum[2*i <= j < min(2*i + 2, N)] x[j]",
        "y[i] = sum[j < i/2 + 1] x[j] * w[j]",
        "y[i] = sum[j <= N-1-i] a[i+j,j]",
        "y[i] = sum[j < i] max(x[i-1-j], w[j])",
        "y[i] = sum[j <= i] (x[i-j] * (max[k <= i-j] b[i,min(k,M-1)]))",
    ] {
        checked(text).check();
    }
}

#[test]
fn a_range_may_depend_on_data() {
    let spmv = "y[i] = sum[row[i] <= e < row[i+1]] val[e] * x[col[e]]";
    let spmv = checked(spmv);
    let (val, x) = (&spmv.known["val"], &spmv.known["x"]);
    let got = spmv.values("y");
    assert_eq!(got[1], 0.0);
    assert!((got[0] - (val[0] * x[1] + val[1] * x[3])).abs() < 1e-12);
    spmv.check();
    for text in [
        "y[i] = sum[j < len[i]] a[i,j] * x[j]",
        "y[i] = sum[j < len[i]] x[j]; total = sum[i] y[i] * y[i]",
        "y[i] = prod[j < len[i]] x[j]",
        "y[i] = sum[j < min(len[i], N - i)] x[i+j]",
        "y[i] = sum[e >= row[i]] val[e]",
        "y[i] = sum[j < min(len[i], N)] w[j] * exp(x[j])",
        "y[i] = select(len[i] > 0, max[j < len[i]] a[i,j], 0.5)",
        "y[i] = sum[len[i] <= j <= i] a[j,i]",
    ] {
        checked(text).check();
    }
}

#[test]
fn products_have_the_products_of_the_others_as_derivative() {
    for text in [
        "y[i] = prod[k] b[i,k]",
        "y[i] = x[i] * prod[k] (1 + b[i,k] * x[i])",
        "total = prod[i,k] b[i,k]",
        "y[i] = prod[j <= i] x[j]",
        "y[i] = prod[p < 3] x?[i+p-1]",
        "y[i] = log(2 + tanh(prod[k] b[i,k]))",
    ] {
        checked(text).check();
    }
    // One zero: only its own derivative is left; two: none.
    let given = [("b", [2.0, 0.0, 3.0, 0.0, 5.0, 0.0, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0].as_slice())];
    let zeros = Checked::new(&TYPES, "y[i] = prod[k] b[i,k]", &SIZES, &given);
    zeros.check();
    assert_eq!(zeros.values("y"), [0.0, 0.0, 6.0, 0.0]);
}

#[test]
fn what_is_printed_names_the_transposed_range() {
    assert_eq!(text_of("y[i] = sum[j <= i] x[j]", "y"), "y[i] = sum[j <= i] x[j]");
    assert_eq!(
        text_of("y[i] = sum[j <= i] x[j]", "grad(x)"),
        "grad(x)[j] = sum[i >= j] grad(y)[i]"
    );
    assert_eq!(
        text_of("y[i] = sum[j < i] a[i,j] * x[j]", "grad(a)"),
        "grad(a)[i,j] = select(index(j) < index(i), grad(y)[i] * x[j], 0)"
    );
    let spmv = "y[i] = sum[row[i] <= e < row[i+1]] val[e] * x[col[e]]";
    assert_eq!(text_of(spmv, "y"), spmv);
    assert_eq!(
        text_of("y[i] = prod[k] b[i,k]", "grad(b)"),
        "grad(b)[i,k] = grad(y)[i] * prod[k2] select(index(k2) != index(k), b[i,k2], 1)"
    );
}

/// The error as `text-at-span: message | help`.
fn show(text: &str, error: &Error) -> String {
    let help = error.help.as_deref().map(|help| format!(" | {help}")).unwrap_or_default();
    format!("{}: {}{help}", &text[error.span.start..error.span.end], error.message)
}

fn error(text: &str) -> String {
    let at = |formula: Formula| formula.at(&dims(&SIZES));
    match Formula::parse(text, &tensors(&TYPES)).and_then(at) {
        Ok(_) => panic!("{text} is accepted"),
        Err(error) => show(text, &error),
    }
}

#[test]
fn mistakes_in_ranges_are_named() {
    for (text, want) in [
        (
            "y[i] = sum[j == i] x[j]",
            "==: `==` in a range | write a range as `k < K`, `j <= i`, `j > i`, or `low <= j < high`",
        ),
        (
            "y[i] = sum[0 <= j] x[j]",
            "]: expected `<` and the end of the range of `j`, found `]` | without an end, write `j >= ...`",
        ),
        (
            "y[i] = sum[N > j >= i] x[j]",
            ">: `>` in a range with two ends | write a range as `k < K`, `j <= i`, `j > i`, or `low <= j < high`",
        ),
        (
            "y[i] = sum[i <= j+1 < N] x[j]",
            "j+1: the middle of a range must be an index | write a range as `k < K`, `j <= i`, `j > i`, or `low <= j < high`",
        ),
        (
            "y[i] = sum[j <= k] x[j]",
            "k: `k` is neither an index nor a size | name it on the left side or in a reduction like `sum[...]`; indices here: `i`; sizes: `E`, `M` and `N`",
        ),
        (
            "y[i] = sum[j <= j] x[j]",
            "j: `j` is neither an index nor a size | name it on the left side or in a reduction like `sum[...]`; indices here: `i`; sizes: `E`, `M` and `N`",
        ),
        (
            "y[i] = sum[j <= i + 1] x[j]",
            "j: index `j` can reach 4, but axis 0 of `x` has size 4 (N) | fix the subscript or the shapes; if it should read 0 outside, write `x?[...]`",
        ),
        (
            "y[i] = sum[j < i] x[i+j]",
            "i+j: index `i + j` can reach 5, but axis 0 of `x` has size 4 (N) | fix the subscript or the shapes; if it should read 0 outside, write `x?[...]`",
        ),
        (
            "y[i] = sum[j < len[i]] x[i-i+2*j]",
            "j < len[i]: the range of `j` is unknown: it is never a subscript by itself | add the most that it can be, such as `j < min(..., SIZE)`",
        ),
        (
            "y[i] = sum[j < x[i]] x[j]",
            "x[i]: `x` has elements of type f64 | only elements of an integer tensor can stand in a subscript or in `index(...)`",
        ),
    ] {
        assert_eq!(error(text), want);
    }
}

#[test]
fn ranges_in_data_are_checked() {
    let evaluate = |text: &str, name: &str, values: &[f64]| {
        let formula = Formula::parse(text, &tensors(&TYPES)).unwrap();
        let sized = formula.at(&dims(&SIZES)).unwrap();
        let mut known = common::inputs(&formula, &sized, || 1.0);
        known.insert(name.to_owned(), values.to_vec());
        show("", &sized.evaluate(&known, &["y"]).unwrap_err())
    };
    let range = "y[i] = sum[j < len[i]] x[j]";
    assert_eq!(
        evaluate(range, "len", &[1.0, 5.0, 0.0, 4.0]),
        ": `len[1]` is 5: the range of `j` goes past 3 | `j` has the values 0 .. 3, because of the axis that it stands on; give other data, or write the limit as `min(..., SIZE)`"
    );
    assert!(
        evaluate("y[i] = sum[j >= len[i]] x[j]", "len", &[0.0, 0.0, 0.0, -1.0])
            .contains("starts below 0")
    );
    assert!(
        evaluate(range, "len", &[1.0, 0.5, 0.0, 4.0])
            .contains("`len[1]` is 0.5, which cannot be the limit of a range")
    );
}

#[test]
fn an_empty_range_has_the_identity_of_its_reduction() {
    let formula = Formula::parse(
        "y[i] = max[j < len[i]] x[j]; at[i] = argmax[j < len[i]] x[j]",
        &tensors(&TYPES),
    )
    .unwrap();
    let sized = formula.at(&dims(&SIZES)).unwrap();
    let known = Values::from([
        ("x".to_owned(), vec![1.0, 3.0, 2.0, 9.0]),
        ("len".to_owned(), vec![1.0, 0.0, 3.0, 4.0]),
    ]);
    let results = sized.evaluate(&known, &["y", "at"]).unwrap();
    assert_eq!(common::values(&results["y"]), [1.0, f64::NEG_INFINITY, 3.0, 9.0]);
    let at = common::values(&results["at"]);
    assert!(at[1].is_nan() && [at[0], at[2], at[3]] == [0.0, 1.0, 3.0]);
}

#[test]
fn work_that_would_take_minutes_is_refused_before_it_starts() {
    let text = "y[i] = sum[p < 1000000000] x[mod(p,N)]";
    let formula = Formula::parse(text, &tensors(&TYPES)).unwrap();
    let sized = formula.at(&dims(&SIZES)).unwrap();
    let known = Values::from([("x".to_owned(), vec![1.0; 4])]);
    assert_eq!(
        show(text, &sized.evaluate(&known, &["y"]).unwrap_err()),
        "p < 1000000000: `y` would take 4000000000 iterations; `p` alone has 1000000000 values | a statement may take 2^28; choose smaller sizes, or a shorter range"
    );
}
