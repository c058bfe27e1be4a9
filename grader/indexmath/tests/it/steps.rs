//! Statements that run over a step, and statements that add to elements.

use crate::common::{Checked, Random, dims, tensors};
use indexmath::{Error, Formula, Values};

const SIZES: [(&str, i64); 4] = [("T", 3), ("N", 4), ("E", 6), ("M", 3)];

const TYPES: [(&str, &str); 16] = [
    ("u", "f64[T + 1, N]"),
    ("h", "f64[N, T + 1]"),
    ("p", "f64[N]"),
    ("start", "f64[N]"),
    ("x", "f64[N]"),
    ("force", "f64[T, N]"),
    ("a", "f64[]"),
    ("w", "f64[N, N]"),
    ("y", "f64[N]"),
    ("z", "f64[N]"),
    ("loss", "f64[]"),
    ("idx", "i32[E]"),
    ("v", "f64[E]"),
    ("b", "f64[E, M]"),
    ("c", "f64[N, M]"),
    ("one", "f64[N + 1]"),
];

fn checked(text: &str) -> Checked {
    let idx = [1.0, 3.0, 1.0, 0.0, 3.0, 1.0];
    let given: &[(&str, &[f64])] = if text.contains("idx[") { &[("idx", &idx)] } else { &[] };
    Checked::new(&TYPES, text, &SIZES, given)
}

#[test]
fn steps_run_forwards_and_their_gradients_backwards() {
    for text in [
        "u[0,i] = start[i]; u[t+1,i] = u[t,i] + a * (u?[t,i-1] - 2*u[t,i] + u?[t,i+1])",
        "u[0,i] = start[i]; u[t+1,i] = u[t,i] + a * (u?[t,i-1] - 2*u[t,i] + u?[t,i+1]); loss = sum[i] u[T,i] * u[T,i]",
        "u[0,i] = start[i]; u[t+1,i] = tanh(sum[j] w[i,j] * u[t,j]) + force[t,i]",
        "u[0,i] = start[i]; u[t+1,i] = u[t,i] * u[t,i] * 0.3 + force[t,i]; y[i] = sum[t < T + 1] u[t,i]",
        "h[i,0] = start[i]; h[i,t+1] = a * h[i,t] + x[i]",
        "u[0,i] = start[i]; u[1,i] = u[0,i] + x[i]; u[t+2,i] = 2*u[t+1,i] - u[t,i] + a * u?[t+1,i-1]",
        "p[0] = x[0]; p[i+1] = p[i] + x[i+1]",
        "p[0] = x[0]; p[i+1] = p[i] * x[i+1]; loss = p[N-1]",
        "u[0,i] = start[i]; u[t+1,i] = select(index(i) == 0, x[i], max(u[t,i], u[t,max(i-1,0)]))",
        "u[0,i] = start[i]; u[t+1,i] = sum[j <= i] u[t,j] * w[i,j]",
        "u[0,i] = start[i]; u[t+1,i] = max[j <= i] u[t,j] * w[i,j]",
        "u[0,i] = start[i] * 2; u[t+1,i] = u[t,i] + sum[j] w[i,j] * (prod[k < 2] u[t,k]); z[i] = u[2,i] * u[T,i]",
    ] {
        checked(text).check();
    }
    let fibonacci = Checked::new(
        &[("f", "f64[T]")],
        "f[0] = 1; f[1] = 1; f[t+2] = f[t+1] + f[t]",
        &[("T", 9)],
        &[],
    );
    assert_eq!(fibonacci.values("f"), [1.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 34.0]);
}

#[test]
fn values_are_added_where_they_belong() {
    let histogram = Checked::new(
        &[("count", "i32[N]"), ("idx", "i32[E]")],
        "count[idx[e]] += 1",
        &[("N", 4), ("E", 6)],
        &[("idx", &[1.0, 3.0, 1.0, 0.0, 3.0, 1.0])],
    );
    assert_eq!(histogram.values("count"), [1.0, 3.0, 0.0, 2.0]);
    for text in [
        "y[idx[e]] += v[e]",
        "y[idx[e]] += v[e] * x[idx[e]]",
        "c[idx[e],k] += b[e,k] * a",
        "one[2*div(i,2)] += x[i]",
        "one?[i+k] += x[i] * c[k,0]",
        "y?[idx[e]-2] += v[e]",
        "y[i] = x[i] * x[i]; y[idx[e]] += v[e]; y[i] += a; z[i] = y[i] * y[i]",
        "y[i] += sum[k] c[i,k]",
        "loss += sum[e] v[e] * v[e]",
    ] {
        checked(text).check();
    }
}

fn error(text: &str) -> String {
    let at = |formula: Formula| formula.at(&dims(&SIZES));
    match Formula::parse(text, &tensors(&TYPES)).and_then(at) {
        Ok(_) => panic!("{text} is accepted"),
        Err(error) => show(text, &error),
    }
}

