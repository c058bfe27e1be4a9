//! Functions, reductions with a winner, conditions, gathers and casts: values, gradients, bounds.

use crate::common::{Random, dims, tensors};
use approx::assert_relative_eq;
use indexmath::{Approx, Formula, SizedFormula, Values};
use proptest::prelude::*;

const TYPES: [(&str, &str); 16] = [
    ("x", "f32[N]"),
    ("z", "f32[N]"),
    ("y", "f32[N]"),
    ("u", "f32[N]"),
    ("m", "f32[B, C]"),
    ("label", "i32[B]"),
    ("place", "i32[B]"),
    ("top", "f32[B]"),
    ("total", "f32[B]"),
    ("p", "f32[B, C]"),
    ("loss", "f32[B]"),
    ("mean", "f32[]"),
    ("var", "f32[]"),
    ("lr", "f32[]"),
    ("h", "f16[N]"),
    ("g", "bf16[N]"),
];

fn at(text: &str, n: i64) -> (Formula, SizedFormula) {
    let used: Vec<(&str, &str)> =
        TYPES.into_iter().filter(|(name, _)| text.contains(name)).collect();
    let mut types = tensors(&used);
    let primed: Vec<_> = types.iter().map(|(name, ty)| (format!("{name}'"), ty.clone())).collect();
    types.extend(primed);
    types.retain(|name, _| {
        let word = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_alphanumeric);
        text.match_indices(name.as_str())
            .any(|(i, _)| (i == 0 || !word(i - 1)) && !word(i + name.len()))
    });
    let formula = Formula::parse(text, &types).unwrap_or_else(|e| panic!("{text}: {e}"));
    let formula = formula.differentiate().unwrap_or(formula);
    let concrete = formula.at(&dims(&[("N", n), ("B", 2), ("C", 3)])).unwrap();
    (formula, concrete)
}

fn known(values: &[(&str, &[f64])]) -> Values {
    values.iter().map(|(name, values)| ((*name).to_owned(), values.to_vec())).collect()
}

fn evaluate(text: &str, wanted: &str, values: &[(&str, &[f64])]) -> Vec<Approx> {
    let n = values.iter().find(|(name, _)| *name == "x").map_or(1, |(_, x)| x.len());
    let (_, concrete) = at(text, n as i64);
    concrete.evaluate(&known(values), &[wanted]).unwrap_or_else(|e| panic!("{text}: {e}"))[wanted]
        .clone()
}

fn plain(text: &str, wanted: &str, values: &[(&str, &[f64])]) -> Vec<f64> {
    evaluate(text, wanted, values).iter().map(|a| a.value).collect()
}

#[test]
fn functions_have_their_values() {
    for (text, x, expected) in [
        ("y[i] = exp(x[i])", 1.0, std::f64::consts::E),
        ("y[i] = log(x[i])", 10.0, std::f64::consts::LN_10),
        ("y[i] = sqrt(x[i])", 2.25, 1.5),
        ("y[i] = rsqrt(x[i])", 4.0, 0.5),
        ("y[i] = tanh(x[i])", 0.5, 0.462_117_157_260_009_75),
        ("y[i] = sin(x[i])", 0.5, 0.479_425_538_604_203),
        ("y[i] = cos(x[i])", 0.5, 0.877_582_561_890_372_8),
        ("y[i] = erf(x[i])", 0.5, 0.520_499_877_813_046_5),
        ("y[i] = sigmoid(x[i])", 0.5, 0.622_459_331_201_854_6),
        ("y[i] = floor(x[i])", -2.5, -3.0),
        ("y[i] = abs(x[i])", -3.0, 3.0),
        ("y[i] = max(x[i], 2)", 1.0, 2.0),
        ("y[i] = min(x[i], 2)", 1.0, 1.0),
        ("y[i] = pow(x[i], 10)", 2.0, 1024.0),
        ("y[i] = pow(x[i], 3)", -2.0, -8.0),
        ("y[i] = select(x[i] >= 2 and x[i] < 4, 1, 0)", 2.0, 1.0),
        ("y[i] = select(x[i] >= 2 and x[i] < 4, 1, 0)", 4.0, 0.0),
        ("y[i] = select(x[i] == 1 or x[i] != x[i], 1, 0)", f64::NAN, 1.0),
        ("y[i] = f16(x[i])", 2049.0, 2048.0),
        ("y[i] = bf16(x[i])", 257.0, 256.0),
        ("y[i] = f32(x[i])", 0.5, 0.5),
        ("y[i] = x[i] + index(i)", 5.0, 5.0),
    ] {
        assert_relative_eq!(plain(text, "y", &[("x", &[x])])[0], expected, max_relative = 1e-15);
    }
}

