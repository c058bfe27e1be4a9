//! What the language accepts and what its errors say.

use std::fmt::Write;

use crate::common::{self, CONV, conv, conv_dims, dims, inputs, tensors};
use approx::assert_relative_eq;
use indexmath::{DimExpr, ElementRef, Error, Formula, TensorType, Values};
use proptest::prelude::*;

const TYPES: [(&str, &str); 8] = [
    ("x", "f32[N, M]"),
    ("v", "f32[N]"),
    ("w", "f32[M]"),
    ("n", "i32[N]"),
    ("s", "f32[]"),
    ("t", "f32[N]"),
    ("y", "f32[N]"),
    ("big", "f32[N + 2]"),
];

fn parse(text: &str) -> Result<Formula, Error> {
    Formula::parse(text, &tensors(&TYPES))
}

/// The error as `text-at-span: message | help`.
fn show(text: &str, error: &Error) -> String {
    let mut shown = format!("{}: {}", &text[error.span.start..error.span.end], error.message);
    if let Some(help) = &error.help {
        let _ = write!(shown, " | {help}");
    }
    shown
}

#[track_caller]
fn error(text: &str) -> String {
    match parse(text) {
        Ok(formula) => panic!("{text} is accepted: {formula}"),
        Err(error) => show(text, &error),
    }
}

/// Evaluates a formula whose inputs are 1, 2, 3, ...
fn evaluate(text: &str, wanted: &str) -> Vec<f64> {
    let formula = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let concrete = formula.at(&dims(&[("N", 3), ("M", 2)])).unwrap();
    let known: Values = formula
        .inputs()
        .into_iter()
        .map(|name| {
            let len = concrete.shape(&name).unwrap().iter().product::<usize>();
            (name, common::fill(len, |i| i as f64 + 1.0))
        })
        .collect();
    common::values(&concrete.evaluate(&known, &[wanted]).unwrap()[wanted])
}

#[test]
fn precedence_and_sums() {
    assert_eq!(evaluate("y[i] = 1 + 2 * v[i] - 4 / 2", "y"), [1.0, 3.0, 5.0]);
    assert_eq!(evaluate("y[i] = -v[i] * 2 - -1", "y"), [-1.0, -3.0, -5.0]);
    assert_eq!(evaluate("y[i] = 12 / v[i] / 2", "y"), [6.0, 3.0, 2.0]);
    // A sum takes the products, and not what is added.
    assert_eq!(evaluate("y[i] = sum[k] w[k] * 2 + 100", "y"), [106.0; 3]);
    assert_eq!(evaluate("y[i] = sum[k] (w[k] * 2 + 100)", "y"), [206.0; 3]);
    assert_eq!(
        evaluate("y[i] = 2 * sum[k] w[k] / 2 * v[i]", "y"),
        [6.0, 12.0, 18.0].map(|x| x * 0.5)
    );
    assert_eq!(evaluate("s = sum[i,j] x[i,j] * sum[k] x[i,k]", "s"), [179.0]);
    // Sizes are numbers; a scalar needs no brackets.
    assert_eq!(evaluate("y[i] = (v[i] + N) / M * s", "y"), [2.0, 2.5, 3.0]);
    assert_eq!(evaluate("y[i] = sum[k < N - 1] v[i] * big[k + 1]", "y"), [5.0, 10.0, 15.0]);
}