/// The error as `text-at-span: message | help`.
fn show(text: &str, error: &Error) -> String {
    let help = error.help.as_deref().map(|help| format!(" | {help}")).unwrap_or_default();
    format!("{}: {}{help}", &text[error.span.start..error.span.end], error.message)
}

#[test]
fn mistakes_in_steps_are_named() {
    const PATTERN: &str =
        "a recurrence is a start `u[0,i] = ...` and a step `u[t+1,i] = ... u[t,i] ...`";
    for (text, want) in [
        ("u[0,i] = x[i]; u[t+1,i] = u[t+2,i]", "t+2: `u` is not known here yet: this statement computes it at `t+1` | read `t`, or earlier".to_owned()),
        ("u[0,i] = x[i]; u[t+1,i] = u[t+1,i]", "t+1: `u` is not known here yet: this statement computes it at `t+1` | read `t`, or earlier".to_owned()),
        ("u[t+1,i] = u[t,i]", format!("t+1: no statement gives `u` at place 0 of axis 0 | {PATTERN}")),
        ("u[0,i] = x[i]; u[t+2,i] = u[t,i]", format!("t+2: no statement gives `u` at place 1 of axis 0 | {PATTERN}")),
        ("u[0,i] = x[i]", format!("0: `u` is assigned at fixed places only | {PATTERN}")),
        ("u[0,i] = x[i]; u[0,i] = x[i]; u[t+1,i] = u[t,i]", "u: place 0 of `u` is assigned twice | a recurrence has one statement for each start, and one for its step".to_owned()),
        ("u[0,i] = x[i]; u[1,i] = x[i]; u[t+1,i] = u[t,i]", format!("1: the step of `u` computes place 1, too | {PATTERN}")),
        ("u[0,i] = x[i]; u[t,i] = u[t-1,i]", format!("u: `u` is assigned in steps and as a whole | {PATTERN}")),
        ("u[0,i] = x[i]; u[t-1,i] = u[t,i]", format!("t-1: the step of `u` goes to -1 places after its index | {PATTERN}")),
        ("u[0,i] = x[i]; u[t+1,i] = u[i,i]", "i: `u` is read in its own step at a place that may not be known yet | the step for `t+1` reads `t`, or `t` minus a number, on this axis".to_owned()),
        ("u[0,i] = x[i]; u[t+1,i] = sum[s] u[s,i]", "s: `u` is read in its own step at a place that may not be known yet | the step for `t+1` reads `t`, or `t` minus a number, on this axis".to_owned()),
        ("u[0,i] = x[i]; u[t+1,i] = u[t-1,i]", "t-1: index `t - 1` can fall to -1, but axis 0 of `u` has size 4 (T + 1) | fix the subscript or the shapes; if it should read 0 outside, write `u?[...]`".to_owned()),
        ("u[0,i] = x[i]; y[i] = u[0,i]; u[t+1,i] = u[t,i]", "u: `u` is read before it is complete | move all statements that assign it before this one".to_owned()),
        ("y[i] += x[i]; y[i] = x[i]", "y: `y` is assigned twice | a tensor is assigned only once; give the second result another name".to_owned()),
        ("y[idx[e]] += y[idx[e]]", "y: `y` is read in its own statement | write `y'` on the left for its value after the launches, or give the result another name; a recurrence has a start `y[0] = ...` and a step `y[t+1] = ... y[t] ...`".to_owned()),
        ("y[i+1] += x[i]", "i+1: index `i + 1` can reach 4, but axis 0 of `y` has size 4 (N) | fix the subscript or the shapes; if it should read 0 outside, write `y?[...]`".to_owned()),
        ("y[q*2] += x[0]", "q: the range of `q` is unknown: it is never a subscript by itself | write its range, `sum[q < SIZE]`, or use it alone as a subscript".to_owned()),
    ] {
        assert_eq!(error(text), want);
    }
}

#[test]
fn an_index_outside_is_named() {
    let formula = Formula::parse("y[idx[e]] += v[e]", &tensors(&TYPES)).unwrap();
    let sized = formula.at(&dims(&SIZES)).unwrap();
    let known = Values::from([
        ("v".to_owned(), vec![1.0; 6]),
        ("idx".to_owned(), vec![0.0, 1.0, 4.0, 2.0, 2.0, 2.0]),
    ]);
    assert_eq!(
        show("", &sized.evaluate(&known, &["y"]).unwrap_err()),
        ": `idx[2]` is 4: this is subscript 4 on axis 0 of `y`, which has size 4 | give data from 0 to 3, or fix the subscript; to skip elements outside, write `y?[...]`"
    );
}

/// The greatest bound of a tensor.
fn bound(types: &[(&str, &str)], text: &str, with: &[(&str, i64)], name: &str) -> f64 {
    let formula = Checked::new(types, text, with, &[]);
    let results = formula.sized.evaluate(&formula.known, &[name]).unwrap();
    results[name].iter().map(|approx| approx.bound).fold(0.0, f64::max)
}

