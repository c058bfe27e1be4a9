//! Variants: the right formula evaluates as the oracle does, and a slip is found by its output.

use std::collections::BTreeMap;

use indexmath::{
    Approx, Dims, Formula, Observation, SizedFormula, TensorType, Values, inputs, parts,
    search_variants, slope,
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

/// One loop computes both sums of a causal attention, another one the maximum.
#[test]
fn a_bound_that_is_wrong_in_all_sums_and_not_in_the_maximum_is_named() {
    let formula = "peak[i] = max[j <= i] s[i,j]; den[i] = 1 + sum[j <= i] exp(s[i,j] - peak[i]); \
        o[i,d] = (sum[j <= i] exp(s[i,j] - peak[i]) * v[j,d]) / den[i]";
    let types = [
        ("s", "f32[T, T]"),
        ("v", "f32[T, D]"),
        ("peak", "f32[T]"),
        ("den", "f32[T]"),
        ("o", "f32[T, D]"),
    ];
    let says = |range: &str| {
        let wrong = formula.replace("sum[j <= i]", range);
        puzzle(&types, &[("T", 5), ("D", 3)], formula, &wrong, false).explain("o")
    };
    let whole = says("sum[j < T]");
    assert!(whole.iter().any(|s| s.starts_with("the sum over `j` runs to `T`")), "{whole:?}");
    let strict = says("sum[j < i]");
    assert!(strict.iter().any(|s| s.contains("ends one before its last element")), "{strict:?}");
}

#[test]
fn slips_in_ranges_that_depend_on_indices_and_data_are_named() {
    let types = [("x", "f32[N]"), ("y", "f32[N]")];
    let says = |correct: &str, wrong: &str| {
        let sum = |range: &str| format!("y[i] = sum[{range}] x[j]");
        puzzle(&types, &[("N", 7)], &sum(correct), &sum(wrong), false).explain("y")
    };
    let named = |(correct, wrong): (&str, &str), words: &str| {
        let says = says(correct, wrong);
        assert!(says.iter().any(|s| s.starts_with(words)), "{words}: {says:?}");
    };
    named(("j <= i", "j < i"), "the sum over `j` ends one before its last element (`i+1` - 1)");
    named(("j >= i", "j > i"), "the sum over `j` starts one after its first element");
    named(("j >= i", "j"), "the sum over `j` starts at 0, not at `i`");
    named(("i - 2 <= j <= i", "i - 1 <= j <= i"), "the sum over `j` starts one after");
    let last = says("j <= i", "i <= j <= i");
    assert!(last.iter().any(|s| s.contains("only the last term is left")), "{last:?}");

    // Rows of a sparse matrix, whose limits are data.
    let types = [("a", "f32[E]"), ("row", "i32[N + 1]"), ("y", "f32[N]")];
    let formula = "y[i] = sum[row[i] <= e < row[i+1]] a[e]";
    let says = |wrong: &str| {
        let mut puzzle = puzzle(&types, &[("E", 9), ("N", 3)], formula, wrong, false);
        puzzle.known.insert("row".to_owned(), vec![0.0, 4.0, 6.0, 9.0]);
        puzzle.explain("y")
    };
    assert!(says(formula).is_empty());
    let short = says("y[i] = sum[row[i] <= e < row[i+1] - 1] a[e]");
    assert!(short[0].starts_with("the sum over `e` ends one before its last"), "{short:?}");
    let late = says("y[i] = sum[row[i] + 1 <= e < row[i+1]] a[e]");
    assert!(late[0].starts_with("the sum over `e` starts one after"), "{late:?}");
}

#[test]
fn what_stands_in_the_place_of_another_probability_is_named() {
    const DIFFERENCE: &str = "d[b,k] = p[b,k] - t[b,k]";
    const LOSS: &str = "l[b] = -(sum[k] t[b,k] * log(max(p[b,k], 0.001)))";
    let types = [("p", "f32[B, C]"), ("t", "f32[B, C]"), ("l", "f32[B]")];
    let explain = |wrong: &str| {
        let mut puzzle = puzzle(&types, &[("B", 4), ("C", 5)], LOSS, wrong, false);
        // Probabilities, not what lies on both sides of 0.
        for values in puzzle.known.values_mut() {
            for value in values.iter_mut() {
                *value = (value.abs() + 0.01) / 3.0;
            }
        }
        puzzle.explain("l")
    };
    let says = explain(&LOSS.replace("p[b,k]", "1 - p[b,k]"));
    assert!(says[0].contains("1 minus `p[b,k]` stands in the place of `p[b,k]`"), "{says:?}");
    let says = explain("l[b] = -(sum[k] p[b,k] * log(max(t[b,k], 0.001)))");
    assert!(says[0].contains("`t` and `p` are swapped in every read"), "{says:?}");
    let says = explain("l[b] = -(sum[k] t[b,k] * max(log(p[b,k]), 0.001))");
    let limited = "the max with `0.001` is taken of the log of `p[b,k]`, not of `p[b,k]` itself";
    assert!(says[0].contains(limited), "{says:?}");
    let says = explain(
        "l[b] = -(sum[k] (t[b,k] * log(max(p[b,k], 0.001))
            + (1 - t[b,k]) * log(max(1 - p[b,k], 0.001))))",
    );
    assert!(says[0].contains("1 minus `t[b,k]` and 1 minus `p[b,k]` is added"), "{says:?}");
    let says = explain("l[b] = sum[k] (p[b,k] - t[b,k]) * (p[b,k] - t[b,k])");
    assert!(says[0].contains("the square of `p[b,k] - t[b,k]` is summed"), "{says:?}");
    let types = [("p", "f32[B, C]"), ("t", "f32[B, C]"), ("d", "f32[B, C]")];
    let wrong = "d[b,k] = p[b,k] * (p[b,k] - t[b,k])";
    let says = puzzle(&types, &[("B", 4), ("C", 5)], DIFFERENCE, wrong, false).explain("d");
    assert!(says[0].contains("`d` is multiplied by `p[b,k]`"), "{says:?}");
}