#[test]
fn subscripts() {
    assert_eq!(evaluate("y[i] = big[i+2]", "y"), [3.0, 4.0, 5.0]);
    assert_eq!(evaluate("y[i] = v[N-1-i]", "y"), [3.0, 2.0, 1.0]);
    assert_eq!(evaluate("y[i] = v[div(i,2)] * 10 + v[mod(i,2)]", "y"), [11.0, 12.0, 21.0]);
    assert_eq!(evaluate("y[i] = v[i/2] * 10 + v[i%2]", "y"), [11.0, 12.0, 21.0]);
    assert_eq!(evaluate("y[i] = v?[i-1] + v?[i+1]", "y"), [2.0, 4.0, 2.0]);
    // The floor, also below 0: -1 / 2 is -1.
    assert_eq!(evaluate("y[i] = v?[div(i-1,2)] + 10 * v[mod(i-1,N)]", "y"), [30.0, 11.0, 21.0]);
    // Together they stay inside, though not each interval by itself.
    assert_eq!(evaluate("y[i] = v[2*div(i,2) + mod(i,2)]", "y"), [1.0, 2.0, 3.0]);
    assert_eq!(evaluate("y[i] = v[i - i] + v[2*i - i]", "y"), [2.0, 3.0, 4.0]);
    assert_eq!(evaluate("y[i] = v[max(i-1,0)] * v[min(i+1,N-1)]", "y"), [2.0, 3.0, 6.0]);
}

#[test]
fn statements() {
    let text = "# sums\nt[i] = sum[j] x[i,j]; s = sum[i] t[i]\n\n\ty[i] = t[i] /\n s\n + (v[i]\n - v[i]) # end";
    for (got, want) in evaluate(text, "y").iter().zip([3.0, 7.0, 11.0]) {
        assert_relative_eq!(*got, want / 21.0, max_relative = 1e-14);
    }
    let formula = parse(text).unwrap();
    assert_eq!(formula.inputs(), ["x", "v"]);
    assert_eq!(formula.assigned(), ["t", "s", "y"]);
    assert_eq!(formula.outputs(), ["y"]);
    let reverse = formula.differentiate().unwrap();
    assert_eq!(reverse.inputs(), ["x", "v", "grad(y)"]);
    assert!(parse("").unwrap().assigned().is_empty());
    assert_eq!(
        reverse.to_string().lines().skip(3).take(4).collect::<Vec<_>>(),
        [
            "grad(s) = sum[i] -(grad(y)[i] * t[i] / (s * s))",
            "grad(t)[i] = grad(y)[i] / s + grad(s)",
            "grad(big)[i] = 0",
            "grad(v)[i] = grad(y)[i] + -grad(y)[i]",
        ]
    );
}

#[test]
fn gradients_of_texts() {
    let gradient = |text: &str, of: &str| {
        let formula = parse(text).unwrap().differentiate().unwrap();
        formula.text_of(&format!("grad({of})")).unwrap()
    };
    assert_eq!(gradient("y[i] = big[i+2]", "big"), "grad(big)[i] = grad(y)?[i-2]");
    assert_eq!(gradient("y[i] = v[N-1-i]", "v"), "grad(v)[n] = grad(y)?[N-n-1]");
    assert_eq!(
        gradient("y[i] = x[i,0]", "x"),
        "grad(x)[i,m] = select(index(m) == 0, grad(y)[i], 0)"
    );
    assert_eq!(gradient("y[i] = v?[i-1] * w[0]", "v"), "grad(v)[n] = grad(y)?[n+1] * w[0]");
    assert_eq!(
        gradient("y[i] = v?[2*i-1]", "v"),
        "grad(v)[n] = sum[i] select(index(n) == index(2*i-1), grad(y)[i], 0)"
    );
    assert_eq!(
        gradient("s = sum[i,k] v[i] * v[i] / w[k]", "w"),
        "grad(w)[k] = sum[i] -(grad(s) * (v[i] * v[i]) / (w[k] * w[k]))"
    );
    // Blocks that do not overlap: each element has one place in one block.
    assert_eq!(
        gradient("y[i] = sum[p < 2] x?[i,2*0] * big?[2*i+p-1]", "big"),
        "grad(big)[i] = grad(y)?[div(i+1,2)] * x?[div(i+1,2),2*0]"
    );
    // The two copies of the divisor have indices of their own.
    assert_eq!(
        gradient("y[i] = v[i] / sum[k] v[k]", "v"),
        "grad(v)[i] = grad(y)[i] / sum[k] v[k] + sum[i2] -(grad(y)[i2] * v[i2] / ((sum[k] v[k]) * sum[k] v[k]))"
    );
    // The difference could be less than 0, by which nothing can be shifted and nobody divides.
    assert_eq!(
        gradient("y[i] = sum[p < 3] big[i+p] * index(1 << i)", "big"),
        "grad(big)[i] = sum[i2,p < 3] select(index(i) == index(i2+p), grad(y)[i2] * index((1 << i2)), 0)"
    );
    // No gradient flows into integers, and none is printed for them.
    assert_eq!(
        parse("y[i] = n[i] * v[i]").unwrap().differentiate().unwrap().text_of("grad(n)"),
        None
    );
}