#[test]
fn kinks_have_the_derivative_of_the_frameworks() {
    for (text, x, expected) in [
        ("y[i] = abs(x[i])", 0.0, 0.0),
        ("y[i] = abs(x[i])", -2.0, -1.0),
        ("y[i] = max(x[i], 0)", 3.0, 1.0),
        ("y[i] = max(x[i], 0)", -3.0, 0.0),
        // Equal: the first argument gets all.
        ("y[i] = max(x[i], 0)", 0.0, 1.0),
        ("y[i] = max(0, x[i])", 0.0, 0.0),
        ("y[i] = min(0, x[i])", 0.0, 0.0),
        ("y[i] = select(x[i] <= 0, 0, x[i])", 0.0, 0.0),
        ("y[i] = f16(3 * x[i])", 1.0, 3.0),
        ("y[i] = x[i] * floor(x[i])", 2.5, 2.0),
    ] {
        let gradient = plain(text, "grad(x)", &[("x", &[x]), ("grad(y)", &[1.0])]);
        assert_eq!(gradient, [expected], "{text} at {x}");
    }
}

#[test]
fn of_equal_candidates_the_first_wins_and_nan_wins_over_all() {
    let m: &[f64] = &[4.0, 7.0, 7.0, 2.0, f64::NAN, 9.0];
    let places = plain("place[b] = argmax[c] m[b,c]", "place", &[("m", m)]);
    assert_eq!(places, [1.0, 1.0]);
    let tops = plain("top[b] = max[c] m[b,c]", "top", &[("m", m)]);
    assert!(tops[0] == 7.0 && tops[1].is_nan());
    let m: &[f64] = &[4.0, 2.0, 2.0, 1.0, 1.0, 9.0];
    assert_eq!(plain("place[b] = argmin[c] m[b,c]", "place", &[("m", m)]), [1.0, 0.0]);
    assert_eq!(plain("top[b] = min[c] m[b,c]", "top", &[("m", m)]), [2.0, 1.0]);
    // The gradient goes where argmax points, once.
    let m: &[f64] = &[4.0, 7.0, 7.0, 5.0, 5.0, 5.0];
    let routed =
        plain("top[b] = max[c] m[b,c]", "grad(m)", &[("m", m), ("grad(top)", &[10.0, 20.0])]);
    assert_eq!(routed, [0.0, 10.0, 0.0, 20.0, 0.0, 0.0]);
}

#[test]
fn a_padded_read_never_wins() {
    let window = "y[i] = max[k < 3] x?[i+k-1]";
    assert_eq!(plain(window, "y", &[("x", &[-5.0, -7.0, -6.0])]), [-5.0, -5.0, -6.0]);
    let window = "y[i] = min[k < 3] x?[i+k-1]";
    assert_eq!(plain(window, "y", &[("x", &[5.0, 7.0, 6.0])]), [5.0, 5.0, 6.0]);
    let places = "y[i] = argmax[k < 3] x?[i+k-1]";
    assert_eq!(plain(places, "y", &[("x", &[-5.0, -7.0, -6.0])]), [1.0, 0.0, 1.0]);
    // Not even against infinities, which are as small as itself: place 1 is the first in the tensor.
    let low = f64::NEG_INFINITY;
    assert_eq!(plain(places, "y", &[("x", &[low, low, low])]), [1.0, 0.0, 0.0]);
    let lowest = "y[i] = argmin[k < 3] x?[i+k-1]";
    assert_eq!(plain(lowest, "y", &[("x", &[-low, -low, 3.0])]), [1.0, 2.0, 1.0]);
    // Where there is nothing but padding, its first place.
    assert_eq!(plain("y[i] = argmax[k < 2] x?[i+k+3]", "y", &[("x", &[1.0, 2.0, 3.0])]), [0.0; 3]);
    // The gradient follows.
    let given: [(&str, &[f64]); 2] = [("x", &[low, low, low]), ("grad(y)", &[1.0, 2.0, 4.0])];
    assert_eq!(plain("y[i] = max[k < 3] x?[i+k-1]", "grad(x)", &given), [3.0, 4.0, 0.0]);
    // A zero that a formula names is a candidate.
    let cut = "y[i] = argmax[k < 3] select(index(k) < 1, 0, x?[i+k-1])";
    assert_eq!(plain(cut, "y", &[("x", &[0.0, 0.0, -1.0])]), [0.0; 3]);
}