#[test]
fn a_count_may_be_one_too_small() {
    const COUNT: &str = "n[k] = sum[b < room] select(index(b) * size[k] < all[k], 1, 0)";
    let types = [("size", "i32[K]"), ("all", "i32[K]"), ("n", "i32[K]")];
    let wrong = COUNT.replace("size[k] <", "(size[k] - 1) <");
    let mut puzzle = puzzle(&types, &[("K", 3), ("room", 9)], COUNT, &wrong, false);
    puzzle.known.insert("size".to_owned(), vec![4.0, 2.0, 5.0]);
    puzzle.known.insert("all".to_owned(), vec![12.0, 6.0, 9.0]);
    let says = puzzle.explain("n");
    assert!(says.iter().any(|s| s.contains("`size[k]` is one too small")), "{says:?}");
}

#[test]
fn what_was_there_may_be_added_or_lost() {
    const SIZE: &str = "n[k] = select(ok[k] == 1, said[k], had[k])";
    let types = [("ok", "i32[K]"), ("said", "i32[K]"), ("had", "i32[K]"), ("n", "i32[K]")];
    let explain = |wrong: &str| {
        let mut puzzle = puzzle(&types, &[("K", 4)], SIZE, wrong, false);
        for (name, values) in [("ok", [1, 0, 1, 0]), ("said", [3, 8, 5, 9]), ("had", [4, 6, 7, 2])]
        {
            puzzle.known.insert(name.to_owned(), values.map(f64::from).to_vec());
        }
        puzzle.explain("n")
    };
    let says = explain("n[k] = select(ok[k] == 1, said[k], had[k]) + had[k]");
    assert!(says.iter().any(|s| s.contains("`had` is added to `n`")), "{says:?}");
    let says = explain("n[k] = select(ok[k] == 1, said[k], 0)");
    assert!(says.iter().any(|s| s.contains("0 stands in the place of `had[k]`")), "{says:?}");
}

#[test]
fn a_factor_that_is_left_out_of_a_term_is_named_with_it() {
    let types = [("a", "f32[N]"), ("b", "f32[N]"), ("c", "f32[N]"), ("y", "f32[N]")];
    let says = puzzle(
        &types,
        &[("N", 6)],
        "y[i] = a[i] * c[i] + b[i] * c[i]",
        "y[i] = a[i] * c[i] + b[i]",
        false,
    )
    .explain("y");
    let whole = "the factor `c[i]` is left out, in the term `b[i] * c[i]`";
    assert!(says.iter().any(|s| s == whole), "{says:?}");
}

#[test]
fn slips_that_are_the_same_at_equal_sizes_are_all_found() {
    let types = [("x", "f32[R, C]"), ("y", "f32[R]")];
    let (correct, wrong) =
        ("y[r] = (sum[c] x[r,c]) / index(C)", "y[r] = (sum[c] x[r,c]) / index(D)");
    let explain = |d: i64| {
        let sizes = [("R", 3), ("C", 5), ("D", d), ("E", 4)];
        puzzle(&types, &sizes, correct, wrong, false).explain("y")
    };
    let divided = |says: &[String], name: &str| says.iter().any(|s| s.contains(name));
    let says = explain(4);
    assert!(divided(&says, "`D`") && divided(&says, "`E`"), "{says:?}");
    let says = explain(6);
    assert!(divided(&says, "`D`") && !divided(&says, "`E`"), "{says:?}");
}

const NORM: &str = "mean[r] = (sum[j] x[r,j]) / index(H)
    var[r] = (sum[j] (x[r,j] - mean[r]) * (x[r,j] - mean[r])) / index(H)
    rstd[r] = rsqrt(var[r] + eps)
    y[r,j] = (x[r,j] - mean[r]) * rstd[r] * gamma[j]";

const CLOSED: &str = "dx[r,j] = rstd[r] * (dy[r,j] * gamma[j] - (sum[k] dy[r,k] * gamma[k]) / index(H) \
    - (x[r,j] - mean[r]) * rstd[r] * (sum[k] dy[r,k] * gamma[k] * (x[r,k] - mean[r]) * rstd[r]) / index(H))";

fn norm(backward: bool, wrong: &str) -> Vec<String> {
    if backward { norm_of("grad(x)", NORM, wrong) } else { norm_of("dx", CLOSED, wrong) }
}

fn norm_forward(wrong: &str) -> Vec<String> {
    norm_of("y", NORM, wrong)
}

fn norm_of(tensor: &str, correct: &str, wrong: &str) -> Vec<String> {
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
    let derive = tensor.starts_with("grad");
    let mut puzzle = puzzle(&types, &[("R", 3), ("H", 6)], correct, wrong, derive);
    if let Some(eps) = puzzle.known.get_mut("eps") {
        eps[0] = 0.01;
    }
    puzzle.explain(tensor)
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
    // The sums have another value for each element then.
    let says = norm(false, &CLOSED.replace("gamma[k]", "gamma[j]"));
    let slip = "`gamma[j]` is read in the place of `gamma[k]`, in both places";
    assert!(says.iter().any(|s| s.contains(slip)), "{says:#?}");
}