#[test]
fn a_cotangent_may_be_read_and_assigned() {
    let text = "grad(v)[i] = sum[j] grad(x)[i,j] * w[j]";
    assert_eq!(parse(text).unwrap().inputs(), ["grad(x)", "w"]);
    assert_eq!(parse(text).unwrap().to_string(), text);
    let error = parse(text).unwrap().differentiate().unwrap_err();
    assert_eq!(error.message, "a formula with `grad(v)` cannot be differentiated again");
}

#[test]
fn a_declared_cotangent_has_the_shape_of_its_tensor() {
    let mut types = tensors(&TYPES);
    let derived = |types: &_| Formula::parse("y[i] = v[i]", types).unwrap().differentiate();
    types.insert("grad(v)".to_owned(), TensorType::parse("f64[N]").unwrap());
    assert!(derived(&types).is_ok());
    types.insert("grad(v)".to_owned(), TensorType::parse("f32[M]").unwrap());
    assert_eq!(
        derived(&types).unwrap_err().to_string(),
        "`grad(v)` is declared as f32[M], but `v` as f32[N] (a cotangent has the shape of its tensor)"
    );
}

#[test]
fn errors_of_names() {
    assert_eq!(
        error("q[i] = v[i]"),
        "q: unknown tensor `q` | declared tensors: `big`, `n`, `s`, `t`, `v`, `w`, `x` and `y`"
    );
    assert_eq!(
        error("y[i] = v[i] * i"),
        "i: the index `i` is used outside a subscript | to use it as a number, write `index(i)`"
    );
    assert_eq!(
        error("y[i] = v[k]"),
        "k: `k` is neither an index nor a size | name it on the left side or in a reduction like `sum[...]`; indices here: `i`; sizes: `M` and `N`"
    );
    assert_eq!(
        error("y[i] = sum[i] v[i]"),
        "i: the index `i` is bound twice | give each index its own name"
    );
    assert_eq!(
        error("x[i,i] = v[i]"),
        "i: the index `i` is bound twice | give each index its own name"
    );
    assert_eq!(
        error("y[N] = v[N]"),
        "N: `N` is a size, so no index can have this name | rename the index"
    );
    assert_eq!(
        error("y[i] = sum[M] w[M]"),
        "M: `M` is a size, so no index can have this name | rename the index"
    );
    assert_eq!(
        error("y[sum] = v[0]"),
        "sum: `sum` in a size or subscript | integer expressions can use + - * / %, & | ^ ~ << >>, div, mod, ceil_div, min and max"
    );
    assert_eq!(
        error("y[i] = div(v[i], 2)"),
        "div: `div` is a reserved word here | its result is an integer: write `index(div(...))`"
    );
}