#[test]
fn a_tensor_in_an_index_is_read() {
    let types = tensors(&[("m", "f32[B, C]"), ("place", "i32[B]"), ("top", "f32[B]")]);
    let text = "place[b] = argmax[c] m[b,c]\ntop[b] = index(2*place[b])";
    assert_eq!(Formula::parse(text, &types).unwrap().outputs(), ["top"]);
    let text = "top[b] = index(place[b])";
    assert_eq!(Formula::parse(text, &types).unwrap().inputs(), ["place"]);
}

fn of_integers(text: &str, x: &[f64], b: &[f64]) -> Result<Vec<Approx>, String> {
    let types = tensors(&[
        ("x", "i64[N]"),
        ("b", "u8[N]"),
        ("y", "i64[N]"),
        ("low", "u8[N]"),
        ("f", "f32[N]"),
    ]);
    let formula = Formula::parse(text, &types).map_err(|e| e.to_string())?;
    let sized = formula.at(&dims(&[("N", x.len() as i64)])).map_err(|e| e.to_string())?;
    let wanted = formula.outputs()[0].clone();
    let values = sized.evaluate(&known(&[("x", x), ("b", b)]), &[&wanted]);
    Ok(values.map_err(|e| e.to_string())?[&wanted].clone())
}

/// The operators bind as in C, and negative integers are in two's complement.
#[test]
fn bitwise_operations_are_those_of_c() {
    let x = [5.0, -6.0, 4_294_967_297.0, -9_007_199_254_740_991.0];
    let b = [3.0, 255.0, 128.0, 0.0];
    let by_c = |f: fn(i64, i64) -> i64| -> Vec<f64> {
        x.iter().zip(&b).map(|(x, b)| f(*x as i64, *b as i64) as f64).collect()
    };
    for (text, expected) in [
        ("y[i] = index(x[i] & b[i])", by_c(|x, b| x & b)),
        ("y[i] = index(x[i] ^ b[i] << 2 | 1)", by_c(|x, b| x ^ b << 2 | 1)),
        ("y[i] = index(x[i] >> 3 + 1 & 0xffff)", by_c(|x, _| x >> 4 & 0xffff)),
        ("y[i] = index(~x[i] >> 2)", by_c(|x, _| !x >> 2)),
        ("y[i] = index(~(x[i] | b[i]) & -16)", by_c(|x, b| !(x | b) & -16)),
        ("low[i] = index((x[i] >> b[i] % 8) & 255)", by_c(|x, b| x >> (b % 8) & 255)),
        ("y[i] = x[i] - b[i]", by_c(|x, b| x - b).into_iter().take(3).collect()),
    ] {
        let n = expected.len();
        let got = of_integers(text, &x[..n], &b[..n]).unwrap();
        assert_eq!(got.iter().map(|a| a.value).collect::<Vec<_>>(), expected, "{text}");
        assert!(got.iter().all(|a| a.bound == 0.0), "{text}");
    }
}

#[test]
fn integers_that_would_not_be_exact_are_refused() {
    let most = 9_007_199_254_740_991.0;
    let bound = |text: &str, x: f64, b: f64| of_integers(text, &[x], &[b]).map(|y| y[0].bound);
    assert_eq!(bound("y[i] = x[i] + b[i]", most - 1.0, 1.0), Ok(0.0));
    assert_eq!(bound("y[i] = x[i] + b[i]", most, 1.0), Ok(f64::INFINITY));
    assert_eq!(bound("y[i] = 2 * x[i] - x[i]", most, 0.0), Ok(f64::INFINITY));
    assert_eq!(bound("low[i] = b[i] + b[i]", 0.0, 128.0), Ok(f64::INFINITY));
    // A byte may be the difference of numbers that pass 255 together.
    assert_eq!(bound("low[i] = b[i] - 100", 0.0, 200.0), Ok(0.0));
    assert_ne!(bound("low[i] = b[i] - 100", 0.0, 99.0), Ok(0.0));
    // A float rounds what it cannot hold.
    assert_eq!(bound("f[i] = x[i]", 16_777_216.0, 0.0), Ok(0.0));
    let rounded = bound("f[i] = x[i]", 16_777_217.0, 0.0).unwrap();
    assert!((1.0..1.01).contains(&rounded), "{rounded}");
    for (text, x, words) in [
        ("y[i] = index(x[i] << 8)", most, "which is not below 2^53"),
        ("y[i] = index(x[i] * x[i])", 1.0, "does not fit into 64 bits"),
        ("y[i] = index(1 << x[i])", 1.0, "by less than 0 or more than 62 places"),
        ("y[i] = index(x[i])", 0.5, "not an integer of its type"),
    ] {
        let error = bound(text, x, 0.0).unwrap_err();
        assert!(error.contains(words), "{text}: {error}");
    }
}