#[test]
fn a_term_outside_of_the_root_is_named() {
    let says = norm_forward(&NORM.replace("rsqrt(var[r] + eps)", "1 / (sqrt(var[r]) + eps)"));
    assert!(
        says.iter().any(|s| s.contains("`eps` is added to the root, not under it")),
        "{says:?}"
    );
}

#[test]
fn slips_in_a_derived_gradient_are_named() {
    let says = norm(true, NORM);
    assert!(says.is_empty(), "{says:?}");
    let says = norm(true, &NORM.replace("* gamma[j]", ""));
    assert!(says[0].contains("the factor `gamma[j]` is left out"), "{says:?}");
}

#[test]
fn brackets_that_stand_elsewhere_are_named() {
    let says = softmax(
        &SOFTMAX.replace("exp(x[b,c] - peak[b]) / total", "(exp(x[b,c]) - peak[b]) / total"),
    );
    assert!(says[0].contains("`exp` is taken of `x[b,c]` alone"), "{says:?}");
    let says = norm_forward(&NORM.replace("rsqrt(var[r] + eps)", "rsqrt(var[r]) + eps"));
    assert!(
        says[0].contains("`rsqrt` is taken of `var[r]` alone, and `eps` stands outside of it"),
        "{says:?}"
    );
    let says =
        norm_forward(&NORM.replace("(x[r,j] - mean[r]) * rstd[r]", "(x[r,j] - mean[r] * rstd[r])"));
    assert!(says[0].contains("only `mean[r]` is multiplied by"), "{says:?}");
}

#[test]
fn a_value_that_is_scaled_after_its_limits_is_named() {
    let types = [("g", "f32[N]"), ("scale", "f32[]"), ("limit", "f32[]"), ("y", "f32[N]")];
    let correct = "y[i] = max(min(g[i] / scale, limit), -limit)";
    let wrong = "y[i] = max(min(g[i], limit), -limit) / scale";
    let says = puzzle(&types, &[("N", 40)], correct, wrong, false).explain("y");
    let wanted = "`max(min(g[i], limit), -limit)` is divided by `scale`, not `g[i]` alone";
    assert!(says.iter().any(|says| says.contains(wanted)), "{says:?}");
}

#[test]
fn parts_and_indices_in_each_others_place_are_named() {
    let swapped = "dx[r,j] = rstd[r] * (dy[r,j] * gamma[j] \
        - (sum[k] dy[r,k] * gamma[k] * (x[r,k] - mean[r]) * rstd[r]) / index(H) \
        - (x[r,j] - mean[r]) * rstd[r] * (sum[k] dy[r,k] * gamma[k]) / index(H))";
    let says = norm(false, swapped);
    assert!(says[0].ends_with("are swapped"), "{says:?}");
    let says = norm_forward(
        &NORM.replace("(x[r,j] - mean[r]) * rstd[r] * gamma[j]", "0 * x[r,j] * eps + mean[r]"),
    );
    assert!(!says.iter().any(|s| s.contains("swapped")), "{says:?}");
    let types = [("x", "f32[A, B, C]"), ("f", "f32[D, E]"), ("y", "f32[A, B, C]")];
    let dims = [("A", 3), ("B", 3), ("C", 4), ("D", 3), ("E", 3)];
    let formula = "y[a,b,c] = sum[d < 3] x[a,b,c] * f[a,d] + f[b,b]";
    let wrong = "y[a,b,c] = sum[d < 3] x[b,a,c] * f[b,d] + f[a,a]";
    let says = puzzle(&types, &dims, formula, wrong, false).explain("y");
    assert!(says[0].contains("`a` and `b` are swapped in every read"), "{says:?}");
}

#[test]
fn a_product_of_sizes_and_another_part_are_named() {
    let says = norm_forward(&NORM.replace(
        "mean[r]) * (x[r,j] - mean[r])) / index(H)",
        "mean[r]) * (x[r,j] - mean[r])) / index(H*R)",
    ));
    assert!(says.iter().any(|s| s.contains("H * R (18)")), "{says:?}");
    let types = [("x", "f32[R, H]"), ("s", "f32[R]"), ("q", "f32[R]")];
    let formula = "s[r] = sum[j] x[r,j]\n q[r] = exp(s[r])";
    let wrong = "s[r] = sum[j] x[r,j]\n q[r] = s[r]";
    let says = puzzle(&types, &[("R", 3), ("H", 6)], formula, wrong, false).explain("q");
    assert!(
        says.iter().any(|s| s.contains("`q` holds `s`") || s.contains("`s[r]` stands alone")),
        "{says:?}"
    );
}

#[test]
fn the_parts_of_an_element_have_their_values() {
    let types = [("x", "f32[R, H]"), ("mean", "f32[R]"), ("var", "f32[R]"), ("y", "f32[R, H]")];
    let formula = "mean[r] = (sum[j] x[r,j]) / index(H)
        var[r] = (sum[j] (x[r,j] - mean[r]) * (x[r,j] - mean[r])) / index(H)
        y[r,j] = (x[r,j] - mean[r]) * rsqrt(var[r])";
    let puzzle = puzzle(&types, &[("R", 2), ("H", 3)], formula, formula, false);
    let row = &puzzle.known["x"][3..];
    let sum: f64 = row.iter().sum();
    let squares: f64 = row.iter().map(|x| (x - sum / 3.0).powi(2)).sum();
    let found = parts(&puzzle.correct, &puzzle.known, "y", 4);
    let named: Vec<(&str, f64)> =
        found.iter().map(|part| (part.text.as_str(), part.value)).collect();
    let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
    let [(a, sum_of), (b, mean), (c, squares_of), (d, var)] = named[..] else {
        panic!("{named:?}")
    };
    assert_eq!((a, b, d), ("`sum[j] x[r,j]`", "`mean[r]`", "`var[r]`"));
    assert!(c.starts_with("`sum[j] (x[r,j] - mean[r])"), "{c}");
    assert!(near(sum_of, sum) && near(mean, sum / 3.0), "{named:?}");
    assert!(near(squares_of, squares) && near(var, squares / 3.0), "{named:?}");
}