#[test]
fn errors_of_statements() {
    assert_eq!(
        error("y[i] = v[i]; y[i] = v[i]"),
        "y: `y` is assigned twice | a tensor is assigned only once; give the second result another name"
    );
    assert_eq!(
        error("y[i] = y[i] + 1"),
        "y: `y` is read in its own statement | write `y'` on the left for its value after the launches, or give the result another name; a recurrence has a start `y[0] = ...` and a step `y[t+1] = ... y[t] ...`"
    );
    assert_eq!(
        error("y[i] = t[i]\nt[i] = v[i]"),
        "t: `t` is read before it is assigned | move the statement that assigns it before this one"
    );
    assert_eq!(
        error("y[i+1] = v[i]"),
        "i+1: no statement gives `y` at place 0 of axis 0 | a recurrence is a start `u[0,i] = ...` \
         and a step `u[t+1,i] = ... u[t,i] ...`"
    );
    assert_eq!(
        error("y[2*i] = v[i]"),
        "2*i: the left side needs plain indices | write `y[i,j] = ...`, and do the arithmetic in \
         the subscripts on the right side"
    );
    assert_eq!(error("y[i,j] = v[i]"), "y: `y` has 1 axis, but 2 subscripts | write 1 subscript");
    assert_eq!(error("y[i] = x[i]"), "x[i]: `x` has 2 axes, but 1 subscript | write 2 subscripts");
    assert_eq!(error("y[i] = v"), "v: `v` has 1 axis, but 0 subscripts | write 1 subscript");
    assert_eq!(error("y[i] = s[i]"), "s[i]: `s` has 0 axes, but 1 subscript | write 0 subscripts");
}

#[test]
fn errors_of_ranges() {
    assert_eq!(
        error("y[i] = sum[k] big[i+k]"),
        "k: the range of `k` is unknown: it is never a subscript by itself | write its range, `sum[k < SIZE]`, or use it alone as a subscript"
    );
    assert_eq!(
        error("y[i] = sum[k] v[k] + w[k]"),
        "k: `k` is neither an index nor a size | name it on the left side or in a reduction like `sum[...]`; indices here: `i`; sizes: `M` and `N`"
    );
    assert_eq!(
        error("y[i] = sum[k] v[i]"),
        "k: the index `k` of this `sum` is not used | the body of a `sum` ends before `+` and `-`: use brackets, or remove the index"
    );
    assert_eq!(
        error("y[i] = sum[k] v[k] * big[k]"),
        "k: the index `k` runs over axes of different sizes: axis 0 of `v` (size N) and axis 0 of `big` (size N + 2) | write the range that you mean, `sum[k < SIZE]`"
    );
    assert_eq!(
        error("y[i] = sum[k < q] v[k]"),
        "q: `q` is neither an index nor a size | name it on the left side or in a reduction like `sum[...]`; indices here: `i`; sizes: `M` and `N`"
    );
    // Undecided until the sizes are known.
    let text = "y[i] = sum[k] v[k] * w[k]";
    let formula = parse(text).unwrap();
    assert!(formula.at(&dims(&[("N", 3), ("M", 3)])).is_ok());
    assert_eq!(
        show(text, &formula.at(&dims(&[("N", 3), ("M", 4)])).unwrap_err()),
        "k: the index `k` runs over axes of different sizes: axis 0 of `v` (size N = 3) and axis 0 of `w` (size M = 4) | write the range that you mean, `sum[k < SIZE]`"
    );
    let empty = parse("y[i] = sum[k < N - 3] v[k]").unwrap().at(&dims(&[("N", 3), ("M", 4)]));
    assert_eq!(empty.unwrap_err().message, "the range of the index `k` is 0");
}