#[test]
fn errors_fade_where_the_step_does_and_scans_may_be_added_in_any_order() {
    let types = [("u", "f32[T + 1, N]"), ("start", "f32[N]")];
    let heat = "u[0,i] = start[i]; u[t+1,i] = u[t,i] + 0.25 * (u?[t,i-1] - 2*u[t,i] + u?[t,i+1])";
    // Each read for itself would double the error in every step.
    let fifty = bound(&types, heat, &[("T", 50), ("N", 20)], "u");
    assert!(fifty > 1e-7 && fifty < 1e-4, "{fifty}");
    let types = [("p", "f32[N]"), ("s", "f32[N]"), ("x", "f32[N]")];
    let scan = "p[0] = x[0]; p[i+1] = p[i] + x[i+1]; s[i] = sum[j <= i] x[j]";
    let sizes = [("N", 300)];
    let (step, sum) = (bound(&types, scan, &sizes, "p"), bound(&types, scan, &sizes, "s"));
    assert!(step >= sum, "{step} < {sum}");
    // Whole numbers are exact in any order.
    let x: Vec<f64> = (0..300).map(|i| f64::from(i % 7 - 3)).collect();
    let exact = Checked::new(&types, scan, &sizes, &[("x", &x)]);
    let results = exact.sized.evaluate(&exact.known, &["p"]).unwrap();
    assert!(results["p"].iter().all(|approx| approx.bound == 0.0));
}

/// A step of a linear recurrence as a parallel scan sees it: `h` becomes `factor * h + added`.
#[derive(Clone, Copy)]
struct Step {
    factor: f32,
    added: f32,
}

impl Step {
    fn then(self, next: Self) -> Self {
        Self { factor: next.factor * self.factor, added: next.factor * self.added + next.added }
    }
}

/// The inclusive scan in `log2(n)` rounds, as Hillis and Steele do it.
fn scan_in_rounds(steps: &[Step]) -> Vec<Step> {
    let mut scanned = steps.to_vec();
    let mut distance = 1;
    while distance < scanned.len() {
        let before = scanned.clone();
        for at in distance..scanned.len() {
            scanned[at] = before[at - distance].then(before[at]);
        }
        distance *= 2;
    }
    scanned
}

/// Each of `threads` takes a piece; then the results of the pieces before it are put in front.
fn scan_in_pieces(steps: &[Step], threads: usize) -> Vec<Step> {
    let mut all: Vec<Step> = Vec::new();
    for piece in steps.chunks(steps.len().div_ceil(threads)) {
        let front = all.last().copied();
        let mut sum: Option<Step> = None;
        for step in piece {
            let so_far = sum.map_or(*step, |sum| sum.then(*step));
            sum = Some(so_far);
            all.push(front.map_or(so_far, |front| front.then(so_far)));
        }
    }
    all
}

#[test]
fn a_parallel_scan_of_a_linear_recurrence_is_right() {
    let types = [("h", "f32[T + 1]"), ("a", "f32[T]"), ("x", "f32[T]"), ("start", "f32[]")];
    let formula = "h[0] = start; h[t+1] = a[t]*h[t] + x[t]";
    let mut random = Random::new(5);
    let mut widest = 0.0_f64;
    for (round, length) in (0..24).zip([3, 17, 64, 300].into_iter().cycle()) {
        // Growing and fading states, of one sign and of both.
        let scale = [0.3, 0.9, 1.0, 1.05][round / 4 % 4];
        let mut draw = |scale: f64, shift: f64| f64::from((shift + scale * random.normal()) as f32);
        let a: Vec<f64> = (0..length).map(|_| draw(0.1, scale)).collect();
        let x: Vec<f64> =
            (0..length).map(|_| draw(1.0, if round % 2 == 0 { 0.0 } else { 2.0 })).collect();
        let start = draw(1.0, 0.0);
        let inputs = [("a", &a[..]), ("x", &x[..]), ("start", &[start][..])];
        let checked = Checked::new(&types, formula, &[("T", i64::from(length))], &inputs);
        let expected = &checked.sized.evaluate(&checked.known, &["h"]).unwrap()["h"];
        let steps: Vec<Step> = a
            .iter()
            .zip(&x)
            .map(|(&factor, &added)| Step { factor: factor as f32, added: added as f32 })
            .collect();
        let right = [scan_in_rounds(&steps), scan_in_pieces(&steps, 4), scan_in_pieces(&steps, 32)];
        for scanned in right {
            for (step, expected) in scanned.iter().zip(&expected[1..]) {
                let got = f64::from(step.factor.mul_add(start as f32, step.added));
                let error = (got - expected.value).abs();
                assert!(error <= expected.bound, "{length} steps: {got} for {expected:?}");
                widest = widest.max(expected.bound / expected.magnitude);
            }
        }
    }
    assert!(widest < 1e-4, "{widest}");
}