#[test]
fn the_inputs_of_an_element_compute_it_or_choose() {
    let types = [("x", "f32[R, H]"), ("w", "f32[H]"), ("top", "f32[R]"), ("y", "f32[R, H]")];
    let formula = "top[r] = max[j] x[r,j]
        y[r,j] = select(w[j] > 0, exp(x[r,j] - top[r]) * w[j], 0)";
    let mut puzzle = puzzle(&types, &[("R", 2), ("H", 3)], formula, formula, false);
    puzzle.known.insert("x".to_owned(), vec![1.0, 2.0, 3.0, 6.0, 5.0, 4.0]);
    puzzle.known.insert("w".to_owned(), vec![2.0, 0.5, -1.0]);
    let found = inputs(&puzzle.correct, &puzzle.known, "y", 4).unwrap();
    let brief: Vec<(&str, usize, bool)> =
        found.iter().map(|i| (i.tensor.as_str(), i.flat, i.computes)).collect();
    for wanted in [("x", 3, false), ("x", 4, true), ("x", 5, false), ("w", 1, true)] {
        assert!(brief.contains(&wanted), "{wanted:?} in {brief:?}");
    }
    assert_eq!(brief.len(), 4, "the other row, and other weights, are no inputs: {brief:?}");
    let slope = |flat: usize| {
        let input = found.iter().find(|i| i.tensor == "x" && i.flat == flat).unwrap();
        slope(&puzzle.correct, &puzzle.known, ("y", 4), input).unwrap()
    };
    let itself = 0.5 * (-1f64).exp();
    for (flat, expected) in [(3, -itself), (4, itself), (5, 0.0)] {
        assert!((slope(flat) - expected).abs() < 1e-6, "x[1, {}]: {}", flat - 3, slope(flat));
    }
    let zero = inputs(&puzzle.correct, &puzzle.known, "y", 2).unwrap();
    assert!(zero.iter().all(|input| !input.computes), "only the condition is read: {zero:?}");
}

const POOL: &str = "place[h,w] = argmax[p < 2, q < 2] x?[h+p,w+q]
    row[h,w] = index(h + div(place[h,w], 2))
    idx[h,w] = select(x[h,w] >= 0, index(row[h,w] * W + w), -1)";

fn pool(wrong: &str) -> Vec<String> {
    let types =
        [("x", "f32[H, W]"), ("place", "i32[H, W]"), ("row", "i32[H, W]"), ("idx", "i32[H, W]")];
    let mut puzzle = puzzle(&types, &[("H", 5), ("W", 7)], POOL, wrong, false);
    // A few numbers only, so that some are equal.
    let x = puzzle.known.get_mut("x").unwrap();
    for value in x {
        *value = value.round();
    }
    puzzle.explain("idx")
}

#[test]
fn slips_in_the_indices_of_a_maximum_are_named() {
    let says = pool(&POOL.replace("row[h,w] * W", "row[h,w] * H"));
    assert!(says[0].contains("row[h,w]*H+w"), "{says:?}");
    let last = POOL
        .replace("argmax[p < 2, q < 2] x?[h+p,w+q]", "3 - (argmax[p < 2, q < 2] x?[h+1-p,w+1-q])");
    let says = pool(&last);
    assert!(
        says.iter().any(|s| s.contains("the last of several equal candidates wins")),
        "{says:?}"
    );
}

#[test]
fn a_value_that_is_scaled_before_its_limits_is_named() {
    let types = [("w", "f32[N]"), ("g", "f32[N]"), ("r", "f32[N]"), ("y", "f32[N]")];
    let right = "y[i] = w[i] - r[i] * min(max(g[i], -0.75), 0.75)";
    let wrong = "y[i] = w[i] - min(max(r[i] * g[i], -0.75), 0.75)";
    let says = puzzle(&types, &[("N", 30)], right, wrong, false).explain("y");
    let limited = "`g[i]` is multiplied by `r[i]` before it is limited, not after";
    assert!(says[0].contains(limited), "{says:?}");
}

#[test]
fn a_maximum_that_starts_from_0_is_named() {
    let types = [("x", "f32[B, 2 * N]"), ("y", "f32[B, N]")];
    let right = "y[b,i] = max[p < 2] x[b,2*i+p]";
    let wrong = "y[b,i] = max(max[p < 2] x[b,2*i+p], 0)";
    let says = puzzle(&types, &[("B", 3), ("N", 9)], right, wrong, false).explain("y");
    assert!(says[0].contains("starts from 0"), "{says:?}");
    let types = [("x", "f32[B, 2 * N]"), ("y", "i32[B, N]")];
    let right = "y[b,i] = argmax[p < 2] x[b,2*i+p]";
    let wrong = "y[b,i] = select(max[p < 2] x[b,2*i+p] <= 0, 0, argmax[p < 2] x[b,2*i+p])";
    let says = puzzle(&types, &[("B", 3), ("N", 9)], right, wrong, false).explain("y");
    assert!(says[0].contains("starts from the value 0 at the first place"), "{says:?}");
}