#[test]
fn errors_of_syntax() {
    assert_eq!(
        error("y[i] = v[i] +"),
        ": expected a number, a tensor or `(`, found the end of the text"
    );
    assert_eq!(error("y[i] = (v[i]"), ": expected `)`, found the end of the text");
    assert_eq!(error("y[i] = v[i"), ": expected `,` or `]`, found the end of the text");
    assert_eq!(
        error("y[i] v[i]"),
        "v: expected `=`, found `v` | a statement is `tensor[indices] = expression`"
    );
    assert_eq!(
        error("y[i] = v[i] w[0]"),
        "w: expected an operator or the end of the statement, found `w`"
    );
    assert_eq!(
        error("y[i] = v(i)"),
        "v: `v` is not a function | functions: exp, log, sqrt, rsqrt, tanh, sin, cos, erf, sigmoid, floor, abs, max, min, pow, select, index, f16, bf16, f32; elements are read with `[...]`, products written with `*`"
    );
    assert_eq!(
        error("y[i] = v[i] % 2"),
        "%: `%` outside a subscript | `%` is for integers, which only subscripts and sizes are"
    );
    assert_eq!(error("y[i] = v[i] · 2"), "·: unexpected character `·` | write products with `*`");
    assert_eq!(
        error("y[i] = v[i] ^ 2"),
        "^: `^` outside an integer expression | write powers as `pow(a, b)`; of integers, `index(a ^ b)` is the exclusive or"
    );
    assert_eq!(
        error("y[i] = select(v[i] > 0 & v[i] < 1, 1, 0)"),
        "&: `&` outside an integer expression | of integers, write `index(a & b)`; conditions are joined by `and` and `or`"
    );
    assert_eq!(
        error("y[i] = v[1.5]"),
        "1.5: `1.5` is not a 64-bit integer | sizes and subscripts are integers"
    );
    assert_eq!(
        error("y[i] = v[v[i]]"),
        "v[i]: `v` has elements of type f32 | only elements of an integer tensor can stand in a subscript or in `index(...)`"
    );
    assert_eq!(error("y[i] = 1e999"), "1e999: `1e999` is not a finite number");
    assert_eq!(
        error("= 1"),
        "=: expected a statement, found `=` | a statement is `tensor[indices] = expression`"
    );
}

#[test]
fn errors_of_depth() {
    let deep = format!("y[i] = {}1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(
        parse(&deep).unwrap_err().message,
        "more than 64 nested brackets, signs or reductions"
    );
    let signs = format!("y[i] = {}1", "-".repeat(100_000));
    assert_eq!(
        parse(&signs).unwrap_err().message,
        "more than 64 nested brackets, signs or reductions"
    );
    let long = format!("y[i] = v[i]{}", " + v[i]".repeat(100_000));
    assert_eq!(parse(&long).unwrap_err().message, "an expression more than 256 operations deep");
    let subscript = format!("y[i] = v[i{}]", " + 0".repeat(100_000));
    assert_eq!(
        parse(&subscript).unwrap_err().message,
        "an expression more than 256 operations deep"
    );
    // Just what is allowed, through every pass.
    let long = format!(
        "y[i] = {}v[i]{}",
        "-(".repeat(31),
        " * v[i] / (v[i] * 2)".repeat(100) + &")".repeat(31)
    );
    let formula = parse(&long).unwrap().differentiate().unwrap();
    let concrete = formula.at(&dims(&[("N", 2), ("M", 1)])).unwrap();
    let known = inputs(&formula, &concrete, || 1.0);
    assert!(concrete.evaluate(&known, &["grad(v)"]).is_ok());
    assert!(formula.text_of("grad(v)").is_some());
    let at = ElementRef { tensor: "grad(v)".to_owned(), coords: vec![1] };
    assert_eq!(concrete.terms(&known, &at, 10), Ok(None));
}

/// A chain of statements is as deep as it is long, and no pass may mind.
#[test]
fn many_statements() {
    let count = 3000;
    let mut types = vec![("t0".to_owned(), "f32[N]".to_owned())];
    let mut text = String::new();
    for step in 1..=count {
        types.push((format!("t{step}"), "f32[N]".to_owned()));
        let _ = writeln!(text, "t{step}[i] = t{}[i] + t{}[N-1-i]", step - 1, step - 1);
    }
    let types: Vec<(&str, &str)> = types.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let formula = Formula::parse(&text, &tensors(&types)).unwrap().differentiate().unwrap();
    let concrete = formula.at(&dims(&[("N", 2)])).unwrap();
    let known = Values::from([("t0".to_owned(), vec![1.0, 2.0])]);
    let last = format!("t{count}");
    assert!(concrete.evaluate(&known, &[&last]).is_ok());
    let at = ElementRef { tensor: last, coords: vec![0] };
    assert_eq!(concrete.terms(&known, &at, usize::MAX), Ok(None));
}