#[test]
fn the_probability_of_a_single_class_is_one_to_a_few_bits() {
    let text = "top[i] = max[c] x[c]\ntotal[i] = sum[c] exp(x[c] - top[i])\ny[i] = exp(x[i] - top[i]) / total[i]";
    let single = evaluate(text, "y", &[("x", &[5.0])])[0];
    let unit = 2_f64.powi(-24);
    assert!(single.value == 1.0 && (8.0..12.0).contains(&(single.bound / unit)), "{single:?}");
}

/// Computed with `NumPy` 2 in f64.
#[test]
fn softmax_and_cross_entropy_equal_numpy() {
    let text = "top[b] = max[c] m[b,c]\n\
                total[b] = sum[c] exp(m[b,c] - top[b])\n\
                p[b,c] = exp(m[b,c] - top[b]) / total[b]\n\
                loss[b] = -log(p[b,label[b]])";
    let logits: &[f64] = &[1.0, -0.5, 2.0, 0.25, 3.0, -1.0];
    let given = [("m", logits), ("label", &[2.0, 0.0]), ("grad(loss)", &[0.5, 0.5])];
    for (wanted, expected) in [
        ("loss", &[0.371_539_031_852_682_8, 2.829_036_201_404_099_5][..]),
        (
            "grad(m)",
            &[
                0.126_858_090_817_512_62,
                0.028_305_866_120_235_643,
                -0.155_163_956_937_748_2,
                -0.470_465_121_203_744_9,
                0.462_003_236_753_933_46,
                0.008_461_884_449_811_408,
            ],
        ),
    ] {
        let got = plain(text, wanted, &given);
        assert_relative_eq!(got.as_slice(), expected, max_relative = 1e-14);
    }
}

#[test]
fn normalisation_equals_numpy() {
    let text = "mean = (sum[i] x[i]) / N\n\
                var = (sum[i] (x[i] - mean) * (x[i] - mean)) / N\n\
                y[i] = (x[i] - mean) * rsqrt(var + 0.00001)";
    let got = plain(text, "y", &[("x", &[1.0, 2.0, 4.0, -3.0])]);
    let expected = [0.0, 0.392_231_968_559_585_25, 1.176_695_905_678_755_8, -1.568_927_874_238_341];
    assert_relative_eq!(got.as_slice(), expected.as_slice(), max_relative = 1e-14);
    // Adding a constant to every x changes nothing: the gradient has the sum 0.
    let given: [(&str, &[f64]); 2] =
        [("x", &[1.0, 2.0, 4.0, -3.0]), ("grad(y)", &[1.0, -2.0, 0.5, 3.0])];
    let gradient = plain(text, "grad(x)", &given);
    assert!(gradient.iter().sum::<f64>().abs() < 1e-14 && gradient[0].abs() > 0.1);
}

#[test]
fn a_gather_scatters_its_gradient_and_checks_its_range() {
    let text = "loss[b] = m[b,label[b]]";
    let m: &[f64] = &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    assert_eq!(plain(text, "loss", &[("m", m), ("label", &[2.0, 0.0])]), [3.0, 4.0]);
    let given = [("m", m), ("label", &[2.0, 0.0]), ("grad(loss)", &[10.0, 20.0])];
    assert_eq!(plain(text, "grad(m)", &given), [0.0, 0.0, 10.0, 20.0, 0.0, 0.0]);
    let (_, concrete) = at(text, 1);
    for label in [3.0, -1.0] {
        let error = concrete.evaluate(&known(&[("m", m), ("label", &[0.0, label])]), &["loss"]);
        assert!(error.is_err(), "label {label}");
    }
    // Two samples with one label add up.
    let shared = "loss[b] = top[label[b]]";
    let given: [(&str, &[f64]); 3] =
        [("top", &[1.0, 2.0]), ("label", &[1.0, 1.0]), ("grad(loss)", &[10.0, 20.0])];
    assert_eq!(plain(shared, "grad(top)", &given), [0.0, 30.0]);
}