#[test]
fn what_lies_outside_and_counts_as_0_is_named() {
    let types = [("x", "f32[N]"), ("y", "f32[N]")];
    let right = "y[i] = max[p < 3] x?[i+p-1]";
    let wrong = "y[i] = max[p < 3] sum[k < 1] x?[i+p-1+k]";
    let mut puzzle = puzzle(&types, &[("N", 9)], right, wrong, false);
    puzzle.known.get_mut("x").unwrap().iter_mut().for_each(|x| *x = -x.abs().round() - 1.0);
    let says = puzzle.explain("y");
    assert!(says.iter().any(|s| s.contains("counts as 0 where it lies outside")), "{says:?}");
}

#[test]
fn a_result_times_a_tensor_that_it_does_not_read_is_named() {
    let types = [("x", "f32[R, H]"), ("g", "f32[H]"), ("z", "f32[H]"), ("y", "f32[H]")];
    let right = "y[h] = sum[r] x[r,h]; z[h] = y[h] * g[h]";
    let wrong = "y[h] = (sum[r] x[r,h]) * g[h]; z[h] = y[h] * g[h]";
    let says = puzzle(&types, &[("R", 4), ("H", 6)], right, wrong, false).explain("y");
    assert!(says.iter().any(|s| s.contains("`y` is multiplied by `g[h]`")), "{says:?}");
}

#[test]
fn a_nan_that_takes_the_other_case_is_named() {
    let types = [("z", "f32[N]"), ("g", "f32[N]"), ("y", "f32[N]")];
    let formula = "y[i] = select(z[i] <= 0, 0, g[i])";
    let wrong = "y[i] = select(z[i] > 0, g[i], 0)";
    let mut puzzle = puzzle(&types, &[("N", 9)], formula, wrong, false);
    puzzle.known.get_mut("z").unwrap()[4] = f64::NAN;
    let says = puzzle.explain("y");
    assert!(says[0].contains("a NaN in the comparison of `z[i]` with `0`"), "{says:?}");
}

#[test]
fn a_slip_in_a_condition_of_several_parts_is_named() {
    let formula = "y[i] = select(a[i] > 0 and b[i] > 0, a[i], b[i])";
    let says = |right: &str, wrong: &str| {
        let types = [("a", "f32[N]"), ("b", "f32[N]"), ("y", "f32[N]")];
        let wrong = formula.replace(right, wrong);
        puzzle(&types, &[("N", 40)], formula, &wrong, false).explain("y").remove(0)
    };
    assert_eq!(says("and", "or"), "`or` stands in the place of `and` in `a[i] > 0 and b[i] > 0`");
    assert_eq!(says("a[i] > 0 and ", ""), "the condition `a[i] > 0` is not asked for");
    assert_eq!(says("b[i] > 0", "b[i] < 0"), "`b[i]` and `0` are compared with <, not with >");
    let types = [("a", "f32[N]"), ("b", "f32[N]"), ("y", "f32[N]")];
    let formula = "y[i] = select(a[i] > 1 and b[i] > 1, 3, select(a[i] > 0 and b[i] > 0, 2, 1))";
    let wrong = formula.replace("and", "or");
    let says = puzzle(&types, &[("N", 40)], formula, &wrong, false).explain("y").remove(0);
    assert_eq!(says, "`or` stands in the place of `and` in all conditions");
}

#[test]
fn a_read_that_runs_backwards_along_two_axes_is_named_as_one() {
    let formula = "y[h,w] = sum[p < K, q < K] x[h+p,w+q] * f[p,q]";
    let types = [("x", "f32[H, W]"), ("f", "f32[K, K]"), ("y", "f32[H - K + 1, W - K + 1]")];
    let wrong = formula.replace("f[p,q]", "f[K-1-p,K-1-q]");
    let says = puzzle(&types, &[("H", 7), ("W", 8), ("K", 3)], formula, &wrong, false).explain("y");
    assert_eq!(says[0], "`f[K-1-p,K-1-q]` is read in the place of `f[p,q]` inside `sum[p,q]`");
}

#[test]
fn a_tensor_that_is_known_and_not_used_may_have_been_read() {
    let types =
        [("x", "f32[N]"), ("z", "f32[N]"), ("r", "f32[N]"), ("y", "f32[N]"), ("t", "f32[N]")];
    let formula = "r[i] = max(x[i], 0); t[i] = x[i] * z[i]; y[i] = 2 * r[i]";
    let wrong = formula.replace("2 * r[i]", "2 * z[i]");
    let says = puzzle(&types, &[("N", 9)], formula, &wrong, false).explain("y");
    assert_eq!(says[0], "`z[i]` is read in the place of `r[i]`");
}

#[test]
fn of_a_long_read_the_index_that_differs_is_named() {
    let types = [("image", "f32[N, H, W]"), ("y", "f32[N, H_out, W_out]")];
    let dims = [
        ("N", 2),
        ("H", 9),
        ("W", 9),
        ("H_out", 3),
        ("W_out", 3),
        ("stride_h", 2),
        ("stride_w", 2),
    ];
    let dims = [&dims[..], &[("dil_h", 1), ("dil_w", 1), ("pad_h", 2), ("pad_w", 1)]].concat();
    let formula = "y[n,oh,ow] = sum[p < 2, q < 2] image?[n,stride_h*oh+dil_h*p-pad_h,stride_w*ow+dil_w*q-pad_w]";
    let says =
        puzzle(&types, &dims, formula, &formula.replace("-pad_w", "-pad_h"), false).explain("y");
    let named = "`image` is read with `stride_w*ow+dil_w*q-pad_h` in the place of `stride_w*ow+dil_w*q-pad_w`";
    assert!(says.iter().any(|s| s.contains(named)), "{says:?}");
}