#[test]
fn errors_of_bounds() {
    let at = |text: &str| {
        let error = parse(text).unwrap().at(&dims(&[("N", 5), ("M", 3)])).unwrap_err();
        show(text, &error)
    };
    assert_eq!(
        at("y[i] = big[i+3]"),
        "i+3: index `i + 3` can reach 7, but axis 0 of `big` has size 7 (N + 2) | fix the subscript or the shapes; if it should read 0 outside, write `big?[...]`"
    );
    assert_eq!(
        at("y[i] = v[i-1]"),
        "i-1: index `i - 1` can fall to -1, but axis 0 of `v` has size 5 (N) | fix the subscript or the shapes; if it should read 0 outside, write `v?[...]`"
    );
    assert_eq!(
        at("y[i] = w[2*div(i,2) + mod(i,2)]"),
        "2*div(i,2) + mod(i,2): index `2*div(i, 2) + mod(i, 2)` can reach 4, but axis 0 of `w` has size 3 (M) | fix the subscript or the shapes; if it should read 0 outside, write `w?[...]`"
    );
    assert_eq!(
        at("y[i] = w[i/(i-1)]"),
        "(i-1): this divisor can be 0 | divide by a size or a positive integer"
    );
    assert_eq!(
        at("y[i] = v[i/0]"),
        "0: this divisor can be 0 | divide by a size or a positive integer"
    );
    assert_eq!(
        at("y[i] = v?[9223372036854775807 * i]"),
        "9223372036854775807 * i: this subscript is too large | subscripts must be below 2^40"
    );
    assert_eq!(
        at("y[i] = v?[9223372036854775807 + 1]"),
        "9223372036854775807 + 1: this does not fit into 64 bits"
    );
    assert_eq!(
        at("y[i] = v?[i*4611686018427387904 + i*4611686018427387904]"),
        "i*4611686018427387904 + i*4611686018427387904: this does not fit into 64 bits at the largest values that it may have | cut an element before it is multiplied or shifted: `(key[i] & 0xffff) * 31`"
    );
}

#[test]
fn errors_of_sizes() {
    let formula = conv();
    let message = |sizes: [i64; 6]| formula.at(&conv_dims(sizes)).unwrap_err().to_string();
    assert_eq!(
        message([1, 1, 2, 5, 1, 3]),
        "axis 2 of `output` (H - F + 1) has size 0 (every size must be at least 1)"
    );
    assert_eq!(
        message([1 << 20, 1 << 11, 1, 1, 1, 1]),
        "`input` would have 2^31 elements or more (choose smaller sizes)"
    );
    assert_eq!(
        message([1, 1, i64::MIN, 5, 1, 3]),
        "axis 2 of `input` (H) has size -9223372036854775808 (every size must be at least 1)"
    );
    let missing = formula.at(&dims(&[("batch", 1)])).unwrap_err();
    assert_eq!(missing.message, "axis 0 of `bias` (C_out): the size `C_out` has no value");
    let concrete = formula.at(&conv_dims([1, 1, 5, 5, 1, 3])).unwrap();
    assert_eq!(concrete.shape("output"), Some([1, 1, 3, 3].as_slice()));
    assert_eq!(concrete.shape("grad(output)"), Some([1, 1, 3, 3].as_slice()));
    assert_eq!(concrete.shape("nothing"), None);
}