#[test]
fn a_primed_name_is_the_value_after() {
    let text = "x'[i] = x[i] - lr * z[i]";
    let given: [(&str, &[f64]); 3] = [("x", &[1.0, 2.0]), ("z", &[2.0, -4.0]), ("lr", &[0.25])];
    let updated = evaluate(text, "x'", &given);
    assert_eq!(updated.iter().map(|a| a.value).collect::<Vec<_>>(), [0.5, 3.0]);
    assert!(updated.iter().all(|a| a.bound == 0.0), "exact in binary");
}

#[test]
fn data_that_decide_nothing_are_told() {
    // 0.1 + 0.2 and 0.3 are equal or not, as the sum is rounded.
    let text = "u[i] = x[i] + z[i]; y[i] = select(u[i] > 0.3, 1, 2)";
    let near = f64::from(0.1_f32) + f64::from(0.2_f32);
    let text = text.replace("0.3", &format!("{near:.17}"));
    let (_, concrete) = at(&text, 1);
    let given = known(&[("x", &[f64::from(0.1_f32)]), ("z", &[f64::from(0.2_f32)])]);
    assert!(concrete.evaluate(&given, &["y"]).is_err_and(|e| e.is_ambiguous()));
    let given = known(&[("x", &[1.0]), ("z", &[2.0])]);
    assert_eq!(concrete.evaluate(&given, &["y"]).unwrap()["y"][0].value, 1.0);
}

/// Smooth in `x` for every x in 0.5..2.
const SMOOTH: [&str; 13] = [
    "y[i] = exp(x[i]) * x[i]",
    "y[i] = log(x[i] + 1) / x[i]",
    "y[i] = sqrt(x[i]) - rsqrt(2 * x[i])",
    "y[i] = tanh(x[i] * x[i])",
    "y[i] = sin(3 * x[i]) * cos(x[i] * x[i])",
    "y[i] = erf(x[i] - 1) * x[i]",
    "y[i] = x[i] * sigmoid(2 * x[i] - 3)",
    "y[i] = abs(-x[i]) * max(x[i], -1) * min(x[i], 9)",
    "y[i] = pow(x[i], 3) + pow(2, x[i]) + pow(x[i], x[i])",
    "y[i] = select(x[i] > 0, exp(-x[i]), 7)",
    "u[i] = exp(x[i]); y[i] = u[i] / (sum[j] u[j])",
    "y[i] = x[i] * rsqrt(sum[j] x[j] * x[j])",
    "u[i] = tanh(x[i]); y[i] = log(sum[j] exp(u[j] - u[i]))",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn gradients_equal_central_differences(
        which in 0..SMOOTH.len(),
        x in prop::collection::vec(0.5..2.0, 4),
        seed in prop::collection::vec(-1.0..1.0, 4),
    ) {
        let (_, concrete) = at(SMOOTH[which], 4);
        let loss = |x: &[f64]| -> f64 {
            let y = concrete.evaluate(&known(&[("x", x)]), &["y"]).unwrap();
            y["y"].iter().zip(&seed).map(|(a, s)| a.value * s).sum()
        };
        let given = known(&[("x", &x), ("grad(y)", &seed)]);
        let derived = concrete.evaluate(&given, &["grad(x)"]).unwrap();
        for i in 0..4 {
            let moved = |by: f64| {
                let mut x = x.clone();
                x[i] += by;
                loss(&x)
            };
            let numerical = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            let value = derived["grad(x)"][i].value;
            prop_assert!((value - numerical).abs() < 1e-7 * (1.0 + value.abs()), "{}: {value} {numerical}", SMOOTH[which]);
        }
    }
}

/// A formula of `x`, and right kernels for one element in floats.
type Kernel = fn(f32) -> f32;