#[test]
fn a_limit_in_the_place_of_a_size_is_named() {
    let types = [("x", "f32[N, K]"), ("y", "f32[N]")];
    let dims = [("N", 3), ("K", 100)];
    let says =
        |wrong: &str| puzzle(&types, &dims, "y[n] = sum[k] x[n,k]", wrong, false).explain("y");
    for limit in [32, 64] {
        let found = says(&format!("y[n] = sum[k < {limit}] x[n,k]"));
        let [one] = &found[..] else { panic!("{found:?}") };
        assert!(one.contains(&format!("covers the first {limit} elements only")), "{one}");
    }
}

#[test]
fn a_read_at_the_nearest_edge_is_named() {
    let types = [("x", "f32[N]"), ("y", "f32[N]")];
    let wrong = "y[i] = sum[k < 3] x[max(0,min(N-1,i+k-1))]";
    let says =
        puzzle(&types, &[("N", 6)], "y[i] = sum[k < 3] x?[i+k-1]", wrong, false).explain("y");
    assert!(says.iter().any(|s| s.contains("is read at the nearest edge where")), "{says:?}");
}

#[test]
fn only_what_changes_is_named() {
    let types = [("a", "f32[N, K]"), ("b", "f32[M, K]"), ("y", "f32[N, M]")];
    let dims = [("N", 4), ("M", 3), ("K", 5)];
    let formula = "y[n,m] = sum[k] a[n,k] * b[m,k]";
    let says = |wrong: &str| puzzle(&types, &dims, formula, wrong, false).explain("y");
    let first = says("y[n,m] = sum[k] a[0,k] * b[m,k]");
    assert!(first[0].starts_with("`a[0,k]` is read in the place of `a[n,k]`"), "{first:?}");
    // A row length of 3: n * 3 + k.
    let one = says("y[n,m] = sum[k] a[div(n*3+k,5),mod(n*3+k,5)] * b[m,k]");
    assert!(
        one[0].starts_with(
            "the address of `a[n,k]` is computed with `M` in the place of the size `K`"
        ),
        "{one:?}"
    );
    let wrong = "y[n,m] = sum[k < K] a[div(n*3+k,5),mod(n*3+k,5)] * b[div(m*3+k,5),mod(m*3+k,5)]";
    let both = says(wrong);
    assert!(both[0].starts_with("the addresses of `a` and `b` are computed with `M`"), "{both:?}");
    let size = says(&formula.replace("a[n,k] *", "abs(a[n,k]) *"));
    assert!(size[0].starts_with("the absolute value of `a[n,k]` stands"), "{size:?}");
    let number =
        puzzle(&types, &dims, "y[n,m] = max(a[n,m], -1)", "y[n,m] = max(a[n,m], 0)", false);
    let says = number.explain("y");
    assert!(says.iter().any(|s| s.contains("the constant -1 is 0")), "{says:?}");
}

#[test]
fn an_axis_that_is_stored_elsewhere_is_named() {
    let types = [("x", "f32[P, Q]"), ("w", "f32[P, Q, C]"), ("y", "f32[C]")];
    let dims = [("P", 2), ("Q", 3), ("C", 4)];
    let says = |flat: &str| {
        let wrong = format!(
            "y[c] = sum[p < P,q < Q] x[p,q] * w[div({flat},12),mod(div({flat},4),3),mod({flat},4)]"
        );
        puzzle(&types, &dims, "y[c] = sum[p,q] x[p,q] * w[p,q,c]", &wrong, false).explain("y")
    };
    let channels_first = says("((c*2+p)*3+q)");
    let expected =
        "`w[c,p,q]` is read in the place of `w[p,q,c]`, with the row lengths of that order";
    assert!(channels_first[0].starts_with(expected), "{channels_first:?}");
    let rows_last = says("((q*4+c)*2+p)");
    assert!(rows_last[0].starts_with("`w[q,c,p]` is read in the place of"), "{rows_last:?}");
}

const LAYERS: &str = "mean[r] = (sum[j] x[r,j]) / index(H)
    rstd[r] = rsqrt((sum[j] (x[r,j] - mean[r]) * (x[r,j] - mean[r])) / index(H) + 0.01)
    y[r,o] = (max[j] x[r,j]) + sum[j] (x[r,j] - mean[r]) * rstd[r] * gamma[j] * w[o,j]
    z[h] = sum[o,r] max(image[h+o], 0) * y[r,o] * select(image[h+o] < 0.1, 2, 3)
    loss = sum[h] log(1 + exp(z[h])) * tanh(z[h])";

#[test]
fn without_a_slip_they_agree_with_the_oracle() {
    let types = [
        ("x", "f32[R, H]"),
        ("w", "f32[O, H]"),
        ("gamma", "f32[H]"),
        ("mean", "f32[R]"),
        ("rstd", "f32[R]"),
        ("y", "f32[R, O]"),
        ("image", "f32[H + O - 1]"),
        ("z", "f32[H]"),
        ("loss", "f32[]"),
    ];
    let sizes = [("R", 2), ("H", 5), ("O", 3)];
    let Puzzle { correct, known, .. } = puzzle(&types, &sizes, LAYERS, LAYERS, true);
    for name in ["loss", "y", "grad(x)", "grad(w)", "grad(gamma)", "grad(image)"] {
        let expected = correct.evaluate(&known, &[name]).unwrap().remove(name).unwrap();
        let seen = Observation {
            formula: &correct,
            known: &known,
            tensor: name,
            got: &[],
            expected: &expected,
            constants: &[],
        };
        let got = seen.correct_as_variants_are().unwrap();
        assert_eq!(got.len(), expected.len(), "{name}");
        for (flat, ((value, error), right)) in got.into_iter().zip(&expected).enumerate() {
            let off = (value - right.value).abs();
            assert!(off <= 1e-9 * (1.0 + off), "{name}[{flat}]: {value} and {}", right.value);
            // The oracle's analysis is finer, but not by orders of magnitude.
            assert!(error <= 10.0 * right.bound + 1e-6, "{name}[{flat}]: {error:e}, {right:?}");
        }
    }
}