#[test]
fn errors_of_values() {
    let concrete = conv().at(&conv_dims([1, 1, 3, 3, 1, 3])).unwrap();
    let mut known =
        Values::from([("input".to_owned(), vec![1.0; 9]), ("bias".to_owned(), vec![1.0])]);
    let message = |known: &Values| concrete.evaluate(known, &["output"]).unwrap_err().to_string();
    assert_eq!(
        message(&known),
        "the input `filters` has no values (inputs with values: `bias` and `input`)"
    );
    known.insert("filters".to_owned(), vec![1.0; 8]);
    assert_eq!(message(&known), "`filters` has 8 values, not 9 (its shape is [1, 1, 3, 3])");
    known.insert("filters".to_owned(), vec![1.0; 9]);
    assert_eq!(concrete.evaluate(&known, &["output", "bias", "output"]).unwrap().len(), 2);
    assert!(concrete.evaluate(&known, &["grad(output)"]).is_err());
    let at = |coords: &[i64]| ElementRef { tensor: "output".to_owned(), coords: coords.to_vec() };
    assert_eq!(
        concrete.element(&known, &at(&[0, 0, 0, 1])).unwrap_err().to_string(),
        "`output` has no element [0, 0, 0, 1] (its shape is [1, 1, 1, 1])"
    );
    assert!(concrete.element(&known, &at(&[0, 0])).is_err());
    assert!(concrete.terms(&known, &at(&[0, 0, 0, -1]), 5).is_err());
}

#[test]
fn sizes() {
    let value = |text: &str| DimExpr::parse(text).unwrap().eval(&dims(&[("H", 7), ("F", 3)]));
    assert_eq!(value("H - F + 1"), Ok(5));
    assert_eq!(value("-H / 2"), Ok(-4));
    assert_eq!(value("mod(-H, 4) + H % 4"), Ok(4));
    assert_eq!(value("ceil_div(H*F, 4) + min(H, F) * max(H, F)"), Ok(27));
    assert_eq!(value("ceil_div(-H, 2)"), Ok(-3));
    assert_eq!(value("\n(H)\n+ 1"), Ok(8));
    let failure = |text: &str| show(text, &value(text).unwrap_err());
    assert_eq!(failure("H / (F - 3)"), "(F - 3): the divisor is 0");
    assert_eq!(failure("H + W"), "W: the size `W` has no value | sizes with a value: `F` and `H`");
    assert_eq!(
        failure("9223372036854775807 + H"),
        "9223372036854775807 + H: this does not fit into 64 bits"
    );
    let names = DimExpr::parse("H*(W - H)").unwrap().names();
    assert_eq!(
        names.iter().map(|(name, span)| (name.as_str(), span.start)).collect::<Vec<_>>(),
        [("H", 0), ("W", 3), ("H", 7)]
    );
    assert_eq!(DimExpr::parse("H*(W-H)/2").unwrap().to_string(), "div(H*(W - H), 2)");
    let failure = |text: &str| show(text, &DimExpr::parse(text).unwrap_err());
    assert_eq!(
        failure("H +"),
        ": expected an index, a size or an integer, found the end of the text"
    );
    assert_eq!(failure("H W"), "W: expected an operator or the end of the size, found `W`");
    assert_eq!(
        failure("ceil(H)"),
        "ceil: `ceil` is not a function | the functions of integer expressions are div, mod, ceil_div, min and max"
    );
    assert_eq!(
        failure("99999999999999999999"),
        "99999999999999999999: `99999999999999999999` is not a 64-bit integer | sizes and subscripts are integers"
    );
}