/// Right kernels stay within the bound, wrong ones do not; the worst part of it that was needed.
fn judge(text: &str, low: f64, high: f64, kernel: Kernel) -> f64 {
    let mut random = Random::new(7);
    let x: Vec<f64> =
        (0..4000).map(|_| f64::from((low + (high - low) * random.unit()) as f32)).collect();
    let right = evaluate(text, "y", &[("x", &x)]);
    let part = |(x, a): (&f64, &Approx)| (f64::from(kernel(*x as f32)) - a.value).abs() / a.bound;
    x.iter().zip(&right).map(part).fold(0.0, f64::max)
}

/// The next greater float, as a fast function may give it.
fn next_up(x: f32) -> f32 {
    f32::from_bits(x.to_bits() + 1)
}

#[test]
fn right_kernels_stay_within_the_bounds_of_functions() {
    let cases: [(&str, f64, f64, Kernel); 25] = [
        ("y[i] = exp(x[i])", -80.0, 80.0, f32::exp),
        ("y[i] = exp(x[i] * x[i] - 3)", -3.0, 3.0, |x| (x * x - 3.0).exp()),
        ("y[i] = log(x[i])", 1e-3, 1e3, f32::ln),
        ("y[i] = log(x[i] * x[i] + 1)", -2.0, 2.0, |x| x.mul_add(x, 1.0).ln()),
        ("y[i] = sqrt(x[i] + 0.1)", 0.0, 9.0, |x| (x + 0.1).sqrt()),
        ("y[i] = rsqrt(x[i] + 0.1)", 0.0, 9.0, |x| 1.0 / (x + 0.1).sqrt()),
        ("y[i] = tanh(x[i] / 3)", -9.0, 9.0, |x| (x / 3.0).tanh()),
        ("y[i] = sin(x[i])", -30.0, 30.0, f32::sin),
        ("y[i] = sin(x[i] * 1.7)", -1e4, 1e4, |x| (x * 1.7).sin()),
        ("y[i] = cos(x[i] * x[i])", -9.0, 9.0, |x| (x * x).cos()),
        ("y[i] = sigmoid(x[i])", -87.0, 20.0, |x| 1.0 / (1.0 + (-x).exp())),
        ("y[i] = sigmoid(x[i])", -60.0, -40.0, |x| {
            1.0 / (1.0 + (-x * std::f32::consts::LOG2_E).exp2())
        }),
        ("y[i] = sigmoid(x[i] * 0.3)", -20.0, 20.0, |x| (x * 0.3).exp() / (1.0 + (x * 0.3).exp())),
        ("y[i] = sigmoid(x[i])", -1.0, 9.0, |x| 0.5 + 0.5 * (0.5 * x).tanh()),
        ("y[i] = erf(x[i])", -3.0, 3.0, libm::erff),
        ("y[i] = erf(x[i] * 0.3)", -9.0, 9.0, |x| libm::erff(x * 0.3)),
        ("y[i] = pow(x[i], 2.5)", 0.01, 50.0, |x| x.powf(2.5)),
        ("y[i] = max(x[i] * 0.1, x[i] * x[i])", -1.0, 1.0, |x| (x * 0.1).max(x * x)),
        // In another base, as products with reciprocals, and by the root of another one.
        ("y[i] = exp(x[i])", -86.0, 88.0, |x| (x * std::f32::consts::LOG2_E).exp2()),
        ("y[i] = exp(x[i] * 0.3)", -200.0, 200.0, |x| (x * 0.3 * std::f32::consts::LOG2_E).exp2()),
        ("y[i] = log(x[i])", 1e-3, 1e3, |x| x.log2() * std::f32::consts::LN_2),
        ("y[i] = sqrt(x[i] + 0.1)", 0.0, 9.0, |x| (x + 0.1) * next_up(1.0 / (x + 0.1).sqrt())),
        ("y[i] = x[i] / (x[i] * x[i] + 1)", -9.0, 9.0, |x| x * next_up(1.0 / (x * x + 1.0))),
        ("y[i] = x[i] / sqrt(x[i] + 0.1)", 0.1, 9.0, |x| x * next_up(1.0 / (x + 0.1).sqrt())),
        ("y[i] = pow(x[i], 2.5)", 0.01, 50.0, |x| (2.5 * x.log2()).exp2()),
    ];
    for (text, low, high, kernel) in cases {
        let part = judge(text, low, high, kernel);
        assert!(part <= 1.0, "{text}: {part} of the bound");
    }
}