#[test]
fn a_number_of_an_element_that_is_split_with_other_sizes_is_named() {
    let types = [("x", "f32[C, H, W]"), ("y", "f32[C, H, W]")];
    let dims = [("C", 3), ("H", 4), ("W", 6)];
    let right = "y[c,h,w] = x[c,h,w]";
    let of = |wrong: &str| puzzle(&types, &dims, right, wrong, false).explain("y");
    let number = "(c*H*W+h*W+w)";
    let says = of(&format!("y[c,h,w] = x?[c,{number}/H%W,w]"));
    assert!(says.is_empty(), "there are reads outside: {says:?}");
    let says = of(&format!("y[c,h,w] = x[c,{number}/H%H,w]"));
    assert!(says[0].contains("`h` is `i / H % H`, not `i / W % H`, where `i` counts"), "{says:?}");
    let says = of(&format!("y[c,h,w] = x[c,h,{number}%H]"));
    assert!(says.iter().any(|s| s.contains("`w` is `i % H`, not `i % W`")), "{says:?}");
}

#[test]
fn a_factor_too_many_in_a_term_is_named_with_it() {
    let wrong = CLOSED
        .replace("- (x[r,j] - mean[r]) * rstd[r]", "- (x[r,j] - mean[r]) * rstd[r] * gamma[j]");
    let says = norm(false, &wrong);
    assert!(
        says.iter().any(|s| s.contains("is multiplied by `gamma[j]`, too, in the term")),
        "{says:#?}"
    );
}

#[test]
fn a_padding_that_is_counted_in_strides_is_named() {
    let types = [("x", "f32[N]"), ("y", "f32[M]")];
    let dims = [("N", 12), ("M", 5), ("S", 2), ("P", 3), ("K", 4)];
    let right = "y[i] = sum[k < K] x?[S*i+k-P]";
    let says = puzzle(&types, &dims, right, &right.replace("-P", "-P*S"), false).explain("y");
    assert!(says.iter().any(|s| s.contains("k-P*S")), "{says:?}");
}

#[test]
fn a_stride_that_is_forgotten_along_both_axes_is_named_as_one() {
    let formula = "y[h,w] = max[p < 2, q < 2] x[2*h+p,2*w+q]";
    let types = [("x", "f32[2 * H, 2 * W]"), ("y", "f32[H, W]")];
    let wrong = formula.replace("2*h+p,2*w+q", "h+p,w+q");
    let says = puzzle(&types, &[("H", 4), ("W", 5)], formula, &wrong, false).explain("y");
    let words = "`x[h+p,w+q]` is read in the place of `x[2*h+p,2*w+q]` inside `max[p,q]`";
    assert!(says.iter().any(|s| s == words), "{says:?}");
}

#[test]
fn a_window_that_is_wrong_where_it_is_read_and_where_its_gradient_goes_is_named() {
    let formula = "best[o] = argmax[p < 3] x?[S*o+p-P]; top[o] = max[p < 3] x?[S*o+p-P]; \
        back[i] = sum[o, p < 3] select(index(i) == index(S*o+p-P) and best[o] == index(p), up[o], 0)";
    let types = [
        ("x", "f32[N]"),
        ("up", "f32[M]"),
        ("best", "i32[M]"),
        ("top", "f32[M]"),
        ("back", "f32[N]"),
    ];
    let wrong = formula.replace("S*o+p-P", "S*o+p");
    let dims = [("N", 13), ("M", 6), ("S", 2), ("P", 1)];
    let says = puzzle(&types, &dims, formula, &wrong, false).explain("back");
    let words = "`S*o+p` stands in the place of `S*o+p-P`, in both places";
    assert!(says.iter().any(|s| s == words), "{says:?}");
}

#[test]
fn a_remainder_that_is_not_asked_for_is_named() {
    let formula = "back[i] = sum[o, p < 3] select(index(i) == index(S*o+p-1), up[o], 0)";
    let wrong = formula.replace("index(i) == index(S*o+p-1)", "index(div(i-p+1,S)) == index(o)");
    let types = [("up", "f32[M]"), ("back", "f32[N]")];
    let dims = [("N", 13), ("M", 7), ("S", 2)];
    let says = puzzle(&types, &dims, formula, &wrong, false).explain("back");
    let words = "the remainder of the division by `S` is not asked for in `i == S*o+p-1`";
    assert!(says[0].starts_with(words), "{says:?}");
}

#[test]
fn a_comparison_that_is_an_inequality_is_named() {
    let formula = "y[k] = sum[i] select(index(mod(i, 5)) == index(k), w[i], 0)";
    let wrong = formula.replace("==", "<=");
    let types = [("w", "f32[N]"), ("y", "f32[K]")];
    let says = puzzle(&types, &[("N", 20), ("K", 5)], formula, &wrong, false).explain("y");
    assert!(says.iter().any(|s| s.contains("are compared with <=, not with ==")), "{says:?}");
}

#[test]
fn terms_that_are_counted_are_named() {
    let formula = "y[k] = sum[i < N] select(index(mod(i, 7)) >= index(k), w[i], 0)";
    let wrong = formula.replace("w[i]", "1");
    let types = [("w", "f32[N]"), ("y", "f32[K]")];
    let says = puzzle(&types, &[("N", 20), ("K", 5)], formula, &wrong, false).explain("y");
    assert!(says[0].ends_with("are counted, not added"), "{says:?}");
}