#[test]
fn types() {
    let parsed = TensorType::parse("bf16[batch, 2*H + 1]").unwrap();
    assert_eq!(parsed.to_string(), "bf16[batch, 2*H + 1]");
    assert!(TensorType::parse("f64[]").unwrap().shape.is_empty());
    let failure = |text: &str| show(text, &TensorType::parse(text).unwrap_err());
    assert_eq!(
        failure("float[N]"),
        "float: unknown element type `float` | element types: `f32`, `f64`, `f16`, `bf16`, `i32`, `i64` and `u8`"
    );
    assert_eq!(
        failure("f32"),
        ": expected `[` and the sizes, found the end of the text | a tensor's type is written like `f32[batch, H, W]`"
    );
    assert_eq!(
        failure("f32[N] x"),
        "x: expected the end of the type, found `x` | a tensor's type is written like `f32[batch, H, W]`"
    );
}

#[test]
fn extra_sizes() {
    let types = tensors(&[("x", "f32[H]"), ("y", "f32[P]")]);
    assert!(Formula::parse("y[p] = x[S*p]", &types).is_err());
    let formula = Formula::parse_with("y[p] = x[S*p]", &types, &["S"]).unwrap();
    let concrete = formula.at(&dims(&[("H", 5), ("P", 3), ("S", 2)])).unwrap();
    let known = Values::from([("x".to_owned(), vec![1.0, 2.0, 3.0, 4.0, 5.0])]);
    assert_eq!(common::values(&concrete.evaluate(&known, &["y"]).unwrap()["y"]), [1.0, 3.0, 5.0]);
}

/// Whatever the text: a formula or an error inside it.
fn survives(text: &str) -> Result<(), TestCaseError> {
    let inside = |error: &Error| {
        text.get(error.span.start..error.span.end).is_some() && !error.message.is_empty()
    };
    match parse(text) {
        Err(error) => prop_assert!(inside(&error), "{:?}", error),
        Ok(formula) => {
            let derived = formula.differentiate();
            for formula in std::iter::once(formula).chain(derived) {
                let _ = formula.to_string();
                match formula.at(&dims(&[("N", 3), ("M", 2)])) {
                    Err(error) => prop_assert!(inside(&error), "{:?}", error),
                    Ok(concrete) => {
                        let known = inputs(&formula, &concrete, || 1.5);
                        for name in formula.assigned() {
                            prop_assert!(concrete.evaluate(&known, &[&name]).is_ok());
                        }
                    }
                }
            }
        }
    }
    if let Err(error) = DimExpr::parse(text) {
        prop_assert!(inside(&error));
    }
    if let Err(error) = TensorType::parse(text) {
        prop_assert!(inside(&error));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_survives(text in any::<String>()) {
        survives(&text)?;
    }

    #[test]
    fn any_tokens_survive(tokens in proptest::collection::vec(proptest::sample::select(vec![
        "y", "v", "x", "s", "n", "i", "j", "N", "sum", "grad", "div", "mod", "max", "[", "]", "(", ")", "+", "-", "*",
        "/", "%", "=", "<", ",", "?", ";", "\n", "#", "1", "0.5", "y[i] =", "v[i]", "sum[k]", "v[k]", "sum[k<2]", "x[i,",
        "v?[", "t[i] =", "grad(v)", "s =", "9223372036854775807",
    ]), 0..24)) {
        survives(&tokens.join(" "))?;
    }

    /// A good formula with a piece cut out or doubled.
    #[test]
    fn damaged_formulas_survive(from in 0..CONV.len(), to in 0..CONV.len(), double in any::<bool>()) {
        let types = tensors(&[
            ("input", "f32[N, M, N, M]"), ("filters", "f32[N, M, 1, 1]"), ("bias", "f32[N]"), ("output", "f32[N, N, N, M]"),
        ]);
        let (from, to) = (from.min(to), from.max(to));
        let text = if double {
            format!("{}{}", &CONV[..to], &CONV[from..])
        } else {
            format!("{}{}", &CONV[..from], &CONV[to..])
        };
        if let Ok(formula) = Formula::parse(&text, &types) {
            let _ = formula.at(&dims(&[("N", 2), ("M", 2)]));
        }
    }
}