#[test]
fn wrong_kernels_leave_the_bounds_of_functions() {
    let cases: [(&str, f64, f64, Kernel); 12] = [
        // A Taylor series, log2 for log, a forgotten term, a square root for its inverse, a logistic
        // without its scale, a result with the precision of a half.
        ("y[i] = exp(x[i])", 0.1, 1.0, |x| 1.0 + x + x * x / 2.0 + x * x * x / 6.0),
        ("y[i] = log(x[i])", 1.5, 9.0, f32::log2),
        ("y[i] = log(x[i] * x[i] + 1)", 1.0, 2.0, |x| (x * x).ln()),
        ("y[i] = rsqrt(x[i] + 0.1)", 0.2, 0.8, |x| (x + 0.1).sqrt()),
        ("y[i] = tanh(x[i])", 0.5, 2.0, |x| 1.0 / (1.0 + (-x).exp())),
        ("y[i] = sin(x[i])", 0.5, 1.5, |x| x - x * x * x / 6.0),
        ("y[i] = sigmoid(x[i])", -2.0, 2.0, |x| 0.5 + 0.5 * x.tanh()),
        ("y[i] = erf(x[i])", 0.1, 2.0, f32::tanh),
        ("y[i] = exp(x[i])", -9.0, 9.0, |x| f32::from_bits(x.exp().to_bits() & !0x1fff)),
        // Slips of one in ten thousand and, in the argument, of one in 100,000, far from 0 as well.
        ("y[i] = exp(x[i])", -60.0, -40.0, |x| x.exp() * 1.0001),
        ("y[i] = exp(x[i])", -70.0, -40.0, |x| (x * 1.44271).exp2()),
        ("y[i] = sqrt(x[i] + 0.1)", 0.0, 9.0, |x| (x + 0.1).sqrt() * 1.00001),
    ];
    for (text, low, high, kernel) in cases {
        let part = judge(text, low, high, kernel);
        assert!(part > 10.0, "{text}: {part} of the bound");
    }
}

#[test]
fn a_step_is_only_certain_away_from_it() {
    // 0.1 * 30 is a little above 3 in f64, and may be below in a float.
    let x = f64::from(0.1_f32);
    let near = evaluate("y[i] = floor(x[i] * 30)", "y", &[("x", &[x])])[0];
    assert_eq!((near.value, near.bound), (3.0, 1.0));
    let far = evaluate("y[i] = floor(x[i] * 35)", "y", &[("x", &[x])])[0];
    assert_eq!((far.value, far.bound), (3.0, 0.0));
    let nan = evaluate("y[i] = floor(x[i])", "y", &[("x", &[f64::NAN])])[0];
    assert!(nan.value.is_nan() && nan.bound == 0.0);
}

#[test]
fn what_may_be_a_number_after_all_has_no_bound() {
    // 0.1 * 10 - 1 is a little above 0 in f64 and may be 0, or below, in a float: the root may be NaN or not.
    let near = [("x", &[f64::from(0.1_f32)][..])];
    let text = "y[i] = max(sqrt(1.0000001 - 10 * x[i] - 0.0000001), -1)";
    let bound = evaluate(text, "y", &near)[0].bound;
    assert!(bound.is_infinite(), "{bound}");
    // The argument's error reaches over the whole range of exp.
    let text = "y[i] = exp(x[i] * 1e30 - x[i] * 1e30 - 800)";
    let bound = evaluate(text, "y", &[("x", &[1.5])])[0].bound;
    assert!(bound.is_infinite(), "{bound}");
}

#[test]
fn of_two_arguments_a_number_wins_over_nan() {
    for text in ["y[i] = max(x[i], 2)", "y[i] = min(2, x[i])"] {
        assert_eq!(plain(text, "y", &[("x", &[f64::NAN])]), [2.0], "{text}");
    }
}

#[test]
fn storage_in_sixteen_bits_may_round_once() {
    let x = [0.1, 1.0 / 3.0, 1000.3, 3.0].map(|x| f64::from(x as f32));
    for (text, name, unit) in
        [("h[i] = x[i]", "h", 2_f64.powi(-11)), ("g[i] = x[i]", "g", 2_f64.powi(-8))]
    {
        for (a, x) in evaluate(text, name, &[("x", &x)]).iter().zip(x) {
            assert_eq!(a.value, x, "values are not rounded");
            assert!(a.bound <= 1.01 * unit * x && (a.bound > 0.0 || x == 3.0), "{text}: {a:?}");
        }
    }
}