#[test]
fn a_mean_of_what_lies_inside_is_named() {
    let formula = "y[h,w] = (sum[p < 3, q < 3] x?[h+p-1,w+q-1]) / 9";
    let inside = "(sum[p < 3, q < 3] select(index(h+p) > 0 and index(h+p) <= index(H) and \
        index(w+q) > 0 and index(w+q) <= index(W), 1, 0))";
    let wrong = formula.replace("/ 9", &format!("/ {inside}"));
    let types = [("x", "f32[H, W]"), ("y", "f32[H, W]")];
    let says = puzzle(&types, &[("H", 4), ("W", 5)], formula, &wrong, false).explain("y");
    let words = "the sum is divided by how many of its elements lie inside `x`, not by `9`";
    assert_eq!(says[0], words);
}

#[test]
fn what_lies_outside_along_one_axis_and_counts_as_0_is_named() {
    let types = [("x", "f32[H, W]"), ("y", "f32[H, W]")];
    let right = "y[h,w] = max[p < 3, q < 3] x?[h+p-1,w+q-1]";
    let wrong = "y[h,w] = select(index(w) == 0 or index(w) == index(W - 1), \
        max(max[p < 3, q < 3] x?[h+p-1,w+q-1], 0), max[p < 3, q < 3] x?[h+p-1,w+q-1])";
    let mut puzzle = puzzle(&types, &[("H", 5), ("W", 6)], right, wrong, false);
    puzzle.known.get_mut("x").unwrap().iter_mut().for_each(|x| *x = -x.abs() - 1.0);
    let says = puzzle.explain("y");
    let words = "counts as 0 where `w+q-1` is outside of its axis, and is not left out";
    assert!(says.iter().any(|s| s.contains(words)), "{says:?}");
}

#[test]
fn a_function_of_the_result_is_named() {
    let types = [("x", "f32[B, C]"), ("total", "f32[B]"), ("y", "f32[B, C]")];
    let formula = "total[b] = sum[c] exp(x[b,c]); y[b,c] = exp(x[b,c]) / total[b]";
    let says = |wrong: &str| {
        let wrong = formula.replace("exp(x[b,c]) / total[b]", wrong);
        puzzle(&types, &[("B", 4), ("C", 5)], formula, &wrong, false).explain("y")
    };
    let log = says("x[b,c] - log(total[b])");
    assert_eq!(log[0], "the logarithm of `y` stands in its place");
    let types = [("x", "f32[N, K]"), ("y", "f32[N]")];
    let (right, wrong) = ("y[i] = sum[k] x[i,k]", "y[i] = max(sum[k] x[i,k], 0)");
    let relu = puzzle(&types, &[("N", 9), ("K", 3)], right, wrong, false).explain("y");
    assert_eq!(relu[0], "negative values of `y` become 0");
    let (right, wrong) = ("y[i] = 0 * x[0,0]; z[i] = 0", "y[i] = 0 * x[0,0]; z[i] = 1");
    let types = [("x", "f32[N, K]"), ("y", "f32[N]"), ("z", "f32[N]")];
    let constant = puzzle(&types, &[("N", 9), ("K", 3)], right, wrong, false).explain("z");
    assert_eq!(constant[0], "the constant 0 is 1");
}

#[test]
fn one_more_than_a_scale_and_the_size_of_a_difference_are_named() {
    let types = [("x", "f32[N]"), ("g", "f32[N]"), ("v", "f32[]"), ("y", "f32[N]")];
    let formula = "v = sum[j] x[j] * x[j]; y[i] = x[i] / v * g[i]";
    let says = |right: &str, wrong: &str| {
        let wrong = formula.replace(right, wrong);
        puzzle(&types, &[("N", 9)], formula, &wrong, false).explain("y")
    };
    let scaled = says("* g[i]", "* (1 + g[i])");
    let words = "1 plus `g[i]` stands in the place of `g[i]`";
    assert!(scaled.iter().any(|s| s.starts_with(words)), "{scaled:?}");
    let absolute = says("x[j] * x[j]", "abs(x[j])");
    let words = "the absolute value of `x[j]` is taken, not its square inside `sum[j]` in `v`";
    assert!(absolute.iter().any(|s| s == words), "{absolute:?}");
}

#[test]
fn a_small_number_that_is_added_in_the_place_of_a_floor_is_named() {
    let types = [("p", "f32[N]"), ("y", "f32[N]")];
    let (right, wrong) = ("y[i] = log(max(p[i], 1e-10))", "y[i] = log(p[i] + 1e-3)");
    let mut puzzle = puzzle(&types, &[("N", 9)], right, wrong, false);
    puzzle.known.get_mut("p").unwrap().iter_mut().for_each(|p| *p = p.abs() / 4.0 + 0.01);
    let says = puzzle.explain("y");
    assert_eq!(says[0], "0.001 is added to `p[i]`, where its max with `1e-10` is meant");
}

#[test]
fn a_constant_that_is_compared_is_named_with_its_comparison() {
    let types = [("z", "f32[N]"), ("g", "f32[N]"), ("y", "f32[N]")];
    let formula = "y[i] = select(z[i] <= 0, 0, g[i])";
    let wrong = formula.replace("<= 0", "<= 1");
    let says = puzzle(&types, &[("N", 40)], formula, &wrong, false).explain("y");
    assert_eq!(says[0], "the constant 0 is 1, in `z[i] <= 0`");
}
